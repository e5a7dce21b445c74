"""A survey with the stochastic lie detector that comes with the R package RRreg: its figures from its data."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, run


@pytest.fixture
def asked(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The rows that were asked with the device, and the two designs; conditions 1 and 2 differ in the cards."""
    monkeypatch.chdir(tmp_path)
    with (shared / "data" / "rrreg_minarets.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["RRdesign"] == "1"]
    lines = ["rrt,condition", *(f"{row['rrt']},{row['condition']}" for row in rows)]
    Path("asked.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for condition, p in (("1", "2/12"), ("2", "10/12")):
        design_file(f"d{condition}.json", "lie-detector", "--p", p, "--reports", "1,0")
    return {"1": "d1.json", "2": "d2.json"}


def estimated(designs: dict[str, str], method: str) -> dict[str, Any]:
    words = [word for value, path in designs.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    return run("estimate", "asked.csv", *words, "--method", method, "--json").json()


@pytest.mark.parametrize("method", ["moments", "ml"])
def test_against_the_ban_on_minarets(asked: dict[str, str], method: str) -> None:
    """Carriers are those who were for the ban; t is the chance that one of them said so."""
    found = estimated(asked, method)
    assert found["n"] == 1256
    honest, lying, _ = (row["estimate"] for row in found["estimates"])
    carriers = np.array([1.0, 1.0, 0.0])
    error = np.sqrt(carriers @ np.array(found["covariance"]) @ carriers)
    assert [round(x, 4) for x in (honest + lying, error, honest / (honest + lying))] == [0.8707, 0.0411, 0.6358]


def test_rows_of_a_condition_without_a_design_are_named(asked: dict[str, str], shared: Path) -> None:
    """The file also has people who were asked directly: 365 rows of condition 0."""
    words = [word for value, path in asked.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    done = run("estimate", shared / "data" / "rrreg_minarets.csv", *words, "--show-values", status=2)
    assert "'condition': 365 of 1,621 values have no design" in done.err
    assert "'0' (365 times)" in done.err


def test_a_regression_without_predictors_gives_the_published_shares(asked: dict[str, str]) -> None:
    words = [word for value, path in asked.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    found = run("regress", "asked.csv", "--formula", "rrt ~ 1", *words, "--model", "lie-detector", "--json").json()
    (odds,) = found["coefficients"]
    share = 1 / (1 + np.exp(-odds["estimate"]))
    assert [round(share, 4), round(found["parameters"][0]["estimate"], 4)] == [0.8707, 0.6358]
    assert round(share * (1 - share) * odds["standard_error"], 3) == 0.041
