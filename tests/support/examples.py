"""One registry of designs, of every structure, on which the contract suites run."""

from datetime import date
from fractions import Fraction

from maskwell import Categories, Design
from maskwell.designs import Blocks, Composed, Dense, Kronecker, LocalDiversity, Mixture, Sparse, Subset, Unary, Uniform
from maskwell.designs.patterns import Patterns

YES_NO = Categories.of(["yes", "no"])
ABC = Categories.of(["a", "b", "c"])
DAYS = Categories.of([date(2024, 5, 1), date(2024, 5, 2), date(2024, 5, 3)])
MIXED = Categories.of([1, "one", (1, "one"), 2.5])
GREEK = Categories.of(["α", "β", 'γ "quoted"', "δ\n", ""])


def numbered(k: int) -> Categories:
    return Categories.numbered(k)


SQUARE = Dense.of([["7/10", "2/10"], ["3/10", "8/10"]], YES_NO)
TALL = Dense.of([["1/2", "1/8"], ["1/4", "1/4"], ["1/4", "5/8"]], YES_NO, Categories.of(["x", "y", "z"]))
WARNER = Uniform.from_gamma(3, YES_NO)
KARY = Uniform.from_gamma(4, ABC)
JAR = Mixture.of("3/5", ["1/5", "1/10", "1/10"], ABC)

