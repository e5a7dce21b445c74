"""Association of two variables: Cramér's V, before and after a release.

    V = sqrt(chi^2 / (n (min(r, c) - 1)))

with empty rows and columns left out. Randomizing variables one by one weakens their association: for two categories
each and matrices that keep the shares, V is multiplied by ``det P_X det P_Y``. Source: standard; the factor derived.

Distances of two tables of shares, and how far apart a release is expected to bring them.

    total variation  1/2 sum |a - b|        Hellinger  sqrt(1/2 sum (sqrt(a) - sqrt(b))^2)

Source: standard.

Variance inflation: how many times larger the variance of each share is than in an open file of the same records.

For a matrix that keeps counts or weights, with Q the rows of P added up to the categories of one variable, s the counts
(or sums of squared weights) of the states and p the shares of the categories,

    VIF_i = 1 + C_i / V_i,   C_i = sum_j s_j q_ij (1 - q_ij),   V_i = sum over records of w^2 (e_i - p_i)^2

which is between 1 and 2 for counts. For any other matrix the estimate is ``P^-1 M / n``, and there is no upper limit.
``n / VIF_i`` is the effective number of records. Source: [Adeshiyan2011, section 4.6, eq. (4.4)]; for single variables
and weights derived.

One regression on the file and on the released file, side by side.

A user who takes the released values for true ones gets other coefficients. How much of the two intervals coincides is

    overlap = 1/2 [ (u - l) / (U_1 - L_1) + (u - l) / (U_2 - L_2) ],   l = max(L_1, L_2),  u = min(U_1, U_2)

1 for the same interval, 0 where they meet in a point, below 0 where they do not meet. Source: standard.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_kind
from maskwell.core.phrases import shorten
from maskwell.core.verdicts import at_least, below, largest
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment
from maskwell.engines.model_frame import read_model_frame
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.estimation.regression.model_table import fit_model_table
from maskwell.estimation.regression.regression_result import Regression
from maskwell.microdata.stages.stage import Stage
from maskwell.notes import Note

WEAKENED = 0.9
"""An association that keeps less than this part is flagged."""
WEAK = 0.02
"""Associations below this are noise, and not flagged."""


def cramers_v(table: Any) -> float | None:
    """Cramér's V of a table of counts, shape (r, c); None with fewer than two rows or columns that are not empty."""
    J = as_floats(table, "table", finite=False)
    if J.ndim != 2:
        raise MatrixError("a-table-of-dimensions", ndim=J.ndim)
    if not np.isfinite(J).all() or (J < 0).any() or not J.sum() > 0:
        raise CountsError("a-table-needs-finite-counts")
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

    @property
    def kept(self) -> float | None:
        """The part of the association that is expected to be left; what is left in the released file otherwise."""
        now = self.after if self.expected is None else self.expected
        return None if not self.before or now is None else now / self.before

    @property
    def weakened(self) -> bool:
        """Whether a reader must be told: less than 0.9 of an association that is there."""
        return self.kept is not None and at_least(self.before or 0, WEAK) and below(self.kept, WEAKENED)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "columns": list(self.columns),
            "before": self.before,
            "expected": self.expected,
            "after": self.after,
            "kept": self.kept,
        }


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
    largest_relative: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "total_variation": self.total_variation,
            "hellinger": self.hellinger,
            "largest_change": self.largest_change,
            "largest_relative_change": self.largest_relative,
        }


def table_distance(before: Any, after: Any) -> TableDistance:
    """Distances of two tables of counts, of any shape but the same."""
    a, b = _shares(before), _shares(after)
    if a.shape != b.shape:
        raise MatrixError("tables-of-shapes", shape=a.shape, b_shape=b.shape)
    change = np.abs(a - b).ravel()
    some = a.ravel() > 0
    return TableDistance(
        float(change.sum() / 2),
        math.sqrt(float(((np.sqrt(a) - np.sqrt(b)) ** 2).sum()) / 2),
        float(change.max()),
        largest(change),
        float((change[some] / a.ravel()[some]).max()),
    )


