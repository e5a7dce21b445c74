"""From plans and counts to stages: states, cells, rules, and the errors that name what is wrong."""

from collections.abc import Hashable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet, refused

from maskwell import ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.designs import Sparse
from maskwell.errors import EditRuleError, MaskwellError, OrientationError, PlanError, UnknownCategoryError
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import count_external, tables_of

Counts = dict[tuple[Hashable, ...], int]
METHOD1 = {"variables": "x", "method": "method1", "theta": "1"}
UNIFORM = {"variables": "x", "method": "uniform", "gamma": 3}
FAMILY: Counts = {("child", "single"): 30, ("adult", "single"): 20, ("adult", "married"): 50}
RULE = [{"forbid": {"age": ["child"], "marital": ["married"]}}]
RULED = {"protect": [{"variables": "age", "method": "method1", "theta": "1/2"}], "rule": RULE}


def stages_of(columns: list[str], counts: dict[tuple[Hashable, ...], int], plan: dict[str, Any]) -> tuple[Stage, ...]:
    table = CellTable.of(columns, counts)
    read = ReleasePlan.of(**plan)
    return build_stages(read, {own: table.project(own) for own in tables_of(read)})


def matrix(stage: Stage) -> np.ndarray[Any, Any]:
    return stage.design.matrix()


def test_rules_are_kept_by_joined_columns_and_linear_programs() -> None:
    (stage,) = stages_of(["age", "marital"], FAMILY, RULED)
    assert stage.within == ("marital",) and ("married", "child") not in stage.outputs
    assert any("rule" in note for note in stage.notes)
    counts = {("1",): 10, ("2",): 12, ("3",): 9}
    rule = [{"variable": "x", "steps": 1}]
    best = {"variables": "x", "method": "optimal", "posterior_own": "0.7"}
    (stage,) = stages_of(["x"], counts, {"protect": [best], "rule": rule})
    assert matrix(stage)[0, 2] == matrix(stage)[2, 0] == 0
    with pytest.raises((EditRuleError, PlanError), match=r"forbids|rule"):
        stages_of(["x"], counts, {"protect": [{"variables": "x", "method": "sequential"}], "rule": rule})


def matrix_of(variable: str, categories: list[str], rows: list[list[str]], **more: Any) -> dict[str, Any]:
    named = {"matrix": rows, "orientation": "columns", "categories": categories}
    return {"variables": variable, "method": "fixed", **named, **more}


def fixed(**more: Any) -> dict[str, Any]:
    own = {"variables": "x", "method": "fixed", "matrix": [["0.8", "0.3"], ["0.2", "0.7"]], "orientation": "columns"}
    return {"protect": [{**own, **more}]}


def test_a_linked_column_does_not_make_what_a_rule_forbids() -> None:
    counts = {("north", "1", "X"): 5, ("north", "2", "Y"): 5, ("south", "2", "Y"): 7}
    rule = [{"forbid": {"group": ["X"], "region": ["south"]}}]
    protect = matrix_of("roof", ["1", "2"], [["0.9", "0.1"], ["0.1", "0.9"]], linked="group")
    with quiet(EditRuleError, values="7 records"):
        stages_of(["region", "roof", "group"], counts, {"protect": [protect], "rule": rule})
    within = {"variables": "roof", "method": "sequential", "linked": "group"}
    (stage,) = stages_of(["region", "roof", "group"], counts, {"protect": [within], "rule": rule})
    assert ("south", "1") not in stage.outputs
    never = [{"forbid": {"group": ["X"], "roof": ["2"]}}]
    stages_of(["region", "roof", "group"], counts, {"protect": [protect], "rule": never})  # the group follows the roof


