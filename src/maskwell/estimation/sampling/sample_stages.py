"""How a sample was drawn: its Scheme; from what, and how many of how many, in each stage; the open variance of sums.

    V_open = sum over stages of  prod(f above) sum_g (1 - f_g) n_g / (n_g - 1) sum_c (t_c - mean_g)(t_c - mean_g)'

where ``t_c`` is the weighted sum of scores of unit c, drawn with n_g - 1 others from group g (a stratum, then a
cluster), and f = n / N. ``prod f`` is the share of a unit's squared weight that it misses of the randomization. Of rows
drawn with unequal chances, y_i = w_i e_i, it is

    Poisson         sum (1 - pi_i) y_i y_i'
    Hajek-Deville   sum c_i (y_i - A)(y_i - A)',   c_i = (1 - pi_i) n / (n - 1),   A = sum c_i y_i / sum c_i
    HT              sum_i sum_j (pi_ij - pi_i pi_j) / pi_ij  y_i y_j',             pi_ii = pi_i
    SYG             sum_{i<j} (pi_i pi_j - pi_ij) / pi_ij (y_i - y_j)(y_i - y_j)'

and leaves ``pi_i w_i^2`` to the randomization correction; the second approximates samples of fixed size.
Source: [Adeshiyan2011, Theorem 3.2 corrected]; the form with V_open is derived, the approximation standard.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_kind
from maskwell.core.phrases import option
from maskwell.core.row_sums import Cells
from maskwell.core.verdicts import at_most, below
from maskwell.errors import InputError, ParameterError, TooLargeError
from maskwell.estimation.sampling.recovery import BLOCK, LineScores, square_of
from maskwell.estimation.sampling.replicate_weights import ReplicateRule

Lonely: TypeAlias = Literal["error", "certainty", "centre"]
LONELY: tuple[Lonely, ...] = ("error", "certainty", "centre")

METHODS = {
    "stages": "drawn in stages; without replacement where the population is known",
    "with-replacement": "draws with replacement, or as if: never too small on average",
    "pps": "draws with replacement, weights are 1 / (probability of one draw)",
    "poisson": "each unit by its own chance, independently; weights are 1 / chance",
    "hajek-deville": "unequal chances, fixed size, pairwise chances approximated",
    "syg": "unequal chances, fixed size, pairwise chances known (Sen-Yates-Grundy)",
    "ht": "unequal chances, pairwise chances known (Horvitz-Thompson)",
    "replicates": "replicate weights that came with the data",
}
ROWS_ONLY = ("poisson", "pps", "hajek-deville")


@dataclass(frozen=True, eq=False)
class Scheme:
    """How a sample was drawn."""

    method: str = "stages"  # One of the names of `METHODS`
    # What to do with a stratum (or cluster) of which one unit was drawn and not all: `"error"`; `"certainty"`: it was
    # sure to be drawn and adds no sampling variance, only randomization; `"centre"`: compare it with the mean of all
    # strata
    lonely: Lonely = "error"
    replicates: ReplicateRule | None = None  # For `replicates`: how they become a variance
    joint: Real | None = None  # For `syg` and `ht`: pairwise inclusion probabilities, shape (n, n)

    def __post_init__(self) -> None:
        check_kind(str, method=self.method, lonely=self.lonely)
        if self.method not in METHODS:
            raise ParameterError("no-sampling-method", methods=", ".join(METHODS), method=self.method)
        if self.lonely not in LONELY:
            raise ParameterError("lonely-lonely-choose", lonely_shown=", ".join(LONELY), lonely=self.lonely)
        parts = (
            (self.method == "replicates", self.replicates, "the-method-a-rule-for-replicates"),
            (self.method in ("syg", "ht"), self.joint, "the-method-pairwise-probabilities"),
        )
        for needed, part, code in parts:
            if needed == (part is None):
                raise ParameterError(code, method=self.method, words="needs" if part is None else "has no use for")

    def check(self, cells: Cells) -> None:
        """Raise unless the cells hold what the method needs."""
        if self.method in ROWS_ONLY and cells.clusters:
            raise ParameterError("the-method-is-for-samples", method=self.method)
        if self.method in ROWS_ONLY and not cells.weighting.given:
            of_draw = "the-method-needs-the-chance" if self.method == "pps" else "the-method-needs-the-chance-of"
            raise ParameterError(of_draw, method=self.method)
        if self.method == "hajek-deville" and not cells.weighting.chance.shape[1]:
            raise ParameterError("hajek-deville-needs-inclusion-probabilities")
        if self.method == "hajek-deville" and self.lonely == "centre":
            raise ParameterError("hajek-deville-has-no-lonely-centre", lonely=self.lonely)
        if self.replicates is not None and not cells.weighting.replicates.shape[1]:
            raise ParameterError("there-are-no-replicate-weights")
        low = cells.weight / np.maximum(cells.n, 1)
        if self.method == "poisson" and below(low, 1).any() and cells.auxiliary.size == 1:
            raise ParameterError("a-weight-below-1-is-no")


@dataclass(frozen=True, eq=False)
class Level:
    """Strata, or clusters of one stage: the number of its group for each line, and how many groups there are."""

    of_line: Array
    count: int

    @property
    def first_lines(self) -> Array:
        """The first line of each group."""
        return np.flatnonzero(np.diff(self.of_line, prepend=-1))


@dataclass(frozen=True, eq=False)
class Stage:
    """Units drawn from groups."""

    # What was drawn from, and what was drawn; `child` is `None` where rows were drawn
    parent: Level
    child: Level | None
    drawn: Real  # How many units were drawn from each group, shape (groups,)
    population: Real  # From how many; infinite with replacement or where it is not known

    @property
    def fraction(self) -> Real:
        """``f = n / N`` of each group."""
        return np.asarray(self.drawn / self.population)


def stages_of(cells: Cells, *, with_replacement: bool = False) -> list[Stage]:
    """All stages that contribute to the variance: only the first with replacement or without populations."""
    levels: list[Level] = []  # strata, then the clusters of each stage; lines are sorted by them
    changed = np.zeros(len(cells), dtype=bool)
    changed[:1] = True
    for factor in (cells.stratum, *cells.clusters):
        changed = changed | np.asarray(np.diff(factor.codes, prepend=-1) != 0)
        of_line = np.cumsum(changed) - 1
        levels.append(Level(of_line, int(of_line[-1]) + 1 if len(cells) else 0))
    known = 0 if with_replacement else cells.population.shape[1]
    if known > len(levels):
        raise InputError("populations-for-stages-but-only-stages", known=known, levels_count=len(levels))
    last = min(max(1, known + 1), max(1, len(levels) - 1)) if known < len(levels) else known
    return [_stage(cells, levels, s, known=s < known) for s in range(last)]


def _stage(cells: Cells, levels: list[Level], s: int, *, known: bool) -> Stage:
    parent, child = levels[s], levels[s + 1] if s + 1 < len(levels) else None
    if child is None:
        drawn = np.bincount(parent.of_line, weights=cells.n * cells.is_row, minlength=parent.count).astype(np.float64)
    else:
        drawn = np.bincount(parent.of_line[child.first_lines], minlength=parent.count).astype(np.float64)
    population = cells.population[parent.first_lines, s] if known else np.full(parent.count, np.inf)
    stage = Stage(parent, child, drawn, population)
    over = np.flatnonzero(drawn > population)
    if len(over):
        one = int(over[0])
        kind, name = _group_in_words(cells, stage, s, one)
        raise ParameterError(
            "stage-more-units-drawn",
            s_number=s + 1,
            kind_of_group=kind,
            values=f"{drawn[one]:g} of {population[one]:g} in {name}",
            n=float(drawn[one]),
            population=float(population[one]),
        )
    return stage


def _group_in_words(cells: Cells, stage: Stage, s: int, group: int) -> tuple[str, str]:
    """What a stage was drawn from: its kind, and its name, which may be confidential."""
    factor, what = (cells.stratum, "stratum") if s == 0 else (cells.clusters[s - 1], "cluster")
    if s == 0 and factor.size == 1:
        return "the sample", "the sample"
    label = factor.labels[factor.codes[stage.parent.first_lines[group]]]
    return f"a {what}", f"{what} {str(label)[:30]!r}"


def weight_factor(cells: Cells) -> Real:
    """``prod N / n`` over the stages: the weight that such a draw gives to each row."""
    factor = np.ones(len(cells))
    for s, stage in enumerate(stages_of(cells), start=1):
        if not np.isfinite(stage.population).all():
            raise InputError("no-weights-follow-from-the-populations", s=s)
        factor = factor * (stage.population / stage.drawn)[stage.parent.of_line]
    return factor


def lonely_hint() -> str:
    """What to do where one unit of a group was drawn."""
    certainty, centre = option("lonely", "certainty"), option("lonely", "centre")
    return f"merge strata, or use {certainty} or {centre}"


def check_lonely(cells: Cells, stage: Stage, s: int, lonely: Lonely) -> Array:
    """Groups of which one unit was drawn and not all; refused unless an option says what to do with them."""
    alone = (stage.drawn == 1) & below(stage.fraction, 1)
    if lonely == "error" and alone.any():
        groups = np.flatnonzero(alone).tolist()
        kind, name = _group_in_words(cells, stage, s, groups[0])
        raise InputError(
            "only-one-was-drawn",
            unit="row" if stage.child is None else "cluster",
            kind_of_group=kind,
            more=f" (and {len(groups) - 1:,} more)" if len(groups) > 1 else "",
            lonely_hint=lonely_hint(),
            values=name,
            groups=groups,
        )
    return np.asarray(alone)


@dataclass(frozen=True, eq=False)
class _Spread:
    """One stage with its factors: ``(1 - f) n / (n - 1)`` times what stands above, and which groups are lonely."""

    stage: Stage
    factor: Real
    alone: Array


@dataclass(frozen=True, eq=False)
class MultistageVariance:
    """Variance of sums over a sample drawn in stages."""

    cells: Cells
    spreads: tuple[_Spread, ...]
    kept: Real  # Squared weights that the open variance leaves to the randomization correction, by line

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
        clusters, strata = (len(np.unique(level.of_line[lines])) for level in (first.child, first.parent))
        return float(clusters - strata)

    def open(self, scores: LineScores) -> Real:
        """``V_open`` of the weighted sum of the scores, shape (k, k), or its diagonal."""
        return sum((_between(self.cells, one, scores) for one in self.spreads), np.zeros(1))


def _between(cells: Cells, one: _Spread, scores: LineScores) -> Real:
    stage, full = one.stage, scores.full
    sums = scores.sums(cells.weight, stage.parent.of_line, stage.parent.count)
    middle = sums / stage.drawn[:, None]
    middle[one.alone] = sums.sum(axis=0) / stage.drawn.sum()
    if stage.child is not None:
        return _between_clusters(cells, one, stage.child, scores, middle)
    a = one.factor[stage.parent.of_line] * cells.square
    cross = (sums.T * one.factor) @ middle if full else one.factor @ (sums * middle)
    return np.asarray(scores.squares(a) - cross - cross.T + square_of(middle, one.factor * stage.drawn, full=full))


def _between_clusters(cells: Cells, one: _Spread, child: Level, scores: LineScores, middle: Real) -> Real:
    parent, step = one.stage.parent.of_line[child.first_lines], max(1, BLOCK // scores.k)
    total: Real = np.zeros(1)
    for start in range(0, child.count, step):
        stop = min(child.count, start + step)
        inside = (child.of_line >= start) & (child.of_line < stop)
        part = replace(scores, lines=scores.lines[inside[scores.lines]])
        apart = part.sums(cells.weight, child.of_line - start, stop - start) - middle[parent[start:stop]]
        total = total + square_of(apart, one.factor[parent[start:stop]], full=scores.full)
    return total


def lines_of_domains(cells: Cells) -> dict[Hashable, Array]:
    """The lines of each domain by its label, in ascending order; empty without domains."""
    if not cells.domain.given:
        return {}
    order = np.argsort(cells.domain.codes, kind="stable")
    ends = np.cumsum(np.bincount(cells.domain.codes, minlength=cells.domain.size))
    return dict(zip(cells.domain.labels.tolist(), np.split(order, ends[:-1]), strict=True))


ROWS = 256  # rows of the matrix that are worked on at once


@dataclass(frozen=True, eq=False)
class _RowVariance:
    """What methods for rows of unequal chances share; ``g`` are the factors by which weights were calibrated."""

    cells: Cells
    g: Real

    @property
    def kept(self) -> Real:
        """``pi_i w_i^2``: weights are 1 / pi, times ``g``."""
        return np.asarray(self.cells.weight * self.g)

    def degrees_of_freedom(self, lines: Array) -> None:
        """The normal distribution serves."""


@dataclass(frozen=True, eq=False)
class _PairwiseVariance(_RowVariance):
    """Variance from pairwise probabilities; every line of the cells is one row, in the order of the matrix."""

    joint: Real
    form: str

    def open(self, scores: LineScores) -> Real:
        if not scores.full:
            raise TooLargeError("pairwise-probabilities-with-categories", k=scores.k)
        y = np.zeros((len(self.cells), scores.k))
        y[scores.lines] = scores.of_lines(scores.lines) * self.cells.weight[scores.lines, None]
        total, single = np.zeros((scores.k, scores.k)), np.diagonal(self.joint)
        for start in range(0, len(y), ROWS):
            rows = np.arange(start, min(start + ROWS, len(y)))
            share = 1 - np.outer(single[rows], single) / self.joint[rows]
            if self.form == "ht":
                total += y[rows].T @ (share @ y)
            else:
                share[np.arange(len(rows)), rows] = 0
                total += y[rows].T @ (share @ y) - (y[rows].T * share.sum(axis=1)) @ y[rows]
        return np.asarray((total + total.T) / 2)


def check_joint(joint: Any, n: int) -> Real:
    """A matrix of pairwise inclusion probabilities with the single ones on its diagonal, or an error."""
    pairwise = as_floats(joint, "joint inclusion probabilities", finite=False)
    if pairwise.shape != (n, n):
        raise ParameterError("pairwise-probabilities-of-shape-for-rows", shape=pairwise.shape, n=n)
    if not np.isfinite(pairwise).all() or (pairwise <= 0).any() or (pairwise > 1).any():
        raise ParameterError(
            "pairwise-inclusion-probabilities-must-be-above",
            where=np.argwhere(~((pairwise > 0) & (pairwise <= 1)))[:5].tolist(),
        )
    single: Array = np.diagonal(pairwise)
    if np.abs(pairwise - pairwise.T).max() > 1e-9 or (pairwise > np.minimum.outer(single, single) + 1e-9).any():
        raise ParameterError("pairwise-inclusion-probabilities-are-not-symmetric")
    return pairwise


class _PoissonVariance(_RowVariance):
    """Variance under Poisson sampling."""

    def open(self, scores: LineScores) -> Real:
        return scores.squares(self.cells.square - self.kept)


@dataclass(frozen=True, eq=False)
class _HajekDevilleVariance(_RowVariance):
    """The approximation by Hajek and Deville, stratum by stratum."""

    stage: Stage
    scale: Real

    @classmethod
    def of(cls, cells: Cells, g: Real, lonely: Lonely = "error") -> _HajekDevilleVariance:
        (stage,) = stages_of(cells, with_replacement=True)
        chance = np.bincount(stage.parent.of_line, weights=cells.weighting.chance[:, 0], minlength=stage.parent.count)
        certain = at_most(stage.drawn, chance)  # all units of the stratum were sure to be drawn
        alone = check_lonely(cells, replace(stage, population=np.where(certain, stage.drawn, np.inf)), 0, lonely)
        scale = stage.drawn / np.maximum(stage.drawn - 1, 1)
        return cls(cells, g, stage, np.where(alone | certain, 0.0, scale))

    @property
    def kept(self) -> Real:
        """``sum pi_i w_i^2``, which is ``sum g_i w_i``; all of the squared weight where no spread is counted."""
        counted = self.scale[self.stage.parent.of_line] > 0
        return np.where(counted, super().kept, self.cells.square)

    def open(self, scores: LineScores) -> Real:
        cells, strata = self.cells, self.stage.parent
        scale = self.scale[strata.of_line]
        c = np.bincount(
            strata.of_line, weights=scale * (cells.n - cells.weighting.chance[:, 0]), minlength=strata.count
        )
        sums = scores.sums(scale * (cells.weight - self.g * cells.n), strata.of_line, strata.count)
        inverse = np.divide(1, c, out=np.zeros_like(c), where=c > 0)
        squares = scores.squares(scale * (cells.square - cells.weight * self.g))
        return np.asarray(squares - square_of(sums, inverse, full=scores.full))


Variance: TypeAlias = MultistageVariance | _PairwiseVariance | _PoissonVariance | _HajekDevilleVariance


def weighted_cells(cells: Cells, scheme: Scheme) -> Cells:
    """The cells with the weights that follow from populations, or that the method calls for."""
    if scheme.method == "pps":
        (stage,) = stages_of(cells, with_replacement=True)
        factor = 1 / stage.drawn[stage.parent.of_line]
    elif not cells.weighting.given and cells.population.shape[1]:
        factor = weight_factor(cells)
    else:
        return cells
    return replace(cells, weight=cells.weight * factor, square=cells.square * factor**2)


def variance_of(cells: Cells, scheme: Scheme, g: Real) -> Variance | None:
    """The variance of a scheme, ``None`` where replicate weights give it; ``g`` are the factors of calibration."""
    if scheme.method == "replicates":
        return None
    if scheme.method == "poisson":
        return _PoissonVariance(cells, g)
    if scheme.method == "hajek-deville":
        return _HajekDevilleVariance.of(cells, g, scheme.lonely)
    if scheme.joint is not None:
        return _PairwiseVariance(cells, g, scheme.joint, scheme.method)
    return MultistageVariance.of(cells, with_replacement=scheme.method != "stages", lonely=scheme.lonely)
