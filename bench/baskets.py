"""Baskets: supports of all pairs and of one set, mining, randomizing; and what is found of real baskets.

``python -m bench.baskets FILE.csv`` reads baskets from the second column, with blanks between items. It randomizes
baskets of the most frequent items and says how much of what the true baskets hold is found.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import SeededRandom
from maskwell import design as make_design
from maskwell.designs.basket_bits import ItemBits, item_bits
from maskwell.estimation.itemset_mining import mine_itemsets
from maskwell.estimation.itemset_supports import ReportedBaskets

BASKETS = 10**6
ROUNDS = 3
ITEMS = 64
LEAST = 0.02
SEEDS = 20


def _bits(items: int, keep: str = "0.9") -> ItemBits:
    return item_bits(make_design("bits", items=[f"item{i}" for i in range(items)], p=keep))


def _made_up(items: int, baskets: int) -> np.ndarray:
    """Baskets of items that become rarer, as rows of bits."""
    random = np.random.default_rng(1)
    share = 0.4 * np.exp(-np.arange(items) / 15)
    return np.packbits(random.random((baskets, items)) < share, axis=1, bitorder="little")


def _by_products(bits: np.ndarray, design: ItemBits) -> None:
    """Supports and variances of all pairs as one would write it: centred bits, their product, and that of squares."""
    keep = float(design.present[0])
    w = np.unpackbits(bits, axis=1, count=len(design), bitorder="little").astype(np.float64)
    w = (w - (1 - keep)) / (2 * keep - 1)
    _ = w.T @ w, (w**2).T @ w**2


def all_pairs(items: int, bar: str) -> Line:
    """Supports and standard errors of all pairs, from rows of bits."""
    design, bits = _bits(items), _made_up(items, BASKETS)
    seconds = best_seconds(
        {
            "ours": lambda: ReportedBaskets.of(bits, design).pair_supports(),
            "products": lambda: _by_products(bits, design),
        },
        ROUNDS,
    )
    compared = f"{seconds['products'] / seconds['ours']:.1f} x centred products in NumPy"
    return Line(f"all pairs of {items} items, {BASKETS:,} baskets", f"{seconds['ours']:.2f} s", compared, bar)


def one_itemset() -> Line:
    """The support of one set of three items, where the bits are at hand."""
    baskets = ReportedBaskets.of(_made_up(ITEMS, BASKETS), _bits(ITEMS))
    seconds = best_seconds({"ours": lambda: baskets.support(["item1", "item20", "item40"])})
    return Line(f"support of 3 of {ITEMS} items, {BASKETS:,} baskets", f"{1000 * seconds['ours']:.1f} ms", "", "10 ms")


def mining() -> Line:
    """Itemsets of up to four items, level by level."""
    design = _bits(ITEMS)
    baskets = ReportedBaskets.of(design.sampler(SeededRandom(1)).sample(_made_up(ITEMS, BASKETS)).data, design)
    seconds = best_seconds({"ours": lambda: mine_itemsets(baskets, min_support=LEAST)}, ROUNDS)
    counted = mine_itemsets(baskets, min_support=LEAST).searched
    return Line(
        f"mining {ITEMS} items, {BASKETS:,} baskets", f"{seconds['ours']:.2f} s", f"{sum(counted):,} sets counted", ""
    )


def randomizing() -> Line:
    """Baskets of 64 items, against drawing as many bits with NumPy."""
    design, bits = _bits(ITEMS), _made_up(ITEMS, BASKETS)
    random = np.random.default_rng(2)
    seconds = best_seconds(
        {
            "ours": lambda: design.sampler().sample(bits),
            "numpy": lambda: bits ^ np.packbits(random.random((BASKETS, ITEMS)) < 0.1, axis=1, bitorder="little"),
        },
        ROUNDS,
    )
    speed = BASKETS / seconds["ours"] / 1e6
    compared = f"{seconds['numpy'] / seconds['ours']:.2f} x NumPy/PCG64"
    return Line(f"randomize baskets of {ITEMS} items", f"{speed:.2f} M baskets/s", compared, "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield all_pairs(ITEMS, "2 s")
    yield all_pairs(100, "2 s")
    yield one_itemset()
    yield mining()
    yield randomizing()


# ---- real baskets


def most_frequent(path: Path, items: int) -> tuple[list[str], np.ndarray]:
    """The most frequent items of a file, and which of them each basket holds, shape (n, items)."""
    rows = [line.split(",", 1)[1].split() for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    names = [name for name, _ in Counter(item for row in rows for item in row).most_common(items)]
    place = {name: i for i, name in enumerate(names)}
    held = np.zeros((len(rows), items), dtype=np.bool_)
    for number, row in enumerate(rows):
        held[number, [place[item] for item in row if item in place]] = True
    return names, held


def truly_frequent(held: np.ndarray, least: float, largest: int) -> set[tuple[int, ...]]:
    """All sets of items that enough baskets hold, by their places."""
    found, level = set(), [(place,) for place in range(held.shape[1]) if held[:, place].mean() >= least]
    while level:
        found |= {*level}
        joined = (one + two[-1:] for one, two in combinations(level, 2) if one[:-1] == two[:-1])
        level = [one for one in joined if len(one) <= largest and held[:, list(one)].all(axis=1).mean() >= least]
    return found


def recovery(
    path: Path, items: int, least: float, seeds: int = SEEDS, **chance: str
) -> tuple[ItemBits, dict[str, float]]:
    """Of randomized baskets: precision and recall by the size of sets, over several randomizations."""
    names, held = most_frequent(path, items)
    design = item_bits(make_design("bits", items=names, **chance))
    truth, bits = truly_frequent(held, least, 4), np.packbits(held, axis=1, bitorder="little")
    place = {name: i for i, name in enumerate(names)}
    right, told = Counter[int](), Counter[int]()
    for seed in range(seeds):
        reports = design.sampler(SeededRandom(seed)).sample(bits).data
        for one in mine_itemsets(ReportedBaskets.of(reports, design), min_support=least).itemsets:
            told[len(one.items)] += 1
            right[len(one.items)] += tuple(sorted(place[item] for item in one.items)) in truth
    sizes = Counter(map(len, truth))
    result: dict[str, float] = {}
    for size in (1, 2, 3, 4):
        result[f"true {size}"] = sizes[size]
        result[f"precision {size}"] = right[size] / told[size] if told[size] else float("nan")
        result[f"recall {size}"] = right[size] / seeds / sizes[size] if sizes[size] else float("nan")
    return design, result


CASES = [
    (ITEMS, LEAST, {"p": "0.95"}),
    (ITEMS, LEAST, {"p": "0.9"}),
    (ITEMS, LEAST, {"p": "0.8"}),
    (ITEMS, LEAST, {"p": "0.7"}),
    (ITEMS, LEAST, {"epsilon": "64"}),
    (16, 0.05, {"epsilon": "16"}),
    (8, 0.05, {"epsilon": "8"}),
    (8, 0.05, {"epsilon": "4"}),
]
"""Items, threshold, and how bits are kept: each with a chance, or so that the whole basket has a bound."""


def main() -> None:
    """Print the table of the how-to for one file."""
    path = Path(sys.argv[1])
    for items, least, chance in CASES:
        design, found = recovery(path, items, least, **chance)
        print(f"{items} items, threshold {least}, {chance}, kept with {float(design.present[0]):.3f}:")
        print(f"  {design.parities_in_words()}")
        for size in (1, 2, 3, 4):
            values = [found[f"{what} {size}"] for what in ("true", "precision", "recall")]
            print(f"  {size} items: {values[0]:.0f} frequent, precision {values[1]:.3f}, recall {values[2]:.3f}")


if __name__ == "__main__":
    main()
