"""What a release is good for: distances, associations, inflation, expected tables, regressions; which one is better."""

from collections.abc import Hashable
from itertools import product

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.released import moved
from tests.support.releases import stage_of
from tests.support.together import together

from maskwell import Categories, SeededRandom
from maskwell.core.cells import CellTable
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.microdata.risk_utility import RiskUtilityPoint, beaten_by
from maskwell.microdata.stages.stage import expected_table
from maskwell.microdata.utility.utility_measures import (
    compare_regressions,
    cramers_v,
    expected_variation,
    inflation_of,
    table_distance,
)
from maskwell.microdata.utility.utility_report import UtilityReport, assess_utility

EXAMPLE = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]


ABC: list[tuple[Hashable, ...]] = [("a",), ("b",), ("c",)]
X = stage_of(("x",), [("a",), ("b",)], [["0.9", "0.2"], ["0.1", "0.8"]], [60, 30])
Y = stage_of(("y",), [("u",), ("v",)], [["0.85", "0.15"], ["0.15", "0.85"]], [45, 45])
FILE = CellTable.of(["x", "y"], {("a", "u"): 36, ("a", "v"): 24, ("b", "u"): 9, ("b", "v"): 21})


def test_expected_distance_of_the_example_and_distances_of_tables() -> None:
    """Simulated, four standard errors of the mean of 20,000 distances: fails by accident once in 16,000 seeds."""
    random, counts = np.random.default_rng(5), np.array([12, 8, 3])
    P = Dense.of(EXAMPLE).matrix()
    M = sum(random.multinomial(n, P[:, j], size=20_000) for j, n in enumerate(counts))
    found = np.abs(M - counts).sum(axis=1) / 46
    usual, most = expected_variation(np.zeros(3), np.diag(moved(P, counts)) / 23**2)
    assert found.mean() == pytest.approx(0.1061, abs=4 * found.std() / 20_000**0.5)
    assert usual == pytest.approx(0.1078, abs=5e-5)
    assert most == pytest.approx(0.1351, abs=5e-5)
    assert expected_variation(np.array([0.1, -0.1]), np.zeros(2)) == pytest.approx((0.1, 0.1))
    found = table_distance([8, 2, 0], [6, 2, 2])
    assert found.largest_relative_change == pytest.approx(0.25)  # only where there was something
    assert (found.largest_change, found.changed_most) == (pytest.approx(0.2), 0)
    assert table_distance([1, 1], [1, 0]).hellinger == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))
    before, after = CellTable.of(["x"], {("a",): 8, ("b",): 2}), CellTable.of(["x"], {("a",): 9, ("c",): 1})
    one = assess_utility([before], [after], [X]).variables["x"]
    assert one.categories == ("a", "b", "c") and one.after.tolist() == [0.9, 0, 0.1]
    assert one.distance.total_variation == pytest.approx(0.2)
    assert cramers_v([[1, 2]]) is None


def test_two_categories_each_lose_the_determinants() -> None:
    """For matrices that keep the shares: here (2/3, 1/3) and (1/2, 1/2)."""
    found = assess_utility([FILE], stages=[X, Y])
    (pair,) = found.pairs
    assert pair.columns == ("x", "y") and pair.expected == pytest.approx(0.7 * 0.7 * pair.before)
    assert pair.kept == pytest.approx(0.49) and pair.after is None
    assert any("below 0.9" in flag for flag in found.flags)
    assert any("randomized separately" in flag for flag in found.flags)


@together(
    ("columns", "said"),
    [
        (["a", "bc", "d", "e"], "a, [b, c], d, e"),
        (["a", "bc", "d within a"], "a from [b, c], [b, c] from d"),
        (["a", "d within a"], None),
    ],
)
def test_columns_that_are_randomized_apart_are_told_once(columns: list[str], said: str | None) -> None:
    stages = []
    for variables, _, within in (text.partition(" within ") for text in columns):
        states: list[tuple[Hashable, ...]] = list(product("uv", repeat=len(variables + within)))
        unchanged = np.eye(len(states))
        stages.append(stage_of((*variables,), states, unchanged, [1] * len(states), within=(*within,)))
    table = CellTable.of([*"abcde"], {(*"uuuuu",): 2, (*"vvvvv",): 2})
    flags = [flag for flag in assess_utility([table], stages=stages).flags if "randomized separately" in flag]
    assert [flag.rpartition(": ")[2] for flag in flags] == ([] if said is None else [said])


