"""What a demand asks for, in symbols, in sentences and as the rows of a table."""

from __future__ import annotations

import re

import numpy as np

from maskwell.core.exact import Parity, log_of
from maskwell.core.phrases import round_down, round_up
from maskwell.privacy.criteria import Demand
from maskwell.reports.words import (
    PRIORS,
    SPACE,
    as_decimal,
    factor_down,
    factor_up,
    percent_bound,
    range_in_words,
)

SYMBOLS = {"gamma": "γ", "epsilon": "ε", "beta": "β", "rho1": "ρ₁", "rho2": "ρ₂", "bayes_factor": "Bayes factor"}
COLUMNS = ("belief before", "breach below", "breach above", "really asked: at least", "really asked: at most")


def in_symbols(demand: Demand) -> str:
    """A demand as it was stated, with the letters of the literature.

    >>> in_symbols(Demand.from_rho("0.1", "0.5"))
    'ρ₁ = 0.1 to ρ₂ = 0.5'
    """
    return re.sub("|".join(SYMBOLS), lambda found: SYMBOLS[found[0]], demand.text)


def asked(demand: Demand) -> str:
    """The parity that a demand allows, rounded down.

    >>> asked(Demand.from_rho("0.1", "0.5"))
    'γ = 9 (ε = 2.197)'
    """
    if isinstance(demand.gamma_exact, float):
        return "γ = ∞"
    return f"γ = {factor_down(demand.gamma_exact)} (ε = {round_down(log_of(demand.gamma_exact), 3):.12g})"


def kept(parity: Parity) -> str:
    """The parity that a design has, rounded up.

    >>> kept(Demand.from_gamma(9).gamma_exact), kept(float("inf"))
    ('parity 9 (ε = 2.198)', 'no bound on parity')
    """
    if isinstance(parity, float):
        return "no bound on parity"
    return f"parity {factor_up(parity)} (ε = {round_up(log_of(parity), 3):.12g})"


def demand_in_words(demand: Demand) -> str:
    """What is met when a demand is met, with examples.

    >>> print(demand_in_words(Demand.from_beta(4)).split(":")[0])
    The demand β = 4 is met by a design exactly when its parity is at most B = 4, that is γ = 4 (ε = 1.386). In numbers
    """
    return f"{_condition(demand)} In numbers: {'; '.join(_case(row) for row in demand_rows(demand))}."


def _condition(demand: Demand) -> str:
    said = f"The demand {in_symbols(demand)} is met by"
    if isinstance(demand.gamma_exact, float):
        return f"{said} every design: B is infinite, nothing is asked."
    below = "below" if demand.strict else "at most"
    notes = "".join(f" Note: {note}." for note in demand.notes)
    bound = factor_down(demand.gamma_exact)
    return f"{said} a design exactly when its parity is {below} B = {bound}, that is {asked(demand)}.{notes}"


def _case(row: list[str]) -> str:
    before, low, high, least, most = row
    return f"from {before}, above {high} or below {low} is a breach, and {least} to {most} is what B leaves possible"


def demand_rows(demand: Demand) -> list[list[str]]:
    """For a few beliefs: what the demand calls a breach, and what parity B leaves possible.

    >>> row = demand_rows(Demand.from_rho("0.1", "0.5"))[2]
    >>> [cell.replace(SPACE, " ") for cell in row]   # nothing is said of 50 %, and still it is protected
    ['50 %', '0 %', '100 %', '10 %', '90 %']
    """
    implied = [[f"{text}{SPACE}%" for text in range_in_words(demand.gamma_exact, p)] for p in PRIORS]
    return [
        [before, *bounds, least, most]
        for (before, least, most), bounds in zip(implied, demand_bounds(demand), strict=True)
    ]


def demand_bounds(demand: Demand) -> list[list[str]]:
    """For the same beliefs: the least and the most that a belief may become, as the demand states it, rounded inwards.

    >>> [cell.replace(SPACE, " ") for cell in demand_bounds(Demand.from_beta(4))[1]]
    ['2.5 %', '40 %']
    """
    at = np.array([float(p) for p in PRIORS])
    limits = zip(demand.lower(at).tolist(), demand.upper(at).tolist(), strict=True)
    return [
        [f"{percent_bound(as_decimal(low), up=True)}{SPACE}%", f"{percent_bound(as_decimal(high), up=False)}{SPACE}%"]
        for low, high in limits
    ]