def test_what_one_fixed_matrix_makes_is_not_made_forbidden_by_the_next() -> None:
    """A teenager may become a child, and a single person married; only both together are forbidden."""
    counts = {("teen", "single"): 4, ("adult", "single"): 3, ("adult", "married"): 5, ("child", "never"): 2}
    younger = matrix_of("age", ["child", "teen", "adult"], [["1", "1/2", "0"], ["0", "1/2", "0"], ["0", "0", "1"]])
    wed = matrix_of("marital", ["never", "single", "married"], [["1", "0", "0"], ["0", "1/2", "0"], ["0", "1/2", "1"]])
    for one in (younger, wed):
        stages_of(["age", "marital"], counts, {"protect": [one], "rule": RULE})
    for both in ([younger, wed], [wed, younger]):
        with pytest.raises(EditRuleError, match="number 2: fixed could make of what earlier protections make"):
            stages_of(["age", "marital"], counts, {"protect": both, "rule": RULE})
    second = {"variables": "marital", "method": "sequential"}  # within the ages: it makes nothing new
    stages_of(["age", "marital"], counts, {"protect": [younger, second], "rule": RULE})


def test_excluded_categories_stay_and_missing_values_are_states_where_the_plan_says_so() -> None:
    counts = {("a",): 12, ("b",): 8, ("refused",): 5}
    plan = {"protect": [{"variables": "x", "method": "method1", "theta": "1", "exclude": ["refused"]}]}
    (stage,) = stages_of(["x"], counts, plan)
    P = matrix(stage)
    place = stage.states.index(("refused",))
    assert P[place].tolist() == P[:, place].tolist() == [float(i == place) for i in range(3)]
    protect = {"variables": "x", "method": "sequential", "strength": "1/2"}
    (stage,) = stages_of(["x"], {("a",): 12, ("b",): 8, ("c",): 3}, {"protect": [protect]})
    assert matrix(stage)[0, 0] == pytest.approx(0.5 + 0.5 * 0.625)
    counts: dict[tuple[Hashable, ...], int] = {("a",): 5, ("b",): 4, (None,): 3}
    protect = [{"variables": "x", "method": "method1", "theta": "1/2"}]
    (stage,) = stages_of(["x"], counts, {"protect": protect})
    assert stage.states == [("a",), ("b",)]
    (stage,) = stages_of(["x"], counts, {"protect": protect, "missing": "category"})
    assert stage.states == [("a",), ("b",), (None,)]
    for there, book, absent in (
        (True, ["true", "false"], False),
        (date(2020, 1, 1), ["2020-01-01", "2021-01-01"], date(2021, 1, 1)),
    ):
        plan = {"protect": [{"variables": "x", "method": "uniform", "gamma": 3}], "codebook": {"x": book}}
        (stage,) = stages_of(["x"], {(there,): 3}, plan)
        assert stage.states == [(there,), (absent,)]


def test_linked_columns_codebooks_and_weights_fit_or_are_refused() -> None:
    columns, plan = ["age", "group"], {"protect": [{"variables": "age", "linked": "group", "method": "sequential"}]}
    (stage,) = stages_of(columns, {("5", "child"): 3, ("9", "child"): 4, ("40", "adult"): 6}, plan)
    assert stage.linked["group"] == {("5",): "child", ("9",): "child", ("40",): "adult"}
    with pytest.raises(PlanError, match="'group' does not follow"):
        stages_of(columns, {("5", "child"): 3, ("5", "adult"): 4, ("9", "adult"): 1}, plan)
    plan = {"protect": [{"variables": "x", "method": "uniform", "gamma": 3}], "codebook": {"x": ["a", "b", "c", "d"]}}
    (stage,) = stages_of(["x"], {("a",): 3, ("b",): 4}, plan)
    assert [label for (label,) in stage.states] == ["a", "b", "c", "d"]
    assert stage.design.parity_exact() == Fraction(3)
    with quiet(UnknownCategoryError, match="column 'x': 1 value is not in its codebook", values=r"'z' \(4 times\)"):
        stages_of(["x"], {("a",): 3, ("z",): 4}, plan)
    table = CellTable.of(["x"], {("a",): 5, ("b",): 3, ("c",): 4})
    table = replace(table, weights=np.array([5.0, 3, 0]), squares=np.array([5.0, 3, 0]))
    plan = ReleasePlan.of([{"variables": "x", "method": "sequential", "invariance": "weights"}], weights="w")
    refused(PlanError, "c occurs, but with a weight of 0 only", build_stages, plan, {("x",): table})


