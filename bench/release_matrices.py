"""Optimal matrices of a release: linear programs with many categories and every bound, and the threshold iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix

POSTERIORS = {"posterior": 0.6, "posterior_own": 0.5, "odds": 1.2, "least_kept": 0.2}
SHARES = {"changed_at_least": 0.3, "changed_at_most": 0.9}
EVERY = {**POSTERIORS, **SHARES, "least_kept": 0.0005, "guess": 0.2, "factor": 9, "parity": 10}


def _counts(k: int) -> np.ndarray:
    return np.floor(10_000 / np.arange(1, k + 1)).astype(int) + np.random.default_rng(1).integers(1, 20, k)


def _line(job: str, k: int, asked: dict[str, Any], bar: str, band: int | None = None) -> Line:
    bounds, v = Bounds.of(**asked), _counts(k)
    best = optimal_matrix(v, bounds, band=band)
    seconds = best_seconds({"ours": lambda: optimal_matrix(v, bounds, band=band)}, rounds=2)["ours"]
    told = f"{best.optimum:.1%} of the records stay, {len(best.design.rows):,} entries"
    return Line(job, f"{seconds:.2f} s", told, bar)


def _lowering() -> Line:
    v = np.concatenate([np.arange(1, 13), [40, 80, 200, 500]])
    lowered = lower_until(v, 0.3)
    seconds = best_seconds({"ours": lambda: lower_until(v, 0.3)}, rounds=1)["ours"]
    return Line("16 categories, matches of at most 0.3", f"{seconds:.2f} s", f"{lowered.rounds} programs", "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    tied = {**POSTERIORS, **SHARES, "guess": 0.45}
    yield _line("200 categories, posteriors", 200, POSTERIORS, "5 s")
    yield _line("200 categories, posteriors, guess, shares changed", 200, tied, "5 s")
    yield _line("200 categories, parity", 200, {"parity": 10}, "5 s")
    yield _line("200 categories, every bound", 200, EVERY, "5 s")
    yield _line("1,000 categories, moves of at most 20 places, posteriors", 1000, POSTERIORS, "60 s", band=20)
    yield _line("the same with guess and shares changed", 1000, tied, "60 s", band=20)
    yield _lowering()
