"""Everything that a regression needs of a table: the columns of a formula, the reports, the sampling; read once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.categories import Categories
from maskwell.core.phrases import option, shorten
from maskwell.designs.design import Design
from maskwell.engines.arrow_arrays import column_errors, flags_in_memory, missing_rows, numbers_in_memory, require
from maskwell.engines.assignments import Assignment, Samples, Variable, variables_of
from maskwell.engines.column_codes import raise_first
from maskwell.engines.column_tables import Table, TableInMemory, open_table
from maskwell.engines.formula import Formula, check_columns, read_formula, read_right_side, uses_of
from maskwell.engines.formula_coding import CategoryColumn, Coding, Predictors
from maskwell.engines.labelled_columns import as_factor
from maskwell.engines.model_predictors import Hidden, References, Variables, categories_of
from maskwell.engines.rows import Rows, lists_categories
from maskwell.engines.survey_columns import RoleReader, SampleReader, SamplingColumns, some_rows
from maskwell.errors import InputError, MissingValueError, ParameterError


def _dropped() -> str:
    return f"leave such rows out: {option('missing', 'drop')}"


MOST_CATEGORIES = 64  # categories of all randomized predictors together; each costs a copy of the model matrix


Groups: TypeAlias = Sequence[tuple[Hashable, Sequence[int]]]  # labels of groups, and the codes of their categories


@dataclass(frozen=True, eq=False)
class ReportColumn:
    """A randomized variable, or several together: codes, the designs, and which of them each row used."""

    codes: Array
    designs: tuple[Design, ...]
    groups: Array
    categories: Categories


@dataclass(frozen=True, eq=False)
class OutcomeColumn:
    """The outcome of a regression: one of three kinds, the other two are None."""

    reports: ReportColumn | None = None  # of a randomized outcome
    asked: tuple[Array, Categories] | None = None  # codes of an outcome asked directly, and its categories
    numbers: Real | None = None  # of an outcome that is measured
    combined: Groups = ()  # categories that count as one: the label of each group, and the codes of its categories
    reference: int | None = None  # the code of the category that the others are compared with; None for the last one

    @property
    def labels(self) -> Sequence[Any]:
        """The true categories, groups of them first; none of numbers."""
        labels: Sequence[Any] = () if self.asked is None else self.asked[1].labels
        labels = labels if self.reports is None else self.reports.categories.labels
        taken = {code for _, codes in self.combined for code in codes}
        return [*(label for label, _ in self.combined), *(x for code, x in enumerate(labels) if code not in taken)]


@dataclass(frozen=True, eq=False)
class ModelFrame:
    """A table made ready for a regression."""

    parsed: Formula
    outcome: OutcomeColumn
    variables: Variables  # the predictors as columns, and how they become a model matrix
    versions: tuple[Real, ...]  # matrices of shape (n, p): one, or one for each category of the randomized predictors
    predictor: ReportColumn | None  # the reports of the randomized predictors, None without one
    latent: Real  # columns that the categories of the randomized predictors depend on, without their intercept
    latent_names: tuple[str, ...]
    plan: dict[str, Any]  # weights, strata, clusters and population, as far as they are given
    dropped: int  # rows left out for missing values
    group: Array | None  # of each row, the number of the group that has an intercept of its own

    @property
    def formula(self) -> str:
        """As typed."""
        return self.parsed.text

    @property
    def outcome_name(self) -> str:
        """The column on the left."""
        return self.parsed.outcome

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the model matrix."""
        return self.variables.coding.names

    @property
    def predictor_name(self) -> str:
        """The names of the randomized predictors."""
        return ", ".join(one.name for one in self.variables.hidden)

    @property
    def group_name(self) -> str:
        """The column that defines the group."""
        return self.parsed.group or ""

    def matrix_of(self, data: Any) -> Real:
        """The model matrix of another table with the same columns."""
        parsed, randomized = self.parsed, {one.name: one.categories for one in self.variables.hidden}
        with open_table(Rows.of(data), randomized) as table:
            check_columns(parsed.columns, table.names)
            columns = table.columns(parsed.columns or table.names[:1])  # any one gives the number of rows
            rows = len(next(iter(columns.values()), ()))
            reader = _Reader(columns, rows, "error", table, uses_of(parsed.right))
        reader.note_missing(parsed.columns)
        kept = reader.finish()
        frame = {name: reader.covariate(name, kept) for name in parsed.columns if name not in randomized}
        for one in self.variables.hidden:
            codes = one.categories.encode(columns[one.name], match="text").codes.astype(np.int64)
            frame[one.name] = one.column(codes)
        return self.variables.coding.apply(Predictors(frame, rows))

    def moved(self, dummy: bool) -> Iterator[tuple[str, Real, Real | None]]:  # noqa: FBT001 - there is nothing else
        """For each change of a variable: its name, and dX / dx and None, or the model matrix after and before it."""
        return self.variables.moved(dummy=dummy)

    def changed(self, values: Mapping[str, Any]) -> Real:
        """The model matrix of all rows with one value in each of some columns."""
        return self.variables.changed(values)


