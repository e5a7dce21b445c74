"""Intervals that need many maximisations, and the certified minimax estimator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories, Counts, Design
from maskwell.core.arguments import Array
from maskwell.designs import Dense, Uniform
from maskwell.estimation import Estimate, LeftInverse, estimate_by_moments
from maskwell.estimation.maximisation.maximum import maximise


def _counts(design: Design, n: int) -> Array:
    random = np.random.default_rng(1)
    return random.multinomial(n, design.apply(random.dirichlet(np.ones(design.k))))


def _estimate(design: Design, n: int) -> Estimate:
    counts = _counts(design, n)
    return estimate_by_moments(Counts(counts, n, design.fingerprint), design)


def _dense(reports: int, k: int) -> Dense:
    return Dense.of(np.random.default_rng(1).dirichlet(np.full(reports, 0.3), size=k).T)


def profile(design: Design, what: str, bar: str) -> Line:
    """Profile intervals of all categories, against one maximum of the likelihood."""
    estimate, counts = _estimate(design, 5000), _counts(design, 5000)
    seconds = best_seconds(
        {"ours": lambda: estimate.intervals(0.95, "profile"), "one": lambda: maximise([design], [counts])}, rounds=3
    )
    each = seconds["ours"] / design.k
    compared = f"{1000 * each:.1f} ms each, {each / seconds['one']:.1f} x one maximum of the likelihood"
    return Line(f"profile intervals, {what}", f"{seconds['ours']:.2f} s", compared, bar)


def bootstrap() -> Line:
    """A thousand replicates of a moment estimate, against the same draws with the inverse of the matrix."""
    design = Uniform.from_epsilon(2, Categories.numbered(100))
    estimate, lam, inverse = _estimate(design, 5000), _counts(design, 5000) / 5000, np.linalg.inv(design.matrix())

    def plain() -> None:
        draws = np.random.default_rng(1).multinomial(5000, lam, size=1000) / 5000
        np.quantile(draws @ inverse.T, [0.025, 0.975], axis=0)

    seconds = best_seconds({"ours": lambda: estimate.intervals(0.95, "bootstrap", seed=1), "plain": plain}, rounds=3)
    compared = f"{seconds['plain'] / seconds['ours']:.1f} x plain NumPy"
    return Line("bootstrap intervals, k = 100, 1,000 replicates", f"{1000 * seconds['ours']:.0f} ms", compared, "")


def minimax() -> Line:
    """The saddle point for a random design."""
    design = _dense(40, 20)
    gap = LeftInverse.minimax(design).gap
    seconds = best_seconds({"ours": lambda: LeftInverse.minimax(design)}, rounds=3)["ours"]
    return Line("minimax left inverse, 40 x 20", f"{1000 * seconds:.0f} ms", f"certified to {gap:.0e}", "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield profile(Uniform.from_epsilon(2, Categories.numbered(30)), "k-ary randomized response k = 30", "1 s")
    yield profile(_dense(35, 30), "dense 35 x 30", "1 s")
    yield bootstrap()
    yield minimax()
