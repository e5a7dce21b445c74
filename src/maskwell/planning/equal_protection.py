"""Two designs brought to the same protection, so that it is fair to compare what they tell.

The less private design is made as private as the other. A design that is one of a family goes to the member with that
protection. Any other keeps its device, but only a share s of the respondents use it for their own answer; the others
use it for a category drawn at random:

    A' = s A + (1 - s) w 1',      w = A 1 / k

with the largest s for which the measure is c: ``s = min_i r w_i / (r w_i + e_i)`` over the rows beyond c, where e_i is
the excess of row i and r the room of a row of ones (:mod:`maskwell.privacy.measures`). For parity ``r = gamma - 1`` and
``e_i = max_j A[i, j] - gamma min_j A[i, j]``. That is how a uniform design, too, becomes more private.

Source: the principle is [Adeshiyan2011, sections 2.3 and 2.7]; the dilution is derived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.subset import LocalDiversity, Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError
from maskwell.planning.tuning import retuned
from maskwell.privacy.criteria import verdict
from maskwell.privacy.measures import PARITY, Measure

READABLE = 20
"""Characters of a fraction that people can read."""


@dataclass(frozen=True)
class Equalised:
    """A design made more private, and how.

    Attributes
    ----------
    design
        The new design, of parity at most what was asked; within slack for one that was given as decimals
        (:mod:`maskwell.privacy.criteria`) and is left as it is.
    how
        What was done, in words.
    """

    design: Design
    how: str


def at_parity(design: Design, gamma: Fraction) -> Equalised:
    """The design brought down to parity gamma; itself when it is as private already.

    >>> from maskwell.core import Categories
    >>> equalised = at_parity(Uniform.from_gamma(9, Categories.numbered(3)), Fraction(3))
    >>> equalised.design.parity_exact(), equalised.how
    (Fraction(3, 1), 'a k-ary design of that parity')
    """
    if gamma <= 1:
        raise ParameterError(
            f"a design of parity {to_text(gamma)} tells nothing, so there is nothing to compare",
            hint="compare designs whose reports depend on the truth",
        )
    if verdict(design.parity_exact(), gamma, decimals=design.decimals).meets:
        return Equalised(design, "unchanged")
    family = FAMILIES.get(type(design))
    member = None if family is None else family(design, gamma)
    return diluted(design, gamma) if member is None else Equalised(member, f"{_named(member)} of that parity")


def at_level(design: Design, measure: Measure, value: Fraction) -> Equalised:
    """The design brought to a value of any measure, within its family where it has one.

    Raises
    ------
    ParameterError
        It would have to tell more than it does, and has no family with a member that does.

    >>> from maskwell.procedures import simmons
    >>> at_level(simmons("0.8", "0.1"), Measure.of("ratio"), Fraction(4)).how
    'simmons with p = 3/13, beta = 1/10'
    """
    now = measure.value(design)
    if now == value:
        return Equalised(design, "unchanged")
    if measure.name == "parity" and value < now:
        return at_parity(design, value)
    member = _member(design, measure, value, may_fail=value < now)
    if member is not None:
        return Equalised(member, _as_made(member))
    if value < now:
        return diluted(design, value, measure)
    raise ParameterError(
        f"this {design.kind} design cannot be made to tell more: its {measure.name} is {to_float(now):.6g}",
        hint=f"values from {to_float(measure.blank):.6g} to {to_float(now):.6g} can be reached",
        attainable=(measure.blank, now),
    )


def _member(design: Design, measure: Measure, value: Fraction, *, may_fail: bool) -> Design | None:
    """Another member of the family of the design; None without a family, or where it has no such member."""
    if isinstance(design, Uniform) and measure.name != "hazard":
        return Uniform.from_gamma(value, design.inputs)
    try:
        return retuned(design, measure, value)
    except ParameterError:
        if may_fail:
            return None
        raise


def _as_made(design: Design) -> str:
    if isinstance(design, Uniform):
        return f"{_named(design)} of that ratio"
    parameters = [f"{name} = {_short(text)}" for name, text in design.provenance["parameters"].items()]
    return f"{design.provenance['family']} with {', '.join(parameters)}"


def _short(text: str) -> str:
    """A parameter as it is where that is short.

    >>> _short("3/13"), _short("12345678901234567890/98765432109876543210")
    ('3/13', '0.125')
    """
    return text if len(text) <= READABLE or "," in text else f"{Printed(float(Fraction(text))):.6g}"


def diluted(design: Design, value: Fraction, measure: Measure = PARITY) -> Equalised:
    """The same device, used by some respondents for a random category, as few as the measure allows.

    >>> revealing = Dense.of([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    >>> diluted(revealing, Fraction(3)).design.parity_exact()
    Fraction(3, 1)
    """
    rows = design.exact_matrix()
    beyond = [(row, excess) for row in rows if (excess := measure.excess(row, value)) > 0]
    kept = min((_share(row, excess, measure.room(value)) for row, excess in beyond), default=Fraction(1))
    mixed = [[kept * p + (1 - kept) * sum(row) / design.k for p in row] for row in rows]
    outputs = design.outputs if isinstance(design.outputs, Categories) else None
    others = f"{Printed(100 * float(1 - kept)):.4g} %"
    how = f"the same device, with {others} of the respondents using it for a random category"
    return Equalised(Dense.of(mixed, design.inputs, outputs), how)


def _share(row: list[Fraction], excess: Fraction, room: Fraction) -> Fraction:
    """The largest s at which this row, diluted, keeps to the value."""
    random = room * sum(row) / len(row)
    return random / (random + excess)


def _uniform(design: Any, gamma: Fraction) -> Design:
    return Uniform.from_gamma(gamma, design.inputs)


def _sets(design: Any, gamma: Fraction) -> Design:
    return Subset.from_gamma(gamma, design.inputs, size=design.size)


def _unary(design: Any, gamma: Fraction) -> Design | None:
    if design.keep + design.flip == 1:
        return Unary.rappor_from_gamma(gamma, design.inputs)
    return Unary.oue_from_gamma(gamma, design.inputs) if design.keep == Fraction(1, 2) else None


FAMILIES: dict[type[Design], Callable[[Any, Fraction], Design | None]] = {
    Uniform: _uniform,
    Subset: _sets,
    LocalDiversity: _sets,
    Unary: _unary,
}
"""Structures that have a member for every parity."""


def _named(design: Design) -> str:
    """What the changed design is, in words."""
    if isinstance(design, Subset):
        return f"subset selection of size {design.size:,}"
    return "a k-ary design" if isinstance(design, Uniform) else "the same encoding in bits"
