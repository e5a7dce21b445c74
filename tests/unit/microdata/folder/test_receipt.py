"""Receipts: what they hold, what the public one never holds, reading them back; and matrices that tell the counts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import releases
from tests.support.quiet import refused
from tests.support.releases import COLUMNS, ROWS, UNIFORM, plan_of, release_of, roof, sex, stage_within, written

from maskwell import Categories, ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.designs import Dense, Sparse, Uniform, sparse
from maskwell.errors import DataFileError, ParameterError, PublishError
from maskwell.microdata import load_receipt
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.folder import receipt_contents
from maskwell.microdata.folder.matrix_disclosure import check_matrix, told
from maskwell.microdata.folder.receipt import receipt_from_dict, stage_from_dict, stages_of
from maskwell.microdata.folder.receipt_contents import (
    dumps,
    internal_receipt,
    internal_text,
    public_receipt,
    rounded_down,
    rounded_share,
    rounded_up,
    schema,
    stage_to_dict,
)
from maskwell.microdata.matrices import method1, sequential_uniform
from maskwell.microdata.plans.given_methods import Fixed
from maskwell.microdata.publication import release_table
from maskwell.microdata.stages.stage import Stage, state_categories
from maskwell.microdata.true_file import tables_of
from maskwell.microdata.utility.utility_measures import inflation_of

VALIDATOR = jsonschema.Draft202012Validator(schema())


def worst(stage: Stage, name: str) -> float:
    found = inflation_of(stage, name)
    return found.worst


def every_key(content: Any) -> set[str]:
    if isinstance(content, dict):
        return {*content} | {key for value in content.values() for key in every_key(value)}
    return {key for value in content for key in every_key(value)} if isinstance(content, list) else set()


def test_a_receipt_in_pieces_fits_the_schema_which_refuses_internal_fields_in_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Long lists and matrices are written a stretch at a time, and nothing else differs."""
    monkeypatch.setattr(receipt_contents, "STRETCH", 2)
    monkeypatch.setattr(sparse, "_STRETCH", 2)
    stages = [roof(), sex()]
    release = release_of(stages, plan_of(stages))
    text = "".join(internal_text(release))
    assert json.loads(text) == json.loads(dumps(internal_receipt(release)))
    assert text.endswith("}\n")
    read = stages_of(receipt_from_dict(json.loads(text)))
    assert [stage.design.fingerprint for stage in read] == [stage.design.fingerprint for stage in stages]
    jsonschema.Draft202012Validator.check_schema(schema())
    for make in (public_receipt, internal_receipt):
        VALIDATOR.validate(json.loads(dumps(make(release))))
    content = json.loads(dumps(public_receipt(release_of([roof()], plan_of([roof()])))))
    assert VALIDATOR.is_valid(content) and not any(VALIDATOR.is_valid({**content, **more}) for more in INTERNAL)
    (group,) = content["groups"]
    assert not any(VALIDATOR.is_valid({**content, "groups": [{**group, **more}]}) for more in INTERNAL_OF_GROUP)


INTERNAL: list[dict[str, Any]] = [{"counts": [1, 2]}, {"source": "true.csv"}]
INTERNAL_OF_GROUP = [{"theta": "0.5"}, {"design": {}, "states": [], "outputs": []}, {"clearance": "x"}]


def test_a_withheld_matrix_leaves_no_trace_and_a_fixed_one_has_no_provenance() -> None:
    stages = [roof()]
    release = release_of(stages, plan_of(stages))
    text = dumps(public_receipt(release))
    content = json.loads(text)
    group = content["groups"][0]
    assert group["matrix"] == "withheld"
    assert every_key(content) & {"design", "states", "outputs", "counts", "theta", "stage", "plan", "risk"} == set()
    assert stages[0].design.fingerprint not in text
    assert "method1" not in text and "0.5" not in text
    exact = worst(stages[0], "roof")  # numbers are rounded the safe way
    assert group["vif"]["roof"] >= exact and group["n_eff"]["roof"] <= release.rows / exact
    assert group["changed_expected"] == rounded_share(stages[0].expected_changed(), release.rows)
    fixed = public_receipt(release_of([sex()], plan_of([sex()])))
    group = fixed["groups"][0]
    assert group["matrix"] == "included" and group["invariance"] == "none"
    assert group["design"]["provenance"] == {} and group["states"] == [["f"], ["m"]]
    assert receipt_from_dict(json.loads(dumps(fixed))).groups[0].design == UNIFORM


