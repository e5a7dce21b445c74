"""``maskwell design repeated`` and ``shared``, and families of several samples."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tests.support.command_line import design_file, refused, run

from maskwell.designs import load_design


def test_one_question_asked_twice() -> None:
    design_file("w.json", "warner", "--p", "3/4")
    made = run("design", "repeated", "w.json", "w.json", "-o", "twice.json", "--json").json()
    assert (made["k"], made["m"], made["parity"]) == (2, 4, 9)
    assert load_design("twice.json").provenance["family"] == "repeated"
    design_file("c.json", "cheating-detection", "--p", "1/5")
    refused("design", "repeated", "w.json", "c.json", "-o", "no.json", saying="different things")
    design_file("s.json", "subset", "--k", "4", "--gamma", "3")
    refused("design", "repeated", "s.json", "s.json", "-o", "no.json", saying="set")


def test_one_card_for_two_questions() -> None:
    design_file("true.json", "warner", "--p", "1")
    design_file("false.json", "warner", "--p", "0")
    outcomes = ["--outcome", "3/4=true.json,true.json", "--outcome", "1/4=false.json,false.json"]
    shown = run("design", "shared", *outcomes, "-o", "both.json").out
    assert "whether two of them agree" in shown
    assert load_design("both.json").exact_matrix()[0] == [Fraction(3, 4), 0, 0, Fraction(1, 4)]
    even = [text.replace("3/4", "1/2").replace("1/4", "1/2") for text in outcomes]
    refused("design", "shared", *even, saying="cannot be estimated", kind="not_identifiable")
    assert run("design", "shared", *even, "--allow-unidentifiable", "--json").json()["k"] == 4
    refused("design", "shared", *outcomes[:2], saying="0.75, not 1")
    refused("design", "shared", "--outcome", "3/4", saying="has no design")
    refused("design", "shared", "--outcome", "1=true.json", saying="one question only")
    refused("design", "shared", *outcomes[:2], "--outcome", "1/4=false.json", saying="outcome 1")
    refused("design", "shared", "--outcome", "75=true.json,true.json", saying="75")


def test_an_unrelated_question_whose_rate_nobody_knows() -> None:
    shown = run("design", "simmons", "--p", "3/4", "-o", "one.json").out
    assert "identifiable  no" in shown
    assert "note: beta is unknown: ask two samples with different p" in shown
    told = " ".join(run("audit", "one.json").out.split())
    assert "warning: not identifiable alone: beta is unknown" in told
    made = run("audit", "one.json", "--json").json()
    assert any("alone" in warning for warning in made["warnings"])
    Path("f.csv").write_text("y\nyes\nno\n", encoding="utf-8")
    refused("estimate", "f.csv", "--design", "y=one.json", saying="ask two samples", kind="not_identifiable")
    named = run("design", "simmons", "--p", "3/4", "--categories", "user,other").out
    assert "(user, yes), (user, no), (other, yes), (other, no)" in named


def test_a_deck_that_tells_nothing() -> None:
    given = ["design", "abul-ela", "--k", "3", "--probabilities", "1/3,1/3,1/3"]
    refused(*given, saying="tells nothing", kind="not_identifiable")
    assert run(*given, "--allow-unidentifiable", "--json").json()["parity"] == 1
