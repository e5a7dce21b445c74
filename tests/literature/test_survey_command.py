"""Worked-out survey estimates, by the command line: files in, JSON out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import run

CASES = ["D01", "D02", "D03", "D04", "D05"]


def write_case(given: dict[str, Any]) -> list[str]:
    """The rows as a file, the design as a file, and the options that describe the plan."""
    Path("P.csv").write_text("\n".join(",".join(map(repr, row)) for row in given["P"]) + "\n", encoding="utf-8")
    run("design", "matrix", "P.csv", "-o", "d.json")
    columns: dict[str, list[Any]] = {"z": given["z"]}
    options: list[str] = []
    if "N" in given:
        options += ["--population", str(given["N"])]
    if "N_h" in given:
        columns["size"] = [given["N_h"][h] for h in given["stratum"]]
        options += ["--population", "size"]
    for name, option in {
        "inclusion": "--inclusion",
        "weights": "--weights",
        "stratum": "--strata",
        "psu": "--clusters",
    }.items():
        if name in given:
            columns[name] = given[name]
            options += [option, name]
    if "inclusion" in given:
        options.append("--poisson")
    if "domain" in given:
        columns["domain"] = [int(x) for x in given["domain"]]
        options += ["--by", "domain"]
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    Path("rows.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return options


@pytest.mark.parametrize("name", CASES)
def test_plans(name: str, rr_vectors: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = rr_vectors[name]
    options = write_case(case["input"])
    found = run("estimate", "rows.csv", "--design", "z=d.json", *options, "--json").json()
    expected = case["expected"]
    if "domain" in case["input"]:
        found = next(one for one in found["domains"] if str(one["domain"]) == "1")
    got = {
        "total": [row["total"] for row in found["estimates"]],
        "cov_total": found["total_covariance"],
        "proportion": [row["estimate"] for row in found["estimates"]],
        "hajek": [row["estimate"] for row in found["estimates"]],
        "cov": found["covariance"],
    }
    checked = [key for key in expected if key in got]
    assert checked
    for key in checked:
        largest = max(1.0, float(np.abs(expected[key]).max()))
        assert np.abs(np.array(got[key]) - expected[key]).max() <= case["tol"] * largest, key
