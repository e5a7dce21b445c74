"""Students' answers that come with the R package GLMMRR, in which every row names its device and its parameters."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, run
from tests.support.regression import gradient_of, hessian_of, mixed_log_likelihood
from tests.support.surveys import regress_with

import maskwell as mw

NAMED = ["--reports", "1,0"]


def fraction(text: str) -> Fraction:
    """0.166666666666667 stands for 1/6."""
    return Fraction(text).limit_denominator(1000)


def typed(model: str, p1: str, p2: str) -> list[str]:
    """The device of a row as typed.

    For forced answers p1 is the chance of the truth and p2 that of a forced yes, of all answers.
    """
    first, second = fraction(p1), fraction(p2)
    if model == "DQ":
        return ["warner", "--p", "1"]
    if model == "Crosswise":
        return ["crosswise", "--q", str(first)]
    if model == "UQM":
        return ["simmons", "--p", str(first), "--beta", str(second)]
    return ["forced", "--truth", str(first), "--yes", str(second), "--no", str(1 - first - second)]


def as_the_package_reads_it(model: str, p1: str, p2: str) -> list[str]:
    """The same but for forced answers: p2 as the share of yes among those who are forced."""
    if model != "Forced":
        return typed(model, p1, p2)
    truth = fraction(p1)
    yes = (1 - truth) * fraction(p2)
    return ["forced", "--truth", str(truth), "--yes", str(yes), "--no", str(1 - truth - yes)]


def assignments(file: Path, column: str, names: tuple[str, str, str], device: Any) -> list[str]:
    """A design for each combination of device and parameters in the file, as typed."""
    with file.open(encoding="utf-8", newline="") as opened:
        found = sorted({tuple(row[name] for name in names) for row in csv.DictReader(opened)})
    words = []
    for number, values in enumerate(found):
        run("design", *device(*values), *NAMED, "-o", f"d{number}.json", "--force")
        where = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        words += ["--design", f"{column}[{where}]=d{number}.json"]
    return words


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_domain(content: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The first estimate of each domain."""
    return {tuple(map(str, one["domain"])): one["estimates"][0] for one in content["domains"]}


# ---- 4281 students, five questions, four ways to ask

ETHBE = ("RRmodel", "p1", "p2")


def copied(shared: Path, device: Any) -> dict[str, float]:
    """Shares of students who copied, by how they were asked."""
    file = shared / "data" / "glmmrr_ethbe.csv"
    designs = assignments(file, "RR_response", ETHBE, device)
    found = by_domain(run("estimate", file, *designs, "--by", "Question,RRmodel", "--json").json())
    return {model: round(row["estimate"], 3) for (question, model), row in found.items() if question == "copied"}


def test_students_who_copied(shared: Path, here: Path) -> None:
    assert copied(shared, typed) == {"DQ": 0.218, "UQM": 0.174, "Crosswise": 0.287, "Forced": 0.246}


PROCEDURES = {
    "DQ": "warner(p=p1, reports=[1, 0])",
    "UQM": "simmons(p=p1, beta=p2, reports=[1, 0])",
    "Crosswise": "crosswise(q=p1, reports=[1, 0])",
    "Forced": "forced(truth=p1, yes=p2, no=1-p1-p2, reports=[1, 0])",
}
BY_COLUMNS = [
    word for model, text in PROCEDURES.items() for word in ("--design", f"RR_response[RRmodel={model}]={text}")
]


def test_parameters_from_columns_in_place_of_23_design_files(shared: Path, here: Path) -> None:
    """The file tells the device and its parameters in each row: the shares are those from design files."""
    file = shared / "data" / "glmmrr_ethbe.csv"
    shares = by_domain(run("estimate", file, *BY_COLUMNS, "--by", "Question,RRmodel", "--json").json())
    assert {model: round(shares["copied", model]["estimate"], 3) for model in PROCEDURES} == {
        "DQ": 0.218, "UQM": 0.174, "Crosswise": 0.287, "Forced": 0.246,
    }  # fmt: skip


def test_forced_answers_read_by_the_wrong_convention(shared: Path, here: Path) -> None:
    """0.413 in place of 0.246, from the same rows.

    In these data 1/6 of all answers are a forced yes; read as the share of yes among those who are forced, it makes the
    device say yes far less often than it did, and the difference is taken for students who copied. A forced design here
    takes three chances that sum to 1, so that such a reading has to be typed on purpose.
    """
    assert copied(shared, as_the_package_reads_it)["Forced"] == 0.413


# ---- plagiarism, directly and by the crosswise device


def test_standard_error_of_partial_plagiarism(shared: Path, here: Path) -> None:
    """The published standard error is that of maximum likelihood: n in place of n - 1."""
    with (shared / "data" / "glmmrr_plagiarism.csv").open(encoding="utf-8", newline="") as file:
        answers = [row["response"] for row in csv.DictReader(file) if row["question"] == "3"]
    Path("partial.csv").write_text("\n".join(["response", *answers]) + "\n", encoding="utf-8")
    design_file("cw.json", "crosswise", "--q", "1/4", *NAMED)
    rows = {
        method: run("estimate", "partial.csv", "--design", "response=cw.json", "--method", method, "--json").json()
        for method in ("ml", "moments")
    }
    likely, unbiased = rows["ml"]["estimates"][0], rows["moments"]["estimates"][0]
    assert [round(likely["estimate"], 4), round(likely["standard_error"], 4)] == [0.2226, 0.0546]
    assert unbiased["standard_error"] == pytest.approx(likely["standard_error"] * (310 / 309) ** 0.5)


def test_the_random_intercept_of_the_manual_by_a_plain_sum(shared: Path) -> None:
    """The example of RRglmer, of which the manual prints no figures: the top of a sum over many nodes."""
    file, formula = shared / "data" / "glmmrr_plagiarism.csv", "response ~ Gender + RR + pp + (1 | age)"
    devices = {"DQ": "warner(p=1, reports=[1, 0])", "Crosswise": "crosswise(q=RRp1, reports=[1, 0])"}
    designs = {"response": [mw.When({"RRmodel": name}, text) for name, text in devices.items()]}
    model = regress_with(str(file), formula, designs, missing="drop", missing_codes="NA")
    assert (model.n, model.dropped, model.random.groups) == (802, 10, 20)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if all(row[name] for name in ("Gender", "pp", "age"))]
    X = np.array([[1, *(float(row[name]) for name in ("Gender", "RR", "pp"))] for row in rows])
    told = np.array([float(row["RRp1"]) if row["RRmodel"] == "Crosswise" else 1.0 for row in rows])
    a = np.where([row["response"] == "1" for row in rows], told, 1 - told)
    groups = np.unique([row["age"] for row in rows], return_inverse=True)[1]

    def likelihood(theta: Any) -> float:
        return mixed_log_likelihood(theta, X, a, 1 - a, groups, nodes=61, reach=6.0)

    theta = np.append(model.estimates, model.random.deviation)
    assert model.log_likelihood == pytest.approx(likelihood(theta), abs=1e-6)
    assert np.abs(gradient_of(likelihood, theta, 1e-4)).max() < 1e-3
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian_of(likelihood, theta))))
    assert np.sqrt(np.diag(model.random.covariance)) == pytest.approx(errors, rel=2e-3)
    assert model.estimates.round(3).tolist() == [-4.977, 0.107, 1.323, 2.164]
