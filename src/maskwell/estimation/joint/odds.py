"""Odds ratios of two variables.

    ln OR = ln Pi_11 - ln Pi_12 - ln Pi_21 + ln Pi_22,     Var = s' V s,   s = (1/Pi_11, -1/Pi_12, -1/Pi_21, 1/Pi_22)

where V is the covariance of the four cells. An unbiased estimate may have a cell of zero or less: it then has no odds
ratio, and the most likely table is used instead, with an interval from the profile of the likelihood: how likely the
reports can be made for each value phi of the log odds ratio.

    l_p(phi) = max { sum_i x_i ln (P pi)_i :  pi a distribution with  ln(pi_a pi_d / (pi_b pi_c)) = phi }

The shares are written as ``pi = softmax(B alpha + phi e_a)``: the cells a, b, c, d of the two by two table have logits
``r + s + phi, r, s, 0``, every other cell a logit of its own. The interval holds all phi with
``2 (l* - l_p(phi)) <= chi2``; it has no end where the likelihood never falls so far.

Source: standard; derived for randomized reports by the delta method; the parametrisation is derived.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_level
from maskwell.core.display import Result, number_or_none
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.maximum_likelihood import Maximum, maximise
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import covariance_of

FARTHEST = 40.0
"""Log odds ratios beyond this are taken for infinite."""
_STARTS = (1e-3, 0.1, 0.5)  # shares of the uniform distribution in the tables that a climb starts from


@dataclass(frozen=True, eq=False)
class OddsProfile:
    """The likelihood of a table as a function of one log odds ratio.

    Attributes
    ----------
    P, counts
        Lines of the matrix for the reports that were seen, shape (s, k), and how often they were.
    cells
        The four cells a, b, c, d.
    best, value
        The most likely table, and its log odds ratio (infinite or NaN where it has empty cells).
    """

    P: Real
    counts: Real
    cells: tuple[int, ...]
    best: Maximum
    value: float

    @classmethod
    def of(cls, design: Design, counts: Array, cells: Sequence[int], best: Maximum, value: float) -> OddsProfile:
        """From a sample and its most likely table."""
        seen = counts > 0
        return cls(design.matrix()[seen], counts[seen].astype(np.float64), tuple(cells), best, value)

    def interval(self, level: float) -> tuple[float, float]:
        """The log odds ratios that the reports do not contradict at this level."""
        if math.isnan(self.value):
            return -math.inf, math.inf
        from scipy import special

        bound = self.best.log_likelihood - float(special.chdtri(1, 1 - level)) / 2
        return self._end(-1, bound), self._end(1, bound)

    def _end(self, direction: int, bound: float) -> float:
        from scipy.optimize import brentq

        inside, step = max(-FARTHEST, min(FARTHEST, self.value)), 0.5
        while abs(inside) < FARTHEST or inside * direction < 0:
            outside = max(-FARTHEST, min(FARTHEST, inside + direction * step))
            if self.log_likelihood(outside) < bound:
                return float(brentq(lambda phi: self.log_likelihood(phi) - bound, inside, outside, xtol=1e-7))
            inside, step = outside, 2 * step
        return direction * math.inf

    def log_likelihood(self, phi: float) -> float:
        """The highest log-likelihood of tables with this log odds ratio."""
        return max(self._climb(phi, start) for start in _STARTS)

    def _climb(self, phi: float, spread: float) -> float:
        from scipy.optimize import minimize

        start = (1 - spread) * self.best.pi + spread / self.P.shape[1]
        alpha = self._logits(self._with_odds(start, phi))
        optimum = minimize(
            self._value,
            alpha,
            args=(phi,),
            jac=self._slope,
            hess=self._curvature,
            method="trust-exact",
            options={"gtol": 1e-9},
        )
        return -float(optimum.fun) * float(self.counts.sum())

    # ---- logits: alpha = (r, s, one for each other cell)

    @property
    def _others(self) -> list[int]:
        return [j for j in range(self.P.shape[1]) if j not in self.cells]

    def _basis(self) -> Real:
        a, b, c, _ = self.cells
        B = np.zeros((self.P.shape[1], self.P.shape[1] - 2))
        B[[a, b], 0] = B[[a, c], 1] = 1
        for column, j in enumerate(self._others, start=2):
            B[j, column] = 1
        return B

    def _with_odds(self, pi: Real, phi: float) -> Real:
        """The same margins of the two by two table, with this log odds ratio."""
        moved, cells = pi.copy(), list(self.cells)
        moved[cells] = two_by_two(pi[cells], phi)
        return moved

    def _logits(self, pi: Real) -> Real:
        _, b, c, d = self.cells
        return np.asarray(np.log(pi[[b, c, *self._others]] / pi[d]))

    def _pi(self, alpha: Real, phi: float) -> Real:
        theta = self._basis() @ alpha
        theta[self.cells[0]] += phi
        e = np.exp(theta - theta.max())
        return np.asarray(e / e.sum())

    # ---- minus the mean log-likelihood, with its first and second derivative in alpha

    def _value(self, alpha: Real, phi: float) -> float:
        with np.errstate(divide="ignore"):
            return -float(self.counts @ np.log(self.P @ self._pi(alpha, phi))) / float(self.counts.sum())

    def _slope(self, alpha: Real, phi: float) -> Real:
        pi = self._pi(alpha, phi)
        share = self.counts / self.counts.sum()
        g = (share / (self.P @ pi)) @ self.P
        return np.asarray(-(pi * (g - 1)) @ self._basis())

    def _curvature(self, alpha: Real, phi: float) -> Real:
        pi, share = self._pi(alpha, phi), self.counts / self.counts.sum()
        lam = self.P @ pi
        g = (share / lam) @ self.P
        scaled = self.P * (np.sqrt(share) / lam)[:, None] * pi
        second = np.diag(pi * (g - 1)) + np.outer(pi, pi) - scaled.T @ scaled
        B = self._basis()
        return np.asarray(-(B.T @ second @ B))


def two_by_two(cells: Real, phi: float) -> Real:
    """The cells a, b, c, d with the same row and column sums whose log odds ratio is ``phi``.

    >>> cells = two_by_two(np.array([0.1, 0.2, 0.3, 0.4]), 0.0)
    >>> cells.round(2).tolist()   # independent
    [0.12, 0.18, 0.28, 0.42]
    """
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
NOT_POSITIVE = "a cell of the unbiased estimate is zero or less, so it has no odds ratio"


@dataclass(frozen=True, eq=False, repr=False)
class OddsRatio(Result):
    """An odds ratio with its interval.

    Attributes
    ----------
    names, rows, columns
        The two variables, and the two categories of each.
    log_odds_ratio, standard_error
        On the log scale; the error is NaN where only a profile interval is available (which is then flagged).
    method
        ``moments``, ``ml``, or ``none`` where there is no odds ratio.
    flags
        What a reader should know, in words.
    """

    names: tuple[str, str]
    rows: Pair
    columns: Pair
    log_odds_ratio: float
    standard_error: float
    method: str
    estimate: Estimate
    profile: OddsProfile | None = None
    flags: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The odds ratio; infinite where the most likely table has an empty cell below the line."""
        return math.inf if self.log_odds_ratio > 700 else math.exp(self.log_odds_ratio)

    @property
    def interval_method(self) -> str:
        """``wald`` on the log scale, ``profile``, or ``none``."""
        return "none" if self.method == "none" else "wald" if self.profile is None else "profile"

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
            "rows": list(self.rows),
            "columns": list(self.columns),
            "odds_ratio": number_or_none(self.value),
            "log_odds_ratio": number_or_none(self.log_odds_ratio),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
            "level": level,
            "method": self.method,
            "interval_method": self.interval_method,
            "flags": list(self.flags),
        }

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        pairs = zip(self.names, (self.rows, self.columns), strict=True)
        what = " x ".join(f"{name} ({a} against {b})" for name, (a, b) in pairs)
        interval = f"[{Printed(low):.4g}, {Printed(high):.4g}] by {self.method}"
        lines = [f"Odds ratio of {what}: {Printed(self.value):.4g} {interval}"]
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def odds_ratios_of(estimate: Estimate, layout: Layout) -> tuple[OddsRatio, ...]:
    """Every category of both variables against the last."""
    first, second = _two(layout)
    rows, columns = first.inputs.labels, second.inputs.labels
    return tuple(
        odds_ratio_of(estimate, layout, (a, rows[-1]), (b, columns[-1])) for a in rows[:-1] for b in columns[:-1]
    )


