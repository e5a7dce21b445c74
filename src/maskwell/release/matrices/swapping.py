"""Swapping: records change by whole flows, so that every count of the released file is the original one."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array, code_type
from maskwell.core.phrases import shorten
from maskwell.core.randomness import SECURE, RandomSource, check_source, random_order
from maskwell.designs.sampler import check_codes
from maskwell.errors import CountsError, WrongTypeError
from maskwell.release.matrices.integer_flows import IntegerFlows


class SwapSampler:
    """Assigns released categories to records in as many batches as they come, without replacement.

    Of the records of category j exactly ``F_ij`` become i, and every choice of them is equally likely. Their order is
    drawn when the first record of the category comes, so memory is one code for each record.

    >>> flows = IntegerFlows.of([[2, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> sampler = SwapSampler(flows)
    >>> released = [*sampler.sample(np.array([0, 1, 2, 0])), *sampler.sample(np.array([1, 1, 2, 0]))]
    >>> np.bincount(released).tolist()   # the counts are as they were
    [3, 3, 2]
    >>> sampler.check_finished()
    """

    def __init__(self, flows: IntegerFlows, random: RandomSource | None = None) -> None:
        check_kind(IntegerFlows, flows=flows)
        source = SECURE if random is None else random
        check_source(source)
        self.flows = flows
        self.private = source.private
        self._counts = flows.counts
        self._used = np.zeros(flows.k, dtype=np.int64)
        self._stream = source.stream()
        self._words = 0
        self._orders: dict[int, Array] = {}

    def sample(self, codes: Array) -> Array:
        """The released codes of the next records."""
        true = check_codes(codes, self.flows.k)
        out = np.empty(len(true), dtype=code_type(self.flows.k))
        order = np.argsort(true, kind="stable")
        present, first = np.unique(true[order], return_index=True)
        for j, rows in zip(present.tolist(), np.split(order, first[1:]) if len(true) else [], strict=True):
            out[rows] = self._next(int(j), len(rows))
        return out

    def check_finished(self) -> None:
        """Raise unless every record has come: only then are the counts kept."""
        left = np.flatnonzero(self._used < self._counts)
        if len(left):
            j = int(left[0])
            raise CountsError(
                f"category {self._name(j)} had fewer records than the flows were made for",
                hint="release the file that was counted, whole",
                category=j,
            )

    def __reduce__(self) -> Any:
        raise WrongTypeError(
            "a sampler cannot be copied or sent to another process: two holders would draw the same words",
            hint="make one there from the flows",
        )

    def _name(self, j: int) -> str:
        return shorten(repr(self.flows.categories.labels[j]), 30)

    def _next(self, j: int, count: int) -> Array:
        start, end = int(self._used[j]), int(self._used[j]) + count
        if end > self._counts[j]:
            raise CountsError(
                f"category {self._name(j)} has more records than the flows were made for",
                hint="count the file again: flows belong to one file",
                category=j,
            )
        self._used[j] = end
        order = self._orders.pop(j) if j in self._orders else self._shuffled(j)
        if end < self._counts[j]:
            self._orders[j] = order
        return order[start:end]

    def _shuffled(self, j: int) -> Array:
        """The released codes of all records of category j, in random order."""
        own = slice(int(self.flows.starts[j]), int(self.flows.starts[j + 1]))
        codes = np.repeat(self.flows.rows[own], self.flows.amounts[own]).astype(code_type(self.flows.k))
        first, self._words = self._words, self._words + len(codes)
        return np.asarray(codes[random_order(self._stream, first, len(codes))])
