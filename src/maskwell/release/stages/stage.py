"""Stage: one randomization of a release as it is carried out: which columns, over which states, with which design.

A *state* is a combination of labels, first those of the columns within which is randomized (they stay), then those of
the variables that are randomized. The design works on the states; it never leads out of a cell.

What a stage achieves is measured in the terms of the bounds that can be asked of it. With flows ``f_ij = p_ij N_j``
from true state j to released state i, and their sums ``f_i`` over the truths of a cell: on the matrix as it is drawn
from, with the counts of the file. Whoever looks at a released record sees one of these records, so they count alike,
also where the matrix keeps sums of weights.

Source: the conditions of :class:`~maskwell.release.matrices.bounds.Bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.documents import canonical_text, fingerprint_of, fingerprint_of_text
from maskwell.core.labels import texts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Transitions
from maskwell.designs.sparse import Sparse

_STRETCH = 1 << 14


def state_categories(labels: Sequence[tuple[Hashable, ...]]) -> Categories:
    """States as the categories of a design: the label itself where there is one column, a word for a missing value.

    >>> state_categories([("a",), (None,)]).labels
    ('a', 'missing')
    """
    taken = {part for label in labels for part in label}
    word = next(word for word in ("missing", "(missing)", "((missing))") if word not in taken)
    named = [tuple(word if part is None else part for part in label) for label in labels]
    return Categories.of([label[0] if len(label) == 1 else label for label in named])


@dataclass(frozen=True, eq=False, kw_only=True)
class Stage:
    """One randomization of a release.

    Attributes
    ----------
    variables, within
        Columns that are randomized together, and columns whose combinations (cells) each have a matrix of their own.
        A column of ``within`` that an earlier stage randomized counts with its released value.
    linked
        Columns that follow from the variables, with their labels: ``{column: {labels of the variables: label}}``.
    states
        Labels of each state, those of ``within`` first, in the order of ``within`` and ``variables``.
    design
        The matrix over the states: state j of the truth becomes report i, whose labels are ``outputs[i]``.
    counts, weights, squares
        Shape (k,): records of the original file in each state, and the sums of their weights and squared weights.
    cells
        Shape (k,): the number of the cell of ``within`` that each state lies in.
    method
        How the matrix was made: ``"method1"``, ``"optimal"``, ...
    invariance
        What the matrix keeps on average: ``"counts"``, ``"weights"``, ``"external"`` counts, or ``"none"``.
    derived
        Whether the matrix was worked out from the file, so that publishing it would publish counts.
    notes
        What a reader of the report should know, in words.
    steps
        Where the report is randomized once more, the two designs one after the other: a draw of the first may be kept
        across releases, that of the second is new in each. ``design`` is their product, and all that users need.
    """

    variables: tuple[str, ...]
    within: tuple[str, ...] = ()
    linked: Mapping[str, Mapping[tuple[Hashable, ...], Hashable]] = field(default_factory=dict)
    states: Sequence[tuple[Hashable, ...]]
    outputs: Sequence[tuple[Hashable, ...]]
    design: CodedDesign
    counts: Array
    weights: Real | None = None
    squares: Real | None = None
    cells: Array
    method: str
    invariance: str
    derived: bool
    notes: tuple[str, ...] = ()
    steps: tuple[CodedDesign, CodedDesign] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that tell the state: within, then variables."""
        return (*self.within, *self.variables)

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns whose values it can change: the variables, and those that follow from them."""
        return (*self.variables, *self.linked)

    @property
    def exchanges(self) -> bool:
        """Whether records are exchanged, so that every count stays exactly the same: a swap."""
        return self.method == "swap"

    @property
    def permanent(self) -> Stage:
        """The stage without a second step: what many releases of one kept draw tell in the long run."""
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

    @cached_property
    def own(self) -> Array:
        """The released state that is the same as each true one, -1 where there is none."""
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
        """Names what a kept draw depends on: the columns, the labels of all states in order, and the exact matrix.

        Labels count by their text, so that 7 in one file and "7" in another are one label; a missing value is none.
        States are told apart by their place, so two labels with one text do not become one.
        """
        head: dict[str, Any] = {"maskwell": "stage", "version": 1, "variables": self.variables, "within": self.within}
        outputs = "states" if [*self.outputs] == [*self.states] else "others"
        labels = [self.states] if outputs == "states" else [self.states, self.outputs]
        first: list[Any] = [{**head, "outputs": outputs}, _exact(self.permanent.design)]
        parts = chain(first, *map(_label_texts, labels))
        return fingerprint_of_text(canonical_text(part) + "\n" for part in parts)

    def expected_changed(self, variable: str | None = None) -> float:
        """Share of the records that are expected to change, in one of the variables or in any of them."""
        n = int(self.counts.sum())
        if not n:
            return 0.0
        released, true, p = self.transitions
        differs = released != self.own[true]
        if variable is not None:
            place = self.columns.index(variable)
            seen: dict[Hashable, int] = {}
            before = np.array([seen.setdefault(label[place], len(seen)) for label in self.states])
            after = np.array([seen.setdefault(label[place], len(seen)) for label in self.outputs])
            differs = after[released] != before[true]
        return float((p * self.counts[true])[differs].sum() / n)

    def max_posterior(self) -> float:
        """The largest chance of any true state, given a released one: ``max p_ij N_j / sum_l p_il N_l``."""
        released, true, p = self.transitions
        flows = p * self.counts[true]
        totals = np.bincount(released, flows, minlength=len(self.outputs))
        some = flows > 0
        return float((flows[some] / totals[released[some]]).max(initial=0.0))


class Randomization(Protocol):
    """Columns that are randomized together: a protection of a plan, a stage, or a group of a receipt."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Columns that are randomized."""

    @property
    def within(self) -> tuple[str, ...]:
        """Columns within whose cells they are."""

    @property
    def linked(self) -> Collection[str]:
        """Columns that follow the variables."""


