"""``maskwell choose`` and ``maskwell design extremal`` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command_line import refused, run

from maskwell import Categories, Demand, load_design
from maskwell.designs import Uniform


def test_plan_from_epsilon() -> None:
    """Somebody who knows only epsilon = 1."""
    found = run("choose", "--k", "10", "--epsilon", "1", "--n", "2000", "--json").json()
    assert {"n", "margin", "design", "designs", "recommended", "reason"} <= set(found)
    assert (found["n"], found["recommended"]) == (2000, "subset")
    assert found["margin"] == pytest.approx(0.0759, abs=5e-5)
    assert found["design"]["kind"] == "subset"
    assert found["designs"][0]["added_variance"] == pytest.approx(29.104, abs=1e-3)
    variances = [line["added_variance"] for line in found["designs"] if line["rank"] is not None]
    assert variances == sorted(variances)
    diverse = found["designs"][-1]
    assert (diverse["name"], diverse["rank"], diverse["parity"], diverse["meets"]) == ("l-diverse", None, "inf", False)


def test_plan_from_suspicion() -> None:
    """Somebody who knows only that no suspicion may rise from 10 % to 50 %."""
    run("choose", "--categories", "never,once,often", "--rho", "0.1", "0.5", "--margin", "0.03", "-o", "design.json")
    design = load_design("design.json")
    assert design == Uniform.from_gamma(9, Categories.of(["never", "once", "often"]))
    assert Demand.from_rho("0.1", "0.5").allows(design.parity_exact())
    assert run("audit", "design.json", "--rho", "0.1", "0.5").status == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--k", "10", "--epsilon", "1", "--n", "2000"],
        ["--k", "2", "--gamma", "3"],
        ["--k", "1000", "--epsilon", "0.1", "--margin", "0.001"],
        ["--k", "100000", "--beta", "4", "--n", "5"],
        ["--categories", "never,once,often", "--rho", "0.1", "0.5", "--closed", "--n", "1"],
        ["--k", "4", "--gamma", "2", "--pi", "0.7,0.15,0.1,0.05", "--n", "500"],
        ["--k", "20", "--gamma", "1000000", "--n", "500"],
        ["--k", "3", "--gamma", "1.0001", "--n", "10"],
        ["--k", "1000000", "--epsilon", "1", "--n", "2000000"],
        ["--k", "1000000", "--epsilon", "0.01", "--margin", "0.00001"],
    ],
    ids=" ".join,
)
def test_text_fits_and_begins_and_ends_as_it_should(options: list[str]) -> None:
    out = run("choose", *options).out
    lines = out.splitlines()
    assert lines[0].startswith("Recommended for ")
    assert lines[-1].startswith("Next: maskwell design ")
    assert max(map(len, lines)) <= 100, [line for line in lines if len(line) > 100]
    assert "in words:" in out


def test_what_comes_next_works() -> None:
    for options in (
        ["--k", "10", "--epsilon", "1"],
        ["--categories", 'no,"yes, once"', "--gamma", "3"],
        ["--k", "5", "--rho", "0.1", "0.2"],
    ):
        last = run("choose", *options).out.splitlines()[-1].removeprefix("Next: maskwell ")
        import shlex

        run(*shlex.split(last), "--force")
        planned = run("choose", *options, "--json").json()["design"]["fingerprint"]
        assert load_design("design.json").fingerprint == planned


def test_a_design_is_written_once() -> None:
    out = run("choose", "--k", "5", "--gamma", "3", "-o", "d.json").out
    assert "saved to d.json" in out.splitlines()[0]
    assert out.splitlines()[-1] == "Next: maskwell audit d.json --gamma 3"
    refused("choose", "--k", "5", "--gamma", "3", "-o", "d.json", saying="d.json")
    run("choose", "--k", "6", "--gamma", "3", "-o", "d.json", "--force")
    assert load_design("d.json").k == 6
    assert json.loads(run("choose", "--k", "6", "--gamma", "3", "-o", "-").out)["maskwell"] == "design"


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--k", "5"], "demand"),
        (["--gamma", "3"], "categories"),
        (["--k", "5", "--gamma", "1"], "no information"),
        (["--k", "5", "--epsilon", "0"], "no information"),
        (["--k", "5", "--gamma", "3", "--epsilon", "1"], "two demands"),
        (["--k", "5", "--gamma", "3", "--n", "0"], "n = 0"),
        (["--k", "5", "--gamma", "3", "--n", "many"], "n = 'many'"),
        (["--k", "5", "--gamma", "3", "--margin", "0"], "margin = 0"),
        (["--k", "5", "--gamma", "3", "--margin", "-0.1"], "margin = -0.1"),
        (["--k", "5", "--gamma", "3", "--margin", "0.1", "--n", "10"], "both"),
        (["--k", "5", "--gamma", "3", "--n", "9", "--level", "95"], "write 0.95"),
        (["--k", "5", "--gamma", "3", "--n", "9", "--level", "1"], "level = 1"),
        (["--k", "2", "--gamma", "3", "--pi", "0.5,0.4"], "not 1"),
        (["--k", "2", "--gamma", "3", "--pi", "0.5,0.4,0.1"], "3 shares for 2"),
        (["--k", "1", "--gamma", "3"], "k = 1"),
        (["--k", "3", "--gamma", "2", "--power", "0.8"], "--power"),
        (["--k", "3", "--categories", "a,b", "--gamma", "3"], "--k 3"),
    ],
)
def test_bad_input(options: list[str], saying: str) -> None:
    refused("choose", *options, saying=saying)


# ---- extremal designs


def test_extremal_design() -> None:
    found = run("design", "extremal", "--pi", "0.5,0.3,0.2", "--gamma", "3", "--json").json()
    assert found["value"] == pytest.approx(0.1372951, abs=5e-8)
    assert (found["rank"], found["identifiable"], found["design"]["kind"]) == (3, True, "uniform")
    assert found["parity_exact"] == "3"


def test_extremal_says_when_shares_cannot_be_estimated() -> None:
    out = run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2", "-o", "e.json").out
    assert "cannot be estimated" in out and "rank 2 for 4" in out
    assert load_design("e.json").kind == "patterns"
    audited = run("audit", "e.json", "--json").json()
    assert (audited["identifiable"], audited["admissible"], audited["parity_exact"]) == (False, True, "2")
    mean = run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2", "--average", "--json").json()
    assert (mean["rank"], mean["identifiable"], mean["averaged"], mean["design"]["kind"]) == (4, True, True, "subset")
    assert mean["value"] == pytest.approx(0.0566330, abs=5e-8)


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--pi", "0.5,0.5"], "demand"),
        (["--pi", "0.5,0.4", "--gamma", "3"], "not 1"),
        (["--pi", "1", "--gamma", "3"], "1 share"),
        (["--pi", "0.5,0.5", "--gamma", "1"], "no information"),
        (["--pi", "0.5,0.5", "--gamma", "3", "--k", "3"], "2 shares for 3"),
        (["--pi", "0.5,0.5", "--gamma", "3", "--utility", "profit"], "profit"),
        (["--pi", ",".join(["1/20"] * 20), "--gamma", "3"], "at most 14"),
        (["--gamma", "3"], "--pi"),
    ],
)
def test_bad_extremal_input(options: list[str], saying: str) -> None:
    refused("design", "extremal", *options, saying=saying)


def test_extremal_names_the_way_out() -> None:
    out = " ".join(run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2").out.split())
    assert "note: --average mixes the designs that are equal by symmetry" in out
    averaged = " ".join(run("design", "extremal", "--pi", "1/4,1/4,1/4,1/4", "--gamma", "2", "--average").out.split())
    assert "--average" not in averaged
    skewed = " ".join(run("design", "extremal", "--pi", "0.4,0.3,0.2,0.1", "--gamma", "1.2").out.split())
    assert "cannot be estimated" in skewed and "--average" not in skewed
    assert "note: maskwell design subset makes a design from which shares can be estimated" in skewed


# ---- what a plan must not hide


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["--k", "3", "--gamma", "3", "--n", "1"], "within 2.31 says nothing about a share"),
        (["--k", "3", "--epsilon", "1e-9", "--n", "1000"], "says nothing about a share"),
        (["--k", "1000", "--gamma", "3", "--margin", "0.01"], "no share is larger than the margin 0.01"),
        (["--k", "4", "--gamma", "3", "--n", "100"], "no share is larger than the margin 0.255"),
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


def test_a_margin_that_tells_something_is_not_warned_of() -> None:
    shown = run("choose", "--k", "10", "--epsilon", "1", "--n", "2000")
    assert "warning" not in shown.out
    assert "With 2,000 respondents, each share is estimated to within ±0.0759" in " ".join(shown.out.split())
    assert "V_R: n times the variance that randomization adds" in shown.out
    assert run("choose", "--k", "10", "--epsilon", "1", "--json").json()["warnings"] == []


def test_the_parity_that_is_allowed() -> None:
    for options, said in (
        (["--rho", "0.1", "0.5"], "at most 9"),
        (["--rho", "0.1", "0.5", "--closed"], "below 9"),
        (["--epsilon", "1e-9"], "at most 1.000000001"),
        (["--gamma", "8/3"], "at most 2.666"),
    ):
        assert f"  parity       {said}\n" in run("choose", "--k", "3", *options).out


@pytest.mark.parametrize(
    "demand",
    [
        ["--rho", "0.1", "0.5"],
        ["--rho", "0.1", "0.5", "--closed"],
        ["--beta", "4"],
        ["--curves", "curves.csv"],
        ["--gamma", "3"],
        ["--epsilon", "1"],
    ],
    ids=" ".join,
)
def test_a_planned_design_remembers_its_demand(demand: list[str]) -> None:
    Path("curves.csv").write_text("p,upper\n0,0.4\n0.2,0.8\n0.5,1\n", encoding="utf-8")
    planned = run("choose", "--k", "3", *demand, "-o", "planned.json", "--json").json()["design"]["provenance"]
    made = run("design", "k-ary", "--k", "3", *demand, "-o", "made.json", "--json").json()["design"]["provenance"]
    assert planned.get("demand") == made.get("demand")
    assert load_design("planned.json").provenance == planned
    assert ("demand" in planned) == (demand[0] not in ("--gamma", "--epsilon"))
    assert load_design("planned.json") == load_design("made.json")
