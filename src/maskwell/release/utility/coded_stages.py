"""CodedStage: a stage with numbers in place of labels, so that tables of many cells can be pushed through it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arrays import Array
from maskwell.release.stages.stage import Stage

WIDEST = 2**62


@dataclass(frozen=True, eq=False)
class CodedStage:
    """A stage whose labels are numbered, column by column.

    Attributes
    ----------
    stage
        The stage itself.
    levels
        Labels of each column that it reads or changes.
    states, outputs
        Codes of the true and of the released states, by column; linked columns only in the second.
    """

    stage: Stage
    levels: dict[str, list[Hashable]]
    states: dict[str, Array]
    outputs: dict[str, Array]

    @classmethod
    def of(cls, stage: Stage) -> CodedStage:
        """Numbers in the order in which labels are met."""
        levels: dict[str, dict[Hashable, int]] = {name: {} for name in (*stage.columns, *stage.linked)}
        nothing: list[tuple[Hashable, ...]] = [()] * len(stage.columns)
        true, released = ([*zip(*labels, strict=True)] or nothing for labels in (stage.states, stage.outputs))
        states = {name: _numbered(labels, levels[name]) for name, labels in zip(stage.columns, true, strict=True)}
        outputs = {name: _numbered(labels, levels[name]) for name, labels in zip(stage.columns, released, strict=True)}
        first = len(stage.within)
        for name, follows in stage.linked.items():
            own = [follows[tuple(output[first:])] for output in stage.outputs]
            outputs[name] = _numbered(own, levels[name])
        return cls(stage, {name: [*places] for name, places in levels.items()}, states, outputs)

    @property
    def changed(self) -> set[str]:
        """Columns whose values it changes."""
        return {*self.stage.variables, *self.stage.linked}

    def translation(self, name: str, labels: Sequence[Hashable]) -> Array:
        """The codes of other labels of a column, -1 for those that it does not know."""
        places = {label: code for code, label in enumerate(self.levels[name])}
        return np.array([places.get(label, -1) for label in labels], dtype=np.int64)

    @cached_property
    def _sorted_states(self) -> tuple[Array, Array]:
        keys = self._keys([self.states[name] for name in self.stage.columns])
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _keys(self, codes: Sequence[Array]) -> Array:
        key = np.zeros(len(codes[0]), dtype=object if self._wide else np.int64)
        for name, own in zip(self.stage.columns, codes, strict=True):
            key = key * max(1, len(self.levels[name])) + own
        return key

    @cached_property
    def _wide(self) -> bool:
        sizes = [max(1, len(self.levels[name])) for name in self.stage.columns]
        return int(np.prod(sizes, dtype=object)) >= WIDEST

    def find(self, codes: Sequence[Array]) -> Array:
        """The state of each cell, from the codes of the columns that tell it; -1 where there is none."""
        keys, order = self._sorted_states
        if not len(keys):
            return np.full(len(codes[0]), -1)
        known = np.logical_and.reduce([own >= 0 for own in codes])
        wanted = self._keys(codes)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(known & (keys[at] == wanted), order[at], -1)


def distinct(codes: Sequence[Array], rows: int) -> tuple[Array, Array]:
    """The distinct rows of codes, in order, shape (groups, columns), and which of them each row is.

    >>> groups, of_row = distinct([np.array([1, 0, 1]), np.array([2, 2, 2])], 3)
    >>> groups.tolist(), of_row.tolist()
    ([[0, 2], [1, 2]], [1, 0, 1])
    """
    if not codes or not rows:
        return np.zeros((min(rows, 1), len(codes)), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    sizes = [int(own.max()) + 1 for own in codes]
    if int(np.prod(sizes, dtype=object)) >= WIDEST:
        groups, of_row = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        return groups, of_row.reshape(-1)
    keys, of_row = np.unique(np.ravel_multi_index(tuple(codes), tuple(sizes)), return_inverse=True)
    return np.column_stack(np.unravel_index(keys, sizes)), of_row.reshape(-1)


def _numbered(labels: Sequence[Hashable], places: dict[Hashable, int]) -> Array:
    return np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)
