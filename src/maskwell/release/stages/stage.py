"""Stage: one randomization of a release as it is carried out: which columns, over which states, with which design.

A *state* is a combination of labels, first those of the columns within which is randomized (they stay), then
those of the variables that are randomized. The design works on the states; it never leads out of a cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.labels import texts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.fingerprint import canonical_text, fingerprint_of, fingerprint_of_text
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
    def permanent(self) -> Stage:
        """The stage without a second step: what many releases of one kept draw tell in the long run."""
        return self if self.steps is None else replace(self, design=self.steps[0], steps=None)

    @property
    def mass(self) -> Real:
        """What the matrix should keep on average: weights where the invariance is for them, else counts."""
        own = self.weights if self.invariance == "weights" and self.weights is not None else self.counts
        return np.asarray(own, dtype=np.float64)

    @cached_property
    def transitions(self) -> tuple[Array, Array, Real]:
        """All transitions that can happen: released state, true state, probability; refused where they are too many."""
        if isinstance(self.design, Sparse):
            true = np.repeat(np.arange(self.design.k), np.diff(self.design.starts))
            return self.design.rows, true, self.design.values
        released, true = np.nonzero(P := self.design.matrix())
        return released, true, P[released, true]

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
