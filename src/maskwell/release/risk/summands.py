"""Sums of many independent binomials, row by row, in a short form from which their distributions follow.

A released cell receives ``T = sum_j Bin(N_j, p_j)`` records. What a row of such terms is worth is kept as

* power sums ``sum N p^m`` of the many small p, and ``sum N (1 - p)^m`` of those near one, counted from above;
* the few terms between, each for itself (at most ten for each true cell, since its probabilities sum to one).

The logarithm of the characteristic function is then, with v = 1 - exp(i w) and its conjugate v~,

    log phi(w) = i w C - sum_m (A_m v^m + B_m v~^m) / m + sum over listed terms of N log(1 - p v)

where ``C`` counts the records with p near one, ``A_m`` and ``B_m`` are the power sums. Derived: the expansion of
log(1 - p v), which for p <= 0.1 and |v| <= 2 is cut off below 1e-15. No term is ever divided out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real

SMALL = 0.1
"""Probabilities up to this, or as near to one, enter by their power sums."""

_EXACT = 39.0
"""Natural logarithm of the accuracy at which the expansion is cut off."""

_NOTHING = 1e-30
_THINNED = (3, 6, 12)


@dataclass(frozen=True, eq=False)
class Summands:
    """Rows of binomial terms.

    Attributes
    ----------
    shift
        Shape (rows,): records with p > 0.9, of whom few do not arrive.
    certain, reach
        Shape (rows,): records with p = 1, and records with p > 0: the least and the most that can arrive.
    ups, downs
        Shape (rows, powers): power sums of p <= 0.1, and of 1 - p < 0.1.
    row, n, p
        The terms between: which row, how many records, which probability; sorted by row.
    log_none, odds
        Shape (rows,): ``sum N log(1 - p)`` and ``sum N p / (1 - p)`` over p < 1: chance of no arrival, and of one.
    highest
        Shape (rows,): the largest p.
    """

    shift: Array
    certain: Array
    reach: Array
    ups: Real
    downs: Real
    row: Array
    n: Array
    p: Real
    log_none: Real
    odds: Real
    highest: Real

    @property
    def mean(self) -> Real:
        """Expected arrivals, shape (rows,)."""
        return self.shift + self.ups[:, 0] - self.downs[:, 0] + self._listed(self.p)

    @property
    def variance(self) -> Real:
        """Variance of the arrivals, shape (rows,)."""
        spread = self.ups[:, 0] - self.ups[:, 1] + self.downs[:, 0] - self.downs[:, 1]
        return np.asarray(spread + self._listed(self.p * (1 - self.p)))

    @property
    def chance_of_none(self) -> Real:
        """Pr(T = 0), shape (rows,)."""
        return np.where(self.certain > 0, 0.0, np.exp(self.log_none))

    @property
    def chance_of_one(self) -> Real:
        """Pr(T = 1), shape (rows,): ``Pr(T = 0) * odds``, or the same where one record is certain to arrive."""
        none = np.exp(self.log_none)
        return np.select([self.certain == 0, self.certain == 1], [none * self.odds, none], 0.0)

    def _listed(self, values: Real) -> Real:
        return row_sums(self.row, self.n * values, len(self.shift))


def powers_needed(largest: float) -> int:
    """How many powers of p leave nothing out above 1e-16, for p up to ``largest`` and |v| up to 2.

    >>> powers_needed(0.1), powers_needed(0.001)
    (25, 7)
    """
    return max(2, int(np.ceil(_EXACT / -np.log(2 * min(max(largest, 1e-12), SMALL)))))


def summands_of(row: Array, n: Array, p: Real, rows: int) -> Summands:
    """From listed terms, in any order: row, number of records, probability."""
    kept = (n > 0) & (p > 0)
    row, n, p = row[kept], np.asarray(n[kept]), np.asarray(p[kept], dtype=np.float64)
    small, near = p <= SMALL, p >= 1 - SMALL
    between = np.flatnonzero(~small & ~near)
    between = between[np.argsort(row[between], kind="stable")]

    def total(values: Array, where: Array | slice = slice(None)) -> Real:
        return row_sums(row[where], values[where], rows)

    sure = p == 1
    q = np.where(sure, 0.5, p)
    return Summands(
        shift=total(n, near).astype(np.int64),
        certain=total(n, sure).astype(np.int64),
        reach=total(n).astype(np.int64),
        ups=power_sums(row[small], n[small], p[small], rows),
        downs=power_sums(row[near], n[near], 1 - p[near], rows),
        row=row[between],
        n=n[between],
        p=p[between],
        log_none=total(np.where(sure, 0.0, n * np.log1p(-q))),
        odds=total(np.where(sure, 0.0, n * q / (1 - q))),
        highest=highest_of(row, p, rows),
    )


def chance_of_one(row: Array, n: Array, p: Real, rows: int) -> Real:
    """Pr(T = 1) of each row, from listed terms with n > 0 and p > 0."""
    sure = p == 1
    q = np.where(sure, 0.0, p)
    none = np.exp(row_sums(row, n * np.log1p(-q), rows))
    certain = row_sums(row, n * sure, rows)
    return np.select([certain == 0, certain == 1], [none * row_sums(row, n * q / (1 - q), rows), none], 0.0)


def row_sums(row: Array, values: Array, rows: int) -> Real:
    """Sums of the values of each row, shape (rows,)."""
    return np.asarray(np.bincount(row, weights=values, minlength=rows), dtype=np.float64)


def power_sums(row: Array, n: Array, p: Real, rows: int) -> Real:
    """``sum N p^m`` for m = 1, 2, ... as far as it matters, shape (rows, powers)."""
    powers = powers_needed(float(p.max(initial=0.0)))
    out = np.zeros((rows, powers))
    term = n * p
    for m in range(powers):
        out[:, m] = row_sums(row, term, rows)
        term = term * p
        if m in _THINNED:  # by then most are nothing
            left = term > _NOTHING
            row, p, term = row[left], p[left], term[left]
    return out


def highest_of(row: Array, p: Real, rows: int) -> Real:
    """The largest p of each row, 0 where there is none."""
    out = np.zeros(rows)
    np.maximum.at(out, row, p)
    return out