def odds_ratio_of(estimate: Estimate, layout: Layout, rows: Pair | None, columns: Pair | None) -> OddsRatio:
    """The odds ratio of two categories of each of two variables."""
    first, second = _two(layout)
    row, column = _pair(first, rows, "rows"), _pair(second, columns, "columns")
    r, c = ([v.inputs.code(one) for one in pair] for v, pair in ((first, row), (second, column)))
    cells = [i * len(second.inputs) + j for i in r for j in c]
    about = ((first.name, second.name), row, column)
    shares = estimate.pi_hat[cells]
    if (shares > 0).all():
        return OddsRatio(*about, *_by_delta(shares, covariance_of(estimate), cells), estimate.method, estimate)
    if len(estimate.samples) != 1:
        note = f"{NOT_POSITIVE}, and there are no plain counts for a most likely table"
        return OddsRatio(*about, math.nan, math.nan, "none", estimate, None, (note,))
    return _by_likelihood(about, estimate, cells)


def _by_delta(shares: Real, covariance: Real, cells: Sequence[int]) -> tuple[float, float]:
    slope = SIGNS / shares
    variance = float(slope @ covariance[np.ix_(cells, cells)] @ slope)
    return float(SIGNS @ np.log(shares)), math.sqrt(variance) if variance >= 0 else math.nan


