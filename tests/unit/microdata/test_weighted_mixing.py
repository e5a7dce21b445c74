"""Releases of surveys by mixing: which tables are right with weights, what users are told, and what weights reveal."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell.errors import PlanError
from maskwell.microdata import load_receipt
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.matrices import is_invariant
from maskwell.microdata.stages.stage import Stage

KEYS = ["region", "sex", "job"]
TOWNS, JOBS = ["north", "south", "east"], ["office", "trade", "law", "farm", "sea", "art"]


def survey(number: int = 1, rows: int = 400) -> dict[str, list[Any]]:
    """Weights are ten times larger in one region, and vary within each."""
    draw = np.random.default_rng(number)
    region, sex = draw.choice(3, rows, p=[0.7, 0.2, 0.1]), draw.choice(2, rows)
    job = draw.choice(6, rows, p=[0.5, 0.3, 0.1, 0.06, 0.03, 0.01])
    heavy = np.where(region == 1, 200, 20) * draw.choice([0.5, 1.0, 1.25, 1.5], rows)
    return {
        "region": [TOWNS[one] for one in region],
        "sex": ["fm"[one] for one in sex],
        "job": [JOBS[one] for one in job],
        "income": [("low", "high")[one] for one in draw.choice(2, rows)],
        "hours": [("few", "many")[one] for one in draw.choice(2, rows)],
        "w_1": heavy.tolist(),
    }


def plan_of(protect: dict[str, Any] | None = None, **release: Any) -> mw.ReleasePlan:
    how = {"variables": KEYS, "method": "mixing", **(protect or {})}
    given = {"keys": KEYS, "match": "0.25", "weights": "w_1", "accept": ["w_1"], "demonstration": True, **release}
    return mw.ReleasePlan.of([how], **given)


def released(plan: mw.ReleasePlan, data: dict[str, list[Any]] | None = None) -> Any:
    return mw.release(data or survey(), plan, random=mw.SeededRandom(1)).release  # type: ignore[union-attr]


def stage_of(plan: mw.ReleasePlan, data: dict[str, list[Any]] | None = None) -> Stage:
    (stage,) = released(plan, data).stages
    return stage


def _shown(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


def test_weights_are_kept_unless_counts_are_asked_for_or_users_could_not_weight() -> None:
    release = released(plan_of())
    (kept,) = release.stages
    assert release.risk.after.max_risk <= 0.25 + 1e-9
    assert kept.invariance == "weights" and kept.weights is not None
    assert is_invariant(kept.design, kept.weights) and not is_invariant(kept.design, kept.counts)
    assert any("numbers of records are not" in note for note in kept.notes)
    asked = stage_of(plan_of({"invariance": "counts"}))
    assert asked.invariance == "counts" and is_invariant(asked.design, asked.counts)
    assert any("sums of weights are not" in note for note in asked.notes)
    assert stage_of(plan_of(drop=["w_1"], accept=[])).invariance == "counts"
    swapped = {"method": "swap", "base": "mixing"}
    assert stage_of(plan_of(swapped)).invariance == "counts"
    alike = {**survey(), "w_1": [7.5] * 400}
    both = stage_of(plan_of(), alike)
    assert is_invariant(both.design, both.counts) and is_invariant(both.design, both.weights)
    assert not any("are not" in note for note in both.notes)


def test_the_note_says_how_far_unweighted_shares_of_one_column_are_off() -> None:
    stage = stage_of(plan_of())
    expected = stage.design.forward(stage.counts) - stage.counts
    off = [abs(np.bincount(stage.state_codes[name], expected)).max() for name in KEYS]
    assert f"up to {100 * max(off) / 400:.2g} percentage points" in "".join(stage.notes)


def test_users_get_weighted_shares_without_bias_and_unweighted_ones_with_a_bound(tmp_path: Path) -> None:
    data = survey()
    mw.release(data, plan_of(), tmp_path / "r", random=mw.SeededRandom(3))
    public = tmp_path / "r" / "public"
    file, receipt = next(public.glob("data.*")), load_receipt(public / "receipt.json")
    found = estimate_released(file, receipt, ["job"])
    assert found.route.kind == "kept" and found.estimate.bias is None
    assert "every record counts with its weight (w_1)" in "".join(found.remarks)
    assert "numbers of records are not preserved" in (public / "README.md").read_text().replace("\n  ", " ")
    assert "Make unbiased tables of region, sex, job without the weights (w_1)" in _shown(
        tmp_path / "r/internal/report.html"
    )
    told = receipt.tables[frozenset(["job"]), "counts"]
    stage = stage_of(plan_of(), data)
    moved = np.bincount(stage.state_codes["job"], stage.design.forward(stage.counts) - stage.counts)
    assert told.bias >= abs(moved).max() / 400
    assert (frozenset(["job"]), "weights") not in receipt.tables


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_lines_for_r_give_the_weighted_shares_of_the_command(tmp_path: Path) -> None:
    """The weights have a name that Markdown would read as markup."""
    path = tmp_path / "survey.csv"
    data = survey()
    path.write_text("\n".join([",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]))
    mw.release(path, plan_of(), tmp_path / "r", random=mw.SeededRandom(3))
    public = tmp_path / "r" / "public"
    after = (public / "README.md").read_text().partition("The same in R, for one column")[2].split("\n\n")[1]
    lines = [line.removeprefix("    ") for line in after.splitlines()]
    command = ["Rscript", "-e", "\n".join(["options(digits = 12)", *lines])]
    answer = subprocess.run(command, cwd=public, check=True, capture_output=True, text=True)
    found = estimate_released(public / "data.csv", load_receipt(public / "receipt.json"), ["region"]).estimate
    printed = [float(word) for word in answer.stdout.split() if word[0].isdigit()]
    for number in (*found.pi_hat, *found.standard_error):
        assert any(abs(one - number) < 1e-8 for one in printed)
    assert "generate double _N = real(w_1)" in (public / "README.md").read_text()


def test_published_weights_are_counted_in_the_linkage_attack() -> None:
    """Weights reveal one region: of the tenth that it is surest of, the attack re-identifies twice as many with them.

    Weights that reveal every region are not published unasked.
    """
    data = survey()
    with_weights = released(plan_of(), data).risk.joined
    without = released(plan_of(drop=["w_1"], accept=[]), data).risk.joined
    assert with_weights is not None and without is not None
    assert "w_1" in with_weights.columns and "w_1" not in without.columns
    assert with_weights.right_surest > 1.5 * without.right_surest
    data["w_1"] = [20.0 * 10 ** TOWNS.index(town) for town in data["region"]]
    refused(PlanError, "w_1", released, plan_of(accept=[]), data)


def test_records_without_weight_are_refused_with_a_way_out() -> None:
    data = survey()
    rare = next(place for place, cell in enumerate(data["job"]) if cell == "art")
    data["region"][rare], data["w_1"][rare] = "island", 0.0
    with pytest.raises(PlanError, match="with a weight of 0 only") as raised:
        released(plan_of(), data)
    assert 'invariance = "counts"' in str(raised.value.hint)
    assert stage_of(plan_of({"invariance": "counts"}), data).invariance == "counts"
    refused(PlanError, "does not go", plan_of, {"each": "unit", "invariance": "weights"}, unit="hid")
