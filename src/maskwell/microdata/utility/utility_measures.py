"""What a release leaves of associations, shares, variances and regressions.

Cramér's V of two categories each is multiplied by ``det P_X det P_Y``. For a matrix that keeps counts or weights,
with Q the rows of P added up to the categories of a variable and s the counts (or sums of squared weights) of the
states, the variance of the share of category i grows by a factor between 1 and 2 for counts,

    VIF_i = 1 + C_i / V_i,   C_i = sum_j s_j q_ij (1 - q_ij),   V_i = sum over records of w^2 (e_i - p_i)^2

For any other matrix the estimate is ``P^-1 M / n``, without an upper limit. Source: [Adeshiyan2011, section 4.6, eq.
(4.4)]; for single variables and weights, and the factor of V, derived.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import shorten
from maskwell.core.verdicts import at_least, below, largest
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment
from maskwell.engines.model_frame import read_model_frame
from maskwell.errors import ParameterError
from maskwell.estimation.regression.model_table import fit_model_table
from maskwell.estimation.regression.regression_result import Regression
from maskwell.microdata.stages.stage import Stage
from maskwell.notes import Note

WEAKENED = 0.9  # an association that keeps less than this part is flagged
WEAK = 0.02  # associations below this are noise, and not flagged


def cramers_v(table: Any) -> float | None:
    """Cramér's V of a table of counts, shape (r, c); None with fewer than two rows or columns that are not empty."""
    J = np.asarray(table, dtype=np.float64)
    J = J[J.sum(axis=1) > 0][:, J.sum(axis=0) > 0]
    if min(J.shape) < 2:
        return None
    n = J.sum()
    expected = np.outer(J.sum(axis=1), J.sum(axis=0)) / n
    return math.sqrt(max(0.0, float(((J - expected) ** 2 / expected).sum())) / (n * (min(J.shape) - 1)))


@dataclass(frozen=True)
class Association:
    """How strongly two columns go together."""

    columns: tuple[str, str]  # their names
    # before, expected, after: cramér's V in the file, of the table that is expected after the release, and in the
    # released file; None where it is not defined or not known
    before: float | None
    expected: float | None = None
    after: float | None = None
    hellinger: float | None = None  # distance of their tables in the file and in the released file

    @property
    def kept(self) -> float | None:
        """The part of the association that is expected to be left; what is left in the released file otherwise."""
        now = self.after if self.expected is None else self.expected
        return None if not self.before or now is None else now / self.before

    @property
    def weakened(self) -> bool:
        """Whether a reader must be warned: less than 0.9 of an association that is there."""
        return self.kept is not None and at_least(self.before or 0, WEAK) and below(self.kept, WEAKENED)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**vars(self), "columns": list(self.columns), "kept": self.kept}


@dataclass(frozen=True)
class TableDistance:
    """How far a table of shares is from another."""

    total_variation: float  # total_variation, hellinger: from 0 (the same shares) to 1 (no cell in common)
    hellinger: float
    # largest_change, changed_most: the largest absolute difference of a share, and the place of its cell, counted
    # through the table
    largest_change: float
    changed_most: int
    # the largest difference as a part of the first share, over cells that the first table has
    largest_relative_change: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {name: value for name, value in vars(self).items() if name != "changed_most"}


def table_distance(before: Any, after: Any) -> TableDistance:
    """Distances of two tables of counts, of any shape but the same, each with some record."""
    a, b = (np.ravel(table).astype(np.float64) for table in (before, after))
    a, b = a / a.sum(), b / b.sum()
    change, some = np.abs(a - b), a > 0
    return TableDistance(
        float(change.sum() / 2),
        math.sqrt(float(((np.sqrt(a) - np.sqrt(b)) ** 2).sum()) / 2),
        float(change.max()),
        largest(change),
        float((change[some] / a[some]).max()),
    )


