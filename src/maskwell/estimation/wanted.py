"""What several samples tell: every category, or sums over what they do not tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError

TOLERANCE = 1e-12
_OUTSIDE = 1e-8  # how far a sum may lie from what the reports depend on, as a part of its length


@dataclass(frozen=True, eq=False)
class Wanted:
    """Sums ``C pi`` of the proportions that can be estimated.

    Attributes
    ----------
    C
        Shape (r, k): the identity, or a row of 0 and 1 for each sum.
    categories
        Names of the rows: the categories, or pairs (variable, category).
    rank
        Of the stacked matrices.
    """

    C: Real
    categories: tuple[Hashable, ...]
    rank: int
    flags: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether every category can be told apart."""
        return bool(self.rank == self.C.shape[1])


def wanted_of(designs: Sequence[Design]) -> Wanted:
    """Every category if the stacked matrices have full rank, else the variables of the tuples that they tell."""
    labels = designs[0].inputs.labels
    _, values, directions = np.linalg.svd(np.concatenate([design.matrix() for design in designs]))
    rank = int((values > TOLERANCE * values[0]).sum())
    if rank == len(labels):
        return Wanted(np.eye(rank), tuple(labels), rank)
    told = _told(_sums(labels, _names(designs[0])), directions[rank:])
    if not told:
        raise NotIdentifiableError(
            f"shares cannot be estimated: the samples together have rank {rank} for {len(labels)} categories",
            hint="use designs that differ more between the samples, or more samples",
            null_direction=directions[-1],
        )
    names = tuple(name for variable in told.values() for name in variable)
    C = np.array([row for variable in told.values() for row in variable.values()])
    flag = f"the samples tell {_listed(list(told))} each on its own, not their combinations"
    return Wanted(C, names, rank, (flag,))


Sums = dict[str, dict[tuple[str, Hashable], Real]]
"""For each variable its categories, named (variable, category), as rows of 0 and 1 over the tuples."""


def _sums(labels: Sequence[Hashable], names: Sequence[str]) -> Sums:
    tuples = [label for label in labels if isinstance(label, tuple)]
    if len(tuples) < len(labels) or len({len(label) for label in tuples}) != 1:
        return {}
    shown = [names[v] if v < len(names) else f"variable {v + 1}" for v in range(len(tuples[0]))]
    return {
        name: {(name, a): _indicator([label[v] for label in tuples], a) for a in dict.fromkeys(t[v] for t in tuples)}
        for v, name in enumerate(shown)
    }


def _indicator(parts: Sequence[Hashable], category: Hashable) -> Real:
    return np.array([1.0 if part == category else 0.0 for part in parts])


def _told(sums: Sums, unseen: Real) -> Sums:
    """Variables all of whose categories are orthogonal to what the reports cannot show."""
    return {
        name: rows
        for name, rows in sums.items()
        if all(np.abs(unseen @ row).max() <= _OUTSIDE * np.linalg.norm(row) for row in rows.values())
    }


def _names(design: Design) -> tuple[str, ...]:
    return tuple(map(str, design.provenance.get("variables", ())))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
