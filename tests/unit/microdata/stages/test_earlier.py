"""Matrices of an earlier release on another file, and what a randomization achieves, measured on its matrix."""

import json
import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support import releases
from tests.support.quiet import refused
from tests.support.releases import stage_of

from maskwell.core.cells import CellTable
from maskwell.errors import EditRuleError, InfeasibleError, PlanError, UnknownCategoryError
from maskwell.microdata import Protection
from maskwell.microdata.folder.receipt import stage_from_dict
from maskwell.microdata.folder.receipt_contents import stage_to_dict
from maskwell.microdata.kept_bounds import achieved, check_kept, guessed
from maskwell.microdata.matrices import Bounds
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import Release
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.utility.utility_report import expected_share

Cells = dict[tuple[Hashable, ...], int]
METHOD1 = {"variables": "job", "method": "method1", "theta": "1/2"}
ONE: Cells = {("f", "a"): 30, ("f", "b"): 20, ("m", "a"): 10, ("m", "b"): 40, ("m", "c"): 5}
TWO: Cells = {("f", "a"): 20, ("f", "b"): 30, ("m", "a"): 12, ("m", "b"): 41}


def assessed(counts: Cells, plan: ReleasePlan, earlier: Any = None, columns: Any = ("sex", "job")) -> Release:
    return releases.assessed(CellTable.of(columns, counts), plan, earlier=earlier)


def read_back(release: Release) -> list[Stage]:
    """As from the internal receipt."""
    return [stage_from_dict(json.loads(json.dumps(stage_to_dict(stage)))) for stage in release.stages]


@pytest.mark.parametrize("within", [(), ("sex",)])
def test_a_category_that_does_not_occur_any_more_stays_a_state(within: Any) -> None:
    plan = ReleasePlan.of([{**METHOD1, "within": within}], keys=["sex", "job"])
    first = assessed(ONE, plan)
    (stage,) = assessed(TWO, plan, read_back(first)).stages
    assert stage.fingerprint == first.stages[0].fingerprint and stage.states == first.stages[0].states
    assert int(stage.counts.sum()) == sum(TWO.values())
    assert stage.counts[[state[-1] for state in stage.states].index("c")] == 0
    assert (stage.invariance, stage.derived) == ("external", True) and "not those of this one" in stage.notes[0]


def test_labels_take_the_type_of_this_file_and_linked_columns_are_as_before() -> None:
    plan = ReleasePlan.of([{"variables": "job", "method": "method1", "theta": "1/2"}])
    first = assessed({("f", 1): 3, ("f", 2): 5, ("m", 3): 2}, plan)
    (stage,) = assessed({("f", "1"): 3, ("m", "2"): 5}, plan, read_back(first)).stages
    assert stage.states == [("1",), ("2",), ("3",)] and stage.fingerprint == first.stages[0].fingerprint
    assert stage.counts.tolist() == [3, 5, 0]
    plan = ReleasePlan.of([{"variables": "job", "method": "method1", "theta": "1/2"}])
    first = assessed({("f", "1"): 3, ("f", "1.0"): 5}, plan)
    with pytest.raises(PlanError, match="not written as in the earlier file"):
        assessed({("f", 1.0): 3, ("m", 2.5): 5}, plan, read_back(first))
    plan = ReleasePlan.of([METHOD1], missing="category")
    first = assessed({("f", "a"): 3, ("f", None): 5}, plan)
    (stage,) = assessed({("f", "a"): 4, ("f", None): 1}, plan, read_back(first)).stages
    assert dict(zip(stage.states, stage.counts.tolist(), strict=True)) == {("a",): 4, (None,): 1}
    unchanged = ReleasePlan.of([METHOD1])
    first = assessed({("f", "a"): 3, ("f", "b"): 5}, unchanged)
    (stage,) = assessed({("f", "a"): 4, ("f", None): 1}, unchanged, read_back(first)).stages
    assert stage.counts.tolist() == [4, 0]
    columns = ("job", "group")
    plan = ReleasePlan.of([{**METHOD1, "linked": "group"}])
    first = assessed({("a", "x"): 3, ("b", "x"): 5, ("c", "y"): 2}, plan, columns=columns)
    (stage,) = assessed({("a", "x"): 3, ("b", "x"): 5}, plan, read_back(first), columns).stages
    assert stage.linked["group"] == {("a",): "x", ("b",): "x", ("c",): "y"}
    with pytest.raises(PlanError, match="does not follow as in the earlier file"):
        assessed({("a", "y"): 3, ("b", "x"): 5}, plan, read_back(first), columns)
    # Within the columns of the rule a matrix of the same file makes no new combination; one of another file may.
    free = ReleasePlan.of([{**METHOD1, "within": ["sex"]}])
    first = assessed({**ONE, ("f", "c"): 4}, free)
    ruled = ReleasePlan.of([{**METHOD1, "within": ["sex"]}], rule=[{"forbid": {"sex": ["f"], "job": ["c"]}}])
    refused(EditRuleError, "what a rule forbids", assessed, ONE, ruled, read_back(first))
    with pytest.raises(PlanError, match="no rule joins sex any more"):
        assessed(ONE, ReleasePlan.of([METHOD1]), read_back(assessed(ONE, ruled)))


