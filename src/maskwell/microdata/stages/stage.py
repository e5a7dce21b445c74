"""Stage: one randomization of a release as it is carried out, and what becomes of tables in all of them.

A *state* is a combination of labels, first of the columns within which is randomized (they stay), then of the
variables.

*Kept tables*: a table is kept where every group that moves one of its columns has all of them; where such a group
worked within columns that an earlier one had moved, the earlier one must keep all columns of the later. So groups are
followed from the last to the first. Source: [Adeshiyan2011, Theorems 4.1, 4.2]; for groups of any number derived.

*Tables pushed through stages*: one with the matrix P turns the table M (columns: its states) into ``M P'``; what is
no state stays. Where every cell keeps its number as one more column, the table becomes the matrix of all stages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, combinations
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.cells import CellTable
from maskwell.core.documents import canonical_text, fingerprint_of, fingerprint_of_text
from maskwell.core.groups import KeyFinder, distinct_rows, joint_keys
from maskwell.core.labels import texts
from maskwell.core.verdicts import at_least
from maskwell.designs.coded import ENTRY_LIMIT, CodedDesign
from maskwell.designs.column_arrays import Transitions
from maskwell.designs.sparse import Sparse

State = tuple[Hashable, ...]
_STRETCH = 1 << 14


def state_categories(labels: Sequence[State]) -> Categories:
    """States as the categories of a design: the label itself where there is one column, a word for a missing value."""
    taken = {part for label in labels for part in label}
    word = next(word for word in ("missing", "(missing)", "((missing))") if word not in taken)
    lost = None in taken
    named = [tuple(word if part is None else part for part in label) for label in labels] if lost else labels
    return Categories.of([label[0] if len(label) == 1 else label for label in named])


class Randomization:
    """Columns that are randomized together: a protection of a plan, a stage, or a group of a receipt."""

    variables: tuple[str, ...]
    within: tuple[str, ...]
    linked: Collection[str]  # Columns that follow from the variables

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that determine the state: within, then variables."""
        return (*self.within, *self.variables)

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns whose values it can change: the variables, and those that follow from them."""
        return (*self.variables, *self.linked)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomizedColumns(Randomization):
    """Columns randomized together, over states: a :class:`Stage`, or what a receipt holds; numbers labels as met."""

    # Columns that are randomized together, columns whose combinations (cells) each have a matrix of their own (one that
    # an earlier stage randomized counts with its released value), and columns that follow from the variables
    variables: tuple[str, ...]
    within: tuple[str, ...] = ()
    linked: Collection[str] = ()
    # Labels of each true and of each released state, those of within first, then those of variables
    states: Sequence[State]
    outputs: Sequence[State]
    # The matrix over the states: state j of the truth becomes report i, whose labels are outputs[i]
    design: CodedDesign | None
    method: str
    invariance: str  # What the matrix keeps on average: "counts", "weights", "external" counts, or "none"

    @property
    def invariant(self) -> bool:
        """Whether the matrix by itself keeps counts, or weighted counts, on average."""
        return self.invariance in ("counts", "weights")

    def _linked_labels(self) -> dict[str, list[Hashable]]:
        """The labels of columns that follow, of each released state, where they are known."""
        return {}

    @cached_property
    def _numbered(self) -> tuple[dict[str, list[Hashable]], dict[str, Array], dict[str, Array]]:
        linked = self._linked_labels()
        codes: dict[str, dict[Hashable, int]] = {name: {} for name in (*self.columns, *linked)}

        def numbers(name: str, labels: Iterable[Hashable]) -> Array:
            places = codes[name]
            return np.fromiter((places.setdefault(label, len(places)) for label in labels), dtype=np.int64)

        def all_numbers(states: Sequence[State]) -> dict[str, Array]:
            parts = (map(itemgetter(place), states) for place in range(len(self.columns)))
            return {name: numbers(name, labels) for name, labels in zip(self.columns, parts, strict=True)}

        before = all_numbers(self.states)
        after = dict(before) if self.outputs is self.states else all_numbers(self.outputs)
        after |= {name: numbers(name, labels) for name, labels in linked.items()}
        return {name: [*places] for name, places in codes.items()}, before, after

    @property
    def levels(self) -> dict[str, list[Hashable]]:
        """Labels of each column that it reads or changes: what the codes mean."""
        return self._numbered[0]

    @property
    def state_codes(self) -> dict[str, Array]:
        """Codes of the true states, by column."""
        return self._numbered[1]

    @property
    def output_codes(self) -> dict[str, Array]:
        """Codes of the released states, by column, also of those that follow where their labels are known."""
        return self._numbered[2]

    @property
    def changed(self) -> set[str]:
        """Columns whose released values it determines, and not only keeps."""
        return {name for name in self.output_codes if name not in self.within}

    @cached_property
    def entries(self) -> Transitions:
        """What can happen to its states, for tables that are pushed through it."""
        assert self.design is not None
        return self.design.transitions(limit=ENTRY_LIMIT)

    @cached_property
    def _finder(self) -> KeyFinder:
        return KeyFinder(self._keys([self.state_codes[name] for name in self.columns]))

    def _keys(self, codes: Sequence[Array]) -> Array:
        return joint_keys(codes, [len(self.levels[name]) for name in self.columns], len(codes[0]))

    def find(self, labels: Mapping[str, Sequence[Hashable]], codes: Mapping[str, Array]) -> Array:
        """The state of each cell of a table whose columns have other codes for their labels; -1 where there is none."""
        places = {name: {label: code for code, label in enumerate(self.levels[name])} for name in self.columns}
        mine = [
            np.array([places[name].get(label, -1) for label in labels[name]], dtype=np.int64)[codes[name]]
            for name in self.columns
        ]
        known = np.logical_and.reduce([column >= 0 for column in mine])
        return np.where(known, self._finder.find(self._keys([np.maximum(column, 0) for column in mine])), -1)

    def transition_count(self, states: Array) -> int:
        """How many transitions cells in these states have together; none where a cell has no state."""
        reached = np.bincount(self.entries.truths, minlength=len(self.states))
        return int(reached[states[states >= 0]].sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Stage(RandomizedColumns):
    """One randomization of a release. Reading the plan makes it; risk, utility and rows use the same value."""

    # Columns that follow from the variables, with their labels: {column: {labels of the variables: label}}
    linked: Mapping[str, Mapping[State, Hashable]] = field(default_factory=dict)
    design: CodedDesign
    # Shape (k,): records of the original file in each state, and the sums of their weights and squared weights
    counts: Array
    weights: Real | None = None
    squares: Real | None = None
    cells: Array  # Shape (k,): the number of the cell of within that each state lies in
    derived: bool  # Whether the matrix was worked out from the file, so that publishing it would publish counts
    notes: tuple[str, ...] = ()  # What a reader of the report should know, in words
    # Where the report is randomized once more, the two designs one after the other: a draw of the first may be kept
    # across releases, that of the second is new in each. design is their product, and all that users need
    steps: tuple[CodedDesign, CodedDesign] | None = None
    # Where all records of a unit, such as a household, have one draw, the column that names the units, and for each
    # state how many records a unit has there, shape (k,); else None
    unit: str | None = None
    sizes: Array | None = None
    # Where an earlier release is carried on with columns of its matrix, for each state the fingerprint under which its
    # draws are kept: that of the release that its column is from, or None for this one's own
    kept_as: tuple[str | None, ...] | None = None

    @property
    def draw_counts(self) -> Array:
        """Shape (k,): independent draws for each state, one for each record or for each unit."""
        return self.counts if self.sizes is None else self.counts // self.sizes

    def _linked_labels(self) -> dict[str, list[Hashable]]:
        first = len(self.within)
        return {name: [follows.get(output[first:]) for output in self.outputs] for name, follows in self.linked.items()}

    @property
    def exchanges(self) -> bool:
        """Whether records are exchanged, so that every count stays exactly the same: a swap."""
        return self.method == "swap"

    @property
    def permanent(self) -> Stage:
        """The stage without a second step: what many releases of one kept draw reveal in the long run."""
        return self if self.steps is None else replace(self, design=self.steps[0], steps=None)

    @property
    def mass(self) -> Real:
        """What the matrix should keep on average: weights where the invariance is for them, else counts."""
        amounts = self.weights if self.invariance == "weights" and self.weights is not None else self.counts
        return np.asarray(amounts, dtype=np.float64)

    @cached_property
    def transitions(self) -> Transitions:
        """All transitions that can happen: released state, true state, probability; refused where they are too many."""
        return self.design.transitions()

    @property
    def entries(self) -> Transitions:
        """The same, which is not kept twice where it is listed anyway."""
        return self.transitions if isinstance(self.design, Sparse) else super().entries

    @cached_property
    def own(self) -> Array:
        """The released state that is the same as each true one, -1 where there is none."""
        if self.outputs is self.states:
            return np.arange(len(self.states))
        places = {label: i for i, label in enumerate(self.outputs)}
        return np.array([places.get(label, -1) for label in self.states], dtype=np.int64)

    @cached_property
    def keeps(self) -> Real:
        """Shape (k,): chance that a record of each state keeps all its labels."""
        released, true, p = self.transitions
        kept = np.zeros(len(self.states))
        same = released == self.own[true]
        kept[true[same]] = p[same]
        return kept

    @cached_property
    def fingerprint(self) -> str:
        """Names what a kept draw depends on: columns, the texts of all labels in order, and the exact matrix."""
        head: dict[str, Any] = {"maskwell": "stage", "version": 1, "variables": self.variables, "within": self.within}
        head |= {} if self.unit is None else {"unit": self.unit}
        head |= {} if self.kept_as is None else {"kept as": self.kept_as}
        outputs = "states" if [*self.outputs] == [*self.states] else "others"
        labels = [self.states] if outputs == "states" else [self.states, self.outputs]
        first: list[Any] = [{**head, "outputs": outputs}, _exact(self.permanent.design)]
        parts = chain(first, *map(_label_texts, labels))
        return fingerprint_of_text(canonical_text(part) + "\n" for part in parts)

    def drawn_as(self, state: int) -> str:
        """The fingerprint under which the draws of a state are kept."""
        return (None if self.kept_as is None else self.kept_as[state]) or self.fingerprint

    def expected_changed(self, variable: str | None = None) -> float:
        """Share of the records that are expected to change, in one of the variables or in any of them."""
        n = int(self.counts.sum())
        if not n:
            return 0.0
        released, true, p = self.transitions
        differs = released != self.own[true]
        if variable is not None:
            differs = self.output_codes[variable][released] != self.state_codes[variable][true]
        return float((p * self.counts[true])[differs].sum() / n)

    def max_posterior(self) -> float:
        """The largest chance of any true state, given a released one: ``max p_ij N_j / sum_l p_il N_l``."""
        released, _, flow, sums = self.occurring_flows()
        return float((flow / sums[released]).max(initial=0.0))

    def occurring_flows(self) -> tuple[Array, Array, Real, Real]:
        """Released state, true state and flow of each transition of records that are there, and the sums by release."""
        released, true, p = self.transitions
        flow = p * self.counts[true]
        some = flow > 0
        if not some.all():
            released, true, flow = released[some], true[some], flow[some]
        sums = np.bincount(released, flow, minlength=len(self.outputs))
        return released, true, flow, np.asarray(sums, dtype=np.float64)


# Steps to which the expected share of changed records is rounded, the finest that reveals less than the file does.
SHARE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)


def share_step(rows: int) -> float | None:
    """The step to which a share of n records is rounded, ``step / sqrt(12) >= 1 / (2 sqrt(n))``; None for few."""
    return next((step for step in SHARE_STEPS if at_least(step * math.sqrt(rows), math.sqrt(3))), None)


R = TypeVar("R", bound=Randomization)


def acting(steps: Sequence[R], columns: Iterable[str]) -> tuple[R, ...]:
    """The randomizations that matter for some released columns, in order: that move one, or that such ones build on."""
    needed, chosen = {*columns}, list[R]()
    for step in reversed(steps):
        if needed & {*step.moved}:
            chosen.append(step)
            needed |= {*step.columns}
    return tuple(chosen[::-1])


def needed_columns(steps: Sequence[Randomization], columns: Iterable[str]) -> tuple[str, ...]:
    """Columns of the file that must be counted together to know what is released of some: first these themselves."""
    asked = (*columns,)
    names = [name for step in acting(steps, asked) for name in step.columns]
    return tuple(dict.fromkeys([*asked, *names]))


def _exact(design: CodedDesign) -> str:
    """Names the matrix as it is drawn from, whatever its labels: they are stored beside it as states."""
    if isinstance(design, Sparse):  # in stretches: there may be a million states
        return design.with_labels(Categories.numbered(design.k), Categories.numbered(design.m)).fingerprint
    return fingerprint_of({"kind": design.kind, "k": design.k, "m": design.m, "exact": design.exact_form()})


def _label_texts(labels: Sequence[State]) -> Iterator[list[list[str | None]]]:
    """How many labels there are, and their texts in stretches."""
    yield [[str(len(labels))]]
    text = lru_cache(None, typed=True)(lambda one: None if one is None else texts(one)[-1])
    for start in range(0, len(labels), _STRETCH):
        yield [[one if type(one) is str else text(one) for one in label] for label in labels[start : start + _STRETCH]]


def is_kept(groups: Sequence[RandomizedColumns], columns: Collection[str]) -> bool:
    """Whether the counts of a table are unbiased as they stand, after all groups; only those that matter are asked."""
    needed = {*columns}
    kinds = set()
    for group in reversed(groups):
        if needed & {*group.moved}:
            if not group.invariant or not needed <= {*group.columns, *group.linked}:
                return False
            needed = {*group.columns}
            kinds.add(group.invariance)
    return len(kinds) < 2


def unchanged_columns(groups: Sequence[RandomizedColumns], columns: Collection[str]) -> tuple[str, ...]:
    """Further columns that stay as they are, and within which some of these are randomized."""
    moved = {name for group in groups for name in group.moved}
    return tuple(name for name in needed_columns(groups, columns) if name not in moved and name not in columns)


def kept_columns(groups: Sequence[RandomizedColumns], group: RandomizedColumns) -> list[str]:
    """The columns of a group in a table that are kept: all, those that no other moves, its variables, or the most."""
    moved = {name for other in groups if other is not group for name in other.moved}
    own, variables = [*group.columns, *group.linked], {*group.moved}
    likely: list[list[str]] = [own, [name for name in own if name not in moved], [*group.moved]]
    others: Iterator[list[str]] = ([*names] for size in range(len(own) - 1, 0, -1) for names in combinations(own, size))
    tables = chain(likely, others if len(own) <= MOST_COLUMNS else ())
    return next((names for names in tables if variables & {*names} and is_kept(groups, names)), [])


MOST_COLUMNS = 12  # Among the columns of a larger group only the likely tables are looked for


def expected_table(stages: Sequence[Stage], table: CellTable, columns: Sequence[str]) -> CellTable:
    """The expected counts of these columns in the released file, from a table that has all that are needed."""
    flow = TableFlow.of(table, needed_columns(stages, columns))
    return flow.after(stages, columns).table(tuple(columns))


# Asked before a stage with the state of each cell: raises where the stage is not to be carried out.
Check = Callable[[RandomizedColumns, Array], None]


@dataclass(frozen=True, eq=False)
class TableFlow:
    """Cells on their way through stages."""

    # Codes of the cells by column, each of shape (cells,), and the labels behind the codes
    codes: dict[str, Array]
    labels: dict[str, list[Hashable]]
    mass: Real  # Shape (cells,): expected records
    # Shape (cells,): a number that stays with the mass wherever it goes, such as that of a true cell; None where nobody
    # asks
    origin: Array | None = None

    @classmethod
    def of(cls, table: CellTable, columns: Sequence[str]) -> TableFlow:
        """The records of a table, in some of its columns."""
        part = table.project(columns)
        codes = {name: part.codes[:, i].astype(np.int64) for i, name in enumerate(columns)}
        return cls(codes, {name: [*part.levels[i]] for i, name in enumerate(columns)}, part.counts.astype(np.float64))

    @classmethod
    def from_labels(cls, columns: Sequence[str], cells: Sequence[State]) -> TableFlow:
        """Cells by their labels, one record in each."""
        labels: dict[str, list[Hashable]] = {name: [] for name in columns}
        parts = [*zip(*cells, strict=True)] or [()] * len(columns)
        codes = {name: _extended(labels[name], part) for name, part in zip(columns, parts, strict=True)}
        return cls(codes, labels, np.ones(len(cells)))

    def one_by_one(self) -> TableFlow:
        """The same cells with a mass of one each that keeps the number of its cell."""
        return replace(self, mass=np.ones(len(self.mass)), origin=np.arange(len(self.mass)))

    def after(
        self, stages: Sequence[RandomizedColumns], columns: Sequence[str], check: Check | None = None
    ) -> TableFlow:
        """After all stages that change what is released of some columns; further columns are dropped on the way."""
        flow = self
        for place, stage in enumerate(stages):
            needed = needed_columns(stages[place + 1 :], columns)
            if stage.changed & {*needed}:
                flow = flow.through(stage, needed, check)
        return flow

    def through(self, stage: RandomizedColumns, needed: Sequence[str], check: Check | None = None) -> TableFlow:
        """After one stage, in the columns that are still needed; cells that it does not know stay as they are."""
        state = stage.find(self.labels, self.codes)
        if check is not None:
            check(stage, state)
        inside = state >= 0
        still = [name for name in needed if name not in stage.changed]
        moved = [name for name in needed if name in stage.changed]
        own = [] if self.origin is None else [self.origin]
        groups, of_cell = distinct_rows(
            [column[inside] for column in (*own, *(self.codes[name] for name in still))], int(inside.sum())
        )
        targets, of_output = distinct_rows([stage.output_codes[name] for name in moved], len(stage.outputs))
        arrived = self._product(stage, state, (of_cell, len(groups)), (of_output, len(targets)))
        labels = {name: [*self.labels[name]] for name in needed}
        codes = {name: groups[arrived.row, len(own) + i] for i, name in enumerate(still)}
        for i, name in enumerate(moved):
            met = [stage.levels[name][code] for code in targets[:, i]]
            codes[name] = _extended(labels[name], met)[arrived.col]
        return TableFlow(
            {name: np.concatenate([codes[name], self.codes[name][~inside]]) for name in needed},
            labels,
            np.concatenate([arrived.data, self.mass[~inside]]),
            None if self.origin is None else np.concatenate([groups[arrived.row, 0], self.origin[~inside]]),
        )

    def _product(
        self, stage: RandomizedColumns, state: Array, rows: tuple[Array, int], columns: tuple[Array, int]
    ) -> Any:
        """``M P'`` with the rows of P added up to what is needed of the released states."""
        from scipy.sparse import coo_array, csr_array

        (of_cell, groups), (of_output, targets) = rows, columns
        inside, k = state >= 0, len(stage.states)
        M = csr_array(coo_array((self.mass[inside], (of_cell, state[inside])), shape=(groups, k)))
        reports, truths, p = stage.entries
        P = csr_array(coo_array((p, (of_output[reports], truths)), shape=(targets, k)))
        return coo_array(M @ P.T)

    def cells(self, columns: Sequence[str]) -> list[State]:
        """The labels of each cell."""
        return [*zip(*(map(self.labels[name].__getitem__, self.codes[name].tolist()) for name in columns), strict=True)]

    def table(self, columns: tuple[str, ...]) -> CellTable:
        """As a table of cells."""
        cells, of_cell = distinct_rows([self.codes[name] for name in columns], len(self.mass))
        counts = np.bincount(of_cell, self.mass, minlength=len(cells))
        return CellTable(columns, tuple(tuple(self.labels[name]) for name in columns), cells, counts)


def _extended(labels: list[Hashable], met: Sequence[Hashable]) -> Array:
    """Codes of labels that were met; those that are new are added to the labels."""
    places = {label: code for code, label in enumerate(labels)}
    codes = np.array([places.setdefault(label, len(places)) for label in met], dtype=np.int64)
    labels[:] = [*places]
    return codes
