"""Odds ratios of two variables.

    ln OR = ln Pi_11 - ln Pi_12 - ln Pi_21 + ln Pi_22,     Var = s' V s,   s = (1/Pi_11, -1/Pi_12, -1/Pi_21, 1/Pi_22)
With a cell of zero or less the most likely table is used, with all phi of ``2 (l* - l_p(phi)) <= chi2``, where
``l_p(phi)`` is the highest log-likelihood with the log odds ratio phi, and ``pi = softmax(B alpha + phi e_a)``: without
an end where the best table with nobody in b, or in c, does not fall so far. Source: standard; parametrisation derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_level
from maskwell.core.display import Result, entries, number_or_none
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import above
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.maximisation.maximum import Maximum, maximise
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import covariance_of
from maskwell.notes import Note

FARTHEST = 40.0  # log odds ratios beyond this are taken for infinite
_STARTS = (1e-3, 0.1, 0.5)  # shares of the uniform distribution in the tables that a climb starts from
MOST_STEPS = 200  # of a climb
WARM = 1e-6  # the same where a climb starts from the end of another
EXACT = 1e-6  # error of a log odds ratio
APART = 1e-4  # of two tops of a log-likelihood that differ


@dataclass(frozen=True, eq=False)
class TableLikelihood:
    """The likelihood of the cells of a table, for all of its odds ratios."""

    design: Design
    reports: Array
    _empty: dict[int, float] = field(default_factory=dict)

    @cached_property
    def best(self) -> Maximum:
        """The most likely table."""
        return maximise([self.design], [self.reports])

    @cached_property
    def P(self) -> Real:
        """Lines of the matrix for the reports that were seen, shape (s, k)."""
        return np.asarray(self.design.matrix()[self.reports > 0])

    @cached_property
    def counts(self) -> Real:
        """How often each of them was seen."""
        return np.asarray(self.reports[self.reports > 0], dtype=np.float64)

    def without(self, cell: int) -> float:
        """The log-likelihood of the most likely table with nobody in a cell."""
        if cell not in self._empty:
            one = maximise([self.design], [self.reports], start=self.best.pi, fixed=(cell, 0.0))
            self._empty[cell] = one.log_likelihood if self.best.pi[cell] > 0 else self.best.log_likelihood
        return self._empty[cell]


@dataclass(frozen=True, eq=False)
class OddsProfile:
    """The likelihood of a table as a function of one log odds ratio."""

    table: TableLikelihood  # The likelihood of the cells
    cells: tuple[int, ...]  # The four cells a, b, c, d
    value: float  # The log odds ratio of the most likely table (infinite or NaN where it has empty cells)

    def interval(self, level: float) -> tuple[float, float]:
        """The log odds ratios that the reports do not contradict at this level."""
        if math.isnan(self.value):
            return -math.inf, math.inf
        from scipy import special

        bound = self.table.best.log_likelihood - float(special.chdtri(1, 1 - level)) / 2
        return self._end(-1, bound), self._end(1, bound)

    def _end(self, direction: int, bound: float) -> float:
        a, b, c, d = self.cells
        if max(map(self.table.without, (b, c) if direction > 0 else (a, d))) >= bound:
            return direction * math.inf
        end = self._crossing(self._warm(bound), direction)
        if math.isfinite(end) and self.log_likelihood(end) > bound + APART:  # a climb stayed below the top
            return self._crossing(lambda phi: self.log_likelihood(phi) - bound, direction)
        return end

    def _warm(self, bound: float) -> Callable[[float], float]:
        """How far the log-likelihood lies above the bound, by climbs that begin where the one before ended."""
        last = self._start(_STARTS[1])

        def excess(phi: float) -> float:
            nonlocal last
            reached, shares = self._climb(phi, last)
            last = (1 - WARM) * shares + WARM / len(shares)
            return reached - bound

        return excess

    def _crossing(self, excess: Callable[[float], float], direction: int) -> float:
        """Where the excess is zero in this direction, as seen from the most likely table or from near it."""
        from scipy.optimize import brentq

        here = (
            self.value if math.isfinite(self.value) else float(SIGNS @ np.log(self._start(_STARTS[1])[[*self.cells]]))
        )
        inside = math.isfinite(self.value) or excess(here) >= 0
        step = 0.5 * direction if inside else -0.5 * direction
        while abs(here) < FARTHEST:
            there = here + step
            if (excess(there) >= 0) is not inside:
                return float(brentq(excess, here, there, xtol=EXACT))
            here, step = there, 2 * step
        return direction * math.inf

    def log_likelihood(self, phi: float) -> float:
        """The highest log-likelihood of tables with this log odds ratio."""
        return max(self._climb(phi, self._start(spread))[0] for spread in _STARTS)

    def _start(self, spread: float) -> Real:
        return np.asarray((1 - spread) * self.table.best.pi + spread / self.table.P.shape[1])

    def _climb(self, phi: float, start: Real) -> tuple[float, Real]:
        """The highest log-likelihood that a climb from these shares reaches, and the shares there."""
        from scipy.optimize import minimize

        moved, (_, b, c, d) = start.copy(), self.cells  # the same margins of the two by two table, and this odds ratio
        moved[[*self.cells]] = two_by_two(start[[*self.cells]], phi)
        optimum = minimize(
            self._value,
            np.log(moved[[b, c, *self._others]] / moved[d]),
            args=(phi,),
            jac=self._slope,
            hess=self._curvature,
            method="trust-exact",
            options={"gtol": 1e-9, "maxiter": MOST_STEPS},
        )
        return -float(optimum.fun) * float(self.table.counts.sum()), self._pi(optimum.x, phi)

    @cached_property
    def _others(self) -> list[int]:
        return [j for j in range(self.table.P.shape[1]) if j not in self.cells]

    @cached_property
    def _basis(self) -> Real:
        """B, shape (k, k - 2)."""
        a, b, c, _ = self.cells
        B = np.zeros((self.table.P.shape[1], self.table.P.shape[1] - 2))
        B[[a, b], 0] = B[[a, c], 1] = 1
        B[self._others, range(2, B.shape[1])] = 1
        return B

    def _pi(self, alpha: Real, phi: float) -> Real:
        theta = self._basis @ alpha
        theta[self.cells[0]] += phi
        e = np.exp(theta - theta.max())
        return np.asarray(e / e.sum())

    def _value(self, alpha: Real, phi: float) -> float:
        counts = self.table.counts
        with np.errstate(divide="ignore"):
            return -float(counts @ np.log(self.table.P @ self._pi(alpha, phi))) / float(counts.sum())

    def _slope(self, alpha: Real, phi: float) -> Real:
        pi, share = self._pi(alpha, phi), self.table.counts / self.table.counts.sum()
        g = (share / (self.table.P @ pi)) @ self.table.P
        return np.asarray(-(pi * (g - 1)) @ self._basis)

    def _curvature(self, alpha: Real, phi: float) -> Real:
        pi, share, P = self._pi(alpha, phi), self.table.counts / self.table.counts.sum(), self.table.P
        lam = P @ pi
        g = (share / lam) @ P
        scaled = P * (np.sqrt(share) / lam)[:, None] * pi
        second = np.diag(pi * (g - 1)) + np.outer(pi, pi) - scaled.T @ scaled
        return np.asarray(-(self._basis.T @ second @ self._basis))


def two_by_two(cells: Real, phi: float) -> Real:
    """The cells a, b, c, d with the same row and column sums whose log odds ratio is ``phi``."""
    from scipy.optimize import brentq

    a, b, c, d = cells
    up, down = min(b, c), min(a, d)  # how far a can rise and fall; sums of positive parts lose no digits
    rising = np.array([a - down, b - up, c - up, d - down])

    def at(u: float) -> Real:
        high, low = 1 / (1 + math.exp(-u)), 1 / (1 + math.exp(u))
        return np.asarray(rising + (up + down) * np.array([high, low, low, high]), dtype=np.float64)

    def excess(u: float) -> float:
        la, lb, lc, ld = np.log(at(u))
        return float(la - lb - lc + ld - phi)

    reach = abs(phi) + 60
    return at(float(brentq(excess, -reach, reach, xtol=1e-10)))


Pair = tuple[Hashable, Hashable]
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
PROFILED = 36  # cells of a table with profile intervals for all odds ratios; a hundred would take ten seconds
ON_REQUEST = (
    f"in tables of more than {PROFILED} cells profile intervals are made for one odds ratio at a time, by "
    "odds_ratio(rows, columns) in Python"
)


@dataclass(frozen=True, eq=False, repr=False)
class OddsRatio(Result):
    """An odds ratio with its interval."""

    # The two variables, and the two categories of each
    names: tuple[str, str]
    rows: Pair
    columns: Pair
    # On the log scale; the error is NaN where only a profile interval is available (which is then flagged)
    log_odds_ratio: float
    standard_error: float
    method: str  # `moments`, `ml`, or `none` where there is no odds ratio
    estimate: Estimate
    profile: OddsProfile | None = None
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    @property
    def value(self) -> float:
        """The odds ratio; infinite where the most likely table has an empty cell below the line."""
        return _exp(self.log_odds_ratio)

    @property
    def interval_method(self) -> str:
        """``wald`` on the log scale, ``profile``, or ``none``."""
        return "profile" if self.profile is not None else "none" if math.isnan(self.standard_error) else "wald"

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the odds ratio, from 0 to infinity at most."""
        check_level(level)
        if self.profile is not None:
            low, high = self.profile.interval(level)
        else:
            half = self.estimate.critical_value((1 + level) / 2) * self.standard_error
            low, high = self.log_odds_ratio - half, self.log_odds_ratio + half
        return _exp(low), _exp(high)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "variables": list(self.names),
            **entries(self, "rows columns"),
            "odds_ratio": number_or_none(self.value),
            "log_odds_ratio": number_or_none(self.log_odds_ratio),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
            "level": level,
            **entries(self, "method interval_method flags"),
        }

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        pairs = zip(self.names, (self.rows, self.columns), strict=True)
        what = " x ".join(f"{name} ({a} against {b})" for name, (a, b) in pairs)
        interval = f"[{Printed(low):.4g}, {Printed(high):.4g}] by {self.method}"
        lines = [f"Odds ratio of {what}: {Printed(self.value):.4g} {interval}"]
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def odds_ratios_of(estimate: Estimate, layout: Layout, likelihood: TableLikelihood | None) -> tuple[OddsRatio, ...]:
    """Every category of both variables against the last."""
    first, second = _two(layout)
    rows, columns = first.inputs.labels, second.inputs.labels
    pairs = [((a, rows[-1]), (b, columns[-1])) for a in rows[:-1] for b in columns[:-1]]
    every = (odds_ratio_of(estimate, layout, row, column, likelihood) for row, column in pairs)
    return tuple(map(without_profile, every) if len(estimate.pi_hat) > PROFILED else every)


