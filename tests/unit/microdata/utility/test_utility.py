"""What a release is good for: distances, associations, inflation, and the tables that are expected."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import pytest

from maskwell.core import CellTable, SeededRandom
from maskwell.designs import Dense
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.estimation import variance_inflation
from maskwell.estimation.release_variance import conditional_variance, weighted_variance
from maskwell.microdata.stages.stage import Stage, expected_table, needed_columns
from maskwell.microdata.utility import assess_utility
from maskwell.microdata.utility.utility_measures import cramers_v, expected_variation, inflation_of, table_distance
from maskwell.microdata.utility.utility_report import utility_tables

EXAMPLE = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]


def stage_of(
    variables: tuple[str, ...],
    states: list[tuple[Hashable, ...]],
    P: Any,
    counts: list[int],
    *,
    within: tuple[str, ...] = (),
    **more: Any,
) -> Stage:
    cells = [str(state[: len(within)]) for state in states]
    settings: dict[str, Any] = {"method": "method1", "invariance": "counts", "derived": True, **more}
    return Stage(
        variables=variables,
        within=within,
        states=states,
        outputs=settings.pop("outputs", states),
        design=Dense.of(P),
        counts=np.array(counts),
        cells=np.unique(cells, return_inverse=True)[1],
        **settings,
    )


X = stage_of(("x",), [("a",), ("b",)], [["0.9", "0.2"], ["0.1", "0.8"]], [60, 30])
Y = stage_of(("y",), [("u",), ("v",)], [["0.85", "0.15"], ["0.15", "0.85"]], [45, 45])
FILE = CellTable.of(["x", "y"], {("a", "u"): 36, ("a", "v"): 24, ("b", "u"): 9, ("b", "v"): 21})


# ---- distances


def test_expected_distance_of_the_example() -> None:
    """Simulated, four standard errors of the mean of 20,000 distances: fails by accident once in 16,000 seeds."""
    random, counts = np.random.default_rng(5), np.array([12, 8, 3])
    P = Dense.of(EXAMPLE).matrix()
    M = sum(random.multinomial(n, P[:, j], size=20_000) for j, n in enumerate(counts))
    found = np.abs(M - counts).sum(axis=1) / 46
    usual, most = expected_variation(np.zeros(3), conditional_variance(EXAMPLE, counts))
    assert found.mean() == pytest.approx(0.1061, abs=4 * found.std() / 20_000**0.5)
    assert usual == pytest.approx(0.1078, abs=5e-5)
    assert most == pytest.approx(0.1351, abs=5e-5)


def test_expected_distance_of_shares_that_only_move() -> None:
    assert expected_variation(np.array([0.1, -0.1]), np.zeros(2)) == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ([1, 2], [1, 2, 3], MatrixError),
        ([[1, 2]], [1, 2], MatrixError),
        ([0, 0], [1, 2], CountsError),
        ([1, 2], [0, 0], CountsError),
        ([1, -2], [1, 2], CountsError),
        ([1, np.nan], [1, 2], CountsError),
        (["a", "b"], [1, 2], CountsError),
    ],
)
def test_tables_that_cannot_be_compared(before: list[Any], after: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        table_distance(before, after)


def test_relative_changes_only_where_there_was_something() -> None:
    found = table_distance([8, 2, 0], [6, 2, 2])
    assert found.largest_relative == pytest.approx(0.25)
    assert (found.largest_change, found.changed_most) == (pytest.approx(0.2), 0)
    assert table_distance([1, 0], [0, 1]).hellinger == pytest.approx(1)
    assert table_distance([1, 1], [1, 0]).hellinger == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))


# ---- association


def test_cramers_v_is_that_of_scipy() -> None:
    from scipy.stats.contingency import association

    table = np.array([[10, 3, 4], [2, 8, 6]])
    assert cramers_v(table) == pytest.approx(association(table, method="cramer"))
    assert cramers_v(table.T) == pytest.approx(association(table, method="cramer"))
    padded = np.zeros((4, 4))
    padded[np.ix_([0, 2], [0, 1, 3])] = table
    assert cramers_v(padded) == pytest.approx(association(table, method="cramer"))


def test_cramers_v_where_there_is_none() -> None:
    assert cramers_v([[1, 2]]) is None
    with pytest.raises(MatrixError, match="two variables"):
        cramers_v([1, 2])
    with pytest.raises(CountsError, match="not all 0"):
        cramers_v([[0, 0], [0, 0]])


def test_two_categories_each_lose_the_determinants() -> None:
    """For matrices that keep the shares: here (2/3, 1/3) and (1/2, 1/2)."""
    found = assess_utility([FILE], stages=[X, Y])
    (pair,) = found.pairs
    assert pair.columns == ("x", "y")
    assert pair.before is not None
    assert pair.expected == pytest.approx(0.7 * 0.7 * pair.before)
    assert pair.kept == pytest.approx(0.49)
    assert pair.after is None
    assert any("below 0.9" in flag for flag in found.flags)
    assert any("apart from each other" in flag for flag in found.flags)


def test_columns_that_are_randomized_apart_are_told_once() -> None:
    from types import SimpleNamespace

    from maskwell.microdata.utility.utility_report import _independent

    def stage(variables: tuple[str, ...], within: tuple[str, ...] = ()) -> Any:
        return SimpleNamespace(variables=variables, within=within, columns=(*within, *variables))

    (one,) = _independent([stage(("a",)), stage(("b", "c")), stage(("d",)), stage(("e",))])
    assert one.endswith("which need the matrices: a, [b, c], d, e")
    (pairs,) = _independent([stage(("a",)), stage(("b", "c")), stage(("d",), ("a",))])
    assert pairs.endswith("which need the matrices: a from [b, c], [b, c] from d")
    assert _independent([stage(("a",)), stage(("d",), ("a",))]) == []


# ---- expected tables


def brute_force(stages: list[Stage], table: CellTable, columns: list[str]) -> dict[tuple[Hashable, ...], float]:
    """One record after the other, one stage after the other."""
    flow = {label: float(n) for label, n in zip(table.labels(), table.counts, strict=True)}
    names = list(table.columns)
    for stage in stages:
        P, after = stage.design.matrix(), {}
        for record, mass in flow.items():
            value = dict(zip(names, record, strict=True))
            state = tuple(value[name] for name in stage.columns)
            if state not in stage.states:
                after[record] = after.get(record, 0) + mass
                continue
            for i, output in enumerate(stage.outputs):
                new = {**value, **dict(zip(stage.columns, output, strict=True))}
                own = tuple(output[len(stage.within) :])
                new.update({name: labels[own] for name, labels in stage.linked.items()})
                key = tuple(new[name] for name in names)
                after[key] = after.get(key, 0) + mass * P[i, stage.states.index(state)]
        flow = after
    found: dict[tuple[Hashable, ...], float] = {}
    for record, mass in flow.items():
        key = tuple(record[names.index(name)] for name in columns)
        found[key] = found.get(key, 0) + mass
    return {key: mass for key, mass in found.items() if mass > 0}


def random_file(seed: int) -> CellTable:
    random = np.random.default_rng(seed)
    cells = list(product("nS", "abc", "uv", ["p", "q"]))
    counts = dict(zip(cells, random.integers(0, 9, size=len(cells)).tolist(), strict=True))
    return CellTable.of(["region", "x", "y", "z"], {**counts, ("n", None, "u", "p"): 4, ("S", "a", None, "q"): 2})


def columns_of(random: np.random.Generator, cells: list[int]) -> list[list[float]]:
    """A random matrix that stays within cells; floats are read as exact binary numbers."""
    P = np.array([[float(a == b) * random.integers(1, 9) for b in cells] for a in cells])
    return (P / P.sum(axis=0)).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_expected_tables_are_those_of_every_record(seed: int) -> None:
    random, table = np.random.default_rng(seed), random_file(seed)
    x_states = [(r, c) for r in "nS" for c in "abc"]
    within = stage_of(
        ("x",), x_states, columns_of(random, [0, 0, 0, 1, 1, 1]), [1] * 6, within=("region",), invariance="none"
    )
    linked = stage_of(("x",), [("a",), ("b",), ("c",)], columns_of(random, [0] * 3), [1] * 3)
    joint_states: list[tuple[Hashable, ...]] = list(product("abc", "uv"))
    joint = stage_of(("x", "y"), joint_states, columns_of(random, [0] * 6), [1] * 6)
    y_states: list[tuple[Hashable, ...]] = list(product("abc", "uv"))
    later = stage_of(("y",), y_states, columns_of(random, [0, 0, 1, 1, 2, 2]), [1] * 6, within=("x",))
    plans = [[within], [within, later], [joint], [linked, later], [within, Y]]
    for stages in plans:
        for columns in (["x", "y"], ["x", "z"], ["y", "z"], ["x"], ["z", "region"], ["y", "x", "z"]):
            need = needed_columns(stages, columns)
            found = expected_table(stages, table.project(need), columns)
            told = {label: n for label, n in zip(found.labels(), found.counts.tolist(), strict=True) if n}
            assert told == pytest.approx(brute_force(stages, table, columns))


def test_linked_columns_follow() -> None:
    table = CellTable.of(["x", "group", "z"], {("a", 1, "p"): 5, ("b", 1, "q"): 3, ("c", 2, "p"): 4, (None, 2, "q"): 1})
    stage = stage_of(
        ("x",),
        [("a",), ("b",), ("c",)],
        [["0.5", "0.25", "0.25"], ["0.25", "0.5", "0.25"], ["0.25", "0.25", "0.5"]],
        [5, 3, 4],
        linked={"group": {("a",): 1, ("b",): 1, ("c",): 2}},
    )
    found = expected_table([stage], table, ["group", "z"])
    told = dict(zip(found.labels(), found.counts.tolist(), strict=True))
    assert told == pytest.approx(brute_force([stage], table, ["group", "z"]))
    report = assess_utility([table], [table], [stage])
    assert [*report.variables] == ["x", "group"]
    assert report.variables["group"].inflation is None
    assert report.worst_inflation is None


def test_the_tables_that_are_needed_are_named() -> None:
    within = stage_of(("x",), [("n", "a"), ("S", "a")], np.eye(2), [1, 1], within=("region",))
    assert utility_tables([within], ["x", "y", "region"]) == [
        ("x",),
        ("x", "region"),
        ("x", "y", "region"),
        ("x", "y"),
    ]


# ---- inflation


def test_inflation_of_one_variable_is_that_of_its_matrix() -> None:
    counts = [12, 8, 3]
    stage = stage_of(("x",), [("a",), ("b",), ("c",)], EXAMPLE, counts)
    found = inflation_of(stage, "x")
    assert found is not None
    np.testing.assert_allclose(found.factors, variance_inflation(EXAMPLE, counts))
    np.testing.assert_allclose(found.effective, [11.66, 11.51, 11.84], atol=5e-3)
    np.testing.assert_allclose(found.added, conditional_variance(EXAMPLE, counts))
    np.testing.assert_allclose(found.shift, 0, atol=1e-15)


def test_inflation_of_a_margin_is_that_of_sums() -> None:
    states: list[tuple[Hashable, ...]] = list(product("ab", "uv"))
    counts = np.array([6, 3, 2, 4])
    P = np.outer(counts / counts.sum(), np.ones(4))
    stage = stage_of(("x", "y"), states, P, counts.tolist())
    for variable in ("x", "y"):
        found = inflation_of(stage, variable)
        assert found is not None
        np.testing.assert_allclose(found.factors, 2)  # nothing is left of the true value


def test_inflation_for_weights() -> None:
    P = [["1/4", "3/8", "3/10"], ["3/8", "1/4", "3/10"], ["3/8", "3/8", "4/10"]]
    weights, squares = np.array([4.0, 4, 5]), np.array([10.0, 8, 25])
    stage = stage_of(
        ("x",), [("a",), ("b",), ("c",)], P, [2, 2, 1], weights=weights, squares=squares, invariance="weights"
    )
    found = inflation_of(stage, "x")
    assert found is not None
    np.testing.assert_allclose(found.added, weighted_variance(P, weights, squares))
    share = weights / 13
    spread = squares * (1 - share) ** 2 + (43 - squares) * share**2
    np.testing.assert_allclose(found.factors, 1 + found.added * 169 / spread)


def test_inflation_of_a_fixed_matrix_is_that_of_the_moment_estimate() -> None:
    P = [["0.8", "0.1", "0.1"], ["0.1", "0.8", "0.2"], ["0.1", "0.1", "0.7"]]
    stage = stage_of(("x",), [("a",), ("b",), ("c",)], P, [50, 30, 20], invariance="none", derived=False)
    found = inflation_of(stage, "x")
    assert found is not None
    np.testing.assert_allclose(found.factors, [2.020, 2.430, 2.979], atol=5e-4)
    np.testing.assert_allclose(found.shift, [45 / 100 - 0.5, 33 / 100 - 0.3, 22 / 100 - 0.2])
    table = CellTable.of(["x"], {("a",): 50, ("b",): 30, ("c",): 20})
    assert any("more than double" in flag for flag in assess_utility([table], stages=[stage]).flags)


def test_swaps_add_nothing_and_singular_matrices_tell_nothing() -> None:
    states: list[tuple[Hashable, ...]] = [("a",), ("b",)]
    swap = inflation_of(stage_of(("x",), states, [["1/2"] * 2] * 2, [5, 5], method="swap"), "x")
    assert swap is not None
    assert swap.worst == 1
    assert expected_variation(swap.shift, swap.added) == (0, 0)
    flat = stage_of(("x",), states, [["1/2"] * 2] * 2, [5, 3], invariance="none")
    assert inflation_of(flat, "x") is None
    report = assess_utility([CellTable.of(["x"], {("a",): 5, ("b",): 3})], stages=[flat])
    assert report.to_dict()["variables"]["x"]["vif"] is None


# ---- the whole report


def test_a_report_of_a_release_that_was_made() -> None:
    """A seeded release of 6,000 records: what is realised lies near what was expected."""
    table = CellTable.of(["x", "y"], {("a", "u"): 2400, ("a", "v"): 1600, ("b", "u"): 600, ("b", "v"): 1400})
    x = stage_of(("x",), [("a",), ("b",)], [["0.9", "0.2"], ["0.1", "0.8"]], [4000, 2000])
    codes = np.repeat(table.codes, table.counts, axis=0)
    made = x.design.sample(codes[:, 0].astype(np.uint8), random=SeededRandom(8)).data
    counts = np.bincount(made.astype(int) * 2 + codes[:, 1], minlength=4)
    labels = [("a", "u"), ("a", "v"), ("b", "u"), ("b", "v")]
    after = CellTable.of(["x", "y"], dict(zip(labels, counts.tolist(), strict=True)))
    changed = float((made != codes[:, 0]).mean())
    found = assess_utility([table], [after], [x], changed={"x": changed})
    one = found.variables["x"]
    assert one.expected_changed == pytest.approx(0.8 / 6)
    assert one.realised_changed == pytest.approx(one.expected_changed, abs=0.025)
    assert one.distance is not None
    assert one.expected_variation is not None
    assert one.distance.total_variation < 5 * one.expected_variation
    assert one.changed_most in ("a", "b")
    (pair,) = found.pairs
    assert pair.after == pytest.approx(pair.expected, abs=0.06)
    shown = found.to_dict()
    assert shown["variables"]["x"]["realised_changed"] == changed
    assert shown["variables"]["x"]["vif_by_category"][0]["category"] == "a"
    assert shown["pairs"][0]["columns"] == ["x", "y"]
    assert found.worst_inflation == one.inflation.worst if one.inflation else None


def test_a_category_that_appears_or_disappears_is_counted_as_zero() -> None:
    before, after = CellTable.of(["x"], {("a",): 8, ("b",): 2}), CellTable.of(["x"], {("a",): 9, ("c",): 1})
    one = assess_utility([before], [after], [X]).variables["x"]
    assert one.categories == ("a", "b", "c")
    assert one.after is not None
    assert one.after.tolist() == [0.9, 0, 0.1]
    assert one.distance is not None
    assert one.distance.total_variation == pytest.approx(0.2)


def test_a_pair_whose_expected_table_is_not_known() -> None:
    within = stage_of(("x",), [("n", "a"), ("n", "b")], np.eye(2), [1, 1], within=("region",))
    (pair,) = assess_utility([FILE], stages=[within]).pairs
    assert pair.before is not None
    assert (pair.expected, pair.after, pair.kept, pair.weakened) == (None, None, None, False)


def test_a_variable_that_was_not_counted() -> None:
    with pytest.raises(ParameterError, match="'x'"):
        assess_utility([CellTable.of(["y"], {("u",): 1})], stages=[X])


def test_a_file_without_records() -> None:
    empty = CellTable.of(["x", "y"], {})
    stage = stage_of(("x",), [("a",)], [[1]], [0])
    found = assess_utility([empty], [empty], [stage])
    assert found.variables["x"].distance is None
    assert found.variables["x"].inflation is None
    assert found.pairs[0].before is None
    assert found.to_dict()["variables"]["x"]["expected_changed"] == 0
