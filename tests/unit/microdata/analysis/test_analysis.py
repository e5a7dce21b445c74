"""Tables of a released file: against formulas written out, against every outcome, and what is refused."""

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.releases import (
    COLUMNS,
    ROWS,
    UNIFORM,
    fixed_stage,
    group_of,
    plan_of,
    release_of,
    roof,
    sex,
    share,
    stage_within,
    write_csv,
    written,
)

from maskwell import Categories
from maskwell.core.cells import CellTable
from maskwell.designs import Dense, Kronecker, Uniform
from maskwell.errors import MissingValueError, NotIdentifiableError, ParameterError, TooLargeError
from maskwell.estimation import Sample, estimate_by_moments
from maskwell.estimation.direct_estimate import DirectEstimate, Released, estimate_unknown
from maskwell.microdata import Receipt, load_receipt
from maskwell.microdata.analysis.matrix_estimates import composed, kept_with_matrices, solved
from maskwell.microdata.analysis.release_estimates import _share_by_domain, _with_values, estimate_released
from maskwell.microdata.analysis.table_routes import Route, assigned, route_of
from maskwell.microdata.folder.receipt import receipt_from_dict
from maskwell.microdata.folder.receipt_contents import dumps, internal_receipt, public_receipt


def test_what_never_moved_is_exact_and_what_is_kept_is_counted(tmp_path: Path) -> None:
    made = written(tmp_path / "r", [roof(), sex()])
    public, internal = made.receipts
    found = estimate_released(made.data, public, ["region"], target="file").estimate
    assert found.standard_error.tolist() == [0, 0] and found.pi_hat.tolist() == [75 / 120, 45 / 120]
    sampled = estimate_released(made.data, public, ["region"]).estimate
    assert sampled.standard_error[0] == pytest.approx((75 * 45 / 120**2 / 119) ** 0.5, rel=0.01)
    assert "not randomized" in sampled.flags[0] and not any("bound" in flag for flag in sampled.flags)
    found = estimate_released(made.data, public, ["region", "roof"])
    observed = share(made.rows, ["region", "roof"])
    assert dict(zip(found.estimate.categories, found.estimate.pi_hat, strict=True)) == pytest.approx(
        {cell: float(p) for cell, p in observed.items()}
    )
    counts = [int(observed[cell] * len(ROWS)) for cell in found.estimate.categories]  # type: ignore[index]
    blocks = [0 if cell[0] == "north" else 1 for cell in found.estimate.categories]  # type: ignore[index]
    by_hand = estimate_unknown(Released.of(counts), blocks=blocks)
    assert found.estimate.standard_error == pytest.approx(by_hand.standard_error)
    for receipt in (public, internal):  # totals of cells that nobody left
        table = estimate_released(made.data, receipt, ["region", "roof"], target="file").estimate
        north = np.array([cell[0] == "north" for cell in table.categories], dtype=float)  # type: ignore[index]
        assert table.contrast(north).standard_error == pytest.approx(0, abs=1e-9)
        assert table.contrast(north).value == pytest.approx(75 / 120)


def test_a_published_factor_makes_the_bound_smaller(tmp_path: Path) -> None:
    """For one column the errors are those of an open file times the factor, and never below the true ones."""
    stage = stage_within(ROWS, COLUMNS, ["roof"], theta="0.1")
    made = written(tmp_path / "r", [stage])
    public, internal = made.receipts
    factor = public.groups[0].inflation["roof"]
    assert 1 < factor < 2
    found, true = (estimate_released(made.data, one, ["roof"]).estimate for one in (public, internal))
    p, n = found.pi_hat, 120
    assert found.variance == pytest.approx(factor * p * (1 - p) / n, rel=0.02)
    assert (found.variance > true.variance).all()
    assert found.covariance is None and "published factor" in found.flags[0]
    half = np.diff(found.confidence_interval(), axis=1)[:, 0] / 2
    assert half == pytest.approx(1.96 * found.standard_error, rel=0.05)
    in_file = estimate_released(made.data, public, ["roof"], target="file").estimate
    assert in_file.variance == pytest.approx((factor - 1) * p * (1 - p) / n, rel=0.02)