def expected_variation(shift: Real, variance: Real) -> tuple[float, float]:
    """Total variation to expect where shares move by ``shift`` on average with this ``variance``, and the most.

        1/2 sum E|e_i|,  e_i normal        at most  1/2 sum sqrt(shift_i^2 + variance_i)

    where a matrix that keeps the counts has no shift. Source: derived; standard.
    """
    sd = np.sqrt(np.maximum(variance, 0))  # differences of rounding may be below zero
    z = np.divide(shift, sd, out=np.zeros(len(sd)), where=sd > 0)
    erf = np.array([math.erf(x / math.sqrt(2)) for x in z])
    folded = sd * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + shift * np.where(sd > 0, erf, np.sign(shift))
    return float(folded.sum() / 2), float(np.sqrt(shift**2 + sd**2).sum() / 2)


def _shares(table: Any) -> Real:
    try:
        values = as_floats(table, "table", finite=False)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if not np.isfinite(values).all() or (values < 0).any():
        raise CountsError("a-table-must-hold-finite-numbers")
    if not values.sum() > 0:
        raise CountsError("a-table-without-any-record")
    return np.asarray(values / values.sum())


SOLVED_LIMIT = 2000
"""States of a matrix that does not keep counts, up to which it is turned around."""


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
        """``n / factor``: records of an open file that would tell as much."""
        return np.asarray(self.n / self.factors)


def inflation_of(stage: Stage, variable: str) -> Inflation | None:
    """The inflation of the shares of one variable of a stage; None where the matrix cannot be turned around."""
    true, released, labels = _categories(stage, variable)
    s, mass = _squares(stage), stage.mass
    if not mass.sum() > 0:
        return None
    moved, variance = _released(stage, true, released, len(labels), s if stage.sizes is None else s * stage.sizes)
    spread = _open_spread(true, len(labels), s, mass)
    if stage.method == "swap":
        added = np.zeros(len(labels))  # margins are kept exactly
    elif stage.invariance in ("counts", "weights"):
        added = variance
    else:
        solved = _solved(stage, true, len(labels), s if stage.sizes is None else s * stage.sizes)
        if solved is None:
            return None
        added = solved
    factors = 1 + np.divide(np.maximum(added, 0), spread, out=np.zeros(len(labels)), where=spread > 0)
    scale, still = float(mass.sum()), stage.method == "swap"
    noise = np.zeros(len(labels)) if still else variance / scale**2
    return Inflation(tuple(labels), factors, noise, moved / scale, int(stage.counts.sum()))


def _categories(stage: Stage, variable: str) -> tuple[Array, Array, list[Hashable]]:
    """The category of one variable in each true and in each released state, and the labels."""
    return stage.state_codes[variable], stage.output_codes[variable], stage.levels[variable]


def _released(stage: Stage, true: Array, released: Array, k: int, s: Real) -> tuple[Real, Real]:
    """By how much the mass of each category moves on average, and ``sum_j s_j q_ij (1 - q_ij)``."""
    arrived, variance, mass = np.zeros(k), np.zeros(k), stage.mass
    for first, last, Q in _collapsed(stage, released, k):
        arrived += Q @ mass[first:last]
        variance += Q @ s[first:last] - Q.multiply(Q) @ s[first:last]
    return arrived - np.bincount(true, mass, minlength=k), variance


_AT_ONCE = 1 << 16
"""States whose columns are added up at once."""


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
        yield (
            first,
            last,
            csr_array(coo_array((p[some], (released[i[some]], j[some] - first)), shape=(k, last - first))),
        )
        start = int(end)


def _solved(stage: Stage, true: Array, k: int, s: Real) -> Real | None:
    """What turning the matrix around adds: the diagonal of ``A (L D_{Ps} L' - D_s) A'``."""
    design = stage.design
    if design.k > SOLVED_LIMIT or not design.identifiable:
        return None
    A = np.zeros((k, design.k))
    A[true, np.arange(design.k)] = 1
    return np.asarray(np.diag(A @ (design.second_moment(design.forward(s)) - np.diag(s)) @ A.T))


