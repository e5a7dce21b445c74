"""Sparse design: any transition matrix by its non-zeros, as exact integers, with its file and its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate, chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, as_list, as_whole_numbers, check_kind, list_of
from maskwell.core.categories import Categories
from maskwell.core.documents import RunningFingerprint, canonical_text, fingerprint_of_text, json_form
from maskwell.core.exact import all_from_digits, all_to_digits, to_digits
from maskwell.core.labels import to_json
from maskwell.designs.by_columns import ByColumns
from maskwell.designs.column_arrays import narrowed, read_columns, read_mappings
from maskwell.designs.matrix_reading import exact_columns
from maskwell.designs.own_labels import OwnLabels, check_label_counts
from maskwell.errors import MatrixError

_FORM = ("columns", "denominators", "rows")  # in the order of the canonical text
_OPENING = '{"exact":{'
_STRETCH = 1 << 14


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sparse(OwnLabels, ByColumns):
    """Any design by its non-zeros.

    Column j has the entries ``starts[j]`` to ``starts[j + 1]``; entry e has the chance
    ``P[rows[e], j] = numerators[e] / denominators[j]``, where ``denominators[j]`` is what the column sums to.

    >>> design = Sparse.of_columns([{0: 3, 1: 1}, {0: 1, 1: 3}, {2: 1}], Categories.of(["a", "b", "c"]))
    >>> design.exact_matrix()[0]
    [Fraction(3, 4), Fraction(1, 4), Fraction(0, 1)]
    >>> design.components()   # c is never reported for another, nor another for c
    array([0, 0, 1])
    """

    kind: ClassVar[str] = "sparse"

    @classmethod
    def from_integers(
        cls,
        starts: Any,
        rows: Any,
        numerators: Any,
        inputs: Categories | None = None,
        outputs: Categories | None = None,
    ) -> Self:
        """From flat columns: where each starts, shape (k + 1,), rising rows, and positive integers in their ratio.

        Labels default to 0, 1, 2, ...; without report labels the reports are the states themselves.
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
        """Square designs on states of their own: those of part b are the states ``places[b]`` of the whole."""
        return cls.from_integers(*_assembled(parts, places), inputs)

    def exact_form(self) -> Mapping[str, Any]:
        """For each truth the reports that can come, integers in their ratio, and what they sum to."""
        return {name: self._listed(name, 0, self.k) for name in _FORM}

    def _listed(self, name: str, first: int, last: int) -> list[Any]:
        """One part of the exact form for the columns from ``first`` to before ``last``."""
        if name == "denominators":
            return all_to_digits(self.denominators[first:last].tolist())
        start, end = int(self.starts[first]), int(self.starts[last])
        texts = str if self.numerators.dtype != object else to_digits
        numbers = (self.rows if name == "rows" else self.numerators)[start:end].tolist()
        whole = numbers if name == "rows" else [*map(texts, numbers)]
        ends = (self.starts[first : last + 1] - start).tolist()
        return [whole[a:b] for a, b in pairwise(ends)]

    @cached_property
    def fingerprint(self) -> str:
        """Names the design, as for every other; the text of its entries is made and read a stretch at a time."""
        return fingerprint_of_text(self._identity_text())

    def _identity_text(self) -> Iterator[str]:
        for i, name in enumerate(_FORM):
            yield f'{"," if i else _OPENING}"{name}":'
            yield from _stretches(self.k, partial(self._listed, name))
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


def _labels_text(categories: Categories) -> Iterator[str]:
    """The canonical text of :meth:`Categories.to_json`, a stretch at a time."""
    labels = categories.labels
    if isinstance(labels, range):
        yield canonical_text(categories.to_json())
        return
    yield from _stretches(len(labels), lambda first, last: [to_json(label) for label in labels[first:last]])


def _stretches(size: int, listed: Callable[[int, int], list[Any]]) -> Iterator[str]:
    """The canonical text of a list of so many elements, a stretch at a time."""
    for first in range(0, size, _STRETCH):
        text = canonical_text(listed(first, min(first + _STRETCH, size)))
        yield ("," if first else "[") + text[1:-1]
    yield "]"


def _assembled(parts: Sequence[Sparse], places: Sequence[Any]) -> tuple[Array, Array, Array]:
    """Starts, rows and integers of square parts put at their places."""
    parts = list_of(Sparse, parts, "parts")
    places = [as_whole_numbers(as_list(place, "places"), "places").ravel() for place in as_list(places, "places")]
    where = np.concatenate([np.zeros(0, dtype=np.int64), *places])
    if any(part.m != part.k for part in parts):
        raise MatrixError("a-part-has-not-as-many")
    if [part.k for part in parts] != [len(place) for place in places]:
        raise MatrixError("a-part-has-not-one-place")
    if (np.sort(where) != np.arange(len(where))).any():
        raise MatrixError("the-places-are-not-the-states", where_count=len(where))
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
