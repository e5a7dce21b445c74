"""Stage: one randomization of a release as it is carried out: which columns, over which states, with which design.

A *state* is a combination of labels, first those of the columns within which is randomized (they stay), then
those of the variables that are randomized. The design works on the states; it never leads out of a cell.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.coded import CodedDesign


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

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that tell the state: within, then variables."""
        return (*self.within, *self.variables)

    @property
    def mass(self) -> Real:
        """What the matrix should keep on average: weights where the invariance is for them, else counts."""
        own = self.weights if self.invariance == "weights" and self.weights is not None else self.counts
        return np.asarray(own, dtype=np.float64)

    @property
    def keeps(self) -> Real:
        """Shape (k,): chance that a record of each state keeps all its labels."""
        places = {label: i for i, label in enumerate(self.outputs)}
        own = np.array([places.get(label, -1) for label in self.states])
        return np.array(
            [self.design.entries(own[[j]], np.array([j]))[0, 0] if own[j] >= 0 else 0.0 for j in range(len(own))]
        )

    def expected_changed(self) -> float:
        """Share of the records that are expected to change."""
        n = self.counts.sum()
        return float(1 - (self.keeps * self.counts).sum() / n) if n else 0.0
