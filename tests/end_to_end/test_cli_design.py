"""``maskwell design``."""

from __future__ import annotations

import json
import math
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run

from maskwell.designs import load_design


def test_json_holds_what_is_promised() -> None:
    made = run("design", "k-ary", "--categories", "never,once,often", "--epsilon", "1", "--json").json()
    assert {"design", "k", "m", "parity", "parity_exact", "epsilon"} <= set(made)
    assert (made["k"], made["m"]) == (3, 3)
    assert made["parity"] <= math.e
    assert float(Fraction(made["parity_exact"])) == pytest.approx(math.e, rel=1e-9)
    assert made["design"]["inputs"] == ["never", "once", "often"]


def test_the_file_is_the_design_of_the_json() -> None:
    made = run("design", "warner", "--p", "3/4", "-o", "w.json", "--json").json()
    assert json.loads(Path("w.json").read_text(encoding="utf-8")) == made["design"]
    assert made["output"] == "w.json"
    assert load_design("w.json").parity_exact() == 3


def test_without_a_file_it_says_how_to_keep_it() -> None:
    shown = run("design", "k-ary", "--k", "4", "--gamma", "3").out
    assert shown.startswith("A k-ary design over 4 categories with parity 3.\n")
    assert "-o design.json" in shown.splitlines()[-1]


def test_standard_output() -> None:
    done = run("design", "k-ary", "--k", "4", "--gamma", "3", "-o", "-")
    assert json.loads(done.out)["kind"] == "uniform"
    assert "parity 3" in done.err


def test_a_huge_number_of_reports_has_no_endless_digits() -> None:
    made = run("design", "rappor", "--k", "20000", "--epsilon", "1", "--json").json()
    assert made["m"] == "2^20000"
    assert "about 10 to the power 6,020 sets" in run("design", "rappor", "--k", "20000", "--epsilon", "1").out


def test_reports_have_their_own_labels() -> None:
    args = ["warner", "--p", "0.7", "--categories", "user,not", "--reports", "A,B"]
    made = run("design", *args, "--json").json()["design"]
    assert (made["inputs"], made["outputs"]) == (["user", "not"], ["A", "B"])


def test_labels_with_a_comma_are_shown_in_quotes() -> None:
    shown = run("design", "k-ary", "--categories", 'no,"yes, once"', "--gamma", "2").out
    assert 'no, "yes, once"\n' in shown


def test_labels_from_a_file() -> None:
    Path("labels.txt").write_text("never\nyes, once\n often \n\n", encoding="utf-8-sig")
    made = run("design", "k-ary", "--categories", "@labels.txt", "--gamma", "2", "--json").json()
    assert made["design"]["inputs"] == ["never", "yes, once", "often"]
    made = run("design", "bits", "--items", "@labels.txt", "--gamma", "8", "--json").json()
    assert made["k"] == 8
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


@pytest.mark.parametrize("option", ["--categories", "--reports"])
@pytest.mark.parametrize("labels", ["a,b,", ",a", "a,,b", 'a,""', ""])
def test_empty_labels_are_refused(option: str, labels: str) -> None:
    refused("design", "warner", "--p", "0.7", option, labels, saying="is empty", kind="bad_labels")


def test_what_a_k_ary_design_does_in_words() -> None:
    shown = run("design", "k-ary", "--k", "4", "--epsilon", "1").out
    assert "  made as       k-ary, epsilon = 1\n" in shown
    assert "reports the truth with 47.5 %, each other answer with 17.5 %\n" in shown
    shown = run("design", "k-ary", "--k", "5000", "--gamma", "3").out
    assert "reports the truth with 0.060 %, each other answer with 0.020 %\n" in shown


def test_the_matrix_of_a_small_design() -> None:
    lines = run("design", "warner", "--p", "0.7").out.splitlines()
    assert "  made as       warner, p = 7/10" in lines
    start = next(i for i, line in enumerate(lines) if line.startswith("  report \\ truth"))
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["yes", "0.7000", "0.3000"],
        ["no", "0.3000", "0.7000"],
    ]
    assert "report \\ truth" not in run("design", "rappor", "--k", "9", "--epsilon", "1").out
    sets = run("design", "l-diverse", "--k", "3", "--l", "2").out
    assert [line.split() for line in sets.splitlines() if line.startswith("  011")] == [
        ["011", "0", "0.5000", "0.5000"]
    ]
    wide = run("design", "forced", "--truth", "0.99999", "--yes", "0.000005", "--no", "0.000005").out
    assert "5.0e-06" in wide


