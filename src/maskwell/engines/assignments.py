"""Which design belongs to which column of a table, or to which group of its rows, named by the values of other columns.

The designs that a row used for all its columns together are its *sample*. Reports that are tuples, or bits of a basket,
have a column for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.labels import in_one_type, sorted_levels
from maskwell.core.phrases import design_of, shorten
from maskwell.designs.basket_bits import ItemBits, find_item_bits
from maskwell.designs.blocks import Blocks
from maskwell.designs.design import Design
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.uniform import Uniform
from maskwell.engines.arrow_arrays import column_errors, require, without_nan
from maskwell.engines.column_codes import joint_codes, places_of, separate_codes
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.row_sources import Source, find_column
from maskwell.engines.rows import MemoryRows, Part, Rows
from maskwell.errors import DataFileError, ParameterError, ReportError

SAMPLES_LIMIT = 10_000


@dataclass(frozen=True)
class Assignment:
    """A design and its column, or its columns: one for each factor of a product, one for each answer of a report."""

    columns: tuple[str, ...]
    design: Design
    when: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, columns: str, design: Design, when: Sequence[tuple[str, str]] = ()) -> Assignment:
        """From names separated by commas, where the design is a product or its reports are tuples of answers."""
        names = columns.split(",") if isinstance(design, Kronecker) or answers_in(design) > 1 else [columns]
        assigned = cls(tuple(name.strip() if len(names) > 1 else name for name in names), design, tuple(when))
        if sum(width for _, width in assigned._widths) != len(assigned.columns):
            count, answers = len(assigned.columns), answers_in(design)
            given = f"{count} columns" if count > 1 else f"1 column: {assigned.columns[0]}"
            if len(assigned.leaves) == 1:
                raise ParameterError("a-report-of-answers-is-given", answers_in=answers, columns=given)
            raise ParameterError("a-product-of-designs-is-given", leaves_count=len(assigned.leaves), columns=given)
        if any(isinstance(leaf, Blocks) for leaf in assigned.leaves):
            raise ParameterError("a-block-design-needs-the-cell")
        return assigned

    @cached_property
    def leaves(self) -> tuple[Design, ...]:
        """The design itself, or the factors of a product."""
        return self.design.leaves

    @cached_property
    def parts(self) -> tuple[tuple[Design, tuple[str, ...]], ...]:
        """Each of the leaves with its columns."""
        names = iter(self.columns)
        return tuple((leaf, tuple(next(names) for _ in range(width))) for leaf, width in self._widths)

    @cached_property
    def baskets(self) -> ItemBits | None:
        """The items of the one column that holds baskets, None where columns hold one value each."""
        bits = find_item_bits(self.design) if len(self.columns) == 1 < len(self.leaves) else None
        return bits if bits is not None and bits.names else None

    @property
    def _widths(self) -> list[tuple[Design, int]]:
        if self.baskets is not None:
            return [(self.design, 1)]
        one_each = len(self.columns) == len(self.leaves)  # a tuple may also stand in one column, as text
        return [(leaf, 1 if one_each else answers_in(leaf)) for leaf in self.leaves]


def answers_in(design: Design) -> int:
    """How many answers a report of the design holds: more than one where all reports are tuples of that length."""
    labels = design.outputs.labels if isinstance(design.outputs, Categories) else ()
    if isinstance(labels, range):
        return 1
    lengths = {len(label) if isinstance(label, tuple) else 1 for label in labels}
    return max(lengths) if len(lengths) == 1 else 1


def check_assignments(assignments: Sequence[Assignment]) -> list[str]:
    """The columns of all assignments, each named once."""
    names = [name for assignment in assignments for name in assignment.columns]
    if not names:
        raise ParameterError("no-design-was-given", design_of=design_of("answer"))
    grouped = next((name for assignment in assignments if assignment.when for name in assignment.columns), None)
    if grouped is not None:
        raise ParameterError("column-has-a-design-for-some", grouped=grouped)
    _check_named_once(names)
    return names


def _check_named_once(names: Sequence[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ParameterError("two-designs-for-the-column", repeated=repeated)


def expected_categories(assignments: Iterable[Assignment], *, reports: bool) -> dict[str, Categories | None]:
    """The categories that each column holds: reports, or true values."""
    expected: dict[str, Categories | None] = {}
    for leaf, names in (part for one in assignments if one.baskets is None for part in one.parts):
        held = leaf.outputs if reports and isinstance(leaf.outputs, Categories) else leaf.inputs
        places = (held,) if len(names) == 1 else Answers(held).places
        expected.update(zip(names, places, strict=True))
    return expected


@dataclass(frozen=True)
class Variable:
    """A column, or the columns of a product of designs, and the designs that groups of rows used for it."""

    choices: tuple[Assignment, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the reports."""
        return self.choices[0].columns

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that determine which design a row used; none where all rows used one."""
        return tuple(name for name, _ in self.choices[0].when)

    def check(self) -> None:
        """Raise unless every row can have at most one of the designs."""
        named = ", ".join(self.columns)
        if len(self.choices) > 1 and not all(choice.when for choice in self.choices):
            raise ParameterError(
                "two-designs-for-the-column-give", named=named, design_of=design_of(f"{named}[group=1]", "D1.json")
            )
        if len({tuple(name for name, _ in choice.when) for choice in self.choices}) > 1:
            raise ParameterError("the-groups-of-are-told", named=named)
        values = [choice.when for choice in self.choices]
        twice = next((when for when in values if values.count(when) > 1), None)
        if twice is not None:
            raise ParameterError("two-designs-for-where", named=named, group_text=group_text(twice))
        inputs = self.choices[0].design.inputs
        for other in self.choices[1:]:
            if other.design.inputs != inputs:
                one, two = (shorten(", ".join(map(str, held.labels[:4])), 30) for held in (inputs, other.design.inputs))
                raise ParameterError(
                    "the-designs-of-have-different-categories", named=named, first_labels=one, design_first_labels=two
                )


def group_text(when: Iterable[tuple[str, str]]) -> str:
    """What defines a group of rows, in words."""
    return ", ".join(f"{name} = {value}" for name, value in when)


def variables_of(assignments: Sequence[Assignment]) -> list[Variable]:
    """The assignments by the columns they belong to, in the order in which those are first named; each checked."""
    if not assignments:
        raise ParameterError("no-design-was-given", design_of=design_of("answer"))
    basket = next((assignment for assignment in assignments if assignment.baskets is not None), None)
    if basket is not None:
        column = shorten(repr(basket.columns[0]), 24)
        raise ParameterError("column-holds-baskets-of-items", column=column, leaves_count=len(basket.leaves))
    by_columns: dict[tuple[str, ...], list[Assignment]] = {}
    for assignment in assignments:
        by_columns.setdefault(assignment.columns, []).append(assignment)
    variables = [Variable(tuple(choices)) for choices in by_columns.values()]
    for variable in variables:
        variable.check()
    _check_named_once([name for variable in variables for name in variable.columns])
    return variables


@dataclass(frozen=True)
class Samples:
    """All combinations of the designs of several variables, one of which each row used, the first variable slowest."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        for variable in self.variables:
            for choice in variable.choices:
                for leaf in choice.leaves:
                    check_reports_one(leaf)
        if len(self) > SAMPLES_LIMIT:
            raise ParameterError("combinations-of-designs", self_count=len(self), samples_limit=SAMPLES_LIMIT)

    def __len__(self) -> int:
        return int(np.prod([len(variable.choices) for variable in self.variables]))

    @cached_property
    def choices(self) -> list[tuple[Assignment, ...]]:
        """For each sample, the assignment of each variable."""
        return list(product(*(variable.choices for variable in self.variables)))

    @cached_property
    def designs(self) -> list[Design]:
        """The design of each sample, all its columns together: the only one, or the product."""
        leaves = [[leaf for one in chosen for leaf in one.leaves] for chosen in self.choices]
        return [several[0] if len(several) == 1 else Kronecker.of(several) for several in leaves]

    @property
    def labels(self) -> list[str]:
        """What defines each sample, in words; empty where all rows used one design."""
        return [group_text(dict.fromkeys(pair for one in chosen for pair in one.when)) for chosen in self.choices]

    def looked_for(self) -> dict[str, Categories | None]:
        """The categories that columns hold: reports, and the values that determine which design a row used."""
        every = [choice for variable in self.variables for choice in reversed(variable.choices)]
        values: dict[str, list[str]] = {}
        for name, value in (pair for choice in every for pair in choice.when):
            values.setdefault(name, []).append(value)
        groups = {name: Categories.of(dict.fromkeys(texts)) for name, texts in values.items()}
        return {**groups, **expected_categories(every, reports=True)}

    def check_used(self, seen: Iterable[int]) -> None:
        """Raise for a group of rows that has a design, but no row with a report among the samples that were seen."""
        used = {id(one) for place in seen for one in self.choices[place]}
        for one in (choice for variable in self.variables for choice in variable.choices if choice.when):
            if used and id(one) not in used:
                raise ReportError(
                    "no-row-with-a-report", group_text=shorten(group_text(one.when), 30), group=dict(one.when)
                )

    @property
    def columns(self) -> list[str]:
        """The columns that hold reports."""
        return [name for variable in self.variables for name in variable.columns]

    @property
    def group_columns(self) -> list[str]:
        """The columns that define the groups, each once."""
        return [*dict.fromkeys(name for variable in self.variables for name in variable.group_columns)]


