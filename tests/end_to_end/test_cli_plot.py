"""``--plot FILE`` of the commands that draw."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def warner() -> str:
    design_file("w.json", "warner", "--p", "3/4")
    return "w.json"


def told(path: str) -> str:
    """What a drawing says to a reader who does not see it."""
    desc = ET.parse(path).getroot().find(f"{SVG}desc")
    assert desc is not None
    assert desc.text
    return desc.text


def test_audit_draws_what_a_report_reveals(warner: str) -> None:
    shown = run("audit", warner, "--plot", "w.svg").out.splitlines()
    assert shown[-2] == "Picture: w.svg"
    assert shown[-1].startswith("Next: ")
    assert told("w.svg").startswith("The design w.json. With parity at most 3")


@pytest.mark.parametrize(("rho", "status", "verdict"), [("0.5", 0, "Met"), ("0.24", 1, "Not met")])
def test_audit_draws_a_design_against_a_demand(warner: str, rho: str, status: int, verdict: str) -> None:
    found = run("audit", warner, "--rho", "0.1", rho, "--plot", "w.svg", "--json", status=status).json()
    assert found["plot"] == "w.svg"
    assert f" {verdict}: " in told("w.svg")


def test_the_worst_case_is_told_as_it_is(warner: str) -> None:
    """The first step of the curve does not hold at 20 % itself."""
    Path("c.csv").write_text("p,lower,upper\n0,0,0.4\n0.2,0,0.8\n0.5,0,1\n", encoding="utf-8")
    run("audit", warner, "--curves", "c.csv", "--plot", "c.svg", status=1)
    assert "from just below 20 % a report can lead up to 42.9 %, where the demand allows no more than 40 %" in told(
        "c.svg"
    )
    Path("f.csv").write_text("p,lower,upper\n0,0,1\n0.8,0.6,1\n", encoding="utf-8")
    run("audit", warner, "--curves", "f.csv", "--plot", "f.svg", status=1)
    assert "from 80 % a report can lead down to 57.1 %, where the demand allows no lower than 60 %" in told("f.svg")


def test_parities_that_no_float_holds_are_drawn() -> None:
    design_file("h.json", "k-ary", "--k", "4", "--gamma", "1e400")
    run("audit", "h.json", "--plot", "h.png")
    run("audit", "h.json", "--epsilon", "1", "--plot", "i.png", status=1)
    run("convert", "--gamma", "1e400", "--plot", "j.png")
    for picture in ("frontier", "variance"):
        run("choose", "--k", "4", "--gamma", "1e400", "--picture", picture, "--plot", f"{picture}.png")


def test_plan_marks_its_own_point() -> None:
    run("choose", "--k", "50", "--gamma", "8/3", "--picture", "variance", "--plot", "v.svg")
    assert "Marked: k = 50 and γ = 2.666: " in told("v.svg")


def test_audit_explains_and_draws(warner: str) -> None:
    assert run("audit", warner, "--explain", "--plot", "w.pdf").out.splitlines()[-1] == "Picture: w.pdf"
    assert run("audit", warner, "--average-security", "1.6", "--plot", "a.png").status == 0
    assert Path("w.pdf").read_bytes().startswith(b"%PDF")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("demand", [["--rho", "0.1", "0.5"], ["--epsilon", "1"], ["--l", "5", "--k", "10"]])
def test_convert_draws_what_a_demand_asks_for(demand: list[str]) -> None:
    found = run("convert", *demand, "--plot", "d.svg", "--json").json()
    assert found["plot"] == "d.svg"
    assert "its parity is at most B = " in told("d.svg")
    assert run("convert", *demand, "--plot", "e.svg").out.splitlines()[-2] == "Picture: e.svg"


def test_convert_draws_curves_of_a_file() -> None:
    Path("c.csv").write_text("p,lower,upper\n0,0,0.4\n0.2,0.1,0.8\n0.5,0.2,1\n", encoding="utf-8")
    run("convert", "--curves", "c.csv", "--plot", "d.svg")
    assert "B = " in told("d.svg")
    refused("convert", "--curves", "c.csv", "--plot", "c.csv", saying="saved as .csv")


def test_a_picture_is_replaced_only_when_asked(warner: str) -> None:
    run("audit", warner, "--plot", "w.svg")
    refused("audit", warner, "--plot", "w.svg", saying="exists")
    assert run("audit", warner, "--plot", "w.svg", "--force").status == 0


@pytest.mark.parametrize(
    ("target", "saying"), [("w.gif", ".gif"), ("w", "without an ending"), ("nowhere/w.svg", "no folder")]
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(warner: str, target: str, saying: str) -> None:
    refused("audit", warner, "--plot", target, saying=saying)
    refused("convert", "--gamma", "3", "--plot", target, saying=saying)


def test_nothing_is_drawn_when_something_else_is_wrong(warner: str) -> None:
    refused("audit", warner, "--gamma", "0.5", "--plot", "w.svg", saying="below 1")
    refused("convert", "--rho", "0.5", "0.1", "--plot", "w.svg", saying="rho1")
    assert not Path("w.svg").exists()


def test_a_missing_drawing_library_is_named(warner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused("audit", warner, "--plot", "w.svg", "--certificate", "c.json", saying="matplotlib")
    assert not Path("c.json").exists()
    assert not Path("w.svg").exists()
    assert run("audit", warner).status == 0


@pytest.mark.parametrize(("picture", "saying"), [("frontier", "Error of one share"), ("variance", "Variance that")])
def test_plan_draws_what_there_is_to_choose(picture: str, saying: str) -> None:
    asked = ["choose", "--k", "10", "--epsilon", "1", "--n", "500", "--picture", picture]
    found = run(*asked, "--plot", "p.svg", "-o", "d.json", "--json").json()
    assert (found["plot"], found["output"]) == ("p.svg", "d.json")
    assert told("p.svg").startswith(saying)
    assert run(*asked, "--plot", "q.svg").out.splitlines()[-2] == "Picture: q.svg"


def test_plan_writes_both_files_or_none() -> None:
    asked = ["choose", "--k", "10", "--epsilon", "1"]
    Path("d.json").write_text("mine", encoding="utf-8")
    refused(*asked, "--plot", "p.svg", "-o", "d.json", saying="d.json exists")
    refused(*asked, "--plot", "p.gif", "-o", "e.json", saying=".gif")
    refused(*asked, "--plot", "e.svg", "-o", "e.svg", saying="also an input")
    assert not Path("p.svg").exists()
    assert not Path("e.json").exists()


def test_a_home_that_cannot_be_written_is_no_matter(tmp_path: Path) -> None:
    design_file(tmp_path / "w.json", "warner", "--p", "0.7")
    (tmp_path / "home").write_text("a file", encoding="utf-8")
    apart = {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"}
    environment = {name: value for name, value in os.environ.items() if name not in apart}
    environment |= {"HOME": str(tmp_path / "home" / "me"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "maskwell", "audit", "w.json", "--plot", "p.svg"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "p.svg").exists()
