"""Bits: a set of items as one bit for each, every bit kept or flipped on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, resolution, root_below
from maskwell.designs.asked_parity import Asked, asked_epsilon, asked_gamma
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError
from maskwell.procedures.design_builders import check_list, named, one_demand, one_for_each
from maskwell.procedures.procedure import Kind, Parameter, Procedure, demand

PRESENT_ABSENT = Categories.of((1, 0))


def bits(
    items: Sequence[str],
    *,
    p: Number | None = None,
    probabilities: Sequence[Number] | None = None,
    gamma: Number | None = None,
    epsilon: Number | None = None,
) -> Kronecker:
    """Keep the bit of each item with its own probability, otherwise flip it.

        P = P_1 x ... x P_M,   P_a = [[p_a, 1 - p_a], [1 - p_a, p_a]],   parity = prod_a p_a / (1 - p_a)

    where the M ``items`` come first slowest, each with the labels 1 (present) and 0 (absent), and every p_a lies
    strictly between 1/2 and 1. One of three says what they are: ``p``, the same for all; ``probabilities``, one for
    each; or a bound on the total parity, ``gamma`` or e to the power ``epsilon``, shared equally:
    p / (1 - p) = gamma^(1/M), rounded down.
    Source: [NayakZhangAdeshiyan2016, section 4] (itemsets), after Rizvi and Haritsa (2002); parity derived.

    >>> design = bits(["bread", "milk"], gamma=9)
    >>> design.parity_exact(), design.provenance["item_parities"]   # both items together, and each alone
    (Fraction(9, 1), ['3', '3'])
    """
    names = [str(label) for label in Categories.of(str(item) for item in check_list(items, "items")).labels]
    ways = {"p": p, "probabilities": probabilities, "gamma": gamma, "epsilon": epsilon}
    stated = {name: value for name, value in ways.items() if value is not None}
    if len(stated) != 1:
        said = " and ".join(stated) or "neither a probability nor a privacy demand"
        raise ParameterError(
            f"{said} given, where one is needed", hint="give one of p, probabilities, gamma or epsilon"
        )
    if p is not None:
        keep = check_keep(p, "p")
        return _kept(names, [keep] * len(names), {"p": keep})
    if probabilities is not None:
        each = _one_each(names, probabilities)
        return _kept(names, each, {"probabilities": each})
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    return _within(names, asked_gamma(value) if name == "gamma" else asked_epsilon(value))


def check_keep(value: Number, name: str) -> Fraction:
    """A probability strictly between 1/2 and 1.

    >>> check_keep("0.9", "p")
    Fraction(9, 10)
    """
    keep = check_probability(value, name, open_=True)
    if keep <= Fraction(1, 2):
        raise ParameterError(
            f"{name} = {value}: a bit must be kept more often than flipped",
            hint="give more than 1/2, less than 1",
            value=value,
        )
    return keep


def _one_each(names: list[str], probabilities: Sequence[Number]) -> list[Fraction]:
    keeps = one_for_each(probabilities, "probabilities", len(names), of="items", hint="give one for each item")
    return [check_keep(value, name) for name, value in keeps.items()]


def _within(names: list[str], asked: Asked) -> Kronecker:
    root = root_below(asked.exact, len(names), resolution(asked.exact, 2))
    if root <= 1:
        raise ParameterError(
            f"{asked.name} = {asked.text} is too tight for {len(names)} items",
            hint="ask for less privacy, or fewer items",
        )
    design = _kept(names, [root / (1 + root)] * len(names), {asked.name: asked.text})
    return design.with_provenance(**asked.note(design.parity_exact()))


def _kept(names: list[str], keep: list[Fraction], parameters: Mapping[str, object]) -> Kronecker:
    return named(
        Kronecker.of([Uniform.of(2 * chance - 1, PRESENT_ABSENT) for chance in keep]),
        "bits",
        {"items": names, **parameters},
        items=names,
        item_parities=[str(chance / (1 - chance)) for chance in keep],
    )


BITS = Procedure(
    name="bits",
    build=bits,
    summary="a set of items, one bit for each, kept or flipped on its own",
    source="Nayak, Zhang and Adeshiyan 2016, section 4, after Rizvi and Haritsa 2002",
    example="--items bread,milk --gamma 9",
    parameters=(
        Parameter("items", Kind.LABELS, "names of the items"),
        Parameter("p", Kind.PROBABILITY, "chance to keep each bit, above 1/2", required=False),
        Parameter("probabilities", Kind.PROBABILITIES, "one such chance for each item", required=False),
        demand(required=False),
    ),
    truths=(1, 0),
    truths_named=False,
    reports=(1, 0),
    reports_named=False,
    may_fail=False,
)
