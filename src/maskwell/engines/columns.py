"""Which design belongs to which column of a file, and the columns of a batch as codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.core.phrases import HINT, MESSAGE, listed, shorten
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.kronecker import Kronecker
from maskwell.errors import MissingValueError, ParameterError, UnknownCategoryError

SHOWN = 10
LIKE_MISSING = {"na", "n/a", "#n/a", "nan", "null", "none", "nil", "."}
"""Texts that often stand for a missing value; here they are labels like any other."""
KEPT_OFFENDERS = 1000


@dataclass(frozen=True)
class Assignment:
    """A design and the column, or the columns of a product of designs, that it belongs to.

    ``when`` names the rows that used it, by columns and their values: all of them when it is empty.

    >>> from maskwell.designs.uniform import Uniform
    >>> coin = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> Assignment.of("smokes,drinks", Kronecker.of([coin, coin])).columns
    ('smokes', 'drinks')
    """

    columns: tuple[str, ...]
    design: Design
    when: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, columns: str, design: Design, when: Sequence[tuple[str, str]] = ()) -> Assignment:
        """From names separated by commas, one for each factor of a product; any other design has one column."""
        names = columns.split(",") if isinstance(design, Kronecker) else [columns]
        assigned = cls(tuple(name.strip() if len(names) > 1 else name for name in names), design, tuple(when))
        assigned._check()
        return assigned

    @cached_property
    def leaves(self) -> tuple[Design, ...]:
        """The design of each column."""
        return tuple(_leaves(self.design))

    def _check(self) -> None:
        if len(self.leaves) != len(self.columns):
            raise ParameterError(
                f"a product of {len(self.leaves)} designs is given {len(self.columns)} column: {','.join(self.columns)}"
                if len(self.columns) == 1
                else f"a product of {len(self.leaves)} designs is given {len(self.columns)} columns",
                hint=f"name one column for each of the {len(self.leaves)} designs: first,second=DESIGN",
            )
        if any(isinstance(leaf, Blocks) for leaf in self.leaves):
            raise ParameterError(
                "a block design needs the cell of every row, and files are randomized column by column",
                hint="split the file by cell and use each cell's own design",
            )


def _leaves(design: Design) -> Iterable[Design]:
    if not isinstance(design, Kronecker):
        return [design]
    return [leaf for factor in design.factors for leaf in _leaves(factor)]


def check_assignments(assignments: Sequence[Assignment]) -> list[str]:
    """The columns of all assignments, each named once."""
    names = [name for assignment in assignments for name in assignment.columns]
    if not names:
        raise ParameterError("no design was given", hint="name a column and its design: --design answer=design.json")
    grouped = next((name for assignment in assignments if assignment.when for name in assignment.columns), None)
    if grouped is not None:
        raise ParameterError(
            f"column {grouped!r} has a design for some rows only",
            hint="split the file by group, and give each part its own design",
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ParameterError(f"two designs for the column {repeated[0]!r}", hint="give each column one design")
    return names


def joint_design(assignments: Sequence[Assignment]) -> Design:
    """The design of all columns together: the only one, or the product."""
    leaves = [leaf for assignment in assignments for leaf in assignment.leaves]
    return leaves[0] if len(leaves) == 1 else Kronecker.of(leaves)


@dataclass
class Problems:
    """Values of one column that cannot be used, gathered over the whole file so that one error tells all."""

    column: str
    categories: Categories
    offenders: Counter[Any] = field(default_factory=Counter)
    unknown: int = 0
    missing: int = 0
    first_missing: int | None = None

    def __bool__(self) -> bool:
        return bool(self.unknown or self.missing)

    def encode(self, values: Any, first_row: int, policy: str, places: Array | None = None) -> Encoded | None:
        """Codes of the values, or None when some of them cannot be used; ``places`` where they stand in the batch."""
        try:
            encoded = self.categories.encode(
                values, missing="category" if policy == "category" else "drop", match="text"
            )
        except UnknownCategoryError as error:
            self._note_unknown(error)
            return None
        except MissingValueError as error:
            raise self._no_category(error) from error
        if policy == "error" and encoded.kept is not None:
            self.note_missing(~encoded.kept, first_row, places)
            return None
        return encoded

    def note_missing(self, lost: Array, first_row: int, places: Array | None = None) -> None:
        """Remember how many rows have no value, and the first of them."""
        self.missing += int(lost.sum())
        if self.first_missing is None:
            first = int(np.argmax(lost))
            self.first_missing = first_row + (first if places is None else int(places[first]))

    def _note_unknown(self, error: UnknownCategoryError) -> None:
        found: dict[Any, int] = error.objects["offenders"]  # type: ignore[assignment]
        self.unknown += sum(found.values())
        for value, times in found.items():
            if value in self.offenders or len(self.offenders) < KEPT_OFFENDERS:
                self.offenders[value] += times

    def _no_category(self, error: MissingValueError) -> MissingValueError:
        """The design has no category for missing values, in the words of the command line."""
        texts = map(str, self.categories.labels[:SHOWN])
        named = ",".join(f'"{text}"' if "," in text else text for text in texts)
        shown = named if len(self.categories) <= SHOWN and len(named) <= 28 else "..."
        return MissingValueError(
            f"column {self.column!r} has missing values, and its design has no category 'missing'",
            hint=f"use --missing drop, or make the design with --categories {shown},missing",
            column=self.column,
            label=error.objects.get("label"),
        )

    def error(self, rows: int) -> UnknownCategoryError | MissingValueError:
        """The one error for this column."""
        if self.unknown:
            return self._unknown_error(rows)
        are = "is" if self.missing == 1 else "are"
        return MissingValueError(
            f"{self._named}: {self.missing:,} of {rows:,} values {are} missing, the first in data row"
            f" {self.first_missing}",
            hint="leave such rows out with --missing drop, or count them with --missing category",
            column=self.column,
            count=self.missing,
        )

    @property
    def _named(self) -> str:
        return f"column {shorten(repr(self.column), 24)}"

    def _unknown_error(self, rows: int) -> UnknownCategoryError:
        are = "is" if self.unknown == 1 else "are"
        wrong = f"{self._named}: {self.unknown:,} of {rows:,} values {are} no category: "
        common, distinct = self.offenders.most_common(SHOWN), len(self.offenders)
        shown = (f"{value!r} ({times:,} {'time' if times == 1 else 'times'})" for value, times in common)
        empty = any(str(value).strip().lower() in LIKE_MISSING for value in self.offenders)
        then = "; only an empty cell counts as missing" if empty else "; recode these, or make another design"
        known = listed(map(repr, self.categories.labels), len(self.categories), HINT - len(f"allowed: {then}"))
        return UnknownCategoryError(
            wrong + listed(shown, distinct, MESSAGE - len(wrong), at_least=distinct == KEPT_OFFENDERS),
            hint=f"allowed: {known}{then}",
            column=self.column,
            offenders=dict(self.offenders),
            count=self.unknown,
        )


def raise_first(problems: Iterable[Problems], rows: int) -> None:
    """Raise the error of the first column that has one."""
    for problem in problems:
        if problem:
            raise problem.error(rows)


def common_rows(encoded: Sequence[Encoded], rows: int) -> tuple[Array | None, list[Array]]:
    """Rows that have a value in every column (None when all have), and the codes of these rows in each column."""
    masks = [one.kept for one in encoded if one.kept is not None]
    if not masks:
        return None, [one.codes for one in encoded]
    kept = np.logical_and.reduce([np.ones(rows, dtype=np.bool_), *masks])
    return kept, [one.codes[kept if one.kept is None else kept[one.kept]] for one in encoded]


def joint_codes(codes: Sequence[Array], sizes: Sequence[int]) -> Array:
    """One code for each row of several columns, the first column slowest.

    >>> joint_codes([np.array([1, 0]), np.array([2, 1])], [2, 3]).tolist()
    [5, 1]
    """
    if len(codes) == 1:
        return codes[0]
    joint = codes[0].astype(np.int64)
    for more, size in zip(codes[1:], sizes[1:], strict=True):
        joint = joint * size + more
    return joint


def separate_codes(joint: Array, sizes: Sequence[int]) -> list[Array]:
    """Undo :func:`joint_codes`."""
    if len(sizes) == 1:
        return [joint]
    return [part.astype(np.int64) for part in np.unravel_index(joint.astype(np.int64), tuple(sizes))]
