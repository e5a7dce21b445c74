"""Designs that are small to state and hard to audit: every structure that a design file can hold, at its worst sizes.

Each is made as its file would be read, so that whatever a stranger may send is met here.
"""

import random
from collections.abc import Callable
from fractions import Fraction

from maskwell import Categories, Design
from maskwell.designs import Blocks, Composed, Dense, Kronecker, LocalDiversity, Mixture, Sparse, Subset, Unary, Uniform
from maskwell.designs.patterns import Patterns

PRIME = 2**127 - 1
MOST = 2**32 - 1


def coin(gamma: int = 3) -> Uniform:
    """Two categories."""
    return Uniform.from_gamma(gamma, Categories.of(["yes", "no"]))


def matrix(k: int, digits: int = 6, m: int | None = None, seed: int = 1) -> Dense:
    """A matrix without any structure; its columns have different denominators of so many digits."""
    draw = random.Random(seed)
    columns = [[draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(m or k)] for _ in range(k)]
    for j, column in enumerate(columns):
        column[j % len(column)] *= 3
    return Dense.from_integers(columns)


def permuting(k: int) -> Dense:
    """One entry above zero in each column."""
    return Dense.from_integers([[int(i == j) for i in range(k)] for j in range(k)])


def band(k: int, width: int = 3) -> Sparse:
    """Each state becomes one of its neighbours: one component that holds all of them."""
    starts = [j * width for j in range(k + 1)]
    rows = [i for j in range(k) for i in sorted((j + step) % k for step in range(width))]
    return Sparse.from_integers(starts, rows, [5 + (e * 7) % 11 for e in range(k * width)])