def test_linked_columns_follow_and_records_without_a_value_stay() -> None:
    """Expected tables of any stages are worked out record by record in tests/properties/test_kept_tables.py."""
    table = CellTable.of(["x", "group", "z"], {("a", 1, "p"): 6, ("b", 1, "q"): 3, ("c", 2, "p"): 3, (None, 2, "q"): 1})
    stage = stage_of(
        ("x",),
        ABC,
        [["0.5", "0.25", "0.25"], ["0.25", "0.5", "0.25"], ["0.25", "0.25", "0.5"]],
        [6, 3, 3],
        linked={"group": {("a",): 1, ("b",): 1, ("c",): 2}},
    )
    found = expected_table([stage], table, ["group", "z"])
    told = dict(zip(found.labels(), found.counts.tolist(), strict=True))
    assert told == pytest.approx({(1, "p"): 6, (2, "p"): 3, (1, "q"): 2.25, (2, "q"): 1.75})
    report = assess_utility([table], [table], [stage])
    assert [*report.variables] == ["x", "group"] and report.variables["group"].inflation is None
    assert report.worst_inflation is None


def test_inflation_is_that_of_the_matrix_also_of_swaps_and_singular_ones() -> None:
    counts = [12, 8, 3]
    stage = stage_of(("x",), ABC, EXAMPLE, counts)
    found = inflation_of(stage, "x")
    added, p = np.diag(moved(Dense.of(EXAMPLE).matrix(), counts)) / 23**2, np.array(counts) / 23
    np.testing.assert_allclose(found.factors, 1 + added * 23 / (p * (1 - p)))
    np.testing.assert_allclose(found.effective, [11.66, 11.51, 11.84], atol=5e-3)
    np.testing.assert_allclose(found.added, added)
    np.testing.assert_allclose(found.shift, 0, atol=1e-15)
    P = [["1/4", "3/8", "3/10"], ["3/8", "1/4", "3/10"], ["3/8", "3/8", "4/10"]]
    weights, squares = np.array([4.0, 4, 5]), np.array([10.0, 8, 25])
    stage = stage_of(("x",), ABC, P, [2, 2, 1], weights=weights, squares=squares, invariance="weights")
    found = inflation_of(stage, "x")
    np.testing.assert_allclose(found.added, np.diag(moved(Dense.of(P).matrix(), squares)) / weights.sum() ** 2)
    share = weights / 13
    spread = squares * (1 - share) ** 2 + (43 - squares) * share**2
    np.testing.assert_allclose(found.factors, 1 + found.added * 169 / spread)
    states: list[tuple[Hashable, ...]] = [("a",), ("b",)]
    swap = inflation_of(stage_of(("x",), states, [["1/2"] * 2] * 2, [5, 5], method="swap"), "x")
    assert swap.worst == 1
    assert expected_variation(swap.shift, swap.added) == (0, 0)
    flat = stage_of(("x",), states, [["1/2"] * 2] * 2, [5, 3], invariance="none")
    assert inflation_of(flat, "x") is None
    report = assess_utility([CellTable.of(["x"], {("a",): 5, ("b",): 3})], stages=[flat])
    assert report.to_dict()["variables"]["x"]["vif"] is None
    P = [["0.8", "0.1", "0.1"], ["0.1", "0.8", "0.2"], ["0.1", "0.1", "0.7"]]
    stage = stage_of(("x",), ABC, P, [50, 30, 20], invariance="none", derived=False)
    found = inflation_of(stage, "x")
    np.testing.assert_allclose(found.factors, [2.020, 2.430, 2.979], atol=5e-4)
    np.testing.assert_allclose(found.shift, [45 / 100 - 0.5, 33 / 100 - 0.3, 22 / 100 - 0.2])
    table = CellTable.of(["x"], {("a",): 50, ("b",): 30, ("c",): 20})
    assert any("more than double" in flag for flag in assess_utility([table], stages=[stage]).flags)


def test_what_was_not_counted_or_has_no_records() -> None:
    within = stage_of(("x",), [("n", "a"), ("n", "b")], np.eye(2), [1, 1], within=("region",))
    (pair,) = assess_utility([FILE], stages=[within]).pairs
    assert (pair.expected, pair.after, pair.kept, pair.weakened) == (None, None, None, False)
    refused(ParameterError, "'x'", assess_utility, [CellTable.of(["y"], {("u",): 1})], stages=[X])
    empty = CellTable.of(["x", "y"], {})
    found = assess_utility([empty], [empty], [stage_of(("x",), [("a",)], [[1]], [0])])
    assert found.variables["x"].distance is None and found.variables["x"].inflation is None
    assert found.pairs[0].before is None and found.to_dict()["variables"]["x"]["expected_changed"] == 0