R = TypeVar("R", bound=Randomization)


def moved_by(step: Randomization) -> tuple[str, ...]:
    """Columns whose values may have changed."""
    return (*step.variables, *step.linked)


def cells_of(step: Randomization) -> tuple[str, ...]:
    """Columns that tell the states."""
    return (*step.within, *step.variables)


def acting(steps: Sequence[R], columns: Iterable[str]) -> tuple[R, ...]:
    """The randomizations that matter for some released columns, in order: those that move one, and those they build on.

    >>> from maskwell.release.folder.receipt import Group
    >>> town = Group(variables=("town",), within=(), linked=(), method="pram", invariance="counts")
    >>> roof = Group(variables=("roof",), within=("town",), linked=(), method="pram", invariance="counts")
    >>> len(acting([town, roof], ["roof"])), len(acting([town, roof], ["town"]))   # roofs move within released towns
    (2, 1)
    """
    needed, chosen = {*columns}, list[R]()
    for step in reversed(steps):
        if needed & {*moved_by(step)}:
            chosen.append(step)
            needed |= {*cells_of(step)}
    return tuple(chosen[::-1])


def needed_columns(steps: Sequence[Randomization], columns: Iterable[str]) -> tuple[str, ...]:
    """Columns of the file that must be counted together to know what is released of some: first these themselves.

    >>> from maskwell.release.folder.receipt import Group
    >>> roof = Group(variables=("roof",), within=("town",), linked=(), method="pram", invariance="counts")
    >>> needed_columns([roof], ["roof", "sex"])   # how a roof is randomized depends on the town
    ('roof', 'sex', 'town')
    """
    asked = (*columns,)
    names = [name for step in acting(steps, asked) for name in cells_of(step)]
    return tuple(dict.fromkeys([*asked, *names]))


def _exact(design: CodedDesign) -> str:
    """Names the matrix as it is drawn from, whatever its labels: they stand beside it as states."""
    if isinstance(design, Sparse):  # in stretches: there may be a million states
        return design.with_labels(Categories.numbered(design.k), Categories.numbered(design.m)).fingerprint
    return fingerprint_of({"kind": design.kind, "k": design.k, "m": design.m, "exact": design.exact_form()})


def _label_texts(labels: Sequence[tuple[Hashable, ...]]) -> Iterator[list[list[str | None]]]:
    """How many labels there are, and their texts in stretches."""
    yield [[str(len(labels))]]
    text = lru_cache(None, typed=True)(lambda one: None if one is None else texts(one)[-1])
    for start in range(0, len(labels), _STRETCH):
        yield [[one if type(one) is str else text(one) for one in label] for label in labels[start : start + _STRETCH]]


SLACK = 1e-9
AT_LEAST = ("least_kept", "changed_at_least")


def achieved(stage: Stage, bound: str) -> float | None:
    """The value that a stage reaches for one of the bounds by its name; ``None`` for one that is about whole files.

    >>> from maskwell.designs import Dense
    >>> stage = Stage(variables=("roof",), states=[("tile",), ("thatch",)], outputs=[("tile",), ("thatch",)],
    ...     design=Dense.of([["3/4", "1/2"], ["1/4", "1/2"]]), counts=np.array([20, 10]), cells=np.zeros(2, dtype=int),
    ...     method="method1", invariance="counts", derived=True)
    >>> achieved(stage, "posterior_own"), achieved(stage, "least_kept")   # a released tile is true with 75 %
    (0.75, 0.5)
    """
    measure = _MEASURES.get(bound)
    return None if measure is None else measure(stage)


