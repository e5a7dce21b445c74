"""The content of a submission as text, a field for each question, and the cells that are counted when it comes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from math import prod
from typing import Any

from maskwell.collection.leaves import DamagedError
from maskwell.collection.survey import MOST_ANSWERS, Survey

MOST_JOINT = 20_000  # possible contents up to which the whole content is counted
MOST_PAIRED = 20  # questions up to which all pairs are counted
MOST_CELLS = 10_000  # cells of a pair, and of a set report that is counted as a whole
CELLS_IN_LEAF = 24  # cells whose counts stand in one leaf, on average
MOST_BITS = MOST_ANSWERS + 2  # cells of a set report that is counted by its bits


def content_of(survey: Survey, reports: Mapping[str, Any]) -> str:
    """One field for each question."""
    return ",".join(str(reports.get(question.name, "")) for question in survey.questions)


def longest_content(survey: Survey) -> int:
    """Characters of the longest content of a survey."""
    return len(survey.questions) - 1 + sum(map(_longest_field, survey.questions))


def _longest_field(question: Any) -> int:
    return len(str(question.reports - 1)) if question.reports is not None else int(question.design.k)


@dataclass(frozen=True)
class Parts:
    """What is counted: groups of questions, and the bits of large set reports."""

    groups: tuple[tuple[int, ...], ...]
    bits: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, survey: Survey) -> Parts:
        """The parts for a survey."""
        sizes = tuple(_size(question) for question in survey.questions)
        whole = tuple(i for i, size in enumerate(sizes) if size <= MOST_CELLS)
        bits = tuple(i for i in range(len(sizes)) if i not in whole)
        if prod(sizes[i] for i in whole) <= MOST_JOINT:
            return cls((whole,) if whole else (), bits, sizes)
        pairs = combinations(whole, 2) if len(whole) <= MOST_PAIRED else ()
        both = ((i, j) for i, j in pairs if sizes[i] * sizes[j] <= MOST_CELLS)
        return cls((*((i,) for i in whole), *both), bits, sizes)

    @cached_property
    def leaves(self) -> dict[str, range]:
        """The leaves that hold the counts of each part: as many as all its possible cells need."""
        cells = [prod(self.sizes[i] for i in group) for group in self.groups] + [MOST_BITS] * len(self.bits)
        ends = [*accumulate((-(-count // CELLS_IN_LEAF) for count in cells), initial=0)]
        return {name: range(*both) for name, both in zip(self.names, pairwise(ends), strict=True)}

    def leaf(self, part: str, cell: str) -> int:
        """The leaf of a cell."""
        leaves = self.leaves[part]
        return leaves[zlib.crc32(cell.encode()) % len(leaves)]

    @cached_property
    def names(self) -> list[str]:
        """The parts as they are stored."""
        return [*map(_name, self.groups), *(f"{i}:bits" for i in self.bits)]

    def cells(self, content: str) -> Iterator[tuple[str, str]]:
        """The parts and cells that one content adds one to."""
        fields = content.split(",")
        if len(fields) != len(self.sizes):
            raise DamagedError
        for name, group in zip(self.names, self.groups, strict=False):
            yield name, ",".join([fields[i] for i in group])
        for i in self.bits:
            yield f"{i}:bits", "n" if fields[i] else ""
            for j, bit in enumerate(fields[i]):
                if bit == "1":
                    yield f"{i}:bits", str(j)

    def holding(self, wanted: tuple[int, ...]) -> tuple[int, ...] | None:
        """The smallest group that holds these questions; None where they are not counted together."""
        return min((group for group in self.groups if set(wanted) <= set(group)), key=len, default=None)


def _name(group: tuple[int, ...]) -> str:
    return "+".join(map(str, group))


def _size(question: Any) -> int:
    """How many fields a question can have, with "not asked"."""
    if question.reports is not None:
        return int(question.reports) + 1
    return int(2 ** min(question.design.k, 40)) + 1