def test_errors_of_the_data_holder_are_those_of_every_outcome() -> None:
    """All outcomes of six records, for a margin of a joint matrix: mean and variance of the released shares."""
    rows = [("a", "u")] * 3 + [("b", "u")] * 1 + [("b", "v")] * 2
    stage = stage_within(rows, ["x", "y"], ["x", "y"])
    P = stage.design.matrix()
    true = [stage.states.index(row) for row in rows]
    mean, second = np.zeros(2), np.zeros((2, 2))
    labels = [0 if state[0] == "a" else 1 for state in stage.states]
    for outcome in product(range(3), repeat=6):
        chance = np.prod([P[i, j] for i, j in zip(outcome, true, strict=True)])
        p = np.bincount([labels[i] for i in outcome], minlength=2) / 6
        mean += chance * p
        second += chance * np.outer(p, p)
    group = group_of(stage)
    route = Route("kept", ("x",), (group,), ("x", "y"))
    found = kept_with_matrices(route, CellTable.of(["x"], {("a",): 3, ("b",): 3}), None, "file")
    assert found is not None and found.covariance is not None
    assert mean == pytest.approx([0.5, 0.5])
    assert found.covariance == pytest.approx(second - np.outer(mean, mean), abs=1e-12)


def test_two_stages_within_each_other() -> None:
    """[Adeshiyan2011, Theorem 4.2]: the covariance is that of the product of both matrices."""
    first, second = (stage_within(ROWS, COLUMNS, [v], [w]) for v, w in (("roof", "sex"), ("sex", "roof")))
    groups = (group_of(first), group_of(second))
    route = Route("kept", ("sex", "roof"), groups, ("sex", "roof"))
    counts = dict(Counter((row[2], row[1]) for row in ROWS))
    found = kept_with_matrices(route, CellTable.of(["sex", "roof"], counts), None, "file")
    states = list(first.states)  # (sex, roof)
    P_first = first.design.matrix()
    swap = [second.states.index((r, s)) for s, r in states]
    P_second = second.design.matrix()[np.ix_(swap, swap)]
    P, N = P_second @ P_first, first.counts.astype(float)
    assert pytest.approx(N) == P @ N
    C = (np.diag(N) - (P * N) @ P.T) / N.sum() ** 2
    order = [states.index(label) for label in CellTable.of(["sex", "roof"], counts).labels()]
    assert found is not None and found.covariance == pytest.approx(C[np.ix_(order, order)], abs=1e-12)


def test_fixed_designs_are_turned_around_as_in_a_survey_also_beside_an_open_column(tmp_path: Path) -> None:
    made = written(tmp_path / "r", [sex()])
    public, _ = made.receipts
    found = estimate_released(made.data, public, ["sex"]).estimate
    counts = Counter(row[2] for row in made.rows)
    by_hand = Sample.of([counts["f"], counts["m"]], UNIFORM)
    expected = estimate_by_moments(by_hand.counts, by_hand.design)
    assert found.pi_hat == pytest.approx(expected.pi_hat)
    assert found.covariance == pytest.approx(expected.covariance)
    assert found.randomization_variance == pytest.approx(expected.randomization_variance)
    found = estimate_released(made.data, public, ["region", "sex"]).estimate  # an open column beside it
    still = Uniform.of(1, Categories.of(["north", "south"]))
    counts = Counter((row[0], row[2]) for row in made.rows)
    sample = Sample.of([counts[c] for c in product(["north", "south"], ["f", "m"])], Kronecker.of([still, UNIFORM]))
    expected = estimate_by_moments(sample.counts, sample.design)
    order = [list(expected.categories).index(c) for c in found.categories]
    assert found.pi_hat == pytest.approx(expected.pi_hat[order])
    assert found.covariance == pytest.approx(expected.covariance[np.ix_(order, order)])  # type: ignore[index]


def test_tables_that_are_not_kept_are_solved_by_the_data_holder() -> None:
    """Released counts at their expectations give back the original table exactly."""
    stages = [roof(theta="0.3"), stage_within(ROWS, COLUMNS, ["sex"], theta="0.4")]
    receipt = Receipt(
        audience="internal", groups=tuple(map(group_of, stages)), rows=120, weights=None, demonstration=False
    )
    route = route_of(receipt, ["roof", "sex"])
    assert route.kind == "solved"
    cells = sorted(set(ROWS))
    P, released = composed(receipt.groups, list(COLUMNS), cells)  # type: ignore[arg-type]
    expected = P @ np.array([Counter(ROWS)[c] for c in cells], dtype=float)
    scale = 10**7
    counts = {cell: round(scale * x) for cell, x in zip(released, expected, strict=True)}
    whole = CellTable.of(list(COLUMNS), counts).project(route.cells)
    found = solved(route, whole.project(["roof", "sex"]), whole, "population")
    truth = share(ROWS, ["roof", "sex"])
    shares = dict(zip(found.categories, found.pi_hat, strict=True))
    assert {cell: shares[cell] for cell in truth} == pytest.approx({c: float(p) for c, p in truth.items()}, abs=1e-6)
    assert any("computed from the file" in flag for flag in found.flags)


