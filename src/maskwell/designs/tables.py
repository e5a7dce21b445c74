"""Threshold tables: the form of dense columns that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Words
from maskwell.designs import kernels

_TOP = 2**64 - 1


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
        found = kernels.active.categorical(columns, words, self.thresholds, guide, self.guide_bits, out, unsettled)
        return unsettled[:found]
