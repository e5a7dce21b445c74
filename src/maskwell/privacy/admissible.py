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
from maskwell.core.exact import Parity, to_text, told_apart
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.kronecker import Kronecker
from maskwell.privacy.shapes import Shape, rows_one_by_one, shapes

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

    def witness(self) -> dict[str, Any]:
        """Of a row that fails nothing: its set, or the size of its sets, and its weight, in exact text."""
        shape = self.shape
        if shape.sizes:
            return {"size": shape.sizes.start, "weight": to_text(self.weight)}
        return {"rows": list(shape.rows), "set": list(shape.truths), "weight": to_text(self.weight)}

    def words(self, name: str) -> str:
        """What is wrong with the report of this name."""
        if self.fails == "C1":
            parity, level = told_apart(self.shape.parity, self.level)
            return f"{name} has parity {parity}, below {level} (condition C1)"
        if self.fails == "truth":
            return (
                f"{name} leaves {self.shape.possible:,} truths possible; without a bound on parity only the truth "
                "itself is admissible"
            )
        if len(self.shape.values) == 1:
            return f"{name} is equally likely whatever the truth (condition C2)"
        return f"{name} takes {len(self.shape.values)} different values, not two (condition C2)"


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


def _deciding(parts: tuple[Design, ...], level: Parity) -> tuple[int, ...]:
    """Without a bound every part counts; else those that say something, or the first if none does."""
    if level == math.inf:
        return tuple(range(len(parts)))
    return tuple(i for i, part in enumerate(parts) if part.parity_exact() > 1) or (0,)


def _reason(design: Design, level: Parity) -> str | None:
    parts = parts_of(design)
    if not parts:
        rows = (row for row in rows_one_by_one(design) if row.is_possible)
        found = next((one for row in rows if (one := Judged(row, level, _failed(row, level))).fails), None)
        return None if found is None else found.words(_name(design, found.shape))
    which = _deciding(parts, level)
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
