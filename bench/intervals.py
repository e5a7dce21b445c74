"""Intervals that need many maximisations, and the certified minimax estimator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories, Counts, Dense, Design, Estimate, Uniform, estimate_by_moments, minimax_left_inverse


def _estimate(design: Design, n: int) -> Estimate:
    random = np.random.default_rng(1)
    counts = random.multinomial(n, design.apply(random.dirichlet(np.ones(design.k))))
    return estimate_by_moments(Counts(counts, n, design.fingerprint), design)


def _dense(reports: int, k: int) -> Dense:
    return Dense.of(np.random.default_rng(1).dirichlet(np.full(reports, 0.3), size=k).T)


def profile(design: Design, what: str, bar: str) -> Line:
    """Profile intervals of all categories."""
    estimate = _estimate(design, 5000)
    seconds = best_seconds({"ours": lambda: estimate.intervals(0.95, "profile")}, rounds=3)["ours"]
    each = f"{1000 * seconds / design.k:.1f} ms each"
    return Line(f"profile intervals, {what}", f"{seconds:.2f} s", each, bar)


def bootstrap() -> Line:
    """A thousand replicates of a moment estimate."""
    estimate = _estimate(Uniform.from_epsilon(2, Categories.numbered(100)), 5000)
    seconds = best_seconds({"ours": lambda: estimate.intervals(0.95, "bootstrap", seed=1)}, rounds=3)["ours"]
    return Line("bootstrap intervals, k = 100, 1,000 replicates", f"{1000 * seconds:.0f} ms", "", "")


def minimax() -> Line:
    """The saddle point for a random design."""
    design = _dense(40, 20)
    gap = minimax_left_inverse(design).gap
    seconds = best_seconds({"ours": lambda: minimax_left_inverse(design)}, rounds=3)["ours"]
    return Line("minimax left inverse, 40 x 20", f"{1000 * seconds:.0f} ms", f"certified to {gap:.0e}", "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield profile(Uniform.from_epsilon(2, Categories.numbered(30)), "gamma-diagonal k = 30", "1 s")
    yield profile(_dense(35, 30), "dense 35 x 30", "1 s")
    yield bootstrap()
    yield minimax()
