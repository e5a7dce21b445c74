"""Which design belongs to which column of a file, and the columns of a batch as codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.core.phrases import HINT, listed, shorten, shown_values
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.kronecker import Kronecker, leaves_of
from maskwell.engines.arrow_checks import column_errors
from maskwell.errors import MissingValueError, ParameterError, UnknownCategoryError

SHOWN = 10
LIKE_MISSING = {"na", "n/a", "#n/a", "nan", "null", "none", "nil", "."}
"""Texts that often stand for a missing value; here they are labels like any other."""
KEPT_OFFENDERS = 1000


@dataclass(frozen=True)
class Assignment:
    """A design and its column, or its columns: one for each factor of a product, one for each answer of a report.

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
        """From names separated by commas, where the design is a product or its reports are tuples of answers."""
        names = columns.split(",") if isinstance(design, Kronecker) or answers_in(design) > 1 else [columns]
        assigned = cls(tuple(name.strip() if len(names) > 1 else name for name in names), design, tuple(when))
        assigned._check()
        return assigned

    @cached_property
    def leaves(self) -> tuple[Design, ...]:
        """The design itself, or the factors of a product."""
        return leaves_of(self.design)

    @cached_property
    def parts(self) -> tuple[tuple[Design, tuple[str, ...]], ...]:
        """Each of the leaves with its columns."""
        names = iter(self.columns)
        return tuple((leaf, tuple(next(names) for _ in range(width))) for leaf, width in self._widths)

    @property
    def _widths(self) -> list[tuple[Design, int]]:
        one_each = len(self.columns) == len(self.leaves)  # a tuple may also stand in one column, as text
        return [(leaf, 1 if one_each else answers_in(leaf)) for leaf in self.leaves]

    def _check(self) -> None:
        if sum(width for _, width in self._widths) != len(self.columns):
            raise self._wrong_number()
        if any(isinstance(leaf, Blocks) for leaf in self.leaves):
            raise ParameterError(
                "a block design needs the cell of every row, and files are randomized column by column",
                hint="split the file by cell and use each cell's own design",
            )

    def _wrong_number(self) -> ParameterError:
        given = f"{len(self.columns)} columns" if len(self.columns) > 1 else f"1 column: {self.columns[0]}"
        if len(self.leaves) == 1:
            return ParameterError(
                f"a report of {answers_in(self.design)} answers is given {given}",
                hint="name one column for each answer: first,second=DESIGN",
            )
        return ParameterError(
            f"a product of {len(self.leaves)} designs is given {given}",
            hint=f"name one column for each of the {len(self.leaves)} designs: first,second=DESIGN",
        )


def answers_in(design: Design) -> int:
    """How many answers a report of the design holds: more than one where all reports are tuples of that length.

    >>> from maskwell.designs.dense import Dense
    >>> answers_in(Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], outputs=Categories.of([("yes", "no"), ("no", "yes")])))
    2
    """
    labels = design.outputs.labels if isinstance(design.outputs, Categories) else ()
    if isinstance(labels, range):
        return 1
    lengths = {len(label) if isinstance(label, tuple) else 1 for label in labels}
    return max(lengths) if len(lengths) == 1 else 1


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
    first_unknown: int | None = None
    missing: int = 0
    first_missing: int | None = None
    role: str = "category"
    """What a value must be: a category, the report that the answers in several columns make, or a group of rows."""

    def __bool__(self) -> bool:
        return bool(self.unknown or self.missing)

    def encode(self, values: Any, first_row: int, policy: str, places: Array | None = None) -> Encoded | None:
        """Codes of the values, or None when some of them cannot be used; ``places`` where they stand in the batch."""
        try:
            with column_errors(self.column):
                encoded = self.categories.encode(
                    values, missing="category" if policy == "category" else "drop", match="text"
                )
        except UnknownCategoryError as error:
            rows = cast(Array, error.objects["rows"])
            self.note_unknown(cast(Mapping[Any, int], error.objects["offenders"]), rows, first_row, places)
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
            self.first_missing = _row(int(np.argmax(lost)), first_row, places)

    def note_unknown(self, found: Mapping[Any, int], rows: Array, first_row: int, places: Array | None = None) -> None:
        """Remember values that cannot be used, how often each occurs, and the first of their rows."""
        self.unknown += sum(found.values())
        if self.first_unknown is None:
            self.first_unknown = _row(int(rows[0]), first_row, places)
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
        return f"column{'s' * (self.role == 'report')} {shorten(repr(self.column), 24)}"

    def _unknown_error(self, rows: int) -> UnknownCategoryError:
        first = f"{', the first' if self.unknown > 1 else ''} in data row {self.first_unknown}"
        empty = any(str(value).strip().lower() in LIKE_MISSING for value in self.offenders)
        then = "; only an empty cell counts as missing" if empty else self._what_then()
        known = listed(map(repr, self.categories.labels), len(self.categories), HINT - len(f"allowed: {then}"))
        return UnknownCategoryError(
            f"{self._named}: {self.unknown:,} of {rows:,} values {self._are_not}{first}",
            hint=f"allowed: {known}{then}",
            values=shown_values(self.offenders, at_least=len(self.offenders) == KEPT_OFFENDERS),
            column=self.column,
            offenders=dict(self.offenders),
            count=self.unknown,
        )

    @property
    def _are_not(self) -> str:
        one = self.unknown == 1
        if self.role == "group":
            return f"{'has' if one else 'have'} no design"
        return f"{'is' if one else 'are'} no {self.role}"

    def _what_then(self) -> str:
        if self.role == "group":
            return "; give these rows a design too, or leave them out of the file"
        if self.role == "category" and all(isinstance(label, tuple) for label in self.categories.labels):
            return "; name one column for each answer"
        return "; recode these, or make another design"


def _row(place: int, first_row: int, places: Array | None) -> int:
    return first_row + (place if places is None else int(places[place]))


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
