"""The demo as a user runs it."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import refused, run

NAMES = {"design.json", "estimate.json", "page.html", "people.csv", "reports.csv"}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which the demo ran once, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, run("demo", "--json").json()


def test_the_folder_holds_the_story(story: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    here, answer = story
    monkeypatch.chdir(here)
    assert {path.name for path in (here / "maskwell-demo").iterdir()} == NAMES
    assert {Path(path).name for path in answer["files"].values()} == NAMES
    assert all(Path(path).is_file() for path in answer["files"].values())
    assert answer["meets"] is True and 1 - 1e-9 < answer["epsilon"] <= 1
    assert 2.718281 < answer["parity"] <= 2.7182818284590455
    assert sum(row["estimate"] for row in answer["estimates"]) == pytest.approx(1, abs=1e-9)
    assert sum(row["truth"] for row in answer["estimates"]) == pytest.approx(1, abs=1e-12)
    assert all(row["interval"][0] < row["estimate"] < row["interval"][1] for row in answer["estimates"])
    assert [path.name for path in here.iterdir()] == ["maskwell-demo"]


def test_the_text_fits_a_terminal(folder: Path) -> None:
    out = run("demo").out
    lines = out.splitlines()
    assert lines[0].startswith("From 20,000 randomized reports: ")
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in out and "Open maskwell-demo/page.html" in out
    assert sum(line.startswith("  maskwell ") for line in lines) == 3
    assert "ask real people only once" in lines[-1]
    assert "it reports the truth with 47.5 %, each other answer with 17.5 %." in out


def test_the_commands_it_names_work_and_give_the_same(story: tuple[Path, dict[str, Any]], monkeypatch) -> None:
    here, answer = story
    monkeypatch.chdir(here)
    for command in answer["commands"]:
        program, *arguments = shlex.split(command)
        assert program == "maskwell"
        again = run(*arguments, "--json").json()
        if arguments[0] == "estimate":
            for row, first in zip(again["estimates"], answer["estimates"], strict=True):
                assert row["estimate"] == pytest.approx(first["estimate"])


def test_every_run_gets_a_folder_of_its_own_new_or_empty(folder: Path) -> None:
    made = [run("demo", "--json").json()["folder"] for _ in range(2)]
    assert made == ["maskwell-demo", "maskwell-demo-2"]
    for name, contents in (("reports.csv", 2), ("people.csv", 1)):
        assert len({(folder / one / name).read_bytes() for one in made}) == contents
    (folder / "empty").mkdir()
    assert run("demo", "-o", "empty", "--json").json()["folder"] == "empty"
    assert run("demo", "-o", "a name", "--json").json()["files"]["page"] == str(Path("a name") / "page.html")
    assert {path.name for path in folder.iterdir()} == {*made, "empty", "a name"}


def test_places_that_cannot_be_are_refused_and_missing_extras_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("keep", encoding="utf-8")
    refused("demo", "-o", "mine", saying="mine is not empty")
    for place in ("mine/notes.txt", "nowhere/deep"):
        refused("demo", "-o", place)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused("demo", saying="pip install 'maskwell[report]'")