def test_articles_and_counts() -> None:
    assert run("design", "oue", "--k", "3", "--epsilon", "1").out.startswith("An oue design over ")
    assert run("design", "l-diverse", "--k", "4", "--l", "2").out.startswith("An l-diverse design over ")
    one = run("design", "subset", "--k", "4", "--gamma", "3", "--size", "1").out
    assert "4 sets of 1 category, " in one


def test_items_by_number() -> None:
    made = run("design", "bits", "--items", "3", "--gamma", "8", "--json").json()
    assert (made["k"], made["parity_exact"]) == (8, "8")


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


def test_a_matrix_by_rows() -> None:
    Path("p.csv").write_text("1/2,1/4,1/4\n1/8,1/4,5/8\n", encoding="utf-8")
    refused("design", "matrix", "p.csv", saying="--rows", kind="orientation")
    made = run("design", "matrix", "p.csv", "--rows", "--categories", "yes,no", "--json").json()
    assert (made["k"], made["m"], made["design"]["inputs"]) == (2, 3, ["yes", "no"])


@pytest.mark.parametrize(
    ("content", "saying"),
    [
        ("", "empty"),
        ("0.5,nan\n0.5,0.5\n", "lines of"),
        ("0.5,0.5\n0.5\n", "lines of"),
        ("1.000000000001,0.5\n-0.000000000001,0.5\n", "negative"),
        ("0.5,0.6\n0.5,0.6\n", "sums to 1.2"),
        ("0.5,x\n0.5,0.5\n", "not a finite number"),
        ("0.5,inf\n0.5,0.5\n", "not a finite number"),
    ],
)
def test_bad_matrices(content: str, saying: str) -> None:
    Path("p.csv").write_text(content, encoding="utf-8")
    refused("design", "matrix", "p.csv", "-o", "d.json", saying=saying if saying != "lines of" else "")


@pytest.mark.parametrize(
    ("name", "content"),
    [("p.json", "{"), ("p.json", "[]"), ("p.json", "[1, 2]"), ("p.json", '{"a": 1}'), ("p.npy", "x"), ("p.txt", "1")],
)
def test_bad_matrix_files(name: str, content: str) -> None:
    Path(name).write_text(content, encoding="utf-8")
    refused("design", "matrix", name, "-o", "d.json")


def test_kronecker() -> None:
    run("design", "warner", "--p", "3/4", "-o", "w.json")
    made = run("design", "kronecker", "w.json", "w.json", "--json").json()
    assert (made["k"], made["parity_exact"]) == (4, "9")
    assert "(yes, yes), (yes, no), " in run("design", "kronecker", "w.json", "w.json").out
    run("design", "subset", "--k", "4", "--gamma", "3", "-o", "s.json")
    refused("design", "kronecker", "w.json", "s.json", "-o", "both.json", saying="set")


@pytest.mark.parametrize(
    ("args", "saying"),
    [
        (["k-ary", "--k", "3", "--gamma", "1"], "gamma"),
        (["k-ary", "--k", "3", "--gamma", "0.5"], "gamma"),
        (["k-ary", "--k", "3", "--gamma", "nan"], "nan"),
        (["k-ary", "--k", "3", "--gamma", "inf"], "inf"),
        (["k-ary", "--k", "3", "--epsilon", "0"], "epsilon"),
        (["k-ary", "--k", "3", "--epsilon", "-1"], "epsilon"),
        (["k-ary", "--k", "3", "--rho", "0.5", "0.1"], "rho"),
        (["k-ary", "--k", "1", "--gamma", "3"], "1"),
        (["k-ary", "--k", "2.5", "--gamma", "3"], "k = 2.5"),
        (["k-ary", "--categories", "a", "--gamma", "3"], "1"),
        (["k-ary", "--categories", "a,b,a", "--gamma", "3"], "'a' appears twice"),
        (["k-ary", "--categories", "a,b", "--k", "3", "--gamma", "3"], "--k 3"),
        (["k-ary", "--gamma", "3"], "--categories"),
        (["k-ary", "--k", "3"], "privacy demand"),
        (["k-ary", "--k", "3", "--gamma", "3", "--epsilon", "1"], "two demands"),
        (["subset", "--k", "3", "--gamma", "3", "--size", "3"], "size"),
        (["subset", "--k", "3", "--gamma", "1"], "gamma"),
        (["warner", "--p", "1/2"], "1/2"),
        (["warner", "--p", "70"], "0.7"),
        (["warner", "--p", "a"], "'a'"),
        (["warner", "--p", "0.7", "--categories", "a,b,c"], "3 categories"),
        (["l-diverse", "--k", "4", "--l", "5"], "5"),
        (["matrix", "no-such.csv"], "no-such.csv"),
        (["kronecker", "no-such.json"], "no-such.json"),
    ],
)
def test_bad_parameters(args: list[str], saying: str) -> None:
    refused("design", *args, "-o", "d.json", saying=saying)