EXAMPLES: dict[str, Design] = {
    "dense square": SQUARE,
    "dense of three, skew": Dense.of([["1/2", "1/3", 0], ["1/4", "1/3", "1/10"], ["1/4", "1/3", "9/10"]], DAYS),
    "dense tall": TALL,
    "dense tall with a zero row": Dense.of([["1/2", "1/8"], [0, 0], ["1/4", "1/4"], ["1/4", "5/8"]], YES_NO),
    "dense wide": Dense.of([["1/2", "1/4", "1/8"], ["1/2", "3/4", "7/8"]], ABC, YES_NO),
    "dense of rank one": Dense.of([["1/3", "1/3"], ["2/3", "2/3"]], YES_NO),
    "dense of floats": Dense.of([[0.1234567890123456, 1 / 3], [1 - 0.1234567890123456, 2 / 3]], YES_NO),
    "dense with a tiny entry": Dense.of([[1e-300, 0.5], [1.0, 0.5]], YES_NO),
    "dense one row": Dense.of([[1, 1, 1]], ABC, Categories.of(["silence"])),
    "dense of many": Dense.of(Uniform.from_gamma(7, numbered(20)).exact_matrix()),
    "sparse with two components": Sparse.of_columns([{0: 3, 2: 1}, {1: 1}, {0: 2, 2: 5}, {3: 1}], MIXED),
    "sparse without zeros": Sparse.of_matrix(
        [["1/2", "1/3", "1/10"], ["1/4", "1/3", "1/5"], ["1/4", "1/3", "7/10"]], DAYS
    ),
    "sparse tall with a report that never comes": Sparse.of_columns(
        [{0: 1, 1: 1}, {1: 1, 2: 2, 3: 1}, {5: 3, 6: 2}], ABC, numbered(7)
    ),
    "sparse, dependent columns": Sparse.of_columns([{0: 1, 1: 2}, {0: 1, 1: 2}, {2: 1}], ABC),
    "sparse that moves all": Sparse.of_columns([{1: 1}, {2: 1}, {0: 1}], ABC),
    "sparse of large integers": Sparse.of_columns([{0: 3**80 + 1, 1: 3**79}, {0: 5**50, 1: 2 * 5**50 + 7}], YES_NO),
    "sparse of many": Sparse.of_columns([{j: 5, (j + 1) % 40: 3, (j + 17) % 40: 1} for j in range(40)]),
    "sparse with a long column": Sparse.of_columns([dict(enumerate(range(1, 21))), *({j: 1} for j in range(1, 20))]),
    "patterns k=2": Patterns.of(3, [[0], [1]], ["1/4", "1/4"], YES_NO),
    "patterns of all sets": Patterns.of(
        3, [[0], [1], [2], [0, 2], [1, 2], [0, 1]], [Fraction(n, 24) for n in (3, 1, 2, 1, 3, 2)], ABC
    ),
    "patterns of a set and the rest": Patterns.of("5/2", [[0], [1, 2]], ["2/7", "2/7"], ABC, YES_NO),
    "patterns with labels that make one name": Patterns.of(
        "7/3", [[0, 1], [2], [3]], ["3/13"] * 3, Categories.of(["a", "b", "a, b", "c"])
    ),
    "patterns of many categories": Patterns.of(
        2, [*([j] for j in range(11)), *([j, (j + 1) % 11] for j in range(11))], ["1/25"] * 22, numbered(11)
    ),
    "uniform k=2": WARNER,
    "uniform k=3": KARY,
    "uniform k=4, epsilon 1": Uniform.from_epsilon(1, MIXED),
    "uniform k=5, float gamma": Uniform.from_gamma(2.7, GREEK),
    "uniform k=16, epsilon 0.1": Uniform.from_epsilon(0.1, numbered(16)),
    "uniform k=256": Uniform.from_gamma(50, numbered(256)),
    "uniform k=257 (two-byte codes)": Uniform.from_epsilon("3.5", numbered(257)),
    "uniform, the truth": Uniform.of(1, ABC),
    "mixture": JAR,
    "mixture with a report that only the truth gives": Mixture.of("1/2", ["1/4", 0, "1/4", 0], MIXED),
    "mixture of equals": Mixture.of("1/4", ["1/4", "1/4", "1/4"], ABC),
    "mixture of two": Mixture.of("1/4", ["1/2", "1/4"], YES_NO),
    "mixture without truth": Mixture.of(0, ["1/2", "1/4", "1/4"], ABC),
    "mixture of sixths": Mixture.of("1/2", ["1/6", "1/6", "1/6"], ABC),
    "subset k=2 q=1": Subset.from_gamma(3, YES_NO, size=1),
    "subset k=4 q=2": Subset.from_gamma(3, MIXED, size=2),
    "subset k=5 q=1, epsilon 2": Subset.from_epsilon(2, GREEK, size=1),
    "subset k=5 q=4": Subset.from_gamma("5/2", GREEK, size=4),
    "subset k=9 q=3, epsilon 1": Subset.from_epsilon(1, numbered(9), size=3),
    "subset k=3 q=2": Subset.of("3/4", 2, ABC),
    "l-diverse k=3 l=2": LocalDiversity.of(2, ABC),
    "l-diverse k=5 l=3": LocalDiversity.of(3, GREEK),
    "l-diverse k=9 l=4": LocalDiversity.of(4, numbered(9)),
    "rappor k=3": Unary.rappor_from_gamma(4, ABC),
    "rappor k=9, epsilon 1": Unary.rappor_from_epsilon(1, numbered(9)),
    "optimised unary k=4": Unary.oue_from_gamma(3, MIXED),
    "optimised unary k=5, epsilon 0.5": Unary.oue_from_epsilon(0.5, GREEK),
    "unary k=2": Unary.of("3/4", "1/8", YES_NO),
    "kronecker of two": Kronecker.of([WARNER, KARY]),
    "kronecker of three": Kronecker.of([TALL, JAR, WARNER]),
    "kronecker of one": Kronecker.of([JAR]),
    "kronecker with a silent factor": Kronecker.of([WARNER, Mixture.of(0, ["1/2", "1/2"], YES_NO)]),
    "blocks of two": Blocks.of({"north": WARNER, "south": JAR}),
    "blocks of three": Blocks.of({1: TALL, 2: KARY, 3: SQUARE}),
    "blocks of one": Blocks.of({"all": WARNER}),
    "composed uniform": Composed.of(WARNER, Uniform.from_gamma(5, YES_NO)),
    "composed mixture after uniform": Composed.of(KARY, JAR),
    "composed tall": Composed.of(SQUARE, TALL),
    "composed tall before uniform": Composed.of(TALL, Uniform.from_gamma(9, Categories.of(["x", "y", "z"]))),
    "nested": Blocks.of({"a": Kronecker.of([Composed.of(WARNER, SQUARE), WARNER]), "b": KARY}),
}

