"""Choosing designs: answers for a million categories, the whole command plan, and the linear program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories, Demand, Design, LocalDiversity, Subset, Unary, Uniform, extremal_design, minimax_size

MILLION = 10**6


def _answers(design: Design) -> Callable[[], object]:
    def run() -> None:
        design.added_variance()
        design.parity_exact()
        design.guess_probability()
        design.condition()
        design.total_variation()
        if isinstance(design, Unary):
            design.details()

    return run


def large_designs() -> Line:
    """V_R (of three estimators for bits), parity, guess, condition and average security; the slowest design counts."""
    categories, demand = Categories.numbered(MILLION), Demand.from_epsilon(1)
    size = minimax_size(MILLION, demand)
    designs = {
        "gamma-diagonal": Uniform.from_epsilon(1, categories),
        "subset": Subset.from_epsilon(1, categories, size=size),
        "RAPPOR": Unary.rappor_from_epsilon(1, categories),
        "optimised unary": Unary.oue_from_epsilon(1, categories),
        "l-diversity": LocalDiversity.of(1000, categories),
    }
    seconds = best_seconds({name: _answers(design) for name, design in designs.items()})
    slowest = max(seconds, key=lambda name: seconds[name])
    job = f"V_R, parity and guess of any structured design, k = {MILLION:,}"
    return Line(job, f"{1000 * seconds[slowest]:.2f} ms", f"slowest: {slowest}", "10 ms")


def best_size() -> Line:
    """The minimax size."""
    demand = Demand.from_epsilon(1)
    seconds = best_seconds({"ours": lambda: minimax_size(MILLION, demand)})["ours"]
    return Line(f"best subset size, k = {MILLION:,}", f"{1000 * seconds:.2f} ms", "", "10 ms")


def plan() -> Line:
    """The command, from the shell."""
    command = [sys.executable, "-m", "maskwell", "plan", "--k", "1000", "--epsilon", "1", "--n", "100000"]
    seconds = best_seconds({"plan": lambda: subprocess.run(command, capture_output=True, check=True)})["plan"]
    return Line("maskwell plan, k = 1,000", f"{seconds:.2f} s", "the whole process", "1 s")


def extremal(k: int) -> Line:
    """The linear program over all sets, made exact."""
    pi = [f"{2 * (i + 1)}/{k * (k + 1)}" for i in range(k)]
    seconds = best_seconds({"ours": lambda: extremal_design(pi, 3)}, rounds=3)["ours"]
    return Line(f"extremal design, k = {k}", f"{1000 * seconds:.0f} ms", f"{2**k - 2:,} sets", "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield large_designs()
    yield best_size()
    yield plan()
    yield extremal(10)
    yield extremal(14)