def read_model_frame(
    data: Any,
    formula: str,
    assignments: Sequence[Assignment],
    *,
    roles: SamplingColumns | None = None,
    latent: str | None = None,
    missing: str = "error",
    randomized_columns: bool = True,
    reference: References | None = None,
    combine: Callable[[Sequence[Hashable]], Groups] | None = None,
) -> ModelFrame:
    """Read what a regression needs; ``latent`` is a formula for the categories of a randomized predictor."""
    check_kind(str, missing=missing)
    if missing not in ("error", "drop"):
        raise ParameterError("missing-missing", missing=missing)
    parsed, roles = read_formula(formula, random=True), roles or SamplingColumns()
    assigned = variables_of(assignments) if assignments or randomized_columns else []
    variables = _used(assigned, parsed)
    right, needed = (None, ()) if latent is None else read_right_side(latent)
    covariates = [*dict.fromkeys([*parsed.columns, *needed])]
    randomized = [name for name in parsed.columns if name in variables]
    if latent is not None and {*needed} & {*randomized}:
        raise InputError("latent-names-a-randomized-predictor", latent=shorten(repr(latent)))
    uses = uses_of([*parsed.right, *(right or ())])
    coded: dict[str, Categories | None] = dict.fromkeys(name for name in roles.labelled if name not in covariates)
    for one in variables.values():
        coded |= Samples((one,)).looked_for()
    with open_table(Rows.of(data), coded) as table:
        told = [] if parsed.group is None else [parsed.group]
        check_columns([parsed.outcome, *covariates, *told], table.names)
        groups = [name for v in variables.values() for name in v.group_columns]
        table.check([*roles.numeric, *roles.labelled])
        planned = [*roles.numeric, *roles.labelled, *roles.replicate_names(table, table.where)]
        names = [parsed.outcome, *covariates, *told, *groups, *planned]
        columns = table.columns([*dict.fromkeys(names)])
        reader = _Reader(columns, len(next(iter(columns.values()))), missing, table, uses)
    reported = {name: reader.reports([v]) for name, v in variables.items() if name == parsed.outcome}
    joint = reader.reports([variables[name] for name in randomized]) if randomized else None
    plain = [name for name in covariates if name not in randomized]
    reader.note_missing([*plain, *told, *([] if reported else [parsed.outcome])])
    kept = reader.finish()
    frame = {name: reader.covariate(name, kept) for name in plain}
    outcome = reader.outcome(parsed.outcome, reported.get(parsed.outcome), kept)
    outcome = outcome if combine is None else replace(outcome, combined=combine(outcome.labels))
    inputs = {name: variables[name].choices[0].design.inputs for name in randomized}
    if reference:
        known = {parsed.outcome: outcome.labels, **{name: held.labels for name, held in inputs.items()}}
        known |= {name: categories_of(name, column, uses) for name, column in frame.items()}
        places = reference.places(known, [*parsed.right, *(right or ())])
        for name in (name for name in places if name in frame):  # the coding looks for the reference in first place
            order = [known[name][places[name]], *(x for at, x in enumerate(known[name]) if at != places[name])]
            held = CategoryColumn.of(frame[name]) if isinstance(frame[name], np.ndarray) else frame[name]
            frame[name] = CategoryColumn(held.codes_among(order), order)
        outcome = replace(outcome, reference=places.pop(parsed.outcome, None))
    else:
        places = {}
    hidden = [Hidden(name, held, places.get(name, len(held) - 1)) for name, held in inputs.items()]
    return _assembled(parsed, right, reader, kept, frame, outcome, joint, hidden, roles)


def _assembled(
    parsed: Formula,
    right: Any,
    reader: _Reader,
    kept: Array,
    frame: dict[str, Any],
    outcome: OutcomeColumn,
    joint: _Joint | None,
    hidden: Sequence[Hidden],
    roles: SamplingColumns,
) -> ModelFrame:
    coding, versions = _coded(parsed.right, frame, hidden, int(kept.sum()))
    latent: Real = np.empty((int(kept.sum()), 0))
    latent_names: tuple[str, ...] = ()
    if joint is not None:
        terms = parsed.without([one.name for one in hidden]) if right is None else right
        learned, latent = Coding.learn(terms, Predictors(frame, int(kept.sum())))
        latent_names = tuple(name for name in learned.names if name != "Intercept")
        if "Intercept" in learned.names:
            latent = np.delete(latent, learned.names.index("Intercept"), axis=1)
    predictor = None if joint is None else joint.column(kept)
    names = tuple(name for name in parsed.columns if name in frame)
    variables = Variables(coding, frame, names, uses_of(parsed.right), int(kept.sum()), hidden)
    sampling, dropped = reader.sampled(roles, kept), int((~kept).sum())
    group = None if parsed.group is None else reader.numbers_of(parsed.group, kept)
    return ModelFrame(parsed, outcome, variables, versions, predictor, latent, latent_names, sampling, dropped, group)


