"""``maskwell compare``."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run


@pytest.fixture
def designs() -> tuple[str, str]:
    design_file("w.json", "warner", "--p", "0.8")
    design_file("s.json", "simmons", "--p", "0.8", "--beta", "0.1")
    return "w.json", "s.json"


def test_json(designs: tuple[str, str]) -> None:
    found = run("compare", *designs, "--pi", "0.05,0.95", "--json").json()
    assert found["order"] == "second" and found["parity"] == {"first": 4, "second": 41}
    P = np.array([[0.82, 0.02], [0.18, 0.98]])
    np.testing.assert_allclose(np.array(found["proof"]["garbling"]) @ P, [[0.8, 0.2], [0.2, 0.8]], atol=1e-12)
    assert found["less_variance"] is None
    fair = found["equalised"]
    assert fair["order"] == "first" and fair["less_variance"] == "first" and fair["parity"]["second"] == 4
    assert fair["information"]["first"] > fair["information"]["second"]


def test_text(designs: tuple[str, str]) -> None:
    shown = run("compare", *designs).out
    assert shown.startswith("At equal protection (parity 4) w.json is more informative than s.json.")
    assert "their variances say nothing" in shown and max(map(len, shown.splitlines())) <= 100
    assert shown.splitlines()[-1].startswith("Next: maskwell improve s.json")


def test_the_matrices_of_a_proof_name_their_rows_and_columns(designs: tuple[str, str]) -> None:
    lines = [line.split() for line in run("compare", *designs).out.splitlines()]
    i = lines.index(["w.json", "=", "C", "s.json,", "with", "C:"])
    assert lines[i + 1] == ["to", "\\", "from", "yes", "no"]
    assert [row[0] for row in lines[i + 2 : i + 4]] == ["yes", "no"]
    assert ["report", "\\", "truth", "yes", "no"] in lines
    design_file("u.json", "oue", "--k", "2", "--gamma", "3")
    design_file("k.json", "k-ary", "--k", "2", "--gamma", "3")
    shown = run("compare", "k.json", "u.json").out
    assert "to \\ from" in shown and "      01 " in shown and max(map(len, shown.splitlines())) <= 100


def test_bad_input(designs: tuple[str, str]) -> None:
    design_file("k.json", "k-ary", "--k", "3", "--gamma", "3")
    assert "categories differ" in run("compare", designs[0], "k.json", status=2).err
    assert "1 share for 2 categories" in run("compare", *designs, "--pi", "0.5", status=2).err
    assert "none.json" in run("compare", designs[0], "none.json", status=2).err


def test_a_gain_matrix_proves_that_neither_can_be_made_from_the_other() -> None:
    design_file("a.json", "k-ary", "--k", "4", "--gamma", "3")
    design_file("b.json", "subset", "--k", "4", "--gamma", "3", "--size", "2")
    found = run("compare", "a.json", "b.json", "--json").json()
    assert found["order"] == "incomparable" and found["proof"]["exact"]
    A, B = (np.array(run("audit", f, "--json").json()["matrix"]) for f in ("a.json", "b.json"))
    for P, Q, proof in ((A, B, found["proof"]["first_for_second"]), (B, A, found["proof"]["second_for_first"])):
        G = np.array(proof["gain"])
        assert (G * Q).sum() > (P @ G.T).max(axis=1).sum() + 1e-9


def test_another_measure(designs: tuple[str, str]) -> None:
    found = run("compare", *designs, "--measure", "ratio", "--at", "second", "--json").json()
    assert found["measure"] == {
        "name": "ratio",
        "sensitive": ["yes"],
        "first": 4,
        "second": 41,
        "exact": {"first": "4", "second": "41"},
    }
    fair = found["equalised"]
    assert fair["how"] == "warner with p = 41/42" and fair["changed"] == "first" and fair["order"] == "first"
    assert fair["efficiency"]["loewner"] == "first" and fair["measure"]["first"] == 41
    hazard = run("compare", *designs, "--measure", "hazard", "--prior", "0.05,0.95", "--json").json()
    assert hazard["measure"]["first"] == 4 / 23 and hazard["equalised"]["how"] == "simmons with p = 3/13, beta = 1/10"


def test_beliefs_are_shown_and_fit(designs: tuple[str, str]) -> None:
    shown = run("compare", *designs, "--measure", "ratio", "--pi", "0.05,0.95").out
    assert shown.startswith("At equal protection (ratio R of yes 4) w.json is more informative than s.json.")
    assert "Beliefs after each report, at equal protection, from yes 0.05, no 0.95:" in shown
    assert "w.json: yes     0.2300  0.1739  0.8261" in shown and max(map(len, shown.splitlines())) <= 100


def test_a_certain_acquittal_is_named() -> None:
    design_file("m.json", "mangat", "--p", "0.7")
    design_file("t.json", "triangular", "--q", "0.25")
    shown = run("compare", "m.json", "t.json", "--measure", "ratio").out
    assert shown.count("a certain acquittal") == 2


def test_a_sensitive_set() -> None:
    labels = "--categories", "a,b,c"
    design_file("l.json", "liu-chow", *labels, "--p", "0.6", "--q", "0.2,0.1,0.1")
    design_file("k.json", "k-ary", *labels, "--gamma", "9")
    found = run("compare", "l.json", "k.json", "--measure", "sensitive", "--sensitive", "a,b", "--json").json()
    assert found["measure"]["first"] == 7 and found["equalised"]["measure"]["second"] == 7
    one = run("compare", "l.json", "k.json", "--measure", "ratio", "--sensitive", "a", "--json").json()
    assert one["measure"]["first"] == 4


def test_measures_that_do_not_fit(designs: tuple[str, str]) -> None:
    for options, said in (
        (["--prior", "0.1,0.9"], "--prior without --measure hazard"),
        (["--sensitive", "yes"], "--measure ratio"),
        (["--measure", "hazard"], "needs a prior"),
        (["--measure", "hazard", "--prior", "1,2,3"], "not a distribution"),
        (["--measure", "hazard", "--prior", ""], "the prior has no shares"),
        (["--measure", "hazard", "--prior", "0.2,0.3,0.5"], "3 shares for 2 categories"),
        (["--measure", "sensitive"], "needs the sensitive categories"),
        (["--measure", "sensitive", "--sensitive", "maybe"], "no category 'maybe'"),
        (["--measure", "sensitive", "--sensitive", "yes,no"], "2 of 2 categories are called sensitive"),
        (["--at", "1"], "cannot be the protection"),
        (["--at", "there"], "not a finite number"),
    ):
        refused("compare", *designs, *options, saying=said)
