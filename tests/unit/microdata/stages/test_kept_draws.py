"""Stages whose draws may be kept: what names them, and kept reports that are randomized once more."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import releases
from tests.support.chisquare import fits
from tests.support.quiet import refused

from maskwell import Categories, KeyedRandom, ReleasePlan, SeededRandom
from maskwell.core.cells import CellTable
from maskwell.designs import Composed, Dense, Sparse, Uniform
from maskwell.designs.wire import save_design
from maskwell.errors import InfeasibleError, PlanError
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.folder.receipt import stage_from_dict
from maskwell.microdata.folder.receipt_contents import stage_to_dict
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.matrices import is_invariant
from maskwell.microdata.records.row_releaser import draws_of
from maskwell.microdata.stages.stage import Stage, state_categories
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import tables_of

WARNER = [["3/4", "1/4"], ["1/4", "3/4"]]
COUNTS = {(s, j): n for s, own in (("f", (30, 20, 10)), ("m", (25, 40, 5))) for j, n in zip("abc", own, strict=True)}


def stage_of(labels: list[Any], P: Any = WARNER, **changes: Any) -> Stage:
    states = [(label,) for label in labels]
    design = Sparse.of_matrix(P, state_categories(states))
    made = releases.stage_of(["v"], states, design, method="fixed", invariance="none", derived=False)
    return replace(made, **changes)


def tables(plan: ReleasePlan, counts: Any = COUNTS) -> Any:
    table = CellTable.of(["sex", "job"], counts)
    return {own: table.project(own) for own in tables_of(plan)}


def planned(**protect: Any) -> ReleasePlan:
    return ReleasePlan.of([{"variables": "job", **protect}])


def built(**protect: Any) -> Stage:
    plan = planned(**protect)
    return build_stages(plan, tables(plan))[0]


# ---- the name of a stage


OTHERS = {
    "labels": stage_of(["a", "c"]),
    "order of labels": stage_of(["b", "a"]),
    "one column of the matrix": stage_of(["a", "b"], [["3/4", "1/3"], ["1/4", "2/3"]]),
    "variable": stage_of(["a", "b"], variables=("w",)),
    "released labels": stage_of(["a", "b"], outputs=[("a",), ("c",)]),
    "one more label": stage_of(["a", "b", "c"], [["3/4", "1/4", 0], ["1/4", "3/4", 0], [0, 0, 1]]),
    "structure": stage_of(["a", "b"], design=Dense.of(WARNER)),
    "missing value": stage_of(["a", None]),
    "word for it": stage_of(["a", "missing"]),
    "within": stage_of(["a", "b"], within=("sex",), states=[("f", "a"), ("f", "b")], outputs=[("f", "a"), ("f", "b")]),
}


def test_whatever_a_draw_depends_on_names_the_stage_for_ever() -> None:
    """By its description, written anew: another name would give all draws of a later release anew."""
    names = {stage.fingerprint for stage in OTHERS.values()} | {stage_of(["a", "b"]).fingerprint}
    assert len(names) == len(OTHERS) + 1
    stage = stage_of(["a", 7, None], [["1/2", 0, 0], ["1/2", 1, 0], [0, 0, 1]])
    exact = {"columns": [["1", "1"], ["1"], ["1"]], "denominators": ["2", "1", "1"], "rows": [[0, 1], [1], [2]]}
    design = {"exact": exact, "kind": "sparse", "maskwell": "design", "version": 1}
    design |= {"inputs": {"count": 3}, "outputs": {"count": 3}}
    lines = [
        {"maskwell": "stage", "outputs": "states", "variables": ["v"], "version": 1, "within": []},
        "sha256:" + hashlib.sha256(compact(design).encode()).hexdigest(),
        [["3"]],
        [["a"], ["7"], [None]],
    ]
    text = "".join(compact(line) + "\n" for line in lines)
    assert stage.fingerprint == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert stage_of([7, 8]).fingerprint == stage_of(["7", "8"]).fingerprint == stage_of([7.0, 8.0]).fingerprint
    assert stage_of([7, "7"]).fingerprint != stage_of([7, 8]).fingerprint


def compact(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize("kind", ["uniform", "dense", "composed"])
def test_the_name_is_that_of_the_receipt(kind: str) -> None:
    labels = Categories.of(["a", "b"])
    three, four = (Uniform.from_gamma(gamma, labels) for gamma in (3, 4))
    design = {"uniform": three, "dense": Dense.of(WARNER, labels), "composed": Composed.of(three, four)}[kind]
    stage = stage_of(["a", "b"], design=design)
    read = stage_from_dict(json.loads(json.dumps(stage_to_dict(stage))))
    assert read.fingerprint == stage.fingerprint


def test_two_labels_with_one_text_get_draws_of_their_own() -> None:
    """States are told apart by their place: 7 and "7" in one column do not share words. False-alarm rate 1e-6."""
    stage = stage_of([7, "7"])
    key = KeyedRandom.of(bytes(range(32)), "d")
    draws, names = draws_of(stage, SeededRandom(1), key), key.names(np.arange(40_000))
    first, later = (draws.draw(np.full(40_000, t, dtype=np.uint32), names).astype(int) for t in (0, 1))
    assert fits(np.bincount(2 * first + later, minlength=4), np.array([3, 9, 1, 3]) / 16)


# ---- kept, and once more


HALF = {"method": "method1", "theta": "1/2"}
PROTECTIONS = [HALF, {**HALF, "within": ["sex"]}, {**HALF, "exclude": ["c"]}, {"method": "sequential"}]
PROTECTIONS += [{"method": "uniform", "gamma": 3}, {"method": "method2", "diagonal": "0.8"}]
PROTECTIONS += [{"method": "inverse-frequency", "theta": 2}, {"method": "optimal", "posterior": "0.9"}]


@pytest.mark.parametrize("again", ["1/4", "1"])
@pytest.mark.parametrize("protect", PROTECTIONS, ids=str)
def test_both_steps_are_their_product_exactly(protect: Any, again: str) -> None:
    once, twice = built(**protect), built(**protect, again=again)
    P, C, whole = (np.array(d.exact_matrix(), dtype=object) for d in (*twice.steps, twice.design))
    a = Fraction(again)
    assert (np.array(once.design.exact_matrix(), dtype=object) == P).all()
    unit = np.array([[Fraction(int(i == j)) for j in range(len(P))] for i in range(len(P))], dtype=object)
    assert (a * P + (1 - a) * unit == C).all()
    assert (whole == C @ P).all()
    assert twice.fingerprint == once.fingerprint, "the kept draw does not depend on the second step"
    if once.invariance == "counts":
        assert twice.invariance == "counts"
        assert is_invariant(twice.design, twice.counts)


def test_a_second_step_needs_the_same_reports_and_a_match_holds_for_the_first_alone(tmp_path: Path) -> None:
    """The second step wears out: many releases tell the kept report, whose risk is that of the first matrix."""
    rare = {**COUNTS, ("m", "d"): 3}
    weak = {"variables": "job", "method": "method1", "theta": "0.2"}
    both = ReleasePlan.of([{**weak, "again": 1}], keys=["job"], match="0.2")
    with_both, alone = (
        assess_tables(tables(plan, rare), plan) for plan in (both, ReleasePlan.of([weak], keys=["job"]))
    )
    assert with_both.risk and with_both.risk.after and alone.risk and alone.risk.after
    assert with_both.risk.after.max_risk < alone.risk.after.max_risk
    of_alone, of_both = (
        ReleasePlan.of([{**weak, "again": 1}], keys=["job"], match=str(round(one.risk.after.max_risk + 0.001, 4)))
        for one in (alone, with_both)
        if one.risk and one.risk.after
    )
    check_kept(assess_tables(tables(of_alone, rare), of_alone))
    refused(
        InfeasibleError, "probability of a correct match", check_kept, assess_tables(tables(of_both, rare), of_both)
    )
    rows = [["1/2", 0, 0], ["1/2", "1/2", 0], [0, "1/2", 1]]
    file = str(tmp_path / "design.json")
    save_design(Dense.of(rows, Categories.of(["a", "b", "c"]), Categories.of(["c", "b", "a"])), file)
    with pytest.raises(PlanError, match="whose reports are its categories, in order"):
        built(method="design", file=file, again="1/2")
    refused(PlanError, "keeps none", planned, method="sequential", draws="fresh", again="1/2")
    refused(PlanError, "exact counts of a swap", planned, method="swap", base="sequential", again="1/2")


# ---- what is said of kept draws


def told(*protect: Any, keyed: str | None = "a commitment") -> str:
    plan = ReleasePlan.of([*protect])
    return " / ".join(releases.changed(assess_tables(tables(plan), plan), keyed=keyed).notes)


def test_notes_say_what_kept_draws_tell() -> None:
    job = {"variables": "job", "method": "uniform", "gamma": 3}
    assert "proves that the true value changed" in told(job) and "kept by key" not in told(job, keyed=None)
    assert "kept by key" not in told({**job, "draws": "fresh"})
    again = told({**job, "again": "1/2"})
    assert "proves" not in again and "many releases together reveal the kept report" in again
    assert "internal/receipt.json" not in told(job)
    assert "internal/receipt.json" in told({"variables": "job", "method": "sequential"})


@pytest.mark.parametrize("how", [{"draws": "fresh"}, {"again": "1/2"}])
def test_notes_warn_of_kept_draws_within_fresh_ones(how: Any) -> None:
    sex = {"variables": "sex", "method": "method1", "theta": "1/2", "within": ["job"]}
    job = {"variables": "job", "method": "method1", "theta": "1/2", "within": ["sex"]}
    assert "job is drawn within sex, whose reports are new in each release" in told({**sex, **how}, job)
    assert "whose reports are new" not in told(sex, job)
    assert "whose reports are new" not in told(job, {**sex, **how}), "within true values, which come first"