def test_a_matrix_of_the_file_is_published_only_with_a_clearance_whether_it_keeps_counts_or_not() -> None:
    stages = [roof()]
    cleared = plan_of(stages, publish=["included"])
    group = public_receipt(release_of(stages, cleared))["groups"][0]
    assert group["matrix"] == "included"
    assert "clearance" not in group  # why they may be known is for the log of the data holder
    protection = replace(cleared.protections[0], how=Fixed(), clearance=None)
    bare = replace(cleared)
    object.__setattr__(bare, "protections", (protection,))
    refused(PublishError, "counts", public_receipt, release_of(stages, bare))
    stage = stage_within(ROWS, COLUMNS, ["roof"])
    stages = [replace(stage, counts=stage.counts + np.array([5, 0, 0]), invariance="none")]
    protection = replace(plan_of(stages).protections[0], publish="included", how=Fixed())
    plan = plan_of(stages)
    object.__setattr__(plan, "protections", (protection,))
    refused(PublishError, "computed from the file", public_receipt, release_of(stages, plan))


def given_rounded(mass: Any, digits: int, **changes: Any) -> list[Stage]:
    """A matrix made from counts or weights elsewhere, rounded, and given as a fixed one."""
    stage = stage_within(ROWS, COLUMNS, ["roof"])
    P = method1(mass, "0.5").matrix().round(digits)
    P[0] += 1 - P.sum(axis=0)
    design = Dense.of(P.round(digits), stage.design.inputs)
    return [replace(stage, design=design, derived=False, invariance="none", method="fixed", **changes)]


@pytest.mark.parametrize("digits", [4, 12])
def test_a_fixed_matrix_that_keeps_sums_of_weights_tells_them(digits: int) -> None:
    weights = stage_within(ROWS, COLUMNS, ["roof"]).counts * np.array([1.5, 2.25, 4.0])
    stages = given_rounded(weights, digits, weights=weights, squares=weights * 2)
    refused(PublishError, "reveals the true counts", public_receipt, release_of(stages, plan_of(stages, weights="w")))


@given(st.floats(1, 1e9))
def test_two_digits_and_no_more(value: float) -> None:
    for rounded in (rounded_up(value), rounded_down(value)):
        assert len(f"{rounded:.15e}".split("e")[0].rstrip("0").replace(".", "")) <= 2
        assert abs(rounded - value) <= 0.1 * value
    assert rounded_down(value) <= value * (1 + 1e-8) and rounded_up(value) >= value * (1 - 1e-8)


def test_inflation_of_a_margin_is_that_of_the_whole_matrix() -> None:
    """[Adeshiyan2011, eq. (4.11)] with the states of one label summed, written out."""
    stage = stage_within(ROWS, COLUMNS, ["roof", "sex"])
    P, N = stage.design.matrix(), stage.counts.astype(float)
    C = (np.diag(P @ N) - (P * N) @ P.T) / N.sum() ** 2
    labels = [state[0] for state in stage.states]
    factors = []
    for label in set(labels):
        a = np.array([float(one == label) for one in labels])
        p = a @ N / N.sum()
        factors.append(1 + N.sum() * (a @ C @ a) / (p * (1 - p)))
    assert worst(stage, "roof") == pytest.approx(max(factors), rel=1e-12)


def test_receipts_and_stages_come_back_unless_they_were_changed(tmp_path: Path) -> None:
    labels = [("a", None), ("a", 1), (date(2024, 5, 1), 2.5), (True, "x")]
    stage = Stage(
        **dict.fromkeys(("states", "outputs"), labels),
        variables=("y",),
        within=("x",),
        method="method1",
        invariance="weights",
        derived=True,
        linked={"z": {(None,): "none", (1,): None, (2.5,): "b", ("x",): 3}},
        design=Sparse.of_columns([{0: 1}, {1: 1}, {2: 2, 3: 1}, {2: 1, 3: 5}], state_categories(labels)),
        counts=np.array([1, 2, 3, 4]),
        weights=np.array([1.5, 2, 3, 4]),
        squares=np.array([1.0, 2, 3, 4]),
        cells=np.array([0, 0, 1, 2]),
        notes=("one",),
    )
    back = stage_from_dict(json.loads(json.dumps(stage_to_dict(stage))))
    assert back.states == labels and back.linked == stage.linked
    assert back.design.inputs.labels == stage.design.inputs.labels
    assert back.design.exact_matrix() == stage.design.exact_matrix()
    for name in ("counts", "weights", "squares", "cells"):
        assert getattr(back, name).tolist() == getattr(stage, name).tolist()
    assert (back.method, back.invariance, back.derived, back.notes) == ("method1", "weights", True, ("one",))
    made = written(tmp_path / "r", [roof(), sex()])
    public, internal = (load_receipt(made.folder / part / "receipt.json") for part in ("public", "internal"))
    assert [group.design is None for group in public.groups] == [True, False]
    assert [stage.variables for stage in stages_of(internal)] == [("roof",), ("sex",)]
    refused(ParameterError, "public receipt does not contain", stages_of, public)
    path = made.public / "receipt.json"
    path.write_text(path.read_text().replace('"truth": "1"', '"truth": "2"'))
    refused(DataFileError, "cannot be read", load_receipt, path)


