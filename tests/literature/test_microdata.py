"""Published figures about the risk of real microdata."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import maskwell as mw

HOUSEHOLDS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def risk_of(path: Path, keys: list[str], weights: str | None = None) -> mw.microdata.risk.RiskReport:
    (table,) = mw.engines.count_tables(str(path), [keys], weights=weights)
    return mw.microdata.risk.assess_risk(table, keys, weights=weights is not None)


def test_the_household_survey_of_sdcmicro(shared: Path) -> None:
    before = risk_of(shared / "data" / "sdc_testdata.csv", HOUSEHOLDS, "sampling_weight").before
    assert before.k_anonymity["violations"] == {"2": 157, "3": 281, "5": 458}
    assert before.expected_reidentifications == pytest.approx(10.7783, abs=5e-5)


def test_the_households_of_sdcmicro(shared: Path) -> None:
    """Its hierarchical risk: 51.8 records are expected to be found with their household, 10.8 by themselves."""
    path = shared / "data" / "sdc_testdata.csv"
    units = mw.risk(str(path), HOUSEHOLDS, weights="sampling_weight", unit="ori_hid").report.units
    assert units is not None
    assert units.units == 1000
    assert units.before.expected_reidentifications == pytest.approx(51.8129, abs=5e-5)


def test_the_eight_records_of_sdcmicro(shared: Path) -> None:
    keys = ["Key1", "Key2", "Key3", "Key4"]
    report = risk_of(shared / "data" / "sdc_francdat.csv", keys, "w")
    with (shared / "data" / "sdc_francdat.csv").open(encoding="utf-8", newline="") as lines:
        rows = [tuple(row[key] for key in keys) for row in csv.DictReader(lines)]
    table = report.table
    of_row = [table.labels().index(row) for row in rows]
    assert table.counts[of_row].tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert table.mass[of_row].tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    columns = dict(zip(keys, zip(*rows, strict=True), strict=True))
    assert mw.microdata.risk.record_risks(report, columns)["before"].tolist() == [0.5, 0.5, 0.5, 1, 1, 1, 1, 0.5]


def test_a_tiny_sample_is_unique_throughout(shared: Path) -> None:
    assert risk_of(shared / "data" / "sdc_testdata2.csv", HOUSEHOLDS).before.uniques == 93


def test_the_labour_force_file_of_mu_argus(shared: Path) -> None:
    before = risk_of(shared / "data" / "sdc_free1.csv", ["REGION", "SEX", "AGE", "MARSTAT", "EDUC1"]).before
    assert before.k_anonymity["violations"]["2"] == 3665


def test_half_of_the_adults_are_unique(shared: Path) -> None:
    path = shared / "data" / "adult_arx.csv"
    keys = path.read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
    before = risk_of(path, keys).before
    assert before.uniques is not None
    assert before.uniques / before.records == pytest.approx(0.5143, abs=5e-5)
