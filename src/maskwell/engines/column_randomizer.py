"""Randomize columns, batch after batch: from true values to reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.core.exact import to_float
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import SECURE, RandomSource
from maskwell.core.report_data import Reports
from maskwell.designs.basket_bits import ItemBits
from maskwell.designs.design import Design
from maskwell.designs.sampler import sampler_of
from maskwell.engines.arrow_arrays import (
    BASKETS,
    coming_schema,
    describe,
    described,
    in_schema,
    masks_from_bits,
    numbers_array,
    require,
    texts_from_bits,
    without_traces,
)
from maskwell.engines.assignments import Assignment, check_assignments
from maskwell.engines.basket_reader import BasketCoder
from maskwell.engines.column_codes import (
    CategoryCoder,
    Problems,
    check_no_missing,
    common_rows,
    ids_of,
    joint_codes,
    separate_codes,
)
from maskwell.engines.row_sources import BATCH_ROWS, PIECE_BYTES, find_column, rows_of_cells
from maskwell.errors import DataFileError, MissingValueError, ParameterError, WrongTypeError


@dataclass(frozen=True)
class KeptDraws:
    """Draws that a secret key keeps for each person, by the column that identifies whose row it is."""

    keys: KeyedRandom
    person: str


Draws: TypeAlias = RandomSource | KeptDraws
"""Where random words come from: one row after the other, or by person under a secret key."""

MOST_ROWS_EACH = 100  # rows of one person, on average, from which on a column is not taken to name persons
CHECKED_ROWS = 1 << 14  # rows over which this is looked at, at least, however small the batches are in which they come
MOST_CODED = 1 << 12  # labels of a dictionary handed to a sink: each piece of the rows may hold all of them
MOST_AXES = 32  # factors of a product that draw from one number for each row: NumPy before version 2 takes no more axes


@dataclass(frozen=True)
class RandomizedColumn:
    """What happened to one column."""

    design: str
    k: int
    encoding: str
    parity: float
    private: bool
    missing: int | None  # rows left out; None where missing values were randomized like others, and not counted
    item_parity: float | None = None  # of a column of baskets: the largest parity of one item


@dataclass(frozen=True)
class How:
    """What becomes of missing values, and how reports are written."""

    missing: str = "error"
    texts_only: bool = False  # sets as texts of 0 and 1
    coded_texts: bool = False  # texts as dictionaries, where the sink takes them


class BatchRandomizer:
    """All assigned columns at work: batches of true rows in, batches with reports out."""

    def __init__(
        self, assignments: Sequence[Assignment], schema: Any, path: str, random: Draws | None, how: How
    ) -> None:
        self._coded_texts = how.coded_texts
        draws = random.keys if isinstance(random, KeptDraws) else SECURE if random is None else random
        self._columns: list[ColumnRandomizer | BasketRandomizer] = [
            (ColumnRandomizer if a.baskets is None else BasketRandomizer)(a, schema, path, draws, how)
            for a in assignments
        ]
        self._persons = None
        if isinstance(random, KeptDraws):
            self._persons, self._person_place = Persons(random), find_column(schema, random.person, path)
        self.schema = without_traces(schema, [name for a in assignments for name in a.columns])
        for column in self._columns:
            self.schema = column.changed(self.schema)

    @property
    def rows_at_once(self) -> int:
        """So many that their values and reports take a few megabytes."""
        return min(rows_of_cells(len(self.schema)), *(column.rows_at_once for column in self._columns))

    @property
    def problems(self) -> list[Problems]:
        """Values that cannot be randomized."""
        return [problems for column in self._columns for problems in column.problems]

    def encode(self, batch: Any, row: int) -> list[Encoded]:
        """Codes of all columns; values that cannot be used are noted among the problems."""
        encoded = [one for column in self._columns for one in column.encode(batch, row)]
        return [one for one in encoded if one is not None]

    def randomize(self, batch: Any, row: int) -> Any:
        """The batch with reports in place of the truth; None once any column has met a value it cannot use."""
        arrow, encoded = require(), self.encode(batch, row)
        if any(self.problems):
            return None
        kept, codes = common_rows(encoded, len(batch))
        arrays = (batch if kept is None else batch.filter(arrow.array(kept))).columns
        names = None if self._persons is None else self._persons.names(batch.column(self._person_place), row, kept)
        remaining = iter(codes)
        for column in self._columns:
            drawn = column.draw([next(remaining) for _ in column.positions], names)
            for position, array in zip(column.positions, drawn, strict=True):
                arrays[position] = array
        changed = arrow.RecordBatch.from_arrays(arrays, self.schema.names)
        return in_schema(changed, coming_schema(changed.schema, self.schema) if self._coded_texts else self.schema)

    def summary(self) -> dict[str, RandomizedColumn]:
        """What happened to each column."""
        return {name: told for column in self._columns for name, told in column.summary().items()}


class Persons:
    """Whose rows they are, as kept draws know it: the same name for the same person in every table and file."""

    def __init__(self, draws: KeptDraws) -> None:
        self._keys, self._column = draws.keys, draws.person
        self._rows, self._different = 0, set[Any]()

    def names(self, values: Any, row: int, kept: Array | None = None) -> Array:
        """A block of 16 bytes for each of the next rows, or the kept ones among them; ``row`` of them came before."""
        check_no_missing(values, self._column, row, "say in every row whose it is: kept draws go by the person")
        if self._rows < CHECKED_ROWS:  # few different values, such as regions: all rows of one would be alike
            self._rows += len(values)
            self._different.update(values.unique().to_pylist())
            different, rows = len(self._different), self._rows
            if different * MOST_ROWS_EACH <= rows:
                raise ParameterError(
                    "column-names-no-persons-different-values", different=different, rows=rows, column=self._column
                )
        ids = ids_of(values, self._column)
        try:
            names = self._keys.names(ids)
        except (MissingValueError, WrongTypeError) as error:
            place = row + int(error.objects.get("row", 0)) + 1  # type: ignore[call-overload]
            raise WrongTypeError(
                "column-the-value-in-data-row-names", place=place, values=error.values, column=self._column
            ) from None
        return names if kept is None else names[kept]


def check_columns(assignments: Sequence[Assignment], random: Draws | None) -> list[str]:
    """The columns to be randomized; an error for those that cannot be, or that identify whose row it is."""
    names = check_assignments(assignments)
    for several in (part for assignment in assignments for _, part in assignment.parts):
        if len(several) > 1:
            raise ParameterError("the-reports-of-one-design", several=", ".join(several), columns=several)
    if isinstance(random, KeptDraws) and random.person in names:
        raise ParameterError("column-is-randomized-and-tells-whose", person=random.person)
    return names


class ColumnRandomizer:
    """One assignment at work: from true values to reports, batch after batch."""

    def __init__(
        self, assignment: Assignment, schema: Any, path: str, random: RandomSource | KeyedRandom, how: How
    ) -> None:
        self._names, self._leaves, self._texts_only = assignment.columns, assignment.leaves, how.texts_only
        self._coded_texts = how.coded_texts
        self.positions = [find_column(schema, name, path) for name in self._names]
        self._fields = [schema.field(position) for position in self.positions]
        for name, field in zip(self._names, self._fields, strict=True):
            check_true_values(name, field)
        self._sampler = ProductSampler(assignment.design, random, self._names)
        self._coders = true_coders(assignment, how.missing)
        self.problems = [coder.problems for coder in self._coders]
        # Where a missing value is a truth like others, their number is nobody's business.
        self._n_missing: list[int | None] = [None if how.missing == "category" else 0] * len(self._names)
        self._labels = [self._label_array(d, f.type) for d, f in zip(self._leaves, self._fields, strict=True)]

    @property
    def rows_at_once(self) -> int:
        """So many that their reports take a few megabytes."""
        bytes_of_a_row = max(d.k if d.reports_are_sets else 8 for d in self._leaves)
        return max(64, min(BATCH_ROWS, PIECE_BYTES // bytes_of_a_row))

    def changed(self, schema: Any) -> Any:
        """The schema with reports in place of the truth, saying so."""
        arrow = require()
        for position, field, leaf, labels in zip(self.positions, self._fields, self._leaves, self._labels, strict=True):
            empty = Reports(leaf.fingerprint, leaf.k, leaf.encoding, np.empty(0), self._sampler.private)
            sets = arrow.string() if self._texts_only else arrow.binary((leaf.k + 7) // 8)
            made = field.with_type(sets if labels is None else labels.type).with_nullable(True)
            schema = schema.set(position, described(made, dict(empty.describe())))
        return schema

    def encode(self, batch: Any, row: int) -> list[Encoded | None]:
        """Codes of the columns, None for each that cannot be encoded."""
        encoded = [c.codes(batch.column(i), row + 1) for c, i in zip(self._coders, self.positions, strict=True)]
        for place, (count, column) in enumerate(zip(self._n_missing, encoded, strict=True)):
            if count is not None and column is not None:
                self._n_missing[place] = count + column.n_missing
        return encoded

    def draw(self, codes: list[Array], names: Array | None) -> list[Any]:
        """Reports for the next rows, one array for each column; ``names`` of their persons where draws are kept."""
        parts = self._sampler.sample(codes, names)
        if parts[0].encoding == "bits":
            return [_set_array(parts[0], texts_only=self._texts_only)]
        arrays, arrow = [], require()
        for labels, part in zip(self._labels, parts, strict=True):
            codes = numbers_array(part.data)  # few labels stay a dictionary for sinks that take one
            coded = self._coded_texts and len(labels) <= MOST_CODED and arrow.types.is_string(labels.type)
            arrays.append(arrow.DictionaryArray.from_arrays(codes, labels) if coded else labels.take(codes))
        return arrays

    def summary(self) -> dict[str, RandomizedColumn]:
        """What happened to each column."""
        return {
            name: RandomizedColumn(
                leaf.fingerprint, leaf.k, leaf.encoding, leaf.parity(), self._sampler.private, missing
            )
            for name, leaf, missing in zip(self._names, self._leaves, self._n_missing, strict=True)
        }

    def _label_array(self, leaf: Design, kind: Any) -> Any:
        """All report labels in the type of the column where it can hold them; None for set reports."""
        if not isinstance(leaf.outputs, Categories):
            return None
        arrow = require()
        labels = leaf.outputs.decode(np.arange(leaf.m), like=arrow.nulls(0, kind), match="text")
        if not arrow.types.is_dictionary(labels.type):
            return labels
        # The width of the positions is the design's, since that of the true column follows the values that occur in it.
        positions = arrow.int8() if leaf.m <= 2**7 else arrow.int16() if leaf.m <= 2**15 else arrow.int32()
        return labels.cast(arrow.dictionary(positions, labels.type.value_type, labels.type.ordered))


def _set_array(reports: Reports, *, texts_only: bool) -> Any:
    return texts_from_bits(reports.data, reports.k) if texts_only else masks_from_bits(reports.data)


class ProductSampler:
    """Draws the reports of several columns from one design, a product of one for each; apart where it is too large."""

    def __init__(self, design: Design, random: RandomSource | KeyedRandom | None, columns: Sequence[str]) -> None:
        self._leaves = design.leaves
        variables = self.variables(design, columns)
        self._together = len(variables) < max(2, len(self._leaves))
        self._samplers = [sampler_of(one, random, variable) for one, variable in variables]
        self.private = all(sampler.private for sampler in self._samplers)

    @staticmethod
    def variables(design: Design, columns: Sequence[str]) -> list[tuple[Design, Sequence[str]]]:
        """What is drawn at once: the columns together from the product, or each from its own factor."""
        leaves = design.leaves
        if len(leaves) == 1 or (len(leaves) <= MOST_AXES and max(design.k, design.m) < 2**63):
            return [(design, columns)]
        return [(leaf, [name]) for leaf, name in zip(leaves, columns, strict=True)]

    def sample(self, codes: Sequence[Array], names: Array | None = None) -> list[Reports]:
        """Reports of the next rows, from the codes of each column."""
        if not self._together:
            return [sampler.sample_named(column, names) for sampler, column in zip(self._samplers, codes, strict=True)]
        drawn = self._samplers[0].sample_named(joint_codes(codes, [leaf.k for leaf in self._leaves]), names)
        if len(self._leaves) == 1:
            return [drawn]
        columns = zip(self._leaves, separate_codes(drawn.data, [leaf.m for leaf in self._leaves]), strict=True)
        return [Reports(leaf.fingerprint, leaf.k, leaf.encoding, part, drawn.private) for leaf, part in columns]


class BasketRandomizer:
    """One column of baskets at work: from true baskets to reports, batch after batch."""

    def __init__(
        self, assignment: Assignment, schema: Any, path: str, random: RandomSource | KeyedRandom, how: How
    ) -> None:
        self._items, self._name, self._texts_only = basket_items(assignment), assignment.columns[0], how.texts_only
        self.positions = [find_column(schema, self._name, path, BASKETS)]
        self._field = schema.field(self.positions[0])
        check_true_values(self._name, self._field)
        self._sampler = self._items.sampler(random, self._name)
        self._coder = BasketCoder(self._name, self._items.names, how.missing)
        self.problems, self._n_missing = self._coder.problems, 0

    @property
    def rows_at_once(self) -> int:
        """So many that their bits, unpacked, take a few megabytes."""
        return max(64, min(BATCH_ROWS, PIECE_BYTES // len(self._items)))

    def changed(self, schema: Any) -> Any:
        """The schema with reports in place of the baskets, saying so."""
        nothing = np.empty((0, (len(self._items) + 7) // 8), dtype=np.uint8)
        empty = Reports(self._items.design.fingerprint, len(self._items), "bits", nothing, self._sampler.private)
        kind = _set_array(empty, texts_only=self._texts_only).type
        field = described(self._field.with_type(kind).with_nullable(True), dict(empty.describe()))
        return schema.set(self.positions[0], field)

    def encode(self, batch: Any, row: int) -> list[Encoded | None]:
        """Bits of the baskets, None where some cannot be encoded."""
        encoded = self._coder.read([batch.column(self.positions[0])], row + 1)
        self._n_missing += 0 if encoded is None else encoded.n_missing
        return [encoded]

    def draw(self, bits: list[Array], names: Array | None) -> list[Any]:
        """Reports for the next rows; ``names`` of their persons where draws are kept."""
        return [_set_array(self._sampler.sample(bits[0], names), texts_only=self._texts_only)]

    def summary(self) -> dict[str, RandomizedColumn]:
        """What happened to the column; its parity is that of a whole basket."""
        design, parity = self._items.design, to_float(self._items.basket_parity)
        about = design.fingerprint, len(self._items), "bits", parity, self._sampler.private, self._n_missing
        return {self._name: RandomizedColumn(*about, to_float(self._items.item_parity))}


def basket_items(assignment: Assignment) -> ItemBits:
    """The items of a column of baskets, whose names can be part of it."""
    assert assignment.baskets is not None
    assignment.baskets.check_named()
    return assignment.baskets


def check_true_values(name: str, field: Any) -> None:
    """Raise where a column says that it holds reports; ``field`` is what is known of it, if anything."""
    if field is not None and describe(field) is not None:
        raise DataFileError("column-already-holds-reports", column=name)


def true_coders(assignment: Assignment, missing: str) -> list[CategoryCoder]:
    """What turns each column into codes of its true categories."""
    pairs = zip(assignment.columns, assignment.leaves, strict=True)
    return [CategoryCoder(name, leaf.inputs, missing, role="truth") for name, leaf in pairs]
