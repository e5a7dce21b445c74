"""One regression on the file and on the released file, side by side.

A user who takes the released values for true ones gets other coefficients. How much of the two intervals coincides is

    overlap = 1/2 [ (u - l) / (U_1 - L_1) + (u - l) / (U_2 - L_2) ],   l = max(L_1, L_2),  u = min(U_1, U_2)

1 for the same interval, 0 where they meet in a point, below 0 where they do not meet. Source: standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.phrases import shorten
from maskwell.designs.design import Design
from maskwell.engines.model_frame import read_model_frame
from maskwell.errors import ParameterError
from maskwell.estimation.regression.model_table import fit_model_table
from maskwell.estimation.regression.regression_result import Regression

LEVEL = 0.95


@dataclass(frozen=True)
class ComparedTerm:
    """A coefficient in the file and in the released file.

    Attributes
    ----------
    term
        Its name.
    original, original_error, released, released_error
        The estimates and their standard errors.
    corrected, corrected_error
        From the released file with the designs of the randomized columns, where these were given.
    overlap
        Of the two intervals; ``None`` where one is not defined.
    """

    term: str
    original: float
    original_error: float
    released: float
    released_error: float
    corrected: float | None = None
    corrected_error: float | None = None
    overlap: float | None = None

    @property
    def same_sign(self) -> bool:
        """Whether both coefficients point the same way."""
        return self.original * self.released >= 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.__dict__, "same_sign": self.same_sign}


@dataclass(frozen=True, eq=False)
class RegressionComparison:
    """A regression on both files.

    Attributes
    ----------
    formula
        As typed.
    terms
        The coefficients that both have.
    missing
        Names of coefficients that only one of them has, such as those of a category that no released record holds.
    original, released, corrected
        The regressions.
    """

    formula: str
    terms: tuple[ComparedTerm, ...]
    missing: tuple[str, ...]
    original: Regression
    released: Regression
    corrected: Regression | None = None

    @property
    def mean_overlap(self) -> float | None:
        """Mean overlap of the intervals."""
        told = [term.overlap for term in self.terms if term.overlap is not None]
        return float(np.mean(told)) if told else None

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        turned = [term.term for term in self.terms if not term.same_sign]
        apart = [term.term for term in self.terms if term.overlap is not None and term.overlap < 0]
        said = [(turned, "change their sign"), (apart, "have intervals that do not meet")]
        lines = [f"{self.formula}: {shorten(', '.join(names), 50)} {what}" for names, what in said if names]
        lost = [f"{self.formula}: only one file has {shorten(', '.join(self.missing), 50)}"] if self.missing else []
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
    >>> found = compare_regressions("smokes ~ age", table, table)
    >>> found.mean_overlap, found.flags   # the same file: nothing changed
    (1.0, ())
    """
    check_kind(str, missing=missing)
    check_kind(Mapping | None, designs=designs)
    check_kind(str, formula=formula)
    first, second = (_open(formula, data, missing) for data in (original, released))
    third = _corrected(formula, released, designs, missing) if designs else None
    if first.family != second.family:
        raise ParameterError(
            f"the outcome gives a {first.family} regression in one file and a {second.family} one in the other",
            hint="give both files the same categories of the outcome",
        )
    shared = [term for term in first.terms if term in second.terms]
    rows = tuple(_compared(term, first, second, third) for term in shared)
    alone = tuple(sorted({*first.terms} ^ {*second.terms}))
    return RegressionComparison(formula, rows, alone, first, second, third)


def _open(formula: str, data: Any, missing: str) -> Regression:
    return fit_model_table(read_model_frame(data, formula, [], missing=missing, randomized_columns=False))


def _corrected(formula: str, data: Any, designs: Mapping[str, Design], missing: str) -> Regression:
    return fit_model_table(read_model_frame(data, formula, assignments_of(designs), missing=missing))


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
    """The part that two intervals have in common, as the mean of its parts of both; ``None`` where one is not finite.

    >>> interval_overlap((0, 2), (1, 3)), interval_overlap((0, 1), (2, 3))
    (0.5, -1.0)
    """
    (a, b), (c, d) = first, second
    if not np.isfinite([a, b, c, d]).all() or not (b > a and d > c):
        return None
    common = min(b, d) - max(a, c)
    return float((common / (b - a) + common / (d - c)) / 2)
