"""Choosing a design for k categories and a privacy demand: the ranked table, and a recommendation with its reason.

Source: [NayakZhai2019, section 3.2] for the minimax design, [ChaiNayak2018, Theorem 4.4 and Proposition 4.1] for the
k-ary randomized response, which is taken where it needs at most 5 % more respondents: that rule is ours.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, check_kind, check_level
from maskwell.core.categories import Categories
from maskwell.core.display import Inside, Result, entries, plain_label
from maskwell.core.exact import Number, to_float, to_text
from maskwell.core.phrases import Printed, option
from maskwell.core.verdicts import at_most, largest
from maskwell.designs.design import Design, check_two
from maskwell.errors import ParameterError
from maskwell.notes import Note
from maskwell.planning.candidates import Candidate, k_ary, matching_diversity, minimax_subset, unary_encodings
from maskwell.planning.extremal import LIMIT, extremal_design
from maskwell.planning.respondent_variance import SIMPLE, Sampling
from maskwell.planning.sample_size import (
    Respondents,
    check_margin,
    check_n,
    margin_of,
    margin_warnings,
    needed_n,
    worst_share_variance,
)
from maskwell.planning.set_sizes import check_k, gamma_of, minimax_size
from maskwell.privacy.criteria import Demand
from maskwell.procedures.design_builders import check_shares, one_for_each


@dataclass(frozen=True, eq=False, repr=False)
class Option:
    """A line of the table."""

    candidate: Candidate  # the design and its estimator
    meets: bool  # whether the demand is met
    # chance that the best guess of the truth from one report is right, for somebody who believes in equal shares, or in
    # those that were assumed
    guess_probability: float
    rank: int | None = None  # from 1 for the least added variance; None for designs that cannot be compared
    added_variance: float | None = None  # V_R; None where shares cannot be estimated
    variance: float | None = None  # the largest ``n Var(pi_hat_j)`` of one share
    # rms_error, margin: with a number of respondents: the root mean square error of one share, and the half width of
    # its interval
    rms_error: float | None = None
    margin: float | None = None
    n: int | None = None  # how many respondents would give the margin of the choice
    # for designs that are not admissible: the line that adds less variance at the same parity, whatever the shares
    dominated_by: str | None = None
    note: str = ""  # what must be known about it

    name = Inside[str]("candidate.name", "For programs.")
    label = Inside[str]("candidate.label", "For people.")
    design = Inside[Design]("candidate.design", "The design.")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        design = self.design
        return {
            **entries(self, "rank name label"),
            "family": self.candidate.family,
            "estimator": self.candidate.estimator,
            "parity": design.parity(),
            "meets": self.meets,
            "identifiable": design.identifiable,
            **entries(self, "added_variance rms_error margin n guess_probability"),
            "report_bits": design.report_bits(),
            "wire_bits": self.candidate.wire_bits,
            "admissible": design.is_admissible(),
            **entries(self, "dominated_by note"),
        }

    def __repr__(self) -> str:
        return f"Option({self.rank}, {self.label!r}, V_R={self.added_variance})"


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Result):
    """The ranked designs for a demand, and the one that is recommended."""

    LINES = "designs"

    demand: Demand
    options: tuple[Option, ...]  # ranked by added variance, those that cannot be compared last
    recommended: Option  # one of them
    reason: str  # why, in words
    level: float  # of the intervals
    respondents: Respondents | None  # that the recommended design needs; None where neither n nor margin was given
    pi: tuple[Fraction, ...] | None  # the shares that were assumed; None for equal shares
    notes: tuple[str, ...]  # notes, warnings: what must be known about the table, and what the margin cannot tell
    warnings: tuple[str, ...] = ()
    # category, hardest: the category that n and margin are about, and whether it is meant because it is the hardest to
    # estimate; None where all are alike
    category: Hashable | None = None
    hardest: bool = False
    sampling: Sampling = SIMPLE  # how the sample differs from a simple random one

    design = Inside[Design]("recommended.design", "The recommended design.")

    @property
    def gamma(self) -> Fraction:
        """The parity that designs were made with."""
        return gamma_of(self.demand)

    @property
    def n(self) -> int | None:
        """Respondents; None where neither n nor a margin was given."""
        return None if self.respondents is None else self.respondents.n

    @property
    def margin(self) -> float | None:
        """Half width of the intervals of the recommended design."""
        return None if self.respondents is None else self.respondents.margin

    @property
    def ranked(self) -> tuple[Option, ...]:
        """The options that can be compared."""
        return tuple(option for option in self.options if option.rank is not None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        sizes = self.respondents
        return {
            "k": self.design.k,
            "demand": self.demand.to_dict(),
            "gamma": to_float(self.gamma),
            **entries(self, "n margin level"),
            "category": None if self.category is None else plain_label(self.category),
            **self.sampling.to_dict(),
            "pi": None if self.pi is None else list(map(to_text, self.pi)),
            "recommended": self.recommended.name,
            **entries(self, "reason notes warnings"),
            "worst_case": {"n": sizes and sizes.worst_n, "margin": sizes and sizes.worst_margin},
            "asked_directly": {"n": sizes and sizes.direct_n, "margin": sizes and sizes.direct_margin},
            "designs": [option.to_dict() for option in self.options],
            "design": self.design.to_dict(),
        }

    def __repr__(self) -> str:
        lines = [f"Choice for {self.demand.text}: {self.recommended.label}"]
        return "\n".join([*lines, *(f"  {option!r}" for option in self.options)])


SIMPLER = 0.05  # how many more respondents, as a share, the simpler design may need and still be preferred


def recommend(options: Iterable[Option], sampling: float) -> tuple[Option, str]:
    """The simpler design if it costs little; ``sampling`` is the summed variance of the open question."""
    by_name = {option.name: option for option in options}
    diagonal, subset = by_name["k-ary"], by_name.get("subset")
    if subset is None:
        return diagonal, Note("recommended-of-two" if diagonal.design.k == 2 else "recommended-least")
    assert diagonal.added_variance is not None and subset.added_variance is not None
    more = (diagonal.added_variance + sampling) / (subset.added_variance + sampling) - 1
    said = {"subset": subset.label, "more": _more(more), "most": _more(SIMPLER)}
    if at_most(more, SIMPLER, scale=1):
        return diagonal, Note("recommended-simpler", **said)
    return subset, Note("recommended-subset", **said)


def _more(share: float) -> str:
    """How many more, in percent, or as a multiple when it is much."""
    times = f"{Printed(1 + share):.3g}" if share < 999 else f"{Printed(1 + share):,.0f}"
    return f"{Printed(100 * share):.2g} % more" if share < 1 else f"{times} times as many"


def choose(
    k: int,
    demand: Demand | Number,
    *,
    n: Number | None = None,
    margin: Number | None = None,
    pi: Iterable[Number] | None = None,
    level: Number = 0.95,
    categories: Categories | None = None,
    category: Hashable | None = None,
    sampling: Sampling = SIMPLE,
) -> Choice:
    """The designs for k categories under a demand, ranked, and which one to take; arguments as in the verb."""
    check_kind(Categories | None, categories=categories)
    check_kind(Sampling, sampling=sampling)
    categories = Categories.numbered(check_k(k)) if categories is None else categories
    check_two(categories)
    if len(categories) != check_k(k):
        raise ParameterError("labels-for-categories-give", categories_count=len(categories), k=k)
    demand = demand if isinstance(demand, Demand) else Demand.from_gamma(demand)
    sure = check_level(level)
    if n is not None and margin is not None:
        raise ParameterError("n-and-margin-are-both-given")
    size = (None if n is None else check_n(n)), (None if margin is None else check_margin(margin))
    told = {"said": "shares", "hint": "give one share for each category"}
    shares = None if pi is None else tuple(check_shares(one_for_each(pi, "pi", len(categories), **told))[0])
    at = np.full(len(categories), 1 / len(categories)) if shares is None else np.array(list(map(float, shares)))
    code = None if category is None else int(categories.typed_codes([category], option("category"))[0])
    aim = _Aim(at, sampling, code)
    options, notes = _lines(categories, demand, shares, aim)
    recommended, reason = recommend(options, sampling.deff / sampling.weighting * float(at @ (1 - at)))
    planned = None
    if size != (None, None):
        assert recommended.variance is not None
        worst = worst_share_variance(recommended.design, sampling)
        planned = Respondents.of(size, sure, recommended.variance, worst=worst, direct=aim.direct())
    options = options if planned is None else [_filled(line, planned, sure, aim) for line in options]
    meant = code if code is not None or shares is None else largest(aim.variances(recommended.candidate))
    return Choice(
        demand=demand,
        options=tuple(options),
        recommended=next(line for line in options if line.candidate is recommended.candidate),
        reason=reason,
        level=sure,
        respondents=planned,
        pi=shares,
        notes=tuple(notes),
        warnings=() if planned is None else margin_warnings(planned.margin, at if code is None else at[[code]]),
        category=None if meant is None else categories.labels[meant],
        hardest=code is None,
        sampling=sampling,
    )


@dataclass(frozen=True, eq=False)
class _Aim:
    """What is planned for: true shares, the kind of sample, and the code of a category if one was named."""

    at: Real
    sampling: Sampling
    code: int | None

    def variances(self, candidate: Candidate) -> Real:
        """``n Var(pi_hat_j)`` of each share."""
        return self._total(candidate.share_variance(self.at) - self.at * (1 - self.at))

    def _total(self, added: Real | float) -> Real:
        return np.asarray(self.sampling.deff * self.at * (1 - self.at) + self.sampling.weighting * added)

    def of(self, variances: Real) -> float:
        """That of the category, or the largest."""
        return float(variances.max() if self.code is None else variances[self.code])

    def direct(self) -> float:
        """The same if the question were asked openly."""
        return self.of(self._total(0.0))


def _lines(
    categories: Categories, demand: Demand, shares: tuple[Fraction, ...] | None, aim: _Aim
) -> tuple[list[Option], list[str]]:
    """All lines, ranked, those that cannot be compared last; and what else must be said."""
    prior = None if shares is None else aim.at
    diagonal, subset = k_ary(categories, demand), minimax_subset(categories, demand)
    best = diagonal if minimax_size(len(categories), demand) == 1 else subset
    candidates = [*dict.fromkeys([diagonal, best]), *unary_encodings(categories, demand)]
    extremal, notes = (None, []) if shares is None else _extremal(shares, demand, categories, candidates)
    candidates += [] if extremal is None else [extremal]
    lines = [_line(candidate, best, demand, aim, prior) for candidate in candidates]
    lines.sort(key=lambda line: math.inf if line.added_variance is None else line.added_variance)
    lines = [line if line.added_variance is None else replace(line, rank=i) for i, line in enumerate(lines, 1)]
    diverse = matching_diversity(categories, demand)
    if diverse is not None:
        note = Note("no-bound-on-parity-not-comparable")
        lines.append(replace(_line(diverse, best, demand, aim, prior), note=note))
    return lines, notes


def _line(candidate: Candidate, best: Candidate, demand: Demand, aim: _Aim, prior: Real | None) -> Option:
    design = candidate.design
    line = Option(candidate, demand.allows(design.parity_exact()), design.guess_probability(prior))
    if not design.identifiable:
        return replace(line, note=Note("shares-cannot-be-estimated"))
    return replace(
        line,
        added_variance=candidate.added_variance(aim.at),
        variance=aim.of(aim.variances(candidate)),
        dominated_by=best.name if candidate.estimator is not None else None,
        note=_note(candidate, best),
    )


def _note(candidate: Candidate, best: Candidate) -> str:
    if candidate.family == "extremal":
        return "optimal for the assumed shares only"
    if candidate.estimator is not None:
        return f"its reports with no or all bits reveal nothing; {best.label} adds less variance"
    return "adds the least variance in the worst case" if candidate is best else ""


def _extremal(
    shares: tuple[Fraction, ...], demand: Demand, categories: Categories, known: list[Candidate]
) -> tuple[Candidate | None, list[str]]:
    """The extremal design for the assumed shares, unless it is one of those that are there already."""
    if len(shares) > LIMIT:
        return None, [f"the extremal design is not computed for more than {LIMIT} categories"]
    design = extremal_design(shares, demand, categories, average=True).design
    # the same structure with the same reports; their parities may differ by what rounding cost
    alike = (one for one in known if (one.design.kind, one.design.outputs) == (design.kind, design.outputs))
    same = next(alike, None)
    if same is not None:
        return None, [f"the extremal design for the assumed shares is {same.label}"]
    return Candidate("extremal", "extremal, for these shares", "extremal", design), []


def _filled(line: Option, planned: Respondents, level: float, aim: _Aim) -> Option:
    """A line with its errors at this n, and the n that it would need for this margin."""
    if line.variance is None or line.added_variance is None:
        return line
    total = float(aim.variances(line.candidate).sum())
    return replace(
        line,
        rms_error=math.sqrt(total / (len(aim.at) * planned.n)),
        margin=margin_of(line.variance, planned.n, level),
        n=needed_n(line.variance, planned.margin, level),
    )
