"""Open variance of stratified samples of rows or clusters, drawn in one stage or several.

    V_open = sum over stages of  prod(f above) sum_g (1 - f_g) n_g / (n_g - 1) sum_c (t_c - mean_g)(t_c - mean_g)'

where ``t_c`` is the weighted sum of scores of unit c, drawn with n_g - 1 others from group g (a stratum, then a
cluster), and f = n / N. With f = 0 only the first stage is left: draws with replacement, or ultimate clusters. Simple
random sampling is one stage, one group.

    kept share of a unit's squared weight = prod f over the stages

is what the open variance misses of the randomization: it vanishes with replacement, because there the spread between
draws holds all of it. Source: [Adeshiyan2011, Theorem 3.2 corrected]; the form with V_open is derived.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.estimation.sampling.recovery import BLOCK, Scores, square_of
from maskwell.estimation.sampling.stages import Lonely, Stage, check_lonely, stages_of


@dataclass(frozen=True, eq=False)
class _Spread:
    """One stage with its factors: ``(1 - f) n / (n - 1)`` times what stands above, and which groups are lonely."""

    stage: Stage
    factor: Real
    alone: Array


@dataclass(frozen=True, eq=False)
class MultistageVariance:
    """Variance of sums over a sample drawn in stages.

    Attributes
    ----------
    kept
        Squared weights that the open variance leaves to the randomization correction, by line.
    """

    cells: Cells
    spreads: tuple[_Spread, ...]
    kept: Real

    @classmethod
    def of(cls, cells: Cells, *, with_replacement: bool = False, lonely: Lonely = "error") -> MultistageVariance:
        """Structure of a sample; groups with one unit are refused unless ``lonely`` says what to do."""
        above, spreads = np.ones(len(cells)), []
        for s, stage in enumerate(stages_of(cells, with_replacement=with_replacement)):
            alone = check_lonely(cells, stage, s, lonely)
            fraction = np.where(alone & (lonely == "certainty"), 1.0, stage.fraction)
            spread = np.where(alone, 1.0, stage.drawn / np.maximum(stage.drawn - 1, 1))
            factor = above[stage.parent.first_lines] * (1 - fraction) * spread
            spreads.append(_Spread(stage, factor, alone & (lonely == "centre")))
            above = above * fraction[stage.parent.of_line]
        return cls(cells, tuple(spreads), above * cells.square)

    def degrees_of_freedom(self, lines: Array) -> float | None:
        """Clusters minus strata, of those that hold any of the lines; for rows the normal distribution serves."""
        first = self.spreads[0].stage
        if first.child is None:
            return None
        held = (len(np.unique(level.of_line[lines])) for level in (first.child, first.parent))
        return float(next(held) - next(held))

    def open(self, scores: Scores) -> Real:
        """``V_open`` of the weighted sum of the scores, shape (k, k), or its diagonal."""
        return sum((_between(self.cells, one, scores) for one in self.spreads), np.zeros(1))


def _between(cells: Cells, one: _Spread, scores: Scores) -> Real:
    stage, full = one.stage, scores.recovery.full
    sums = scores.sums(cells.weight, stage.parent.of_line, stage.parent.count)
    middle = sums / stage.drawn[:, None]
    middle[one.alone] = sums.sum(axis=0) / stage.drawn.sum()
    if stage.child is not None:
        return _between_clusters(cells, one, scores, middle)
    a = one.factor[stage.parent.of_line] * cells.square
    cross = (sums.T * one.factor) @ middle if full else one.factor @ (sums * middle)
    return np.asarray(scores.squares(a) - cross - cross.T + square_of(middle, one.factor * stage.drawn, full=full))


def _between_clusters(cells: Cells, one: _Spread, scores: Scores, middle: Real) -> Real:
    child, k = one.stage.child, scores.recovery.k
    assert child is not None
    parent = one.stage.parent.of_line[child.first_lines]
    total: Real = np.zeros(1)
    for start in range(0, child.count, max(1, BLOCK // k)):
        stop = min(child.count, start + max(1, BLOCK // k))
        inside = (child.of_line >= start) & (child.of_line < stop)
        part = replace(scores, lines=scores.lines[inside[scores.lines]])
        apart = part.sums(cells.weight, child.of_line - start, stop - start) - middle[parent[start:stop]]
        total = total + square_of(apart, one.factor[parent[start:stop]], full=scores.recovery.full)
    return total
