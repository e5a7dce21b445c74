"""``maskwell estimate``."""

from __future__ import annotations

from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.support.command_line import design_file, refused, run

from maskwell.estimation.share_intervals import METHODS

KEYS = {"n", "method", "variables", "estimates", "covariance", "sampling_variance", "randomization_variance", "flags"}


@pytest.fixture
def warner() -> str:
    design_file("w.json", "warner", "--p", "0.7")
    return "w.json"


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_json_holds_what_is_promised(warner: str) -> None:
    write("r.csv", "answer\n" + "yes\n" * 120 + "no\n" * 180)
    found = run("estimate", "r.csv", "--design", "answer=w.json", "--json").json()
    assert set(found) >= KEYS
    assert (found["n"], found["method"], found["variables"], found["level"]) == (300, "moments", ["answer"], 0.95)
    yes, no = found["estimates"]
    assert (yes["category"], no["category"]) == ("yes", "no")
    assert yes["estimate"] == pytest.approx(0.25)
    assert yes["standard_error"] == pytest.approx(0.0708, abs=5e-5)
    assert yes["interval"] == pytest.approx([0.1154, 0.3909], abs=5e-5)
    assert found["interval_method"] == "score"
    assert len(found["covariance"]) == len(found["sampling_variance"]) == 2


def test_counted_reports_give_the_same(warner: str) -> None:
    write("r.csv", "answer\n" + "yes\n" * 120 + "no\n" * 180)
    write("c.csv", "answer,n\nyes,100\nno,180\nyes,20\n")
    pq.write_table(pa.table({"answer": ["yes", "no"], "n": pa.array([120.0, 180.0])}), "c.parquet")
    rows = run("estimate", "r.csv", "--design", "answer=w.json", "--json").json()
    for name in ("c.csv", "c.parquet"):
        counted = run("estimate", name, "--design", "answer=w.json", "--counts", "n", "--json").json()
        assert {k: counted[k] for k in KEYS} == {k: rows[k] for k in KEYS}


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", "", "1" * 30])
def test_bad_counts(warner: str, bad: str) -> None:
    write("c.csv", f"answer,n\nyes,100\nno,{bad}\n")
    said = refused("estimate", "c.csv", "--design", "answer=w.json", "--counts", "n", saying="'n'", kind="bad_report")
    assert "in row 2" in said
    assert "arrow" not in said.lower()
    assert "int64" not in said
    refused("estimate", "c.csv", "--design", "answer=w.json", "--counts", "m", saying="no column 'm'")


def test_what_people_see(warner: str) -> None:
    write("c.csv", "answer,n\nyes,120\nno,180\n")
    lines = run("estimate", "c.csv", "--design", "answer=w.json", "--counts", "n").out.splitlines()
    assert lines[0] == "answer = yes: 0.250 (95 % score interval 0.115 to 0.391; 300 reports)."
    assert lines[1].split() == ["answer", "estimate", "std.", "error", "from", "to"]
    assert lines[2].split() == ["yes", "0.250", "0.071", "0.115", "0.391"]
    assert lines[2].index(".") == lines[3].index(".")
    assert lines[-1].startswith("Next: ")
    assert "Randomization makes up 87 % of the variance, sampling the rest." in lines
    assert max(map(len, lines)) <= 100


def test_a_level(warner: str) -> None:
    write("c.csv", "answer,n\nyes,120\nno,180\n")
    args = ["estimate", "c.csv", "--design", "answer=w.json", "--counts", "n"]
    wide, narrow = (run(*args, "--level", level, "--json").json() for level in ("0.99", "1/2"))
    assert wide["estimates"][0]["interval"][0] < narrow["estimates"][0]["interval"][0]
    refused(*args, "--level", "95", saying="write 0.95)")
    refused(*args, "--level", "95%", saying="0.95 for 95 %")
    refused(*args, "--level", "1")


def test_a_joint_table(warner: str) -> None:
    design_file("k.json", "k-ary", "--categories", "a,b,c", "--gamma", "5")
    write("r.csv", "x,y\n" + "yes,a\n" * 40 + "no,b\n" * 50 + "no,c\n" * 10)
    found = run("estimate", "r.csv", "--design", "x=w.json", "--design", "y=k.json", "--json").json()
    assert found["variables"] == ["x", "y"]
    assert [row["category"] for row in found["estimates"][:2]] == [["yes", "a"], ["yes", "b"]]
    assert sum(row["estimate"] for row in found["estimates"]) == pytest.approx(1)
    shown = run("estimate", "r.csv", "--design", "x=w.json", "--design", "y=k.json").out
    assert shown.startswith("x x y = (")
    assert shown.splitlines()[-2:] == [
        "The reports of one person reveal more together: their parities multiply.",
        "Next: what each report reveals: maskwell audit w.json; maskwell audit k.json",
    ]
    design_file("s.json", "subset", "--k", "3", "--gamma", "5")
    refused("estimate", "r.csv", "--design", "x=w.json", "--design", "y=s.json", saying="set")


