"""Work in exact fractions: improving designs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Dense, improve


def improvement(reports: int, k: int) -> Line:
    """A random matrix of floats, improved and proved."""
    P = np.random.default_rng(1).uniform(0.2, 1, (reports, k))
    design = Dense.of(P / P.sum(axis=0))
    found = improve(design)
    seconds = best_seconds({"ours": lambda: improve(design)}, rounds=3)["ours"]
    made = f"{found.design.m:,} reports, the product checked exactly"
    return Line(f"improve a design of {reports} x {k} floats", f"{seconds:.2f} s", made, "1 s")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield improvement(200, 30)