def bound_is_kept(bound: str, asked: float, value: float) -> bool:
    """Whether a value keeps to what was asked, up to what floats cannot tell.

    >>> bound_is_kept("least_kept", 0.5, 0.6), bound_is_kept("posterior", 0.5, 0.6)
    (True, False)
    """
    slack = SLACK * max(1.0, asked)
    return value >= asked - slack if bound in AT_LEAST else value <= asked + slack


def _occurring_flows(stage: Stage) -> tuple[Array, Array, Real, Real]:
    """Released state, true state and flow of each transition of records that are there, and the sums by release."""
    released, true, p = stage.transitions
    flow = p * stage.counts[true]
    some = flow > 0
    released, true, flow = released[some], true[some], flow[some]
    sums = np.bincount(released, flow, minlength=len(stage.outputs))
    return released, true, flow, np.asarray(sums, dtype=np.float64)


def _posterior(stage: Stage) -> float:
    released, _, flow, sums = _occurring_flows(stage)
    return float((flow / sums[released]).max(initial=0.0))


def own_posteriors(stage: Stage) -> Real:
    """Shape (k,): the chance that a record released with a state has it in truth; 0 where none is."""
    released, true, flow, sums = _occurring_flows(stage)
    places = {state: i for i, state in enumerate(stage.outputs)}
    output_places = np.array([places.get(state, -1) for state in stage.states], dtype=np.int64)
    same = released == output_places[true]
    posteriors = np.zeros(len(stage.states))
    posteriors[true[same]] = (flow / sums[released])[same]
    return posteriors


def _posterior_own(stage: Stage) -> float:
    return float(own_posteriors(stage).max(initial=0.0))


def _odds(stage: Stage) -> float:
    posterior = _posterior_own(stage)
    return posterior / (1 - posterior) if posterior < 1 else np.inf


def guessed(stage: Stage) -> float:
    """Share of all records whose true state is the best guess from the released one."""
    released, _, flow, sums = _occurring_flows(stage)
    best = np.zeros(len(sums))
    np.maximum.at(best, released, flow)
    return float(best.sum() / sums.sum()) if sums.sum() else 0.0


def _guess(stage: Stage) -> float:
    """The same in the cell where it is largest: the bound is asked of every cell."""
    released, true, flow, sums = _occurring_flows(stage)
    best, cell = np.zeros(len(sums)), np.zeros(len(sums), dtype=np.int64)
    np.maximum.at(best, released, flow)
    cell[released] = stage.cells[true]
    right, records = (np.bincount(cell, values) for values in (best, sums))
    return float((right[records > 0] / records[records > 0]).max(initial=0.0))


def _least_kept(stage: Stage) -> float:
    return float(stage.keeps[stage.counts > 0].min(initial=1.0))


def _factor(stage: Stage) -> float:
    """How much likelier or less likely a released value makes a truth, within its cell."""
    released, true, p = stage.transitions
    sums = np.bincount(released, p * stage.counts[true], minlength=len(stage.outputs))
    there = stage.counts[true] > 0
    totals = np.bincount(stage.cells, stage.counts)
    ratio = (p * totals[stage.cells[true]])[there] / sums[released[there]]
    rows = np.bincount(released[there], minlength=len(stage.outputs))
    return _whole(stage, released[there], true[there], rows) * float(np.maximum(ratio, 1 / ratio).max(initial=1.0))


def _parity(stage: Stage) -> float:
    """The largest ratio of two chances of one released value, within its cell."""
    released, true, p = stage.transitions
    there = stage.counts[true] > 0
    released, true, p = released[there], true[there], p[there]
    least, most = np.full(len(stage.outputs), np.inf), np.zeros(len(stage.outputs))
    np.minimum.at(least, released, p)
    np.maximum.at(most, released, p)
    rows = np.bincount(released, minlength=len(stage.outputs))
    some = rows > 0
    return _whole(stage, released, true, rows) * float((most[some] / least[some]).max(initial=1.0))


def _whole(stage: Stage, released: Array, true: Array, rows: Array) -> float:
    """One where each released value can come from every truth of its cell, else infinite: a zero rules truths out."""
    sizes = np.bincount(stage.cells[stage.counts > 0], minlength=int(stage.cells.max(initial=0)) + 1)
    cell = np.zeros(len(rows), dtype=np.int64)
    cell[released] = stage.cells[true]
    some = rows > 0
    return 1.0 if (rows[some] == sizes[cell[some]]).all() else np.inf


_MEASURES: dict[str, Callable[[Stage], float]] = {
    "posterior": _posterior,
    "posterior_own": _posterior_own,
    "odds": _odds,
    "guess": _guess,
    "factor": _factor,
    "parity": _parity,
    "least_kept": _least_kept,
    "changed_at_most": Stage.expected_changed,
    "changed_at_least": Stage.expected_changed,
}
