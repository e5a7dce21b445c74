"""``maskwell design``."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run

from maskwell import load_design


def test_labels_from_a_file_and_numbers_of_reports_without_endless_digits() -> None:
    made = run("design", "rappor", "--k", "20000", "--epsilon", "1", "--json").json()
    assert made["m"] == "2^20000"
    made = run("design", "subset", "--k", "1000000", "--gamma", "2", "--json").json()
    assert made["m"] == "C(1000000, 333333)"
    assert "about 10 to the power 6,020 sets" in run("design", "rappor", "--k", "20000", "--epsilon", "1").out
    Path("labels.txt").write_text("never\nyes, once\n often \n\n", encoding="utf-8-sig")
    made = run("design", "k-ary", "--categories", "@labels.txt", "--gamma", "2", "--json").json()
    assert made["design"]["inputs"] == ["never", "yes, once", "often"]
    made = run("design", "bits", "--items", "@labels.txt", "--gamma", "8", "--json").json()
    assert made["k"] == 8
    made = run("design", "bits", "--items", "3", "--gamma", "8", "--json").json()
    assert (made["k"], made["parity_exact"]) == (8, "8")
    Path("two.txt").write_text("A\nB\n", encoding="utf-8")
    made = run("design", "warner", "--p", "0.7", "--reports", "@two.txt", "--json").json()
    assert made["design"]["outputs"] == ["A", "B"]
    made = run("design", "k-ary", "--categories", '"@home",away', "--gamma", "2", "--json").json()
    assert made["design"]["inputs"] == ["@home", "away"]
    refused("design", "k-ary", "--categories", "@none.txt", "--gamma", "2", saying="one label per line")
    Path("gap.txt").write_text("A\n\nB\n", encoding="utf-8")
    refused("design", "k-ary", "--categories", "@gap.txt", "--gamma", "2", saying="line 2 is empty", kind="bad_labels")
    Path("odd.txt").write_bytes(b"\xff\xfe\xff")
    refused("design", "k-ary", "--categories", "@odd.txt", "--gamma", "2", saying="UTF-8")


MATRIX = [["1/2", "1/8"], ["1/4", "1/4"], ["1/4", "5/8"]]


@pytest.mark.parametrize("kind", ["bare.csv", "labels.csv", "corner.csv", "m.json", "m.npy"])
def test_matrix_files(kind: str) -> None:
    numbers = [[float(Fraction(p)) for p in row] for row in MATRIX]
    labelled = [f"{name},{','.join(row)}" for name, row in zip("xyz", MATRIX, strict=True)]
    if kind == "m.npy":
        np.save(kind, np.array(numbers))
    else:
        texts = {
            "bare.csv": "\n".join(",".join(row) for row in MATRIX),
            "labels.csv": "\n".join([",yes,no", *labelled]),
            "corner.csv": "\n".join(["yes,no", *labelled]),
            "m.json": json.dumps(MATRIX),
        }
        Path(kind).write_text(texts[kind], encoding="utf-8")
    made = run("design", "matrix", kind, "--json").json()
    assert (made["k"], made["m"], made["parity_exact"]) == (2, 3, "4")
    if kind in ("labels.csv", "corner.csv"):
        assert (made["design"]["inputs"], made["design"]["outputs"]) == (["yes", "no"], ["x", "y", "z"])


BAD_MATRICES = [
    ("p.csv", "", "empty"),
    ("p.csv", "0.5,nan\n0.5,0.5\n", ""),
    ("p.csv", "0.5,0.5\n0.5\n", ""),
    ("p.csv", "1.000000000001,0.5\n-0.000000000001,0.5\n", "negative"),
    ("p.csv", "0.5,0.6\n0.5,0.6\n", "sums to 1.2"),
    ("p.csv", "0.5,x\n0.5,0.5\n", "] must be a finite number, not"),
    ("p.csv", "0.5,inf\n0.5,0.5\n", "] must be a finite number, not"),
    *(("p.json", content, "") for content in ("{", "[]", "[1, 2]", '{"a": 1}')),
    ("p.npy", "x", ""),
    ("p.txt", "1", ""),
]


@pytest.mark.parametrize(("name", "content", "saying"), BAD_MATRICES)
def test_bad_matrix_files(name: str, content: str, saying: str) -> None:
    Path(name).write_text(content, encoding="utf-8")
    refused("design", "matrix", name, "-o", "d.json", saying=saying)


def test_one_question_asked_twice_and_one_standard_output() -> None:
    run("design", "warner", "--p", "0.7", "-o", "-", "--json", status=2)
    design_file("w.json", "warner", "--p", "3/4")
    made = run("design", "repeated", "w.json", "w.json", "-o", "twice.json", "--json").json()
    assert (made["k"], made["m"], made["parity"]) == (2, 4, 9)
    assert load_design("twice.json").provenance["family"] == "repeated"
    design_file("c.json", "cheating-detection", "--p", "1/5")
    refused("design", "repeated", "w.json", "c.json", "-o", "no.json", saying="the devices have different categories")
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
    refused("design", "shared", *outcomes[:2], saying="weights[0] must be 1, not 0.75")
    refused("design", "shared", "--outcome", "3/4", saying="does not name a design")
    refused("design", "shared", "--outcome", "1=true.json", saying="a shared device needs two or more questions")
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


@pytest.mark.parametrize(
    ("args", "parameters"),
    [
        (["warner", "--gamma", "3"], {"p": "3/4"}),
        (["crosswise", "--rho", "0.1", "0.5"], {"q": "9/10"}),
        (["mangat-singh", "--t", "0.3", "--gamma", "4"], {"t": "3/10", "p": "5/7"}),
        (["simmons", "--beta", "0.1", "--max-ratio", "4"], {"p": "3/13", "beta": "1/10"}),
        (["forced", "--yes", "1/6", "--max-ratio", "5"], {"truth": "2/3", "yes": "1/6", "no": "1/6"}),
        (
            ["kuk", "--theta2", "0.2", "--draws", "1", "--max-ratio", "2"],
            {"theta1": "2/5", "theta2": "1/5", "draws": "1"},
        ),
    ],
)
def test_a_demand_in_place_of_a_parameter(args: list[str], parameters: dict[str, str]) -> None:
    found = run("design", *args, "--json").json()["design"]["provenance"]
    assert found["parameters"] == parameters and found["demand"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["k-ary", "--k", "2.5", "--gamma", "3"], "k must be a whole number, not 2.5"),
        (["k-ary", "--categories", "a,b,a", "--gamma", "3"], "'a' appears twice"),
        (["k-ary", "--categories", "a,b", "--k", "3", "--gamma", "3"], "--k 3"),
        (["k-ary", "--gamma", "3"], "--categories"),
        (["k-ary", "--k", "3"], "privacy demand"),
        (["warner", "--p", "a"], "'a'"),
        (
            ["warner", "--p", "0.7", "--categories", "a,b,c"],
            "name the sensitive category first",
        ),
        (["matrix", "no-such.csv"], "no-such.csv"),
        (["forced", "--truth", "0.7", "--yes", "0.1"], "missing option '--no'"),
        (["warner", "--p", "0.7", "--gamma", "3"], "--p cannot be combined with --gamma 3, as both set the protection"),
        (["warner", "--max-ratio", "4", "--gamma", "3"], "cannot be combined with a privacy requirement"),
        (["warner", "--beta", "3", "--gamma", "3"], "cannot be combined"),
        (["warner", "--max-ratio", "1"], "give a value above 1"),
        (["forced", "--yes", "0.2", "--max-ratio", "6"], "range from 1 to 5"),
    ],
)
def test_refused(args: list[str], said: str) -> None:
    refused("design", *args, saying=said)
