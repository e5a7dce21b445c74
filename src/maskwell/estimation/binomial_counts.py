"""The binomial count behind an estimated share; docs/theory/coverage.md says how well intervals by it cover.

Of one count x of n reports, ``lam = b + (a - b) pi``. Any other unbiased linear estimate is given the count with the
same variance where the share is zero, ``v0 / n``, and where it is one, ``v1 / n``; with the factor kappa of several
samples it is one of n / kappa reports, ``x = n (b + (a - b) pi_hat)``, which need not be whole. Derived:
    a - b = 1 / R,     b = (1 - s / R) / 2,     s = v1 + 1 - v0,     R = sqrt(s^2 + 4 v0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.verdicts import below
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.outside_estimates import nearest_shares

if TYPE_CHECKING:
    from maskwell.estimation.share_estimate import Estimate

WHOLE = 1e-9  # a count this close to 0 or n differs from it by rounding
ENTRIES = 4 * 10**6  # left inverses with more entries than this are not written out for sums
FEW = 10
FEW_BY_CHANCE = 5
FEW_PEOPLE = 30  # with fewer, Wald intervals under a sampling plan covered .90 to .94 (docs/theory/coverage.md)


@dataclass(frozen=True, eq=False)
class BinomialCounts:
    """For each share a count of reports that determines it."""

    # How many reports of how many, shape (k,); whole numbers where `exact`
    x: Real
    n: Real
    # The chance that a report counts, if the share is one and if it is zero, shape (k,); a > b
    a: Real
    b: Real
    # Whether the shares are told by these counts and nothing else, so that intervals keep their level exactly
    exact: bool = False

    @classmethod
    def of(cls, pi_hat: Real, n: float | Real, v0: Real, v1: Real, kappa: float | Real = 1.0) -> Self:
        """Of estimates whose variance is ``((1 - t) v0 + t v1 + kappa t (1 - t)) / n`` where the share is t."""
        v0, v1, n = np.maximum(v0, 0) / kappa, np.maximum(v1, 0) / kappa, np.asarray(n) / kappa
        s = v1 + 1 - v0
        R = np.sqrt(s**2 + 4 * v0)
        b = np.where(s > 0, 2 * v0 / (R * (R + np.abs(s))), (R - s) / (2 * R))  # without a difference of equals
        size = np.broadcast_to(np.asarray(n, dtype=np.float64), pi_hat.shape)
        x = np.clip(size * (b + pi_hat / R), 0, size)
        return cls(np.where(x < WHOLE, 0, np.where(size - x < WHOLE, size, x)), size, np.minimum(b + 1 / R, 1), b)

    @classmethod
    def of_chances(cls, pi_hat: Real, n: float | Real, chances: tuple[Real, Real], *, exact: bool) -> Self:
        """Of estimates that a count determines; ``n`` is the number of reports if ``exact``, else one that matches."""
        a, b = chances
        size = np.broadcast_to(np.asarray(n, dtype=np.float64), pi_hat.shape)
        x = np.clip(size * (b + (a - b) * pi_hat), 0, size)
        return cls(np.rint(x) if exact else x, size, a, b, exact)

    @property
    def sparse(self) -> bool:
        """Whether a count holds, or leaves out, fewer than ten reports, of which chance makes fewer than five."""
        few = below(self.x, FEW) & below(self.n * self.b, FEW_BY_CHANCE)
        left = below(self.n - self.x, FEW) & below(self.n * (1 - self.a), FEW_BY_CHANCE)
        return bool((few | left).any())

    @property
    def few_people(self) -> bool:
        """Whether fewer than 30 of the people behind a count are estimated to be in a category, or outside of it."""
        share = self.shares(self.x / self.n)
        return bool((self.n * np.minimum(share, 1 - share) < FEW_PEOPLE).any())

    def shares(self, lam: Real) -> Real:
        """The true shares at which reports count with the chances ``lam``."""
        return np.asarray((lam - self.b) / (self.a - self.b))


def smoothed(pi_hat: Real, n: float) -> Real:
    """Shares near the estimates, with one report more spread over all categories, so that none is zero."""
    return np.asarray((n * nearest_shares(pi_hat) + 1 / len(pi_hat)) / (n + 1))


class Part(NamedTuple):
    """Reports of one design behind an estimate; n times its variance is ``sum_g weight_g V_g``."""

    design: Design
    weight: float
    inverse: LeftInverse | None = None

    def variance(self, near: Real) -> Real:
        """Of the recovery of each category from one report, at the shares ``near``."""
        if self.inverse is None:
            return self.design.share_variance(near)
        return self.inverse.second_moment_diagonal(self.design.apply(near)) - near**2

    def variance_of_truth(self) -> Real:
        """The same for each category where it is the only one."""
        if self.inverse is None:
            return self.design.second_moment_of_truth() - 1
        return np.asarray(np.einsum("ji,ij->j", self.inverse.L**2, self.design.matrix()) - 1)

    def variance_of_sums(self, C: Real, shares: Real) -> Real:
        """Of the sums ``C U`` from one report, each at shares of its own, shape (r, k)."""
        if isinstance(self.design, CodedDesign) and self.design.has_entries_up_to(ENTRIES):
            L = self.design.backward(np.eye(self.design.m)).T if self.inverse is None else self.inverse.L
            return linear_variance(self.design, np.asarray(C @ L), shares)
        seconds = [c @ self.design.second_moment(self.design.apply(pi)) @ c for c, pi in zip(C, shares, strict=True)]
        return np.asarray(np.asarray(seconds) - (C * shares).sum(axis=1) ** 2)


def binomial_counts(estimate: Estimate) -> BinomialCounts | None:
    """The counts behind an estimate, None where it does not rest on reports that are known."""
    if estimate.sums_of is not None:
        return _of_sums(estimate.raw, estimate.variance, *estimate.sums_of)
    raw, parts = estimate.raw, estimate.parts
    if not np.isfinite(raw).all() or not (parts or estimate.samples):
        return None
    if parts:
        return _of_categories(raw, estimate.effective_n, parts, estimate.variance_of_plan)
    from maskwell.estimation.stacked_samples import variance_along

    n = sum(sample.n for sample in estimate.samples)
    return BinomialCounts.of(raw, n, *variance_along(estimate.samples, raw))


def _of_categories(raw: Real, n: float, parts: Sequence[Part], planned: Real | None) -> BinomialCounts:
    chances = parts[0].design.count_chances() if len(parts) == 1 and parts[0].inverse is None else None
    if chances is not None and planned is None:
        return BinomialCounts.of_chances(raw, n, chances, exact=True)
    near = smoothed(raw, n)
    nearby = np.asarray(sum(part.weight * part.variance(near) for part in parts))
    if chances is not None:
        return BinomialCounts.of_chances(raw, _effective(n, nearby, planned), chances, exact=False)
    v1 = np.asarray(sum(part.weight * part.variance_of_truth() for part in parts))
    return BinomialCounts.of(raw, _effective(n, nearby, planned), at_zero(nearby, v1, near), v1)


def _of_sums(raw: Real, variance: Real, source: Estimate, C: Real) -> BinomialCounts | None:
    """Of sums of the shares of another estimate, which themselves lie in [0, 1]."""
    parts, n = source.parts, source.effective_n
    if not parts or not np.isfinite(raw).all():
        return None
    near = smoothed(source.raw, n)
    inside, outside = conditional_shares(C, near)
    v0, v1, nearby = (
        np.asarray(sum(part.weight * part.variance_of_sums(C, shares) for part in parts))
        for shares in (outside, inside, np.broadcast_to(near, C.shape))
    )
    planned = None if source.variance_of_plan is None else variance
    return BinomialCounts.of(raw, _effective(n, nearby, planned), v0, v1)


def _effective(n: float, nearby: Real, planned: Real | None) -> float | Real:
    """The number of simple draws as informative as the plan, n at most; n without a plan."""
    if planned is None:
        return n
    known = np.isfinite(planned) & (planned > 0) & (nearby > 0)
    return np.asarray(np.minimum(n, np.divide(nearby, planned, out=np.full(len(nearby), n), where=known)))


def at_zero(at_near: Real, v1: Real, near: Real, kappa: float = 1.0) -> Real:
    """``v0`` from the variance at the shares ``near``, which is ``(1 - t) v0 + t v1 + kappa t (1 - t)``."""
    return np.asarray((at_near - near * v1) / (1 - near) - kappa * near)


def conditional_shares(C: Real, near: Real) -> tuple[Real, Real]:
    """For each sum the shares within it and those outside, in the ratios of ``near``; shape (r, k) each."""
    inside, outside = C * near, (1 - C) * near
    for rows in (inside, outside):
        total = rows.sum(axis=1, keepdims=True)
        np.divide(rows, total, out=rows, where=total > 0)
    return inside, outside


def linear_variance(design: Design, rows: Real, shares: Real) -> Real:
    """Variance of the numbers ``rows[r, z]`` that reports z represent, each at its own shares, shape (r,)."""
    lam = cast(CodedDesign, design).forward(shares)
    return np.asarray((rows**2 * lam).sum(axis=1) - (rows * lam).sum(axis=1) ** 2)
