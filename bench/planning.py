"""Choosing designs: answers for a million categories, the whole command plan, and the linear program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories, Demand, Design, audit
from maskwell.designs import Blocks, Composed, Kronecker, LocalDiversity, Subset, Unary, Uniform
from maskwell.planning import extremal_design, minimax_size

MILLION = 10**6


def _answers(design: Design) -> Callable[[], object]:
    def run() -> None:
        design.added_variance()
        design.parity_exact()
        design.guess_probability()
        design.condition()
        if not isinstance(design, Kronecker):  # its l1 needs the matrix
            design.total_variation()
        if isinstance(design, Unary):
            design.details()

    return run


def _designs() -> dict[str, Design]:
    categories = Categories.numbered(MILLION)
    coin, part = Uniform.from_gamma(3, Categories.numbered(2)), Uniform.from_gamma(3, Categories.numbered(10_000))
    return {
        "k-ary randomized response": Uniform.from_epsilon(1, categories),
        "subset": Subset.from_epsilon(1, categories, size=minimax_size(MILLION, Demand.from_epsilon(1))),
        "RAPPOR": Unary.rappor_from_epsilon(1, categories),
        "optimised unary": Unary.oue_from_epsilon(1, categories),
        "l-diversity": LocalDiversity.of(MILLION // 2, categories),
        "table of 20 answers": Kronecker.of([coin] * 20),
        "100 cells": Blocks.of(dict.fromkeys(range(100), part)),
        "asked twice": Composed.of(Uniform.from_gamma(3, categories), Uniform.from_gamma(5, categories)),
    }


def _slowest(job: str, candidates: Mapping[str, Callable[[], object]], bar: str) -> Line:
    seconds = best_seconds(candidates)
    slowest = max(seconds, key=lambda name: seconds[name])
    return Line(f"{job}, k = {MILLION:,}", f"{1000 * seconds[slowest]:.2f} ms", f"slowest: {slowest}", bar)


def large_designs() -> Line:
    """V_R (of three estimators for bits), parity, guess, condition and average security; the slowest design counts."""
    job = "V_R, parity and guess of any structured design"
    return _slowest(job, {name: _answers(design) for name, design in _designs().items()}, "10 ms")


def audits() -> Line:
    """The whole audit, from a design that has worked out nothing yet."""
    demand = Demand.from_epsilon(1)

    def run(design: Design) -> Callable[[], object]:
        return lambda: audit(replace(design), demand).to_dict()

    return _slowest("audit", {name: run(design) for name, design in _designs().items()}, "")


def best_size() -> Line:
    """The minimax size."""
    demand = Demand.from_epsilon(1)
    seconds = best_seconds({"ours": lambda: minimax_size(MILLION, demand)})["ours"]
    return Line(f"best subset size, k = {MILLION:,}", f"{1000 * seconds:.2f} ms", "", "10 ms")


def plan() -> Line:
    """The command, from the shell."""
    command = [sys.executable, "-m", "maskwell", "choose", "--k", "1000", "--epsilon", "1", "--n", "100000"]
    seconds = best_seconds({"choose": lambda: subprocess.run(command, capture_output=True, check=True)})["choose"]
    return Line("maskwell choose, k = 1,000", f"{seconds:.2f} s", "the whole process", "1 s")


def extremal(k: int) -> Line:
    """The linear program over all sets, made exact."""
    pi = [f"{2 * (i + 1)}/{k * (k + 1)}" for i in range(k)]
    seconds = best_seconds({"ours": lambda: extremal_design(pi, 3)}, rounds=3)["ours"]
    return Line(f"extremal design, k = {k}", f"{1000 * seconds:.0f} ms", f"{2**k - 2:,} sets", "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield large_designs()
    yield audits()
    yield best_size()
    yield plan()
    yield extremal(10)
    yield extremal(14)
