"""``maskwell device``."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

from maskwell import load_design


@pytest.fixture(autouse=True)
def files() -> None:
    design_file("warner.json", "warner", "--p", "0.7")
    design_file("kary.json", "k-ary", "--categories", "never,once,often", "--epsilon", "1")
    design_file("forced.json", "forced", "--truth", "3/4", "--yes", "1/6", "--no", "1/12")
    design_file("crosswise.json", "crosswise", "--q", "1/6")
    Path("example.csv").write_text("4/5,1/5,1/10\n1/10,7/10,3/10\n1/10,1/10,3/5\n", encoding="utf-8")
    design_file("matrix.json", "matrix", "example.csv")


def test_json_of_dice_and_spinner() -> None:
    found = run("device", "warner.json", "--dice", "--json").json()
    assert found["expected_rolls"] == 1.2
    assert found["throws"]["table"][-1] == {"from": "6-1", "to": "6-6", "kind": None}
    sums = run("device", "forced.json", "--dice", "--json").json()["throws"]["sums"]
    assert [(row["from"], row["to"]) for row in sums] == [(2, 4), (5, 10), (11, 12)]
    spun = run("device", "warner.json", "--spinner", "--json").json()["spinner"]
    assert [(s["from"], s["to"]) for s in spun["sectors"]] == [(0, 252), (252, 360)]
    assert spun["in_tenths"] is True
    rounded = run("device", "kary.json", "--spinner", "--deck", "360", "--json").json()
    assert rounded["spinner"]["in_tenths"] is True
    tossed = run("device", "forced.json", "--coins", "--json").json()
    assert (tossed["throws"]["faces"], tossed["throws"]["dice"]) == (2, 4)


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["warner.json", "--dice"], "A table for 2 dice realises warner.json exactly"),
        (["forced.json", "--dice"], "5 to 10   Give your true answer."),
        (["warner.json", "--coins"], "A table for 4 coins"),
        (["warner.json", "--dice", "--faces", "10"], "A die of 10 faces"),
        (["warner.json", "--spinner"], "A spinner of 2 fields"),
        (["crosswise.json"], "A sheet with two questions"),
        (["crosswise.json", "--deck", "12"], "A deck of 6 cards of 3 kinds"),
        (["kary.json", "--deck", "20"], "less private than was asked for"),
        (["kary.json", "--deck", "20"], "--not-less-private rounds to the side of privacy"),
        (["matrix.json"], "10 cards of 6 kinds"),
        (["forced.json", "--deck", "3"], "a report can now reveal the answer"),
    ],
)
def test_what_is_told(options: list[str], saying: str) -> None:
    shown = run("device", *options).out
    assert saying in " ".join(shown.split()) or saying in shown, shown
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith("Next: ")


def test_the_realised_design_is_the_one_to_estimate_with() -> None:
    shown = run("device", "kary.json", "--deck", "20", "-o", "s.html", "--realised", "r.json").out
    assert shown.splitlines()[-1].endswith("maskwell estimate ANSWERS.csv --design COLUMN=r.json")
    made = load_design("r.json")
    assert made.exact_matrix()[0] == [Fraction(11, 19), Fraction(4, 19), Fraction(4, 19)]
    assert made.inputs == load_design("kary.json").inputs
    assert "use it for estimation" in made.provenance["note"]
    page = Path("s.html").read_text(encoding="utf-8")
    assert "answer=r.json" in page and "not the one that was asked for" in page
    assert made.fingerprint in page
    Path("answers.csv").write_text("answer\n" + "never\n" * 60 + "once\n" * 25 + "often\n" * 15, encoding="utf-8")
    assert run("estimate", "answers.csv", "--design", "answer=r.json", "--json").json()["n"] == 100


def test_the_sheets_hold_nothing_from_elsewhere_and_no_mark_of_a_kind() -> None:
    run("device", "matrix.json", "--question", "<b>A & B?</b>", "-o", "s.html")
    page = Path("s.html").read_text(encoding="utf-8")
    assert "<b>A" not in page and "&lt;b&gt;A &amp; B?&lt;/b&gt;" in page
    assert not re.search(r"https?://(?!www\.w3\.org)|url\(|@import|<script|<link|src=", page)
    faces = re.findall(r'<div class="face">(.*?)</table>', page, re.DOTALL)
    assert len(faces) == 10
    assert all(face.count("<tr>") == 4 for face in faces)  # every card has a line for every truth


def test_two_questions() -> None:
    shown = run("device", "crosswise.json", "--question", "Did you?", "-o", "a.html").out
    assert "check that for your population" in " ".join(shown.split())
    assert "Was your mother born in January or February?" in Path("a.html").read_text(encoding="utf-8")
    shown = run("device", "crosswise.json", "--innocuous", "Is your house number even?", "-o", "b.html").out
    assert "note:" not in shown
    assert "Is your house number even?" in Path("b.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        (["kary.json"], "cards, more than 1,000"),
        (["warner.json", "--deck", "0"], "--deck must be 1 or more"),
        (["warner.json", "--deck", "-2"], "--deck must be 1 or more"),
        (["warner.json", "--deck", "x"], "--deck"),
        (["warner.json", "--deck", "1000000"], "the limit of cards must be from 1 to 100,000, not 1,000,000"),
        (["warner.json", "--dice", "--spinner"], "--dice and --spinner cannot be combined"),
        (["warner.json", "--faces", "6"], "--faces and --throws need --dice"),
        (["warner.json", "--coins", "--faces", "3"], "--faces and --throws need --dice"),
        (["warner.json", "--dice", "--throws", "1"], "6 outcomes for 10 cards"),
        (["warner.json", "--dice", "--faces", "1"], "faces must be a whole number from 2 to 100, not 1"),
        (["warner.json", "--not-less-private"], "the privacy of its design"),
        (["kary.json", "--deck", "2", "--not-less-private"], "cards cannot identify as many shares as the design"),
        (["missing.json"], "cannot read"),
        (["warner.json", "-o", "warner.json"], "also an input"),
        (["warner.json", "-o", "x", "--realised", "x"], "the same name"),
        (["huge.json"], "entries is too large for a device; the limit is"),
    ],
)
def test_what_is_refused(options: list[str], saying: str) -> None:
    design_file("huge.json", "subset", "--k", "40", "--gamma", "3")
    refused("device", *options, saying=saying)


def test_texts_are_saved_edited_and_printed() -> None:
    made = run("device", "warner.json", "--save-texts", "t.json", "--json").json()
    assert made["texts_file"] == "t.json"
    texts = json.loads(Path("t.json").read_text(encoding="utf-8"))
    Path("t.json").write_text(json.dumps({**texts, "How to answer": "Wie"}), encoding="utf-8")
    run("device", "warner.json", "--texts", "t.json", "-o", "s.html")
    assert "<h1>Wie</h1>" in Path("s.html").read_text(encoding="utf-8")
    for content, saying in (
        ("[1]", "one text for each sentence"),
        ("{", "is not valid JSON"),
        ('{"a": 1}', "one text for"),
    ):
        Path("t.json").write_text(content, encoding="utf-8")
        refused("device", "warner.json", "--texts", "t.json", saying=saying)
    refused("device", "warner.json", "-o", "x.html", "--save-texts", "x.html", saying="the same name")
