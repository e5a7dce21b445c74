"""From a privacy demand to the number that designs are made with, never beyond what was asked."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from maskwell.core.arguments import as_count, as_whole
from maskwell.core.exact import Number, floor_to, safe_below, to_text
from maskwell.designs.base import Design, too_few
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand

D = TypeVar("D", bound=Design)

LESS = {"epsilon": "epsilon = 1", **{name: f"{name} = 2" for name in ("gamma", "beta", "bayes_factor")}}
"""A demand that leaves something, in the words of one that leaves nothing."""

SHORT = 64
"""Numerators of more bits than this are rounded where exact equations have to be solved with them."""


def check_k(k: int) -> int:
    """At least two categories."""
    count = as_count(k, "k")
    if count < 2:
        raise too_few(count)
    return as_whole(count, "k", high=2**32 - 1)


def gamma_of(demand: Demand | Number) -> Fraction:
    """The parity that designs for a demand, or for a number gamma, are made with: above 1, and allowed.

    >>> gamma_of(Demand.from_rho("0.1", "0.5")), gamma_of("5/2")
    (Fraction(9, 1), Fraction(5, 2))
    """
    gamma = demand.reachable if isinstance(demand, Demand) else safe_below(demand, "gamma")
    if gamma <= 1:
        said = demand.text if isinstance(demand, Demand) else f"gamma = {demand}"
        name = demand.name if isinstance(demand, Demand) else "gamma"
        raise ParameterError(
            f"{said} leaves no information in a report: parity must be above 1",
            hint=f"ask for a little less privacy, such as {LESS.get(name, LESS['epsilon'])}",
            gamma=gamma,
        )
    return gamma


def short_gamma(gamma: Fraction) -> Fraction:
    """The parity itself when it is short; else rounded down so that gamma - 1 keeps 32 binary digits.

    >>> from maskwell.core.exact import exp_below
    >>> short_gamma(Fraction(5, 2)), float(short_gamma(exp_below(Fraction(1))))
    (Fraction(5, 2), 2.7182818283326924)
    """
    if gamma.numerator.bit_length() <= SHORT:
        return gamma
    size = (gamma - 1).numerator.bit_length() - (gamma - 1).denominator.bit_length()
    return 1 + floor_to(gamma - 1, max(0, 33 - size))


def remembering(design: D, demand: Demand) -> D:
    """The design with a note of its demand, where its parameters do not say it already.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> remembering(Uniform.from_gamma(9, Categories.numbered(2)), Demand.from_rho("0.1", "0.5")).provenance["demand"]
    'rho1 = 0.1 to rho2 = 0.5'
    """
    return design if demand.name in ("gamma", "epsilon") else design.with_provenance(demand=demand.text)


def builder_parameters(demand: Demand) -> dict[str, str]:
    """A demand in the words that the builders of designs know: epsilon as it was stated, everything else as gamma.

    >>> builder_parameters(Demand.from_epsilon("0.5")), builder_parameters(Demand.from_rho("0.1", "0.5"))
    ({'epsilon': '1/2'}, {'gamma': '9'})
    """
    gamma = gamma_of(demand)
    exactly = demand.name == "epsilon" and not demand.strict
    return {"epsilon": str(demand.stated["epsilon"])} if exactly else {"gamma": to_text(gamma)}
