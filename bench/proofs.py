"""Work in exact fractions: improving designs, and telling which of two tells more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import improve
from maskwell.designs import Dense
from maskwell.planning.order import sufficiency


def improvement(reports: int, k: int) -> Line:
    """A random matrix of floats, improved and proved."""
    P = np.random.default_rng(1).uniform(0.2, 1, (reports, k))
    design = Dense.of(P / P.sum(axis=0))
    better = improve(design)
    seconds = best_seconds({"ours": lambda: improve(design)}, rounds=3)["ours"]
    made = f"{better.design.m:,} reports, the product checked exactly"
    return Line(f"improve a design of {reports} x {k} floats", f"{seconds:.2f} s", made, "1 s")


def blackwell(reports: int, k: int, *, holds: bool) -> Line:
    """Two random designs of floats, the second made from the first or not; the answer proved in fractions."""
    rng = np.random.default_rng(1)
    P, C, B = (rng.dirichlet(np.ones(reports), columns).T for columns in (k, reports, k))
    A = C @ P if holds else B / 2 + C @ P / 2
    design, other = Dense.of(P), Dense.of(A)
    answer = sufficiency(design, other)
    assert (answer.holds, answer.exact, answer.how) == (holds, True, "program")
    seconds = best_seconds({"ours": lambda: sufficiency(design, other)}, rounds=5)["ours"]
    proof = "proved by a garbling" if holds else "refuted by a gain matrix"
    return Line(f"sufficient, two designs of {reports} x {k} floats", f"{seconds:.2f} s", proof, "2 s")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield improvement(200, 30)
    yield blackwell(64, 8, holds=True)
    yield blackwell(64, 8, holds=False)
