"""Randomizing and counting against the machine's random bytes and against plain NumPy."""

from __future__ import annotations

import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import baselines
from bench.measure import best_seconds
from maskwell import Categories, Design, KeyedRandom, SecureRandom
from maskwell.designs import Dense, Sparse, Subset, Unary, Uniform, kernels
from maskwell.designs.sampler import CHUNK_BYTES, KeyedSampler
from maskwell.planning import minimax_size


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    job: str
    result: str
    compared: str
    bar: str


def _codes(n: int, k: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, k, n).astype(np.uint8 if k <= 256 else np.uint16)


def _random_bytes(rows: int, words_per_row: int) -> Callable[[], object]:
    def run() -> None:
        stream, step = SecureRandom().stream(), max(1, CHUNK_BYTES // (4 * words_per_row))
        for start in range(0, rows, step):
            stream.words(start, min(step, rows - start), words_per_row)

    return run


def random_bytes() -> Line:
    """The machine's supply of random bytes."""
    n = 10**7
    rng = np.random.default_rng(1)
    seconds = best_seconds({"aes": _random_bytes(n, 2), "pcg": lambda: rng.bytes(8 * n)})
    aes, pcg = 8 * n / seconds["aes"] / 1e9, 8 * n / seconds["pcg"] / 1e9
    return Line("random bytes", f"AES-CTR {aes:.1f} GB/s", f"PCG64 {pcg:.2f} GB/s", "")


def k_ary() -> Line:
    """k = 16, epsilon = 1, from one-byte codes."""
    n, k = 10**7, 16
    design, codes, rng = Uniform.from_epsilon(1, Categories.numbered(k)), _codes(n, k), np.random.default_rng(1)
    seconds = best_seconds(
        {
            "ours": lambda: design.sample(codes),
            "bytes": _random_bytes(n, design.words_per_row),
            "plain": lambda: baselines.uniform_plain(codes, k, design.parity(), rng),
            "tuned": lambda: baselines.uniform_tuned(codes, k, design.parity(), rng),
        }
    )
    share = seconds["bytes"] / seconds["ours"]
    plain, tuned = seconds["plain"] / seconds["ours"], seconds["tuned"] / seconds["ours"]
    return Line(
        "randomize, k-ary randomized response k = 16",
        f"{n / seconds['ours'] / 1e6:.0f} M rows/s",
        f"{share:.0%} of the speed of its random bytes; {plain:.1f} x plain NumPy/PCG64, {tuned:.1f} x tuned",
        "40 %; 5 x",
    )


def _against_numpy(job: str, design: Design, codes: np.ndarray, plain: Callable[[], object], bar: str) -> Line:
    design.sample(codes[:1])
    seconds = best_seconds({"ours": lambda: design.sample(codes), "numpy": plain})
    speed = f"{len(codes) / seconds['ours'] / 1e6:.0f} M rows/s"
    return Line(f"randomize, {job}", speed, f"{seconds['numpy'] / seconds['ours']:.1f} x NumPy/PCG64", bar)


def dense() -> Line:
    """k = m = 256, random columns."""
    P = np.random.default_rng(2).dirichlet(np.ones(256), 256).T
    codes, rng = _codes(5 * 10**6, 256), np.random.default_rng(1)
    plain = partial(baselines.dense, codes, P, rng)
    return _against_numpy("dense 256 x 256", Dense.of(P), codes, plain, "80 M rows/s")


def _cells(k: int, size: int) -> Sparse:
    """k states in cells of a size, each kept with four chances in size + 3."""
    rows = (np.arange(k) // size * size)[:, None] + np.arange(size)
    numerators = np.where(rows == np.arange(k)[:, None], 4, 1)
    return Sparse.from_integers(np.arange(k + 1) * size, rows.reshape(-1), numerators.reshape(-1))


def sparse(k: int, size: int, bar: str) -> Line:
    """Cells of a few states, as releases have them."""
    design, rng = _cells(k, size), np.random.default_rng(1)
    codes = rng.integers(0, k, 5 * 10**6).astype(np.uint8 if k <= 256 else np.uint32)
    plain = partial(baselines.sparse, codes, design.csc(), rng)
    return _against_numpy(f"{k:,} states in cells of {size}", design, codes, plain, bar)


def keyed() -> Line:
    """Draws by record id instead of by row."""
    n = 5 * 10**6
    design, codes, ids = _cells(20, 5), _codes(n, 20), np.arange(n)
    sampler = KeyedSampler(design, KeyedRandom.of(bytes(range(32)), "bench"), "variable")
    seconds = best_seconds({"ours": lambda: sampler.sample(codes, ids), "rows": lambda: design.sample(codes)})
    return Line(
        "randomize, 20 states in cells of 5, by record id",
        f"{n / seconds['ours'] / 1e6:.0f} M rows/s",
        f"{seconds['ours'] / seconds['rows']:.1f} x the time of draws by row",
        "",
    )


def subset(k: int, n: int, loop_rows: int, bar: str) -> Line:
    """Minimax size at epsilon = 1."""
    size = minimax_size(k, np.e)
    design, codes = Subset.from_epsilon(1, Categories.numbered(k), size=size), _codes(n, k)
    rng, include = np.random.default_rng(1), float(design.include)
    seconds = best_seconds(
        {
            "ours": lambda: design.sample(codes),
            "plain": lambda: baselines.subset_plain(codes[:loop_rows], k, size, include, rng),
            "tuned": lambda: baselines.subset_tuned(codes[:loop_rows], k, size, include, rng),
        },
        rounds=5,
    )
    plain, tuned = ((seconds[loop] / loop_rows) / (seconds["ours"] / n) for loop in ("plain", "tuned"))
    return Line(
        f"randomize, subset k = {k}, q = {size}",
        f"{n / seconds['ours'] / 1e6:.1f} M reports/s",
        f"{plain:.0f} x a plain NumPy loop, {tuned:.0f} x a tuned one",
        bar,
    )


def unary() -> Line:
    """Optimised unary, k = 64, epsilon = 1."""
    n, k = 10**6, 64
    design, codes, rng = Unary.oue_from_epsilon(1, Categories.numbered(k)), _codes(n, k), np.random.default_rng(1)
    keep, flip = float(design.keep), float(design.flip)
    seconds = best_seconds(
        {"ours": lambda: design.sample(codes), "numpy": lambda: baselines.unary(codes, k, keep, flip, rng)}, rounds=4
    )
    return Line(
        "randomize, optimised unary k = 64",
        f"{n / seconds['ours'] / 1e6:.1f} M reports/s",
        f"{seconds['numpy'] / seconds['ours']:.0f} x NumPy/PCG64",
        "10 M reports/s",
    )


def sets_of_any_size(k: int, bar: str) -> Line:
    """Subset of a quarter and both unary designs, gamma = 3, about 4 million categories in all."""
    categories, n = Categories.numbered(k), max(2, 4 * 10**6 // k)
    codes = np.random.default_rng(1).integers(0, k, n).astype(np.uint32)
    designs = {
        "subset": Subset.from_gamma(3, categories, size=k // 4),
        "RAPPOR": Unary.rappor_from_gamma(3, categories),
        "optimised unary": Unary.oue_from_gamma(3, categories),
    }
    jobs = {name: lambda design=design: design.sample(codes) for name, design in designs.items()}
    each = {name: value / n / k * 1e9 for name, value in best_seconds(jobs, rounds=5).items()}
    slowest = max(each.values())
    compared = ", ".join(f"{name} {value:.1f}" for name, value in each.items())
    return Line(f"randomize sets of {k:,} categories", f"{slowest:.1f} ns a category", compared, bar)


def tally() -> Line:
    """10**8 one-byte codes."""
    n, k = 10**8, 16
    design, codes = Uniform.from_epsilon(1, Categories.numbered(k)), _codes(10**7, k)
    reports = design.sample(np.tile(codes, n // len(codes)))
    seconds = best_seconds(
        {"ours": lambda: design.tally(reports), "numpy": lambda: np.bincount(reports.data, minlength=k)}, rounds=3
    )
    return Line(
        "tally of 10^8 codes",
        f"{n / seconds['ours'] / 1e6:.0f} M codes/s",
        f"{seconds['numpy'] / seconds['ours']:.1f} x np.bincount",
        "500 M codes/s",
    )


def tally_sets(design: Design, n: int) -> Line:
    """Bit masks into inclusion counts."""
    reports = design.sample(_codes(n, design.k))
    seconds = best_seconds({"ours": lambda: design.tally(reports)})
    rate = f"{n / seconds['ours'] / 1e6:.0f} M reports/s"
    return Line(f"tally of {design.kind} reports, k = {design.k}", rate, "", "")


def working_memory() -> Line:
    """What randomizing 10**8 rows needs beside its input and output."""
    design, codes = Uniform.from_epsilon(1, Categories.numbered(16)), _codes(10**8, 16)
    design.sample(codes[:10])
    tracemalloc.start()
    reports = design.sample(codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beside = (peak - reports.data.nbytes) / 1e6
    top = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    whole = f"whole process at its peak {top:.0f} MB"
    return Line("memory beside input and output, 10^8 rows", f"{beside:.1f} MB", whole, "50 MB")


def _seconds_in_fresh_process(code: str) -> float:
    program = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", program]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(9))


def import_time() -> Line:
    """`import maskwell` against `import numpy`."""
    numpy, ours = _seconds_in_fresh_process("import numpy"), _seconds_in_fresh_process("import maskwell")
    return Line("import maskwell", f"{1000 * ours:.0f} ms", f"{ours / numpy:.2f} x import numpy", "2 x")


def help_time() -> Line:
    """`maskwell --help` from the shell."""
    command = [sys.executable, "-m", "maskwell", "--help"]
    seconds = best_seconds({"help": lambda: subprocess.run(command, capture_output=True, check=True)})["help"]
    return Line("maskwell --help", f"{1000 * seconds:.0f} ms", "", "500 ms")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield random_bytes()
    yield k_ary()
    yield dense()
    yield sparse(20, 5, "50 M rows/s")
    yield sparse(10**6, 5, "")
    yield keyed()
    yield subset(64, 10**6, 3000, "5 M reports/s")
    yield subset(1000, 10**5, 1000, "50 x")
    yield unary()
    for k in (16, 1000, 10**4, 10**5, 10**6):
        yield sets_of_any_size(k, "2 ns")
    yield tally()
    yield tally_sets(Subset.from_epsilon(1, Categories.numbered(64), size=17), 10**6)
    yield tally_sets(Unary.oue_from_epsilon(1, Categories.numbered(64)), 10**6)
    yield working_memory()
    yield import_time()
    yield help_time()


def kernel_name() -> str:
    """Which kernels run."""
    return "compiled" if kernels.COMPILED else "plain NumPy"