def test_a_matrix_that_forgets_and_another_target_are_refused(tmp_path: Path) -> None:
    flat = Dense.of([["1/2", "1/2"], ["1/2", "1/2"]], Categories.of(["f", "m"]))
    made = written(tmp_path / "r", [fixed_stage(ROWS, COLUMNS, "sex", flat)])
    refused(NotIdentifiableError, "singular", estimate_released, made.data, made.receipts[0], ["sex"])
    refused(ParameterError, "target", estimate_released, made.data, made.receipts[0], ["region"], target="census")


def test_domains_are_ratios(tmp_path: Path) -> None:
    made = written(tmp_path / "r", [stage_within(ROWS, COLUMNS, ["roof", "sex"])])
    joint = estimate_released(made.data, made.receipts[0], ["sex", "roof"]).estimate
    assert isinstance(joint, DirectEstimate)
    domains = _share_by_domain(joint, 1)
    whole = np.array([cell[0] == "f" for cell in joint.categories])  # type: ignore[index]
    for place, category in enumerate(domains[("f",)].categories):
        part, size = np.array([cell == ("f", category) for cell in joint.categories]), joint.contrast(whole).value
        ratio = joint.contrast(part).value / size
        assert domains[("f",)].pi_hat[place] == pytest.approx(ratio)
        assert domains[("f",)].standard_error[place] == pytest.approx(
            joint.contrast(part - ratio * whole).standard_error / size
        )
    refused(TooLargeError, "", _share_by_domain, replace(joint, covariance=None), 1)


def test_kept_weights_are_counted_by_weight_and_have_a_published_factor(tmp_path: Path) -> None:
    stage = stage_within(ROWS, COLUMNS, ["roof"])
    stage = replace(stage, invariance="weights", weights=stage.counts * 2.0, squares=stage.counts * 4.0)
    weighted = written(tmp_path / "r", [stage], plan=plan_of([stage], weights="w"))
    write_csv(weighted.public / "data.csv", [*COLUMNS, "w"], [(*row, 2) for row in weighted.rows])
    public, internal = weighted.receipts
    found = estimate_released(weighted.data, public, ["roof"])
    assert any("counts with its weight" in flag for flag in found.estimate.flags)
    unweighted = {cell[0]: float(p) for cell, p in share(weighted.rows, ["roof"]).items()}
    assert dict(zip(found.estimate.categories, found.estimate.pi_hat, strict=True)) == pytest.approx(unweighted)
    named = estimate_released(weighted.data, internal, ["roof"], weights="w", target="file").estimate
    stage = internal.groups[0].stage
    P, N = stage.design.matrix(), stage.counts.astype(float)
    expected = np.diag((np.diag(P @ N) - (P * N) @ P.T) / N.sum() ** 2)  # equal weights change nothing
    order = [[state[0] for state in stage.states].index(c) for c in named.categories]
    assert named.variance == pytest.approx(expected[order])
    # As the README says: the usual standard error times the root of the factor, which may be above 2.
    for factor in (public.groups[0].inflation["roof"], 3.1):
        told = replace(public, groups=(replace(public.groups[0], inflation={"roof": factor}),))
        found = estimate_released(weighted.data, told, ["roof"]).estimate
        p = found.pi_hat
        assert found.variance == pytest.approx(factor * p * (1 - p) / 120, rel=0.02)
        assert "published factor" in found.flags[1]


def test_kept_counts_and_swaps_are_biased_by_weight(tmp_path: Path) -> None:
    made = written(tmp_path / "r", [roof()])
    write_csv(made.public / "data.csv", [*COLUMNS, "w"], [(*row, 2) for row in made.rows])
    public, _ = made.receipts
    found = estimate_released(made.data, public, ["roof"], weights="w")
    assert found.route.kind == "bounded" and found.estimate.bias is not None
    assert found.estimate.bias == pytest.approx(np.full(3, public.groups[0].most_changed / 2))  # equal weights
    assert estimate_released(made.data, made.receipts[0], ["region"], weights="w").estimate.n == 120
    made = written(tmp_path / "swapped", [roof(method="swap")])
    write_csv(made.public / "data.csv", [*COLUMNS, "w"], [(*row, 2) for row in made.rows])
    assert estimate_released(made.data, made.receipts[0], ["roof"]).route.kind == "exact"
    assert estimate_released(made.data, made.receipts[0], ["roof"], weights="w").route.kind == "bounded"


