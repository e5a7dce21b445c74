"""`python -m bench.threads`: one thread against two, on the same words; the reports must be equal."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.measure import best_seconds
from maskwell import Categories, SeededRandom
from maskwell.designs import Dense, Subset, Unary, Uniform


def main() -> None:
    P = np.random.default_rng(2).dirichlet(np.ones(256), 256).T
    designs = {
        "k-ary randomized response k = 16": (Uniform.from_epsilon(1, Categories.numbered(16)), 3 * 10**7),
        "dense 256 x 256": (Dense.of(P), 10**7),
        "subset k = 64": (Subset.from_epsilon(1, Categories.numbered(64), size=17), 2 * 10**6),
        "unary k = 64": (Unary.oue_from_epsilon(1, Categories.numbered(64)), 2 * 10**6),
    }
    for name, (design, rows) in designs.items():
        codes = np.random.default_rng(1).integers(0, design.k, rows).astype(np.uint8)
        one, two = (design.sample(codes, random=SeededRandom(1), threads=n).data for n in (1, 2))
        same = bool((one == two).all())
        seconds = best_seconds({str(n): partial(design.sample, codes, threads=n) for n in (1, 2)}, rounds=4)
        print(f"{name}: {seconds['1'] / seconds['2']:.1f} x with two threads, equal reports: {same}")


if __name__ == "__main__":
    main()