def test_an_existing_file_is_replaced_only_when_told() -> None:
    run("design", "warner", "--p", "0.7", "-o", "d.json")
    refused("design", "warner", "--p", "0.8", "-o", "d.json", saying="--force")
    run("design", "warner", "--p", "0.8", "-o", "d.json", "--force")
    assert load_design("d.json").parity_exact() == 4
    refused("design", "kronecker", "d.json", "d.json", "-o", "d.json", "--force", saying="also an input")


def test_a_new_file_has_the_usual_permissions() -> None:
    run("design", "warner", "--p", "0.7", "-o", "d.json")
    Path("other").touch()
    assert stat.S_IMODE(Path("d.json").stat().st_mode) == stat.S_IMODE(Path("other").stat().st_mode)


@pytest.mark.parametrize("output", ["no/such/folder/d.json", "."])
def test_an_unwritable_place(output: str) -> None:
    refused("design", "warner", "--p", "0.7", "-o", output, kind="bad_data_file")


def test_json_and_standard_output_exclude_each_other() -> None:
    run("design", "warner", "--p", "0.7", "-o", "-", "--json", status=2)


# ---- designs of several questions


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


# ---- a demand in place of a parameter


@pytest.mark.parametrize(
    ("args", "parameters"),
    [
        (["warner", "--gamma", "3"], {"p": "3/4"}),
        (["warner", "--max-ratio", "41"], {"p": "41/42"}),
        (["crosswise", "--rho", "0.1", "0.5"], {"q": "9/10"}),
        (["mangat-singh", "--t", "0.3", "--gamma", "4"], {"t": "3/10", "p": "5/7"}),
        (["simmons", "--beta", "0.1", "--max-ratio", "4"], {"p": "3/13", "beta": "1/10"}),
        (["simmons", "--beta", "0.1", "--gamma", "41"], {"p": "4/5", "beta": "1/10"}),
        (["forced", "--yes", "1/6", "--max-ratio", "5"], {"truth": "2/3", "yes": "1/6", "no": "1/6"}),
        (["mangat", "--max-ratio", "10/3"], {"p": "7/10"}),
        (["triangular", "--max-ratio", "4"], {"q": "1/4"}),
        (
            ["kuk", "--theta2", "0.2", "--draws", "3", "--max-ratio", "8"],
            {"theta1": "2/5", "theta2": "1/5", "draws": "3"},
        ),
    ],
)
def test_a_demand_in_place_of_a_parameter(args: list[str], parameters: dict[str, str]) -> None:
    found = run("design", *args, "--json").json()["design"]["provenance"]
    assert found["parameters"] == parameters and found["demand"]


def test_the_demand_is_kept_to_where_it_must_be_rounded() -> None:
    design_file("w.json", "warner", "--epsilon", "1", "--categories", "user,other", "--reports", "true,false")
    found = run("audit", "w.json", "--epsilon", "1", "--json").json()
    assert found["meets"] and found["epsilon"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["warner"], "missing option '--p'"),
        (["forced", "--truth", "0.7", "--yes", "0.1"], "missing option '--no'"),
        (["warner", "--p", "0.7", "--gamma", "3"], "--p and --gamma 3 both decide"),
        (["warner", "--max-ratio", "4", "--gamma", "3"], "two bounds"),
        (["warner", "--beta", "3", "--gamma", "3"], "are two demands"),
        (["warner", "--gamma", "1"], "leaves no information"),
        (["warner", "--max-ratio", "1"], "give a value above 1"),
        (["simmons", "--gamma", "3"], "give beta"),
        (["forced", "--yes", "0.2", "--max-ratio", "6"], "range from 1 to 5"),
        (["mangat", "--gamma", "3"], "a bound on the ratio is possible"),
    ],
)
def test_refused(args: list[str], said: str) -> None:
    refused("design", *args, saying=said)