def without_profile(one: OddsRatio) -> OddsRatio:
    """The same without the interval that takes a search; one with a standard error as it is."""
    return one if one.profile is None else replace(one, profile=None, flags=(*one.flags[:-1], ON_REQUEST))


def odds_ratio_of(
    estimate: Estimate, layout: Layout, rows: Pair | None, columns: Pair | None, likelihood: TableLikelihood | None
) -> OddsRatio:
    """The odds ratio of two categories of each of two variables."""
    first, second = _two(layout)
    row, column = _pair(first, rows, "rows"), _pair(second, columns, "columns")
    r, c = ([v.inputs.code(one) for one in pair] for v, pair in ((first, row), (second, column)))
    cells = [i * len(second.inputs) + j for i in r for j in c]
    about = ((first.name, second.name), row, column)
    shares = estimate.pi_hat[cells]
    if above(shares, 0, scale=1).all():
        slope = SIGNS / shares
        variance = float(slope @ covariance_of(estimate)[np.ix_(cells, cells)] @ slope)
        error = math.sqrt(variance) if variance >= 0 else math.nan
        return OddsRatio(*about, float(SIGNS @ np.log(shares)), error, estimate.method, estimate)
    if likelihood is None:
        note = Note("a-cell-of-the-unbiased-estimate")
        return OddsRatio(*about, math.nan, math.nan, "none", estimate, None, (note,))
    return _by_likelihood(about, estimate, cells, likelihood)


