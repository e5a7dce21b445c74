"""Sparse design: any transition matrix by its non-zeros, as exact integers, with its file and its labels."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_list, as_whole, as_whole_numbers, check_kind, list_of
from maskwell.core.categories import Categories
from maskwell.core.documents import RunningFingerprint, canonical_text, fingerprint_of_text, json_form
from maskwell.core.draws import WordReader, interval
from maskwell.core.exact import Parity, all_from_digits, all_to_digits, to_digits
from maskwell.core.labels import to_json
from maskwell.designs.coded import RANK, CodedDesign, check_label_counts, weighted_left_inverse
from maskwell.designs.column_arrays import (
    Columns,
    ColumnTable,
    Labels,
    Stack,
    column_sums,
    component_labels,
    cumulative,
    narrowed,
    quotients,
    read_columns,
    read_mappings,
    sizes_of,
    stacks_of,
)
from maskwell.designs.dense import takes_two_values
from maskwell.designs.design import EXACT_LIMIT, MATRIX_LIMIT, Transitions
from maskwell.designs.matrix_reading import exact_columns
from maskwell.errors import MatrixError, NotIdentifiableError, ParameterError

_FORM = ("columns", "denominators", "rows")  # in the order of the canonical text
_OPENING = '{"exact":{'
_STRETCH = 1 << 14


# ---- components, stacked by shape


def singular_values(stack: Stack) -> Real:
    """Of each component, largest first, shape (count, min(r, s))."""
    return np.asarray(np.linalg.svd(stack.P, compute_uv=False))


def ranks(stack: Stack, values: Real) -> Array:
    """Of each component: singular values above ``max(r s eps, 1e-12)`` times its largest."""
    r, s = stack.P.shape[1:]
    return np.asarray((values > values[:, :1] * max(r * s * np.finfo(float).eps, RANK)).sum(axis=1))


def left_inverses(stack: Stack) -> Real:
    """L with L P = I for each component, shape (count, s, r): the inverse, else best at equal shares."""
    r, s = stack.P.shape[1:]
    if r == s:
        return np.asarray(np.linalg.inv(stack.P))
    return np.stack([weighted_left_inverse(P, P.sum(axis=1)) for P in stack.P])


def by_component(x: Real, size: int, pieces: list[tuple[Array, Array, Real]]) -> Real:
    """Matrices (count, out, in) applied to the last axis of ``x`` at the places ``into`` and ``of`` of each."""
    flat = x.reshape(-1, x.shape[-1])
    out = np.zeros((len(flat), size))
    for into, of, matrices in pieces:
        products = np.matmul(flat[:, of].transpose(1, 0, 2), matrices.transpose(0, 2, 1))
        out[:, into] = products.transpose(1, 0, 2)
    return out.reshape(*x.shape[:-1], size)


_TINY, _CLOSE = 1e-290, 1e-12  # floats whose ratio may not be a number; ratios of floats that may stand for equal ones


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ByColumns(CodedDesign):
    """A design of many states with few entries in each column, kept in flat arrays (see ``column_arrays.py``).

    Entry e of column j has the chance ``P[rows[e], j] = numerators[e] / denominators[j]``.
    """

    starts: Array
    rows: Array
    numerators: Array

    # ---- entries

    @property
    def _columns(self) -> Columns:
        return Columns(self.starts, self.rows, self.numerators)

    @cached_property
    def denominators(self) -> Array:
        """What the integers of each column sum to, shape (k,)."""
        return column_sums(self._columns)

    @cached_property
    def values(self) -> Real:
        """The chance of each entry, the float nearest to its fraction, shape (entries,)."""
        return quotients(self._columns, self.denominators)

    def columns_exact(self, j: int) -> dict[int, Fraction]:
        """The reports that can come from truth j, with their chances."""
        j = as_whole(j, "j", high=self.k - 1)
        entries = slice(int(self.starts[j]), int(self.starts[j + 1]))
        total = int(self.denominators[j])
        pairs = zip(self.rows[entries].tolist(), self.numerators[entries].tolist(), strict=True)
        return {i: Fraction(n, total) for i, n in pairs}

    def transitions(self, *, limit: int = MATRIX_LIMIT) -> Transitions:
        """The entries as they are kept, however many."""
        return Transitions(self.rows, self._columns.owners, self.values)

    def transitions_exact(self) -> list[dict[int, Fraction]]:
        """The entries as they are kept."""
        return [self.columns_exact(j) for j in range(self.k)]

    def csc(self) -> Any:
        """P as a ``scipy.sparse.csc_array`` of floats."""
        return self._csc.copy()

    @cached_property
    def _csc(self) -> Any:
        from scipy.sparse import csc_array

        return csc_array((self.values, self.rows, self.starts), shape=(self.m, self.k))

    @cached_property
    def _keys(self) -> Array:
        """One increasing number for each entry, by column and row."""
        return np.asarray(self._columns.owners * np.int64(self.m) + self.rows)

    def entries(self, reports: Array, truths: Array) -> Real:
        """Looked up among the entries; zero where there is none."""
        return self.entries_at(np.asarray(reports)[:, None], np.asarray(truths)[None, :])

    def entries_at(self, reports: Array, truths: Array) -> Real:
        """``P[reports, truths]`` one by one, for arrays of one shape or of shapes that fit together."""
        keys = np.asarray(truths, dtype=np.int64) * self.m + np.asarray(reports, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.values[at], 0.0)

    def diagonal(self) -> Real:
        """Chance that each state is reported as it is, shape (k,); for designs with as many reports as truths."""
        if self.m != self.k:
            raise ParameterError("a-matrix-of-reports-by-truths", m=self.m, k=self.k)
        return self.entries_at(np.arange(self.k), np.arange(self.k))

    def _matrix(self) -> Real:
        P = np.zeros((self.m, self.k))
        P[self.rows, self._columns.owners] = self.values
        return P

    def _exact_matrix(self) -> list[list[Fraction]]:
        rows = [[Fraction(0)] * self.k for _ in range(self.m)]
        for j in range(self.k):
            for i, p in self.columns_exact(j).items():
                rows[i][j] = p
        return rows

    def details(self) -> dict[str, Any]:
        """How many entries are not zero."""
        return {"non_zeros": len(self.rows)}

    # ---- privacy

    @cached_property
    def _row_lengths(self) -> Array:
        return np.bincount(self.rows, minlength=self.m)

    def parity_exact(self) -> Parity:
        """Infinite where a report can come from some truths only; else the largest ratio within a row."""
        return self._parity

    @cached_property
    def _parity(self) -> Parity:
        if not np.isin(self._row_lengths, (0, self.k)).all():
            return math.inf
        return max(_ratio(row) for row in self._rows_exact(self._extremes()))

    def _extremes(self) -> Array:
        """Entries that can be the largest or the smallest of the row whose ratio is largest.

        Floats nearest to fractions keep their order, so that only ties and ratios that are close must be told apart
        exactly; floats too small for a ratio tell nothing.
        """
        low, high = np.full(self.m, np.inf), np.zeros(self.m)
        np.minimum.at(low, self.rows, self.values)
        np.maximum.at(high, self.rows, self.values)
        if low.min() < _TINY:
            return np.arange(len(self.rows))
        near = high / low >= (high / low).max() * (1 - _CLOSE)
        ends = (self.values == low[self.rows]) | (self.values == high[self.rows])
        return np.flatnonzero(near[self.rows] & ends)

    def _rows_exact(self, entries: Array) -> list[set[tuple[int, int]]]:
        """The different chances of each report among some entries, as pairs of numerator and denominator."""
        chances: dict[int, set[tuple[int, int]]] = defaultdict(set)
        totals = self.denominators[self._columns.owners[entries]].tolist()
        for i, n, d in zip(self.rows[entries].tolist(), self.numerators[entries].tolist(), totals, strict=True):
            chances[i].add((n, d))
        return list(chances.values())

    def is_admissible(self) -> bool:
        """With an infinite parity, when no report can come from two truths; else as a matrix that is written out."""
        if math.isinf(self.parity_exact()):
            return int(self._row_lengths.max()) == 1
        self._check_size(EXACT_LIMIT)
        values = ([Fraction(*pair) for pair in row] for row in self._rows_exact(np.arange(len(self.rows))))
        return takes_two_values(values, self.parity_exact(), decimals=self.decimals)

    def guess_probability(self, prior: Real | None = None) -> float:
        """``sum_i max_j a_j P[i, j]`` for a prior a."""
        a = self.uniform_prior() if prior is None else self.check_distribution(prior, "prior")
        return float(self.largest_in_rows(a)[0].sum())

    def largest_in_rows(self, scale: Real) -> tuple[Real, Array]:
        """Among the entries alone: for scales of 0 or more, all others are no larger."""
        scaled = self.values * scale[self._columns.owners]
        most, where = np.zeros(self.m), np.full(self.m, self.k, dtype=np.int64)
        np.maximum.at(most, self.rows, scaled)
        reached = scaled == most[self.rows]
        np.minimum.at(where, self.rows[reached], self._columns.owners[reached])
        return most, np.where(most > 0, where, 0)

    def total_variation(self) -> float:
        """2 where two truths share no report; else from the columns written out, two by two."""
        shortest = int(np.diff(self.starts).argmin())
        reached = np.zeros(self.m, dtype=bool)
        reached[self.rows[self.starts[shortest] : self.starts[shortest + 1]]] = True
        if not np.logical_or.reduceat(reached[self.rows], self.starts[:-1]).all():
            return 2.0
        return super().total_variation()

    # ---- linear algebra, component by component

    @cached_property
    def _labels(self) -> Labels:
        return component_labels(self._columns, self.m)

    def components(self) -> Array:
        """The number of the component of each state, shape (k,): states of two components never become each other."""
        return self._labels.truths.copy()

    @cached_property
    def _stacks(self) -> list[Stack]:
        return stacks_of(self._columns, self.values, self._labels)

    @cached_property
    def _singular(self) -> list[Real]:
        return [singular_values(stack) for stack in self._stacks]

    def rank_work(self) -> int:
        """Of the singular value decompositions of all components."""
        width, height = sizes_of(self._labels)
        return int((width.astype(np.float64) * height * np.minimum(width, height)).sum())

    def rank(self) -> int:
        """The sum of the ranks of the components."""
        return sum(int(ranks.sum()) for ranks in self._ranks)

    @cached_property
    def _ranks(self) -> list[Array]:
        return [ranks(stack, values) for stack, values in zip(self._stacks, self._singular, strict=True)]

    def singular_range(self) -> tuple[float, float]:
        """The largest and the smallest of all components."""
        return max(float(v.max()) for v in self._singular), min(float(v.min()) for v in self._singular)

    def check_identifiable(self) -> None:
        """Raise, naming a direction that reports cannot show, unless the columns are safely independent."""
        for stack, ranks in zip(self._stacks, self._ranks, strict=True):
            weak = np.flatnonzero(ranks < stack.truths.shape[1])
            if weak.size:
                raise NotIdentifiableError(
                    "shares-cannot-be-estimated-the-matrix",
                    hint=self.provenance.get("samples") or "choose a design whose columns are linearly independent",
                    rank=self.rank(),
                    k=self.k,
                    null_direction=self._null_direction(stack, int(weak[0])),
                )

    def _null_direction(self, stack: Stack, b: int) -> Real:
        direction = np.zeros(self.k)
        direction[stack.truths[b]] = np.linalg.svd(stack.P[b])[2][-1]
        return direction

    @cached_property
    def _inverses(self) -> list[tuple[Array, Array, Real]]:
        return [(stack.truths, stack.reports, left_inverses(stack)) for stack in self._stacks]

    def forward(self, x: Real) -> Real:
        """``P x`` along the last axis."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1, self.k)
        return np.asarray((self._csc @ flat.T).T).reshape(*np.shape(x)[:-1], self.m)

    def forward_squared(self, x: Real) -> Real:
        """``(P * P) x`` along the last axis."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1, self.k)
        return np.asarray((self._csc.power(2) @ flat.T).T).reshape(*np.shape(x)[:-1], self.m)

    def forward_adjoint(self, x: Real) -> Real:
        """``P' x`` along the last axis."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1, self.m)
        return np.asarray((self._csc.T @ flat.T).T).reshape(*np.shape(x)[:-1], self.k)

    def backward(self, x: Real) -> Real:
        """``L x`` along the last axis."""
        return by_component(x, self.k, self._inverses)

    def backward_squared(self, x: Real) -> Real:
        """``(L * L) x`` along the last axis."""
        return by_component(x, self.k, [(into, of, L**2) for into, of, L in self._inverses])

    def second_moment_of_truth(self) -> Real:
        """The diagonal of ``(L * L) P``, component by component, shape (k,)."""
        self.check_identifiable()
        moment = np.empty(self.k)
        for stack, (truths, _, L) in zip(self._stacks, self._inverses, strict=True):
            moment[truths] = np.einsum("cji,cij->cj", L**2, stack.P)
        return moment

    def second_moment(self, share: Real) -> Real:
        """``L diag(share) L'``, shape (k, k); refused when it would be huge."""
        self._check_size(MATRIX_LIMIT)
        return super().second_moment(share)

    # ---- sampling: the report is the entry whose stretch of the column a uniform number falls into

    @property
    def words_per_row(self) -> int:
        """Two words: one number of 64 bits."""
        return 2

    @cached_property
    def _cumulative(self) -> Array:
        return cumulative(self._columns)

    @cached_property
    def _table(self) -> ColumnTable:
        return ColumnTable.of(self._columns, self.denominators)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        first, last = int(self.starts[truth]), int(self.starts[truth + 1]) - 1
        passed = interval(
            self._cumulative[first:last].tolist(), int(self.denominators[truth]), words.part(self.words_per_row)
        )
        return int(self.rows[first + passed])

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._table.draw_rows(codes, words, out)


