"""The example of sdcMicro's pram on its own test data: the same plan, with a matrix for every stratum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskwell.engines import Rows
from maskwell.microdata import ReleasePlan, assess_file, plan_from_sdcmicro
from maskwell.microdata.kept_bounds import check_match
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import count_records, tables_of
from maskwell.verbs import first_plan

FILES = {
    "sdc_testdata": ["expend", "savings", "ori_hid"],
    "sdc_testdata2": ["expend", "income", "savings", "ori_hid"],
    "nist_acs_national2019": [],
    "simpop_ghana": ["hhid", "clust", "weight"],
    "simpop_eusilcp": ["hid"],
    "adult_arx": [],
    "sdc_free1": ["INCOME", "ASSETS"],
    "synthpop_sd2011": ["age"],
}
"""Files, and what must not be published beside the keys of a first plan."""


def stages_of(path: Path, plan: ReleasePlan) -> tuple[Stage, ...]:
    return build_stages(plan, count_records(Rows.of(str(path)), plan, tables_of(plan)))


def test_every_stratum_has_a_matrix_that_keeps_its_counts(shared: Path) -> None:
    plan = plan_from_sdcmicro(["roof"], strata_variables=["urbrur", "sex"])
    (stage,) = stages_of(shared / "data/sdc_testdata.csv", plan)
    counts = stage.counts.astype(float)
    assert len(np.unique(stage.cells)) == 4
    assert np.allclose(stage.design.apply(counts / counts.sum()) * counts.sum(), counts, rtol=0, atol=1e-9 * 4580)


def test_the_diagonal_of_the_first_matrix_is_no_bound(shared: Path) -> None:
    """pd = 0.8 asks for at least 0.8; the two stages leave the rarest roof with much less."""
    (stage,) = stages_of(shared / "data/sdc_testdata.csv", plan_from_sdcmicro(["roof"], alpha=1))
    assert stage.keeps.min() < 0.4
    (bounded,) = stages_of(
        shared / "data/sdc_testdata.csv",
        ReleasePlan.of([{"variables": "roof", "method": "optimal", "least_kept": 0.8, "changed_at_least": 0.05}]),
    )
    assert bounded.keeps.min() >= 0.8 - 1e-12
    assert bounded.expected_changed() == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("name", FILES)
def test_a_first_plan_works_as_it_is_and_publishes_no_ids(shared: Path, name: str) -> None:
    path = shared / f"data/{name}.csv"
    plan = read_plan(first_plan(str(path)))
    assert {*plan.drop, plan.id} >= {*FILES[name]}
    release = assess_file(str(path), plan)
    check_match(release)
    assert not [one for one in release.side_channels if one.refused]
    assert len(plan.keys) >= 3
    assert 0 < release.stages[0].expected_changed() < 0.05
