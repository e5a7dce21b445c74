"""``maskwell improve``, ``maskwell compare``, ``maskwell audit --certificate`` and ``maskwell verify``."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.certificates import sealed_again
from tests.support.command_line import design_file, refused, run

from maskwell import load_design
from maskwell.designs import design_from_dict
from maskwell.privacy import Certificate

KEYS = {"improved", "design", "garbling", "garbling_exact", "parity", "parity_exact", "added_variance", "method"}


@pytest.fixture
def chow() -> str:
    design_file("chow.json", "chow", "--red", "6", "--blue", "4", "--draws", "2")
    return "chow.json"


def matrix_of(path: str) -> np.ndarray:
    return load_design(path).matrix()


@pytest.mark.parametrize("method", ["layers", "lemmas"])
def test_json_holds_the_proof(chow: str, method: str) -> None:
    found = run("improve", chow, "--split", method, "--json").json()
    assert set(found) >= KEYS
    assert found["improved"] is True
    assert found["method"] == method
    assert found["parity"] == {"before": 2.5, "after": 2.5}
    assert found["added_variance"]["after"] < found["added_variance"]["before"]
    better = design_from_dict(found["design"])
    np.testing.assert_allclose(np.array(found["garbling"]) @ better.matrix(), matrix_of(chow), atol=1e-15)
    C = [[Fraction(c) for c in row] for row in found["garbling_exact"]]
    P, A = better.exact_matrix(), load_design(chow).exact_matrix()
    assert [[sum(c * p for c, p in zip(row, q, strict=True)) for q in zip(*P, strict=True)] for row in C] == A


def test_a_certificate(chow: str) -> None:
    found = run("improve", chow, "-o", "better.json", "--certificate", "proof.json", "--gamma", "3", "--json").json()
    assert (found["output"], found["certificate"]) == ("better.json", "proof.json")
    proof = Certificate(json.loads(Path("proof.json").read_text(encoding="utf-8")))
    assert proof.claims["parity"] == "3" and proof.claims["meets"] is True
    assert proof.claims["admissible"]["exactly"] is True
    assert proof.claims["improves"]["parity"] == "5/2"
    assert load_design("better.json").fingerprint == proof.content["design"]["fingerprint"]
    again = run("improve", "better.json", "--certificate", "again.json", "-o", "same.json").out.splitlines()
    assert "The same design, unchanged, is written to same.json." in again
    assert "The proof is in again.json; to check it: maskwell verify again.json" in again
    assert "improves" not in json.loads(Path("again.json").read_text(encoding="utf-8"))["claims"]


def test_files_are_kept_and_standard_output_is_one(chow: str) -> None:
    run("improve", chow, "-o", "better.json")
    refused("improve", chow, "-o", "better.json", saying="exists")
    refused("improve", chow, "-o", "new.json", "--certificate", "better.json", saying="exists")
    refused("improve", chow, "-o", chow, "--force", saying="also an input")
    refused(
        "improve",
        chow,
        "-o",
        "x.json",
        "--certificate",
        "x.json",
        saying="the design and the certificate would both be written to x.json",
    )
    run("improve", chow, "-o", "better.json", "--gamma", "7", "--force")
    assert load_design("better.json").parity() == 7
    ran = run("improve", chow, "-o", "-")
    assert design_from_dict(json.loads(ran.out)).parity() == 2.5
    assert "can be improved" in ran.err
    assert "standard output" in run("improve", chow, "-o", "-", "--json", status=2).err


def test_one_of_two_categories_and_where_the_theorem_does_not_apply(chow: str) -> None:
    found = run("improve", chow, "--sensitive", "yes", "--json").json()
    assert found["applies"] is True and found["parity"]["after"] == "inf"
    assert found["ratio_exact"] == "5/2"
    better = design_from_dict(found["design"])
    np.testing.assert_allclose(better.matrix(), [[1, 0.4], [0, 0.6]])
    np.testing.assert_allclose(np.array(found["garbling"]) @ better.matrix(), matrix_of(chow), atol=1e-15)
    shown = run("improve", chow, "--sensitive", "yes", "-o", "b.json").out
    assert "warning: the report no becomes a certain acquittal" in shown
    assert "parity is infinite" in shown
    best = run("improve", "b.json", "--sensitive", "yes").out
    assert best.startswith("b.json is the best design that protects only yes")
    assert max(map(len, (shown + best).splitlines())) <= 100
    Path("p.csv").write_text("0.7,0.1,0.1\n0.2,0.9,0.1\n0.1,0,0.8\n", encoding="utf-8")
    run("design", "matrix", "p.csv", "--categories", "a,b,c", "-o", "p.json")
    found = run("improve", "p.json", "--sensitive", "a", "-o", "none.json", "--json", status=1).json()
    assert (found["applies"], found["improved"]) == (False, False)
    assert "against b it is c, against c it is a" in found["reason"]
    assert not Path("none.json").exists()
    shown = run("improve", "p.json", "--sensitive", "a", status=1)
    assert "No better design that protects only a is known for p.json" in shown.out
    assert shown.err == ""


def test_bad_input(chow: str) -> None:
    refused("improve", "none.json", saying="none.json", kind="bad_design_file")
    refused("improve", chow, "--gamma", "2", saying="does not meet gamma = 2: its parity is 2.5")
    refused("improve", chow, "--gamma", "1/2", saying="gamma must be 1 or more, not 1/2")
    refused("improve", chow, "--gamma", "3", "--epsilon", "1", saying="cannot be combined")
    refused("improve", chow, "--split", "magic", saying="magic", kind="usage")
    refused("improve", chow, "--sensitive", "maybe", saying="maybe", kind="unknown_category")
    refused(
        "improve",
        chow,
        "--sensitive",
        "yes",
        "--gamma",
        "3",
        saying="--sensitive cannot be combined with a privacy requirement",
    )
    refused("improve", chow, "--sensitive", "yes", "--split", "layers", saying="leave them out")
    design_file("l.json", "l-diverse", "--k", "4", "--l", "2")
    assert "choose a design" in refused("improve", "l.json", saying="parity of the design is unbounded")
    refused("improve", "l.json", "--gamma", "5", saying="does not meet gamma = 5")
    design_file("o.json", "oue", "--k", "100", "--gamma", "3")
    refused("improve", "o.json", saying="more than 1,000,000", kind="too_large")


@pytest.fixture
def warner() -> str:
    design_file("warner.json", "warner", "--p", "0.7")
    return "warner.json"


def content(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_verify_says_yes_or_no(warner: str) -> None:
    run("audit", warner, "--rho", "0.1", "0.5", "--certificate", "proof.json")
    lines = run("verify", "proof.json", "--design", warner).out.splitlines()
    assert lines[0] == "proof.json holds: parity 7/3 meets the bound 9."
    assert lines[-1] == "Next: the same without maskwell: check_certificate.py, in the documentation under certificate"
    assert sum("holds: " in line for line in lines[1:]) == 9
    assert max(map(len, lines)) <= 100
    found = run("verify", "proof.json", "--json").json()
    assert (found["ok"], found["meets"], found["certificate"]) == (True, True, "proof.json")
    assert {check["name"] for check in found["checks"]} >= {"seal", "design", "parity", "demand", "meets", "admissible"}
    design_file("other.json", "k-ary", "--categories", "yes,no", "--gamma", "2")
    assert "it is about another design" in run("verify", "proof.json", "--design", "other.json", status=1).out
    run("audit", warner, "--epsilon", "0.1", "--certificate", "proof.json", "--force", status=1)
    ran = run("verify", "proof.json", status=1)
    assert ran.out.startswith("proof.json holds, and the demand is not met: parity 7/3 does not meet the bound")
    assert run("verify", "proof.json", "--json", status=1).json()["meets"] is False


def test_changed_and_bad_certificates(warner: str) -> None:
    run("audit", warner, "--rho", "0.1", "0.5", "--certificate", "proof.json")
    changed = content("proof.json")
    changed["claims"]["parity"] = "2"
    Path("bad.json").write_text(json.dumps(changed), encoding="utf-8")
    lines = run("verify", "bad.json", status=1).out.splitlines()
    assert lines[0] == "bad.json does not hold: 2 checks fail."
    Path("bad.json").write_text(sealed_again(changed), encoding="utf-8")
    found = run("verify", "bad.json", "--json", status=1).json()
    wrong = [check for check in found["checks"] if not check["ok"]]
    assert [check["name"] for check in wrong] == ["parity"]
    assert wrong[0]["words"] == 'parity is claimed to be "2", but it is "7/3"'
    assert found["meets"] is None
    refused("audit", warner, "--certificate", "proof.json", saying="exists")
    refused("audit", warner, "--certificate", warner, "--force", saying="also an input")
    refused("audit", warner, "--certificate", "no/folder.json", saying="does not exist")
    refused("audit", warner, "--average-security", "1.5", "--certificate", "new.json", saying="does not bound parity")
    refused("verify", warner, saying="not a certificate", kind="bad_certificate")
    refused("verify", "nothing.json", saying="cannot read", kind="bad_certificate")
    Path("broken.json").write_text("{", encoding="utf-8")
    refused("verify", "broken.json", saying="not valid JSON", kind="bad_certificate")
    refused("verify", "proof.json", "--design", "proof.json", saying="not a maskwell design file")
    assert "give a file name" in run("audit", warner, "--certificate", "-", status=2).err
    run("audit", warner, "--certificate", "proof.json", "--force")


@pytest.fixture
def designs() -> tuple[str, str]:
    design_file("w.json", "warner", "--p", "0.8")
    design_file("s.json", "simmons", "--p", "0.8", "--beta", "0.1")
    return "w.json", "s.json"


def test_proofs_name_rows_and_columns_and_gains_prove_that_designs_are_incomparable(designs: tuple[str, str]) -> None:
    lines = [line.split() for line in run("compare", *designs).out.splitlines()]
    i = lines.index(["w.json", "=", "C", "s.json,", "with", "C:"])
    assert lines[i + 1] == ["to", "\\", "from", "yes", "no"]
    assert [row[0] for row in lines[i + 2 : i + 4]] == ["yes", "no"]
    assert ["report", "\\", "truth", "yes", "no"] in lines
    design_file("u.json", "oue", "--k", "2", "--gamma", "3")
    design_file("k.json", "k-ary", "--k", "2", "--gamma", "3")
    shown = run("compare", "k.json", "u.json").out
    assert "to \\ from" in shown and "      01 " in shown and max(map(len, shown.splitlines())) <= 100
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


def test_a_certain_acquittal_is_named_and_a_set_may_be_sensitive() -> None:
    design_file("m.json", "mangat", "--p", "0.7")
    design_file("t.json", "triangular", "--q", "0.25")
    shown = run("compare", "m.json", "t.json", "--measure", "ratio").out
    assert shown.count("a certain acquittal") == 2
    labels = "--categories", "a,b,c"
    design_file("l.json", "liu-chow", *labels, "--p", "0.6", "--q", "0.2,0.1,0.1")
    design_file("k.json", "k-ary", *labels, "--gamma", "9")
    found = run("compare", "l.json", "k.json", "--measure", "sensitive", "--sensitive", "a,b", "--json").json()
    assert found["measure"]["first"] == 7 and found["equalised"]["measure"]["second"] == 7
    one = run("compare", "l.json", "k.json", "--measure", "ratio", "--sensitive", "a", "--json").json()
    assert one["measure"]["first"] == 4


def test_measures_that_do_not_fit(designs: tuple[str, str]) -> None:
    for options, said in (
        (["--prior", "0.1,0.9"], "--prior needs --measure hazard"),
        (["--sensitive", "yes"], "--measure ratio"),
        (["--measure", "hazard"], "needs a prior"),
        (["--measure", "hazard", "--prior", "1,2,3"], "must be a distribution of positive shares"),
        (["--measure", "hazard", "--prior", ""], "the prior must have shares"),
        (["--measure", "hazard", "--prior", "0.2,0.3,0.5"], "3 shares for 2 categories"),
        (["--measure", "sensitive"], "needs sensitive categories"),
        (["--measure", "sensitive", "--sensitive", "maybe"], "'maybe' is not one of the categories"),
        (["--measure", "sensitive", "--sensitive", "yes,no"], "2 of 2 categories are named as sensitive"),
        (["--at", "1"], "cannot be the protection"),
        (["--at", "there"], "must be a finite number"),
    ):
        refused("compare", *designs, *options, saying=said)
