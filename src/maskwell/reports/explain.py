"""What a design promises each respondent, for every way to ask for privacy, in sentences anyone can read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Parity
from maskwell.designs.design import Design
from maskwell.privacy.criteria import Demand, stands_for
from maskwell.privacy.design_audit import AverageSecurity, average_security
from maskwell.reports.words import (
    SPACE,
    average_promise,
    beta_promise,
    concrete,
    factor_up,
    percent_bound,
    promise,
    repetition,
    rho_promise,
)

SPOKEN = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""Beliefs for which the promise is spelled out to respondents."""


def explain(design: Design, demand: Demand | AverageSecurity | None = None) -> list[str]:
    """Sentences for respondents: what happens to an answer, what anyone can conclude, and what to keep in mind.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.subset import Subset
    >>> design = Subset.from_gamma(3, Categories.numbered(4), size=2)
    >>> print(explain(design)[0].replace(SPACE, " "))
    You name 2 answers; with chance 75 % your true answer is among them.
    """
    parity = stands_for(design)
    told = [*_how_it_works(design), promise(parity)]
    if not isinstance(parity, float):
        told += [concrete(parity, belief) for belief in SPOKEN]
    told += _as_asked(design, parity, demand)
    return [*told, repetition(parity)]


def _how_it_works(design: Design) -> list[str]:
    words = HOW_IT_WORKS.get(design.kind)
    return [] if words is None else [words(design)]


def _chance(share: Fraction, *, up: bool) -> str:
    """A chance in percent, as a bound where it is rounded: sounding more revealing is the safe side.

    >>> _chance(Fraction(3, 4), up=True).replace(SPACE, " "), _chance(Fraction(9, 11), up=True).replace(SPACE, " ")
    ('75 %', 'at most 81.9 %')
    """
    shown = percent_bound(share, up=up)
    bound = "" if Fraction(shown) == 100 * share else "at most " if up else "at least "
    return f"{bound}{shown}{SPACE}%"


def _uniform(design: Any) -> str:
    truth = design.truth + (1 - design.truth) / design.k
    drawn = f"one of the other {design.k - 1:,} answers is drawn at random" if design.k > 2 else "the other answer is"
    return f"Your true answer is reported with chance {_chance(truth, up=True)}; otherwise {drawn}."


def _subset(design: Any) -> str:
    chance = _chance(design.include, up=True)
    answers = "1 answer; with" if design.size == 1 else f"{design.size:,} answers; with"
    among = "it is your true one" if design.size == 1 else "your true answer is among them"
    return f"You name {answers} chance {chance} {among}."


def _diverse(design: Any) -> str:
    return (
        f"You name {design.size:,} of {design.k:,} possible answers; one is true, the others are drawn at random. "
        "Someone who could already rule out the others would learn your answer."
    )


def _unary(design: Any) -> str:
    keep, flip = _chance(design.keep, up=True), _chance(design.flip, up=False)
    return (
        f"Each of the {design.k:,} answers is marked or not, at random: your true answer with chance {keep}, "
        f"any other with chance {flip}."
    )


HOW_IT_WORKS: dict[str, Callable[[Any], str]] = {
    "uniform": _uniform,
    "subset": _subset,
    "l-diverse": _diverse,
    "unary": _unary,
}
"""What happens to an answer, by kind of design."""


def _as_asked(design: Design, parity: Parity, demand: Demand | AverageSecurity | None) -> list[str]:
    """The promise in the language of the demand, or that it is not kept."""
    if demand is None:
        return []
    if not demand.met_by(design):
        return [f"What was asked for, {demand.text}, is not kept by this design."]
    if isinstance(demand, AverageSecurity):
        return [average_promise(average_security(design))]
    if demand.name == "beta":
        return [beta_promise(parity)]
    if demand.name == "rho":
        low, high = (Fraction(demand.stated[name]) for name in ("rho1", "rho2"))
        return [rho_promise(parity, low, high, closed=demand.closed)]
    return _limits_kept(demand) if demand.name == "curves" else []


def _limits_kept(demand: Demand) -> list[str]:
    """That the curves are kept, and how far that was checked; nothing where they forbid nothing."""
    if isinstance(demand.gamma_exact, float):
        return []
    sure = demand.certified and not demand.notes
    kept = (
        "This keeps the limits agreed on for every belief"
        if sure
        else "As far as could be checked, this keeps the limits agreed on"
    )
    return [f"{kept}, which amount to a factor of {factor_up(demand.gamma_exact)} on odds."]
