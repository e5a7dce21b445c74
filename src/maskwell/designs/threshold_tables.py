"""Threshold tables: the form of columns, dense or by their non-zeros, that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Words
from maskwell.designs import kernels
from maskwell.designs.column_arrays import Columns, cumulative

_TOP = 2**64 - 1
_CHUNK = 1 << 16


def threshold64(numerator: int, denominator: int) -> int:
    """The first 64 bits of a probability; a number U equal to them in its first 64 bits is left unsettled.

    >>> threshold64(1, 2) == 2**63, threshold64(1, 1) == 2**64 - 1
    (True, True)
    """
    return min((numerator << 64) // denominator, _TOP)


@dataclass(frozen=True, eq=False)
class ThresholdTable:
    """For each column, increasing 64-bit thresholds and a guide that tells where to start looking.

    ``guide[column, b]`` is the number of thresholds below every 64-bit number whose leading bits are ``b``.
    """

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

    ``columns[j]`` tells the first and the last entry of column j, where its guide starts, and how many leading bits
    choose its line of the guide (0: there is none). The last entry of a column has no threshold: it takes the rest.
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
    """The first 64 bits of ``numerators / denominators``, all ones at the places ``last``, where the quotient is 1.

    Long division in steps of as many bits as 64-bit numbers leave room for; one by one beyond them.

    >>> leading_bits(np.array([1, 2]), np.array([2, 2]), np.array([1])).tolist() == [2**63, 2**64 - 1]
    True
    """
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
    """What is told of each column, and the guides of the long ones, one after the other.

    A threshold is below the first number of line b when its leading bits are below b, so that a guide is a running
    count of thresholds by their leading bits.
    """
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