def _coded(right: Any, frame: dict[str, Any], hidden: Sequence[Hidden], n: int) -> tuple[Coding, tuple[Real, ...]]:
    """The model matrix for each combination of categories of the randomized predictors, the first one slowest."""
    sizes = [len(one.categories) for one in hidden]
    if int(np.prod(sizes)) > MOST_CATEGORIES:
        many = {"prod": int(np.prod(sizes)), "most_categories": MOST_CATEGORIES}
        raise ParameterError("the-randomized-predictors-have-categories-together", **many)
    every = [np.arange(n) % size for size in sizes]  # all levels occur while the coding is learned
    table = Predictors({**frame, **_latent_columns(hidden, every)}, n)
    coding, values = Coding.learn(right, table, copies=int(np.prod(sizes)))
    if not hidden:
        return coding, (values,)
    combinations = np.array(np.unravel_index(np.arange(int(np.prod(sizes))), sizes)).T
    versions = []
    for combination in combinations:
        fixed = _latent_columns(hidden, [np.full(n, code) for code in combination])
        versions.append(coding.apply(Predictors({**frame, **fixed}, n)))
    return coding, tuple(versions)


def _latent_columns(hidden: Sequence[Hidden], codes: Sequence[Array]) -> dict[str, Any]:
    return {one.name: one.column(column) for one, column in zip(hidden, codes, strict=True)}


@dataclass(frozen=True, eq=False)
class _Joint:
    """Reports of one or several variables in all rows, before rows are left out."""

    codes: Array
    samples: Array
    designs: tuple[Design, ...]

    def column(self, kept: Array) -> ReportColumn:
        return ReportColumn(self.codes[kept], self.designs, self.samples[kept], self.designs[0].inputs)


