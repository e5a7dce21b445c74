"""Blocks: a design of its own within each cell of other, openly known variables; the cell is reported as it is.

With two cells or more parity is infinite; ``parity_within`` is what protects the category.

Source: [Adeshiyan2011, chapter 4] (randomizing one variable within the categories of another).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_mapping
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader
from maskwell.core.exact import Parity, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.column_arrays import Transitions
from maskwell.designs.design import MATRIX_LIMIT, Design, big
from maskwell.designs.kronecker import check_coded
from maskwell.errors import ParameterError, TooLargeError

MOST_LABELS = 2 * 10**6  # pairs of a cell and a category that are written out as labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Blocks(CodedDesign):
    """One design for each cell.

    >>> from maskwell.designs import Uniform
    >>> parts = {cell: Uniform.from_gamma(g, Categories.of(["yes", "no"])) for cell, g in (("north", 3), ("south", 5))}
    >>> design = Blocks.of(parts)
    >>> design.parity(), design.parity_within()
    (inf, Fraction(5, 1))
    """

    cells: Categories
    parts: tuple[CodedDesign, ...]
    kind: ClassVar[str] = "blocks"

    @classmethod
    def of(cls, parts: Mapping[Hashable, Design]) -> Self:
        """From a design for each cell."""
        as_mapping(parts, "parts")
        designs = check_coded(parts.values(), "a block design")
        return cls(cells=Categories.of(parts), parts=designs).noting_decimals(*designs)

    @cached_property
    def inputs(self) -> Categories:
        """Pairs (cell, category)."""
        self._check_labels(self.k)
        return Categories.of((cell, x) for cell, part in self._pairs() for x in part.inputs.labels)

    @cached_property
    def outputs(self) -> Categories:
        """Pairs (cell, report)."""
        self._check_labels(self.m)
        return Categories.of((cell, z) for cell, part in self._pairs() for z in part.outputs.labels)

    @staticmethod
    def _check_labels(count: int) -> None:
        """A few letters of a file can ask for billions of pairs."""
        if count > MOST_LABELS:
            raise TooLargeError("pairs-of-a-cell", count=big(count), most_labels=MOST_LABELS)

    def _pairs(self) -> list[tuple[Hashable, CodedDesign]]:
        return list(zip(self.cells.labels, self.parts, strict=True))

    @cached_property
    def _starts_in(self) -> Array:
        return np.cumsum([0, *(part.k for part in self.parts)])

    @cached_property
    def _starts_out(self) -> Array:
        return np.cumsum([0, *(part.m for part in self.parts)])

    @property
    def k(self) -> int:
        """Number of pairs of a cell and a category; their labels are not needed for it."""
        return int(self._starts_in[-1])

    @property
    def m(self) -> int:
        """Number of pairs of a cell and a report."""
        return int(self._starts_out[-1])

    def parity_within(self) -> Parity:
        """The largest parity of the parts: the protection of the category, the cell being known."""
        return self._parity_within

    @cached_property
    def _parity_within(self) -> Parity:
        return max(part.parity_exact() for part in self.parts)

    def details(self) -> dict[str, Any]:
        """The protection within a cell."""
        return {"parity_within": to_text(self.parity_within())}

    def warnings(self) -> list[str]:
        """That the cell is open."""
        if len(self.parts) == 1:
            return super().warnings()
        within = to_text(self.parity_within())
        return [f"the cell is reported as it is, so the parity of the pair is infinite; within a cell it is {within}"]

    def parity_exact(self) -> Parity:
        """Infinite with two cells or more: the report discloses the cell."""
        return self.parity_within() if len(self.parts) == 1 else math.inf

    def is_admissible(self) -> bool:
        """A single part's answer; with more cells, only when every part reports the truth."""
        if len(self.parts) == 1:
            return self.parts[0].noting_decimals(self).is_admissible()
        return all(part.k == 1 or (math.isinf(part.parity()) and part.is_admissible()) for part in self.parts)

    def guess_probability(self, prior: Real | None = None) -> float:
        """The parts' guess probabilities, weighted by the chance of each cell."""
        a = None if prior is None else self.check_distribution(prior, "prior")
        return math.fsum(weight * part.guess_probability(shares) for part, weight, shares in self._weighted(a))

    def added_variance(self, pi: Real | None = None) -> float:
        """The parts' added variances, weighted by the probability of each cell: every report reveals its cell."""
        self.check_identifiable()
        shares_of_all = None if pi is None else self.check_distribution(pi)
        return math.fsum(weight * part.added_variance(shares) for part, weight, shares in self._weighted(shares_of_all))

    def _weighted(self, pi: Real | None) -> list[tuple[CodedDesign, float, Real | None]]:
        """Each part with the chance of its cell and the shares within it; equal shares where ``pi`` is None."""
        if pi is None:
            return [(part, part.k / self.k, None) for part in self.parts]
        stretches = zip(self.parts, np.split(pi, self._starts_in[1:-1]), strict=True)
        cells = [(part, float(shares.sum()), shares) for part, shares in stretches]
        return [(part, weight, shares / weight) for part, weight, shares in cells if weight > 0]

    def total_variation(self) -> float:
        """2 with two cells or more: their reports never meet."""
        return 2.0 if len(self.parts) > 1 else self.parts[0].total_variation()

    def rank_work(self) -> int:
        """Of the parts."""
        return sum(part.rank_work() for part in self.parts)

    def rank(self) -> int:
        """The sum of the ranks."""
        return sum(part.rank() for part in self.parts)

    def singular_range(self) -> tuple[float, float]:
        """The largest and the smallest of all parts."""
        ranges = [part.singular_range() for part in self.parts]
        return max(high for high, _ in ranges), min(low for _, low in ranges)

    def transitions(self, *, limit: int = MATRIX_LIMIT) -> Transitions:
        """Those of the parts, one part after the other."""
        parts = [part.transitions(limit=limit) for part in self.parts]
        reports = [part.reports + first for part, first in zip(parts, self._starts_out, strict=False)]
        truths = [part.truths + first for part, first in zip(parts, self._starts_in, strict=False)]
        return Transitions(np.concatenate(reports), np.concatenate(truths), np.concatenate([part.p for part in parts]))

    def transitions_exact(self) -> list[dict[int, Fraction]]:
        """Those of the parts, one part after the other."""
        return [
            {int(first) + i: p for i, p in column.items()}
            for part, first in zip(self.parts, self._starts_out, strict=False)
            for column in part.transitions_exact()
        ]

    def _matrix(self) -> Real:
        P = np.zeros((self.m, self.k))
        for part, i, j in zip(self.parts, self._starts_out, self._starts_in, strict=False):
            P[i : i + part.m, j : j + part.k] = part.matrix()
        return P

    def _exact_matrix(self) -> list[list[Fraction]]:
        rows = []
        for part, j in zip(self.parts, self._starts_in, strict=False):
            left, right = [Fraction(0)] * int(j), [Fraction(0)] * int(self.k - j - part.k)
            rows += [left + row + right for row in part.exact_matrix()]
        return rows

    def forward(self, x: Real) -> Real:
        """Each part on its own stretch of the last axis."""
        return self._by_part(x, self._starts_in, lambda part: part.forward)

    def forward_adjoint(self, x: Real) -> Real:
        """Each part's P' on its own stretch of the last axis."""
        return self._by_part(x, self._starts_out, lambda part: part.forward_adjoint)

    def backward(self, x: Real) -> Real:
        """Each part's L on its own stretch of the last axis."""
        return self._by_part(x, self._starts_out, lambda part: part.backward)

    def backward_squared(self, x: Real) -> Real:
        """Each part's squared L on its own stretch of the last axis."""
        return self._by_part(x, self._starts_out, lambda part: part.backward_squared)

    def second_moment_of_truth(self) -> Real:
        """Each part's, in order."""
        self.check_identifiable()
        return np.concatenate([part.second_moment_of_truth() for part in self.parts])

    def separate(self) -> tuple[CodedDesign, ...]:
        """The parts: a report reveals its cell."""
        return self.parts

    def _by_part(self, x: Real, starts: Array, method: Callable[[CodedDesign], Callable[[Real], Real]]) -> Real:
        stretches = np.split(x, starts[1:-1], axis=-1)
        return np.concatenate(
            [method(part)(stretch) for part, stretch in zip(self.parts, stretches, strict=True)], axis=-1
        )

    def check_identifiable(self) -> None:
        """Each part must be."""
        for part in self.parts:
            part.check_identifiable()

    @property
    def words_per_row(self) -> int:
        """As many as the part that needs most."""
        return max(part.words_per_row for part in self.parts)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition: the part of the truth's cell draws it."""
        b = int(np.searchsorted(self._starts_in, truth, side="right")) - 1
        report = self.parts[b].draw(truth - int(self._starts_in[b]), words.part(self.words_per_row))
        return int(self._starts_out[b]) + int(report)

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows, cell by cell."""
        block = np.searchsorted(self._starts_in, codes, side="right") - 1
        unsettled = [np.empty(0, dtype=np.int64)]
        for b, part in enumerate(self.parts):
            rows = np.flatnonzero(block == b)
            report = part.empty_reports(len(rows))
            part_codes = (codes[rows].astype(np.int64) - int(self._starts_in[b])).astype(np.uint64)
            used = np.ascontiguousarray(words[rows, : part.words_per_row])
            unsettled.append(rows[part.draw_rows(part_codes, used, report)])
            out[rows] = report.astype(np.int64) + int(self._starts_out[b])
        return np.sort(np.concatenate(unsettled))

    def labels_json(self) -> Mapping[str, Any]:
        """The parts carry the labels."""
        return {"inputs": {"cells": self.cells.to_json()}, "outputs": {"cells": self.cells.to_json()}}

    def exact_form(self) -> Mapping[str, Any]:
        """The parts, in the order of the cells."""
        return {"parts": [part.identity() for part in self.parts]}

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """Not for blocks: relabel the parts."""
        raise ParameterError("the-labels-of-a-block-design")
