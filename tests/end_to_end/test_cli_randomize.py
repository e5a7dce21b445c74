"""``maskwell randomize``: every kind of file, every policy, and every bad input."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from tests.support.command_line import design_file, refused, run
from tests.support.fuzzing import run_command

from maskwell.engines import record_reader

ROWS = [(i, ["never", "once", "often"][i * i % 3], f"note {i}") for i in range(1000)]


@pytest.fixture
def d() -> str:
    design_file("d.json", "k-ary", "--categories", "never,once,often", "--gamma", "3")
    return "d.json"


@pytest.fixture
def answers(d: str) -> str:
    write_csv("a.csv", ROWS)
    return "a.csv"


def write_csv(name: str, rows: Any, header: str = "id,drugs,note") -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        file.write(header + "\n")
        csv.writer(file, lineterminator="\n").writerows(rows)


def column(name: str, at: int = 1) -> list[str]:
    opened = gzip.open if name.endswith(".gz") else open
    with opened(name, "rt", encoding="utf-8", newline="") as file:
        return [row[at] for row in csv.reader(file)][1:]


def test_two_runs_differ_and_a_seed_repeats(answers: str) -> None:
    for name in ("1.csv", "2.csv"):
        run("randomize", answers, "--design", "drugs=d.json", "-o", name)
    assert column("1.csv") != column("2.csv")
    for name in ("3.csv", "4.csv"):
        done = run("randomize", answers, "--design", "drugs=d.json", "-o", name, "--seed", "7", "--json")
        assert done.json()["private"] is False and "not private" in done.err
    assert Path("3.csv").read_bytes() == Path("4.csv").read_bytes()


def identity_file() -> None:
    Path("identity.csv").write_text("1,0\n0,1\n", encoding="utf-8")
    design_file("id.json", "matrix", "identity.csv", "--categories", "x,y")


def test_several_columns_together(d: str) -> None:
    design_file("two.json", "k-ary", "--categories", "yes,no", "--gamma", "7/2")
    run("design", "kronecker", "two.json", "two.json", "-o", "both.json")
    design_file("l.json", "l-diverse", "--categories", "yes,no,other", "--l", "2")
    write_csv("a.csv", [("never", "yes", "no")], header="drugs,b,c")
    joint = {
        ("drugs=d.json",): None,
        ("drugs=d.json", "b=two.json"): (10.5, "21/2"),
        ("b,c=both.json",): (12.25, "49/4"),
        ("drugs=d.json", "b,c=both.json"): (36.75, "147/4"),
        ("drugs=d.json", "b=l.json"): ("inf", "inf"),
    }
    for designs, parity in joint.items():
        args = [word for design in designs for word in ("--design", design)]
        found = run("randomize", "a.csv", *args, "-o", "r.csv", "--force", "--json").json()
        shown = run("randomize", "a.csv", *args, "-o", "r.csv", "--force").out
        assert shown.startswith("1 row randomized, ")
        if parity is None:
            assert "parity_joint" not in found and "together" not in shown
        else:
            assert (found["parity_joint"], found["parity_joint_exact"]) == parity
            told = "infinite" if parity[0] == "inf" else f"{parity[0]:g}"
            assert f"  together: parity {told}\n" in shown


def test_nothing_else_changes_in_a_csv(d: str) -> None:
    identity_file()
    text = b'id,y,"a ""b"", c",empty\r\n1,x,"q,""r""",\r\n2,y,,""\r\n3,x,"",\r\n'
    Path("a.csv").write_bytes(text)
    run("randomize", "a.csv", "--design", "y=id.json", "-o", "r.csv")
    assert Path("r.csv").read_bytes() == text
    Path("b.csv").write_bytes(b"\xef\xbb\xbfy\nx\ny\n")
    run("randomize", "b.csv", "--design", "y=id.json", "-o", "rb.csv")
    assert Path("rb.csv").read_bytes() == b"y\nx\ny\n"


def test_standard_input_output_and_a_pipe_between_processes(answers: str) -> None:
    stdin = Path(answers).read_bytes()
    done = run("randomize", "-", "--design", "drugs=d.json", "-o", "-", "--seed", "1", stdin=stdin)
    run("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv", "--seed", "1")
    assert done.out == Path("r.csv").read_text(encoding="utf-8") and "1,000 rows" in done.err
    run("randomize", "-", "--design", "drugs=d.json", "-o", "-", "--json", stdin=stdin, status=2)
    data = Path(answers).read_bytes()
    made = run_command(["randomize", "-", "--design", "drugs=d.json", "-o", "-"], Path(), stdin=data)
    assert made.status == 0, made.err
    found = run_command(["estimate", "-", "--design", "drugs=d.json", "--json"], Path(), stdin=made.out)
    assert found.status == 0, found.err
    assert json.loads(found.out)["n"] == 1000
    stdin = Path(answers).read_bytes() + b"x,sometimes,y\n"
    command = ("randomize", "-", "--design", "drugs=d.json", "-o", "-")
    refused(*command, stdin=stdin, saying="in data row 1001", values="'sometimes' (1 time)")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_missing_values(d: str, kind: str) -> None:
    design_file("m.json", "k-ary", "--categories", "never,once,missing", "--gamma", "3")
    identity_file()
    write_csv("plain.csv", [(1, "never", "x"), (2, "", "x"), (3, "once", "x"), (4, "", "x")])
    run("randomize", "plain.csv", "--design", "note=id.json", "-o", f"a.{kind}")
    source = f"a.{kind}"
    said = refused("randomize", source, "--design", "drugs=d.json", "-o", "r.csv", saying="2 of 4 values are missing")
    assert "row 2" in said
    dropped = run("randomize", source, "--design", "drugs=d.json", "-o", "r.csv", "--missing", "drop", "--json").json()
    assert (dropped["rows"], dropped["dropped"], dropped["columns"]["drugs"]["missing"]) == (2, 2, 2)
    assert column("r.csv", 0) == ["1", "3"]
    kept = run("randomize", source, "--design", "drugs=m.json", "-o", "k.csv", "--missing", "category", "--json").json()
    assert (kept["rows"], kept["columns"]["drugs"]["missing"]) == (4, None)  # their number is protected too
    args = ["randomize", source, "--design", "drugs=d.json", "-o", "q.csv", "--missing", "category"]
    said = refused(*args, saying="no category 'missing'", kind="missing_values")
    assert "--categories never,once,often,missing" in said


