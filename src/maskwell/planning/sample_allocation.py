"""How to divide respondents among samples of one population that use different designs: docs/theory/costs.md.

Source: derived; the step is the multiplicative algorithm of optimal experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from maskwell.core.arguments import Real, as_floats, check_level, list_of
from maskwell.core.exact import Number
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.planning.order import check_same_categories
from maskwell.planning.stratum_allocation import FEWEST, Allocation, Division, check_names

MOST_STEPS = 20_000
GAP = 1e-12
UNUSED = 1e-7  # a sample with a smaller share than this is left out: the best division does not need it
_SINGULAR = 1e-11
_RESIDUAL = 1e-6


def allocate_samples(
    designs: Sequence[Design],
    pi: Sequence[float] | Real,
    *,
    wanted: int | Sequence[float] | Real,
    n: Number | None = None,
    margin: Number | None = None,
    level: Number = 0.95,
    names: Sequence[str] | None = None,
) -> Allocation:
    """The least variance of one number among samples: ``wanted`` is a category's code, or coefficients, shape (k,)."""
    if (n is None) == (margin is None):
        raise ParameterError("one-of-n-and-margin-says", n=n, margin=margin)
    samples = _Samples.of(list_of(Design, designs, "designs"), pi, wanted, names)
    sure = check_level(level)
    return samples.allocation(samples.for_n_or_margin(n, margin, sure), sure, gap=samples.best[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class _Samples(Division):
    """Samples; F is the information of one report of each, shape (G, k, k), a the direction that is estimated, (k,)."""

    F: Real
    a: Real
    kind: ClassVar[str] = "samples"

    @classmethod
    def of(
        cls,
        designs: Sequence[Design],
        pi: Sequence[float] | Real,
        estimand: int | Sequence[float] | Real,
        names: Sequence[str] | None = None,
    ) -> _Samples:
        if not designs:
            raise ParameterError("no-design-is-given")
        for design in designs[1:]:
            check_same_categories(designs[0], design)
        shares = designs[0].check_distribution(as_floats(pi, "pi"))
        c = _coefficients(estimand, designs[0].k)
        rows = np.vstack([design.matrix() for design in designs])
        left = c - rows.T @ np.linalg.lstsq(rows.T, c, rcond=None)[0]
        if np.abs(left).max() > 1e-9 * np.abs(c).max():  # c is no combination of the rows of all designs
            raise NotIdentifiableError("these-samples-together-cannot-estimate-what", direction=left.tolist())
        return cls(
            F=np.array([_information(design, shares) for design in designs]),
            a=c - c @ shares,
            names=_check_labels(names, len(designs)),
            designs=tuple(designs),
            costs=(Fraction(1),) * len(designs),
            priced=False,
            plain=np.full(len(designs), 1 / len(designs)),
        )

    @cached_property
    def fractions(self) -> Real:
        n = self.best[0] / self.prices
        return np.asarray(n / n.sum())

    @property
    def least(self) -> list[int]:
        """None in a sample that the best division does not need."""
        return [FEWEST if share else 0 for share in self.fractions]

    @cached_property
    def best(self) -> tuple[Real, float]:
        """Shares of what is spent, and by how much the variance could still fall, as a share of it."""
        per_money = self.F / self.prices[:, None, None]
        f, gap = np.full(len(per_money), 1 / len(per_money)), np.inf
        for _ in range(MOST_STEPS):
            y = _solve(np.tensordot(f, per_money, 1), self.a)
            d = np.einsum("i,gij,j->g", y, per_money, y)
            gap = float(d.max() / (f @ d) - 1)
            if gap <= GAP:
                break
            f = f * np.sqrt(np.maximum(d, 0))
            f /= f.sum()
        f = np.where(f < UNUSED, 0.0, f)
        return f / f.sum(), max(gap, 0.0)

    def variance(self, counts: Sequence[float] | Real) -> float:
        """Of the best linear estimate; infinite where the samples that are left cannot estimate what is wanted."""
        M = np.tensordot(np.asarray(counts, dtype=float), self.F, 1)
        y = _solve(M, self.a)
        possible = np.abs(M @ y - self.a).max() <= _RESIDUAL * np.abs(self.a).max()
        return float(self.a @ y) if possible else np.inf


def _check_labels(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"sample {g + 1}" for g in range(count))
    labels = tuple(list_of(str, names, "names"))
    if len(labels) != count:
        raise ParameterError("names-for-samples", labels_count=len(labels), count=count)
    check_names(labels)
    return labels


def _coefficients(estimand: int | Sequence[float] | Real, k: int) -> Real:
    if isinstance(estimand, int | np.integer):
        if not 0 <= estimand < k:
            raise ParameterError("no-category-has-the-code", estimand=estimand, k_sub=k - 1)
        return np.asarray(np.eye(1, k, int(estimand))[0])
    c = as_floats(estimand, "wanted", finite=False)
    if c.shape != (k,) or not np.isfinite(c).all():
        raise ParameterError("wanted-has-shape-for-categories", shape=c.shape, k=k)
    return c


def _information(design: Design, pi: Real) -> Real:
    P = design.matrix()
    lam = P @ pi
    return np.asarray(P[lam > 0].T @ (P[lam > 0] / lam[lam > 0, None]) - 1)


def _solve(M: Real, a: Real) -> Real:
    return np.asarray(np.linalg.pinv(M, rcond=_SINGULAR, hermitian=True) @ a)