def pairs(k: int) -> Sparse:
    """States change within pairs."""
    rows = [i for j in range(k) for i in (j - j % 2, j - j % 2 + 1)]
    return Sparse.from_integers(
        list(range(0, 2 * k + 1, 2)), rows, [3 if i == e // 2 else 1 for e, i in enumerate(rows)]
    )


def full_sparse(k: int, digits: int = 6) -> Sparse:
    """A sparse design without a zero."""
    draw = random.Random(k)
    numbers = [draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(k * k)]
    return Sparse.from_integers(list(range(0, k * k + 1, k)), [i for _ in range(k) for i in range(k)], numbers)


def mixture(k: int) -> Mixture:
    """A different fixed report chance for each category."""
    total = k * (k + 1) // 2 + k * k
    return Mixture.of(Fraction(k * k, total), [Fraction(i + 1, total) for i in range(k)], Categories.numbered(k))


def singles(k: int) -> Patterns:
    """A set for each category."""
    return Patterns.from_integers(Fraction(3), [1 << j for j in range(k)], [1] * k, Categories.numbered(k))


def chain(steps: int, make: Callable[[int], Design]) -> Design:
    """One design after another."""
    found = make(0)
    for step in range(1, steps):
        found = Composed.of(found, make(step))
    return found


def nested_products(levels: int) -> Design:
    """A product of a product of a product, each with one coin more."""
    found: Design = coin()
    for _ in range(levels):
        found = Kronecker.of([found, coin(5)])
    return found


def nested_blocks(levels: int) -> Design:
    """Cells within cells."""
    found: Design = coin()
    for level in range(levels):
        found = Blocks.of({("in", level): found, "out": coin(5)})
    return found


LARGE: dict[str, Callable[[], Design]] = {
    "product of 11 coins": lambda: Kronecker.of([coin()] * 11),
    "product of 20 coins": lambda: Kronecker.of([coin()] * 20),
    "product of 62 coins": lambda: Kronecker.of([coin()] * 62),
    "product of 1,100 coins": lambda: Kronecker.of([coin()] * 1100),
    "product of 11 different matrices": lambda: Kronecker.of([matrix(2, seed=s) for s in range(11)]),
    "product of 16 matrices of 3": lambda: Kronecker.of([matrix(3, seed=s) for s in range(16)]),
    "product of 6 matrices of 4": lambda: Kronecker.of([matrix(4, seed=s) for s in range(6)]),
    "product of two matrices of 50": lambda: Kronecker.of([matrix(50, seed=s) for s in range(2)]),
    "product of matrices of 300": lambda: Kronecker.of([matrix(300)] * 3),
    "product of a million and a coin": lambda: Kronecker.of([mixture(10**5), coin(), matrix(3)]),
    "product of two bands": lambda: Kronecker.of([band(1000), band(1000)]),
    "products within products": lambda: nested_products(30),
    "matrix of 100": lambda: matrix(100),
    "matrix of 300": lambda: matrix(300),
    "matrix of 700": lambda: matrix(700),
    "matrix of 1000": lambda: matrix(1000),
    "matrix of 2000": lambda: matrix(2000),
    "matrix of 4 million reports for one truth": lambda: Dense.from_integers([[1 + i % 7 for i in range(10**6)]]),
    "matrix of 300, 40 digits": lambda: matrix(300, 40),
    "matrix of 300, 300 digits": lambda: matrix(300, 300),
    "matrix of 50, 4000 digits": lambda: matrix(50, 4000),
    "matrix of 1000 truths and 2 reports": lambda: matrix(1000, m=2),
    "matrix of 20000 truths and 2 reports, 30 digits": lambda: matrix(20000, 30, m=2),
    "truth of 2000": lambda: permuting(2000),
    "band of 1000": lambda: band(1000),
    "band of 3000": lambda: band(3000),
    "band of 10^5": lambda: band(10**5),
    "band of 10^6": lambda: band(10**6),
    "pairs among 10^4": lambda: pairs(10**4),
    "pairs among 10^5": lambda: pairs(10**5),
    "pairs among 10^6": lambda: pairs(10**6),
    "sparse without zeros, 300": lambda: full_sparse(300),
    "sparse without zeros, 1000": lambda: full_sparse(1000),
    "sparse without zeros, 1000, 30 digits": lambda: full_sparse(1000, 30),
    "mixture of 10^4": lambda: mixture(10**4),
    "mixture of 10^5": lambda: mixture(10**5),
    "mixture of 10^6": lambda: mixture(10**6),
    "mixture of 1000": lambda: mixture(1000),
    "uniform of 10^6 texts": lambda: Uniform.from_gamma(3, Categories.of([f"label {i}" for i in range(10**6)])),
    "uniform of 2^32 - 1": lambda: Uniform.from_gamma(3, Categories.numbered(MOST)),
    "subset of 20": lambda: Subset.from_gamma(3, Categories.numbered(20), size=10),
    "subset of 1000": lambda: Subset.from_gamma(3, Categories.numbered(1000), size=500),
    "subset of 10^6": lambda: Subset.from_gamma(3, Categories.numbered(10**6), size=500_000),
    "subset of 2^32 - 1": lambda: Subset.from_gamma(3, Categories.numbered(MOST), size=2**31),
    "l-diverse of 10^6": lambda: LocalDiversity.of(1000, Categories.numbered(10**6)),
    "l-diverse of 2^32 - 1": lambda: LocalDiversity.of(2**31, Categories.numbered(MOST)),
    "unary of 13": lambda: Unary.rappor_from_gamma(4, Categories.numbered(13)),
    "unary of 1000": lambda: Unary.rappor_from_gamma(4, Categories.numbered(1000)),
    "unary of 10^6": lambda: Unary.rappor_from_gamma(4, Categories.numbered(10**6)),
    "unary of 2^32 - 1": lambda: Unary.rappor_from_gamma(4, Categories.numbered(MOST)),
    "sets of 1000": lambda: singles(1000),
    "sets of 2000": lambda: singles(2000),
    "blocks of 1000 coins": lambda: Blocks.of({i: coin() for i in range(1000)}),
    "blocks of 10^5 coins": lambda: Blocks.of({i: coin() for i in range(10**5)}),
    "blocks of 20 matrices of 100": lambda: Blocks.of({i: matrix(100) for i in range(20)}),
    "blocks of 2^32 - 1 each": lambda: Blocks.of(
        {i: Uniform.from_gamma(3, Categories.numbered(MOST)) for i in range(9)}
    ),
    "blocks within blocks": lambda: nested_blocks(30),
    "coins 30 times": lambda: chain(30, lambda _: coin()),
    "coins 1000 times": lambda: chain(1000, lambda _: coin()),
    "matrices of 100 twice": lambda: chain(2, lambda step: matrix(100, seed=step)),
    "matrices of 200 twice": lambda: chain(2, lambda step: matrix(200, seed=step)),
    "matrices of 100 twice, 300 digits": lambda: chain(2, lambda step: matrix(100, 300, seed=step)),
    "matrices of 30, 20 times": lambda: chain(20, lambda step: matrix(30, seed=step)),
    "matrices of 100, 10 times": lambda: chain(10, lambda step: matrix(100, seed=step)),
    "bands of 10^4 twice": lambda: chain(2, lambda _: band(10**4)),
    "uniform of a million twice": lambda: chain(2, lambda _: Uniform.from_gamma(3, Categories.numbered(10**6))),
    "mixtures of 10^4 twice": lambda: chain(2, lambda _: mixture(10**4)),
    "product of 8 coins, twice": lambda: chain(2, lambda _: Kronecker.of([coin()] * 8)),
    "product of 62 coins, twice": lambda: chain(2, lambda _: Kronecker.of([coin()] * 62)),
}
