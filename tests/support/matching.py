"""The chance of a correct match by the plainest way: every distribution in fractions, one record at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from maskwell.microdata.risk.binomial_sums import count_distributions, sums_of_terms
from maskwell.microdata.risk.match_chances import SLACK, chance_given_arrivals, strict_risks, target_risks


def exact_pmf(n: Sequence[int], p: Sequence[float | Fraction]) -> list[Fraction]:
    """Distribution of a sum of binomials."""
    pmf = [Fraction(1)]
    for count, chance in zip(n, map(Fraction, p), strict=True):
        for _ in range(int(count)):
            longer = [Fraction(0)] * (len(pmf) + 1)
            for t, mass in enumerate(pmf):
                longer[t] += mass * (1 - chance)
                longer[t + 1] += mass * chance
            pmf = longer
    return pmf


@dataclass(frozen=True)
class ExactRisk:
    """What :func:`exact_risk` finds."""

    given: dict[int, Fraction]
    unconditional: float
    in_range: float
    strict: float
    t_low: int
    t_high: int


def exact_risk(n: Sequence[int], p: Sequence[float], x: int, tail: Fraction = Fraction(1, 40)) -> ExactRisk:
    """The risk of a record of x, from the row p of the matrix."""
    others = [int(count) - (j == x) for j, count in enumerate(n)]
    with_target, without, chance = exact_pmf(n, p), exact_pmf(others, p), Fraction(p[x])
    given = {t: chance * without[t - 1] / with_target[t] / t for t in range(1, len(with_target)) if with_target[t]}
    low, high = (_quantile(with_target, share) for share in (tail, 1 - tail))
    inside = [risk for t, risk in given.items() if low <= t <= high]
    return ExactRisk(
        given,
        float(sum(chance * mass / (t + 1) for t, mass in enumerate(without))),
        float(max(inside, default=0)),
        float(max(given.values(), default=0)),
        low,
        high,
    )


def _quantile(pmf: Sequence[Fraction], share: Fraction) -> int:
    return next(t for t in range(len(pmf)) if sum(pmf[: t + 1]) >= share)


def enumerated_match(counts: Sequence[int], P: Sequence[Sequence[Fraction]], x: int) -> dict[int, Fraction]:
    """Pr(correct | T = t) by listing every released file: the target is the first record of x."""
    truths = [x, *(j for j, n in enumerate(counts) for _ in range(n - (j == x)))]
    seen: dict[int, Fraction] = {}
    right: dict[int, Fraction] = {}
    for released in product(range(len(P)), repeat=len(truths)):
        chance = Fraction(1)
        for i, j in zip(released, truths, strict=True):
            chance *= P[i][j]
        t = released.count(x)
        seen[t] = seen.get(t, Fraction(0)) + chance
        if released[0] == x:
            right[t] = right.get(t, Fraction(0)) + chance / t
    return {t: right.get(t, Fraction(0)) / mass for t, mass in seen.items() if t and mass}


@dataclass(frozen=True)
class ToldRisk:
    """What :func:`told_risk` finds."""

    pmf: dict[int, float]
    given: dict[int, float]
    unconditional: float
    in_range: float
    strict: float
    t_low: int
    t_high: int


def told_risk(n: Sequence[int], p: Sequence[Any], x: int, level: float = 0.95) -> ToldRisk:
    """The same by the code that is tested, as the risk of all cells at once is put together from it."""
    records, chances, row = np.array(n), np.array(p, dtype=float), np.zeros(1, dtype=int)
    terms = sums_of_terms(np.zeros(len(records), dtype=int), records, chances, 1)
    window = next(count_distributions(terms, row, chances[[x]]))
    pmf, given = (values[0] for values in chance_given_arrivals(window, chances[[x]]))
    reached, tail = np.cumsum(pmf) + SLACK, (1 - level) / 2
    low, high = (int(min((reached < share).sum(), len(pmf) - 1)) for share in (tail, 1 - tail))
    unconditional, in_range = target_risks(terms, row, chances[[x]], level=level)
    first = int(window.first[0])
    return ToldRisk(
        dict(enumerate(pmf.tolist(), first)),
        {t: share for t, share in enumerate(given.tolist(), first) if t},
        float(unconditional[0]),
        float(in_range[0]),
        float(strict_risks([(records, chances)], chances[[x]])[0]),
        first + low,
        first + high,
    )