RECEIPT = '{"maskwell": "receipt", "version": 1'
NO_RECEIPTS = {"{": "is not valid JSON", "[]": "not the receipt", '{"maskwell": "design"}': "not the receipt"}
NO_RECEIPTS |= {RECEIPT.replace("1", "9") + "}": "version 9", RECEIPT + "}": "cannot be read"}
NO_RECEIPTS |= {RECEIPT + ', "audience": "public", "groups": 3}': "cannot be read"}


def test_what_is_no_receipt_is_refused(tmp_path: Path) -> None:
    for text, saying in NO_RECEIPTS.items():
        (tmp_path / "receipt.json").write_text(text)
        refused(DataFileError, saying, load_receipt, tmp_path / "receipt.json")
    caught = refused(DataFileError, "", load_receipt, tmp_path)
    assert "public/receipt.json" in caught.hint


def test_neither_shares_of_few_records_nor_blocks_tell_counts() -> None:
    plan = ReleasePlan.of([{"variables": "x", "method": "uniform", "gamma": 3}])
    few, many = (release_table({"x": ["a", "b", "b", "b", "c"] * n}, plan).release for n in (5, 400))
    assert public_receipt(few)["groups"][0]["changed_expected"] is None
    assert public_receipt(many)["groups"][0]["changed_expected"] is not None
    # Of a mixed file, those that stay are blocks of their own: their number is a count of the original file.
    plan = ReleasePlan.of([{"variables": "x", "method": "mixing"}], keys=["x"], match="0.5")
    table = CellTable.of(["x"], {("a",): 1, ("b",): 1, ("c",): 1, ("d",): 9, ("e",): 8})
    release = assess_tables(dict.fromkeys(tables_of(plan), table), plan)
    assert public_receipt(release)["groups"][0]["blocks"] == 1
    assert internal_receipt(release)["groups"][0]["blocks"] == 3


MAKERS = {"method1": lambda counts: method1(counts, "1/2"), "sequential": sequential_uniform}


def rounded(P: Any, digits: int) -> Any:
    """To so many digits, with columns that still sum to one."""
    found = np.asarray(P, dtype=float).round(digits)
    for j in range(found.shape[1]):
        found[found[:, j].argmax(), j] += 1 - found[:, j].sum()
    return [[Fraction(f"{entry:.{digits}f}") for entry in row] for row in found]


def stage_of(P: Any, counts: Sequence[int], **changes: Any) -> Stage:
    """A matrix that was given, in a file with these counts."""
    states = [(f"s{i}",) for i in range(len(counts))]
    truths, reports = (Categories.of([label for (label,) in own]) for own in (states, changes.get("outputs", states)))
    given = {"method": "fixed", "invariance": "none", "derived": False, **changes}
    return releases.stage_of(("roof",), states, Dense.of(P, truths, reports), counts, **given)


def tells(stage: Stage) -> bool:
    counts = stage.counts.astype(float)
    return told(stage, counts, counts) is not None


