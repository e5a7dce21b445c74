"""Respondents divided among the parts of a survey: strata, or samples that use different designs; in whole numbers.

Formulas: docs/theory/costs.md. Source: after Kim and Warde (2004), as given in [Adeshiyan2011, Remark 2.5], for
Warner's device; other designs and costs are derived.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from maskwell.core.arguments import Real, as_floats, as_list, check_kind, check_level, list_of
from maskwell.core.display import Result, entries
from maskwell.core.exact import Number, as_fraction, is_decimal, to_float
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import above, below, ceil_of, floor_of, largest, ranked
from maskwell.designs.design import Design
from maskwell.designs.matrix_reading import SUM_TOLERANCE
from maskwell.errors import ParameterError
from maskwell.planning.respondent_variance import SIMPLE, Sampling, UnitVariance, unit_variance
from maskwell.planning.sample_size import check_category, check_margin, check_n, margin_of

FEWEST = 2  # respondents that each part gets: with fewer there is no standard error
_HIGHEST_COST = 10**100


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Allocation(Result):
    """Respondents divided among strata or samples."""

    kind: str  # "strata" or "samples"
    names: tuple[str, ...]  # names, designs: of the parts
    designs: tuple[Design, ...]
    fractions: Real  # best shares of the respondents, shape (parts,)
    counts: tuple[int, ...]  # whole numbers of respondents
    variance: float  # of the estimate, with these whole numbers
    # the least one that as many respondents could give if they could be divided: a bound that rounding cannot beat.
    # Where costs decided about the division, the least one for the same cost
    best_variance: float
    # with the respondents divided by the size of the strata, or equally among samples, at the same n or the same cost;
    # None where that cannot be had
    plain_variance: float | None
    level: float  # of the interval
    cost: float  # of all respondents, each of them 1 where no costs were given
    # by which factor the shares could at most be improved, less one; 0 for strata, which have a formula
    gap: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """All respondents."""
        return sum(self.counts)

    @property
    def margin(self) -> float:
        """Half width of the interval of the estimate."""
        return margin_of(self.variance, 1, self.level)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        parts = [
            {"name": name, "fraction": share, "n": n}
            for name, share, n in zip(self.names, self.fractions.tolist(), self.counts, strict=True)
        ]
        return {
            **entries(self, "n margin level"),
            self.kind: parts,
            **entries(self, "variance best_variance plain_variance cost gap"),
            **self.details,
            "design": [design.to_dict() for design in self.designs],
        }

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {n:,}" for name, n in zip(self.names, self.counts, strict=True))
        return f"Allocation({parts}; margin {Printed(self.margin):.4g})"


def check_names(names: Sequence[str]) -> None:
    """At least one name, and none of them twice."""
    if not names:
        raise ParameterError("no-part-of-the-survey")
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise ParameterError("is-named-twice-give", twice=twice)


def check_costs(costs: Sequence[Number]) -> tuple[Fraction, ...]:
    """What one respondent of each part costs, above 0."""
    amounts = tuple(as_fraction(cost, "cost") for cost in as_list(costs, "costs"))
    if min(amounts, default=Fraction(0)) <= 0:
        raise ParameterError("cost-is-not-above-0", amounts=to_float(min(amounts, default=Fraction(0))), costs=costs)
    if max(amounts) > _HIGHEST_COST or min(amounts) < Fraction(1, _HIGHEST_COST):
        raise ParameterError("a-cost-is-too-large")
    return amounts


Counts = tuple[int, ...]


def whole_numbers(shares: Real, n: int, *, least: Sequence[int]) -> Counts:
    """N split by the largest remainder; parts that would get less than their ``least`` are fixed at it first."""
    counts, free = list(least), [share > 0 for share in shares.tolist()]
    left = n - sum(x for x, is_free in zip(least, free, strict=True) if not is_free)
    while True:
        weights = np.where(free, shares, 0.0)
        quotas = weights / weights.sum() * left
        short = [i for i, is_free in enumerate(free) if is_free and below(float(quotas[i]), least[i])]
        if not short:
            break
        for i in short:
            free[i] = False
            left -= least[i]
    for i, part in enumerate(_largest_remainder(quotas, left)):
        counts[i] = part if free[i] else counts[i]
    return tuple(counts)


def _largest_remainder(quotas: Real, n: int) -> list[int]:
    """Rounded down, and one more for the largest remainders, the first of equals first."""
    floors = np.array([floor_of(quota) for quota in quotas.tolist()])
    order = ranked(1 + quotas - floors)
    floors[order[: n - int(floors.sum())]] += 1
    return [int(x) for x in floors]


@dataclass(frozen=True, eq=False, kw_only=True)
class Division(ABC):
    """The parts of a survey among which respondents are to be divided, and how that is done for any kind of parts."""

    names: tuple[str, ...]
    designs: tuple[Design, ...]
    costs: tuple[Fraction, ...]
    priced: bool  # money is limited and not the number of respondents; only then costs decide about the division
    plain: Real  # shares of the respondents where nothing is planned, shape (parts,)
    details: dict[str, Any] = field(default_factory=dict)
    kind: ClassVar[str]
    or_else: ClassVar[str] = ""  # what else can be done where there are too few respondents for all parts

    @property
    @abstractmethod
    def fractions(self) -> Real:
        """Best shares of the respondents, shape (parts,)."""

    @abstractmethod
    def variance(self, counts: Sequence[float] | Real) -> float:
        """Of the estimate."""

    @property
    def least(self) -> list[int]:
        """The fewest respondents of each part."""
        return [FEWEST] * len(self.names)

    def cost(self, counts: Sequence[int]) -> Fraction:
        """Of all respondents."""
        return sum((cost * n for cost, n in zip(self.costs, counts, strict=True)), Fraction(0))

    @cached_property
    def prices(self) -> Real:
        """What counts in the division: costs where the money is limited, ones where the respondents are."""
        return np.array([float(cost) if self.priced else 1.0 for cost in self.costs])

    def for_n_or_margin(self, n: Number | None, margin: Number | None, level: float) -> Counts:
        """For the one of the two that is given."""
        if margin is not None:
            return self._for_variance((check_margin(margin) / margin_of(1, 1, level)) ** 2)
        return self.for_n(check_n(0 if n is None else n))

    def for_n(self, n: int) -> Counts:
        """N respondents, each part having its least."""
        least = self.least
        if n < sum(least):
            raise ParameterError(
                "n-respondents-for-each-needs",
                least_count=len(least),
                kind=self.kind,
                fewest=FEWEST,
                least=sum(least),
                or_else=self.or_else,
                n=n,
            )
        return whole_numbers(self.fractions, n, least=least)

    def _for_variance(self, target: float) -> Counts:
        """The fewest respondents, or the cheapest where costs differ, whose variance is at most ``target``."""
        fractions, least = self.fractions, self.least
        exactly = self.variance(fractions) / target
        if len(set(self.costs)) > 1:
            return tuple(max(few, ceil_of(n)) for few, n in zip(least, (exactly * fractions).tolist(), strict=True))
        n = max(sum(least), ceil_of(exactly))
        while above(self.variance(counts := self.for_n(n)), target):
            n += 1
        return counts

    def divided(self, shares: Real, counts: Counts) -> float:
        """The variance with other shares of the respondents, at the same price as ``counts``."""
        return self.variance(shares * (np.array(counts) @ self.prices) / (shares @ self.prices))

    def allocation(self, counts: Counts, level: float, *, gap: float = 0.0) -> Allocation:
        """The division with whole numbers of respondents, and what it could be compared with."""
        variance = self.variance(counts)
        return Allocation(
            kind=self.kind,
            names=self.names,
            designs=self.designs,
            fractions=self.fractions,
            counts=counts,
            variance=variance,
            best_variance=min(variance, self.divided(self.fractions, counts)),
            plain_variance=self.divided(self.plain, counts),
            level=level,
            cost=float(self.cost(counts)),
            gap=gap,
            details=self.details,
        )


@dataclass(frozen=True, eq=False)
class Stratum:
    """A part of the population.

    Attributes
    ----------
    name
        Its name.
    share
        Its known share of the population, or the number of people in it.
    design
        The design used in it.
    pi
        True shares of the categories to plan for, shape (k,).
    cost
        Of one respondent, in any unit.
    category
        The label of the category that is estimated; the first if it is left out.
    """

    name: str
    share: Number
    design: Design
    pi: Sequence[float] | Real
    cost: Number = 1
    category: Hashable | None = None

    def variance(self, sampling: Sampling) -> UnitVariance:
        """``n_h Var(pi_hat_h)``."""
        if self.category is not None:
            check_category(self.design, self.category)
        return unit_variance(self.design, as_floats(self.pi, "pi"), category=self.category, sampling=sampling)


def allocate_strata(
    strata: Sequence[Stratum],
    *,
    n: Number | None = None,
    margin: Number | None = None,
    budget: Number | None = None,
    level: Number = 0.95,
    sampling: Sampling = SIMPLE,
) -> Allocation:
    """The division among strata that gives the least variance, with two respondents or more in each."""
    check_kind(Sampling, sampling=sampling)
    parts = _Strata.of(list_of(Stratum, strata, "strata"), sampling, priced=n is None)
    sizes = {"n": n, "margin": margin, "budget": budget}
    if len([value for value in sizes.values() if value is not None]) != 1:
        raise ParameterError(
            "one-of-n-margin-and-budget", **{name: value for name, value in sizes.items() if value is not None}
        )
    sure = check_level(level)
    if budget is None:
        return parts.allocation(parts.for_n_or_margin(n, margin, sure), sure)
    return parts.allocation(parts.for_budget(as_fraction(budget, "budget")), sure)


MOST_ROUNDING = Fraction(1, 100)  # by how much rounded shares may miss the sum of one, at most


def _shares_of(strata: Sequence[Stratum]) -> tuple[list[Fraction], dict[str, Any]]:
    """Shares that sum to one, from shares or from numbers of people; with a note where rounded ones were scaled."""
    given = [as_fraction(s.share, f"share of {s.name}") for s in strata]
    total = sum(given, Fraction(0))
    counted = total > 1 and all(one.denominator == 1 for one in given)
    for stratum, share in zip(strata, given, strict=True):
        if share <= 0 or (share > 1 and not counted):
            raise ParameterError("the-share-of-stratum", name=stratum.name, share=stratum.share)
    if counted or abs(total - 1) <= SUM_TOLERANCE:
        return [share / total for share in given] if counted else given, {}
    # half a unit of the last digit that was given; nothing for fractions and whole numbers
    digits = [Decimal(str(s.share)).as_tuple().exponent for s in strata if is_decimal(s.share)]
    if abs(total - 1) > min(MOST_ROUNDING, sum((Fraction(10) ** int(digit) / 2 for digit in digits), Fraction(0))):
        raise ParameterError("the-shares-of-the-strata-sum", total=to_float(total))
    said = f"the shares sum to {Printed(to_float(total)):.10g}, as rounded shares do: each was divided by that sum"
    return [share / total for share in given], {"notes": [said]}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Strata(Division):
    """Strata; ``spreads`` are W_h c_h, shape (parts,)."""

    spreads: Real
    kind: ClassVar[str] = "strata"
    or_else: ClassVar[str] = ", or join strata"

    @classmethod
    def of(cls, strata: Sequence[Stratum], sampling: Sampling, *, priced: bool) -> _Strata:
        check_names([stratum.name for stratum in strata])
        shares, notes = _shares_of(strata)
        variances = [stratum.variance(sampling) for stratum in strata]
        rows = [{"name": s.name, "share": float(w)} for s, w in zip(strata, shares, strict=True)]
        W = np.array([float(share) for share in shares])
        return cls(
            names=tuple(stratum.name for stratum in strata),
            designs=tuple(stratum.design for stratum in strata),
            costs=check_costs([stratum.cost for stratum in strata]),
            priced=priced,
            plain=W,
            spreads=W * np.sqrt([v.total for v in variances]),
            details={"unit_variances": [row | v.to_dict() for row, v in zip(rows, variances, strict=True)], **notes},
        )

    @property
    def fractions(self) -> Real:
        ideal = self.spreads / np.sqrt(self.prices)
        if not ideal.any():
            raise ParameterError("nothing-is-to-be-learned-every")
        return np.asarray(ideal / ideal.sum())

    def variance(self, counts: Sequence[float] | Real) -> float:
        return float((self.spreads**2 / np.asarray(counts)).sum())

    def for_budget(self, budget: Fraction) -> Counts:
        """As much as the budget buys: the best division rounded down, then one by one where it helps most."""
        least = FEWEST * sum(self.costs)
        if budget < least:
            raise ParameterError(
                "a-budget-of-is-not-enough",
                budget_shown=to_float(budget),
                fewest=FEWEST,
                least=to_float(least),
                budget=float(budget),
            )
        ideal = self.fractions * float(budget) / float(self.fractions @ self.prices)
        counts = [max(FEWEST, floor_of(n)) for n in ideal.tolist()]
        while (spent := self.cost(counts)) > budget:
            counts[max((i for i, n in enumerate(counts) if n > FEWEST), key=lambda i: counts[i] - ideal[i])] -= 1
        left = budget - spent
        while payable := [i for i, cost in enumerate(self.costs) if cost <= left]:
            gains = self.spreads**2 / (np.array(counts) * (np.array(counts) + 1.0)) / self.prices
            best = payable[largest(gains[payable])]
            counts[best] += 1
            left -= self.costs[best]
        return tuple(counts)