@pytest.mark.parametrize(
    ("counts", "saying"),
    [
        ({**TWO, ("m", "secret"): 7}, "all categories of 'job': 1 new, records 7"),
        ({**TWO, ("f", "c"): 7}, "all combinations of sex, job: 1 new, records 7"),
        ({**TWO, ("x", "a"): 7, ("x", "b"): 1}, "all categories of 'sex': 1 new, records 8"),
    ],
)
def test_states_that_are_not_known_are_counted_and_not_named(counts: Cells, saying: str) -> None:
    """Where reports are randomized once more; single draws of new states have the columns of the plan's own matrix."""
    plan = ReleasePlan.of([{**METHOD1, "within": ["sex"], "again": "0.5"}])
    raised = refused(UnknownCategoryError, saying, assessed, counts, plan, read_back(assessed(ONE, plan)))
    assert "secret" not in f"{raised}{raised.hint}{raised.objects}"
    plan = ReleasePlan.of([{**METHOD1, "within": ["sex"]}])
    (first,), (own,) = assessed(ONE, plan).stages, assessed(counts, plan).stages
    (stage,) = assessed(counts, plan, read_back(assessed(ONE, plan))).stages
    assert stage.kept_as == tuple(first.fingerprint if state in first.states else None for state in stage.states)
    assert dict(zip(stage.states, stage.counts.tolist(), strict=True)) == {**dict.fromkeys(first.states, 0), **counts}
    for state, name in zip(stage.states, stage.kept_as, strict=True):
        source = own if name is None else first
        assert column_of(stage, state) == column_of(source, state)
    assert read_back(assessed(counts, plan, [first]))[0].fingerprint == stage.fingerprint


def column_of(stage: Stage, state: Any) -> dict[Any, Any]:
    P, j = stage.design.exact_matrix(), [*stage.states].index(state)
    return {stage.outputs[i]: row[j] for i, row in enumerate(P) if row[j]}


@pytest.mark.parametrize(
    "bounds",
    [{"posterior": "0.8"}, {"posterior_own": "0.8"}, {"guess": "0.8"}, {"odds": 4}, {"caps": {"b": "0.8"}}],
    ids=str,
)
def test_bounds_are_looked_at_again(bounds: Any) -> None:
    plan = ReleasePlan.of([{"variables": "job", "method": "optimal", **bounds}])
    even: Cells = {("f", "a"): 50, ("f", "b"): 50}
    first = assessed(even, plan)
    assert assessed(even, plan, read_back(first)).stages[0].invariance == "counts"
    check_kept(assessed(even, plan, read_back(first)))
    refused(InfeasibleError, "is broken", check_kept, assessed({("f", "a"): 2, ("f", "b"): 98}, plan, read_back(first)))