@pytest.mark.parametrize("digits", [2, 3, 4])
@pytest.mark.parametrize("counts", [(12, 8, 3), (758, 242), (620, 380), (40, 35, 25), (100, 101, 99)], ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_two_digits_of_a_matrix_of_the_file_tell_its_counts(maker: str, counts: Sequence[int], digits: int) -> None:
    stage = stage_of(rounded(MAKERS[maker](counts).matrix(), digits), counts)
    plan = ReleasePlan.of([{"variables": "roof", "method": "uniform", "gamma": 3, "publish": "included"}])
    with pytest.raises(PublishError, match=r"the matrix of roof reveals .*true counts (to within [\d.]+|exactly)"):
        check_matrix(plan, stage)
    check_matrix(replace(plan, protections=(replace(plan.protections[0], publish="withheld"),)), stage)


@pytest.mark.parametrize(
    ("counts", "digits"), [((512, 301, 87, 14, 1), 2), ((51234, 30411, 10550, 203, 7), 3)], ids=str
)
def test_of_a_sequential_matrix_a_few_digits_tell_more_than_the_file(counts: Sequence[int], digits: int) -> None:
    assert tells(stage_of(rounded(sequential_uniform(counts).matrix(), digits), counts))


@pytest.mark.parametrize("n", [1_000, 20_000])
def test_matrices_from_elsewhere_are_hardly_ever_refused(n: int) -> None:
    """Seeded, 300 matrices; a fixed matrix meets the counts by chance in at most 2 %."""
    random, refused = np.random.default_rng(7), 0
    for _ in range(300):
        k = int(random.integers(2, 7))
        P = 0.7 * np.eye(k) + 0.3 * random.dirichlet(np.full(k, 0.5), k).T
        refused += tells(stage_of(rounded(P, 2), random.multinomial(n, random.dirichlet(np.full(k, 2.0))).tolist()))
    assert refused <= 6


def test_equal_states_tell_nothing_of_roughly_equal_counts_and_another_order_hides_nothing() -> None:
    symmetric = [["0.9", "0.1"], ["0.1", "0.9"]]
    assert not tells(stage_of(symmetric, [5020, 4980])) and not tells(stage_of(symmetric, [52, 48]))
    assert tells(stage_of(symmetric, [50, 49]))  # within one: as before, somebody has to clear it
    uniform = replace(stage_of(symmetric, [50, 50]), design=Uniform.from_gamma(9, Categories.of(["s0", "s1"])))
    plan = ReleasePlan.of([{"variables": "roof", "method": "uniform", "gamma": 9, "publish": "included"}])
    check_matrix(plan, uniform)
    counts = [620, 300, 80]
    P = np.array(rounded(sequential_uniform(counts).matrix(), 2))
    mixed = stage_of(P[[2, 0, 1]].tolist(), counts, outputs=[("s2",), ("s0",), ("s1",)])
    assert tells(mixed)
    wider = stage_of([*P.tolist(), [0, 0, 0]], counts, outputs=[("s0",), ("s1",), ("s2",), ("other",)])
    assert tells(wider)


def blocks(parts: Sequence[Any], counts: Sequence[Sequence[int]]) -> Stage:
    """One matrix for each of several cells."""
    size = sum(map(len, counts))
    P, at = np.full((size, size), Fraction(0), dtype=object), 0
    for part in parts:
        P[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return stage_of(P.tolist(), [n for own in counts for n in own])


def test_matrices_of_many_states_and_of_the_file_among_others_are_found() -> None:
    other = [["0.9", "0.4"], ["0.1", "0.6"]]
    counts = [[620, 380], [500, 500], [300, 700]]
    assert not tells(blocks([other] * 3, counts))
    derived = rounded(sequential_uniform(counts[0]).matrix(), 3)
    assert tells(blocks([derived, other, [["0.8", "0.1"], ["0.2", "0.9"]]], counts))
    # In cells of few records any matrix comes close somewhere; seeded.
    random = np.random.default_rng(3)
    counts = [random.multinomial(20, [0.5, 0.5]).tolist() for _ in range(100)]
    assert not tells(blocks([[["0.9", "0.2"], ["0.1", "0.8"]]] * 100, counts))
    total = np.sum(counts, axis=0)
    assert tells(blocks([rounded(method1(total, "0.9").matrix(), 4)] * 100, counts))
    counts = np.random.default_rng(1).integers(1, 200, 150)
    P = (0.5 * np.eye(150) + 0.5 * sequential_uniform(counts).matrix()).round(5)
    P[np.arange(150), np.arange(150)] += 1 - P.sum(axis=0)
    stage = stage_of(P.round(5).tolist(), counts.tolist())
    assert tells(stage) and not tells(replace(stage, counts=counts[::-1].copy()))


CYCLE = [["0.75", "0", "0.5"], ["0.15", "0.8", "0"], ["0.1", "0.2", "0.5"]]
"""Keeps 4 : 3 : 2 on average, and no two states exchange equal numbers."""


@pytest.mark.parametrize("other", ["0", "0.05", "0.2", "0.5"])
def test_a_further_report_does_not_hide_that_the_other_ones_keep_the_counts(other: str) -> None:
    P = np.array([[Fraction(entry) for entry in row] for row in CYCLE])
    assert (P @ [4, 3, 2]).tolist() == [4, 3, 2]
    outputs = [("s0",), ("s1",), ("s2",), ("other",)]
    with_other = [*(P * (1 - Fraction(other))).tolist(), [Fraction(other)] * 3]
    assert tells(stage_of(with_other, (400, 300, 200), outputs=outputs))
    assert not tells(stage_of(with_other, (200, 400, 300), outputs=outputs))