def test_missing_values_are_told_as_is_a_part_of_the_file_and_labels_found_by_text(tmp_path: Path) -> None:
    """A receipt with numbers and a file of texts, or the other way round."""
    made = written(tmp_path / "r", [roof()])
    public, _ = made.receipts
    assert not any("a part of" in flag for flag in estimate_released(made.data, public, ["roof"]).estimate.flags)
    rows = [(region, "" if i < 12 else own, sex) for i, (region, own, sex) in enumerate(made.rows)]
    write_csv(made.public / "data.csv", COLUMNS, rows)
    with pytest.raises(MissingValueError, match="12 of 120 records have no value of roof"):
        estimate_released(made.data, public, ["roof"])
    dropped = estimate_released(made.data, public, ["roof"], missing="drop")
    assert (dropped.dropped, dropped.rows, dropped.estimate.n) == (12, 120, 108)
    counted = estimate_released(made.data, public, ["roof"], missing="category").estimate
    assert counted.categories[-1] == "missing" and counted.pi_hat[-1] == pytest.approx(0.1)
    write_csv(made.public / "data.csv", COLUMNS, [row for row in made.rows if row[2] == "f"])
    flags = estimate_released(made.data, public, ["roof"]).estimate.flags
    assert any(f"120 records, the file has {sum(row[2] == 'f' for row in made.rows)}" in flag for flag in flags)
    design = Uniform.from_gamma(3, Categories.of([1, 2]))
    rows = [(*row[:2], 1 if row[2] == "f" else 2) for row in ROWS]
    stage = fixed_stage(rows, COLUMNS, "sex", design)
    receipt = Receipt(audience="public", groups=(group_of(stage),), rows=120, weights=None, demonstration=False)
    write_csv(tmp_path / "data.csv", COLUMNS, rows)
    found = estimate_released(str(tmp_path / "data.csv"), receipt, ["sex"]).estimate
    assert found.pi_hat.sum() == pytest.approx(1)


def test_records_without_a_value_of_another_column_are_not_left_out() -> None:
    """A table that is solved within region counts records without a region, too, as long as it is not asked for."""
    rows = [(None if i % 3 and sex == "f" else region, own, sex) for i, (region, own, sex) in enumerate(ROWS)]
    stage = stage_within(rows, COLUMNS, ["roof"], ["region"])
    group = receipt_from_dict(internal_receipt(release_of([stage], plan_of([stage])))).groups[0]
    route = Route("solved", ("roof", "sex"), (group,), ("roof", "sex", "region"))
    whole = CellTable.of(route.cells, Counter((own, sex, region) for region, own, sex in rows))
    found = solved(route, whole.project(["roof", "sex"]), _with_values(whole, "drop", "f", ["roof", "sex"])[0], "file")
    assert found.n == len(rows)
    stage = roof()  # knows no record without a region
    group = receipt_from_dict(internal_receipt(release_of([stage], plan_of([stage])))).groups[0]
    with pytest.raises(ParameterError, match="no value of 'region'"):
        solved(replace(route, groups=(group,)), whole.project(["roof", "sex"]), whole, "file")


def test_a_missing_value_that_was_randomized_is_a_category(tmp_path: Path) -> None:
    design = Uniform.from_gamma(3, Categories.of(["f", "m", "missing"]))
    rows = [(*row[:2], None if i % 5 == 0 else row[2]) for i, row in enumerate(ROWS)]
    states = [("f",), ("m",), (None,)]
    counts = Counter(row[2] for row in rows)
    stage = replace(
        sex(), states=states, outputs=states, design=design, counts=np.array([counts[s] for (s,) in states])
    )
    made = written(tmp_path / "r", [roof()])
    (made.public / "receipt.json").write_text(dumps(public_receipt(release_of([stage], plan_of([stage])))))
    write_csv(made.public / "data.csv", COLUMNS, rows)
    public = load_receipt(made.public / "receipt.json")
    found = assigned(route_of(public, ["sex"]))
    assert found is not None and found[0][1].inputs.labels == ("f", "m", "missing")
    refused(ParameterError, "randomized like any other", estimate_released, made.data, public, ["sex"], missing="drop")
