"""maskwell beside the libraries that people use today: the same values, in turns, each in an environment of its own.

    python -m bench.peers [--rows 200000] [--rounds 3]

``make bench`` makes the environments in ``.venv-peers``; a library that cannot be installed is left out by name. Rates
are those of randomizing alone. The mean squared error is that of the shares which each library estimates from its own
reports, against the truth; of maskwell those that are not clipped, so that they are unbiased.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.speed import Line
from maskwell import Categories, Demand, Design
from maskwell.designs import Subset, Unary, Uniform
from maskwell.estimation import estimate_by_moments
from maskwell.planning import minimax_size

Codes = npt.NDArray[np.uint8]
Real = npt.NDArray[np.float64]


class Run(NamedTuple):
    """One turn: seconds a row, and the shares that were estimated."""

    seconds: float
    shares: Real | None


PLACE = Path(__file__).parents[1] / ".venv-peers"
PROGRAM = Path(__file__).with_name("peer_programs.py")
PINS = {
    "multi-freq-ldpy": ["multi-freq-ldpy==0.2.5"],
    "pure-ldp": ["pure-ldp==1.2.0", "scikit-learn", "statsmodels", "pandas", "bitarray", "bitstring"],
    "opendp": ["opendp==0.16.0", "numpy"],
}
"""With what they need and do not ask for themselves."""

JOBS = {"k-ary": 16, "subset": 64, "unary": 64}
KNOWN = {"multi-freq-ldpy": ("k-ary", "subset", "unary"), "pure-ldp": ("k-ary", "unary"), "opendp": ("k-ary",)}
BARS = {
    ("k-ary", "multi-freq-ldpy"): 100,
    ("k-ary", "opendp"): 10_000,
    ("subset", "multi-freq-ldpy"): 50,
    ("unary", "multi-freq-ldpy"): 50,
}
EPSILON = 1
ROWS = 200_000
FEWER = {"subset": 4, "unary": 4, "opendp": 20}
"""How many times fewer rows a slow job, or a slow library, gets."""

ROUNDS = 3
MANY = 50


def design_of(job: str) -> Design:
    """The design of a job."""
    inputs = Categories.numbered(JOBS[job])
    if job == "subset":
        return Subset.from_epsilon(EPSILON, inputs, size=minimax_size(JOBS[job], Demand.from_epsilon(EPSILON)))
    return Uniform.from_epsilon(EPSILON, inputs) if job == "k-ary" else Unary.oue_from_epsilon(EPSILON, inputs)


def environment(name: str) -> Path | None:
    """The Python of a library, installed if it is not yet there; None where that cannot be done."""
    place = PLACE / name
    python, ready = place / "bin" / "python", place / "ready"
    if ready.is_file() and ready.read_text() == " ".join(PINS[name]):
        return python
    try:
        venv.create(place, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "-qq", "install", *PINS[name]], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    ready.write_text(" ".join(PINS[name]))
    return python


def run_peer(python: Path, name: str, job: str, folder: Path, codes: Codes) -> Run:
    """What a library makes of the values."""
    path = folder / f"{name}-{job}.npy"
    np.save(path, codes)
    command = [python, "-W", "ignore", PROGRAM, name, job, path, str(JOBS[job]), str(EPSILON)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Run(told["seconds"] / told["rows"], None if told["shares"] is None else np.array(told["shares"]))


def run_maskwell(design: Design, codes: Codes) -> Run:
    """The same with the secure generator; the values many times over, since they are done in no time."""
    many = np.tile(codes, MANY)
    start = time.perf_counter()
    design.sample(many)
    seconds = time.perf_counter() - start
    found = estimate_by_moments(design.tally(design.sample(codes)), design)
    return Run(seconds / len(many), found.pi_hat)


def lines(rows: int = ROWS, rounds: int = ROUNDS) -> Iterator[Line]:
    """For each job: every library that knows it, in turns with maskwell."""
    pythons = {name: environment(name) for name in PINS}
    with TemporaryDirectory() as folder:
        for job, k in JOBS.items():
            design, codes = design_of(job), _values(k, rows // FEWER.get(job, 1))
            peers = {name: python for name, python in pythons.items() if python and job in KNOWN[name]}
            runs: dict[str, list[Run]] = {name: [] for name in ("maskwell", *peers)}
            for _ in range(rounds):
                runs["maskwell"].append(run_maskwell(design, codes))
                for name, python in peers.items():
                    fewer = codes[: len(codes) // FEWER.get(name, 1)]
                    runs[name].append(run_peer(python, name, job, Path(folder), fewer))
            yield from _compared(job, codes, runs)
    for name, python in pythons.items():
        if python is None:
            yield Line(f"{name}", "skipped: it cannot be installed here", "", "")


def _compared(job: str, codes: Codes, runs: Mapping[str, Sequence[Run]]) -> Iterator[Line]:
    k = JOBS[job]
    ours = min(run.seconds for run in runs["maskwell"])
    truth = np.bincount(codes, minlength=k) / len(codes)
    own = _error(runs["maskwell"], truth)
    for name in (name for name in runs if name != "maskwell"):
        theirs = min(run.seconds for run in runs[name])
        error = _error(runs[name], truth)
        told = "no estimator" if error is None else f"{error:.2g}"
        yield Line(
            f"{job}, k = {k}, ε = {EPSILON}, beside {name}",
            f"{theirs / ours:,.0f} times as fast",
            f"{1e-6 / ours:.3g} and {1e-6 / theirs:.3g} million rows/s; mean squared error {own:.2g} and {told}",
            f"≥ {BARS[job, name]:,}" if (job, name) in BARS else "",
        )


def _error(runs: Sequence[Run], truth: Real) -> float | None:
    """Mean squared error of the shares, over categories and turns."""
    errors = [float(np.mean((run.shares - truth) ** 2)) for run in runs if run.shares is not None]
    return sum(errors) / len(errors) if errors else None


def _values(k: int, rows: int) -> Codes:
    """Skew shares, so that clipped estimates show."""
    shares = 1 / np.arange(1, k + 1)
    return np.random.default_rng(1).choice(k, rows, p=shares / shares.sum()).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print("| job | measured | compared | bar |\n|---|---|---|---|")
    for line in lines(options.rows, options.rounds):
        print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |", flush=True)


if __name__ == "__main__":
    main()
