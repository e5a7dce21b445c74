"""``maskwell improve``."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run

from maskwell.designs import design_from_dict, load_design
from maskwell.privacy import Certificate

KEYS = {"improved", "design", "garbling", "garbling_exact", "parity", "parity_exact", "added_variance", "method"}


@pytest.fixture
def chow() -> str:
    design_file("chow.json", "chow", "--red", "6", "--blue", "4", "--draws", "2")
    return "chow.json"


def matrix_of(path: str) -> np.ndarray:  # type: ignore[type-arg]
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


def test_text_says_what_is_gained(chow: str) -> None:
    shown = run("improve", chow, "-o", "better.json").out
    lines = shown.splitlines()
    assert lines[0] == (
        "chow.json can be improved at no cost: added variance 5.33333 becomes 2.22222 at the same parity 2.5."
    )
    assert "  2                 0.4667  0" in lines
    assert "nothing that the old design told is lost" in shown
    assert lines[-1] == "Next: maskwell audit better.json"
    run(*shlex.split(lines[-1].removeprefix("Next: maskwell ")))
    assert load_design("better.json").is_admissible()
    assert max(map(len, lines)) <= 100


def test_nothing_to_gain(chow: str) -> None:
    run("improve", chow, "-o", "better.json")
    shown = run("improve", "better.json", "-o", "again.json").out
    assert shown.startswith("better.json cannot be improved: no design of parity 2.5 is more informative.")
    assert load_design("again.json") == load_design("better.json")
    found = run("improve", "better.json", "--json").json()
    assert found["improved"] is False
    assert found["garbling"] == [[1, 0], [0, 1]]


def test_a_demand_that_allows_more(chow: str) -> None:
    found = run("improve", chow, "--epsilon", "1", "--json").json()
    assert found["parity"]["after"] == pytest.approx(np.e)
    assert found["parity"]["after"] <= np.e
    assert "which was allowed" in run("improve", chow, "--rho", "0.1", "0.5").out.splitlines()[0]
    closed = run("improve", chow, "--rho", "0.1", "0.5", "--closed", "--json").json()
    assert 8.9 < Fraction(closed["parity_exact"]["after"]) < 9


def test_a_demand_that_is_just_met(chow: str) -> None:
    assert run("improve", chow, "--gamma", "5/2", "--json").json()["parity_exact"]["after"] == "5/2"
    design_file("k.json", "k-ary", "--k", "4", "--epsilon", "1")
    assert run("improve", "k.json", "--epsilon", "1", "--json").json()["improved"] is False
    assert run("improve", "k.json", "--epsilon", "1", "--exactly", "--json").json()["improved"] is True


def test_set_reports_and_many_reports() -> None:
    design_file("r.json", "rappor", "--categories", "a,b,c", "--gamma", "4")
    shown = run("improve", "r.json", "-o", "p.json").out
    assert "  {a, b} " in shown
    assert '"' not in shown
    assert "  111 " in shown
    assert load_design("p.json").kind == "patterns"
    design_file("o.json", "oue", "--k", "7", "--gamma", "4")
    shown = run("improve", "o.json").out
    assert "a garbling of 128 by 126 entries gives the old reports back" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 100
    Path("people.csv").write_text("answer\n" + "a\nb\nc\nc\n" * 5, encoding="utf-8")
    run("randomize", "people.csv", "--design", "answer=p.json", "-o", "reports.csv")
    assert run("estimate", "reports.csv", "--design", "answer=p.json", "--json").json()["n"] == 20


def test_a_certificate(chow: str) -> None:
    found = run("improve", chow, "-o", "better.json", "--certificate", "proof.json", "--gamma", "3", "--json").json()
    assert (found["output"], found["certificate"]) == ("better.json", "proof.json")
    proof = Certificate(json.loads(Path("proof.json").read_text(encoding="utf-8")))
    assert proof.claims["parity"] == "3"
    assert proof.claims["meets"] is True
    assert proof.claims["admissible"]["exactly"] is True
    assert proof.claims["improves"]["parity"] == "5/2"
    assert load_design("better.json").fingerprint == proof.content["design"]["fingerprint"]
    run("improve", "better.json", "--certificate", "again.json")
    assert "improves" not in json.loads(Path("again.json").read_text(encoding="utf-8"))["claims"]


def test_files_are_kept(chow: str) -> None:
    run("improve", chow, "-o", "better.json")
    refused("improve", chow, "-o", "better.json", saying="exists")
    refused("improve", chow, "-o", "new.json", "--certificate", "better.json", saying="exists")
    refused("improve", chow, "-o", chow, "--force", saying="also an input")
    refused("improve", chow, "-o", "x.json", "--certificate", "x.json", saying="both be x.json")
    run("improve", chow, "-o", "better.json", "--gamma", "7", "--force")
    assert load_design("better.json").parity() == 7


def test_standard_output(chow: str) -> None:
    ran = run("improve", chow, "-o", "-")
    assert design_from_dict(json.loads(ran.out)).parity() == 2.5
    assert "can be improved" in ran.err
    assert "standard output" in run("improve", chow, "-o", "-", "--json", status=2).err


def test_huge_admissible_designs() -> None:
    design_file("s.json", "subset", "--k", "500", "--epsilon", "1")
    found = run("improve", "s.json", "--json").json()
    assert found["improved"] is False
    assert found["garbling"] is None
    assert found["garbling_entries"] == "identity"
    assert "cannot be improved" in run("improve", "s.json").out


# ---- one sensitive category


def test_one_of_two(chow: str) -> None:
    found = run("improve", chow, "--sensitive", "yes", "--json").json()
    assert found["applies"] is True
    assert found["parity"]["after"] == "inf"
    assert found["ratio_exact"] == "5/2"
    better = design_from_dict(found["design"])
    np.testing.assert_allclose(better.matrix(), [[1, 0.4], [0, 0.6]])
    np.testing.assert_allclose(np.array(found["garbling"]) @ better.matrix(), matrix_of(chow), atol=1e-15)
    shown = run("improve", chow, "--sensitive", "yes", "-o", "b.json").out
    assert "warning: the report no becomes a certain acquittal" in shown
    assert "parity is infinite" in shown
    best = run("improve", "b.json", "--sensitive", "yes").out
    assert best.startswith("b.json is the best design that protects yes alone")
    assert max(map(len, (shown + best).splitlines())) <= 100


def test_where_the_theorem_does_not_apply() -> None:
    Path("p.csv").write_text("0.7,0.1,0.1\n0.2,0.9,0.1\n0.1,0,0.8\n", encoding="utf-8")
    run("design", "matrix", "p.csv", "--categories", "a,b,c", "-o", "p.json")
    found = run("improve", "p.json", "--sensitive", "a", "-o", "b.json", "--json", status=1).json()
    assert (found["applies"], found["improved"]) == (False, False)
    assert "against b it is c, against c it is a" in found["reason"]
    assert not Path("b.json").exists()
    shown = run("improve", "p.json", "--sensitive", "a", status=1)
    assert "No better design that protects a alone is known for p.json" in shown.out
    assert shown.err == ""


# ---- bad input


def test_bad_input(chow: str) -> None:
    refused("improve", "none.json", saying="none.json", kind="bad_design_file")
    refused("improve", chow, "--gamma", "2", saying="does not meet gamma = 2: its parity is 2.5")
    refused("improve", chow, "--gamma", "1/2", saying="gamma = 1/2")
    refused("improve", chow, "--gamma", "3", "--epsilon", "1", saying="two demands")
    refused("improve", chow, "--split", "magic", saying="magic", kind="usage")
    refused("improve", chow, "--sensitive", "maybe", saying="maybe", kind="unknown_category")
    refused("improve", chow, "--sensitive", "yes", "--gamma", "3", saying="--sensitive and a demand")
    refused("improve", chow, "--sensitive", "yes", "--split", "layers", saying="leave them out")
    design_file("l.json", "l-diverse", "--k", "4", "--l", "2")
    assert "plan a design" in refused("improve", "l.json", saying="no bound on parity")
    refused("improve", "l.json", "--gamma", "5", saying="does not meet gamma = 5")
    design_file("o.json", "oue", "--k", "100", "--gamma", "3")
    refused("improve", "o.json", saying="more than 1,000,000", kind="too_large")


def test_the_truth_where_it_is_allowed() -> None:
    design_file("l.json", "l-diverse", "--k", "4", "--l", "2")
    found = run("improve", "l.json", "--allow-identity", "--json").json()
    assert design_from_dict(found["design"]).matrix().tolist() == np.eye(4).tolist()
    assert (found["gamma"], found["gamma_exact"]) == ("inf", "inf")
    assert run("improve", "l.json", "--allow-identity").out.startswith(
        "The truth itself is more informative than l.json"
    )


def test_what_was_written_is_said(chow: str) -> None:
    shown = run("improve", chow, "-o", "better.json", "--certificate", "proof.json").out.splitlines()
    assert "The new design is written to better.json." in shown
    assert "The proof is in proof.json; to check it: maskwell verify proof.json" in shown
    assert any("2.22222 divided by n" in line for line in shown)
    assert not any("written" in line for line in run("improve", chow).out.splitlines())
    again = run("improve", "better.json", "-o", "same.json").out.splitlines()
    assert "The same design, unchanged, is written to same.json." in again
    assert load_design("same.json") == load_design("better.json")
    one_sided = run("improve", chow, "--sensitive", "yes", "-o", "one.json").out.splitlines()
    assert "The new design is written to one.json." in one_sided


def test_a_certificate_on_standard_output(chow: str) -> None:
    done = run("improve", chow, "--certificate", "-")
    assert json.loads(done.out)["maskwell"] == "certificate"
    assert "maskwell verify -" not in done.err
