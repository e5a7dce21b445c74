"""The chance that a record is found: somebody known to be in the file is looked for among the released records.

With T released records of the target's value x, and T' the same without the target,

    Pr(correct | T = t) = (p_xx / t) Pr(T' = t - 1) / Pr(T = t),      Pr(correct) = p_xx E[1 / (1 + T')]
    strict risk = o / sum_j N_j o_j        if p is the largest of its row and below one, o = p / (1 - p)

and else never above ``1 / sum_j N_j min(o_j / o, 1)``. Source: derived (docs/theory/disclosure-risk.md);
[Adeshiyan2011, eq. (4.24)] corrected, whose printed form gives values above one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.microdata.risk.binomial_sums import BinomialSums, CountDistributions, count_distributions, sums_of_terms

SLACK = 1e-12  # a quantile is reached when the distribution function is this near below it
_USED = 3.0  # standard deviations around the mean in which a distribution keeps its relative accuracy
_REMEMBERED, _SHORT = 4096, 1024  # searches that are kept, and terms of the rows for which they are
_DEGREES = (8, 32, 128)  # so many numbers t are looked at, for many targets at once, before each is looked at alone
_TERMS = 1 << 20
_LEAST = 1e-280  # below, digits are lost


def target_risks(rows: BinomialSums, row: Array, p: Real, *, level: float = 0.95) -> tuple[Real, Real]:
    """``p E[1 / (1 + T')]`` of targets, and the largest chance given T = t over a range of this probability."""
    unconditional, in_range = np.zeros((2, len(row)))
    for window in count_distributions(rows, row, p):
        own, q = window.targets, p[window.targets]
        arrivals, correct = chance_given_arrivals(window, q)
        place = np.arange(window.pmf.shape[1])
        # columns of the smallest values where the distribution function reaches (1 - level) / 2 and one minus it
        reached, tail = np.cumsum(arrivals, axis=1) + SLACK, (1 - level) / 2
        low, high = (np.minimum((reached < share).sum(axis=1), len(place) - 1) for share in (tail, 1 - tail))
        inside = (place >= low[:, None]) & (place <= high[:, None])
        unconditional[own] = q * (window.pmf / (window.first[:, None] + place + 1)).sum(axis=1)
        in_range[own] = np.where(inside, correct, 0.0).max(axis=1)
    return unconditional, in_range


def chance_given_arrivals(window: CountDistributions, p: Real) -> tuple[Real, Real]:
    """Pr(T = t) and Pr(correct | T = t), shape (targets, length), for t from ``window.first`` on."""
    before = np.zeros_like(window.pmf)
    before[:, 1:] = window.pmf[:, :-1]
    stayed = p[:, None] * before
    arrivals = (1 - p)[:, None] * window.pmf + stayed
    t = window.first[:, None] + np.arange(window.pmf.shape[1])
    possible = (arrivals > 0) & (t > 0)
    correct = stayed / np.where(possible, arrivals * t, 1.0)
    return arrivals, np.where(possible, correct, 0.0)


def strict_when_highest(rows: BinomialSums, row: Array, p: Real) -> Real:
    """The strict risk of targets, NaN for those whose p is not the largest of their row."""
    odds = np.where(p < 1, p / np.where(p < 1, 1 - p, 1.0), 0.0)
    total, certain = rows.odds[row], rows.certain[row]
    free = np.where(total > 0, odds / np.where(total > 0, total, 1.0), 0.0)
    risk = np.where(p == 1, 1 / np.maximum(certain, 1), free)
    return np.where((p > 0) & (p < rows.highest[row]), np.nan, risk)


def strict_bound(rows: BinomialSums, row: Array, p: Real, counts: Array) -> Real:
    """Upper bounds of the strict risk, ``max(o) / sum N o``, ``1 / N`` of the own cell, ``1 / (certain + 1)``."""
    highest, certain = rows.highest[row], rows.certain[row]
    free = (certain == 0) & (rows.odds[row] > 0)
    odds = np.where(free, highest / np.where(highest < 1, 1 - highest, 1.0), 1.0)
    share = np.where(free, odds / np.where(free, rows.odds[row], 1.0), 1.0)
    return np.where(p > 0, np.minimum(np.minimum(share, 1 / counts), np.where(p < 1, 1 / (certain + 1), 1.0)), 0.0)


def highest_share(n: Array, p: Real, target: float) -> float:
    """A bound that no t exceeds: ``1 / sum_j N_j min(o_j / o, 1)`` for a target that arrives with this probability."""
    at_least = np.where(p >= target, 1.0, p * (1 - target) / (np.where(p < 1, 1 - p, 1.0) * target))
    return float(1 / (n * at_least).sum())


def strict_risks(terms: Sequence[tuple[Array, Real]], targets: Real) -> Real:
    """The strict risks of several records: t by t, the first few for many at once, until 1 / t is not larger."""
    risks = np.zeros(len(terms))
    left: list[tuple[int, _Search]] = []
    for place, ((n, p), target) in enumerate(zip(terms, targets.tolist(), strict=True)):
        known = _known_or_open(n, p, target)
        if isinstance(known, _Search):
            left.append((place, known))
            risks[place] = np.nan
        else:
            risks[place] = known
    short = sorted((one for one in left if len(one[1].row.n) <= _SHORT), key=lambda one: len(one[1].row.n))
    for degree in _DEGREES:
        for some in _in_parts([one for one in short if np.isnan(risks[one[0]])]):
            risks[[place for place, _ in some]] = _by_first([search for _, search in some], degree)
    for place, search in (one for one in left if np.isnan(risks[one[0]])):
        find = _remembered if len(search.row.n) <= _SHORT else _searched
        risks[place] = find(search.row, search.target, search.certain)
    return risks


@dataclass(frozen=True, eq=False)
class _Search:
    """A target that has to be looked for: the terms of its row, with its own, and the records that are certain."""

    row: _Row
    target: float
    certain: int


def _known_or_open(n: Array, p: Real, target: float) -> float | _Search:
    """The strict risk where a formula gives it, else what has to be searched."""
    kept = (n > 0) & (p > 0)
    n, p = n[kept], p[kept]
    certain = int(n[p == 1].sum())
    if target == 0:
        return 0.0
    if target == 1:
        return 1 / certain
    free = p < 1
    n, p = n[free], p[free]
    if not certain and target >= p.max():
        return target / (1 - target) / float((n * p / (1 - p)).sum())
    return _Search(_Row(n, p), target, certain)


def _in_parts(left: list[tuple[int, _Search]]) -> Iterator[list[tuple[int, _Search]]]:
    """The searches in stretches whose tables of terms are of a moderate size."""
    part: list[tuple[int, _Search]] = []
    for place, search in left:
        terms = len(search.row.n)
        if part and (len(part) + 1) * terms > _TERMS:
            yield part
            part = []
        part.append((place, search))
    if part:
        yield part


def _by_first(searches: list[_Search], degree: int) -> Real:
    """The strict risks of targets for which no t above ``degree`` has to be looked at; NaN for the others.

        o e(t-1) / (e(t) + o e(t-1)),    e: elementary symmetric polynomials of the other odds

    All odds are multiplied by one factor, which changes no share and keeps numbers in range. Derived.
    """
    n, odds, of_target, near = _tables(searches, mean=degree / 2)
    e = _polynomials(n, odds, degree)
    stayed = of_target[:, None] * e[:, :-1]
    arrived = e[:, 1:] + stayed
    t = np.arange(1, degree + 1)
    most, certain = n.sum(axis=1)[:, None] + 1, np.array([[search.certain] for search in searches])
    share = np.where(arrived > 0, stayed / np.where(arrived > 0, arrived, 1.0), 0.0) / (t + certain)
    reached = np.maximum.accumulate(share, axis=1)
    bound = [[highest_share(np.append(s.row.n, s.certain), np.append(s.row.p, 1.0), s.target)] for s in searches]
    enough = (t + 1 >= most) | (reached >= np.minimum(np.array(bound), 1 / (t + 1 + certain)) * (1 - 1e-13))
    told = np.logical_and.accumulate((arrived > _LEAST) | (t > most), axis=1)
    settled = enough & told
    highest = reached[np.arange(len(searches)), settled.argmax(axis=1)]
    highest = np.maximum(highest, 1 / (most + certain)[:, 0])  # when all arrive, the target is there
    return np.where(near & settled.any(axis=1), highest, np.nan)


def _tables(searches: list[_Search], *, mean: float) -> tuple[Real, Real, Real, Array]:
    """Records and odds of the others, shape (targets, terms); the odds of the targets; and whether they are a term."""
    n, odds = np.zeros((2, len(searches), max(len(search.row.n) for search in searches)))
    targets = np.array([search.target for search in searches])
    near = np.zeros(len(searches), dtype=bool)
    for i, search in enumerate(searches):
        row, size = search.row, len(search.row.n)
        n[i, :size], odds[i, :size] = row.n, row.p / (1 - row.p)
        same = int(np.abs(row.p - search.target).argmin())
        n[i, same] -= 1
        near[i] = abs(row.p[same] - search.target) <= 1e-12 * search.target
    of_target = targets / (1 - targets)
    scale = mean / ((n * odds).sum(axis=1) + of_target)
    return n, odds * scale[:, None], of_target * scale, near


def _polynomials(n: Real, odds: Real, degree: int) -> Real:
    """Coefficients of ``prod_j (1 + o_j z)^N_j`` up to a degree, shape (targets, degree + 1)."""
    e = np.zeros((len(n), degree + 1))
    e[:, 0] = 1.0
    for records, o in zip(n.T, odds.T, strict=True):
        before, factor = e.copy(), np.ones(len(n))
        for m in range(1, degree + 1):
            factor = factor * (records - m + 1) * o / m
            if not factor.any():
                break
            e[:, m:] += factor[:, None] * before[:, :-m]
    return e


class _Row:
    """The terms of a row that may arrive; equal where they are the same, so that what is found for a row is kept."""

    def __init__(self, n: Array, p: Real) -> None:
        self.n, self.p = n, p

    @cached_property
    def _key(self) -> tuple[bytes, bytes]:
        return self.n.tobytes(), self.p.tobytes()

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Row) and self._key == other._key


def _searched(row: _Row, target: float, certain: int) -> float:
    """The largest share over all t beyond the certain; a factor on all odds keeps small chances accurate."""
    n, p = row.n, row.p
    most, best = int(n.sum()), 0.0
    bound = highest_share(np.append(n, certain), np.append(p, 1.0), target)
    t = 1
    while t < most and best < min(bound, 1 / (t + certain)) * (1 - 1e-13):
        factor, tilted, last = (_tilted_once if len(n) <= _SHORT else _tilted_row)(row, t)
        own = _tilted(np.array([target]), factor)
        window = next(count_distributions(tilted, np.zeros(1, dtype=np.int64), own))
        values, correct = window.first[0] + np.arange(window.pmf.shape[1]), chance_given_arrivals(window, own)[1][0]
        inside = (values >= t) & (values <= last)  # what is told accurately
        best = max(best, float((correct[inside] * values[inside] / (np.arange(t, last + 1) + certain)).max()))
        t = last + 1
    return max(best, 1 / (most + certain))  # at the most that can arrive the target is there


# A release asks before and after its draw, and for many records that are alike
_remembered = lru_cache(maxsize=_REMEMBERED)(_searched)


def _tilted_row(row: _Row, t: int) -> tuple[float, BinomialSums, int]:
    """The factor that brings the mean near t, the row tilted by it, and the last value that it gives accurately."""
    n, p = row.n, row.p
    factor = _tilt(n, p, t + 0.5 if t + 0.5 < n.sum() else float(t) - 0.25)
    tilted = sums_of_terms(np.zeros(len(n), dtype=np.int64), n, _tilted(p, factor), 1)
    return factor, tilted, min(int(n.sum()), t + max(1, int(_USED * np.sqrt(tilted.variance[0]))))


# All targets of a row are looked for in the same tilted rows
_tilted_once = lru_cache(maxsize=_REMEMBERED)(_tilted_row)


def _tilted(p: Real, factor: float) -> Real:
    odds = factor * p / (1 - p)
    return np.asarray(odds / (1 + odds))


def _tilt(n: Array, p: Real, mean: float) -> float:
    """The factor on all odds that brings the expected arrivals to ``mean``, to a part in a thousand."""
    low, high = -800.0, 800.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        if (n * _tilted(p, np.exp(middle))).sum() < mean:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
