"""What a certificate can prove of a design: that it is admissible, or improves another one; all in exact numbers.

A design of finite parity gamma is admissible (no such design is more informative) exactly when the row of every
report that can occur C1 has parity gamma itself, and C2 takes two values, so that it is
``theta (1 + (gamma - 1) [j in S])``: the set S and the weight theta are its witness. Proportional rows are merged
first. Without a bound on parity only the truth is admissible. Where all categories are treated alike, one witness
represents all sets of one size. Designs of steps, open cells or non-zeros are certified as one matrix.

Source: [ChaiNayak2018, Theorems 4.2 and 4.3, Definition 4.1]; products are derived: a row of a product of two rows that
are not constant takes at least three values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import groupby, pairwise
from typing import Any, Literal

from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, common_denominator, from_text, to_text, told_apart
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.design import EXACT_LIMIT, Design, big
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.mixture import Mixture
from maskwell.designs.patterns import Patterns
from maskwell.designs.set_reports import SetDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.designs.wire import design_from_dict
from maskwell.errors import TooLargeError
from maskwell.privacy.column_shapes import Shape, integer_rows, rows_one_by_one, shapes

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


def parts_of(design: Design) -> tuple[Design, ...]:
    """The designs whose rows multiply, or stand side by side, to those of this one; none for other designs."""
    return design.factors if isinstance(design, Kronecker) else design.parts if isinstance(design, Blocks) else ()


def why_not(design: Design) -> str | None:
    """Why a design is not admissible, in one sentence; None when it is. Stops at the first row that fails."""
    return _reason(design, design.parity_exact())


def judged_rows(design: Design, level: Parity) -> list[Judged]:
    """The reports that can occur, each judged at a level."""
    return [Judged(shape, level, _failed(shape, level)) for shape in shapes(design) if shape.is_possible]


def _failed(shape: Shape, level: Parity) -> Condition | None:
    if level == math.inf:
        return None if shape.possible == 1 else "truth"
    if shape.parity != level:
        return "C1"
    return None if len(shape.values) == 2 else "C2"


def _reason(design: Design, level: Parity) -> str | None:
    parts = parts_of(design)
    if not parts:
        rows = (row for row in rows_one_by_one(design) if row.is_possible)
        failing = next((one for row in rows if (one := Judged(row, level, _failed(row, level))).fails), None)
        return None if failing is None else failing.words(_name(design, failing.shape))
    # without a bound every part counts; else those that say something, or the first if none does
    which = [i for i, part in enumerate(parts) if level == math.inf or part.parity_exact() > 1] or [0]
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


def proof_of(design: Design, level: Parity) -> dict[str, Any] | None:
    """Whether a design is admissible at a level, with the proof in exact text."""
    if isinstance(level, float) or isinstance(design, Kronecker):
        return None
    judged = judged_rows(design, level)
    wrong = next((row for row in judged if row.fails), None)
    said = {"exactly": wrong is None, "level": to_text(level)}
    if wrong is not None:
        shape = wrong.shape
        named = {"size": shape.sizes.start} if shape.sizes else {"row": shape.rows[0]}
        return {**said, **named, "fails": wrong.fails, "parity": to_text(shape.parity), "values": len(shape.values)}
    impossible = [i for shape in shapes(design) if not shape.is_possible for i in shape.rows]
    return {**said, "witness": [row.witness() for row in judged], "impossible": impossible}


@singledispatch
def provable(design: Design) -> Design:
    """The same design, with parts of steps, cells and non-zeros written out."""
    return design


@provable.register(Blocks)
@provable.register(Composed)
@provable.register(Sparse)
def written_out(design: Design) -> Dense:
    """The matrix of a design, with the same labels; sets are labelled by 0/1 texts."""
    said = {"kind": design.kind, "design_k": big(design.k), "exact_limit": EXACT_LIMIT, "k": design.k}
    if isinstance(design, SetDesign) and design.k**2 > EXACT_LIMIT:  # there are at least k sets
        raise TooLargeError("this-design-over-categories-must", **said)
    try:
        rows = design.exact_matrix()
    except TooLargeError as error:
        raise TooLargeError("this-design-over-categories-must", **said) from error
    made = {"kind": design.kind, "fingerprint": design.fingerprint}
    written = Dense.of(rows, design.inputs, design.written_reports())
    return written.noting_decimals(design).with_provenance(written_out=made)


@provable.register
def _product(design: Kronecker) -> Design:
    factors = [provable(factor) for factor in design.factors]
    if all(new is old for new, old in zip(factors, design.factors, strict=True)):
        return design
    made = {"kind": design.kind, "fingerprint": design.fingerprint}
    return Kronecker.of(factors).noting_decimals(design).with_provenance(written_out=made)


def provable_rows(design: Design) -> Design:
    """The same for a proof that goes through every row: products and reports that are sets are written out too."""
    return design if isinstance(design, Dense | Mixture | Patterns | Uniform) else written_out(design)


Entry = tuple[int, int, Fraction]


@dataclass(frozen=True, eq=False)
class Improves:
    """The design that is replaced, and the entries of C that are not zero, by rows and then by columns."""

    original: Design
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, original: Design, entries: Iterable[tuple[int, int, Any]]) -> Improves:
        """From entries in any order; zeros are left out. The original goes in as :func:`provable_rows` writes it."""
        read = ((int(i), int(u), Fraction(c)) for i, u, c in entries)
        return cls(provable_rows(original), tuple(sorted((i, u, c) for i, u, c in read if c)))

    @classmethod
    def from_dict(cls, content: Any) -> Improves:
        """Read back what :meth:`to_dict` wrote, strictly; ValueError or the like for anything else."""
        for entry in content["garbling"]:
            if not (isinstance(entry, list) and [*map(type, entry[:2])] == [int, int]):
                raise ValueError(f"{entry!r:.80} is not an entry [row, column, fraction]")
        entries = tuple((i, u, from_text(text)) for i, u, text in content["garbling"])
        places = [entry[:2] for entry in entries]
        if any(before >= after for before, after in pairwise(places)):
            raise ValueError("the entries of the garbling are not in order, or one is repeated")
        original = design_from_dict(content["original"])
        if provable_rows(original) != original:
            raise ValueError(f"the original is of the kind {original.kind}, which is not written out")
        return cls(original, entries)

    def to_dict(self) -> dict[str, Any]:
        """The original, its parity, and the entries in exact text."""
        return {
            "original": self.original.to_dict(),
            "parity": to_text(self.original.parity_exact()),
            "garbling": [[i, u, to_text(c)] for i, u, c in self.entries],
        }

    def fault(self, better: Design) -> str | None:
        """What is wrong with the claim that ``original = C better``; None when it holds exactly."""
        if self.original.inputs.labels != better.inputs.labels:
            return f"the {self.original.k} truths of the original are not the {better.k} truths of the better design"
        rows, columns = self.original.m, better.m
        outside = next(((i, u) for i, u, _ in self.entries if not (0 <= i < rows and 0 <= u < columns)), None)
        if outside is not None:
            return f"the entry ({outside[0]}, {outside[1]}) is outside a matrix of {rows} rows and {columns} columns"
        return self._wrong_column(columns) or self._wrong_row(better)

    def _wrong_column(self, m: int) -> str | None:
        totals: dict[int, Fraction] = {}  # by the entries that are there: m is only what a file says
        for i, u, c in self.entries:
            if c <= 0:
                return f"the entry ({i}, {u}) is not positive"
            totals[u] = totals.get(u, Fraction(0)) + c
        wrong = next((u for u in range(m) if totals.get(u) != 1), None)
        if wrong is None:
            return None
        return f"column {wrong} of the garbling sums to {to_text(totals.get(wrong, Fraction(0)))}, not 1"

    def _wrong_row(self, better: Design) -> str | None:
        """In integers: each row of C P over the common denominator of the entries of that row of C, and that of P."""
        (A, whole), (P, total) = integer_rows(self.original), integer_rows(better)
        by_row = {i: list(entries) for i, entries in groupby(self.entries, key=lambda entry: entry[0])}
        for i, original_row in enumerate(A):
            entries = by_row.get(i, [])
            common = common_denominator(c for _, _, c in entries)
            made = [0] * len(original_row)
            for _, u, c in entries:
                factor = c.numerator * (common // c.denominator)
                made = [x + factor * p for x, p in zip(made, P[u], strict=True)]
            for j, (x, a) in enumerate(zip(made, original_row, strict=True)):
                if x * whole != a * common * total:
                    actual, right = to_text(Fraction(x, common * total)), to_text(Fraction(a, whole))
                    return f"the entry for report {i} and truth {j} is {actual} after garbling, not {right}"
        return None