def test_a_fixed_matrix_keeps_its_order_and_each_cell_may_have_its_own(tmp_path: Path) -> None:
    rows = fixed(matrix=[["0.7", "0.3"], ["0.2", "0.8"]], orientation="rows", categories=["b", "a"])
    (stage,) = stages_of(["x"], {("a",): 3, ("b",): 4}, rows)
    assert (stage.derived, stage.invariance, stage.states) == (False, "none", [("b",), ("a",)])
    assert stage.counts.tolist() == [4, 3]
    np.testing.assert_allclose(matrix(stage), [[0.7, 0.2], [0.3, 0.8]])
    with pytest.raises(OrientationError, match="rows sum to 1") as caught:
        stages_of(["x"], {("a",): 3, ("b",): 4}, fixed(matrix=[["0.8", "0.2"], ["0.3", "0.7"]]))
    assert 'orientation = "rows"' in caught.value.hint
    counts = {("n", "a"): 3, ("n", "b"): 4, ("s", "a"): 1, ("s", "b"): 2}
    north, south = [["0.8", "0.3"], ["0.2", "0.7"]], [["0.9", "0.4"], ["0.1", "0.6"]]
    more = {"within": "r", "matrix": {"n": north, "s": south, "w": south}, "categories": ["a", "b"]}
    (stage,) = stages_of(["r", "x"], counts, fixed(**more))
    np.testing.assert_allclose(matrix(stage)[2:, 2:], [[0.9, 0.4], [0.1, 0.6]])
    assert any("w" in note for note in stage.notes)
    with quiet(UnknownCategoryError, match="a cell of r has no matrix", values="s"):
        stages_of(["r", "x"], counts, fixed(**{**more, "matrix": {"n": north}}))
    path = tmp_path / "m.csv"
    path.write_text(",a,b\nb,0.1,0.8\na,0.9,0.2\n")
    counts = {("n", "a"): 3, ("n", "b"): 4, ("s", "a"): 1, ("s", "b"): 2}
    protect = {"variables": "x", "within": "r", "method": "fixed", "orientation": "columns"}
    rule = [{"forbid": {"x": ["b"], "sex": ["m"]}}]  # joins a column that the matrices know nothing of
    plan = {"protect": [{**protect, "matrix": {"n": str(path), "s": str(path)}}], "rule": rule}
    both = {(r, x, sex): n for (r, x), n in counts.items() for sex in (("f", "m") if x == "a" else ("f",))}
    with quiet(EditRuleError, values="4 records"):
        stages_of(["r", "x", "sex"], both, plan)
    (stage,) = stages_of(["r", "x"], counts, {"protect": plan["protect"]})
    assert stage.outputs[0] == ("n", "b") and stage.design.outputs.labels[0] == ("n", "b")
    np.testing.assert_allclose(stage.keeps, [0.9, 0.8, 0.9, 0.8])


def test_cells_that_an_earlier_randomization_makes_have_their_matrix_too() -> None:
    """Else records in them would stay as they are, and the published states would tell which cells were empty."""
    counts = {("n", "u", "a"): 3, ("n", "v", "b"): 4, ("s", "u", "a"): 5}  # nobody in s and v
    own = [["0.8", "0.3"], ["0.2", "0.7"]]
    cells = {"n": {"u": own, "v": own}, "s": {"u": own, "v": own}}
    later = {**fixed(within=["r", "t"], matrix=cells, categories=["a", "b"])["protect"][0], "variables": "x"}
    earlier = {"variables": "r", "method": "uniform", "gamma": 3}
    _, stage = stages_of(["r", "t", "x"], counts, {"protect": [earlier, later]})
    assert ("s", "v", "a") in stage.states and stage.counts[stage.states.index(("s", "v", "a"))] == 0
    (alone,) = stages_of(["r", "t", "x"], counts, {"protect": [later]})
    assert ("s", "v", "a") not in alone.states
    without = {**later, "matrix": {"n": cells["n"], "s": {"u": own}}}
    with quiet(UnknownCategoryError, match="a cell of r and t has no matrix", values="s, v"):
        stages_of(["r", "t", "x"], counts, {"protect": [earlier, without]})


