"""Tables of a million cells, against the same sums with NumPy's tensordot and against reading memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import design as make_design
from maskwell.estimation import cross_tabulate_counts

QUESTIONS = 20


def _by_tensordot(counts: np.ndarray, L: np.ndarray) -> Callable[[], object]:
    """Estimates and second moments, axis by axis, as one would write it."""

    def run() -> None:
        for matrix in (L, L**2):
            table = counts / counts.sum()
            for axis in range(counts.ndim):
                table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)

    return run


def million_cells() -> Line:
    """Twenty yes-or-no questions: estimates, variances and both of their parts."""
    design = make_design("warner", p="7/10")
    counts = np.random.default_rng(1).poisson(1.0, size=(2,) * QUESTIONS)
    designs = {f"q{i}": design for i in range(QUESTIONS)}
    floats = counts.ravel().astype(np.float64)
    seconds = best_seconds(
        {
            "ours": lambda: cross_tabulate_counts(counts, designs),
            "tensordot": _by_tensordot(counts, design.backward(np.eye(2)).T),
            "memory": lambda: floats * 2.0,
        }
    )
    ours = seconds["ours"]
    compared = f"{seconds['tensordot'] / ours:.1f} x np.tensordot; {ours / seconds['memory']:.0f} copies of the table"
    return Line(f"table of {QUESTIONS} questions, {2**QUESTIONS:,} cells", f"{1000 * ours:.0f} ms", compared, "1 s")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield million_cells()
