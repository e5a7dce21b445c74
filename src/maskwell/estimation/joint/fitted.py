"""Tests of independence by the likelihood of the true table.

    G2 = 2 (l(Pi_hat) - l(pi_1_hat x pi_2_hat x ...))

both maximised over what is possible, which is sharper than the table of reports where a design has more reports than
categories. Its distribution is chi-square with ``prod k_t - 1 - sum (k_t - 1)`` degrees of freedom while no share is
at its bound; else tables are drawn under independence and judged the same way (parametric bootstrap).

Source: standard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError
from maskwell.estimation.joint.observed import check_own_devices, counted, degrees_of_freedom, outer
from maskwell.estimation.joint.results import IndependenceTest
from maskwell.estimation.joint.tails import chi_square_tail
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.likelihood import maximise
from maskwell.estimation.result import Estimate

FEWEST = 99
BOUNDARY = (
    "a most likely table has empty cells, where the chi-square distribution does not hold: "
    "confirm with the bootstrap test"
)


@dataclass(frozen=True)
class _Fit:
    """The likelihood ratio, the margins under independence, and whether a share is at its bound."""

    statistic: float
    margins: tuple[Real, ...]
    boundary: bool


def likelihood_ratio_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """By chi-square; flagged where a share is at its bound."""
    check_own_devices(layout, "likelihood-ratio")
    x = counted(estimate, layout, "likelihood-ratio")
    fit = _fit(layout.devices, layout.design, x)
    df = degrees_of_freedom(layout.shape)
    return IndependenceTest(
        layout.names,
        "likelihood-ratio",
        fit.statistic,
        df,
        chi_square_tail(fit.statistic, df),
        int(x.sum()),
        boundary=fit.boundary,
        flags=(BOUNDARY,) if fit.boundary else (),
    )


def bootstrap_test(estimate: Estimate, layout: Layout, seed: int | None, replicates: int) -> IndependenceTest:
    """Tables drawn under independence from ``seed``; p is the share of them that are at least as far from it."""
    check_own_devices(layout, "bootstrap")
    _check_draws(seed, replicates)
    x = counted(estimate, layout, "bootstrap")
    n, design = int(x.sum()), layout.design
    fit = _fit(layout.devices, design, x)
    lam = outer([d.forward(pi) for d, pi in zip(layout.devices, fit.margins, strict=True)])
    draws = np.random.default_rng(seed).multinomial(n, lam.ravel() / lam.sum(), size=replicates)
    found = [_fit(layout.devices, design, draw.reshape(x.shape)).statistic for draw in draws]
    as_far = sum(one >= fit.statistic * (1 - 1e-9) for one in found)
    p = (1 + as_far) / (replicates + 1)
    return IndependenceTest(layout.names, "bootstrap", fit.statistic, math.nan, p, n, boundary=fit.boundary)


def _fit(devices: tuple[CodedDesign, ...], design: CodedDesign, x: Array) -> _Fit:
    joint = maximise([design], [x.ravel()])
    axes = range(x.ndim)
    alone = [
        maximise([d], [x.sum(axis=tuple(other for other in axes if other != axis))]) for axis, d in enumerate(devices)
    ]
    statistic = 2 * (joint.log_likelihood - sum(one.log_likelihood for one in alone))
    boundary = bool(joint.at_boundary.any() or any(one.at_boundary.any() for one in alone))
    return _Fit(max(0.0, statistic), tuple(one.pi for one in alone), boundary)


def _check_draws(seed: int | None, replicates: int) -> None:
    if seed is None:
        raise ParameterError("a bootstrap without a seed could not be repeated", hint="give seed=1, or another number")
    if seed < 0:
        raise ParameterError(f"seed = {seed}", hint="give a whole number of 0 or more", seed=seed)
    if replicates < FEWEST:
        raise ParameterError(
            f"replicates = {replicates}: too few for a p-value", hint=f"give {FEWEST} or more; 999 is usual"
        )