def test_counts_of_another_file_make_a_matrix_that_tells_nothing_of_this_one_and_leaves_no_category(
    tmp_path: Path,
) -> None:
    other = tmp_path / "last_year.csv"
    other.write_text("x\n" + "a\n" * 50 + "b\n" * 30 + "c\n" * 20)
    protect = {"variables": "x", "method": "method1", "theta": "1/2", "counts_from": str(other)}
    read = ReleasePlan.of([protect])
    table = CellTable.of(["x"], {("a",): 52, ("b",): 27, ("c",): 21})
    (stage,) = build_stages(read, {("x",): table}, count_external(read))
    assert (stage.invariance, stage.derived) == ("external", False)
    shift = matrix(stage) @ stage.counts - stage.counts
    np.testing.assert_allclose(shift, [-0.65, 1.45, -0.80], atol=1e-9)
    assert isinstance(stage.design, Sparse)
    with pytest.raises(PlanError, match="another file does not preserve this file's counts"):
        build_stages(ReleasePlan.of([{**protect, "invariance": "counts"}]), {("x",): table}, count_external(read))
    other = tmp_path / "last_year.csv"
    other.write_text("x\n" + "a\n" * 50 + "b\n" * 30)
    protect = {"variables": "x", "method": "method1", "theta": "1/2", "counts_from": str(other)}
    table = CellTable.of(["x"], {("a",): 52, ("b",): 27, ("c",): 21})
    plan = ReleasePlan.of([protect])
    refused(PlanError, "c occurs, but not in counts_from", build_stages, plan, {("x",): table}, count_external(plan))
    excluded = ReleasePlan.of([{**protect, "exclude": ["c"]}])
    (stage,) = build_stages(excluded, {("x",): table}, count_external(excluded))
    assert stage.keeps[stage.states.index(("c",))] == 1


def test_weights_are_kept_in_blocks_of_like_weight() -> None:
    draw = np.random.default_rng(3)
    cells = [(f"c{i}",) for i in range(60)]
    counts = draw.integers(1, 5, 60)
    weights = counts * draw.choice([1.0, 1.05, 7.0, 7.2], 60)
    table = CellTable.of(["x"], dict(zip(cells, counts.tolist(), strict=True)))
    places = [cells.index(label) for label in table.labels()]
    weighted = replace(table, weights=weights[places], squares=weights[places] ** 2)
    protect = {"variables": "x", "method": "inverse-frequency", "xi": "0.5", "invariance": "weights"}
    plan = ReleasePlan.of([protect], weights="w")
    (stage,) = build_stages(plan, {("x",): weighted})
    assert stage.invariance == "weights"
    np.testing.assert_allclose(matrix(stage) @ stage.mass, stage.mass)
    assert stage.keeps[stage.counts == 1].max() < 0.45


KEEP_COUNTS = [{"method": "inverse-frequency", "theta": "0.6"}, {"method": "swap", "base": "sequential"}]
KEEP_COUNTS += [{"method": "method1", "match": "0.6"}, {"method": "optimal", "match": "0.6"}]
KEEP_COUNTS += [{"method": "swap", "base": "inverse-frequency", "theta": "0.6"}]


@pytest.mark.parametrize("how", KEEP_COUNTS, ids=str)
def test_sums_of_weights_are_not_said_to_be_kept_by_methods_that_keep_counts(how: dict[str, str]) -> None:
    """Each of these was called invariant for weights, and kept only counts; a swap failed while it was drawn."""
    counts = dict(zip("abcdefg", (1, 2, 3, 4, 9, 12, 30), strict=True))
    table = CellTable.of(["x"], {(label,): n for label, n in counts.items()})
    weights = table.counts * np.array([1.0, 5, 2, 1, 3, 2, 4])
    plans = [
        ReleasePlan.of([{"variables": "x", **how, **more}], weights="w") for more in ({}, {"invariance": "weights"})
    ]
    unequal = {("x",): replace(table, weights=weights, squares=weights**2)}
    raised = refused(PlanError, "does not preserve the sums of weights of this file", build_stages, plans[1], unequal)
    assert "leave out invariance" in raised.hint
    assert build_stages(plans[0], unequal)[0].invariance == "counts"
    alike = {("x",): replace(table, weights=table.counts * 2.0, squares=table.counts * 4.0)}
    assert build_stages(plans[1], alike)[0].invariance == "weights"


