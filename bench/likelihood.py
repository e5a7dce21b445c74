"""Estimates from counts: moments, and maximum likelihood against EM as one would write it in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories, Counts, Design
from maskwell.core.arguments import Array, Real
from maskwell.designs import Kronecker, Uniform
from maskwell.estimation import estimate_by_moments
from maskwell.estimation.maximisation.maximum import maximise

GAP = 1e-6
"""Of both in the comparison; EM takes far longer to come closer, Newton hardly so."""


def plain_em(P: Real, counts: Array, gap: float) -> Real:
    """``pi <- pi * (P' (share / P pi))`` on the matrix written out, until no more than ``gap`` can be gained."""
    share, pi = counts / counts.sum(), np.full(P.shape[1], 1 / P.shape[1])
    while True:
        slope = P.T @ (share / (P @ pi))
        if slope.max() - 1 <= gap:
            return np.asarray(pi)
        pi = pi * slope


def _counts(design: Design, n: int) -> Array:
    pi = 1 / np.arange(1, design.k + 1)
    lam = design.apply(pi / pi.sum())
    return np.random.default_rng(1).multinomial(n, lam / lam.sum())


def _designs() -> dict[str, Design]:
    ten = Uniform.from_gamma(30, Categories.numbered(10))
    return {
        "k-ary randomized response, k = 1,000": Uniform.from_gamma(500, Categories.numbered(1000)),
        "three questions of ten answers, k = 1,000": Kronecker.of([ten] * 3),
    }


def _against_em(job: str, design: Design) -> Line:
    counts, P = _counts(design, 10**6), design.matrix()
    best = best_seconds(
        {"ours": lambda: maximise([design], [counts], gap=GAP), "plain": lambda: plain_em(P, counts, GAP)}, rounds=2
    )
    certified = best_seconds({"ours": lambda: maximise([design], [counts])}, rounds=3)["ours"]
    ratio = best["plain"] / best["ours"]
    return Line(
        f"maximum likelihood, {job}",
        f"{1000 * certified:.0f} ms to a certified 1e-10",
        f"{ratio:,.0f} x faster than EM on the matrix to {GAP:g}",
        "1 s",
    )


def _moments() -> Line:
    """From the counts of 10^8 rows, against the inverse of the matrix."""
    design = Uniform.from_gamma(500, Categories.numbered(1000))
    counts = Counts(_counts(design, 10**8), 10**8, design.fingerprint)
    P = design.matrix()
    seconds = best_seconds(
        {"ours": lambda: estimate_by_moments(counts, design), "plain": lambda: np.linalg.solve(P, counts.share())}
    )
    compared = f"{seconds['plain'] / seconds['ours']:.1f} x np.linalg.solve, which gives no errors"
    return Line(
        "moments from the counts of 10^8 rows, k = 1,000", f"{1000 * seconds['ours']:.1f} ms", compared, "at once"
    )


def _million() -> Line:
    design = Uniform.from_gamma(10**5, Categories.numbered(10**6))
    counts = _counts(design, 10**7)
    share = counts / counts.sum()
    seconds = best_seconds(
        {"ours": lambda: maximise([design], [counts]), "pass": lambda: design.forward(share)}, rounds=2
    )
    compared = f"the time of {seconds['ours'] / seconds['pass']:.0f} products with the matrix"
    return Line(
        "maximum likelihood, k-ary randomized response, k = 1,000,000", f"{seconds['ours']:.1f} s", compared, ""
    )


def _held() -> Line:
    design = Uniform.from_gamma(30, Categories.numbered(10))
    counts = _counts(design, 10**4)
    top = maximise([design], [counts])
    run: Callable[[], object] = lambda: [maximise([design], [counts], fixed=(3, t), start=top.pi) for t in _GRID]  # noqa: E731
    seconds = best_seconds({"ours": run}, rounds=3)["ours"] / len(_GRID)
    return Line("one point of a profile likelihood, k = 10", f"{1e3 * seconds:.2f} ms", "", "")


_GRID = np.linspace(0.02, 0.2, 50).tolist()


def lines() -> Iterator[Line]:
    """All measurements."""
    yield _moments()
    for job, design in _designs().items():
        yield _against_em(job, design)
    yield _million()
    yield _held()