def expected_variation(shift: Real, variance: Real) -> tuple[float, float]:
    """Total variation: ``1/2 sum E abs(e_i)``, e_i normal, and at most ``1/2 sum sqrt(shift_i^2 + variance_i)``."""
    sd = np.sqrt(np.maximum(variance, 0))  # differences of rounding may be below zero
    z = np.divide(shift, sd, out=np.zeros(len(sd)), where=sd > 0)
    erf = np.array([math.erf(x / math.sqrt(2)) for x in z])
    folded = sd * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + shift * np.where(sd > 0, erf, np.sign(shift))
    return float(folded.sum() / 2), float(np.sqrt(shift**2 + sd**2).sum() / 2)


SOLVED_LIMIT = 2000  # states of a matrix that does not keep counts, up to which it is turned around


@dataclass(frozen=True, eq=False)
class Inflation:
    """Of the shares of one variable."""

    categories: tuple[Hashable, ...]  # labels, shape (k,)
    factors: Real  # how many times larger each variance is, shape (k,)
    added: Real  # the part of the variance of each share that randomization adds, shape (k,)
    shift: Real  # by how much each share moves on average, shape (k,): zero for a matrix that keeps what is counted
    n: int  # records

    @cached_property
    def worst(self) -> float:
        """The largest factor."""
        return float(self.factors.max(initial=1.0))

    @property
    def effective(self) -> Real:
        """``n / factor``: records of an original file with the same precision."""
        return np.asarray(self.n / self.factors)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        rows = [
            {"category": category, "vif": factor, "n_eff": size}
            for category, factor, size in zip(self.categories, self.factors, self.effective, strict=True)
        ]
        return {"vif": self.worst, "n_eff": float(self.effective.min()), "vif_by_category": rows}


def inflation_of(stage: Stage, variable: str) -> Inflation | None:
    """The inflation of the shares of one variable of a stage; None where the matrix cannot be turned around."""
    true, labels, mass = stage.state_codes[variable], stage.levels[variable], stage.mass
    if not mass.sum() > 0:
        return None
    squares = stage.squares if stage.invariance == "weights" and stage.squares is not None else stage.counts
    s, k = np.asarray(squares, dtype=np.float64), len(labels)
    drawn = s if stage.sizes is None else s * stage.sizes
    arrived, variance = np.zeros(k), np.zeros(k)
    for first, last, Q in _collapsed(stage, stage.output_codes[variable], k):
        arrived += Q @ mass[first:last]
        variance += Q @ drawn[first:last] - Q.multiply(Q) @ drawn[first:last]
    added = variance
    if stage.exchanges:
        added = variance = np.zeros(k)  # margins are kept exactly
    elif stage.invariance not in ("counts", "weights"):
        if stage.design.k > SOLVED_LIMIT or not stage.design.identifiable:
            return None
        A = np.zeros((k, stage.design.k))
        A[true, np.arange(stage.design.k)] = 1
        turned = stage.design.second_moment(stage.design.forward(drawn)) - np.diag(drawn)
        added = np.diag(A @ turned @ A.T)  # what turning the matrix around adds: of ``A (L D_{Ps} L' - D_s) A'``
    share, own, scale = np.bincount(true, mass, minlength=k) / mass.sum(), np.bincount(true, s, minlength=k), mass.sum()
    spread = own * (1 - share) ** 2 + (s.sum() - own) * share**2
    factors = 1 + np.divide(np.maximum(added, 0), spread, out=np.zeros(k), where=spread > 0)
    moved = arrived - np.bincount(true, mass, minlength=k)
    return Inflation(tuple(labels), factors, variance / scale**2, moved / scale, int(stage.counts.sum()))


_AT_ONCE = 1 << 16  # states whose columns are added up at once


def _collapsed(stage: Stage, released: Array, k: int) -> Iterator[tuple[int, int, Any]]:
    """The rows of P added up to the categories, as sparse matrices of some of its columns, from the first on."""
    from scipy.sparse import coo_array, csr_array

    i, j, p = stage.transitions
    states = len(stage.states)
    order = slice(None) if states <= _AT_ONCE or (np.diff(j) >= 0).all() else np.argsort(j, kind="stable")
    i, j, p = i[order], j[order], p[order]
    firsts = np.arange(0, states, _AT_ONCE)
    ends = np.searchsorted(j, firsts + _AT_ONCE) if states > _AT_ONCE else [len(j)]
    start = 0
    for first, end in zip(firsts.tolist(), ends, strict=True):
        last, some = min(first + _AT_ONCE, states), slice(start, int(end))
        Q = coo_array((p[some], (released[i[some]], j[some] - first)), shape=(k, last - first))
        yield first, last, csr_array(Q)
        start = int(end)