@pytest.mark.parametrize(("weights", "said"), [([100.0, 200.0, 300.0], False), ([100.0, 250.0, 300.0], True)])
def test_weighted_tables_are_called_biased_only_where_weights_differ(weights: list[float], said: bool) -> None:
    table = CellTable.of(["x"], {("a",): 1, ("b",): 2, ("c",): 3})
    weighted = replace(table, weights=np.array(weights), squares=np.array(weights) ** 2)
    plan = ReleasePlan.of([{"variables": "x", "method": "inverse-frequency", "xi": "0.5"}], weights="w")
    (stage,) = build_stages(plan, {("x",): weighted})
    assert any("weighted shares of one of these columns are off" in note for note in stage.notes) is said


HALVES = [["1/2", "1/2"], ["1/2", "1/2"]]
AB: Counts = {("a",): 3, ("b",): 4}
NO_RECORD = "no record of x is left to randomize"
REFUSED: dict[str, tuple[list[str], Counts, dict[str, Any], type[MaskwellError], str, str]] = {
    "a record in a forbidden cell": (
        *(["age", "marital"], {**FAMILY, ("child", "married"): 4}, RULED, EditRuleError),
        *(r"\[\[rule\]\] number 1: a combination of age and marital", r"age = child, marital = married \(4 records"),
    ),
    "an unknown category in a rule": (
        *(["age", "marital"], FAMILY, {**RULED, "rule": [{"forbid": {"age": ["baby"], "marital": ["married"]}}]}),
        *(UnknownCategoryError, "baby", ""),
    ),
    "a fixed matrix that could make a forbidden record": (
        *(["age", "marital"], FAMILY, {"protect": [matrix_of("age", ["child", "adult"], HALVES)], "rule": RULE}),
        *(EditRuleError, "could make", "50 records"),
    ),
    "a move": (
        *(["x"], AB, {**fixed(categories=["a", "b"]), "rule": [{"variable": "x", "never": [["a", "b"]]}]}),
        *(EditRuleError, "could change 'x'", "a into b"),
    ),
    "a move of labels that are spelled otherwise": (
        *(["x"], {(True,): 3, (False,): 4}),
        {**fixed(categories=["true", "false"]), "rule": [{"variable": "x", "never": [["true", "false"]]}]},
        *(EditRuleError, "could change 'x'", "True into False"),
    ),
    "a released combination without a linked label": (
        *(["x", "group"], {("1", "X"): 3, ("2", "Y"): 4}),
        {"protect": [{**UNIFORM, "linked": "group"}], "codebook": {"x": ["1", "2", "3"]}},
        *(PlanError, "has no value of 'group'", "3"),
    ),
    "everything excluded": (["x"], AB, {"protect": [{**METHOD1, "exclude": ["a", "b"]}]}, PlanError, NO_RECORD, ""),
    "nothing but missing values": (
        *(["x", "y"], {(None, "a"): 12, (None, "b"): 8}, {"protect": [METHOD1]}, PlanError, NO_RECORD, ""),
    ),
    "a swap within a randomized column": (
        *(["x", "y"], {("a", "u"): 3, ("b", "v"): 4, ("a", "v"): 2}),
        {"protect": [METHOD1, {"variables": "y", "within": "x", "method": "swap", "base": "sequential"}]},
        *(PlanError, "a swap within 'x'", ""),
    ),
    "a value that the matrix does not have": (
        *(["x"], {**AB, ("c",): 7}, fixed(categories=["a", "b"]), UnknownCategoryError),
        *("1 value of the file is not in the matrix", r"'c' \(7 times\)"),
    ),
    "two categories of a matrix for one label": (
        *(["x"], {(1,): 3, (2,): 4}, fixed(matrix=np.eye(3).tolist(), categories=["1", "1.0", "2"])),
        *(PlanError, "denote one value", "1"),
    ),
}


@pytest.mark.parametrize(("columns", "counts", "plan", "error", "said", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_built_is_refused(
    columns: list[str], counts: Counts, plan: dict[str, Any], error: type[MaskwellError], said: str, told: str
) -> None:
    with quiet(error, match=said, values=told) if told else pytest.raises(error, match=said):
        stages_of(columns, counts, plan)