class _Reader:
    """Columns of one table, and which of its rows can be used."""

    def __init__(
        self, columns: Mapping[str, Any], rows: int, missing: str, table: Table, uses: Mapping[str, set[str]]
    ) -> None:
        self._columns, self._rows, self._policy, self._uses = columns, rows, missing, uses
        self._texts_only, self._labels = table.texts_only, table.labels
        self._in_order = {
            name for name in columns if isinstance(table, TableInMemory) and lists_categories(table.column(name))
        }
        self._kept = np.ones(rows, dtype=np.bool_)
        self._lost: dict[str, int] = {}

    def reports(self, variables: Sequence[Variable]) -> _Joint:
        samples = Samples(tuple(variables))
        reader = SampleReader(samples, self._policy)
        kept, sample, codes = reader.read(dict(self._columns), self._rows, 1)
        try:
            raise_first(reader.problems, self._rows)
        except MissingValueError as error:  # a regression has no category for them
            raise MissingValueError(error.message, hint=_dropped(), **error.objects) from None
        samples.check_used(np.unique(sample).tolist())
        all_codes, all_samples = np.zeros(self._rows, dtype=np.intp), np.zeros(self._rows, dtype=np.intp)
        all_codes[kept], all_samples[kept] = codes, sample
        self._kept &= kept
        return _Joint(all_codes, all_samples, tuple(samples.designs))

    def note_missing(self, names: Sequence[str]) -> None:
        """Leave out rows without a value in one of these columns, and remember how many."""
        for name in names:
            lost = missing_values(self._columns[name])
            if lost.any():
                self._lost[name] = int(lost.sum())
                self._kept &= ~lost

    def finish(self) -> Array:
        """Which rows can be used; an error where there are missing values and no policy for them."""
        if self._lost and self._policy == "error":
            name, count = next(iter(self._lost.items()))
            more = f" (and {len(self._lost) - 1} more columns)" if len(self._lost) > 1 else ""
            told: dict[str, Any] = {"name": shorten(name, 24), "count": count, "rows": self._rows, "more": more}
            raise MissingValueError("column-of-values-are-missing", hint=_dropped(), **told, columns=dict(self._lost))
        if not self._kept.any():
            raise MissingValueError("no-row-has-all-its-values")
        return self._kept

    def covariate(self, name: str, kept: Array) -> Any:
        """Numbers, or categories in their natural order; labelled numbers are categories unless in a function."""
        column, arrow = _filtered(self._columns[name], kept), require()
        if name in self._labels and "function" not in self._uses.get(name, ()):
            factor = as_factor(column, self._labels[name])
            column = column if factor is None else factor
        kind = column.type
        if arrow.types.is_boolean(kind):
            return flags_in_memory(column)
        numeric = arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_decimal(kind)
        if numeric:
            with column_errors(name):  # rounded to 53 bits where that is not enough
                return self._whole(name, numbers_in_memory(column.cast(arrow.float64(), safe=False)))
        numbers = _as_numbers(column) if self._texts_only else None
        with column_errors(name):
            if numbers is None:
                return _as_categories(column, in_order=name in self._in_order)
            return self._whole(name, numbers)

    def numbers_of(self, name: str, kept: Array) -> Array:
        """The different values of a column as numbers 0, 1, ... that all occur."""
        column = _filtered(self._columns[name], kept)
        with column_errors(name):
            held = column if require().types.is_dictionary(column.type) else column.dictionary_encode()
        codes = numbers_in_memory(held.indices)
        return np.unique(codes, return_inverse=True)[1].reshape(-1)

    def _whole(self, name: str, numbers: Any) -> Any:
        """Whole numbers that are only categories, so that a term is ``C(x)[T.3]`` and not ``C(x)[T.3.0]``."""
        if np.isinf(numbers).any():
            raise ParameterError("column-has-infinite-values", name=shorten(name, 24), column=name)
        only_categories = self._uses.get(name) == {"C"} and (numbers == np.rint(numbers)).all()
        return numbers.astype(np.int64) if only_categories and (np.abs(numbers) < 2**53).all() else numbers

    def outcome(self, name: str, joint: _Joint | None, kept: Array) -> OutcomeColumn:
        """The outcome: its reports, or, if it was asked directly, its categories or numbers."""
        if joint is not None:
            return OutcomeColumn(reports=joint.column(kept))
        values = self.covariate(name, kept)
        if isinstance(values, np.ndarray) and not np.isin(values, (0, 1)).all():
            return OutcomeColumn(numbers=values)
        if isinstance(values, np.ndarray):
            return OutcomeColumn(asked=(1 - values.astype(np.intp), Categories.of([1, 0])))
        labels = [*values.categories[1:], values.categories[0]]  # the first value is the reference, as elsewhere
        return OutcomeColumn(asked=((values.codes.astype(np.intp) - 1) % len(labels), Categories.of(labels)))

    def sampled(self, roles: SamplingColumns, kept: Array) -> dict[str, Any]:
        if not roles:
            return {}
        schema = require().schema([(name, column.type) for name, column in self._columns.items()])
        columns = RoleReader(roles, schema, "the table").read(self._columns, 0)
        return {name: some_rows(value, kept) for name, value in columns.items()}


def missing_values(column: Any) -> Array:
    """Rows without a value; a number that is not one counts as missing."""
    lost = missing_rows(column)
    if require().types.is_floating(column.type):
        lost = lost | np.isnan(numbers_in_memory(column.cast(require().float64()).fill_null(0)))
    return lost


def _filtered(column: Any, kept: Array) -> Any:
    """The rows of a column that are kept; the mask is made without ``array``, which would load pandas."""
    if kept.all():
        return column
    arrow, bits = require(), np.packbits(kept, bitorder="little")
    return column.filter(arrow.Array.from_buffers(arrow.bool_(), len(kept), [None, arrow.py_buffer(bits)]))


def _as_numbers(column: Any) -> Real | None:
    arrow = require()
    try:
        return numbers_in_memory(column.cast(arrow.float64()))
    except arrow.ArrowException:
        return None


def _as_categories(column: Any, *, in_order: bool) -> Any:
    """Categories in the order that they were given, else sorted by their texts."""
    arrow = require()
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = column.dictionary.to_pylist()
    codes = numbers_in_memory(column.indices)
    used = [labels[i] for i in np.unique(codes)]
    ordered = used if in_order or column.type.ordered else sorted(used, key=str)
    place = {label: i for i, label in enumerate(ordered)}
    table = np.array([place.get(label, -1) for label in labels])
    return CategoryColumn(table[codes], ordered)


def _used(assigned: Sequence[Variable], parsed: Formula) -> dict[str, Variable]:
    """The variables by their columns, of which each has one, which the formula names."""
    for one in assigned:
        if len(one.columns) != 1:
            raise ParameterError("one-design-for-the-columns", columns=", ".join(one.columns))
    for one in assigned:
        if one.columns[0] not in (parsed.outcome, *parsed.columns):
            named = shorten(", ".join((parsed.outcome, *parsed.columns)), 60)
            raise InputError("there-is-a-design-for-which", name=shorten(one.columns[0]), outcome=named)
    return {one.columns[0]: one for one in assigned}