@pytest.mark.parametrize("bound", [{"method": "inverse-frequency", "xi": "0.3"}, {"method": "method1", "match": "0.3"}])
def test_a_match_of_the_protection_is_looked_at_again(bound: Any) -> None:
    plan = ReleasePlan.of([{"variables": "job", **bound}])
    first = assessed({("f", "a"): 50, ("f", "b"): 60, ("f", "c"): 40}, plan)
    with pytest.raises(InfeasibleError, match=r"= 0\.3 is broken"):
        check_kept(assessed({("f", "a"): 50, ("f", "b"): 60, ("f", "c"): 1}, plan, read_back(first)))


def stage_with(P: list[list[str]], counts: list[int], cells: list[int] | None = None) -> Stage:
    states = [(f"s{i}",) for i in range(len(counts))]
    return stage_of(["x"], states, P, counts, cells=np.array(cells or [0] * len(counts)))


TWO_STATES = stage_with([["3/4", "1/2"], ["1/4", "1/2"]], [20, 10])
BLOCKS = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10], [0, 1, 1])


BY_HAND = {"posterior": 0.75, "posterior_own": 0.75, "odds": 3, "guess": (15 + 5) / 30, "parity": 2, "least_kept": 0.5}
BY_HAND |= {"factor": 1.5, "changed_at_most": 1 / 3, "changed_at_least": 1 / 3}  # s1 given s1: 1/2 against 1/3


def test_every_bound_is_measured_cell_by_cell_as_by_hand() -> None:
    assert {bound: achieved(TWO_STATES, bound) for bound in BY_HAND} == pytest.approx(BY_HAND)
    assert achieved(BLOCKS, "parity") == pytest.approx(3)
    assert achieved(BLOCKS, "posterior") == 1  # the cell with one state
    assert achieved(BLOCKS, "odds") == math.inf
    assert achieved(BLOCKS, "guess") == 1 and guessed(BLOCKS) == pytest.approx((5 + 15) / 25)
    pairs = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [0, 10, 10], [0, 1, 1])
    assert achieved(pairs, "guess") == pytest.approx(3 / 4)  # a cell without records asks nothing
    whole = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10])
    assert achieved(whole, "parity") == math.inf == achieved(whole, "factor")
    assert {name for name in Bounds.names() if achieved(TWO_STATES, name) is None} == {"match"}


FILE = {("a", "x"): 1, ("b", "y"): 30, ("c", "z"): 9, (None, "x"): 10}


def release() -> Release:
    protections = [Protection.of(["u"], method="method1", theta=1), Protection.of(["v"], method="method1", theta=1)]
    plan = ReleasePlan.of(protections, keys=["u", "v"])
    return releases.assessed(CellTable.of(["u", "v"], FILE), plan)


def test_stages_meet_the_same_records_and_shares_are_of_all() -> None:
    """u: one record of each of three categories moves. v: nine of each of three, of 11, 30 and 9."""
    away = {"a": Fraction(1), "b": Fraction(1, 30), "c": Fraction(1, 9), None: Fraction(0)}
    moved = {"x": Fraction(9, 11), "y": Fraction(9, 30), "z": Fraction(1)}
    exact = sum(n * (1 - (1 - away[u]) * (1 - moved[v])) for (u, v), n in FILE.items()) / 50
    assert release().expected_change() == pytest.approx(float(exact), abs=1e-14)
    found = release()
    assert found.utility.variables["u"].expected_changed == pytest.approx(3 / 50)  # as realised shares are counted
    assert found.to_dict()["variables"]["u"]["expected_changed"] == pytest.approx(3 / 50)
    assert expected_share(release().stages, [CellTable.of(["u"], {("a",): 1})], ["u", "v"]) is None
