"""``maskwell risk``: who is found in a file, and in its release."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import refused, run

from maskwell.microdata.risk.intruders import INTRUDERS

ROWS = ["A,baker,2", "A,clerk,3", "A,clerk,3", "A,clerk,3", "B,clerk,3", "B,clerk,3", "B,smith,4", "B,smith,4"]
PLAN = """
[release]
keys = ["town", "job"]
match = 0.6

[[protect]]
variables = ["town", "job"]
method = "method1"
theta = 0.9
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Eight people in two towns."""
    Path("people.csv").write_text("town,job,w\n" + "\n".join(ROWS) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty times as many people, released."""
    folder = tmp_path_factory.mktemp("released")
    rng = np.random.default_rng(3)
    rows = [*ROWS, *(f"{'AB'[a]},{['clerk', 'smith'][b]},1" for a, b in rng.integers(0, 2, (300, 2)))]
    (folder / "people.csv").write_text("town,job,w\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    run("release", folder / "people.csv", "--plan", folder / "plan.toml", "-o", folder / "out")
    return folder


@pytest.fixture
def released(release_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(release_folder)
    return release_folder


RECEIPT = ["--receipt", "out/internal/receipt.json"]


def test_a_bound_decides_the_exit_status_with_weights_and_contributions_in_lines_that_fit(people: Path) -> None:
    lines = run("risk", "people.csv", "--keys", "town,job", "--match", "1/2", status=1).out.splitlines()
    first = (
        "1 of 8 records is above the limit of 50 %: an intruder who knows town and job identifies it with certainty."
    )
    assert " ".join(" ".join(lines[:2]).split()) == first
    assert lines[2] == "Highest risk: town = A, job = baker (1 record, 100 %)."
    kept = run("risk", "people.csv", "--keys", "town", "--match", "0.5").out
    assert kept.startswith("No record is above the limit of 50 %: an intruder who knows town identifies no record")
    assert "Highest risk" not in kept
    assert run("risk", "people.csv", "--keys", "town", "--match", "0.5", "--json").json()["records_above"] == 0
    name = "a_very_long_name_of_a_column_that_somebody_made_by_joining_many_words"
    Path("odd.csv").write_text(f'{name},job\n"on two\nlines",x\nb,y\nb,y\n', encoding="utf-8")
    for keys in (name, f"{name},job"):
        lines = run("risk", "odd.csv", "--keys", keys, "--contributions").out.splitlines()
        assert max(map(len, lines[:-1])) <= 100
        assert any("= on two lines  " in line for line in lines)
    asked = ["risk", "people.csv", "--keys", "town,job", "--weights", "w", "--contributions"]
    content = run(*asked, "--json").json()
    assert 0 < content["expected_reidentifications"] < content["expected_matches"]
    job, town = content["contributions"]["variables"]
    assert (job["variable"], job["matches_without"], town["matches_without"]) == ("job", 2, 3)
    assert content["contributions"]["levels"][0]["level"] == "baker"
    text = run(*asked).out
    assert "matches without it" in text and "job = baker" in text


def test_before_and_after_a_release(released: Path) -> None:
    asked = ["risk", "people.csv", "--keys", "town,job", "--released", "out/public/data.csv", *RECEIPT]
    content = run(*asked, "--json").json()
    after, before = content["after"], content["before"]
    assert before["max_risk"] == 1
    assert after["max_risk"] < 0.6 and after["expected_matches"] < before["expected_matches"]
    assert after["k_anonymity"]["smallest"] >= 1 and after["records"] == 308
    told = json.loads(Path("out/internal/receipt.json").read_text(encoding="utf-8"))["risk"]["after"]
    assert after["max_risk"] == pytest.approx(told["max_risk"], rel=1e-12)
    lines = run(*asked).out.splitlines()
    assert "before the release: 100 %." in " ".join(" ".join(lines[:3]).split())
    assert max(map(len, lines)) <= 100
    assert run(*shlex.split(lines[-1].removeprefix("Next: maskwell "))).out


def test_the_first_line_says_whether_the_bound_is_kept_and_nobody_is_above_certainty(released: Path) -> None:
    """A release that leaves a record as it is."""
    asked = ["risk", "people.csv", "--keys", "town,job", *RECEIPT]
    kept = run(*asked, "--match", "0.6").out
    assert kept.startswith("Highest probability that an intruder who knows town and job identifies the right record: ")
    assert "(limit 60 %)" in " ".join(kept.split()) and "are above the limit." not in kept
    lines = run(*asked, "--match", "0.01", status=1).out.splitlines()
    first = " ".join(" ".join(lines[:3]).split())
    assert "(limit 1 %); before the release: 100 %. 308 of 308 records are above the limit." in first
    assert any(line.startswith("Highest risk: town = A, job = baker (1 record, ") for line in lines[2:6])
    assert "k-anonymity of a randomized file" not in kept  # of the release it is not shown
    assert run(*asked, "--released", "out/public/data.csv").out.count("k-anonymity of a randomized file") == 1
    Path("still.toml").write_text(PLAN.replace("match = 0.6\n", "").replace('["town", "job"]\nm', '["town"]\nm'))
    told = run("release", "people.csv", "--plan", "still.toml", "-o", "still").out
    assert "above 100 %" not in told
    asked = ["risk", "people.csv", "--keys", "job", "--receipt", "still/internal/receipt.json"]
    for more, status in ((["--match", "1"], 0), (["--match", "0.5"], 1), ([], 0)):
        first = " ".join(run(*asked, *more, status=status).out.split("risk (")[0].split())
        assert "above 100 %" not in first and "can be re-identified with certainty" in first


def test_pictures_and_records_and_bad_input_by_name(released: Path) -> None:
    content = run(
        "risk", "people.csv", "--keys", "town,job", *RECEIPT, "--plot", "drawn.svg", "--records", "r.csv", "--json"
    ).json()
    assert (content["plot"], content["records_file"], content["records"]) == ("drawn.svg", "r.csv", 308)
    assert Path("drawn.svg").read_text(encoding="utf-8").startswith("<svg")
    with Path("r.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 308 and float(rows[0]["before"]) == 1
    assert float(rows[0]["after"]) == pytest.approx(content["after"]["max_risk"])
    refused("risk", "people.csv", "--keys", "town,job", "--records", "r.csv", saying="r.csv")
    refused("risk", "people.csv", "--keys", "town,jobb", saying="jobb")
    refused("risk", "people.csv", "--keys", "", saying="does not name a column")
    refused("risk", "people.csv", "--keys", " , ", saying="does not name a column")
    refused("risk", "people.csv", "--keys", "town,town", saying="occurs twice")
    refused("risk", "people.csv", "--keys", "town", "--match", "2", saying="--match must be above 0 and at most 1")
    same = [run("risk", "people.csv", "--keys", "town", *limit).out for limit in (("--match", "0.5"), ("--k", "2"))]
    assert same[0] == same[1]
    refused("risk", "people.csv", "--keys", "town", "--match", "0.5", "--k", "2", saying="--match cannot be combined")
    refused("risk", "people.csv", "--keys", "town", "--k", "1", saying="must be a whole number of 2 or more")
    refused("risk", "people.csv", "--keys", "town", "--level", "1", saying="level")
    refused("risk", "people.csv", "--keys", "town", "--plot", "p.svg", saying="before and after")
    refused("risk", "people.csv", "--keys", "town", "--receipt", "out/public/receipt.json", saying="public receipt")
    Path("other.csv").write_text("town,job,w\nA,baker,1\n", encoding="utf-8")
    refused("risk", "other.csv", "--keys", "town", *RECEIPT, saying="1 records")


def test_every_intruder_of_a_plan_is_one_of_risk() -> None:
    Path("people.csv").write_text("town,job\n" + "a,x\nb,y\nb,y\n" * 5, encoding="utf-8")
    by_name = {name: run("risk", "people.csv", "--keys", "town,job", "--intruder", name).out for name in INTRUDERS}
    assert by_name["all-columns"] == by_name["any-look"]


def test_l_diversity_and_suppression_from_the_command_line(people: Path) -> None:
    told = run("risk", "people.csv", "--keys", "town", "--sensitive-columns", "job", "--json").json()
    diversity = told["sensitive"]["before"][0]["l_diversity"]
    assert diversity["distinct"]["below"] == {"2": 0, "3": 8, "5": 8} and diversity["distinct"]["median"] == 2
    assert diversity["recursive"]["minimum"] == 1 < diversity["entropy"]["minimum"] < 2

    Path("plan.toml").write_text(f"{PLAN.replace('match = 0.6', '')}\n[suppress]\nk = 2\n", encoding="utf-8")
    tried = " ".join(run("release", "people.csv", "--plan", "plan.toml", "--dry-run").out.split())
    assert "values were suppressed in 4 of 8 records" in tried, "the baker's job, and that of the clerks of A"