LEVEL = 0.95


@dataclass(frozen=True)
class ComparedTerm:
    """A coefficient in the file and in the released file."""

    term: str  # its name
    original: float  # original, original_error, released, released_error: the estimates and their standard errors
    original_error: float
    released: float
    released_error: float
    # corrected, corrected_error: from the released file with the designs of the randomized columns, where these were
    # given
    corrected: float | None = None
    corrected_error: float | None = None
    overlap: float | None = None  # of the two intervals; ``None`` where one is not defined

    @property
    def same_sign(self) -> bool:
        """Whether both coefficients point the same way."""
        return self.original * self.released >= 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.__dict__, "same_sign": self.same_sign}


@dataclass(frozen=True, eq=False)
class RegressionComparison:
    """A regression on both files."""

    formula: str  # as typed
    terms: tuple[ComparedTerm, ...]  # the coefficients that both have
    # names of coefficients that only one of them has, such as those of a category that no released record holds
    missing: tuple[str, ...]
    original: Regression  # original, released, corrected: the regressions
    released: Regression
    corrected: Regression | None = None

    @property
    def mean_overlap(self) -> float | None:
        """Mean overlap of the intervals."""
        overlaps = [term.overlap for term in self.terms if term.overlap is not None]
        return float(np.mean(overlaps)) if overlaps else None

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        turned = [term.term for term in self.terms if not term.same_sign]
        apart = [term.term for term in self.terms if term.overlap is not None and term.overlap < 0]
        flags = []
        if turned:
            flags.append(Note("coefficients-change-their-sign", formula=self.formula, terms=_in_short(turned)))
        if apart:
            flags.append(Note("intervals-do-not-meet", formula=self.formula, terms=_in_short(apart)))
        if self.missing:
            flags.append(Note("only-one-file", formula=self.formula, missing=_in_short(self.missing)))
        return tuple(flags)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "formula": self.formula,
            "family": self.original.family,
            "mean_overlap": self.mean_overlap,
            "terms": [term.to_dict() for term in self.terms],
            "missing": list(self.missing),
            "flags": list(self.flags),
        }


def _in_short(terms: Sequence[str]) -> str:
    return shorten(", ".join(terms), 50)


def compare_regressions(
    formula: str, original: Any, released: Any, *, designs: Mapping[str, Design] | None = None, missing: str = "drop"
) -> RegressionComparison:
    """Fit one formula to a file and to its release: as released, and by :func:`regress` where ``designs`` are given."""
    assigned = [Assignment.of(name, design) for name, design in (designs or {}).items()]
    first, second = (
        fit_model_table(read_model_frame(data, formula, [], missing=missing, randomized_columns=False))
        for data in (original, released)
    )
    third = fit_model_table(read_model_frame(released, formula, assigned, missing=missing)) if assigned else None
    if first.family != second.family:
        raise ParameterError("the-outcome-gives-a-regression", family=first.family, second_family=second.family)
    shared = [term for term in first.terms if term in second.terms]
    rows = tuple(_compared(term, first, second, third) for term in shared)
    alone = tuple(sorted({*first.terms} ^ {*second.terms}))
    return RegressionComparison(formula, rows, alone, first, second, third)


def _compared(term: str, first: Regression, second: Regression, third: Regression | None) -> ComparedTerm:
    def figures(fit: Regression | None) -> tuple[Any, Any]:
        if fit is None or term not in fit.terms:
            return None, None
        place = fit.terms.index(term)
        return float(fit.estimates[place]), float(fit.standard_error[place])

    (a, b), (c, d) = (fit.confidence_interval(LEVEL)[fit.terms.index(term)] for fit in (first, second))
    overlap = None  # where an interval is not finite
    if np.isfinite([a, b, c, d]).all() and b > a and d > c:
        common = min(b, d) - max(a, c)
        overlap = float((common / (b - a) + common / (d - c)) / 2)
    return ComparedTerm(term, *figures(first), *figures(second), *figures(third), overlap)
