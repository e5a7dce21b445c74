"""Stages that belong together, as one matrix: from the true labels of some columns to released labels of the key.

A stage within a column that an earlier stage randomized works on the released value of it, so both are one component:
the product of their matrices, the later one on the left [Adeshiyan2011, Theorem 4.2]. Components multiply.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import CellTable
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError, TooLargeError
from maskwell.release.risk.cell_keys import compressed, find, numbered
from maskwell.release.risk.listed import entries_of
from maskwell.release.stages.stage import Stage

ENTRIES = 4 * 10**7
"""Probabilities that are kept at once."""


@dataclass(frozen=True, eq=False)
class Component:
    """One matrix of the key.

    Attributes
    ----------
    within
        Columns that tell which matrix is used and are not randomized.
    keys
        Columns of the key that it changes.
    state
        Shape (cells,): the true state of each cell of the table, 0..states-1.
    own
        Shape (cells,): the released part of the key that is the cell's own.
    parts
        Number of parts of the key that can be released, or are true.
    starts, row, p
        The matrix by columns: state j leads to the parts ``row[starts[j]:starts[j + 1]]``.
    """

    within: tuple[str, ...]
    keys: tuple[str, ...]
    state: Array
    own: Array
    parts: int
    starts: Array
    row: Array
    p: Real

    @property
    def states(self) -> int:
        """Number of true states."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        """How many parts each state leads to."""
        return np.diff(self.starts)


def acting(stages: Sequence[Stage], keys: Sequence[str]) -> list[Stage]:
    """The stages that change what is released of the key, in order: those of its columns, and those they build on."""
    wanted, found = {*keys}, []
    for stage in reversed(stages):
        if wanted & {*stage.variables, *stage.linked}:
            found.append(stage)
            wanted |= {*stage.within}
    return found[::-1]


def needed_columns(stages: Sequence[Stage], keys: Sequence[str]) -> tuple[str, ...]:
    """The columns of the table from which the risk of the key after these stages follows; first the key.

    >>> needed_columns((), ["sex", "age"])
    ('sex', 'age')
    """
    names = [name for stage in acting(stages, keys) for name in stage.columns]
    return tuple(dict.fromkeys([*keys, *names]))


def components_of(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> list[Component]:
    """The components of the stages that act on a key; the table holds at least the needed columns."""
    groups: list[list[Stage]] = []
    for stage in acting(stages, keys):
        joined = [_builds_on(stage, group) for group in groups]
        earlier = [one for group, builds in zip(groups, joined, strict=True) if builds for one in group]
        groups = [group for group, builds in zip(groups, joined, strict=True) if not builds]
        groups.append([*sorted(earlier, key=[*stages].index), stage])
    return [_component(group, table, keys) for group in groups]


def _builds_on(stage: Stage, group: Sequence[Stage]) -> bool:
    changed = {name for earlier in group for name in (*earlier.variables, *earlier.linked)}
    return bool(changed & {*stage.columns})


def _component(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> Component:
    changed = {name for stage in stages for name in (*stage.variables, *stage.linked)}
    own_keys = tuple(name for name in keys if name in changed)
    columns = tuple(dict.fromkeys([*(name for stage in stages for name in stage.columns), *own_keys]))
    coding = _Coding(table, columns, stages)
    true, state = _distinct(table.codes[:, [table.place(name) for name in columns]], coding.all_sizes)
    reached = _Reached(np.arange(len(true)), np.arange(len(true)), np.ones(len(true)), true)
    for stage in stages:
        reached = _carried_out(stage, coding, reached)
    at = [columns.index(name) for name in own_keys]
    sizes = [coding.sizes[name] for name in own_keys]
    (own, part), parts = _numbers(sizes, true[:, at], reached.labels[:, at])
    row, p, starts = _merged(reached.origin, part[reached.at], reached.p, len(true), parts)
    return Component(
        within=tuple(name for name in columns if name not in changed),
        keys=own_keys,
        state=state,
        own=own[state],
        parts=parts,
        starts=starts,
        row=row,
        p=p,
    )


class _Reached(NamedTuple):
    """What true states have become: entries (true state, place among ``labels``, probability), and distinct labels."""

    origin: Array
    at: Array
    p: Real
    labels: Array


def _numbers(sizes: Sequence[int], *codes: Array) -> tuple[list[Array], int]:
    """Combinations of codes as 0, 1, 2, ..., the same in all arrays."""
    return compressed(max(1, int(np.prod([float(size) for size in sizes]))), *numbered(sizes, *codes))


def _distinct(codes: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """The combinations that occur, and the number of its combination for each row."""
    (place,), count = _numbers(sizes, codes)
    first = np.zeros(count, dtype=np.int64)
    first[place] = np.arange(len(codes))
    return codes[first].astype(np.int64), place


class _Coding:
    """Labels as numbers: those of the table, and after them labels that only a release can hold."""

    def __init__(self, table: CellTable, columns: Sequence[str], stages: Sequence[Stage]) -> None:
        self.columns = tuple(columns)
        self._codes: dict[str, dict[Hashable, int]] = {
            name: {label: code for code, label in enumerate(table.levels[table.place(name)])} for name in columns
        }
        self.states = [(self.codes(s.columns, s.states), self.codes(s.columns, s.outputs)) for s in stages]
        self._stages = list(stages)
        self.linked = [{name: self._follows(s, name) for name in s.linked if name in columns} for s in stages]
        self.sizes = {name: len(codes) for name, codes in self._codes.items()}
        self.all_sizes = [self.sizes[name] for name in columns]

    def codes(self, columns: Sequence[str], labels: Sequence[tuple[Hashable, ...]]) -> Array:
        """Shape (labels, columns); labels not seen before get new numbers."""
        known = [self._codes[name] for name in columns]
        rows = [[codes.setdefault(x, len(codes)) for codes, x in zip(known, label, strict=True)] for label in labels]
        return np.array(rows, dtype=np.int64).reshape(len(labels), len(columns))

    def _follows(self, stage: Stage, name: str) -> Array:
        """The code of a linked column for each output of a stage."""
        first = len(stage.within)
        labels = [(stage.linked[name].get(tuple(output[first:])),) for output in stage.outputs]
        return self.codes([name], labels)[:, 0]

    def number(self, stage: Stage) -> int:
        """The place of a stage."""
        return self._stages.index(stage)


def _carried_out(stage: Stage, coding: _Coding, reached: _Reached) -> _Reached:
    """One stage after others: labels that are no state of it, such as missing values, stay as they are."""
    number = coding.number(stage)
    at = [coding.columns.index(name) for name in stage.columns]
    states, outputs = coding.states[number]
    state = find(*numbered([coding.sizes[name] for name in stage.columns], states, reached.labels[:, at]))
    if (state < 0).all():
        raise ParameterError(
            f"no cell of the table is a state of the stage that randomizes {', '.join(stage.variables)}",
            hint="give the counts of the file that the stage was made for",
        )
    report, q, starts = _by_truth(stage.design)
    moving = np.flatnonzero(state[reached.at] >= 0)
    taken, entry = expanded(starts, state[reached.at[moving]])
    came, chosen = moving[taken], report[entry]
    # the labels after it follow from what the stage does not touch, and from the report
    moved = [*at, *(coding.columns.index(name) for name in coding.linked[number])]
    others = [i for i in range(len(coding.columns)) if i not in moved]
    kept, rest = _distinct(reached.labels[:, others], [coding.all_sizes[i] for i in others])
    m = stage.design.m
    key = rest[reached.at[came]] * m + chosen
    (place,), count = compressed(len(kept) * m, key)
    labels = np.zeros((count, len(coding.columns)), dtype=np.int64)
    first = np.zeros(count, dtype=np.int64)
    first[place] = key
    labels[:, others] = kept[first // m]
    labels[:, at] = outputs[first % m]
    for name, codes in coding.linked[number].items():
        labels[:, coding.columns.index(name)] = codes[first % m]
    stayed = np.flatnonzero(state[reached.at] < 0)
    return _Reached(
        np.concatenate([reached.origin[came], reached.origin[stayed]]),
        np.concatenate([place, count + reached.at[stayed]]),
        np.concatenate([reached.p[came] * q[entry], reached.p[stayed]]),
        np.concatenate([labels, reached.labels]),
    )


def _by_truth(design: CodedDesign) -> tuple[Array, Real, Array]:
    """Reports and probabilities of all entries, sorted by truth, and where each truth starts."""
    report, truth, q = entries_of(design)
    starts = np.concatenate([[0], np.cumsum(np.bincount(truth, minlength=design.k))])
    if (np.diff(truth) < 0).any():
        order = np.argsort(truth, kind="stable")
        return report[order], q[order], starts
    return report, q, starts


def expanded(starts: Array, columns: Array) -> tuple[Array, Array]:
    """For each of some columns all its entries: the place of the column in the list, and the entry.

    >>> expanded(np.array([0, 2, 3]), np.array([1, 0]))
    (array([0, 1, 1]), array([2, 0, 1]))
    """
    sizes = starts[columns + 1] - starts[columns]
    if (total := int(sizes.sum())) > ENTRIES:
        raise TooLargeError(
            f"{total:,} probabilities of the key are too many to keep; at most {ENTRIES:,} are",
            hint="protect the keys in blocks (inverse-frequency, optimal), or ask for fewer keys",
        )
    taken = np.repeat(np.arange(len(columns)), sizes)
    offset = starts[columns] - (np.cumsum(sizes) - sizes)
    entry = np.arange(total)
    return taken, entry + np.repeat(offset, sizes) if offset.any() else entry


def _merged(origin: Array, part: Array, p: Real, states: int, parts: int) -> tuple[Array, Real, Array]:
    """Entries sorted by state, those with the same state and part added up: parts, probabilities, starts."""
    order = np.argsort(origin * parts + part, kind="stable")
    key = (origin * parts + part)[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    summed = np.minimum(np.add.reduceat(p[order], first), 1.0)  # a sum of floats may be above one by a rounding
    both = key[first]
    starts = np.searchsorted(both // parts, np.arange(states + 1))
    summed[starts[:-1][np.diff(starts) == 1]] = 1.0  # the only part that a state leads to: it gets there for sure
    return both % parts, summed, starts