def check_reports_one(design: Design) -> Categories:
    """The possible reports of a design that reports one category at a time, or an error."""
    if not isinstance(design.outputs, Categories):
        raise ReportError("a-design-reports-sets-which-cannot", kind=design.kind)
    return design.outputs


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers that make up labels that are tuples, and which label they make."""

    labels: Categories

    @cached_property
    def places(self) -> tuple[Categories, ...]:
        """The answers in each place, in the order in which they first come."""
        return tuple(Categories.of(dict.fromkeys(answers)) for answers in zip(*self._tuples, strict=True))

    def join(self, codes: Sequence[Array]) -> Array:
        """The codes of the labels that the answers make, -1 for those that make none."""
        return np.asarray(self._label_of[joint_codes(codes, self._sizes)])

    def split(self, codes: Array) -> list[Array]:
        """Undo :meth:`join`: the code of the answer in each place."""
        return separate_codes(self._joint[codes], self._sizes)

    @property
    def _tuples(self) -> Sequence[tuple[Any, ...]]:
        return self.labels.labels  # type: ignore[return-value]

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(place) for place in self.places]

    @cached_property
    def _joint(self) -> Array:
        places = zip(self.places, zip(*self._tuples, strict=True), strict=True)
        return joint_codes([place.encode(list(answers)).codes for place, answers in places], self._sizes)

    @cached_property
    def _label_of(self) -> Array:
        label_of = np.full(int(np.prod(self._sizes)), -1, dtype=np.int64)
        label_of[self._joint] = np.arange(len(self.labels))
        return label_of


MOST_DIRECT_VALUES = 1000  # different values of a column that was asked directly


def direct_design(table: Rows, name: str) -> Uniform:
    """The design of a column that holds true answers, over the values that occur in it, sorted."""
    if table.read_once:
        raise ParameterError("a-directly-asked-column-needs-two")
    values: dict[Any, None] = {}
    given: Sequence[Any] = ()
    for part in table.in_parts(_Values(name, str(table)), coded={name: None}):
        found, in_order = part.found
        values.update(found)
        given = given or in_order
        _check_few(values, name)
    if len(values) < 2:
        raise DataFileError("column-has-different-values", values_count=len(values), column=name)
    return Uniform.of(Fraction(1), Categories.of(in_one_type(sorted_levels(values, given))))


def different_rows(table: Rows, names: Sequence[str], most: int) -> list[tuple[str | None, ...]]:
    """The different rows of some columns, as texts in the order of the table; None for a missing value."""
    rows: dict[Any, None] = {}
    for part in table.in_parts(_Rows(tuple(names), str(table), most), coded=dict.fromkeys(names)):
        rows.update(part.found)
        _check_most(rows, most)
    return [*rows]


def _check_most(rows: dict[Any, None], most: int) -> None:
    if len(rows) > most:
        raise ParameterError("more-than-different-parameters-of-designs", most=most)


@dataclass(frozen=True)
class _Rows:
    """Looks which different rows, of texts, some columns have; ``where`` is what messages call the table."""

    names: tuple[str, ...]
    where: str
    most: int

    def columns(self, schema: Any) -> list[str]:
        for name in self.names:
            find_column(schema, name, self.where)
        return [*self.names]

    def __call__(self, source: Source, first_row: int | None, progress: Any) -> Part[dict[Any, None]]:
        values: dict[Any, None] = {}
        rows = 0
        for batch in source.batches([find_column(source.schema, name, self.where) for name in self.names]):
            columns = dict(zip(batch.schema.names, map(without_nan, batch.columns), strict=True))
            texts, codes = [], []
            for name in self.names:
                places, dictionary = places_of(columns[name])
                with column_errors(name):
                    texts.append([*(None if value is None else str(value) for value in dictionary.to_pylist()), None])
                codes.append(places)
            joint = np.stack(codes, axis=1)
            first = np.sort(np.unique(joint, axis=0, return_index=True)[1])
            different = (tuple(t[code] for t, code in zip(texts, row, strict=True)) for row in joint[first].tolist())
            values.update(dict.fromkeys(different))
            _check_most(values, self.most)
            rows += len(batch)
        return Part(rows, values)


@dataclass(frozen=True)
class _Values:
    """Looks which values occur in a column, and in which order they were given; ``where`` is in messages."""

    column: str
    where: str

    def columns(self, schema: Any) -> list[str]:
        find_column(schema, self.column, self.where)
        return [self.column]

    def __call__(self, source: Source, first_row: int | None, progress: Any) -> Part[tuple[dict[Any, None], list[Any]]]:
        values: dict[Any, None] = {}
        given: list[Any] = []
        rows = 0
        for batch in source.batches([find_column(source.schema, self.column, self.where)]):
            _, dictionary = places_of(without_nan(batch.column(0)))
            with column_errors(self.column):
                values.update(dict.fromkeys(value for value in dictionary.to_pylist() if value is not None))
            _check_few(values, self.column)
            given = given or given_order(source, self.column, batch.column(0))
            rows += len(batch)
        return Part(rows, (values, given))


def _check_few(values: dict[Any, None], name: str) -> None:
    if len(values) > MOST_DIRECT_VALUES:
        most = MOST_DIRECT_VALUES
        raise ParameterError("column-has-more-than-different-values", most_direct_values=most, column=name)


def label_orders(table: Rows, names: Sequence[str]) -> list[list[Any]]:
    """For each column its labels in the order that the data give them; none for rows that cannot be looked at twice."""
    if table.read_once or not table.at_hand:
        return [[] for _ in names]
    with table.open(coded=dict.fromkeys(names)) as source:
        orders = []
        for name in names:
            place, column = find_column(source.schema, name, str(table)), None
            if not isinstance(source.style, Labels) and require().types.is_dictionary(source.schema.field(place).type):
                rows = source.batches([place])
                batch = next(rows, None)
                column = None if batch is None else batch.column(0)
                if hasattr(rows, "close"):
                    rows.close()
            orders.append(given_order(source, name, column))
        return orders


def given_order(source: Source, name: str, column: Any) -> list[Any]:
    """The labels of a column, of which ``column`` is a piece, in the order that the data give; none without one."""
    if isinstance(source.style, Labels):
        return source.style.columns[name].in_order if name in source.style.columns else []
    if column is None or not require().types.is_dictionary(column.type):
        return []
    told = column.type.ordered or (isinstance(source, MemoryRows) and source.has_categories(name))
    with column_errors(name):
        return [label for label in column.dictionary.to_pylist() if label is not None] if told else []
