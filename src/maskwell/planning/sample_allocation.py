"""How to divide respondents among samples of one population that use different designs.

One report of sample g carries the information ``F_g = P_g' D^-1 P_g - 1 1'``, D the diagonal of ``P_g pi``. What is
wanted is a combination ``c' pi`` of the shares; its best linear estimate has

    Var = a' (sum_g n_g F_g)^- a,      a = c - (c' pi) 1

which is convex in the n_g. For shares f_g of what is spent, with costs e_g, and ``d_g = y' F_g y / e_g``, ``y = (sum_g
f_g F_g / e_g)^- a``, the step ``f_g := f_g sqrt(d_g) / sum`` lowers the variance, and the derivatives prove how far it
is from the least one: at most by the factor ``max_g d_g / sum_g f_g d_g``.

Source: derived; the step is the multiplicative algorithm of optimal experiments. For two samples of Simmons' device
with unknown beta it ends after one step at the split of Greenberg et al. (1969).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Real, as_floats, check_level, list_of
from maskwell.core.exact import Number
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.planning.order import check_same_categories
from maskwell.planning.sample_size import ROUNDING, check_margin, check_n, margin_of
from maskwell.planning.stratum_allocation import FEWEST, Allocation, check_costs, check_names, whole_numbers

MOST_STEPS = 20_000
GAP = 1e-12
UNUSED = 1e-7
"""A sample with a smaller share than this is left out: the best division does not need it."""

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
    costs: Sequence[Number] | None = None,
) -> Allocation:
    """The division among samples that gives the least variance of one number.

    Parameters
    ----------
    designs
        One for each sample, over the same categories; one alone need not be identifiable.
    pi
        True shares to plan for, shape (k,). Where categories are pairs and reports depend on margins only, so does the
        division.
    wanted
        The code of a category, or coefficients c of shape (k,), such as 1 for all pairs whose first part is yes.
    n, margin
        One of them: all respondents, or the half width of the interval that is wanted.
    level
        Of the interval.
    costs
        Of one respondent of each sample. They decide about the division for a margin; with n they are only added up.

    Raises
    ------
    NotIdentifiableError
        All samples together cannot estimate what is wanted.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Dense
    >>> pairs = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])   # own, unrelated
    >>> samples = [Dense.of([[1, p, 1 - p, 0], [0, 1 - p, p, 1]], pairs) for p in (0.75, 0.25)]
    >>> pi = np.outer([0.2, 0.8], [0.4, 0.6]).ravel()
    >>> allocation = allocate_samples(samples, pi, wanted=[1, 1, 0, 0], n=1000)
    >>> allocation.counts   # the sample that asks more often is worth more
    (731, 269)
    """
    if (n is None) == (margin is None):
        raise ParameterError(
            "one of n and margin says how large the survey is", hint="give exactly one of them", n=n, margin=margin
        )
    designs = list_of(Design, designs, "designs")
    fleet = _Fleet.of(designs, pi, wanted, costs, priced=n is None)
    labels = (
        tuple(f"sample {g + 1}" for g in range(len(designs))) if names is None else tuple(list_of(str, names, "names"))
    )
    if len(labels) != len(designs):
        raise ParameterError(f"{len(labels)} names for {len(designs)} samples", hint="give one name for each sample")
    check_names(labels)
    sure = check_level(level)
    size = None if n is None else check_n(n)
    within = None if margin is None else (check_margin(margin) / margin_of(1, 1, sure)) ** 2
    spent, gap = fleet.best()
    fractions = fleet.respondents(spent)
    counts = fleet.for_variance(fractions, within or 0.0) if size is None else fleet.for_n(fractions, size)
    variance = fleet.variance(np.array(counts, dtype=float))
    return Allocation(
        kind="samples",
        names=labels,
        designs=tuple(designs),
        fractions=fractions,
        counts=counts,
        variance=variance,
        best_variance=min(variance, fleet.divided(fractions, counts)),
        plain_variance=fleet.divided(np.full(len(designs), 1 / len(designs)), counts),
        level=sure,
        cost=float(fleet.costs @ np.array(counts)),
        gap=gap,
    )


@dataclass(frozen=True, eq=False)
class _Fleet:
    """Informations of one report of each sample, shape (G, k, k), and the direction of what is wanted, shape (k,)."""

    F: Real
    a: Real
    costs: Real
    prices: Real
    """What counts in the division: costs where the money is limited, ones where the respondents are."""

    @classmethod
    def of(
        cls,
        designs: Sequence[Design],
        pi: Sequence[float] | Real,
        wanted: int | Sequence[float] | Real,
        costs: Sequence[Number] | None,
        *,
        priced: bool,
    ) -> _Fleet:
        if not designs:
            raise ParameterError("no design is given", hint="give one for each sample")
        for design in designs[1:]:
            check_same_categories(designs[0], design)
        shares = designs[0].check_distribution(as_floats(pi, "pi"))
        c = _coefficients(wanted, designs[0].k)
        money = check_costs([1] * len(designs) if costs is None else costs)
        if len(money) != len(designs):
            raise ParameterError(f"{len(money)} costs for {len(designs)} samples", hint="give one for each sample")
        _check_estimable(designs, c)
        F = np.array([_information(design, shares) for design in designs])
        spent = np.array([float(cost) for cost in money])
        return cls(F, c - c @ shares, spent, spent if priced else np.ones(len(spent)))

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

    def respondents(self, spent: Real) -> Real:
        """Shares of the respondents from shares of what is spent."""
        n = spent / self.prices
        return np.asarray(n / n.sum())

    def for_n(self, fractions: Real, n: int) -> tuple[int, ...]:
        """N respondents, at least two in each sample that is needed."""
        least = [FEWEST if share else 0 for share in fractions]
        if n < sum(least):
            raise ParameterError(
                f"n = {n:,} respondents for {len(least):,} samples: each needs {FEWEST}",
                hint=f"give at least {sum(least):,}",
                n=n,
            )
        return whole_numbers(fractions, n, least=least)

    def for_variance(self, fractions: Real, target: float) -> tuple[int, ...]:
        """The fewest respondents, or the cheapest where costs differ, whose variance is at most ``target``."""
        exactly = self.variance(fractions) / target * (1 - ROUNDING)
        if len(set(self.prices.tolist())) > 1:
            return tuple(max(FEWEST, math.ceil(n)) if n else 0 for n in (exactly * fractions).tolist())
        n = max(FEWEST * int((fractions > 0).sum()), math.ceil(exactly))
        while self.variance(np.array(counts := self.for_n(fractions, n), dtype=float)) > target * (1 + ROUNDING):
            n += 1
        return counts

    def divided(self, shares: Real, counts: tuple[int, ...]) -> float:
        """The variance with other shares of the respondents, at the same price as ``counts``."""
        return self.variance(shares * (np.array(counts) @ self.prices) / (shares @ self.prices))

    def variance(self, counts: Real) -> float:
        """Of the best linear estimate; infinite where the samples that are left cannot estimate what is wanted."""
        M = np.tensordot(counts, self.F, 1)
        y = _solve(M, self.a)
        possible = np.abs(M @ y - self.a).max() <= _RESIDUAL * np.abs(self.a).max()
        return float(self.a @ y) if possible else np.inf


def _coefficients(wanted: int | Sequence[float] | Real, k: int) -> Real:
    if isinstance(wanted, int | np.integer):
        if not 0 <= wanted < k:
            raise ParameterError(f"no category has the code {wanted}", hint=f"give a code from 0 to {k - 1}")
        return np.asarray(np.eye(1, k, int(wanted))[0])
    c = as_floats(wanted, "wanted", finite=False)
    if c.shape != (k,) or not np.isfinite(c).all():
        raise ParameterError(f"wanted has shape {c.shape} for {k} categories", hint=f"give {k} coefficients")
    return c


def _check_estimable(designs: Sequence[Design], c: Real) -> None:
    """Raise unless c is a combination of the rows of all designs."""
    rows = np.vstack([design.matrix() for design in designs])
    left = c - rows.T @ np.linalg.lstsq(rows.T, c, rcond=None)[0]
    if np.abs(left).max() > 1e-9 * np.abs(c).max():
        raise NotIdentifiableError(
            "these samples together cannot estimate what is wanted",
            hint="add a sample with another design, or other parameters",
            direction=left.tolist(),
        )


def _information(design: Design, pi: Real) -> Real:
    P = design.matrix()
    lam = P @ pi
    return np.asarray(P[lam > 0].T @ (P[lam > 0] / lam[lam > 0, None]) - 1)


def _solve(M: Real, a: Real) -> Real:
    return np.asarray(np.linalg.pinv(M, rcond=_SINGULAR, hermitian=True) @ a)
