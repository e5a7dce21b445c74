"""``maskwell choose`` and ``maskwell design extremal`` as they are typed."""

from pathlib import Path

import pytest
from tests.support.command_line import refused, run

from maskwell import load_design


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--gamma", "3"], "categories"),
        (["--k", "5", "--gamma", "3", "--n", "0"], "n must be at least 1, not 0"),
        (["--k", "5", "--gamma", "3", "--n", "many"], "n must be a whole number, not 'many'"),
        (["--k", "5", "--gamma", "3", "--margin", "0.1", "--n", "10"], "n cannot be combined with margin"),
        (["--k", "5", "--gamma", "3", "--n", "9", "--level", "1"], "level must be strictly between 0 and 1, not 1"),
        (["--k", "2", "--gamma", "3", "--pi", "0.5,0.4,0.1"], "3 shares for 2"),
        (["--k", "3", "--gamma", "2", "--power", "0.8"], "--power"),
        (["--k", "3", "--categories", "a,b", "--gamma", "3"], "--k 3"),
        (["extremal", "--pi", "0.5,0.5"], "privacy requirement"),
        (["extremal", "--pi", "0.5,0.4", "--gamma", "3"], "must be 1, not"),
        (["extremal", "--pi", "1", "--gamma", "3"], "pi must have at least two shares, not 1"),
        (["extremal", "--pi", "0.5,0.5", "--gamma", "3", "--k", "3"], "2 shares for 3"),
        (["extremal", "--pi", "0.5,0.5", "--gamma", "3", "--utility", "profit"], "profit"),
        (["extremal", "--gamma", "3"], "--pi"),
    ],
)
def test_bad_input(options: list[str], saying: str) -> None:
    refused(*(["design"] if options[0] == "extremal" else ["choose"]), *options, saying=saying)


def test_extremal_names_the_way_out() -> None:
    out = " ".join(run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2").out.split())
    assert "note: --average mixes the designs that are equal by symmetry" in out
    averaged = " ".join(run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2", "--average").out.split())
    assert "--average" not in averaged
    skewed = " ".join(run("design", "extremal", "--pi", "0.4,0.3,0.2,0.1", "--gamma", "1.2").out.split())
    assert "cannot be estimated" in skewed and "--average" not in skewed
    assert "note: maskwell design subset makes a design from which shares can be estimated" in skewed


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--k", "3", "--gamma", "3", "--n", "1"], "within 2.31 says nothing about a share"),
        (["--k", "1000", "--gamma", "3", "--margin", "0.01"], "no share is larger than the margin 0.01"),
        (
            ["--k", "3", "--gamma", "9", "--margin", "0.02", "--pi", "0.98,0.01,0.01"],
            "2 of 3 shares are not larger than the margin 0.02",
        ),
    ],
    ids=str,
)
def test_a_margin_that_tells_nothing_is_called_so(options: list[str], saying: str) -> None:
    out = " ".join(run("choose", *options).out.split())
    assert "warning: " in out
    assert saying in out
    (warning,) = run("choose", *options, "--json").json()["warnings"]
    assert saying in warning


def test_the_parity_that_is_allowed() -> None:
    for options, said in (
        (["--rho", "0.1", "0.5"], "at most 9"),
        (["--rho", "0.1", "0.5", "--closed"], "below 9"),
        (["--epsilon", "1e-9"], "at most 1.000000001"),
        (["--gamma", "8/3"], "at most 2.666"),
    ):
        assert f"  parity       {said}\n" in run("choose", "--k", "3", *options).out


DEMANDS = ["--rho 0.1 0.5", "--rho 0.1 0.5 --closed", "--beta 4", "--curves curves.csv", "--gamma 3", "--epsilon 1"]


@pytest.mark.parametrize("typed", DEMANDS)
def test_a_planned_design_remembers_its_demand(typed: str) -> None:
    demand = typed.split()
    Path("curves.csv").write_text("p,upper\n0,0.4\n0.2,0.8\n0.5,1\n", encoding="utf-8")
    planned = run("choose", "--k", "3", *demand, "-o", "planned.json", "--json").json()["design"]["provenance"]
    made = run("design", "k-ary", "--k", "3", *demand, "-o", "made.json", "--json").json()["design"]["provenance"]
    assert planned.get("demand") == made.get("demand")
    assert load_design("planned.json").provenance == planned
    assert ("demand" in planned) == (demand[0] not in ("--gamma", "--epsilon"))
    assert load_design("planned.json") == load_design("made.json")