def test_the_design_must_be_the_one_that_made_the_reports(warner: str) -> None:
    write("a.csv", "answer\n" + "yes\nno\n" * 50)
    design_file("other.json", "warner", "--p", "0.8")
    run("randomize", "a.csv", "--design", "answer=w.json", "-o", "r.parquet")
    run("estimate", "r.parquet", "--design", "answer=w.json")
    refused("estimate", "r.parquet", "--design", "answer=other.json", saying="another design", kind="bad_report")


def test_missing_reports(warner: str) -> None:
    write("r.csv", "id,answer\n1,yes\n2,\n3,no\n4,no\n")
    refused("estimate", "r.csv", "--design", "answer=w.json", saying="1 of 4 values is missing")
    found = run("estimate", "r.csv", "--design", "answer=w.json", "--missing", "drop", "--json").json()
    assert (found["n"], found["dropped"]) == (3, 1)
    shown = run("estimate", "r.csv", "--design", "answer=w.json", "--missing", "drop").out
    assert "note: 1 of 4 rows had no report and was left out\n" in shown


def test_reports_that_the_design_does_not_know(warner: str) -> None:
    write("r.csv", "answer\nyes\nmaybe\n")
    refused("estimate", "r.csv", "--design", "answer=w.json", values="'maybe' (1 time)", kind="unknown_category")


def test_an_estimate_needs_two_reports(warner: str) -> None:
    write("r.csv", "answer\nyes\n")
    refused("estimate", "r.csv", "--design", "answer=w.json", saying="at least two")


@pytest.mark.parametrize("bad", ["110", "11000", "1a00", "1110", "0000"])
def test_bad_set_reports(bad: str) -> None:
    design_file("s.json", "subset", "--categories", "a,b,c,d", "--gamma", "3", "--size", "2")
    write("r.csv", f"y\n1100\n{bad}\n")
    refused("estimate", "r.csv", "--design", "y=s.json", kind="bad_report")


def test_set_reports_read_as_numbers_are_refused() -> None:
    design_file("s.json", "subset", "--categories", "a,b,c,d", "--gamma", "3", "--size", "2")
    pq.write_table(pa.table({"y": [1100, 11]}), "r.parquet")
    refused("estimate", "r.parquet", "--design", "y=s.json", saying="leading zeros")


def test_a_design_that_cannot_be_estimated_from() -> None:
    design_file("h.json", "warner", "--p", "1/2", "--allow-unidentifiable")
    write("r.csv", "answer\nyes\nno\nno\n")
    refused("estimate", "r.csv", "--design", "answer=h.json", kind="not_identifiable")


def test_estimates_outside_the_unit_interval_are_explained(warner: str) -> None:
    write("c.csv", "answer,n\nyes,10\nno,90\n")
    found = run("estimate", "c.csv", "--design", "answer=w.json", "--counts", "n", "--json").json()
    assert found["estimates"][0]["estimate"] < 0
    assert any("outside" in flag for flag in found["flags"])
    shown = run("estimate", "c.csv", "--design", "answer=w.json", "--counts", "n").out
    assert "note: " in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_very_many_categories() -> None:
    design_file("k.json", "k-ary", "--k", "3000", "--gamma", "50")
    write("r.csv", "y\n" + "".join(f"{i % 3000}\n" for i in range(6000)))
    found = run("estimate", "r.csv", "--design", "y=k.json", "--json").json()
    assert found["covariance"] is None
    assert "more: --json gives all" in run("estimate", "r.csv", "--design", "y=k.json").out


def test_two_answers_of_each_person_in_two_columns() -> None:
    design_file("t.json", "simmons-twice", "--p1", "0.6", "--p2", "0.7", "--reports", "1,0")
    write("r.csv", "i,j,n\n1,1,40\n1,0,20\n0,1,22\n0,0,118\n")
    options = ["estimate", "r.csv", "--design", "i,j=t.json", "--counts", "n"]
    found = run(*options, "--json").json()
    assert [row["category"] for row in found["estimates"]] == [
        ["yes", "yes"],
        ["yes", "no"],
        ["no", "yes"],
        ["no", "no"],
    ]
    own = found["wanted"]["estimates"][0]
    assert (found["wanted"]["variable"], own["category"]) == ("own answer", "yes")
    assert own["estimate"] == pytest.approx(0.34)
    shown = run(*options).out
    assert shown.startswith("own answer = yes: 0.340 (95 % score interval")
    assert "parities multiply" not in shown


def test_directly_asked_columns_alone() -> None:
    write("r.csv", "smokes\n" + "yes\n" * 30 + "no\n" * 70)
    found = run("estimate", "r.csv", "--direct", "smokes", "--json").json()
    assert {row["category"]: row["estimate"] for row in found["estimates"]} == pytest.approx({"no": 0.7, "yes": 0.3})
    lines = run("estimate", "r.csv", "--direct", "smokes").out.splitlines()
    assert lines[-1].startswith("Next: ")
    assert not any("Randomization" in line for line in lines)
    refused("estimate", "r.csv", saying="no column to estimate")


