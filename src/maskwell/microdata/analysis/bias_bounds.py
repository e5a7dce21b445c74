"""At most how wrong a table is that randomization does not keep, from what is public (docs/theory/after-release.md).

A group that is expected to change a share d of the records changes a share by d on average, or by half of it where it
keeps the counts of its columns. Bounds add up. With weights, the records that changed may have been the heaviest ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.cells import CellTable
from maskwell.core.verdicts import at_most, below
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.microdata.stages.stage import acting, is_kept
from maskwell.notes import Note

if TYPE_CHECKING:
    from maskwell.microdata.folder.receipt import Group, ShareErrors

COUNTS, WEIGHTS = "counts", "weights"


@dataclass(frozen=True)
class Move:
    """At most what one group did to a table."""

    group: Group  # The group
    changed: float  # At most the share of the records whose values it is expected to have changed
    keeps: str | None  # What it keeps of the table of its own columns on average: "counts", "weights", or None
    alone: bool  # Whether it has all columns of the table

    def bias(self, weights: Weights) -> float:
        """At most how far it moved the share of a cell on average."""
        if self.keeps == weights.measure:
            return 0.0 if self.alone else weights.heaviest(self.changed) / 2
        return weights.heaviest(self.changed / 2 if self.keeps == COUNTS else self.changed)


def moves_of(groups: Sequence[Group], columns: Sequence[str]) -> tuple[Move, ...]:
    """What the groups that move some of the columns did at most, in the order in which they were carried out."""
    changed: list[float] = []
    moves = []
    for place, group in enumerate(groups):
        before = groups[:place]
        met = [share for share, other in zip(changed, before, strict=True) if {*other.moved} & {*group.columns}]
        changed.append(min(1.0, group.most_changed + (0.0 if _keep(before, group.columns, COUNTS) else sum(met))))
        if {*group.moved} & {*columns}:
            kept = [kind for kind in (COUNTS, WEIGHTS) if _keep(groups[: place + 1], group.columns, kind)]
            alone = {*columns} <= {*group.columns, *group.linked}
            moves.append(Move(group, changed[-1], kept[0] if kept else None, alone))
    return tuple(moves)


def _keep(groups: Sequence[Group], columns: Sequence[str], kind: str) -> bool:
    return is_kept(groups, columns) and all(group.invariance == kind for group in acting(groups, columns))


@dataclass(frozen=True, eq=False)
class Weights:
    """How weight is spread over records: what the heaviest of them have together."""

    # What a share is a share of: "counts", "weights" where they are those of the receipt, or "other weights"
    measure: str
    # The weights that occur, the heaviest first, and how many records have each; empty where all are alike
    values: Real
    counts: Real
    # The coefficient of variation of the weights, where the weights themselves are too many to be listed
    variation: float | None = None
    total: float = 0.0  # The sum of all weights; 0 where all are alike

    @classmethod
    def alike(cls) -> Weights:
        """Every record counts as one."""
        return cls(COUNTS, np.zeros(0), np.zeros(0))

    @classmethod
    def of(cls, table: CellTable, measure: str) -> Weights:
        """From a table whose column is that of the weights, or from any other: then by the variation of the weights."""
        assert table.weights is not None and table.squares is not None
        counts, mean = table.counts.astype(np.float64), table.weights / table.counts
        n, total = float(counts.sum()), float(table.weights.sum())
        if at_most(table.squares * table.counts, table.weights**2).all():  # each cell has one weight
            order = np.argsort(-mean)
            return cls(measure, mean[order], counts[order], total=total)
        variation = math.sqrt(max(n * float(table.squares.sum()) / total**2 - 1, 0.0))
        return cls(measure, np.zeros(0), np.zeros(0), variation, total)

    def heaviest(self, share: float) -> float:
        """At most the weight of a share of the records: ``x + v sqrt(x (1 - x))`` from the variation v."""
        if self.variation is not None:
            return min(1.0, share + self.variation * math.sqrt(share * (1 - share)))
        return self._part(share, self.values)

    def heaviest_squares(self, share: float) -> float:
        """The same of the squared weights; all of them where the weights are too many to be listed."""
        return 1.0 if self.variation is not None and share > 0 else self._part(share, self.values**2)

    def _part(self, share: float, values: Real) -> float:
        if not len(values):
            return share
        left = share * float(self.counts.sum())
        taken = np.clip(left - np.concatenate([[0.0], np.cumsum(self.counts)[:-1]]), 0, self.counts)
        return min(1.0, float(taken @ values / (self.counts @ values)))


@dataclass(frozen=True)
class Distortion:
    """At most what all groups did to a table."""

    # At most the share of the records that are expected to be in another cell; of squared weights, with weights
    changed: float
    weight: float  # The same of the weights; equal to changed without weights
    bias: float  # At most how far the share of any cell lies from the true one on average
    squares: float = 1.0  # The same of shares of squared weights

    @classmethod
    def of(cls, moves: Sequence[Move], weights: Weights, part: float = 1.0) -> Distortion:
        """Of a table that these groups moved, counted in a part of the records, which may have all that changed."""
        if part < 1:
            return cls.of([replace(move, alone=False) for move in moves], weights).within(part)
        changed = min(1.0, sum(move.changed for move in moves))
        twice = 2 if any(move.group.method == "swap" for move in moves) else 1  # two records change at once
        return cls(
            changed=min(1.0, twice * weights.heaviest_squares(changed)),
            weight=weights.heaviest(changed),
            bias=min(1.0, sum(move.bias(weights) for move in moves)),
            squares=min(1.0, twice * weights.heaviest_squares(changed)),
        )

    def among_kept(self, share: float) -> Distortion:
        """Of files that keep a limit, where at least this share of all drawn files does; others changed less."""
        if not below(share, 1):
            return self
        changed, weight, squares = (min(1.0, one / share) for one in (self.changed, self.weight, self.squares))
        return Distortion(changed, weight, weight, squares)

    def told(self, errors: ShareErrors | None, size: float) -> Distortion:
        """With the bounds of a receipt for this table, for so many records, or as many with equal weights."""
        if errors is None:
            return self
        changed, bias = min(self.changed, size * errors.error**2), min(self.bias, errors.bias)
        return replace(self, changed=changed, bias=bias, squares=min(self.squares, errors.bias))

    def within(self, share: float, squares: float | None = None) -> Distortion:
        """Of a part of the file that has this share of its weight, and of its squared weights."""
        squares = share if squares is None else squares
        changed, moved = (min(1.0, one / squares) for one in (self.changed, self.squares))
        weight, bias = (min(1.0, one / share) for one in (self.weight, self.bias))
        return replace(self, changed=changed, weight=weight, bias=bias, squares=moved)


def reach_of(clusters: CellTable, *, strata: bool) -> float:
    """``F w``: the share w of the heaviest cluster, and F the largest ``n_h / (n_h - 1)`` over strata, at most 2."""
    mass = np.asarray(clusters.mass, dtype=np.float64)
    drawn = np.bincount(clusters.codes[:, 0] if strata else np.zeros(len(mass), dtype=np.int64))
    fewest = max(2, int(drawn[drawn > 0].min()))
    return float(mass.max() / mass.sum()) * fewest / (fewest - 1)


def under_plan(usual: SurveyEstimate, most: Distortion, reach: float) -> SurveyEstimate:
    """Values taken as true: ``se <= se_usual + min(d + b, sqrt(F w (1 + b) (d + b)))``, ``reach`` being F w."""
    together = most.weight + most.bias
    more = min(together, math.sqrt(reach * (1 + most.bias) * together)) if together else 0.0
    variance = (np.sqrt(np.maximum(usual.variance, 0)) + more) ** 2
    return replace(
        usual,
        variance=variance,
        variance_parts=(usual.variance, variance - usual.variance),
        covariance=usual.covariance if more == 0 else None,
        flags=(*usual.flags, *((Note("this-table-is-not-kept-intervals"),) if most.bias else ())),
        bias=np.full(len(usual.pi_hat), most.bias) if together else None,
    )
