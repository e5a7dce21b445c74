"""Columns of a matrix by their non-zeros, in flat arrays: checked, in lowest terms, and as floats.

Column j has the entries ``starts[j]`` to ``starts[j + 1]``: rows, increasing, and integers in the ratio of its
probabilities, in 64 bits where every column sums to less than ``2**63``, else Python integers.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_array, as_list, as_mapping, as_whole
from maskwell.core.exact import common_denominator, sum_of, to_float
from maskwell.core.labels import is_missing
from maskwell.designs import kernels
from maskwell.errors import MatrixError, TooLargeError, WrongTypeError

MOST_LINES = 2**31 - 1  # rows and columns that 32-bit indices tell apart
_WIDE = 2.0**63 * (1 - 1e-6)  # sums that floats, which are added with rounding, show to be below 2**63
_EXACT_FLOATS = 2**53
_CHUNK = 1 << 16


class Columns(NamedTuple):
    """Where each column starts, shape (k + 1,), the rows of its entries and their integers, shape (entries,)."""

    starts: Array
    rows: Array
    numerators: Array

    @property
    def lengths(self) -> Array:
        """Number of entries of each column."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Array:
        """The column of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)


class Transitions(NamedTuple):
    """What can happen: reports, truths and probabilities, sorted by truth and then by report; shape (non-zeros,)."""

    reports: Array
    truths: Array
    p: Real

    @property
    def starts(self) -> Array:
        """Where each truth starts, and the end: shape (k + 1,). No truth is without a report."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.truths))])


def read_columns(starts: Any, rows: Any, numerators: Any, m: int) -> Columns:
    """Checked columns of a matrix with m rows, each in lowest terms; the arrays cannot be changed."""
    integers = as_integers(numerators)
    columns = Columns(_indices(starts, "starts"), _indices(rows, "rows"), integers)
    _check_lengths(columns)
    _check_rows(columns, m)
    if (wrong := np.flatnonzero(columns.numerators <= 0)).size:
        j = int(np.searchsorted(columns.starts, wrong[0], side="right")) - 1
        raise MatrixError("column-has-the-integer", j=j, numerator=columns.numerators[wrong[0]])
    checked = Columns(columns.starts, columns.rows.astype(np.int32), _lowest_terms(columns))
    for array in checked:
        array.flags.writeable = False
    return checked


def read_mappings(columns: Sequence[Mapping[int, Fraction | int]]) -> tuple[list[int], list[int], list[int]]:
    """Starts, rows and integers from one ``{row: probability}`` for each column; integers give their ratio."""
    starts, rows, numerators = [0], [], []
    for j, column in enumerate(as_list(columns, "columns")):
        pairs = as_mapping(column, f"columns[{j}]").items()
        entries = sorted((as_whole(i, "row"), value) for i, value in pairs if is_missing(value) or value)
        rows += [i for i, _ in entries]
        numerators += _as_weights([value for _, value in entries], j)
        starts.append(len(rows))
    return starts, rows, numerators


