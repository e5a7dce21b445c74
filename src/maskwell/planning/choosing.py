"""Choosing a design for k categories and a privacy demand: the ranked table, and a recommendation with its reason.

All designs that meet the demand are compared at the parity that it allows, by the variance V_R that randomization adds
to the estimated shares. Local l-diversity stands beside the table: it has no bound on parity, so there is no parity at
which it could be compared. The rule of the recommendation is in :mod:`maskwell.planning.recommending`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.base import Design, check_two
from maskwell.errors import ParameterError
from maskwell.planning.candidates import (
    Candidate,
    gamma_diagonal,
    matching_diversity,
    minimax_subset,
    unary_encodings,
)
from maskwell.planning.choice import Choice, Option
from maskwell.planning.demanded import check_k, gamma_of
from maskwell.planning.extremal import LIMIT, extremal_design
from maskwell.planning.optimal import minimax_size
from maskwell.planning.recommending import recommend
from maskwell.planning.sample_size import (
    check_level,
    check_margin,
    check_n,
    margin_of,
    margin_warnings,
    needed_n,
    worst_share_variance,
)
from maskwell.privacy.criteria import Demand
from maskwell.procedures.device import check_shares, numbered

UNIDENTIFIABLE = "shares cannot be estimated from its reports"
NO_BOUND = "no bound on parity: not comparable, does not meet the demand"


def choose(
    k: int,
    demand: Demand | Number,
    *,
    n: Number | None = None,
    margin: Number | None = None,
    pi: Iterable[Number] | None = None,
    level: Number = 0.95,
    categories: Categories | None = None,
) -> Choice:
    """The designs for k categories under a demand, ranked, and which one to take.

    Parameters
    ----------
    demand
        What is asked for; a number is a bound gamma on parity.
    n, margin
        The number of respondents, or the half width of intervals that is wanted; at most one of them.
    pi
        True shares to plan for, equal by default. With them, the extremal design for these shares is in the table.
    level
        Of the intervals.
    categories
        The labels of the k categories; 0, 1, 2, ... by default.

    >>> choose(10, Demand.from_gamma(2)).recommended.label
    'subset selection of size 3'
    """
    check_kind(Categories | None, categories=categories)
    categories = _check_labels(check_k(k), categories)
    demand = demand if isinstance(demand, Demand) else Demand.from_gamma(demand)
    gamma, sure = gamma_of(demand), check_level(level)
    if n is not None and margin is not None:
        raise ParameterError("n and margin are both given", hint="give one of them: the other one is worked out")
    wanted_n = None if n is None else check_n(n)
    wanted_margin = None if margin is None else check_margin(margin)
    shares = None if pi is None else _check_shares(pi, len(categories))
    at = np.full(len(categories), 1 / len(categories)) if shares is None else np.array(list(map(float, shares)))

    options, notes = _lines(categories, demand, shares, at)
    recommended, reason = recommend(options, float(at @ (1 - at)))
    planned = _Plan.of(recommended, sure, wanted_n, wanted_margin)
    options = [planned.filled(option, at) for option in options]
    return Choice(
        demand=demand,
        gamma=gamma,
        options=tuple(options),
        recommended=next(option for option in options if option.candidate is recommended.candidate),
        reason=reason,
        level=sure,
        pi=shares,
        notes=tuple(notes),
        warnings=() if planned.margin is None else margin_warnings(planned.margin, at),
        **planned.summary(recommended.design, at),
    )


# ---- the lines


def _lines(
    categories: Categories, demand: Demand, shares: tuple[Fraction, ...] | None, at: Real
) -> tuple[list[Option], list[str]]:
    """All lines, ranked, those that cannot be compared last; and what else must be said."""
    prior = None if shares is None else at
    diagonal, subset = gamma_diagonal(categories, demand), minimax_subset(categories, demand)
    best = diagonal if minimax_size(len(categories), demand) == 1 else subset
    found = [*dict.fromkeys([diagonal, best]), *unary_encodings(categories, demand)]
    extremal, notes = (None, []) if shares is None else _extremal(shares, demand, categories, found)
    found += [] if extremal is None else [extremal]
    lines = [_line(candidate, best, demand, at, prior) for candidate in found]
    lines.sort(key=lambda line: math.inf if line.added_variance is None else line.added_variance)
    usable = [line.added_variance is not None for line in lines]
    lines = [
        replace(line, rank=i if fits else None) for i, (line, fits) in enumerate(zip(lines, usable, strict=True), 1)
    ]
    diverse = matching_diversity(categories, demand)
    beside = [] if diverse is None else [replace(_line(diverse, best, demand, at, prior), note=NO_BOUND)]
    return [*lines, *beside], notes


def _line(candidate: Candidate, best: Candidate, demand: Demand, at: Real, prior: Real | None) -> Option:
    design = candidate.design
    line = Option(candidate, demand.allows(design.parity_exact()), design.guess_probability(prior))
    if not design.identifiable:
        return replace(line, note=UNIDENTIFIABLE)
    return replace(
        line,
        added_variance=candidate.added_variance(at),
        variance=float(candidate.share_variance(at).max()),
        dominated_by=best.name if candidate.estimator is not None else None,
        note=_note(candidate, best),
    )


def _note(candidate: Candidate, best: Candidate) -> str:
    if candidate.family == "extremal":
        return "optimal for the assumed shares only"
    if candidate.estimator is not None:
        return f"its reports with no or all bits tell nothing; {best.spoken} adds less variance"
    return "adds the least variance in the worst case" if candidate is best else ""


def _extremal(
    shares: tuple[Fraction, ...], demand: Demand, categories: Categories, known: list[Candidate]
) -> tuple[Candidate | None, list[str]]:
    """The extremal design for the assumed shares, unless it is one of those that are there already."""
    if len(shares) > LIMIT:
        return None, [f"the extremal design is not worked out for more than {LIMIT} categories"]
    design = extremal_design(shares, demand, categories, average=True).design
    same = next((candidate for candidate in known if _alike(candidate.design, design)), None)
    if same is not None:
        return None, [f"the extremal design for the assumed shares is {same.spoken}"]
    return Candidate("extremal", "extremal, for these shares", "extremal", design), []


def _alike(first: Design, second: Design) -> bool:
    """The same structure with the same reports; their parities may differ by what rounding cost."""
    return first.kind == second.kind and first.outputs == second.outputs


# ---- numbers of respondents


@dataclass(frozen=True)
class _Plan:
    """Respondents and margin of the recommended design, where one of them was given."""

    level: float
    n: int | None
    margin: float | None

    @classmethod
    def of(cls, recommended: Option, level: float, n: int | None, margin: float | None) -> _Plan:
        assert recommended.variance is not None
        if n is not None:
            return cls(level, n, margin_of(recommended.variance, n, level))
        if margin is not None:
            return cls(level, needed_n(recommended.variance, margin, level), margin)
        return cls(level, None, None)

    def filled(self, option: Option, at: Real) -> Option:
        """A line with its errors at this n, and the n that it would need for this margin."""
        if self.n is None or self.margin is None or option.variance is None or option.added_variance is None:
            return option
        total = option.added_variance + float(at @ (1 - at))
        return replace(
            option,
            rms_error=math.sqrt(total / (len(at) * self.n)),
            margin=margin_of(option.variance, self.n, self.level),
            n=needed_n(option.variance, self.margin, self.level),
        )

    def summary(self, design: Design, at: Real) -> dict[str, Any]:
        """N and margin, and both of them in the worst case and without protection."""
        if self.n is None or self.margin is None:
            return {"n": None, "margin": None}
        variances = {"worst": worst_share_variance(design), "direct": float((at * (1 - at)).max())}
        found: dict[str, Any] = {"n": self.n, "margin": self.margin}
        for name, variance in variances.items():
            found[f"{name}_n"] = needed_n(variance, self.margin, self.level)
            found[f"{name}_margin"] = margin_of(variance, self.n, self.level)
        return found


# ---- checks


def _check_labels(k: int, categories: Categories | None) -> Categories:
    if categories is None:
        return Categories.numbered(k)
    check_two(categories)
    if len(categories) != k:
        raise ParameterError(f"{len(categories)} labels for {k} categories", hint=f"give {k} labels", k=k)
    return categories


def _check_shares(pi: Iterable[Number], k: int) -> tuple[Fraction, ...]:
    given = numbered(pi, "pi")
    if len(given) != k:
        raise ParameterError(f"{len(given)} shares for {k} categories", hint="give one share for each category", k=k)
    return tuple(check_shares(given)[0])
