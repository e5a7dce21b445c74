"""Baskets of items in a table, as rows of bits: one column of lists, or a column of 1 and 0 for each item.

A basket may be a text with blanks between the items, a text of 0 and 1, or the same packed. 7 and "7" are one item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Bits
from maskwell.core.categories import Categories, Encoded
from maskwell.core.phrases import HINT, design_of, listed, option, shorten, shown_values
from maskwell.designs.basket_bits import ItemBits
from maskwell.engines.arrow_arrays import (
    BASKETS,
    bits_from_array,
    column_errors,
    describe,
    holds_bytes,
    missing_rows,
    numbers_in_memory,
    require,
)
from maskwell.engines.assignments import Assignment, check_reports_one, expected_categories
from maskwell.engines.column_codes import (
    CategoryCoder,
    Problems,
    common_rows,
    earlier_row,
    include_problems,
    places_of,
    raise_first,
)
from maskwell.engines.report_counts import check_made_by
from maskwell.engines.row_sources import PIECE_BYTES, Progress, RowPass, Source, find_column
from maskwell.engines.rows import Rows
from maskwell.engines.survey_columns import RoleReader, SamplingColumns, joined_roles
from maskwell.errors import MissingValueError, ParameterError, UnknownCategoryError

UNKNOWN = -1


@dataclass
class BasketProblems(Problems):
    """Baskets that cannot be used: items that the design does not know, and items that are named twice."""

    role: str = "item"
    repeated: int = 0
    first_repeated: int | None = None
    repeated_items: Counter[Any] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.unknown or self.missing or self.repeated)

    def include(self, later: Problems, rows: int) -> None:
        """Add the problems of a later part of the table, which ``rows`` others come before."""
        super().include(later, rows)
        assert isinstance(later, BasketProblems)
        self.repeated += later.repeated
        self.repeated_items.update(later.repeated_items)
        self.first_repeated = earlier_row(self.first_repeated, later.first_repeated, rows)

    def error(self, rows: int) -> UnknownCategoryError | MissingValueError:
        """The one error for this column."""
        count = self.unknown or self.repeated
        baskets = f"{count:,} of {rows:,} baskets {'names' if count == 1 else 'name'}"
        told: dict[str, Any] = {"named": self._named, "baskets": baskets, "column": self.column}
        told["first"] = "in " if count == 1 else "the first in "
        if self.unknown:
            then = "; leave others out, or add them to the design"
            known = listed(map(repr, self.categories.labels), len(self.categories), HINT - len(f"items: {then}"))
            told |= {"known": known, "then": then, "values": shown_values(self.offenders), "count": count}
            told |= {"first_unknown": self.first_unknown, "offenders": dict(self.offenders)}
            return UnknownCategoryError("an-unknown-item-data-row", **told)
        if self.repeated:
            told |= {"first_repeated": self.first_repeated, "values": shown_values(self.repeated_items)}
            return UnknownCategoryError("an-item-twice-data-row", **told)
        error = super().error(rows)
        hint = f'leave such rows out with {option("missing", "drop")}; write an empty basket as "" or []'
        return MissingValueError(error.message, hint=hint, column=self.column, count=self.missing)


class BasketCoder:
    """Turns one column of baskets into rows of bits, batch after batch; what cannot be used is in ``problems``."""

    def __init__(self, column: str, items: Sequence[str], missing: str = "error") -> None:
        if missing == "category":
            raise ParameterError("column-holds-baskets-which-have-no", column=shorten(repr(column), 24))
        self.column, self._items, self._missing = column, Categories.of(items), missing
        self._noted = BasketProblems(column, self._items)
        self.problems: list[Problems] = [self._noted]

    def read(self, columns: Sequence[Any], first_row: int) -> Encoded | None:
        """Bits of the baskets in the one column, shape (n, ceil(M / 8)), or None when some of them cannot be used."""
        (values,) = columns
        lost = missing_rows(values)
        if lost.any() and self._missing == "error":
            self._noted.note_missing(lost, first_row)
            return None
        if lost.any():
            values = values.filter(require().array(~lost))
        with column_errors(self.column):
            bits = self._read(values, np.flatnonzero(~lost), first_row)
        if bits is None:
            return None
        return Encoded(bits, int(lost.sum()), ~lost if lost.any() else None, self._items)

    def _read(self, values: Any, rows: Array, first_row: int) -> Bits | None:
        arrow = require()
        if arrow.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if holds_bytes(values.type):
            return bits_from_array(values, len(self._items))
        bits = np.zeros((len(values), (len(self._items) + 7) // 8), dtype=np.uint8)
        if not arrow.types.is_nested(values.type):
            values = values.cast(arrow.string())
            reported = _are_reports(values, len(self._items))
            if reported.any():
                bits[reported] = bits_from_array(values.filter(arrow.array(reported)), len(self._items))
            rows, values = rows[~reported], _split(values.filter(arrow.array(~reported)))
            listed_bits = self._bits_of_lists(values, rows, first_row)
            if listed_bits is not None:
                bits[~reported] = listed_bits
            return None if listed_bits is None else bits
        return self._bits_of_lists(values, rows, first_row)

    def _bits_of_lists(self, lists: Any, rows: Array, first_row: int) -> Bits | None:
        """Bits of lists of items; ``rows`` are their places in the batch."""
        compute = require("pyarrow.compute")
        parents = numbers_in_memory(compute.list_parent_indices(lists))
        codes, texts = self._codes(compute.list_flatten(lists))
        if (codes == UNKNOWN).any():
            wrong = codes == UNKNOWN
            at = np.unique(parents[wrong])
            times = Counter(texts[place] for place in np.flatnonzero(wrong).tolist())
            self._noted.note_unknown(times, at, first_row, rows)
            self._noted.unknown += len(at) - int(wrong.sum())  # baskets are counted, not items
            return None
        held = np.zeros((len(lists), len(self._items)), dtype=np.bool_)
        held[parents, codes] = True
        if int(held.sum()) < len(codes):
            keys, counts = np.unique(parents * len(self._items) + codes, return_counts=True)
            at, item = np.divmod(keys[counts > 1], len(self._items))
            problems, twice = self._noted, rows[np.unique(at)]
            problems.repeated += len(twice)
            problems.repeated_items.update(self._items.labels[code] for code in item.tolist())
            if problems.first_repeated is None:
                problems.first_repeated = first_row + int(twice[0])
            return None
        return np.packbits(held, axis=1, bitorder="little")

    def _codes(self, items: Any) -> tuple[Array, list[Any]]:
        """The code of each item, and all of them as texts."""
        places, distinct = places_of(items)
        texts = ["" if value is None else str(value) for value in distinct.to_pylist()]
        known = {str(label): code for code, label in enumerate(self._items.labels)}
        table = np.array([*(known.get(text, UNKNOWN) for text in texts), UNKNOWN], dtype=np.int64)
        return table[places], [[*texts, ""][place] for place in places] if (table[places] == UNKNOWN).any() else []


def _are_reports(texts: Any, items: int) -> Array:
    """Which texts are reports: as many characters 0 and 1 as there are items."""
    if items <= 1000:
        matched = require("pyarrow.compute").match_substring_regex(texts, f"^[01]{{{items}}}$")
        return np.asarray(matched.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return np.array([len(text) == items and not {*text} - {"0", "1"} for text in texts.to_pylist()], dtype=np.bool_)


def _split(texts: Any) -> Any:
    compute = require("pyarrow.compute")
    lists = compute.utf8_split_whitespace(compute.utf8_trim_whitespace(texts))
    empty = compute.equal(compute.utf8_length(compute.utf8_trim_whitespace(texts)), 0)
    nothing = require().scalar([], lists.type)
    return compute.if_else(empty, nothing, lists)


@dataclass(frozen=True, eq=False)
class BasketRows:
    """Baskets as rows of bits, shape (n, ceil(M / 8)), and how many rows there were and were left out."""

    bits: Bits
    rows: int
    dropped: int
    plan: Mapping[str, Any] = field(default_factory=dict)  # what is known of the sampling of the baskets


def basket_columns(rows: Rows, bits: ItemBits) -> tuple[str, ...]:
    """Where baskets are when nobody says it: columns of items, one of reports of the design, or one named "items"."""
    if rows.read_once:
        raise ParameterError("standard-input-can-be-read-once", design_of=design_of("COLUMN", "DESIGN"))
    schema = rows.schema
    names, fields = list(schema.names), list(schema)
    if bits.names and {*bits.names} <= {*names}:
        return bits.names
    made = [f.name for f in fields if (describe(f) or {}).get("design") == bits.design.fingerprint]
    if len(made) == 1 or "items" in names:
        return (made[0] if len(made) == 1 else "items",)
    raise ParameterError(
        "has-no-column-items-and-none", rows=rows, bits_count=len(bits), design_of=design_of("COLUMN", "DESIGN")
    )


def read_baskets(
    rows: Rows,
    assignment: Assignment,
    roles: SamplingColumns | None = None,
    *,
    missing: str = "error",
    progress: Progress | None = None,
) -> BasketRows:
    """The reported baskets of a table as bits, all of them in memory: M / 8 bytes for each."""
    coded = expected_categories([assignment], reports=True)
    if assignment.baskets is not None:
        assignment.baskets.check_named()
        reader: Any = BasketCoder(assignment.columns[0], assignment.baskets.names, missing)
    else:
        reader = _BitReader(assignment, missing)
    work = _ReadingBaskets(assignment, reader, str(rows), roles or SamplingColumns())
    parts = rows.in_parts(work, coded=coded, progress=progress)
    problems, read = parts[0].problems, parts[0].rows
    for part in parts[1:]:
        include_problems(problems, part.problems, read)
        read += part.rows
    raise_first(problems, read)
    bits = np.concatenate([one for part in parts for one in part.bits])
    return BasketRows(bits, read, read - len(bits), joined_roles([one for part in parts for one in part.plans]))


@dataclass(frozen=True, eq=False)
class _BasketPart:
    rows: int
    bits: list[Bits]
    plans: list[dict[str, Any]]
    problems: Sequence[Problems]


@dataclass(frozen=True)
class _ReadingBaskets:
    """Reads the baskets of a source; ``where`` is what messages call the table."""

    assignment: Assignment
    reader: BasketCoder | _BitReader
    where: str
    roles: SamplingColumns

    def columns(self, schema: Any) -> list[str]:
        return [*self._positions(schema)]

    def _positions(self, schema: Any) -> dict[str, int]:
        assignment = self.assignment
        positions = {name: find_column(schema, name, self.where, BASKETS) for name in assignment.columns}
        for (leaf, _), (name, position) in zip(assignment.parts, positions.items(), strict=True):
            check_made_by(leaf, schema.field(position), name)
        return positions | {
            name: find_column(schema, name, self.where) for name in self.roles.names(schema, self.where)
        }

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> _BasketPart:
        positions = self._positions(source.schema)
        only = sorted({*positions.values()})
        places = {name: only.index(position) for name, position in positions.items()}
        plan = RoleReader(self.roles, source.schema, self.where)
        bits: list[Bits] = []
        plans: list[dict[str, Any]] = []
        at_once = max(64, PIECE_BYTES // max(8, len(self.assignment.leaves)))
        rows = RowPass(source, self.where, only=only, rows_at_once=at_once, progress=progress, first_row=first_row)
        for batch in rows:
            columns = {name: batch.column(place) for name, place in places.items()}
            read = self.reader.read([columns[name] for name in self.assignment.columns], rows.before + 1)
            if read is not None:
                bits.append(read.codes)
                plans += [plan.read(columns, rows.before, read.kept)] if self.roles else []
        if first_row is None:
            raise_first(self.reader.problems, rows.rows)
        return _BasketPart(rows.rows, bits, plans, self.reader.problems)


class _BitReader:
    """Baskets that have a column of 1 and 0 for each item."""

    def __init__(self, assignment: Assignment, missing: str) -> None:
        leaves = zip(assignment.columns, assignment.leaves, strict=True)
        self._coders = [CategoryCoder(name, check_reports_one(leaf), missing, role="bit") for name, leaf in leaves]
        self.problems = [coder.problems for coder in self._coders]

    def read(self, columns: Sequence[Any], first_row: int) -> Encoded | None:
        encoded = [c.codes(values, first_row) for c, values in zip(self._coders, columns, strict=True)]
        usable = [one for one in encoded if one is not None]
        if len(usable) < len(encoded):
            return None
        kept, codes = common_rows(usable, len(columns[0]))
        ones = [column == coder.categories.code(1) for column, coder in zip(codes, self._coders, strict=True)]
        bits = np.packbits(np.column_stack(ones), axis=1, bitorder="little")
        return Encoded(bits, len(columns[0]) - len(bits), kept, usable[0].categories)
