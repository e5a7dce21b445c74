"""The demo as a user runs it."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from maskwell.cli.main import cli
from maskwell.designs import load_design
from maskwell.verbs.demo_story import PEOPLE, QUESTION, _broken_command

NAMES = {"design.json", "estimate.json", "page.html", "people.csv", "reports.csv"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def told(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which the demo ran once, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, told(run("demo", "--json"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_folder_holds_the_story(story: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    here, answer = story
    monkeypatch.chdir(here)
    assert {path.name for path in (here / "maskwell-demo").iterdir()} == NAMES
    assert {Path(path).name for path in answer["files"].values()} == NAMES
    assert all(Path(path).is_file() for path in answer["files"].values())
    assert answer["meets"] is True
    assert 1 - 1e-9 < answer["epsilon"] <= 1
    assert 2.718281 < answer["parity"] <= 2.7182818284590455
    assert sum(row["estimate"] for row in answer["estimates"]) == pytest.approx(1, abs=1e-9)
    assert sum(row["truth"] for row in answer["estimates"]) == pytest.approx(1, abs=1e-12)
    assert all(row["interval"][0] < row["estimate"] < row["interval"][1] for row in answer["estimates"])
    assert [path.name for path in here.iterdir()] == ["maskwell-demo"]


def test_the_files_belong_together(story: tuple[Path, dict[str, Any]]) -> None:
    here, answer = story
    path = {name: here / file for name, file in answer["files"].items()}
    people, reports = rows(path["people"]), rows(path["reports"])
    assert len(people) == len(reports) == answer["rows"] == sum(map(sum, PEOPLE.values()))
    assert [(p["person"], p["region"]) for p in people] == [(r["person"], r["region"]) for r in reports]
    design = load_design(path["design"])
    kept = sum(p["answer"] == r["answer"] for p, r in zip(people, reports, strict=True)) / len(people)
    assert kept == pytest.approx(design.matrix()[0, 0], abs=0.025)  # seven standard errors: below 1e-11
    estimate = json.loads(path["estimate"].read_text(encoding="utf-8"))
    assert estimate["design"] == design.fingerprint
    assert [row["estimate"] for row in estimate["estimates"]] == [row["estimate"] for row in answer["estimates"]]
    page = path["page"].read_text(encoding="utf-8")
    assert QUESTION in page
    assert design.fingerprint in page


def test_the_text_fits_a_terminal(here: Path) -> None:
    result = run("demo")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("From 20,000 randomized reports: ")
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in result.stdout
    assert "Open maskwell-demo/page.html" in result.stdout
    assert sum(line.startswith("  maskwell ") for line in lines) == 3
    assert "ask real people only once" in lines[-1]
    assert "it reports the truth with 47.5 %, each other answer with 17.5 %." in result.stdout


def test_the_commands_it_names_work_and_give_the_same(
    story: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, answer = story
    monkeypatch.chdir(here)
    for command in answer["commands"]:
        program, *arguments = shlex.split(command)
        assert program == "maskwell"
        again = told(run(*arguments, "--json"))
        if arguments[0] == "estimate":
            assert [row["estimate"] for row in again["estimates"]] == pytest.approx(
                [row["estimate"] for row in answer["estimates"]]
            )


def test_a_second_run_gets_a_folder_of_its_own(here: Path) -> None:
    folders = [told(run("demo", "--json"))["folder"] for _ in range(2)]
    assert folders == ["maskwell-demo", "maskwell-demo-2"]
    reports = {(here / folder / "reports.csv").read_bytes() for folder in folders}
    people = {(here / folder / "people.csv").read_bytes() for folder in folders}
    assert (len(reports), len(people)) == (2, 1)


def test_a_named_folder_may_be_new_or_empty(here: Path) -> None:
    (here / "empty").mkdir()
    assert told(run("demo", "-o", "empty", "--json"))["folder"] == "empty"
    assert told(run("demo", "-o", "a name", "--json"))["files"]["page"] == str(Path("a name") / "page.html")
    assert {path.name for path in here.iterdir()} == {"empty", "a name"}


def test_a_folder_in_use_is_refused_and_left_alone(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "notes.txt").write_text("keep", encoding="utf-8")
    result = run("demo", "-o", "mine", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["message"] == "mine is not empty"
    assert [path.name for path in (here / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("place", ["file", "nowhere/deep"])
def test_impossible_places_leave_nothing(here: Path, place: str) -> None:
    (here / "file").write_text("", encoding="utf-8")
    result = run("demo", "-o", place)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert [path.name for path in here.iterdir()] == ["file"]


def test_without_the_extras_it_says_what_to_install(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert result.exit_code == 2
    assert "pip install 'maskwell[report]'" in result.stderr
    assert list(here.iterdir()) == []


def test_long_commands_are_broken_before_options_and_stay_one_command() -> None:
    folder = "a-folder-where-the-demo-went/demo"
    for program in ("maskwell", "../some/where/else/bin/maskwell"):
        command = f"{program} randomize {folder}/p.csv --design answer={folder}/d.json -o {folder}/reports-2.csv"
        lines = _broken_command(command)
        assert max(map(len, lines)) <= 100
        assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)
