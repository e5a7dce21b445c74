"""``maskwell sample-size`` with designs that are chosen."""

from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run


@pytest.fixture(autouse=True)
def designs() -> None:
    design_file("w.json", "warner", "--p", "0.7")
    design_file("v.json", "warner", "--p", "0.8")
    design_file("k.json", "k-ary", "--categories", "a,b,c", "--gamma", "4")
    for name, p in (("s1", "0.75"), ("s2", "0.25")):
        design_file(f"{name}.json", "simmons", "--p", p)


def table(text: str) -> str:
    Path("strata.csv").write_text(text, encoding="utf-8")
    return "strata.csv"


def test_respondents_for_a_test_in_a_complex_sample_with_a_picture() -> None:
    found = run("sample-size", "w.json", "--n", "2000", "--deff", "1.5", "--cv-weights", "0.4", "--json").json()
    assert found["worst_case"] and found["unit_variance"]["total"] == pytest.approx(1.5 * 0.25 + 1.16 * 1.3125)
    assert "complex sample" in run("sample-size", "w.json", "--n", "2000", "--deff", "1.5").out
    shown = run("sample-size", "w.json", "--margin", "0.05", "--plot", "m.svg").out.splitlines()
    assert shown[-2] == "Picture: m.svg" and "2,401 respondents" in Path("m.svg").read_text(encoding="utf-8")
    assert run("sample-size", "w.json", "--n", "100", "--plot", "n.svg", "--json").json()["plot"] == "n.svg"
    run("sample-size", "w.json", "--margin", "1e-9", "--plot", "many.svg")  # more respondents than a machine word holds
    asked = ["sample-size", "w.json", "--pi", "0.1,0.9"]
    found = run(*asked, "--against", "0.15", "--power", "0.8", "--json").json()
    assert (found["n"], found["alpha"], found["null"], found["against"]) == (4439, 0.05, 0.1, 0.15)
    assert found["margin"] == pytest.approx(0.0348, abs=1e-4)
    assert run(*asked, "--against", "0.15", "--n", "4439", "--json").json()["power"] == pytest.approx(0.8, abs=1e-4)
    near = run(*asked, "--power", "0.8", "--n", "2000", "--level", "0.99", "--json").json()
    assert near["against"] > run(*asked, "--power", "0.8", "--n", "2000", "--json").json()["against"]
    shown = run(*asked, "--against", "0.15", "--power", "0.8").out
    assert shown.startswith(
        "With w.json, 4,439 respondents detect a share of 0.15 of yes instead of 0.1 with probability 0.8."
    )
    assert max(map(len, shown.splitlines())) <= 100