def test_unknown_categories_are_counted_over_the_whole_file(d: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 8)
    write_csv("a.csv", [(i, "Never" if i % 10 == 3 else "often" if i % 2 else "smtms", "") for i in range(1000)])
    told = "'smtms' (500 times), 'Never' (100 times)"
    command = ("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv")
    said = refused(*command, kind="unknown_category", values=told)
    assert "column 'drugs': 600 of 1,000 values are not categories of the design, the first in data row 1" in said
    assert "allowed: 'never', 'once', 'often'" in said


def test_files_that_cannot_be_and_columns_that_are_not_there(answers: str) -> None:
    refused("randomize", answers, "--design", "drug=d.json", "-o", "r.csv", saying="did you mean 'drugs'?")
    refused("randomize", answers, "--design", "xyz=d.json", "-o", "r.csv", saying="id, drugs, note")
    args = ["--design", "drugs=d.json", "--design", "drugs=d.json"]
    refused("randomize", answers, *args, "-o", "r.csv", saying="two designs were given for the column 'drugs'")
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "r.xls", saying="known extensions")
    refused("randomize", "a.txt", "--design", "drugs=d.json", "-o", "r.csv", saying="known extensions")
    refused("randomize", "none.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="does not exist")
    refused("randomize", answers, "--design", "drugs=none.json", "-o", "r.csv", saying="none.json")
    refused(
        "randomize",
        "a.xls",
        "--design",
        "drugs=d.json",
        "-o",
        "r.csv",
        saying="a.xls: .xls is not a known file extension",
    )
    refused(
        "randomize",
        "a",
        "--design",
        "drugs=d.json",
        "-o",
        "r.csv",
        saying="a needs a file extension that identifies its format",
    )
    refused(
        "randomize", answers, "--design", "drugs", "-o", "r.csv", saying="--design drugs does not name a design file"
    )
    for text, lacks in (("drugs=", "design file"), ("=d.json", "column"), ("d.json", "column")):
        refused(
            "randomize", answers, "--design", text, "-o", "r.csv", saying=f"--design {text} does not name a {lacks}"
        )


@pytest.mark.parametrize("content", [b"id,drugs\n1,never,3\n", b"id,drugs\n1\n", b"\xff\xfe,drugs\n1,never\n"])
def test_damaged_csv(d: str, content: bytes) -> None:
    Path("a.csv").write_bytes(content)
    refused("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="a.csv", kind="bad_data_file")


def test_reports_are_not_randomized_again_nor_two_answers_by_columns(answers: str) -> None:
    run("randomize", answers, "--design", "drugs=d.json", "-o", "r.parquet")
    refused("randomize", "r.parquet", "--design", "drugs=d.json", "-o", "rr.csv", saying="already holds reports")
    design_file("other.json", "k-ary", "--categories", "never,once,often", "--gamma", "4")
    refused("estimate", "r.parquet", "--design", "drugs=other.json", saying="another design", kind="bad_report")
    run("design", "warner", "--p", "0.7", "-o", "warner.json")  # 'yes' and 'no' have different lengths
    run("design", "repeated", "warner.json", "warner.json", "-o", "twice.json")
    Path("pairs.csv").write_text("first,second\nyes,no\n", encoding="utf-8")
    command = ["randomize", "pairs.csv", "--design", "first,second=twice.json", "-o", "out.csv"]
    refused(*command, saying="files are randomized column by column")


def test_a_key_keeps_the_draws_in_every_file(answers: str) -> None:
    run("release", "--new-key", "survey.key")
    kept = ["--design", "drugs=d.json", "--key", "survey.key", "--dataset", "survey", "--id", "id"]
    write_csv("backwards.csv", ROWS[::-1])
    for source, output in ((answers, "one.csv"), (answers, "two.csv.gz"), ("backwards.csv", "three.csv")):
        run("randomize", source, *kept, "-o", output)
    assert column("one.csv") == column("two.csv.gz") == column("three.csv")[::-1] != column(answers)
    told = refused("randomize", answers, *kept[:4], "--id", "id", "-o", "four.csv")
    assert "--key needs --dataset" in told and "--id" in told
    assert "--key needs --id" in refused("randomize", answers, *kept[:6], "-o", "four.csv")
    assert "one of them" in refused("randomize", answers, *kept, "--seed", "1", "-o", "four.csv")
