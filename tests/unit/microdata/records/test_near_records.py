"""The nearest records, and what keys they show, against the same worked out record by record."""

from collections import Counter
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import MemoryTable
from maskwell.microdata.records import column_fit, near_records

N = 90
RANDOM = np.random.default_rng(6)
KEY = [f"k{i}" for i in RANDOM.integers(4, size=N)]
LETTER = ["abc"[i] for i in RANDOM.integers(3, size=N)]
NUMBER = [None if i == 7 else int(i) for i in RANDOM.integers(8, size=N)]


def fit_of(rows: dict[str, list[Any]]) -> column_fit.ColumnFit:
    records = MemoryTable(pa.table(rows))
    return column_fit.read_column_fit(records, count_tables(records, [("k",)])[0], [*rows][1:], 5.0)


def order_of(keys: list[str]) -> list[int]:
    """The row of each kept record: cells in turn."""
    return sorted(range(len(keys)), key=lambda row: keys[row])


def distance(values: list[Any]) -> Any:
    """By hand, in whole thousandths: ranks in the middle of equal numbers, all divided by the mean of two at random."""
    counts, n = Counter(values), len(values)
    numbers = sorted(value for value in counts if isinstance(value, int))
    rank = {v: Fraction(sum(counts[w] for w in numbers if w < v) * 2 + counts[v], 2 * n) for v in numbers}

    def far(one: Any, other: Any) -> Fraction:
        if one in rank and other in rank:
            return (rank[one] - rank[other]) ** 2
        return Fraction(one != other) / (6 if rank else 1)

    mean = sum(counts[a] * counts[b] * far(a, b) for a in counts for b in counts) / Fraction(n * n)
    return lambda a, b: round(1000 * far(a, b) / max(mean, Fraction(1, 20)))


def test_the_nearest_records_are_those_of_all_that_are_compared() -> None:
    fit, order = fit_of({"k": KEY, "x": LETTER, "y": NUMBER}), order_of(KEY)
    letters, numbers = distance(LETTER), distance(NUMBER)
    near = fit.near.of_records(np.arange(N))
    assert near.shape == (N, near_records.NEAREST)
    for record, found in enumerate(near.tolist()):
        row = order[record]
        far = {
            at: letters(LETTER[row], LETTER[other]) + numbers(NUMBER[row], NUMBER[other])
            for at, other in enumerate(order)
            if other != row
        }
        assert [far[at] for at in found] == sorted(far.values())[: len(found)] and len({*found}) == len(found)


def test_log_odds_are_those_of_the_keys_that_neighbours_show() -> None:
    """Also in a drawn file, where some records show other keys."""
    fit = fit_of({"k": KEY, "x": LETTER, "y": NUMBER})
    moved = np.array([3, 50, 77])
    drawn = fit.shown(moved, (fit.cells[moved] + 1) % 4)
    cells, records = np.repeat(np.arange(4), 3), np.tile([0, 40, 77], 4)
    usual = np.bincount(drawn.cells, minlength=4) / N
    for one, weights in zip(drawn.odds_of_pairs(cells, records).by_neighbours[:, 0], near_records.WEIGHTS, strict=True):
        for cell, record, odds in zip(cells.tolist(), records.tolist(), one.tolist(), strict=True):
            shown = drawn.cells[drawn.near.of_records(np.array([record]))[0]]
            both, every = float(weights @ (shown == cell)), float(weights.sum())
            assert odds == pytest.approx(log((both + 2 * usual[cell]) / (every + 2) / usual[cell]), abs=1e-9)


def test_copies_are_found_in_files_of_which_not_all_records_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 300 records has two copies in which one of six columns differs; 48 records are compared, not 899."""
    base = RANDOM.integers(30, size=(300, 6))
    copies = np.tile(base, (3, 1))
    copies[np.arange(900), RANDOM.integers(6, size=900)] = RANDOM.integers(30, size=900)
    keys = [f"k{i}" for i in RANDOM.integers(4, size=900)]
    rows = {"k": keys, **{f"x{i}": [f"v{v}" for v in column] for i, column in enumerate(copies.T.tolist())}}
    monkeypatch.setattr(near_records, "MOST_COMPARED", 0)
    monkeypatch.setattr(near_records, "BESIDE", 12)
    order = order_of(keys)
    near = fit_of(rows).near.of_records(np.arange(900))
    first = [{order[at] % 300 for at in found[:2]} for found in near.tolist()]
    right = sum(order[record] % 300 in found for record, found in enumerate(first))
    assert right > 850
    assert not (near == np.arange(900)[:, None]).any()
    assert min(len({*found} - {-1}) for found in near.tolist()) > 40  # fewer are near in some order


@pytest.mark.parametrize("n", [1, 2])
def test_files_of_very_few_records(n: int) -> None:
    near = fit_of({"k": KEY[:n], "x": LETTER[:n]}).near.of_records(np.arange(n))
    assert near.tolist() == ([[-1]] if n == 1 else [[1], [0]])