def _squares(stage: Stage) -> Real:
    own = stage.squares if stage.invariance == "weights" and stage.squares is not None else stage.counts
    return np.asarray(own, dtype=np.float64)


def _open_spread(true: Array, k: int, s: Real, mass: Real) -> Real:
    share = np.bincount(true, mass, minlength=k) / mass.sum()
    own = np.bincount(true, s, minlength=k)
    return np.asarray(own * (1 - share) ** 2 + (s.sum() - own) * share**2)


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
        said = [(turned, "change their sign"), (apart, "have intervals that do not meet")]
        lines = [f"{self.formula}: {shorten(', '.join(names), 50)} {what}" for names, what in said if names]
        lost = (
            [Note("only-one-file", formula=self.formula, missing=shorten(", ".join(self.missing), 50))]
            if self.missing
            else []
        )
        return (*lines, *lost)

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


def compare_regressions(
    formula: str, original: Any, released: Any, *, designs: Mapping[str, Design] | None = None, missing: str = "drop"
) -> RegressionComparison:
    """Fit one formula to the file and to the released file, taking released values as they are.

    Parameters
    ----------
    formula
        Such as ``"employed ~ age + C(region)"``.
    original, released
        Tables of pandas, polars or Arrow, dictionaries of columns, or paths of files.
    designs
        Designs of randomized columns, by name, to fit the released file with them as well: :func:`regress`.
    missing
        "drop" rows without a value, or "error".

    >>> table = {"smokes": ["yes", "no", "no", "yes", "no", "no", "yes", "no"] * 20, "age": list(range(160))}
    >>> comparison = compare_regressions("smokes ~ age", table, table)
    >>> comparison.mean_overlap, comparison.flags   # the same file: nothing changed
    (1.0, ())
    """
    check_kind(str, missing=missing)
    check_kind(Mapping | None, designs=designs)
    check_kind(str, formula=formula)
    first, second = (_open(formula, data, missing) for data in (original, released))
    third = _corrected(formula, released, designs, missing) if designs else None
    if first.family != second.family:
        raise ParameterError("the-outcome-gives-a-regression", family=first.family, second_family=second.family)
    shared = [term for term in first.terms if term in second.terms]
    rows = tuple(_compared(term, first, second, third) for term in shared)
    alone = tuple(sorted({*first.terms} ^ {*second.terms}))
    return RegressionComparison(formula, rows, alone, first, second, third)


def _open(formula: str, data: Any, missing: str) -> Regression:
    return fit_model_table(read_model_frame(data, formula, [], missing=missing, randomized_columns=False))


def _corrected(formula: str, data: Any, designs: Mapping[str, Design], missing: str) -> Regression:
    assigned = [Assignment.of(name, design) for name, design in designs.items()]
    return fit_model_table(read_model_frame(data, formula, assigned, missing=missing))


def _compared(term: str, first: Regression, second: Regression, third: Regression | None) -> ComparedTerm:
    a, b = first.terms.index(term), second.terms.index(term)
    known = third is not None and term in third.terms
    c = third.terms.index(term) if third is not None and known else None
    ends = first.confidence_interval(LEVEL)[a], second.confidence_interval(LEVEL)[b]
    return ComparedTerm(
        term,
        float(first.estimates[a]),
        float(first.standard_error[a]),
        float(second.estimates[b]),
        float(second.standard_error[b]),
        None if third is None or c is None else float(third.estimates[c]),
        None if third is None or c is None else float(third.standard_error[c]),
        interval_overlap(*ends),
    )


def interval_overlap(first: Any, second: Any) -> float | None:
    """The part that two intervals have in common, as the mean of its parts of both; None where one is not finite."""
    (a, b), (c, d) = first, second
    if not np.isfinite([a, b, c, d]).all() or not (b > a and d > c):
        return None
    common = min(b, d) - max(a, c)
    return float((common / (b - a) + common / (d - c)) / 2)