SETS = {name: design for name, design in EXAMPLES.items() if design.reports_are_sets}
IDENTIFIABLE = {name: design for name, design in EXAMPLES.items() if design.identifiable}

DYADIC: dict[str, Design] = {
    "dense": Dense.of([["37/64", "5/64", 0], ["20/64", "50/64", "1/64"], ["7/64", "9/64", "63/64"]], ABC),
    "dense tall": Dense.of([["1/2", "1/8"], ["1/4", "1/4"], ["1/4", "5/8"]], YES_NO, ABC),
    "sparse": Sparse.of_columns([{0: 37, 1: 20, 2: 7}, {0: 5, 1: 59}, {1: 1, 2: 63}], ABC),
    "patterns": Patterns.of(
        3, [[0], [0, 1], [1], [2], [0, 2], [1, 2]], [Fraction(n, 16) for n in (2, 1, 1, 1, 1, 2)], ABC
    ),
    "uniform": Uniform.of("77/256", numbered(4)),
    "uniform k=2": Uniform.of("1/4", YES_NO),
    "mixture": Mixture.of("100/256", ["1/256", "0", "155/256"], ABC),
    "subset of size one": Subset.of("13/16", 1, numbered(5)),
    "subset k=3 q=2": Subset.of("3/4", 2, ABC),
    "l-diverse k=3": LocalDiversity.of(2, ABC),
    "unary": Unary.of("13/16", "3/16", ABC),
    "unary, fine": Unary.of("131/256", "1/256", YES_NO),
    "kronecker": Kronecker.of([Uniform.of("3/16", numbered(2)), Uniform.of("9/16", numbered(4))]),
    "blocks": Blocks.of({"a": Uniform.of("77/256", numbered(4)), "b": Uniform.of("1/4", numbered(2))}),
    "composed": Composed.of(Uniform.of("3/16", numbered(4)), Uniform.of("9/16", numbered(4))),
}
"""Designs whose report is settled by the leading bits of the words: every pattern of those bits can be tried."""

LEADING_BITS: dict[str, list[list[int]]] = {
    # for each word of the row: the positions (from the top of its 16-bit halves, low half first) that matter
    "dense": [[0, 0], [0, 6]],
    "dense tall": [[0, 0], [0, 3]],
    "sparse": [[0, 0], [0, 6]],
    "patterns": [[0, 0], [0, 4]],
    "uniform": [[0, 2], [0, 8]],
    "uniform k=2": [[0, 1], [0, 2]],
    "mixture": [[0, 0], [0, 8]],
    "subset of size one": [[0, 0], [0, 4], [0, 2]],
    "subset k=3 q=2": [[0, 0], [0, 2], [0, 1], [0, 1]],
    "l-diverse k=3": [[0, 1]],
    "unary": [[4, 4], [4, 0], [0, 0]],
    "unary, fine": [[8, 8], [0, 0]],
    "kronecker": [[0, 1], [0, 4], [0, 2], [0, 4]],
    "blocks": [[0, 2], [0, 8]],
    "composed": [[0, 2], [0, 4], [0, 2], [0, 4]],
}
"""How many leading bits of the low and of the high half of each word decide the report of the designs in DYADIC."""


def exact_columns(design: Design) -> list[list[Fraction]]:
    """The exact matrix as columns: one list for each truth."""
    return [list(column) for column in zip(*design.exact_matrix(), strict=True)]
