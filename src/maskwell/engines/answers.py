"""Reports read from a file: from one column, or, where they are tuples of answers, from one for each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.engines.columns import Assignment, Problems, common_rows, joint_codes, separate_codes


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers that make up labels that are tuples, and which label they make.

    >>> pairs = Answers(Categories.of([("yes", 1), ("no", 1), ("no", 2)]))
    >>> [place.labels for place in pairs.places]
    [('yes', 'no'), (1, 2)]
    >>> pairs.join([np.array([0, 1, 0]), np.array([0, 1, 1])]).tolist()   # yes with 2 is none of them
    [0, 2, -1]
    """

    labels: Categories

    @cached_property
    def places(self) -> tuple[Categories, ...]:
        """The answers in each place, in the order in which they first come."""
        return tuple(Categories.of(dict.fromkeys(answers)) for answers in zip(*self._tuples, strict=True))

    def join(self, codes: Sequence[Array]) -> Array:
        """The codes of the labels that the answers make, -1 for those that make none."""
        return np.asarray(self._label_of[joint_codes(codes, self._sizes)])

    def split(self, codes: Array) -> list[Array]:
        """Undo :meth:`join`: the code of the answer in each place."""
        return separate_codes(self._joint[codes], self._sizes)

    @property
    def _tuples(self) -> Sequence[tuple[Any, ...]]:
        return self.labels.labels  # type: ignore[return-value]

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(place) for place in self.places]

    @cached_property
    def _joint(self) -> Array:
        places = zip(self.places, zip(*self._tuples, strict=True), strict=True)
        return joint_codes([place.encode(list(answers)).codes for place, answers in places], self._sizes)

    @cached_property
    def _label_of(self) -> Array:
        found = np.full(int(np.prod(self._sizes)), -1, dtype=np.int64)
        found[self._joint] = np.arange(len(self.labels))
        return found


def looked_for(assignments: Iterable[Assignment], *, reports: bool) -> dict[str, Categories | None]:
    """The categories that each column holds: reports, or true values."""
    found: dict[str, Categories | None] = {}
    for leaf, names in (part for assignment in assignments for part in assignment.parts):
        held = leaf.outputs if reports and isinstance(leaf.outputs, Categories) else leaf.inputs
        places = (held,) if len(names) == 1 else Answers(held).places
        found.update(zip(names, places, strict=True))
    return found


class ReportReader:
    """Reads the reports of one design from its columns, gathering what cannot be used."""

    def __init__(self, reports: Categories, names: Sequence[str], policy: str) -> None:
        self.names, self.reports, self._policy = tuple(names), reports, policy
        self._answers = None if len(self.names) == 1 else Answers(reports)
        places = (reports,) if self._answers is None else self._answers.places
        self._columns = [Problems(name, place) for name, place in zip(self.names, places, strict=True)]
        self._together = Problems(", ".join(self.names), reports, role="report")

    @property
    def problems(self) -> list[Problems]:
        """Of each column, then of their answers together."""
        return self._columns if self._answers is None else [*self._columns, self._together]

    def read(self, columns: Sequence[Any], first_row: int, places: Array | None = None) -> Encoded | None:
        """Codes of the reports, or None when some cannot be used; ``places`` where the rows stand in the batch."""
        values = zip(self._columns, columns, strict=True)
        found = [problem.encode(column, first_row, self._policy, places) for problem, column in values]
        encoded = [one for one in found if one is not None]
        if len(encoded) < len(found):
            return None
        return (
            encoded[0]
            if self._answers is None
            else self._read_together(self._answers, encoded, len(columns[0]), first_row, places)
        )

    def _read_together(
        self, answers: Answers, encoded: Sequence[Encoded], rows: int, first_row: int, places: Array | None
    ) -> Encoded | None:
        kept, codes = common_rows(encoded, rows)
        joined = answers.join(codes)
        if (strange := joined < 0).any():
            labels = [place.decode(code[strange]) for place, code in zip(answers.places, codes, strict=True)]
            found = Counter(zip(*(label.tolist() for label in labels), strict=True))
            self._together.note_unknown(found, np.flatnonzero(strange), first_row, _places(kept, places))
            return None
        return Encoded(joined, rows - len(joined), kept, self.reports)


def _places(kept: Array | None, places: Array | None) -> Array | None:
    """Where the rows that were kept stand in the batch."""
    if kept is None:
        return places
    return np.flatnonzero(kept) if places is None else places[kept]