def _as_weights(values: list[Fraction | int], j: int) -> list[int]:
    if all(isinstance(value, int | np.integer) for value in values):
        return [int(value) for value in values]
    if not all(isinstance(value, int | np.integer | Fraction) for value in values):
        raise WrongTypeError("column-holds-numbers-that-are-no", j=j)
    fractions = [Fraction(value) for value in values]
    if (total := sum_of(fractions)) != 1:
        raise MatrixError("column-sums-to-not-1", j=j, total=to_float(total))
    common = common_denominator(fractions)
    return [value.numerator * (common // value.denominator) for value in fractions]


def as_integers(values: Any) -> Array:
    """Integers as an array of 64 bits where they fit, else of Python integers."""
    given = values if isinstance(values, np.ndarray) else np.array([*values, None], dtype=object)[:-1]
    array = as_array(given, "a column")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64)
    try:
        exact = np.array([*map(operator.index, array.tolist()), None], dtype=object)[:-1]
    except TypeError as error:
        raise WrongTypeError("the-entries-of-a-column-must") from error
    return narrowed(exact)


def narrowed(integers: Array) -> Array:
    """Python integers in 64 bits where they all fit."""
    if integers.dtype != object:
        return integers
    fits = not len(integers) or (max(integers) < 2**63 and min(integers) >= -(2**63))
    return integers.astype(np.int64) if fits else integers


def column_sums(columns: Columns) -> Array:
    """What the integers of each column sum to, shape (k,): its denominator."""
    return np.asarray(np.add.reduceat(columns.numerators, columns.starts[:-1]))


def cumulative(columns: Columns) -> Array:
    """For each entry the sum of the integers of its column up to and with it, shape (entries,)."""
    if columns.numerators.dtype == object:
        ends = zip(columns.starts[:-1].tolist(), columns.starts[1:].tolist(), strict=True)
        return np.concatenate([np.add.accumulate(columns.numerators[a:b]) for a, b in ends])
    running = np.cumsum(columns.numerators.view(np.uint64))  # wraps; differences within a column do not
    before = np.concatenate([np.zeros(1, dtype=np.uint64), running])[columns.starts[:-1]]
    return np.asarray(running - np.repeat(before, columns.lengths))


def quotients(columns: Columns, denominators: Array) -> Real:
    """Each probability as the float nearest to it, shape (entries,)."""
    numerators = columns.numerators
    if numerators.dtype != object and int(denominators.max()) <= _EXACT_FLOATS:
        return np.asarray(numerators / np.repeat(denominators, columns.lengths))
    out, owners = np.empty(len(numerators)), columns.owners
    for start in range(0, len(numerators), _CHUNK):  # whole integers divide with one rounding, but one by one
        chunk = slice(start, start + _CHUNK)
        pairs = zip(numerators[chunk].tolist(), denominators[owners[chunk]].tolist(), strict=True)
        out[chunk] = [n / d for n, d in pairs]
    return out


def _lowest_terms(columns: Columns) -> Array:
    numerators = columns.numerators
    if numerators.dtype != object and np.add.reduceat(numerators.astype(float), columns.starts[:-1]).max() >= _WIDE:
        columns = columns._replace(numerators=numerators.astype(object))
    divisors = np.gcd.reduceat(columns.numerators, columns.starts[:-1])
    reduced = columns.numerators // np.repeat(divisors, columns.lengths)
    if reduced.dtype == object and max(column_sums(columns._replace(numerators=reduced))) < 2**63:
        reduced = reduced.astype(np.int64)
    return np.asarray(reduced)


# ---- checks


def _indices(values: Any, name: str) -> Array:
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise WrongTypeError("must-be-one-column-of-integers", name=name, shape=array.shape, dtype=array.dtype)
    return array.astype(np.int64)


def _check_lengths(columns: Columns) -> None:
    starts, entries = columns.starts, len(columns.rows)
    fits = len(starts) > 1 and starts[0] == 0 and starts[-1] == entries == len(columns.numerators)
    if not fits or (np.diff(starts) < 0).any():
        raise MatrixError(
            "starts-rows-and-integers-do-not",
            starts_count=len(starts),
            entries=entries,
            numerators_count=len(columns.numerators),
        )
    if (empty := np.flatnonzero(columns.lengths == 0)).size:
        raise MatrixError("column-has-no-entries", empty=empty[0], columns=empty)


def _check_rows(columns: Columns, m: int) -> None:
    if max(m, len(columns.starts)) > MOST_LINES:
        raise TooLargeError(
            "a-matrix-of-rows-and-columns", m=m, starts_count_sub=len(columns.starts) - 1, most_lines=MOST_LINES
        )
    rows = columns.rows
    if int(rows.min()) < 0 or int(rows.max()) >= m:
        raise MatrixError("rows-from-to-of-reports", rows_min=rows.min(), rows_max=rows.max(), m=m, m_sub=m - 1)
    rises = np.diff(rows) > 0
    rises[columns.starts[1:-1] - 1] = True  # where the next column starts
    if not rises.all():
        j = int(np.searchsorted(columns.starts, np.flatnonzero(~rises)[0], side="right")) - 1
        raise MatrixError("the-rows-of-column-do-not", j=j)


# ---- tables that the kernels read

_TOP = 2**64 - 1


def threshold64(numerator: int, denominator: int) -> int:
    """The first 64 bits of a probability; a number U equal to them in its first 64 bits is left unsettled."""
    return min((numerator << 64) // denominator, _TOP)


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """Increasing 64-bit thresholds by column; ``guide[column, b]`` counts those below all numbers of leading bits b."""

    thresholds: Array
    guide: Array
    guide_bits: int

    @classmethod
    def of(cls, columns: Sequence[Sequence[int]], denominators: Sequence[int]) -> ThresholdTable:
        """From cumulative numerators (without the last, which is the denominator), one list for each column."""
        pairs = zip(columns, denominators, strict=True)
        rows = [[threshold64(numerator, denominator) for numerator in column] for column, denominator in pairs]
        thresholds = np.array(rows, dtype=np.uint64).reshape(len(columns), len(columns[0]))
        bits = max(1, (4 * thresholds.shape[1]).bit_length())
        starts = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        guide = np.stack([np.searchsorted(column, starts, side="left") for column in thresholds])
        return cls(thresholds, guide.astype(np.uint32), bits)

    def draw_rows(self, columns: Array, words: Words, out: Array) -> Array:
        """Outcomes of many rows, each from its own column; returns the unsettled rows."""
        unsettled = np.empty(len(columns), dtype=np.int64)
        guide = self.guide.reshape(-1)
        count = kernels.active.categorical(columns, words, self.thresholds, guide, self.guide_bits, out, unsettled)
        return unsettled[:count]


_GUIDED = 16  # columns of more entries have a guide
_PARTS = 4  # what is told of a column: its first and last entry, where its guide starts, and the guide's bits


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """The same for columns of different lengths that list only the reports which can occur.

    ``columns[j]``: first and last entry, start of the guide, and how many leading bits choose its line (0: no guide).
    """

    columns: Array
    thresholds: Array
    guide: Array
    reports: Array

    @classmethod
    def of(cls, columns: Columns, denominators: Array) -> ColumnTable:
        """From the entries of each column and what they sum to."""
        thresholds = leading_bits(cumulative(columns), np.repeat(denominators, columns.lengths), columns.starts[1:] - 1)
        told, guide = _guides(columns, thresholds)
        return cls(told, thresholds, guide, columns.rows.astype(np.uint32))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows, each from its own column; returns the unsettled rows."""
        unsettled = np.empty(len(codes), dtype=np.int64)
        table = (self.columns, self.thresholds, self.guide, self.reports)
        count = kernels.active.listed(codes, words, *table, out, unsettled)
        return unsettled[:count]


def leading_bits(numerators: Array, denominators: Array, last: Array) -> Array:
    """The first 64 bits of ``numerators / denominators``, all ones at the places ``last``, where the quotient is 1."""
    if numerators.dtype == object or denominators.dtype == object:
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        return np.array([threshold64(n, d) for n, d in pairs], dtype=np.uint64)
    out = np.empty(len(numerators), dtype=np.uint64)
    for start in range(0, len(out), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        out[chunk] = _divided(numerators[chunk].astype(np.uint64), denominators[chunk].astype(np.uint64))
    out[last] = _TOP
    return out


def _divided(rest: Array, divisors: Array) -> Array:
    digits, left = np.zeros(len(rest), dtype=np.uint64), 64
    room = 64 - int(divisors.max()).bit_length()
    while left:
        step = np.uint64(min(room, left))
        digit, rest = np.divmod(rest << step, divisors)
        digits, left = digits << step | digit, left - int(step)
    return digits


def _guides(columns: Columns, thresholds: Array) -> tuple[Array, Array]:
    """Summaries of each column, and the guides of the long ones: running counts by leading bits of thresholds."""
    told = np.zeros((len(columns.lengths), _PARTS), dtype=np.int64)
    told[:, 0], told[:, 1] = columns.starts[:-1], columns.starts[1:] - 1
    bits = np.where(columns.lengths > _GUIDED, np.frexp(columns.lengths)[1], 0)  # 2**bits above the length
    sizes = np.where(bits > 0, 1 << bits, 0)
    told[:, 2], told[:, 3] = np.cumsum(sizes) - sizes, bits
    guided = np.repeat(bits > 0, columns.lengths)
    guided[told[:, 1]] = False
    owners = columns.owners[guided]
    leading = thresholds[guided] >> (64 - bits[owners]).astype(np.uint64)
    counts = np.bincount(told[owners, 2] + leading.astype(np.int64), minlength=int(sizes.sum()))
    below = np.cumsum(counts) - counts
    first = np.repeat(below[told[bits > 0, 2]], sizes[bits > 0])
    return told, (below - first).astype(np.uint32)


# ---- components

SOLVE_LIMIT = 25 * 10**6  # entries of all components written out, beyond which they are not solved: one of 5,000 states


class Labels(NamedTuple):
    """The number of the component of each truth, shape (k,), and of each report, shape (m,)."""

    truths: Array
    reports: Array


class Stack(NamedTuple):
    """Components of one shape: their truths (count, s), their reports (count, r), and P (count, r, s)."""

    truths: Array
    reports: Array
    P: Real


def component_labels(columns: Columns, m: int) -> Labels:
    """The component of each truth and report, from 0 in order of truths; if square, report j is in that of truth j."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k = len(columns.starts) - 1
    shift = 0 if m == k else k
    nodes = k + (m if shift else 0)
    edges = (np.ones(len(columns.rows), dtype=np.int8), (columns.rows + np.int64(shift), columns.owners))
    _, components = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
    _, first, inverse = np.unique(np.asarray(components), return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    numbers = order[inverse]
    return Labels(numbers[:k], numbers[shift : shift + m])


def stacks_of(columns: Columns, values: Real, labels: Labels) -> list[Stack]:
    """The components with truths, those of one shape together."""
    width, height = sizes_of(labels)
    count = len(width)
    if (work := int((width * height).sum())) > SOLVE_LIMIT:
        raise TooLargeError(
            "components-of-up-to-states", width_max=int(width.max()), work=work, solve_limit=SOLVE_LIMIT
        )
    truths, at_truth = _sorted_places(labels.truths, width)
    reports, at_report = _sorted_places(labels.reports, height)
    owners = columns.owners
    component = labels.truths[owners]
    shapes, shape = np.unique(np.stack([height, width]), axis=1, return_inverse=True)
    entries = _groups(shape.reshape(-1)[component], shapes.shape[1])
    stacks = []
    for (r, s), members, own in zip(
        shapes.T.tolist(), _groups(shape.reshape(-1), shapes.shape[1]), entries, strict=True
    ):
        place = np.zeros(count, dtype=np.int64)
        place[members] = np.arange(len(members))
        P = np.zeros((len(members), r, s))
        P[place[component[own]], at_report[columns.rows[own]], at_truth[owners[own]]] = values[own]
        stacks.append(Stack(_members(truths, width, members, s), _members(reports, height, members, r), P))
    return stacks


def sizes_of(labels: Labels) -> tuple[Array, Array]:
    """Numbers of truths and of reports of each component with truths; reports that never come may be others."""
    width = np.bincount(labels.truths)
    return width, np.bincount(labels.reports, minlength=len(width))[: len(width)]


def _sorted_places(labels: Array, sizes: Array) -> tuple[Array, Array]:
    """All lines sorted by component, and for each line its place within its component."""
    order = np.argsort(labels, kind="stable")
    order = order[: int(sizes.sum())]
    place = np.zeros(len(labels), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order, place


def _groups(numbers: Array, count: int) -> list[Array]:
    """For each number 0..count-1 the positions that have it."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(numbers, minlength=count))[:-1])


def _members(order: Array, sizes: Array, members: Array, size: int) -> Array:
    first = (np.cumsum(sizes) - sizes)[members]
    return np.asarray(order[first[:, None] + np.arange(size)])
