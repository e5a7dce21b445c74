"""Weighted tables of a released file, published matrices, missing values; which tables may be counted as they stand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.released import known_matrix
from tests.support.releases import (
    COLUMNS,
    ROWS,
    UNIFORM,
    Written,
    group_of,
    plan_of,
    release_of,
    share,
    stage_within,
    write_csv,
    written,
)

from maskwell.core.cells import CellTable
from maskwell.errors import MissingValueError, ParameterError
from maskwell.estimation.direct_estimate import Released, estimate_unknown
from maskwell.microdata import Receipt
from maskwell.microdata.analysis.matrix_estimates import composed, solved
from maskwell.microdata.analysis.release_estimates import Analysis, estimate_released
from maskwell.microdata.analysis.table_routes import Route, assigned, route_of
from maskwell.microdata.folder.receipt import Group, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.publication import release_table
from maskwell.microdata.stages.stage import Stage, is_kept

RECORDS = "shares of the records, not of the population"
BY_WEIGHT = "every record counts with its weight (w)"


def weight(row: Sequence[Any]) -> float:
    return 4.0 if row[0] == "south" else 1.0


def released(folder: Path, stages: list[Stage], *, publish: Sequence[str | None] = ()) -> Written:
    """A release of a survey with weights, whose groups keep what the stages say."""
    made = written(folder / "r", stages, plan=plan_of(stages, publish=publish, weights="w"))
    write_csv(made.public / "data.csv", [*COLUMNS, "w"], [(*row, weight(row)) for row in made.rows])
    return made


def remark(found: Analysis) -> str:
    assert found.remarks == found.estimate.flags[: len(found.remarks)]
    return "".join(found.remarks)


@pytest.mark.parametrize("method", ["method1", "swap"])
def test_shares_of_records_are_never_called_shares_of_the_population(tmp_path: Path, method: str) -> None:
    made = released(tmp_path, [stage_within(ROWS, COLUMNS, ["roof"], ["region"], method=method)])
    found = estimate_released(made.data, made.receipts[0], ["region", "roof"])
    assert remark(found).startswith(RECORDS) and "counts, not weighted counts, of roof" in remark(found)
    expected = {cell: float(p) for cell, p in share(made.rows, ["region", "roof"]).items()}
    assert dict(zip(found.estimate.categories, found.estimate.pi_hat, strict=True)) == pytest.approx(expected)


def test_columns_that_never_moved_are_weighted_if_the_weights_are_there(tmp_path: Path) -> None:
    made = released(tmp_path, [stage_within(ROWS, COLUMNS, ["roof"], ["region"])])
    found = estimate_released(made.data, made.receipts[0], ["region"])
    assert found.estimate.pi_hat.tolist() == pytest.approx([75 / 255, 180 / 255])
    assert remark(found).startswith(BY_WEIGHT)
    assert not estimate_released(made.data, made.receipts[0], ["region"], weights="w").remarks
    write_csv(made.public / "data.csv", [*COLUMNS, "other"], [(*row, weight(row)) for row in made.rows])
    found = estimate_released(made.data, made.receipts[0], ["region"])
    assert remark(found) == f"{RECORDS}: the file has no column of weights (w)"
    assert found.estimate.pi_hat.tolist() == pytest.approx([75 / 120, 45 / 120])


def test_solved_shares_and_errors_with_weights_are_right_on_average() -> None:
    """All outcomes of four records with different weights: means of the shares, and of the estimated variances."""
    weights, true = np.array([1.0, 2.0, 2.0, 5.0]), [0, 0, 1, 1]
    labels = [("f",), ("m",)]
    how = {"within": (), "linked": (), "method": "pram", "invariance": "none", "design": UNIFORM}
    group = Group(variables=("sex",), states=labels, outputs=labels, **how)
    route = Route("solved", ("sex",), (group,), ("sex",))
    P, mean, second, claimed = UNIFORM.matrix(), np.zeros(2), np.zeros((2, 2)), np.zeros(2)
    for outcome in product(range(2), repeat=4):
        chance = float(np.prod([P[i, j] for i, j in zip(outcome, true, strict=True)]))
        own = np.array(outcome)
        counts, sums, squares = (np.bincount(own, by, minlength=2) for by in (None, weights, weights**2))
        table = CellTable(("sex",), (("f", "m"),), np.array([[0], [1]]), counts, sums, squares)
        found = solved(route, table, table, "file")
        mean += chance * found.pi_hat
        second += chance * np.outer(found.pi_hat, found.pi_hat)
        claimed += chance * found.randomization_variance
    assert mean == pytest.approx([0.3, 0.7])
    assert claimed == pytest.approx(np.diag(second - np.outer(mean, mean)))


def test_the_data_holder_solves_for_weighted_tables_of_kept_counts(tmp_path: Path) -> None:
    stage = stage_within(ROWS, COLUMNS, ["roof"], theta="0.3")
    made = released(tmp_path, [stage])
    assert estimate_released(made.data, made.receipts[0], ["roof"], weights="w").route.kind == "bounded"
    assert "weighted shares solved for" in remark(estimate_released(made.data, made.receipts[1], ["roof"]))
    assert "weighted shares with a bound" in remark(estimate_released(made.data, made.receipts[0], ["roof"]))
    found = estimate_released(made.data, made.receipts[1], ["roof"], weights="w")
    labels = [state[0] for state in stage.states]
    sums = np.array([sum(weight(row) for row in made.rows if row[1] == label) for label in labels])
    expected = np.linalg.solve(stage.design.matrix(), sums / sums.sum())
    assert found.route.kind == "solved"
    order = [labels.index(label) for label in found.estimate.categories]  # type: ignore[arg-type]
    assert found.estimate.pi_hat == pytest.approx(expected[order])


def test_a_published_matrix_gives_users_unbiased_errors(tmp_path: Path) -> None:
    """As [Adeshiyan2011, section 4.6] with released counts, and its sums for a margin."""
    stage = stage_within(ROWS, COLUMNS, ["roof", "sex"])
    made = written(tmp_path / "r", [stage], plan=plan_of([stage], publish=["included"]))
    assert made.receipts[0].groups[0].stage is None
    counts = {cell: int(p * len(ROWS)) for cell, p in share(made.rows, ["roof", "sex"]).items()}
    by_hand = known_matrix([counts.get(state, 0) for state in stage.states], stage.design.matrix())
    found = estimate_released(made.data, made.receipts[0], ["roof", "sex"]).estimate
    order = [list(stage.states).index(cell) for cell in found.categories]  # type: ignore[arg-type]
    assert found.covariance == pytest.approx(by_hand.covariance[np.ix_(order, order)])
    assert not any("upper bound" in flag or "published factor" in flag for flag in found.flags)
    margin = estimate_released(made.data, made.receipts[0], ["sex"]).estimate
    a = np.array([float(state[1] == "f") for state in stage.states])
    assert margin.variance[0] == pytest.approx(a @ by_hand.covariance @ a)


def test_a_published_matrix_that_keeps_weights(tmp_path: Path) -> None:
    stage = stage_within(ROWS, COLUMNS, ["roof"], theta="0.3")
    sums = stage.counts * 2.0
    stage = replace(stage, invariance="weights", weights=sums, squares=stage.counts * 4.0)
    made = written(tmp_path / "r", [stage], plan=plan_of([stage], publish=["included"], weights="w"))
    write_csv(made.public / "data.csv", [*COLUMNS, "w"], [(*row, 2) for row in made.rows])
    counts = np.array([sum(row[1] == label for row in made.rows) for (label,) in stage.states])
    squares = 4.0 * counts
    by_hand = (squares - stage.design.matrix() ** 2 @ stage.design.backward(squares)) / (2.0 * counts.sum()) ** 2
    found = estimate_released(made.data, made.receipts[0], ["roof"], target="file").estimate
    order = [[state[0] for state in stage.states].index(label) for label in found.categories]
    assert found.variance == pytest.approx(by_hand[order])


def test_missing_values_that_were_randomized_are_a_category_unasked() -> None:
    rows = {"edu": ["low"] * 60 + ["high"] * 30 + [None] * 10, "sex": ["f", "m"] * 50}
    protect = [{"variables": ["edu"], "method": "method1", "theta": "1/4"}]
    made = release_table(rows, ReleasePlan.of(protect, missing="category"))
    receipt = made.receipt()
    assert receipt.missing == "category" and receipt.groups[0].missing == "category"
    found = estimate_released(made.data, receipt, ["edu"])
    assert "missing" in found.estimate.categories and found.estimate.n == 100 and not found.dropped
    dropped = estimate_released(made.data, receipt, ["edu"], missing="drop")
    assert any("ratios, and approximate" in flag for flag in dropped.estimate.flags)
    counts = [made.data["edu"].count(label) for label in dropped.estimate.categories]
    assert dropped.estimate.standard_error == pytest.approx(estimate_unknown(Released.of(counts)).standard_error)
    refused(MissingValueError, "", estimate_released, made.data, receipt, ["edu"], missing="error")
    unchanged = release_table(rows, ReleasePlan.of(protect)).receipt()
    refused(MissingValueError, "the table: 10 of 100", estimate_released, rows, unchanged, ["edu"])


def test_a_table_in_memory_is_estimated_as_a_file(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame(ROWS, columns=list(COLUMNS))
    plan = ReleasePlan.of([{"variables": ["roof"], "within": ["region"], "method": "method1", "theta": "1/2"}])
    made = release_table(people, plan)
    path = tmp_path / "released.csv"
    made.data.to_csv(path, index=False)
    for receipt in (made.receipt(), made.receipt(internal=True)):
        of_file, of_table = (estimate_released(d, receipt, ["region", "roof"]) for d in (path, made.data))
        assert of_file.estimate.covariance == pytest.approx(of_table.estimate.covariance)
    assert made.receipt().audience == "public" and made.receipt().groups[0].stage is None
    assert composed(made.receipt(internal=True).groups, ["region", "roof"], [("north", "tile")])[0].sum() == 1
    assert max(len(repr(one)) for one in (made, made.release, made.receipt(internal=True))) < 160


def receipt(*groups: tuple[str, str]) -> Receipt:
    stages = [stage_within(ROWS, COLUMNS, v.split("+"), w.split("+") if w else []) for v, w in groups]
    return receipt_from_dict(public_receipt(release_of(stages, plan_of(stages))))


def test_routes_of_tables_of_units_swaps_linked_columns_and_biased_counts() -> None:
    found = receipt(("roof", "region"), ("sex", ""))
    assert route_of(found, ["region"]).kind == "open" and route_of(found, ["region", "roof"]).kind == "kept"
    assert route_of(found, ["sex"]).kind == "kept" and route_of(found, ["roof", "sex"]).kind == "bounded"
    few = replace(found, groups=tuple(replace(group, most_changed=1.0) for group in found.groups))
    with pytest.raises(
        ParameterError, match="roof and sex is not preserved; the receipt does not state how much of roof"
    ):
        route_of(few, ["roof", "sex"])
    # that the draws of a unit are one only the published inflation of a single column knows
    units = replace(found, groups=tuple(replace(group, each="unit") for group in found.groups))
    assert route_of(units, ["roof"]).by_unit
    unknown = replace(units, groups=tuple(replace(group, inflation={}) for group in units.groups))
    asked = [(units, ["region", "sex"], False), (units, ["roof"], True), (unknown, ["roof"], False)]
    for told, columns, weighted in asked:
        refused(ParameterError, "one draw for all records of a unit", route_of, told, columns, weighted=weighted)
    assert route_of(units, ["region"]).kind == "open"
    swap = Group(variables=("roof",), within=(), linked=(), method="swap", invariance="counts")
    fixed = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="none")
    found = Receipt(audience="public", groups=(swap, fixed), rows=9, weights=None, demonstration=False)
    assert route_of(found, ["roof"]).kind == "exact"
    refused(ParameterError, "does not state how much of sex was changed", route_of, found, ["sex"])
    group = Group(variables=("roof",), within=(), linked=("roof_group",), method="pram", invariance="counts")
    assert is_kept([group], ["roof", "roof_group"]) and is_kept([group], ["roof_group"])
    assert not is_kept([group], ["roof_group", "sex"])
    roof = Group(variables=("roof",), within=("sex",), linked=(), method="pram", invariance="counts")
    sex = Group(variables=("sex",), within=("roof",), linked=(), method="pram", invariance="weights")
    assert not is_kept([roof, sex], ["roof", "sex"])


def test_designs_of_whole_columns_are_estimated_as_those_of_a_survey() -> None:
    rows = [cell for cell in product("xy", "uv", "st") for _ in range(5)]
    made = tuple(group_of(stage_within(rows, "abc", names)) for names in (["a"], ["b", "c"]))
    found = Receipt(audience="internal", groups=made, rows=40, weights=None, demonstration=False)
    assert assigned(route_of(found, ["a", "b", "c"])) is None  # computed from the file
    found = replace(found, groups=tuple(replace(group, invariance="none") for group in made))
    both = assigned(route_of(found, ["a", "b", "c"]))
    assert [columns for columns, _ in both] == [("a",), ("b", "c")]
    assert both[1][1].inputs.labels[0] == ("u", "s")
    assert assigned(route_of(found, ["a", "b"])) is None  # c would have to be summed over
    kept = replace(found, groups=made)
    assert assigned(route_of(kept, ["a"])) is None  # counted as it stands
