"""From true codes to reports, chunk by chunk: random words in, kernel, and the few unsettled rows by definition."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.draws import WordReader
from maskwell.core.randomness import RandomSource
from maskwell.core.reported import Reports
from maskwell.errors import UnknownCategoryError, WrongTypeError

if TYPE_CHECKING:
    from maskwell.designs.base import Design

CHUNK_BYTES = 1 << 17
"""Random bytes made at a time: small enough to stay in the processor's cache."""


class Sampler:
    """Randomizes one column, in as many batches as it comes; row i gets the same words however it is cut."""

    def __init__(self, design: Design, random: RandomSource) -> None:
        self.design = design
        self.private = random.private
        self._stream = random.stream()
        self._row = 0

    def sample(self, codes: Array) -> Reports:
        """Reports of the next rows."""
        design = self.design
        codes = check_codes(codes, design.k)
        out = design.empty_reports(len(codes))
        step = max(1, CHUNK_BYTES // (4 * design.words_per_row))
        for start in range(0, len(codes), step):
            self._sample_chunk(codes[start : start + step], out[start : start + step])
        return Reports(design.fingerprint, design.k, design.encoding, out, self.private)

    def _sample_chunk(self, codes: Array, out: Array) -> None:
        words = self._stream.words(self._row, len(codes), self.design.words_per_row)
        for row in self.design.draw_rows(codes, words, out).tolist():
            reader = WordReader(words[row].tolist(), more=partial(self._stream.spill, self._row + row))
            out[row] = self.design.encode_report(self.design.draw(int(codes[row]), reader))
        self._row += len(codes)


def check_codes(codes: Array, k: int) -> Array:
    """Codes as a contiguous one-dimensional array of unsigned integers below k, or an error."""
    array = np.asarray(codes)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise WrongTypeError(
            f"codes must be one column of integers, got shape {array.shape} of {array.dtype}",
            hint="randomize() takes labels; sample() takes codes 0..k-1",
        )
    if len(array) and (int(array.max()) >= k or int(array.min()) < 0):
        wrong = np.unique(array[(array >= k) | (array < 0)])[:10].tolist()
        raise UnknownCategoryError(
            f"codes outside 0..{k - 1}: {wrong}", hint=f"this design has {k} categories", codes=wrong
        )
    return np.ascontiguousarray(array if array.dtype.kind == "u" else array.astype(np.uint64))
