"""Answers of real surveys that come with the R package RRTCS: its figures from its files, as typed on the command line.

RRTCS takes totals over the inclusion probabilities and divides by the known size of the population. For samples drawn
with equal chances its variance is that of drawing without replacement with the randomization correction, which is what
``--inclusion Pi --population N`` gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.columns import read_columns

import maskwell as mw
from maskwell.estimation import LeftInverse

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, run

NAMED = ["--reports", "1,0"]
SRS = ["--inclusion", "Pi", "--population"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(shared: Path, name: str, design: list[str], sampling: list[str], columns: str = "z") -> dict[str, Any]:
    """What is said of a file by a device, both as typed."""
    design_file("d.json", *design)
    file = shared / "data" / f"rrtcs_{name}.csv"
    return run("estimate", file, "--design", f"{columns}=d.json", *sampling, "--json").json()


def estimated(shared: Path, name: str, design: list[str], sampling: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told(shared, name, design, sampling)["estimates"]
    return found


def as_printed(value: float, published: str) -> str:
    return f"{value:.{len(published.partition('.')[2])}f}"


@pytest.mark.parametrize(
    ("name", "design", "sampling", "what", "published"),
    [
        ("warner", ["warner", "--p", "0.7"], [*SRS, "802"], "total", "360.9"),
        ("horvitz", ["simmons", "--p", "0.5", "--beta", "0.6666667"], [*SRS, "10777"], "estimate", "0.136253"),
        (
            "horvitz_stcl",
            ["simmons", "--p", "0.6", "--beta", "0.5"],
            ["--inclusion", "Pi", "--strata", "ST", "--clusters", "CL", "--denominator", "1500"],
            "estimate",
            "0.393939",
        ),
        ("forced", ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"], [*SRS, "10000"], "total", "5133.33"),
        (
            "forced",
            ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"],
            [*SRS, "10000"],
            "estimate",
            "0.513333",
        ),
        (
            "forced_st",
            ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"],
            ["--inclusion", "Pi", "--strata", "ST"],
            "total",
            "2599.83",
        ),
        ("devore", ["devore", "--p", "0.7"], [*SRS, "802", "--strata", "ST"], "estimate", "0.868982"),
        (
            "mangat_singh",
            ["mangat-singh", "--p", "0.7", "--t", "0.55"],
            [*SRS, "802", "--strata", "ST"],
            "estimate",
            "0.500456",
        ),
        (
            "mangat_singh_singh",
            ["mangat-singh-singh", "--p", "0.6", "--alpha", "0.5"],
            ["--inclusion", "Pi", "--strata", "ST", "--clusters", "CL"],
            "total",
            "1206.5",
        ),
        ("singh_joarder", ["singh-joarder", "--p", "0.6"], [*SRS, "802"], "estimate", "0.334225"),
        (
            "soberanis_cruz",
            ["soberanis-cruz", "--p", "0.7", "--beta", "0.5"],
            ["--inclusion", "Pi", "--clusters", "CL", "--level", "0.90"],
            "total",
            "196.43",
        ),
    ],
)
def test_yes_or_no(
    shared: Path, here: Path, name: str, design: list[str], sampling: list[str], what: str, published: str
) -> None:
    yes, _ = estimated(shared, name, [*design, *NAMED], sampling)
    assert as_printed(yes[what], published) == published


def test_variance_and_interval_of_a_total(shared: Path, here: Path) -> None:
    yes, _ = estimated(shared, "warner", ["warner", "--p", "0.7", *NAMED], [*SRS, "802"])
    assert round(yes["total_standard_error"] ** 2, 2) == 7883.34
    assert [round(end, 2) for end in yes["total_interval"]] == [186.88, 534.92]


def test_interval_of_a_mean(shared: Path, here: Path) -> None:
    design = ["simmons", "--p", "0.5", "--beta", "0.6666667", *NAMED]
    yes, _ = estimated(shared, "horvitz", design, [*SRS, "10777"])
    assert [round(end, 4) for end in yes["interval"]] == [0.0416, 0.2309]


def test_weights_that_do_not_reach_the_population(shared: Path, here: Path) -> None:
    """They add up to 1469.2 of 1500 people, so that shares of the 1500 are smaller and do not sum to one."""
    design, plan = ["simmons", "--p", "0.6", "--beta", "0.5", *NAMED], ["--strata", "ST", "--clusters", "CL"]
    ratio = estimated(shared, "horvitz_stcl", [*design, "--force"], ["--inclusion", "Pi", *plan])
    known = estimated(
        shared, "horvitz_stcl", [*design, "--force"], ["--inclusion", "Pi", *plan, "--denominator", "1500"]
    )
    assert sum(row["estimate"] for row in ratio) == pytest.approx(1)
    assert sum(row["estimate"] for row in known) == pytest.approx(1469.1558 / 1500)
    assert round(ratio[0]["estimate"], 6) == 0.402210


# ---- devices with more reports than truths: the published estimates are means of scores


def surveyed(shared: Path, name: str) -> tuple[dict[str, Real], mw.Sampling]:
    data = read_columns(shared / "data" / f"rrtcs_{name}.csv")
    return data, mw.Sampling(inclusion=data["Pi"], population=802)


@pytest.mark.parametrize(
    ("name", "family", "parameters", "published", "typed"),
    [
        (
            "kuk",
            "kuk",
            {"theta1": "0.6", "theta2": "0.2", "draws": 25},
            "0.1335",
            ["--theta1", "0.6", "--theta2", "0.2", "--draws", "25"],
        ),
        (
            "christofides",
            "christofides",
            {"probabilities": ["0.1", "0.2", "0.3", "0.2", "0.2"]},
            "0.45",
            ["--probabilities", "0.1,0.2,0.3,0.2,0.2"],
        ),
    ],
)
def test_means_of_reported_numbers(
    shared: Path, here: Path, name: str, family: str, parameters: dict[str, Any], published: str, typed: list[str]
) -> None:
    """The published estimate is the mean of the reported numbers, set straight.

    It is unbiased, and so is the estimate that the command line gives: the best left inverse at equal shares, with a
    smaller standard error. Both are given by the library.
    """
    data, plan = surveyed(shared, name)
    design = mw.design(family, **parameters)
    by_mean = mw.estimation.LeftInverse.of_scores(design, range(design.m))
    found = mw.estimation.estimate_survey(data["z"].astype(int), design, plan, inverse=by_mean, denominator=802)
    assert as_printed(found.pi_hat[0], published) == published
    yes, _ = estimated(shared, name, [family, *typed], [*SRS, "802"])
    assert yes["estimate"] == pytest.approx(
        mw.estimation.estimate_survey(data["z"].astype(int), design, plan).pi_hat[0]
    )
    assert abs(yes["estimate"] - found.pi_hat[0]) < yes["standard_error"] < found.standard_error[0]


# ---- two answers of each person


def test_two_answers_with_an_unrelated_question(shared: Path, here: Path) -> None:
    """Four reports for four pairs of truths: the design has an inverse, and its estimate is the published one."""
    design = ["simmons-twice", "--p1", "0.6", "--p2", "0.7", *NAMED]
    wanted = told(shared, "horvitz_ub", design, ["--inclusion", "Pi"], "I,J")["wanted"]
    assert wanted["variable"] == "own answer"
    assert round(wanted["estimates"][0]["estimate"], 6) == 0.121317


def test_two_answers_of_mangat_singh_and_singh(shared: Path, here: Path) -> None:
    """The published score is unbiased, but does not use that "yes, no" and "no, yes" tell the same.

    It gives 0.656; the command line merges the two, which is unbiased too and has a smaller standard error.
    """
    data, plan = surveyed(shared, "mangat_singh_singh_ub")
    p1, p2 = 0.6, 0.8
    design = mw.design("mangat-singh-singh-twice", p1="0.6", p2="0.8")
    labels = list(zip(*(np.where(data[c] == 1, "yes", "no").tolist() for c in ("I", "J")), strict=True))
    score = np.array([((1 - p2) * i - (1 - p1) * j) / (p1 - p2) for i, j in ((1, 1), (1, 0), (0, 1), (0, 0))])
    own = mw.estimation.LeftInverse.best(design).L
    published = LeftInverse(np.vstack([score, own[1] + own[0] - score, own[2]]), "scores", design.fingerprint)
    assert published.L @ design.matrix() == pytest.approx(np.eye(3), abs=1e-12)
    found = mw.estimation.estimate_survey(labels, design, plan, inverse=published, denominator=802)
    assert round(found.pi_hat[0], 6) == 0.656
    typed = ["mangat-singh-singh-twice", "--p1", "0.6", "--p2", "0.8", *NAMED]
    merged = told(shared, "mangat_singh_singh_ub", typed, [*SRS, "802"], "I,J")["wanted"]["estimates"][0]
    assert round(merged["estimate"], 4) == 0.6653
    assert merged["standard_error"] < found.standard_error[0]


# ---- numbers


def test_how_often_students_cheated(shared: Path, here: Path) -> None:
    """Half of the reports are the true number, half are 0, 1, 3, 5 or 8 by chance.

    The numbers are the categories, those of the device with a fixed chance of a tenth each. The published mean is over
    the 53376 students; the weights add up to 53375.2 of them.
    """
    data = read_columns(shared / "data" / "rrtcs_eriksson.csv")
    values = sorted({0, 1, 3, 5, 8} | {int(z) for z in data["z"]})
    by_chance = ["1/10" if value in (0, 1, 3, 5, 8) else "0" for value in values]
    design = mw.design("liu-chow", categories=mw.Categories.of(values), p="1/2", q=by_chance)
    plan = mw.Sampling(inclusion=data["Pi"], strata=data["ST"])
    found = mw.estimation.estimate_survey(data["z"].astype(int).tolist(), design, plan, denominator=53376)
    mean, error = found.mean()
    assert round(mean, 5) == 4.44307
    assert error > 0
    typed = ["liu-chow", "--categories", ",".join(map(str, values)), "--p", "1/2", "--q", ",".join(by_chance)]
    rows = estimated(shared, "eriksson", typed, ["--inclusion", "Pi", "--strata", "ST", "--denominator", "53376"])
    assert sum(int(row["category"]) * row["estimate"] for row in rows) == pytest.approx(mean)
