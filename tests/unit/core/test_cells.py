"""Cells: sums of rows that merge in any order, and their keys, also where a machine word does not hold them."""

from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet

from maskwell.core import groups as keys
from maskwell.core.arguments import Array
from maskwell.core.groups import Factor
from maskwell.core.row_sums import Cells
from maskwell.errors import InputError, MissingValueError, ReportError, WrongTypeError


def rows(n: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "report": random.integers(0, 4, n),
        "weight": random.integers(1, 50, n) / 8,
        "stratum": random.choice(np.array(["north", "south", "west"]), n),
        "clusters": [random.integers(0, 5, n), random.integers(0, 3, n)],
        "domain": random.choice(np.array([10, 20]), n),
        "replicates": random.integers(0, 9, (n, 3)).astype(float),
    }


def part(columns: dict[str, Any], chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {name: [c[chosen] for c in v] if name == "clusters" else v[chosen] for name, v in columns.items()}


def listed(cells: Cells) -> list[tuple[Any, ...]]:
    factors = [cells.stratum, *cells.clusters, cells.domain, cells.sample]
    labels = [f.labels[f.codes].tolist() for f in factors]
    sums = [cells.report, cells.n, cells.weight, cells.square, *cells.weighting.replicates.T, *cells.population.T]
    return list(zip(*labels, *(column.tolist() for column in sums), strict=True))


def counted_by_hand(columns: dict[str, Any]) -> list[tuple[Any, ...]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for i in range(len(columns["report"])):
        one = (columns["stratum"][i], *(c[i] for c in columns["clusters"]), columns["domain"][i], 0)
        sums = found.setdefault((*one, columns["report"][i]), [0] * 6)
        w = columns["weight"][i]
        for place, value in enumerate([1, w, w * w, *columns["replicates"][i]]):
            sums[place] += value
    return [(*key, *sums) for key, sums in sorted(found.items())]


def test_cells_are_the_sums_of_their_rows() -> None:
    columns = rows(300, 1)
    assert listed(Cells.of(**columns)) == counted_by_hand(columns)


@pytest.mark.parametrize("seed", range(5))
def test_batches_merge_in_any_split_and_order(seed: int) -> None:
    columns = rows(200, seed)
    whole = listed(Cells.of(**columns))
    batch = np.random.default_rng(seed).integers(0, 3, 200)
    a, b, c = (Cells.of(**part(columns, np.flatnonzero(batch == i))) for i in range(3))
    assert listed((a + b) + c) == whole
    assert listed(a + (c + b)) == whole
    assert listed(Cells.total([c, a, b])) == whole


def test_rows_may_be_none_stand_for_several_reports_and_have_codes_far_apart() -> None:
    labels = np.array([0, 10**15, 5, 10**15])
    cells = Cells.of([0, 1, 0, 1], clusters=[labels, labels * 3, labels * 5], stratum=labels, domain=labels)
    assert cells.n.tolist() == [1, 1, 2]
    assert cells.stratum.labels.tolist() == [0, 5, 10**15]
    cells = Cells.of([0, 0], stratum=["a", "b"], clusters=[[1, 1]])
    assert len(cells) == 2
    cells = Cells.of([0, 1], weight=[2.0, 3.0], count=[5, 1])
    assert (cells.n.tolist(), cells.weight.tolist(), cells.square.tolist()) == ([5, 1], [10.0, 3.0], [20.0, 9.0])
    held = np.array([[1, 1, 0], [0, 0, 1]])
    cells = Cells.of_sets(held, weight=[2.0, 5.0], stratum=["b", "a"], clusters=[[1, 2]])
    assert cells.rows == 2
    shown = zip(cells.stratum.codes.tolist(), cells.report.tolist(), cells.weight.tolist(), strict=True)
    assert sorted(shown) == [(0, 2, 5.0), (0, 3, 5.0), (1, 0, 2.0), (1, 1, 2.0), (1, 3, 2.0)]
    some = Cells.of([1, 0], weight=[1.0, 2.0], stratum=["a", "b"])
    none = Cells.of(np.zeros(0, dtype=int), weight=[], stratum=np.zeros(0, dtype=str))
    assert len(none) == 0
    assert listed(some + none) == listed(some)


def test_the_population_is_one_number_within_a_stratum_and_varies_by_cluster() -> None:
    with quiet(InputError, match="population of stage 1: the number differs within one stratum", values="30 to 31"):
        Cells.of([0, 0], stratum=["a", "a"], population=[[30, 31]])
    with quiet(InputError, match="the number differs within one stratum", values="30 to 31"):
        Cells.of([0, 1], stratum=["a", "a"], population=[[30, 31]])
    one, other = (Cells.of([0], stratum=["a"], population=[p]) for p in (30, 31))
    with quiet(InputError, match="the number differs within one stratum", values="30 to 31"):
        one + other
    cells = Cells.of([0, 1], clusters=[["a", "b"]], population=[10, [4, 5]])
    assert cells.population.tolist() == [[10, 4], [10, 5]]
    with pytest.raises(InputError, match="cluster of the stage above"):
        Cells.of([0, 1], clusters=[["a", "a"]], population=[10, [4, 5]])


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"report": [0.5]}, ReportError),
        ({"report": [-1]}, ReportError),
        ({"report": [0], "weight": [1.0, 2.0]}, InputError),
        ({"report": [0], "weight": ["heavy"]}, WrongTypeError),
        ({"report": [0], "stratum": ["a", "b"]}, WrongTypeError),
        ({"report": [0, 1], "stratum": ["a", None]}, MissingValueError),
        ({"report": [0, 1], "domain": [1.0, np.nan]}, MissingValueError),
        ({"report": [0], "replicates": [1.0]}, InputError),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        Cells.of(**columns)
    assert getattr(raised.value, "hint", "")