def made_up(n: int = 3000) -> dict[str, list[object]]:
    random = np.random.default_rng(4)
    age, group = random.normal(0, 1, n), random.choice(["u", "v"], n)
    chance = 1 / (1 + np.exp(-(0.3 + 0.8 * age + 0.9 * (group == "v"))))
    smokes = np.where(random.random(n) < chance, "yes", "no")
    income = 2 + 1.5 * age - 0.7 * (group == "v") + random.normal(0, 1, n)
    return {"smokes": smokes.tolist(), "age": age.tolist(), "group": group.tolist(), "income": income.tolist()}


def test_open_regressions_are_those_of_statsmodels() -> None:
    pd, smf = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api")
    table = made_up()
    frame = pd.DataFrame(table)
    frame["yes"] = (frame.smokes == "yes").astype(int)
    found = compare_regressions("smokes ~ age + group", table, table).original
    expected = smf.logit("yes ~ age + group", frame).fit(disp=0)
    for term in found.terms:
        place = found.terms.index(term)
        assert found.estimates[place] == pytest.approx(expected.params[term], abs=1e-6)
        assert found.standard_error[place] == pytest.approx(expected.bse[term], rel=1e-4)
    linear = compare_regressions("income ~ age + group", table, table).original
    ols = smf.ols("income ~ age + group", frame).fit(cov_type="HC0")
    for term in linear.terms:
        place = linear.terms.index(term)
        assert linear.estimates[place] == pytest.approx(ols.params[term], abs=1e-9)
        assert linear.standard_error[place] == pytest.approx(ols.bse[term], rel=1e-3)


def test_a_release_weakens_a_coefficient_and_what_only_one_file_has_is_said() -> None:
    table = made_up()
    design = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])
    design = design.with_labels(Categories.of(["yes", "no"]))
    released = {**table, "smokes": list(design.randomize(table["smokes"], random=SeededRandom(3)))}
    found = compare_regressions("smokes ~ age + group", table, released, designs={"smokes": design})
    age = next(term for term in found.terms if term.term == "age")
    assert abs(age.released) < 0.75 * abs(age.original)
    assert age.corrected == pytest.approx(age.original, abs=4 * (age.corrected_error or 0))
    (a, b), (c, d) = (
        fit.confidence_interval()[found.original.terms.index("age")] for fit in (found.original, found.released)
    )
    assert age.overlap == pytest.approx(((min(b, d) - max(a, c)) / (b - a) + (min(b, d) - max(a, c)) / (d - c)) / 2)
    assert age.overlap < 0
    assert any("do not meet" in flag for flag in found.flags)
    report = UtilityReport({}).with_regressions([found])
    assert report.flags == found.flags
    assert report.to_dict()["regressions"][0]["terms"][0]["term"] == found.terms[0].term
    table = made_up(300)
    other = {**table, "group": ["w" if g == "v" else g for g in table["group"]]}
    found = compare_regressions("smokes ~ age + group", table, other)
    assert found.missing == ("group[T.v]", "group[T.w]")
    assert any("only one file" in flag for flag in found.flags)
    with pytest.raises(ParameterError, match="one file"):
        compare_regressions("smokes ~ age", table, {**table, "smokes": table["income"]})


Figures = tuple[float, float, float, int]


@pytest.mark.parametrize(
    ("figures", "beaten"),
    [
        ([(0.5, 0.1, 1, 0), (0.5, 0.1, 1, 0)], [None, None]),
        ([(0.9, 0.2, 1, 0), (0.3, 0.15, 1, 0), (0.6, 0.05, 1, 0)], [1, None, None]),  # the safest of its betters
        ([(1, 0.2, 900, 400), (1, 0.4, 300, 1)], [None, None]),  # one that leaves more to be found beats nothing
    ],
)
def test_a_point_is_beaten_by_the_safest_of_its_betters(figures: list[Figures], beaten: list[int | None]) -> None:
    names = ("risk", "changed", "matches", "above")
    points = [RiskUtilityPoint(label="", **dict(zip(names, one, strict=True))) for one in figures]
    assert beaten_by(points) == beaten
