"""Two designs brought to the same protection, so that it is fair to compare what they tell.

The less private design is made as private as the other. A design that is one of a family goes to the member with that
parity. Any other keeps its device, but only a share s of the respondents use it for their own answer; the others use it
for a category drawn at random:

    A' = s A + (1 - s) w 1',      w = A 1 / k

with the largest s for which parity is gamma: ``s = min_i (gamma - 1) w_i / ((gamma - 1) w_i + max_j A[i, j] - gamma
min_j A[i, j])`` over the rows whose parity is above gamma. That is how a uniform design, too, becomes more private.

Source: the principle is [Adeshiyan2011, sections 2.3 and 2.7]; the dilution is derived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import to_text
from maskwell.designs.base import Design
from maskwell.designs.dense import Dense
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.designs.subset import Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError


@dataclass(frozen=True)
class Equalised:
    """A design made more private, and how.

    Attributes
    ----------
    design
        The new design, of parity at most what was asked.
    how
        What was done, in words.
    """

    design: Design
    how: str


def at_parity(design: Design, gamma: Fraction) -> Equalised:
    """The design brought down to parity gamma; itself when it is as private already.

    >>> from maskwell.core.categories import Categories
    >>> found = at_parity(Uniform.from_gamma(9, Categories.numbered(3)), Fraction(3))
    >>> found.design.parity_exact(), found.how
    (Fraction(3, 1), 'a k-ary design of that parity')
    """
    if gamma <= 1:
        raise ParameterError(
            f"a design of parity {to_text(gamma)} tells nothing, so there is nothing to compare",
            hint="compare designs whose reports depend on the truth",
        )
    if design.parity_exact() <= gamma:
        return Equalised(design, "unchanged")
    family = FAMILIES.get(type(design))
    member = None if family is None else family(design, gamma)
    return diluted(design, gamma) if member is None else Equalised(member, f"{_named(member)} of that parity")


def diluted(design: Design, gamma: Fraction) -> Equalised:
    """The same device, used by some respondents for a random category, as few as parity gamma allows.

    >>> revealing = Dense.of([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    >>> diluted(revealing, Fraction(3)).design.parity_exact()
    Fraction(3, 1)
    """
    rows = design.exact_matrix()
    kept = min((_share(row, gamma) for row in rows if max(row) > gamma * min(row)), default=Fraction(1))
    mixed = [[kept * p + (1 - kept) * sum(row) / design.k for p in row] for row in rows]
    outputs = design.outputs if isinstance(design.outputs, Categories) else None
    how = f"the same device, with {100 * float(1 - kept):.4g} % of the respondents using it for a random category"
    return Equalised(Dense.of(mixed, design.inputs, outputs), how)


def _share(row: list[Fraction], gamma: Fraction) -> Fraction:
    """The largest s at which this row, diluted, has parity gamma."""
    random = (gamma - 1) * sum(row) / len(row)
    return random / (random + max(row) - gamma * min(row))


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
