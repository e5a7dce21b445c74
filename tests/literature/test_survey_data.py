"""Openly asked questions of complex samples: the figures of the R package survey from its data, by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, run


def estimated(shared: Path, name: str, *options: str) -> dict[str, dict[str, Any]]:
    file = shared / "data" / f"survey_{name}.csv"
    found = run("estimate", file, *options, "--json").json()
    return {str(row["category"]): row for row in found["estimates"]}


@pytest.mark.parametrize(
    ("name", "plan", "share", "error"),
    [
        ("apistrat", ["--strata", "stype", "--population", "fpc"], 0.63894, 0.03441),
        ("apiclus1", ["--clusters", "dnum", "--population", "fpc"], 0.71038, 0.03302),
        ("apiclus2", ["--clusters", "dnum,snum", "--population", "fpc1,fpc2"], 0.63985, 0.06340),
    ],
)
def test_schools_with_awards(shared: Path, name: str, plan: list[str], share: float, error: float) -> None:
    yes = estimated(shared, name, "--direct", "awards", "--weights", "pw", *plan)["Yes"]
    assert [round(yes["estimate"], 5), round(yes["standard_error"], 5)] == [share, error]


NESTED = ["--weights", "WTMEC2YR", "--strata", "SDMVSTRA", "--clusters", "SDMVPSU"]


def test_race(shared: Path) -> None:
    rows = estimated(shared, "nhanes", "--direct", "race", *NESTED)
    assert [round(rows[code]["estimate"], 5) for code in "1234"] == [0.15055, 0.65743, 0.11938, 0.07264]


def test_high_cholesterol_where_it_was_measured(shared: Path) -> None:
    """745 people were not measured; every cluster still has some who were, so that leaving them out changes none."""
    rows = estimated(shared, "nhanes", "--direct", "HI_CHOL", "--missing", "drop", *NESTED)
    assert [round(rows["1"]["estimate"], 5), round(rows["1"]["standard_error"], 5)] == [0.11214, 0.00545]


def test_randomized_answers_of_a_complex_sample(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same school survey with awards reported by Warner's device: the open figure lies within the interval."""
    monkeypatch.chdir(tmp_path)
    design_file("w.json", "warner", "--p", "0.9", "--categories", "Yes,No", "--reports", "Yes,No")
    file = shared / "data" / "survey_apistrat.csv"
    run("randomize", file, "--design", "awards=w.json", "-o", "reports.csv", "--seed", "7")
    plan = ["--weights", "pw", "--strata", "stype", "--population", "fpc"]
    yes = run("estimate", "reports.csv", "--design", "awards=w.json", *plan, "--json").json()["estimates"][0]
    low, high = yes["interval"]
    assert low < 0.63894 < high
    assert yes["standard_error"] > 0.03441