def _by_likelihood(
    about: tuple[tuple[str, str], Pair, Pair], estimate: Estimate, cells: Sequence[int], likelihood: TableLikelihood
) -> OddsRatio:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(likelihood.best.pi[list(cells)])
        value = float(SIGNS @ logs) if np.isfinite(logs).all() else float(logs[0] + logs[3] - (logs[1] + logs[2]))
    notes = [] if estimate.method == "ml" else [Note("a-cell-of-the-unbiased-estimate-is")]
    if math.isnan(value):
        notes.append(Note("the-odds-ratio-is-not-defined"))
    elif math.isinf(value):
        notes.append(Note("the-odds-ratio-is-the-most", words="infinite" if value > 0 else "zero"))
    flags = (*notes, "a standard error is not available here: see the profile interval")
    return OddsRatio(*about, value, math.nan, "ml", estimate, OddsProfile(likelihood, tuple(cells), value), flags)


def _two(layout: Layout) -> tuple[Variable, Variable]:
    if len(layout.variables) != 2:
        raise ParameterError(
            "an-odds-ratio-is-of-two", variables_count=len(layout.variables), names=", ".join(layout.names)
        )
    return layout.variables[0], layout.variables[1]


def _pair(variable: Variable, pair: Any, what: str) -> Pair:
    labels = variable.inputs.labels
    if pair is None and len(labels) == 2:
        return labels[0], labels[1]
    if pair is None or len(pair) != 2 or pair[0] == pair[1]:
        raise ParameterError(
            "has-categories-an-odds-ratio-compares",
            name=variable.name,
            labels_count=len(labels),
            what=what,
            label=labels[0],
            label_shown=labels[1],
        )
    return pair[0], pair[1]


def _exp(x: float) -> float:
    return math.inf if x > 700 else math.exp(x)
