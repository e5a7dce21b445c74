"""Demands and promises in sentences: what a demand asks for, in symbols and rows, and what a design promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.exact import Parity, log_of
from maskwell.core.percentages import SPACE, bound_in_percent, percent_bound
from maskwell.core.phrases import round_down, round_up
from maskwell.designs.design import Design
from maskwell.notes import Note
from maskwell.privacy.criteria import Demand, stands_for
from maskwell.privacy.design_audit import AverageSecurity, average_security
from maskwell.reports import plain_words

SYMBOLS = {"gamma": "γ", "epsilon": "ε", "beta": "β", "rho1": "ρ₁", "rho2": "ρ₂", "bayes_factor": "Bayes factor"}
COLUMNS = ("belief before", "breach below", "breach above", "really asked: at least", "really asked: at most")


def in_symbols(demand: Demand) -> str:
    """A demand as it was stated, with the letters of the literature."""
    return re.sub("|".join(SYMBOLS), lambda match: SYMBOLS[match[0]], demand.text)


def asked(demand: Demand) -> str:
    """The parity that a demand allows, rounded down."""
    if isinstance(demand.gamma_exact, float):
        return "γ = ∞"
    return f"γ = {plain_words.factor_down(demand.gamma_exact)} (ε = {round_down(log_of(demand.gamma_exact), 3):.12g})"


def kept(parity: Parity) -> str:
    """The parity that a design has, rounded up."""
    if isinstance(parity, float):
        return "no bound on parity"
    return f"parity {plain_words.factor_up(parity)} (ε = {round_up(log_of(parity), 3):.12g})"


def demand_in_words(demand: Demand) -> str:
    """What is met when a demand is met, with examples."""
    return f"{_condition(demand)} In numbers: {'; '.join(_case(row) for row in demand_rows(demand))}."


def _condition(demand: Demand) -> str:
    said = f"The demand {in_symbols(demand)} is met by"
    if isinstance(demand.gamma_exact, float):
        return f"{said} every design: B is infinite."
    below = "below" if demand.strict else "at most"
    notes = "".join(f" Note: {note}." for note in demand.notes)
    bound = plain_words.factor_down(demand.gamma_exact)
    return f"{said} a design exactly when its parity is {below} B = {bound}, that is {asked(demand)}.{notes}"


def _case(row: list[str]) -> str:
    before, low, high, least, most = row
    return f"from {before}, above {high} or below {low} is a breach, and {least} to {most} is what B leaves possible"


def demand_rows(demand: Demand) -> list[list[str]]:
    """For a few beliefs: what the demand calls a breach, and what parity B leaves possible."""
    implied = [
        [f"{text}{SPACE}%" for text in plain_words.range_in_words(demand.gamma_exact, p)] for p in plain_words.PRIORS
    ]
    return [
        [before, *bounds, least, most]
        for (before, least, most), bounds in zip(implied, demand_bounds(demand), strict=True)
    ]


def demand_bounds(demand: Demand) -> list[list[str]]:
    """For the same beliefs: the least and the most that they may become, as the demand states it, rounded inwards."""
    at = np.array([float(p) for p in plain_words.PRIORS])
    limits = zip(demand.lower(at).tolist(), demand.upper(at).tolist(), strict=True)
    return [[bound_in_percent(low, up=True), bound_in_percent(high, up=False)] for low, high in limits]


SPOKEN = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))  # for which respondents are told the promise


def explain(design: Design, demand: Demand | AverageSecurity | None = None) -> list[str]:
    """Sentences for respondents: what happens to an answer, what anyone can conclude, and what to keep in mind."""
    parity = stands_for(design)
    words = HOW_IT_WORKS.get(design.kind)
    sentences = [*([] if words is None else [words(design)]), plain_words.promise(parity)]
    if not isinstance(parity, float):
        sentences += [plain_words.concrete(parity, belief) for belief in SPOKEN]
    sentences += _as_asked(design, parity, demand)
    return [*sentences, plain_words.repetition(parity)]


def _chance(share: Fraction, *, up: bool) -> str:
    """A chance in percent, as a bound where it is rounded: sounding more revealing is the safe side."""
    percent = percent_bound(share, up=up)
    bound = "" if Fraction(percent) == 100 * share else "at most " if up else "at least "
    return f"{bound}{percent}{SPACE}%"


def _uniform(design: Any) -> str:
    truth = design.truth + (1 - design.truth) / design.k
    drawn = f"one of the other {design.k - 1:,} answers is drawn at random" if design.k > 2 else "the other answer is"
    return f"Your true answer is reported with chance {_chance(truth, up=True)}; otherwise {drawn}."


def _subset(design: Any) -> str:
    chance = _chance(design.include, up=True)
    answers = "1 answer; with" if design.size == 1 else f"{design.size:,} answers; with"
    among = "it is your true one" if design.size == 1 else "your true answer is among them"
    return f"You name {answers} chance {chance} {among}."


def _unary(design: Any) -> str:
    keep, flip = _chance(design.keep, up=True), _chance(design.flip, up=False)
    return Note("how-unary-works", k=design.k, keep=keep, flip=flip)


HOW_IT_WORKS: dict[str, Callable[[Any], str]] = {
    "uniform": _uniform,
    "subset": _subset,
    "l-diverse": lambda design: Note("how-l-diverse-works", size=design.size, k=design.k),
    "unary": _unary,
}


def _as_asked(design: Design, parity: Parity, demand: Demand | AverageSecurity | None) -> list[str]:
    """The promise in the language of the demand, or that it is not kept."""
    if demand is None:
        return []
    if not demand.met_by(design):
        return [f"This design does not keep what was asked for, {demand.text}."]
    if isinstance(demand, AverageSecurity):
        return [plain_words.average_promise(average_security(design))]
    if demand.name == "beta":
        return [Note("promise-of-beta", factor=plain_words.factor_up(parity))]
    if demand.name == "rho":
        low, high = (Fraction(demand.stated[name]) for name in ("rho1", "rho2"))
        return [plain_words.rho_promise(parity, low, high, closed=demand.closed)]
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
    return [f"{kept}, which amount to a factor of {plain_words.factor_up(demand.gamma_exact)} on odds."]
