"""Admissible or not, in exact numbers, and why: the witness of every row, or the row that fails.

A design of finite parity gamma is admissible (no design of the same parity tells more) exactly when every report that
can occur satisfies

    C1  its row has parity gamma itself,
    C2  its row takes two values,

so that the row is ``theta (1 + (gamma - 1) [j in S])``: the set S and the weight theta are its witness. Rows that are
proportional to each other are merged first; that changes neither condition. Without a bound on parity only the truth is
admissible: every report leaves one truth possible.

What is certified is admissibility at the design's own parity. A demand that allows more may be used better by another
design.

Source: [ChaiNayak2018, Theorems 4.2 and 4.3]; products are derived: a row of a product of two rows that are not
constant takes at least three values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, Literal

from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.kronecker import Kronecker
from maskwell.privacy.shapes import Shape, shapes

Condition = Literal["C1", "C2", "truth"]


@dataclass(frozen=True)
class Judged:
    """Rows that are alike, and the condition that they fail, if any."""

    shape: Shape
    level: Parity
    fails: Condition | None

    @property
    def weight(self) -> Fraction:
        """Theta; without a bound on parity, the chance of the report for its one truth."""
        return self.shape.values[-1] if self.level == math.inf else self.shape.values[0]

    def to_dict(self) -> dict[str, Any]:
        """The witness, or what is wrong, in exact text; a merged row under the numbers of all its rows."""
        shape = self.shape
        named: dict[str, Any] = {"size": shape.sizes.start} if shape.sizes else {"rows": list(shape.rows)}
        if self.fails is None:
            return {**named, **({} if shape.sizes else {"set": list(shape.truths)}), "weight": to_text(self.weight)}
        return {**named, "fails": self.fails, "parity": to_text(shape.parity), "values": len(shape.values)}

    def words(self, name: str) -> str:
        """What is wrong with the report of this name."""
        if self.fails == "C1":
            return f"{name} has parity {short(self.shape.parity)}, below {short(self.level)} (condition C1)"
        if self.fails == "truth":
            return (
                f"{name} leaves {self.shape.possible:,} truths possible; without a bound on parity only the truth "
                "itself is admissible"
            )
        if len(self.shape.values) == 1:
            return f"{name} is equally likely whatever the truth (condition C2)"
        return f"{name} takes {len(self.shape.values)} different values, not two (condition C2)"


@dataclass(frozen=True)
class Admissibility:
    """Whether a design is admissible at its own parity, and why.

    Attributes
    ----------
    level
        The parity at which it is judged: the design's own.
    admissible
        With the tolerance that matrices made of floats need: what ``design.is_admissible()`` says.
    rows
        The reports that can occur, merged where they are proportional, each judged; empty for products and blocks.
    impossible
        Rows of zeros.
    parts
        Of a product or of blocks: the parts that decide by number, each judged at the same level.
    reason
        Why it is not admissible exactly, in one sentence; None when it is.

    >>> from maskwell.designs.dense import Dense
    >>> found = admissibility(Dense.of([["1/2", "1/4"], ["1/2", "3/4"]]))
    >>> found.exactly, found.reason
    (False, 'the report 1 has parity 1.5, below 2 (condition C1)')
    """

    level: Parity
    admissible: bool
    reason: str | None
    rows: tuple[Judged, ...] = ()
    impossible: tuple[int, ...] = ()
    parts: tuple[tuple[int, Admissibility], ...] = ()

    @property
    def exactly(self) -> bool:
        """Without any tolerance."""
        return self.reason is None

    @property
    def failures(self) -> tuple[Judged, ...]:
        """The rows that fail."""
        return tuple(row for row in self.rows if row.fails)

    def to_dict(self) -> dict[str, Any]:
        """Everything in exact text: every row with its witness or with what is wrong."""
        found: dict[str, Any] = {"exactly": self.exactly, "level": to_text(self.level), "reason": self.reason}
        if self.parts:
            return {**found, "parts": [{"part": i, **part.to_dict()} for i, part in self.parts]}
        return {**found, "rows": [row.to_dict() for row in self.rows], "impossible": list(self.impossible)}

    def note(self, bound: Parity) -> str | None:
        """What a demand with a larger bound adds: admissibility is certified at the design's own parity."""
        if not self.exactly or bound <= self.level:
            return None
        return (
            f"admissible at its own parity {short(self.level)}; the demand allows {short(bound)}, where another design "
            "can tell more"
        )