def test_shares_of_a_known_population(warner: str) -> None:
    write("r.csv", "answer,w\n" + "yes,2\n" * 120 + "no,3\n" * 180)
    options = ["estimate", "r.csv", "--design", "answer=w.json", "--weights", "w"]
    ratio, known = (run(*options, *more, "--json").json() for more in ([], ["--denominator", "1000"]))
    assert ratio["population"] == 780
    assert known["population"] == 1000
    assert "the weights add up to 780, and shares are of 1,000: they do not sum to 1" in known["flags"]
    assert not any("sum to 1" in flag for flag in ratio["flags"])
    assert known["estimates"][0]["total"] == pytest.approx(ratio["estimates"][0]["total"])
    assert known["estimates"][0]["estimate"] == pytest.approx(ratio["estimates"][0]["estimate"] * 0.78)
    refused(*options, "--denominator", "0", saying="denominator")
    refused("estimate", "r.csv", "--design", "answer=w.json", "--denominator", "9", saying="--denominator without")


def test_quantities_by_name() -> None:
    """Text, JSON and tables to paste hold them; A,B is the same as A+B."""
    run("design", "k-ary", "--categories", "never,once,often", "--gamma", "9", "-o", "kary.json")
    Path("few.csv").write_text("y,n,g\nnever,300,a\nonce,70,a\nonce,50,b\noften,80,b\n")
    command = ("estimate", "few.csv", "--design", "y=kary.json", "--counts", "n", "--combine", "any=once,often")
    found = run(*command, "--contrast", "gap=often-never", "--ratio", "r=often/any", "--json").json()
    assert [one["name"] for one in found["quantities"]] == ["any", "gap", "r"]
    assert found["quantities"][0]["estimate"] == pytest.approx(0.3)
    assert found["quantities"][0]["interval_method"] == "score"
    assert "once + often" in run(*command).out
    table = run(*command, "--format", "latex").out
    assert "\nany & " in table and "any: once + often." in table
    assert run(*command, "--format", "csv").out.splitlines()[-1].startswith("any,0.3")
    only = run(*command, "--where", "g=b", "--json").json()
    assert (only["n"], only["where"]) == (130, "g=b")
    groups = run(*command, "--by", "g", "--contrast", "d=a-b", "--json").json()["quantities"]
    assert [one["category"] for one in groups if one["kind"] == "groups"] == ["never", "once", "often", "any"]
    refused(*command, "--combine", "all=", saying="a name and its categories")
    refused(*command, "--contrast", "gap=often-weekly", saying="no category 'weekly'")
    refused(*command, "--where", "g=c", saying="no row with a report fits")


def test_every_method_of_intervals_is_a_choice_and_a_bootstrap_is_repeated_by_its_seed(warner: str) -> None:
    Path("y.csv").write_text("y\n" + "yes\nno\nyes\n" * 40, encoding="utf-8")
    command = ["estimate", "y.csv", "--design", f"y={warner}", "--json"]
    for method in METHODS:
        if method not in ("bootstrap", "wilson"):
            assert run(*command, "--interval", method).json()["interval_method"] == method
    first, second, other = (run(*command, "--interval", "bootstrap", "--seed", n).json() for n in ("1", "1", "2"))
    assert first["interval_method"] == "bootstrap"
    assert first["estimates"] == second["estimates"] != other["estimates"]
    refused(*command[:-1], "--interval", "bootstrap", saying="--interval bootstrap needs --seed")
    refused(*command[:-1], "--seed", "1", saying="--seed needs --interval bootstrap")
    refused(*command[:-1], "--interval", "boot", saying="there is no choice 'boot'")


def test_columns_that_are_named_by_nothing_are_refused(warner: str) -> None:
    Path("y.csv").write_text("y\nyes\nno\n", encoding="utf-8")
    for more in (["--combine", "x=a+b"], ["--contrast", "x=a-b"], []):
        refused("estimate", "y.csv", "--direct", "", *more, saying="names no column")
    refused("estimate", "y.csv", "--design", f"y={warner}", "--by", "", saying="names no column")


def test_labels_with_signs_are_found_in_contrasts_and_two_readings_are_refused() -> None:
    Path("y.csv").write_text("y\n" + "self-employed\nemployed\nother\n" * 20, encoding="utf-8")
    quantity = run("estimate", "y.csv", "--direct", "y", "--contrast", "gap=self-employed-employed", "--json").json()
    assert quantity["quantities"][0]["of"] == "self-employed - employed"
    said = refused(
        "estimate", "y.csv", "--direct", "y", "--contrast", "gap=self-employd-employed", saying="no category"
    )
    assert "quote labels with signs: '\"self-employed\"-...'" in said
    Path("z.csv").write_text("z\n" + "a\nb\na-b\n" * 20, encoding="utf-8")
    said = refused("estimate", "z.csv", "--direct", "z", "--contrast", "gap=a-b", saying="read in two ways")
    assert """'gap="a-b"' or 'gap="a"-"b"'""" in said
    for text, of in (('gap="a"-"b"', "a - b"), ('gap="a-b"-b', "a-b - b")):
        ran = run("estimate", "z.csv", "--direct", "z", "--contrast", text, "--json").json()
        assert ran["quantities"][0]["of"] == of
