"""From a likelihood to coefficients with their covariance, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Real
from maskwell.core.phrases import listed
from maskwell.errors import ParameterError
from maskwell.estimation.regression.likelihood import Likelihood
from maskwell.estimation.regression.matrix import check_enough
from maskwell.estimation.regression.newton import Optimum, is_positive_definite, maximise
from maskwell.estimation.regression.sampled import Sampled
from maskwell.estimation.regression.sandwich import score_variance

VARIANCES = ("observed", "expected", "sandwich")
FAR = 15.0
"""A linear predictor beyond this is a chance within 3e-7 of 0 or 1."""
FLAT = 1e-8
"""Information per row in a standardised direction below which nothing is known about it."""

Starts = Callable[[Likelihood], Sequence[Real]]


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients of the columns as they were given, their covariance, and how they were found."""

    estimates: Real
    covariance: Real
    log_likelihood: float
    iterations: int
    converged: bool
    variance: str
    flags: tuple[str, ...]


def fit(
    likelihood: Likelihood, starts: Starts, sampled: Sampled, terms: Sequence[str], *, variance: str | None
) -> Fitted:
    """Maximise, and estimate the covariance that was asked for: by default what the sampling calls for."""
    kind = _kind(variance, sampled)
    check_enough(likelihood.n, likelihood.p)
    found = maximise(likelihood, starts)
    information = found.at.information
    if kind == "expected" or not is_positive_definite(information):
        information = likelihood.expected(found.theta)
    known, unknown = _directions(information / likelihood.total)
    bread = known @ np.linalg.solve(known.T @ information @ known, known.T)
    middle = score_variance(likelihood, found.theta, sampled) if kind == "sandwich" else information
    T = likelihood.back
    covariance = T @ bread @ middle @ bread @ T.T
    lost = _touched(T, unknown)
    covariance[lost], covariance[:, lost] = np.nan, np.nan
    words = _flags(likelihood, found, [term for term, is_lost in zip(terms, lost, strict=True) if is_lost])
    return Fitted(
        T @ found.theta,
        (covariance + covariance.T) / 2,
        found.at.value,
        found.iterations,
        found.converged and not lost.any(),
        _words(kind, sampled),
        words,
    )


def _kind(variance: str | None, sampled: Sampled) -> str:
    if variance is None:
        return "observed" if sampled.is_simple else "sandwich"
    check_kind(str, variance=variance)
    if variance not in VARIANCES:
        raise ParameterError(
            f"variance = {variance!r}", hint=f"variance is one of {', '.join(VARIANCES)}", variance=variance
        )
    if variance != "sandwich" and (sampled.cluster is not None or sampled.fraction is not None):
        raise ParameterError(
            f"variance = {variance!r} forgets clusters and population", hint="leave it out, or choose 'sandwich'"
        )
    return variance


def _words(kind: str, sampled: Sampled) -> str:
    if kind != "sandwich":
        return f"{kind} information"
    return f"sandwich ({sampled.in_words()})" if sampled.in_words() else "sandwich"


def _directions(information: Real) -> tuple[Real, Real]:
    """Directions in which something is known, and those in which nothing is, as columns."""
    values, vectors = np.linalg.eigh(information)
    return vectors[:, values >= FLAT], vectors[:, values < FLAT]


def _touched(T: Real, unknown: Real) -> Real:
    """Which of the given coefficients depend on a direction in which nothing is known."""
    share = np.abs(T @ unknown) / np.sqrt((T**2).sum(axis=1))[:, None]
    return np.asarray((share > 1e-3).any(axis=1))


def _flags(likelihood: Likelihood, found: Optimum, lost: Sequence[str]) -> tuple[str, ...]:
    low, high = likelihood.far(found.theta, FAR)
    flags = []
    if lost:
        flags.append(_running_away(likelihood, lost, low, high))
    elif low or high:
        flags.append(f"{low + high:,} of {likelihood.n:,} rows have a fitted chance within 3e-7 of 0 or 1")
    if not found.converged and not lost:
        flags.append(f"the search did not end after {found.iterations} steps: do not use these numbers")
    if found.several:
        flags.append("the likelihood has several peaks; the highest that was found is shown")
    return tuple(flags)


def _running_away(likelihood: Likelihood, lost: Sequence[str], low: int, high: int) -> str:
    named, n = listed(lost, len(lost), 60), likelihood.n
    if low == n or high == n:
        way, rate = ("minus", "no higher") if low == n else ("plus", "no lower")
        why = f"reports of the first category are {rate} than the design makes them without any truth behind them"
        return f"no finite estimate: {named} runs to {way} infinity, because {why}; there is no standard error"
    if low and high and low + high == n:
        why = "the predictors tell the outcome apart without error (perfect separation)"
    elif low or high:
        why = f"in {low + high:,} of {n:,} rows the fitted chance is 0 or 1, as if some predictor decided it alone"
    else:
        why = "the reports hold next to no information about it"
    return f"no finite estimate: {named}; {why}; there is no standard error"