@singledispatch
def parts_of(design: Design) -> tuple[Design, ...]:  # noqa: ARG001 (other kinds have parts)
    """The designs whose rows multiply, or stand side by side, to those of this one; none for other designs."""
    return ()


@parts_of.register
def _factors(design: Kronecker) -> tuple[Design, ...]:
    return design.factors


@parts_of.register
def _blocks(design: Blocks) -> tuple[Design, ...]:
    return design.parts


def admissibility(design: Design) -> Admissibility:
    """Whether a design is admissible at its own parity, row by row, in exact numbers.

    Raises
    ------
    TooLargeError
        The design has no symmetry that is known, and its matrix is too large to be written out.
    """
    return _judge(design, design.parity_exact())


def why_not(design: Design) -> str | None:
    """Why a design is not admissible, in one sentence; None when it is. Stops at the first row that fails."""
    return _reason(design, design.parity_exact())


def judged_rows(design: Design, level: Parity) -> Iterator[Judged]:
    """The reports that can occur, each judged at a level."""
    return (Judged(shape, level, _failed(shape, level)) for shape in shapes(design) if shape.is_possible)


def _failed(shape: Shape, level: Parity) -> Condition | None:
    if level == math.inf:
        return None if shape.possible == 1 else "truth"
    if shape.parity != level:
        return "C1"
    return None if len(shape.values) == 2 else "C2"


def _judge(design: Design, level: Parity) -> Admissibility:
    judged = (level, design.is_admissible(), _reason(design, level))
    if parts := parts_of(design):
        return Admissibility(*judged, parts=tuple((i, _judge(parts[i], level)) for i in deciding(parts, level)))
    impossible = tuple(i for shape in shapes(design) if not shape.is_possible for i in shape.rows)
    return Admissibility(*judged, tuple(judged_rows(design, level)), impossible)


def deciding(parts: tuple[Design, ...], level: Parity) -> tuple[int, ...]:
    """Without a bound every part counts; else those that say something, or the first if none does."""
    if level == math.inf:
        return tuple(range(len(parts)))
    return tuple(i for i, part in enumerate(parts) if part.parity_exact() > 1) or (0,)


def _reason(design: Design, level: Parity) -> str | None:
    parts = parts_of(design)
    if not parts:
        found = next((row for row in judged_rows(design, level) if row.fails), None)
        return None if found is None else found.words(_name(design, found.shape))
    which = deciding(parts, level)
    if level != math.inf and len(which) > 1:
        both = " and ".join(f"{i + 1}" for i in which[:2])
        return f"parts {both} both say something, so that some report takes more than two values (condition C2)"
    reasons = ((i, _reason(parts[i], level)) for i in which)
    return next((f"in part {i + 1}, {reason}" for i, reason in reasons if reason), None)


def _name(design: Design, shape: Shape) -> str:
    outputs = design.outputs
    if not shape.sizes:
        return f"the report {outputs.labels[shape.rows[0]] if isinstance(outputs, Categories) else shape.rows[0]}"
    return (
        "a report" if isinstance(outputs, Categories) else f"a report of {shape.sizes.start} of {design.k:,} categories"
    )


def short(value: Parity) -> str:
    """A parity for people: six digits.

    >>> short(Fraction(7, 2)), short(math.inf)
    ('3.5', 'infinite')
    """
    return "infinite" if value == math.inf else f"{to_float(value):.6g}"