def _ratio(row: set[tuple[int, int]]) -> Fraction:
    chances = [Fraction(n, d) for n, d in row]
    return max(chances) / min(chances)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sparse(ByColumns):
    """Any design by its non-zeros.

    Column j has the entries ``starts[j]`` to ``starts[j + 1]``; entry e has the chance
    ``P[rows[e], j] = numerators[e] / denominators[j]``, where ``denominators[j]`` is what the column sums to.

    >>> design = Sparse.of_columns([{0: 3, 1: 1}, {0: 1, 1: 3}, {2: 1}], Categories.of(["a", "b", "c"]))
    >>> design.exact_matrix()[0]
    [Fraction(3, 4), Fraction(1, 4), Fraction(0, 1)]
    >>> design.components()   # c is never reported for another, nor another for c
    array([0, 0, 1])
    """

    truths: Categories
    reports: Categories
    kind: ClassVar[str] = "sparse"

    # ---- ways to make one

    @classmethod
    def from_integers(
        cls,
        starts: Any,
        rows: Any,
        numerators: Any,
        inputs: Categories | None = None,
        outputs: Categories | None = None,
    ) -> Self:
        """From flat columns: where each starts, shape (k + 1,), the row of each entry, and integers in their ratio.

        Rows increase within a column, integers are positive. Labels default to 0, 1, 2, ...; without report labels
        the reports are the states themselves.
        """
        inputs = Categories.numbered(max(1, len(starts) - 1)) if inputs is None else inputs
        outputs = inputs if outputs is None else outputs
        check_kind(Categories, inputs=inputs, outputs=outputs)
        columns = read_columns(starts, rows, numerators, len(outputs))
        check_label_counts(len(columns.starts) - 1, len(outputs), inputs, outputs)
        return cls(**columns._asdict(), truths=inputs, reports=outputs)

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[Mapping[int, Fraction | int]],
        inputs: Categories | None = None,
        outputs: Categories | None = None,
    ) -> Self:
        """From one ``{row: chance}`` for each truth: fractions that sum to one, or integers in their ratio."""
        return cls.from_integers(*read_mappings(columns), inputs, outputs)

    @classmethod
    def of_matrix(cls, P: Any, inputs: Categories | None = None, outputs: Categories | None = None) -> Self:
        """From a matrix whose columns sum to one, as :meth:`Dense.of`; its zeros are left out."""
        numerators, noted = exact_columns(P)
        if outputs is None and len(numerators) != len(numerators[0]):
            outputs = Categories.numbered(len(numerators[0]))
        design = cls.of_columns([dict(enumerate(column)) for column in numerators], inputs, outputs)
        return design.with_provenance(**noted)

    @classmethod
    def unchanged(cls, inputs: Categories) -> Self:
        """The identity: every truth is reported as it is."""
        check_kind(Categories, inputs=inputs)
        k = len(inputs)
        return cls.from_integers(np.arange(k + 1), np.arange(k), np.ones(k, dtype=np.int64), inputs)

    @classmethod
    def stacked(cls, parts: Sequence[Sparse], places: Sequence[Array], inputs: Categories | None = None) -> Self:
        """Square designs on states of their own: those of part b are the states ``places[b]`` of the whole.

        >>> pair = Sparse.of_matrix([["1/2", "1/2"], ["1/2", "1/2"]])
        >>> Sparse.stacked([pair, Sparse.unchanged(Categories.numbered(1))], [[0, 2], [1]]).diagonal().tolist()
        [0.5, 1.0, 0.5]
        """
        return cls.from_integers(*_assembled(parts, places), inputs)

    # ---- categories

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.truths

    @property
    def outputs(self) -> Categories:
        """The possible reports."""
        return self.reports

    # ---- identity

    def exact_form(self) -> Mapping[str, Any]:
        """For each truth the reports that can come, integers in their ratio, and what they sum to."""
        return {name: self._listed(name, 0, self.k) for name in _FORM}

    def _listed(self, name: str, first: int, last: int) -> list[Any]:
        """One part of the exact form for the columns from ``first`` to before ``last``."""
        if name == "denominators":
            return all_to_digits(self.denominators[first:last].tolist())
        start, end = int(self.starts[first]), int(self.starts[last])
        whole = self.rows[start:end].tolist() if name == "rows" else self._digits(start, end)
        ends = (self.starts[first : last + 1] - start).tolist()
        return [whole[a:b] for a, b in pairwise(ends)]

    def _digits(self, start: int, end: int) -> list[str]:
        short = self.numerators.dtype != object
        return [*map(str if short else to_digits, self.numerators[start:end].tolist())]

    @cached_property
    def fingerprint(self) -> str:
        """Names the design, as for every other; the text of its entries is made and read a stretch at a time."""
        return fingerprint_of_text(self._identity_text())

    def _identity_text(self) -> Iterator[str]:
        for i, name in enumerate(_FORM):
            yield f'{"," if i else _OPENING}"{name}":'
            yield from self._listed_text(name)
        yield '},"inputs":'
        yield from _labels_text(self.inputs)
        yield f',"kind":"{self.kind}","maskwell":"design","outputs":'
        yield from _labels_text(self.outputs)
        yield ',"version":1}'

    def text_in_pieces(self) -> Iterator[str]:
        """The text of :meth:`to_dict` as JSON, a stretch of the entries at a time."""
        last, name = "", RunningFingerprint()
        for piece in self._identity_text():
            yield last
            name.add(piece)
            last = piece
        more = {"provenance": dict(self.provenance), "fingerprint": name.text()}
        yield f"{last[:-1]},{canonical_text(json_form(more))[1:]}"

    def _listed_text(self, name: str) -> Iterator[str]:
        for first in range(0, self.k, _STRETCH):
            text = canonical_text(self._listed(name, first, min(first + _STRETCH, self.k)))
            yield ("," if first else "[") + text[1:-1]
        yield "]"

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories, outputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        columns, places = exact["columns"], exact["rows"]
        if set(map(type, chain(columns, places))) != {list} or [*map(len, columns)] != [*map(len, places)]:
            raise MatrixError("a-column-has-not-one-row")
        ends = list(accumulate(map(len, columns), initial=0))
        numbers = all_from_digits(list(chain.from_iterable(columns)))
        short = max(numbers, default=0) * len(numbers) < 2**63
        numerators = np.array(numbers, dtype=np.int64 if short else object)
        sums = np.add.reduceat(numerators, ends[:-1]).tolist() if min(map(len, columns), default=0) else []
        if sums != all_from_digits(exact["denominators"]):
            raise MatrixError("the-integers-of-a-column-do")
        return cls.from_integers(np.array(ends), list(chain.from_iterable(places)), numerators, inputs, outputs)

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels; reports take the input labels unless they differ in number."""
        if outputs is None:
            outputs = inputs if self.m == self.k else self.reports
        check_label_counts(self.k, self.m, inputs, outputs)
        return replace(self, truths=inputs, reports=outputs)


def _labels_text(categories: Categories) -> Iterator[str]:
    """The canonical text of :meth:`Categories.to_json`, a stretch at a time."""
    labels = categories.labels
    if isinstance(labels, range):
        yield canonical_text(categories.to_json())
        return
    for first in range(0, len(labels), _STRETCH):
        text = canonical_text([to_json(label) for label in labels[first : first + _STRETCH]])
        yield ("," if first else "[") + text[1:-1]
    yield "]"


def _assembled(parts: Sequence[Sparse], places: Sequence[Any]) -> tuple[Array, Array, Array]:
    """Starts, rows and integers of square parts put at their places."""
    parts = list_of(Sparse, parts, "parts")
    places = [as_whole_numbers(as_list(place, "places"), "places").ravel() for place in as_list(places, "places")]
    where = np.concatenate([np.zeros(0, dtype=np.int64), *places])
    _check_places(parts, places, where)
    sizes = np.array([part.k for part in parts])
    entries = np.array([len(part.rows) for part in parts])
    rows = where[np.concatenate([part.rows for part in parts]) + np.repeat(np.cumsum(sizes) - sizes, entries)]
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    whole = any(part.numerators.dtype == object for part in parts)
    numerators = np.concatenate([part.numerators.astype(object if whole else np.int64) for part in parts])
    order = np.lexsort((rows, np.repeat(where, lengths)))
    at_home = np.empty_like(lengths)
    at_home[where] = lengths
    return np.concatenate([[0], np.cumsum(at_home)]), rows[order], narrowed(numerators[order])


def _check_places(parts: Sequence[Sparse], places: Sequence[Any], where: Array) -> None:
    if any(part.m != part.k for part in parts):
        raise MatrixError("a-part-has-not-as-many")
    if [part.k for part in parts] != [len(place) for place in places]:
        raise MatrixError("a-part-has-not-one-place")
    if (np.sort(where) != np.arange(len(where))).any():
        raise MatrixError("the-places-are-not-the-states", where_count=len(where))
