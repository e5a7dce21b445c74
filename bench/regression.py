"""Logistic regression of a randomized outcome, against a plain Newton method in NumPy."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell.designs import Dense
from maskwell.estimation.regression import fit_logistic

WARNER = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])


def _data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X, beta = rng.normal(size=(n, p)), np.linspace(-0.5, 0.5, p)
    yes = rng.random(n) < 1 / (1 + np.exp(0.5 - X @ beta))
    return X, (rng.random(n) >= np.where(yes, 0.8, 0.2)).astype(np.intp)


def plain_newton(X: np.ndarray, codes: np.ndarray, P: np.ndarray) -> np.ndarray:
    """What one writes first: whole arrays, Newton's method, nothing else."""
    X = np.column_stack([np.ones(len(X)), X])
    a, b, beta = P[codes, 0], P[codes, 1], np.zeros(X.shape[1])
    while True:
        s = 1 / (1 + np.exp(-X @ beta))
        lam = a * s + b * (1 - s)
        tau = a * s / lam
        gradient = X.T @ (tau - s)
        if np.abs(gradient).max() < 1e-8 * len(X):
            return beta
        beta = beta + np.linalg.solve((X * (s * (1 - s) - tau * (1 - tau))[:, None]).T @ X, gradient)


def outcome(n: int, p: int, bar: str, rounds: int) -> Line:
    """Two categories, p predictors and an intercept."""
    X, codes = _data(n, p)
    seconds = best_seconds(
        {
            "ours": lambda: fit_logistic(X, codes, WARNER, codes=True),
            "plain": lambda: plain_newton(X, codes, WARNER.matrix()),
        },
        rounds,
    )
    np.testing.assert_allclose(
        fit_logistic(X, codes, WARNER, codes=True).estimates, plain_newton(X, codes, WARNER.matrix()), atol=1e-6
    )
    tracemalloc.start()
    fit_logistic(X, codes, WARNER, codes=True)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    ours = seconds["ours"]
    time = f"{ours:.2f} s" if ours > 0.1 else f"{1000 * ours:.1f} ms"
    ratio = seconds["plain"] / ours
    return Line(
        f"logistic regression, n = {n:,}, {p} predictors",
        time,
        f"{ratio:.1f} x plain NumPy from one start; {peak:.0f} MB beside the data",
        bar,
    )


def lines() -> Iterator[Line]:
    """All of them."""
    yield outcome(10**4, 2, "20 ms", 7)
    yield outcome(10**6, 10, "10 s", 3)