def test_batches_counted_alike_mix_and_factors_keep_unused_labels() -> None:
    with pytest.raises(
        InputError, match="these batches were counted differently: weights, clusters, populations or replicates differ"
    ):
        Cells.of([0]) + Cells.of([0], weight=[1.0])
    with pytest.raises(InputError, match="at least one batch"):
        Cells.total([])
    factor = Factor.from_codes(np.array([0, 2], dtype=np.int8), ["c", "b", "a"])
    assert factor.labels.tolist() == ["a", "b", "c"]
    assert factor.codes.tolist() == [2, 0]
    with pytest.raises(MissingValueError):
        Factor.from_codes([-1], ["a"])


@pytest.mark.parametrize(
    "column",
    [
        np.array([-128, 127], dtype=np.int8),
        np.array([250, 5], dtype=np.uint8),
        np.array([-(2**63), -(2**63) + 1]),
        np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([True, False]),
        np.array(["2024-05-01", "2023-01-01"], dtype="datetime64[D]"),
    ],
)
def test_factors_of_any_numbers(column: np.ndarray[Any, Any]) -> None:
    factor = Factor.of(column)
    assert (factor.labels[factor.codes] == column).all()
    assert (np.sort(factor.labels) == factor.labels).all()


FEW, MANY = [2, 3, 4], [1 << 30, 1 << 30, 5]


def codes_of(sizes: list[int], rows: int, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, min(size, 3), rows) for size in sizes]).astype(np.int64)


def ranks(codes: Array) -> list[int]:
    """Places of the rows among the distinct ones, in lexicographic order."""
    rows = [tuple(row) for row in codes.tolist()]
    order = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [order[row] for row in rows]


@pytest.mark.parametrize("sizes", [FEW, MANY])
def test_keys_rise_with_the_rows_and_give_the_codes_back(sizes: list[int]) -> None:
    codes = codes_of(sizes, 50)
    joint = keys.joint_keys(list(codes.T), sizes, 50)
    assert (joint.dtype == object) == (keys.possible_cells(sizes) > keys.LARGEST_KEY)
    assert ranks(joint[:, None]) == ranks(codes)
    again = keys.separate_codes(joint, sizes)
    assert np.column_stack(again).astype(np.int64).tolist() == codes.tolist()


def test_missing_values_come_first() -> None:
    joint = keys.joint_keys([np.array([-1, 0, 1]), np.array([2, -1, 0])], [3, 4], 3, first=-1)
    assert joint.tolist() == [0 * 4 + 3, 1 * 4 + 0, 2 * 4 + 1]


@pytest.mark.parametrize("sizes", [FEW, MANY, [1 << 40] * 4])
def test_cells_of_several_tables_have_the_same_numbers(sizes: list[int]) -> None:
    first, second = codes_of(sizes, 40), codes_of(sizes, 30, seed=2)
    a, b = keys.number_cells(sizes, first, second)
    assert ranks(np.concatenate([a, b])[:, None]) == ranks(np.concatenate([first, second]))
    assert (np.concatenate([a, b]) < keys.LARGEST_KEY).all()


@pytest.mark.parametrize("space", [100, keys.LARGEST_KEY])
def test_numbers_are_closed_up(space: int) -> None:
    (a, b), count = keys.renumber(space, np.array([70, 5, 70]), np.array([99, 5]))
    assert (a.tolist(), b.tolist(), count) == ([1, 0, 1], [2, 0], 3)


@pytest.mark.parametrize("dense", [0, 1000])
def test_known_keys_are_found_at_their_first_place(dense: int) -> None:
    known, asked = np.array([7, 3, 7, 900]), np.array([7, 900, 4, 3, 0])
    assert keys.KeyFinder(known, 1000, dense=dense).find(asked).tolist() == [0, 3, -1, 1, -1]
    nothing = keys.KeyFinder(np.zeros(0, dtype=np.int64), 1000, dense=dense)
    assert nothing.find(asked).tolist() == [-1] * 5


@pytest.mark.parametrize("most", [3, 1 << 40])
def test_distinct_rows_in_order(most: int) -> None:
    codes = codes_of([3, 3], 30)
    codes[0] = most
    groups, of_row = keys.distinct_rows(list(codes.T), 30)
    assert groups[of_row].tolist() == codes.tolist() and groups.tolist() == sorted(groups.tolist())
    assert keys.distinct_rows([], 3)[0].shape == (1, 0) and keys.distinct_rows([], 0)[0].shape == (0, 0)


@pytest.mark.parametrize("sizes", [FEW, MANY, [1 << 40] * 4])
def test_groups_add_up_the_rows_with_equal_codes(sizes: list[int]) -> None:
    codes, values = codes_of(sizes, 60), np.arange(60.0)
    groups = keys.Groups.by([(column, size) for column, size in zip(codes.T, sizes, strict=True)], 60)
    assert groups.codes.tolist() == ranks(codes)
    by_hand = np.bincount(ranks(codes), values)
    np.testing.assert_array_equal(groups.sums(values), by_hand)
    np.testing.assert_array_equal(groups.sums(np.column_stack([values, values]))[:, 1], by_hand)
    assert (groups.codes[groups.row_of_each()] == np.arange(len(groups))).all()
