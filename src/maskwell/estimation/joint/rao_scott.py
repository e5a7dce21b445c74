"""Rao-Scott test of independence on a weighted table of reports.

The chi-square of weighted shares is too large by generalised design effects, the eigenvalues of

    (C' D^-1 C / n)^-1  C' D^-1 V D^-1 C

where D holds the shares of the reports, V their covariance under the sampling plan, and C all contrasts between cells
that the margins leave free. With their sum T and the sum of their squares S, ``X2 / T`` is about F with ``T^2 / S`` and
``f T^2 / S`` degrees of freedom (f: of the sampling plan), or ``X2 T / S`` about chi-square.

Source: the second-order correction of Rao and Scott, standard; on the reports it is valid because independent devices
keep independence (independence.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import known_covariance_of
from maskwell.estimation.joint.observed import check_own_devices, expected
from maskwell.estimation.joint.results import IndependenceTest
from maskwell.estimation.joint.tails import chi_square_tail, f_tail
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate

ABSENT = 1e-12
"""Shares of reports at or below this are zero but for rounding."""


def rao_scott_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test from an estimate with its covariance; the reports come back as ``P pi_hat``."""
    check_own_devices(layout, "rao-scott")
    if not gives_back_reports(estimate, layout):
        raise ParameterError(
            "the shares of the reports cannot be told from the estimate: more reports than categories, or several "
            "designs for one variable",
            hint="use method='wald'",
        )
    design = layout.design
    lam = design.forward(estimate.pi_hat)
    V = design.forward(design.forward(known_covariance_of(estimate)).T)
    freedom = getattr(estimate, "degrees_of_freedom", None)
    return corrected(layout.names, lam.reshape(layout.report_shape), V, estimate.n, freedom)


def gives_back_reports(estimate: Estimate, layout: Layout) -> bool:
    """Whether all rows used one design, with as many reports as categories."""
    return layout.shape == layout.report_shape and estimate.fingerprint == layout.design.fingerprint


def corrected(names: tuple[str, ...], lam: Real, V: Real, n: int, freedom: float | None) -> IndependenceTest:
    """Pearson's statistic of weighted shares with the second-order correction."""
    if (lam <= ABSENT).any():
        raise ParameterError(
            "a combination of reports never occurs: the correction needs every cell of the table",
            hint="merge categories, or use method='wald'",
        )
    e = expected(lam)
    statistic = float(n * ((lam - e) ** 2 / e).sum())
    effects = design_effects(lam, V, n)
    total, squares = float(effects.sum()), float((effects**2).sum())
    df = total**2 / squares
    if freedom is None or not np.isfinite(freedom):
        scaled = statistic * total / squares
        return IndependenceTest(names, "rao-scott", scaled, df, chi_square_tail(scaled, df), n)
    f = statistic / total
    return IndependenceTest(names, "rao-scott", f, df, f_tail(f, df, df * freedom), n, denominator=df * freedom)


def design_effects(lam: Real, V: Real, n: int) -> Real:
    """Generalised design effects: all one for a plain random sample.

    >>> lam = np.array([[0.1, 0.2], [0.3, 0.4]])
    >>> plain = (np.diag(lam.ravel()) - np.outer(lam, lam)) / 500
    >>> design_effects(lam, 2 * plain, 500).round(6).tolist()
    [2.0]
    """
    C = interactions(lam.shape)
    D = lam.ravel()
    plain = C.T @ (C / D[:, None]) / n
    actual = (C / D[:, None]).T @ V @ (C / D[:, None])
    return np.linalg.eigvals(np.linalg.solve(plain, actual)).real


def interactions(shape: Sequence[int]) -> Real:
    """Contrasts between cells that are orthogonal to every margin, shape (cells, degrees of freedom)."""
    size = int(np.prod(shape))
    codes = np.unravel_index(np.arange(size), tuple(shape))
    margins = np.column_stack([np.eye(s)[code] for s, code in zip(shape, codes, strict=True)])
    u, values, _ = np.linalg.svd(margins, full_matrices=True)
    return u[:, int((values > 1e-9).sum()) :]