def test_strata_costs_and_samples() -> None:
    path = table("stratum,share,pi,design\ntown,0.6,0.2,w.json\nland,0.4,0.4,v.json\n")
    found = run("sample-size", "--strata-file", path, "--n", "500", "--json").json()
    assert [part["n"] for part in found["strata"]] == [344, 156] and found["n"] == 500
    assert found["strata"][0]["fraction"] == pytest.approx(0.6875134) and len(found["design"]) == 2
    shown = run("sample-size", "--strata-file", path, "--margin", "0.05").out
    assert shown.startswith("Allocate 1,7") and "within 0.05 (95 %)" in shown
    one = table("stratum,share,pi,cost\ntown,0.6,0.2,1\nland,0.4,0.4,4\n")
    dear = run("sample-size", "w.json", "--strata-file", one, "--budget", "1000", "--json").json()
    assert dear["cost"] <= 1000 and dear["strata"][0]["n"] > dear["strata"][1]["n"] * 2
    path = table("stratum,share,pi,design,cost\ntown,0.6,0.2,w.json,1\nland,0.4,0.4,v.json,140\n")
    shown = run("sample-size", "--strata-file", path, "--n", "500").out
    assert "0.002243" in shown and "22,184" in shown  # the least variance of 500, and what they cost
    cheap = run("sample-size", "--strata-file", path, "--margin", "0.0928", "--json").json()
    assert cheap["cost"] < 22184 and cheap["best_variance"] <= cheap["variance"]
    found = run("sample-size", "s1.json", "s2.json", "--n", "1000", "--pi", "0.08,0.12,0.32,0.48", "--json").json()
    assert [part["n"] for part in found["samples"]] == [731, 269]
    assert found["best_variance"] * 1000 == pytest.approx(0.7885508432848432, rel=1e-9)
    other = run("sample-size", "w.json", "v.json", "--n", "100", "--pi", "0.1,0.9").out
    assert "1: w.json is not needed: the others are more informative" in other
    args = ("sample-size", "s1.json", "s2.json", "--pi", "0.08,0.12,0.32,0.48")
    found = run(*args, "--margin", "0.05", "--json").json()
    assert found["margin"] <= 0.05 and sum(part["n"] for part in found["samples"]) == found["n"] == 1212
    refused(*args, "--power", "0.8", "--against", "0.25", saying="--margin 0.035 --level 0.95")
    refused(*args, "--power", "0.8", saying="0.7 of the difference")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["w.json"], "give --n, --margin, or --power"),
        (["w.json", "--n", "10", "--margin", "0.1"], "give one of them"),
        (["w.json", "--margin", "0"], "margin must be strictly between 0 and 1, not 0"),
        (["w.json", "--margin", "-0.1"], "margin must be strictly between 0 and 1, not -0.1"),
        (["w.json", "--margin", "0.1", "--level", "1.5"], "level must be strictly between 0 and 1, not 1.5"),
        (["w.json", "--margin", "0.1", "--pi", "0.5,0.6"], "sums to 1.1"),
        (["w.json", "--margin", "0.1", "--pi", "0.5"], "1 share for 2 categories"),
        (["w.json", "--n", "100", "--category", "maybe"], "--category: 'maybe' is not one of the categories"),
        (["w.json", "--n", "100", "--deff", "0"], "deff must be above 0, not 0"),
        (["w.json", "--n", "100", "--budget", "9"], "--budget is not available here"),
        (["w.json", "--gamma", "2", "--n", "100"], "--gamma"),
        (["w.json", "--power", "0.8", "--against", "0.2"], "a test needs the shares under the null hypothesis"),
        (
            ["w.json", "--power", "0.8", "--against", "0.1", "--pi", "0.1,0.9"],
            "equals the share under the hypothesis, so no difference can be detected",
        ),
        (
            ["w.json", "--power", "0.8", "--against", "0.2", "--pi", "0.1,0.9", "--plot", "t.svg"],
            "--plot is not available here",
        ),
        (["k.json", "--power", "0.8", "--against", "0.2", "--pi", "0.1,0.4,0.5"], "shares needs a category"),
        (
            ["w.json", "v.json", "--n", "100"],
            "a division among samples needs the number of respondents and the assumed shares",
        ),
        (["w.json", "k.json", "--n", "100", "--pi", "0.1,0.9"], "categories differ"),
        (
            ["s1.json", "s1.json", "--n", "100", "--pi", "0.1,0.2,0.3,0.4"],
            "these samples together do not identify what is to be estimated",
        ),
        (
            ["s1.json", "s2.json", "--n", "9", "--pi", "0.1,0.2,0.3,0.4", "--category", "x"],
            "--category: 'x' is not an answer",
        ),
        (["s1.json", "--n", "100"], "shares cannot be estimated"),
        (["--n", "10"], "a design must be given"),
        (["--strata-file", "none.csv", "--n", "10"], "cannot read none.csv"),
        (["none.json", "--n", "10"], "none.json"),
    ],
)
def test_refused(args: list[str], said: str) -> None:
    refused("sample-size", *args, saying=said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stratum,share\na,1\n", "has the columns stratum, share"),
        ("stratum,share,pi,size\na,1,0.1,3\n", "has the columns"),
        ("stratum,share,pi\n", "has no rows"),
        ("", "has the columns none"),
        ("stratum,share,pi\na,1\n", "line 2: there are 2 fields for 3 columns"),
        ("stratum,share,pi\na,0.5,0.1\nb,0.4,0.1\n", "sum to 0.9, not 1"),
        ("stratum,share,pi\na,1,1.2\n", "line 2: pi must be between 0 and 1, not 1.2"),
        ("stratum,share,pi,design\na,1,0.2,nothing.json\n", "line 2: "),
        ("stratum,share,pi,cost\na,1,0.2,0\n", "cost must be above 0, not 0"),
    ],
)
def test_bad_strata(text: str, said: str) -> None:
    refused("sample-size", "w.json", "--strata-file", table(text), "--n", "100", saying=said)


def test_strata_need_a_design() -> None:
    asked = ("--strata-file", table("stratum,share,pi\na,1,0.1\n"), "--n", "9")
    refused("sample-size", *asked, saying="stratum a has no design")
    refused(
        "sample-size", "w.json", "v.json", *asked, saying="--strata-file can be combined with one design file, not 2"
    )
    refused("sample-size", "w.json", *asked, "--pi", "0.1,0.9", saying="--pi is not available here")


def test_rounded_shares_and_numbers_of_people_are_taken_and_what_was_done_is_said() -> None:
    design_file("w.json", "warner", "--p", "0.7")
    table = "stratum,share,pi\na,{},0.1\nb,{},0.2\nc,{},0.3\n"
    answers = {}
    for name, shares in {"rounded": [".3333"] * 3, "exact": ["1/3"] * 3, "people": ["1200", "1200", "1200"]}.items():
        Path("strata.csv").write_text(table.format(*shares), encoding="utf-8")
        answers[name] = run("sample-size", "w.json", "--strata-file", "strata.csv", "--n", "600", "--json").json()
    note = "the shares sum to 0.9999, as rounded shares do: each was divided by that sum"
    assert answers["rounded"].pop("notes") == [note]
    assert answers["rounded"] == answers["exact"] == answers["people"]
    Path("strata.csv").write_text(table.format(".3333", ".3333", ".3333"), encoding="utf-8")
    assert f"note: {note}" in " ".join(
        run("sample-size", "w.json", "--strata-file", "strata.csv", "--n", "600").out.split()
    )
    for wrong in (["1/3", "1/3", "0.3"], ["0.33", "0.33", "0.30"], ["1200", "0.5", "0.5"], ["1200", "0", "3"]):
        Path("strata.csv").write_text(table.format(*wrong), encoding="utf-8")
        refused("sample-size", "w.json", "--strata-file", "strata.csv", "--n", "600", saying="share")
