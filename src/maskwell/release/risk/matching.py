"""Identity disclosure of one target: somebody known to be in the file is looked for among the released records.

The target's true value is x. Of the T released records with value x one is picked at random. With N_j records of true
value j, each released as x with probability ``p_xj``,

    T  = sum_j Bin(N_j, p_xj),      T' = the same without the target,

    Pr(correct | T = t) = (p_xx / t) Pr(T' = t - 1) / Pr(T = t),      t >= 1,
    Pr(correct)         = p_xx E[1 / (1 + T')].

Source: derived; [Adeshiyan2011, eq. (4.24)] corrected, whose printed form gives values above one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats, shown_short
from maskwell.core.arrays import Array, Real
from maskwell.core.labels import is_missing
from maskwell.designs.dense import design_of
from maskwell.errors import CountsError, MatrixError, UnknownCategoryError
from maskwell.release.risk.cell_risks import CellRisks, cell_risks
from maskwell.release.risk.strict import strict_risk
from maskwell.release.risk.summands import summands_of
from maskwell.release.risk.targets import chance_given_arrivals, check_level, quantile_places
from maskwell.release.risk.windows import Window, windows

__all__ = ["CellRisks", "MatchRisk", "cell_risks", "match_risk", "match_risk_row"]

DIRECT = 2000
"""Rows of at most so many records are convolved term by term, which keeps the smallest probabilities accurate."""

TOLD = 1e-12
"""Where T = t is less likely than this and was found by a transform, nothing is said about it."""


@dataclass(frozen=True, eq=False)
class MatchRisk:
    """The chance that a target is matched correctly.

    Attributes
    ----------
    t, pmf, p_correct_given_t
        Numbers t of released records with the target's value, Pr(T = t), and Pr(correct | T = t), 0 for t = 0.
    t_low, t_high
        The range that holds T with at least the stated probability, ends included.
    risk_in_range
        The largest Pr(correct | T = t) for t in that range; 0 if nothing may arrive.
    risk_strict
        The largest over every t that is possible.
    p_correct
        Before T is known; no match is made where T = 0.
    before
        The chance in the original file, ``1 / N_x``.
    """

    t: Array = field(repr=False)
    pmf: Real = field(repr=False)
    p_correct_given_t: Real = field(repr=False)
    t_low: int
    t_high: int
    risk_in_range: float
    risk_strict: float
    p_correct: float
    before: float

    def at(self, t: int) -> tuple[float, float | None]:
        """Pr(T = t) and Pr(correct | T = t); 0 and ``None`` where t cannot be, or is too unlikely to tell."""
        place = int(np.searchsorted(self.t, t))
        if place == len(self.t) or self.t[place] != t:
            return 0.0, None
        return float(self.pmf[place]), float(self.p_correct_given_t[place]) if t else None

    def to_dict(self) -> dict[str, Any]:
        """All values; numbers t as texts."""
        return {
            "pmf_T": {str(t): p for t, p in zip(self.t.tolist(), self.pmf.tolist(), strict=True)},
            "p_correct_given_T": {
                str(t): p for t, p in zip(self.t.tolist(), self.p_correct_given_t.tolist(), strict=True) if t
            },
            "t_low": self.t_low,
            "t_high": self.t_high,
            "risk_in_range": self.risk_in_range,
            "risk_strict": self.risk_strict,
            "p_correct": self.p_correct,
            "before": self.before,
        }


def match_risk(counts: Any, P: Any, x: Any, *, level: float = 0.95) -> MatchRisk:
    """Risk of a record with true value x.

    Parameters
    ----------
    counts
        Records with each true value, shape (k,).
    P
        The matrix, ``P[i, j] = Pr(released i | true j)``, or a design.
    x
        The target's value: its number, or its label where a design with labels is given.
    level
        Probability of the range for T.

    >>> risk = match_risk([2, 3], [["3/4", "1/6"], ["1/4", "5/6"]], 0)
    >>> round(risk.before, 4), round(risk.risk_in_range, 4), round(risk.p_correct, 4)   # 1/2 before, 5/11 after
    (0.5, 0.4545, 0.3838)
    """
    design = design_of(P)
    found = check_counts(counts)
    if len(found) != design.k:
        raise MatrixError(
            f"{len(found)} counts for a matrix of {design.k} columns", hint="give one count for each true value"
        )
    truth = _place(x, design.inputs.labels, design.k)
    report = _place(x, design.outputs.labels, design.m)
    row = design.entries(np.array([report]), np.arange(design.k))[0]
    return _risk(found.astype(np.int64), row, truth, level)


def match_risk_row(counts: Any, row: Any, x: int, *, level: float = 0.95) -> MatchRisk:
    """Risk of a record with true value x, from the row of P that leads to the release of x.

    >>> risk = match_risk_row([1, 2, 5, 40, 3000, 2_000_000], [0.3, 0.07, 0.028, 0.0035, 1.4 / 3e4, 7e-8], 0)
    >>> risk.t_high, round(risk.risk_in_range, 6)   # a unique record that stays with 0.3, among two million
    (3, 0.374743)
    """
    found = check_counts(counts)
    p = as_floats(row, "row", finite=False)
    if p.shape != found.shape or not np.isfinite(p).all() or (p < 0).any() or (p > 1).any():
        raise MatrixError(
            f"a row of {p.size} entries for {len(found)} counts, from {np.min(p, initial=0):g} to"
            f" {np.max(p, initial=0):g}",
            hint="give the row of P that leads to x: one probability from 0 to 1 for each count",
        )
    return _risk(found.astype(np.int64), p, _place(x, None, len(found)), level)


def _place(x: Any, labels: Any, size: int) -> int:
    """The number of a category that is given by its label, or by its number."""
    known = () if labels is None else tuple(labels)
    if isinstance(x, Hashable) and not is_missing(x) and x in known:
        return known.index(x)
    if isinstance(x, int | np.integer) and not isinstance(x, bool) and 0 <= x < size:
        return int(x)
    raise UnknownCategoryError(
        f"{shown_short(x)} is none of the {size} categories",
        hint=f"give a number from 0 to {size - 1}, or a label",
        value=x,
    )


def _risk(n: Array, p: Real, x: int, level: float) -> MatchRisk:
    check_level(level)
    if n[x] == 0:
        raise CountsError(
            f"no record has the value of category {x}: no record can be the target", hint="choose a value that occurs"
        )
    window, least = _window(n, p, x)
    pmf, given = (values[0] for values in chance_given_arrivals(window, p[[x]]))
    t = window.first[0] + np.arange(len(pmf))
    low, high = (int(place[0]) for place in quantile_places(pmf[None, :], level))
    told = pmf > least
    return MatchRisk(
        t=t[told],
        pmf=pmf[told],
        p_correct_given_t=given[told],
        t_low=int(t[low]),
        t_high=int(t[high]),
        risk_in_range=float(given[low : high + 1].max()),
        risk_strict=strict_risk(n, p, float(p[x])),
        p_correct=float(p[x] * (window.pmf[0] / (t + 1)).sum()),
        before=1 / int(n[x]),
    )


def _window(n: Array, p: Real, x: int) -> tuple[Window, float]:
    """The distribution of T' and the least Pr(T = t) that is told: all of it for few records, else a window."""
    if n[p > 0].sum() > DIRECT:
        row = np.zeros(len(n), dtype=np.int64)
        return next(windows(summands_of(row, n, p, 1), row[:1], p[[x]])), TOLD
    others = n.copy()
    others[x] -= 1
    pmf = np.append(_convolved(others, p), 0.0)
    return Window(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), pmf[None, :]), 0.0


def _convolved(n: Array, p: Real) -> Real:
    """The distribution of a sum of binomials: products of polynomials with terms of 0 or more, nothing subtracted."""
    pmf = np.ones(1)
    for one in np.unique(p[(n > 0) & (p > 0)]).tolist():
        pmf = np.convolve(pmf, _binomial(int(n[p == one].sum()), one))
    return pmf


def _binomial(n: int, p: float) -> Real:
    """(1 - p + p s)^n by squaring."""
    half = _binomial(n // 2, p) if n > 1 else np.ones(1)
    square = np.convolve(half, half)
    return np.convolve(square, [1 - p, p]) if n % 2 else square