def _by_likelihood(about: tuple[tuple[str, str], Pair, Pair], estimate: Estimate, cells: Sequence[int]) -> OddsRatio:
    sample = estimate.samples[0]
    best = maximise([sample.design], [sample.counts.values])
    with np.errstate(divide="ignore"):
        logs = np.log(best.pi[list(cells)])
    with np.errstate(invalid="ignore"):
        log_odds_ratio = (
            float(SIGNS @ logs) if np.isfinite(logs).all() else float(logs[0] + logs[3] - (logs[1] + logs[2]))
        )
    profile = OddsProfile.of(sample.design, sample.counts.values, cells, best, log_odds_ratio)
    return OddsRatio(*about, log_odds_ratio, math.nan, "ml", estimate, profile, _notes(estimate, log_odds_ratio))


def _notes(estimate: Estimate, log_odds_ratio: float) -> tuple[str, ...]:
    notes = [] if estimate.method == "ml" else [f"{NOT_POSITIVE}; this one is that of the most likely table"]
    if math.isnan(log_odds_ratio):
        notes.append("the odds ratio is not defined: the most likely table has no one in a whole row or column")
    elif math.isinf(log_odds_ratio):
        notes.append(
            f"the odds ratio is {'infinite' if log_odds_ratio > 0 else 'zero'}: the most likely table has an empty cell"
        )
    return (*notes, "there is no standard error here: see the profile interval")


def _two(layout: Layout) -> tuple[Variable, Variable]:
    if len(layout.variables) != 2:
        raise ParameterError(
            f"an odds ratio is of two variables, not of {len(layout.variables)}: {', '.join(layout.names)}",
            hint="first take the table of two variables: table.collapse_to(...)",
        )
    return layout.variables[0], layout.variables[1]


def _pair(variable: Variable, pair: Pair | None, what: str) -> Pair:
    labels = variable.inputs.labels
    if pair is None and len(labels) == 2:
        return labels[0], labels[1]
    asked: Any = pair
    if asked is None or len(asked) != 2 or asked[0] == asked[1]:
        raise ParameterError(
            f"{variable.name} has {len(labels)} categories; an odds ratio compares two of them",
            hint=f"name two different ones, {what}=({labels[0]!r}, {labels[1]!r}), or ask for odds_ratios()",
        )
    return asked[0], asked[1]


def _exp(x: float) -> float:
    return math.inf if x > 700 else math.exp(x)
