"""``maskwell randomize``: every kind of file, every policy, and every bad input."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.support.command_line import design_file, refused, run
from tests.support.fuzzing import run_command

from maskwell.designs import load_design
from maskwell.engines import arrow_files, record_reader

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


def test_json_holds_what_is_promised(answers: str) -> None:
    done = run("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv", "--json")
    found = done.json()
    assert (found["rows"], found["output"], found["private"], found["dropped"]) == (1000, "r.csv", True, 0)
    about = found["columns"]["drugs"]
    assert about == {
        "design": load_design("d.json").fingerprint,
        "k": 3,
        "encoding": "codes",
        "parity": 3.0,
        "private": True,
        "missing": 0,
    }
    assert done.err == ""
    assert 400 < sum(a == b[1] for a, b in zip(column("r.csv"), ROWS, strict=True)) < 800
    assert column("r.csv", 2) == [row[2] for row in ROWS]


def test_two_runs_differ_and_a_seed_repeats(answers: str) -> None:
    for name in ("1.csv", "2.csv"):
        run("randomize", answers, "--design", "drugs=d.json", "-o", name)
    assert column("1.csv") != column("2.csv")
    for name in ("3.csv", "4.csv"):
        done = run("randomize", answers, "--design", "drugs=d.json", "-o", name, "--seed", "7", "--json")
        assert done.json()["private"] is False
        assert "not private" in done.err
    assert Path("3.csv").read_bytes() == Path("4.csv").read_bytes()


def test_what_people_see(answers: str) -> None:
    lines = run("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv").out.splitlines()
    assert lines[0] == "1,000 rows randomized, written to r.csv."
    assert lines[-1] == "Next: maskwell estimate r.csv --design drugs=d.json"
    run(*lines[-1].split()[2:])


KINDS = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "arrow"]


@pytest.mark.parametrize(("before", "after"), [*zip(KINDS, [*KINDS[2:], *KINDS[:2]], strict=True)])
def test_every_kind_of_file_gives_the_same_reports(answers: str, before: str, after: str) -> None:
    run("randomize", answers, "--design", "drugs=d.json", "-o", "direct.csv", "--seed", "1")
    run("design", "matrix", identity(), "--categories", "x,y", "-o", "id.json")
    write_csv("plain.csv", [(*row, "x") for row in ROWS], header="id,drugs,note,same")
    run("randomize", "plain.csv", "--design", "same=id.json", "-o", f"in.{before}")
    run("randomize", f"in.{before}", "--design", "drugs=d.json", "-o", f"out.{after}", "--seed", "1")
    run("design", "matrix", identity(), "--categories", "never,once,often", "--force", "-o", "id3.json")
    shares = run("estimate", f"out.{after}", "--design", "drugs=d.json", "--json").json()
    direct = run("estimate", "direct.csv", "--design", "drugs=d.json", "--json").json()
    assert shares["estimates"] == direct["estimates"]
    if after.startswith("csv"):
        assert column(f"out.{after}") == column("direct.csv")
        assert column(f"out.{after}", 2) == [row[2] for row in ROWS]


def identity() -> str:
    Path("i2.csv").write_text("1,0\n0,1\n", encoding="utf-8")
    Path("i3.csv").write_text("1,0,0\n0,1,0\n0,0,1\n", encoding="utf-8")
    return "i3.csv" if Path("id.json").exists() else "i2.csv"


@pytest.mark.parametrize("family", ["k-ary", "subset", "oue"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_the_size_of_batches_changes_nothing(
    answers: str, family: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    design_file("f.json", family, "--categories", "never,once,often", "--gamma", "3")
    run("design", "matrix", identity(), "--categories", "x,y", "-o", "id.json")
    write_csv("plain.csv", [(*row, "x") for row in ROWS], header="id,drugs,note,same")
    run("randomize", "plain.csv", "--design", "same=id.json", "-o", f"in.{kind}")
    made = []
    for size in (1 << 6, 1 << 9, 1 << 20):
        monkeypatch.setattr(record_reader, "BLOCK_BYTES", 16 * size)
        monkeypatch.setattr(arrow_files, "BATCH_ROWS", size)
        monkeypatch.setattr(arrow_files, "BATCH_ROWS", size)
        monkeypatch.setattr(arrow_files, "GROUP_ROWS", 2 * size)
        run("randomize", f"in.{kind}", "--design", "drugs=f.json", "-o", "out.parquet", "--seed", "5", "--force")
        run("randomize", f"in.{kind}", "--design", "drugs=f.json", "-o", "out.csv", "--seed", "5", "--force")
        made.append((Path("out.csv").read_bytes(), pq.read_table("out.parquet").to_pydict()))
    assert made[0] == made[1] == made[2]


def test_parquet_keeps_types_and_describes_its_reports(d: str) -> None:
    table = pa.table(
        {
            "id": pa.array(range(6), pa.int16()),
            "drugs": pa.array(["never", "once", "often"] * 2).dictionary_encode(),
            "when": pa.array([None, 1, 2, 3, 4, 5], pa.timestamp("us")),
            "list": pa.array([[1], [], None, [2, 3], [4], [5]]),
        }
    )
    pq.write_table(table, "a.parquet")
    run("randomize", "a.parquet", "--design", "drugs=d.json", "-o", "r.parquet", "--seed", "1")
    made = pq.read_table("r.parquet")
    assert made.select(["id", "when", "list"]).equals(table.select(["id", "when", "list"]))
    assert pa.types.is_dictionary(made.schema.field("drugs").type)
    about = json.loads(made.schema.field("drugs").metadata[b"maskwell"])
    assert about == {"design": load_design("d.json").fingerprint, "k": 3, "encoding": "codes", "private": False}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float32(), pa.string(), pa.large_string(), pa.uint16()])
def test_labels_match_by_text_and_keep_the_type(kind: Any) -> None:
    design_file("d.json", "k-ary", "--categories", "1,2,3", "--gamma", "3")
    pq.write_table(pa.table({"y": pa.array([1, 2, 3] * 50, pa.int64()).cast(kind)}), "a.parquet")
    run("randomize", "a.parquet", "--design", "y=d.json", "-o", "r.parquet")
    made = pq.read_table("r.parquet")
    assert made.schema.field("y").type == kind
    assert {int(float(v)) for v in made["y"].to_pylist()} == {1, 2, 3}


def test_a_column_that_cannot_hold_the_reports_becomes_text() -> None:
    design_file("d.json", "warner", "--p", "0.7", "--categories", "1,0", "--reports", "red,blue")
    pq.write_table(pa.table({"y": pa.array([1, 0] * 50)}), "a.parquet")
    run("randomize", "a.parquet", "--design", "y=d.json", "-o", "r.parquet")
    assert set(pq.read_table("r.parquet")["y"].to_pylist()) == {"red", "blue"}


@pytest.mark.parametrize("family", ["subset", "rappor", "l-diverse"])
def test_set_reports(answers: str, family: str) -> None:
    demand = ["--l", "2"] if family == "l-diverse" else ["--gamma", "3"]
    design_file("s.json", family, "--categories", "never,once,often", *demand)
    for output in ("r.csv", "r.parquet", "r.arrow"):
        run("randomize", answers, "--design", "drugs=s.json", "-o", output, "--seed", "3")
    texts = column("r.csv")
    assert all(len(text) == 3 and set(text) <= {"0", "1"} for text in texts)
    masks = pq.read_table("r.parquet")
    field = masks.schema.field("drugs")
    assert field.type == pa.binary(1)
    assert json.loads(field.metadata[b"maskwell"])["encoding"] == "bits"
    shown = ["".join(str(mask[0] >> j & 1) for j in range(3)) for mask in masks["drugs"].to_pylist()]
    assert shown == texts
    run("randomize", answers, "--design", "drugs=s.json", "-o", "t.parquet", "--seed", "3", "--sets", "texts")
    assert pq.read_table("t.parquet")["drugs"].to_pylist() == texts
    files = ("r.csv", "r.parquet", "r.arrow", "t.parquet")
    found = [run("estimate", f, "--design", "drugs=s.json", "--json").json() for f in files]
    assert all(one["estimates"] == found[0]["estimates"] for one in found)


def test_a_product_on_several_columns() -> None:
    design_file("w.json", "warner", "--p", "3/4")
    design_file("k.json", "k-ary", "--categories", "a,b,c", "--gamma", "5")
    run("design", "kronecker", "w.json", "k.json", "-o", "both.json")
    write_csv("a.csv", [("yes", "a", i) for i in range(500)], header="x,y,i")
    run("randomize", "a.csv", "--design", "x,y=both.json", "-o", "r.parquet")
    found = run("estimate", "r.parquet", "--design", "x,y=both.json", "--json").json()
    assert found["variables"] == ["x", "y"]
    assert found["estimates"][0]["category"] == ["yes", "a"]
    apart = run("estimate", "r.parquet", "--design", "x=w.json", "--design", "y=k.json", "--json").json()
    assert apart["estimates"] == found["estimates"]
    alone = run("estimate", "r.parquet", "--design", "y=k.json", "--json").json()
    assert len(alone["estimates"]) == 3
    refused("randomize", "a.csv", "--design", "x=both.json", "-o", "q.csv", saying="product of 2 designs")
    refused("randomize", "a.csv", "--design", "x,y,i=both.json", "-o", "q.csv", saying="3 columns")


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
            assert "parity_joint" not in found
            assert "together" not in shown
        else:
            assert (found["parity_joint"], found["parity_joint_exact"]) == parity
            told = "infinite" if parity[0] == "inf" else f"{parity[0]:g}"
            assert f"  together: parity {told}\n" in shown


def test_quotes_and_letters_pass_through(d: str) -> None:
    fields = [
        "plain",
        "a,b",
        'say "hi"',
        "two\nlines",
        "x\ry",
        " spaced ",
        "żółć 🎲",
        "007",
        "1e5",
        "NA",
        "null",
        "nan",
    ]
    with Path("a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [("id", "drugs", "note\r"), *((i, "never", text) for i, text in enumerate(fields))]
        )
    run("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv")
    assert column("r.csv", 2) == fields
    run("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.parquet")
    assert pq.read_table("r.parquet")["note\r"].to_pylist() == fields
    assert Path("r.csv").read_bytes().startswith(b'id,drugs,"note\r"\r\n')


def test_nothing_else_changes_in_a_csv(d: str) -> None:
    run("design", "matrix", identity(), "--categories", "x,y", "-o", "id.json")
    text = b'id,y,"a ""b"", c",empty\r\n1,x,"q,""r""",\r\n2,y,,""\r\n3,x,"",\r\n'
    Path("a.csv").write_bytes(text)
    run("randomize", "a.csv", "--design", "y=id.json", "-o", "r.csv")
    assert Path("r.csv").read_bytes() == text
    Path("b.csv").write_bytes(b"\xef\xbb\xbfy\nx\ny\n")
    run("randomize", "b.csv", "--design", "y=id.json", "-o", "rb.csv")
    assert Path("rb.csv").read_bytes() == b"y\nx\ny\n"


def test_columns_of_the_same_name_pass_through(d: str) -> None:
    Path("a.csv").write_text("n,drugs,n\n1,never,2\n3,often,4\n", encoding="utf-8")
    run("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv")
    assert (column("r.csv", 0), column("r.csv", 2)) == (["1", "3"], ["2", "4"])
    refused("randomize", "a.csv", "--design", "n=d.json", "-o", "q.csv", saying="2 columns named 'n'")


def test_standard_input_and_output(answers: str) -> None:
    stdin = Path(answers).read_bytes()
    done = run("randomize", "-", "--design", "drugs=d.json", "-o", "-", "--seed", "1", stdin=stdin)
    run("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv", "--seed", "1")
    assert done.out == Path("r.csv").read_text(encoding="utf-8")
    assert "1,000 rows" in done.err
    run("randomize", "-", "--design", "drugs=d.json", "-o", "-", "--json", stdin=stdin, status=2)


def test_a_pipe_between_processes(answers: str) -> None:
    data = Path(answers).read_bytes()
    made = run_command(["randomize", "-", "--design", "drugs=d.json", "-o", "-"], Path(), stdin=data)
    assert made.status == 0, made.err
    found = run_command(["estimate", "-", "--design", "drugs=d.json", "--json"], Path(), stdin=made.out)
    assert found.status == 0, found.err
    assert json.loads(found.out)["n"] == 1000


def test_nothing_reaches_standard_output_on_failure(answers: str) -> None:
    stdin = Path(answers).read_bytes() + b"x,sometimes,y\n"
    refused(
        "randomize",
        "-",
        "--design",
        "drugs=d.json",
        "-o",
        "-",
        stdin=stdin,
        saying="in data row 1001",
        values="'sometimes' (1 time)",
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_missing_values(d: str, kind: str) -> None:
    design_file("m.json", "k-ary", "--categories", "never,once,missing", "--gamma", "3")
    run("design", "matrix", identity(), "--categories", "x,y", "-o", "id.json")
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
    refused(*args, saying="no category 'missing'", kind="missing_values")


def test_rows_missing_in_either_column_are_dropped() -> None:
    design_file("w.json", "warner", "--p", "3/4")
    write_csv("a.csv", [(1, "yes", "no"), (2, "", "no"), (3, "yes", ""), (4, "no", "no")], header="id,x,y")
    args = ["--design", "x=w.json", "--design", "y=w.json", "--missing", "drop"]
    found = run("randomize", "a.csv", *args, "-o", "r.csv", "--json").json()
    assert column("r.csv", 0) == ["1", "4"]
    assert {name: about["missing"] for name, about in found["columns"].items()} == {"x": 1, "y": 1}


def test_one_column_keeps_its_empty_lines(d: str) -> None:
    Path("a.csv").write_text("drugs\nnever\n\nonce\n", encoding="utf-8")
    refused("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="1 of 3 values is missing")


# ---- bad input: one error, exit 2, nothing written


def test_unknown_categories_are_counted_over_the_whole_file(d: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 8)
    write_csv("a.csv", [(i, "Never" if i % 10 == 3 else "often" if i % 2 else "smtms", "") for i in range(1000)])
    told = "'smtms' (500 times), 'Never' (100 times)"
    said = refused(
        "randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", kind="unknown_category", values=told
    )
    assert "column 'drugs': 600 of 1,000 values are no category, the first in data row 1" in said
    assert "allowed: 'never', 'once', 'often'" in said


@pytest.mark.parametrize("text", ["NA", "N/A", "nan", "null", "None"])
def test_words_for_missing_are_labels(d: str, text: str) -> None:
    write_csv("a.csv", [(1, "never", ""), (2, text, "")])
    said = refused(
        "randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="1 of 2 values is no category"
    )
    assert "only empty cells are missing" in said


def test_a_design_without_a_category_for_missing_values(d: str) -> None:
    write_csv("a.csv", [(1, "never", ""), (2, "", "")])
    args = ["randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", "--missing", "category"]
    said = refused(*args, saying="--categories never,once,often,missing", kind="missing_values")
    assert "--missing drop" in said
    assert "Categories" not in said


def test_very_many_unknown_values(d: str) -> None:
    write_csv("a.csv", [(i, f"v{i}", "") for i in range(3000)])
    refused(
        "randomize",
        "a.csv",
        "--design",
        "drugs=d.json",
        "-o",
        "r.csv",
        saying="3,000 of 3,000",
        values="(1,000 or more)",
    )


def test_a_column_that_is_not_in_the_file(answers: str) -> None:
    refused("randomize", answers, "--design", "drug=d.json", "-o", "r.csv", saying="did you mean 'drugs'?")
    refused("randomize", answers, "--design", "xyz=d.json", "-o", "r.csv", saying="id, drugs, note")


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.parquet", "e.arrow"])
def test_an_empty_file(d: str, name: str) -> None:
    Path(name).touch()
    refused("randomize", name, "--design", "drugs=d.json", "-o", "r.csv", saying="empty", kind="bad_data_file")
    refused("estimate", name, "--design", "drugs=d.json", saying="empty", kind="bad_data_file")


def test_a_file_without_rows(d: str) -> None:
    Path("e.csv").write_text("id,drugs\n", encoding="utf-8")
    pq.write_table(pa.table({"drugs": pa.array([], pa.string())}), "e.parquet")
    Path("blank.csv").write_text("\n\n", encoding="utf-8")
    for name in ("e.csv", "e.parquet"):
        refused("randomize", name, "--design", "drugs=d.json", "-o", "r.csv", saying="no rows")
        refused("estimate", name, "--design", "drugs=d.json", saying="no rows")
    refused("randomize", "blank.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="empty")
    refused("randomize", "-", "--design", "drugs=d.json", "-o", "r.csv", stdin=b"", saying="empty")


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv.gz"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_file(answers: str, name: str, share: float) -> None:
    run("design", "matrix", identity(), "--categories", "x,y", "-o", "id.json")
    write_csv("plain.csv", [(*row, "x") for row in ROWS], header="id,drugs,note,same")
    run("randomize", "plain.csv", "--design", "same=id.json", "-o", name)
    whole = Path(name).read_bytes()
    Path(name).write_bytes(whole[: int(len(whole) * share)])
    refused("randomize", name, "--design", "drugs=d.json", "-o", "r.csv", saying=name, kind="bad_data_file")


def test_pages_that_are_damaged(d: str) -> None:
    pq.write_table(pa.table({"drugs": ["never", "once", "often"] * 3000, "i": range(9000)}), "a.parquet")
    content = bytearray(Path("a.parquet").read_bytes())
    content[10:200] = bytes(190)
    Path("a.parquet").write_bytes(content)
    refused("randomize", "a.parquet", "--design", "drugs=d.json", "-o", "r.parquet", kind="bad_data_file")


@pytest.mark.parametrize("content", [b"id,drugs\n1,never,3\n", b"id,drugs\n1\n", b"\xff\xfe,drugs\n1,never\n"])
def test_damaged_csv(d: str, content: bytes) -> None:
    Path("a.csv").write_bytes(content)
    refused("randomize", "a.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="a.csv", kind="bad_data_file")


def test_a_file_of_another_kind_than_it_says(answers: str) -> None:
    Path(answers).rename("a.parquet")
    refused("randomize", "a.parquet", "--design", "drugs=d.json", "-o", "r.csv", saying="a.parquet")


def test_unknown_endings_and_missing_files(answers: str) -> None:
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "r.xlsx", saying="known endings")
    refused("randomize", "a.txt", "--design", "drugs=d.json", "-o", "r.csv", saying="known endings")
    refused("randomize", "none.csv", "--design", "drugs=d.json", "-o", "r.csv", saying="does not exist")
    refused("randomize", answers, "--design", "drugs=none.json", "-o", "r.csv", saying="none.json")
    refused("randomize", "a.xlsx", "--design", "drugs=d.json", "-o", "r.csv", saying="the ending .xlsx is not known")
    refused("randomize", "a", "--design", "drugs=d.json", "-o", "r.csv", saying="a has no ending")
    refused("randomize", answers, "--design", "drugs", "-o", "r.csv", saying="--design answer=design.json")
    for text, lacks in (
        ("drugs", "design file"),
        ("drugs=", "design file"),
        ("=d.json", "column"),
        ("d.json", "column"),
    ):
        refused("randomize", answers, "--design", text, "-o", "r.csv", saying=f"--design {text} names no {lacks}")


def test_output_equal_to_input(answers: str) -> None:
    refused("randomize", answers, "--design", "drugs=d.json", "-o", answers, "--force", saying="also an input")
    refused("randomize", answers, "--design", "drugs=d.json", "-o", f"./{answers}", "--force", saying="also an input")
    os.link(answers, "link.csv")
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "link.csv", "--force", saying="also an input")


def test_the_output_is_not_replaced_unless_told(answers: str) -> None:
    Path("r.csv").write_text("precious", encoding="utf-8")
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv", saying="--force")
    bad = [("0", "sometimes", "")]
    write_csv("bad.csv", bad)
    refused("randomize", "bad.csv", "--design", "drugs=d.json", "-o", "r.csv", "--force", values="sometimes")
    assert Path("r.csv").read_text(encoding="utf-8") == "precious"
    run("randomize", answers, "--design", "drugs=d.json", "-o", "r.csv", "--force")
    assert len(column("r.csv")) == 1000


def test_an_unwritable_output(answers: str, folder: Path) -> None:
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "no/such/r.csv", saying="no folder")
    refused("randomize", answers, "--design", "drugs=d.json", "-o", "a.csv/r.csv", saying="a.csv")
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    if not os.access(locked, os.W_OK):
        refused("randomize", answers, "--design", "drugs=d.json", "-o", "locked/r.csv", saying="cannot write")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk(answers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwell.core import atomic

    real = atomic._new_file

    def full(place: Path) -> Any:
        file = real(place)
        handle = os.open("/dev/full", os.O_WRONLY)
        os.dup2(handle, file.fileno())  # it keeps its name, and what is written goes to the device
        os.close(handle)
        return file

    monkeypatch.setattr(atomic, "_new_file", full)
    for output in ("r.csv", "r.csv.gz", "r.parquet", "r.arrow"):
        refused("randomize", answers, "--design", "drugs=d.json", "-o", output, saying="No space left")


def test_designs_that_do_not_fit_the_columns(answers: str) -> None:
    args = ["--design", "drugs=d.json", "--design", "drugs=d.json"]
    refused("randomize", answers, *args, "-o", "r.csv", saying="two designs for the column 'drugs'")


def test_reports_are_not_randomized_again(answers: str) -> None:
    run("randomize", answers, "--design", "drugs=d.json", "-o", "r.parquet")
    refused("randomize", "r.parquet", "--design", "drugs=d.json", "-o", "rr.csv", saying="already holds reports")


def test_columns_for_the_reports_of_two_answers_are_refused_whatever_the_labels() -> None:
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
    assert "--key without --dataset" in told and "--id" in told
    assert "--key without --id" in refused("randomize", answers, *kept[:6], "-o", "four.csv")
    assert "one of them" in refused("randomize", answers, *kept, "--seed", "1", "-o", "four.csv")
    assert not Path("four.csv").exists()
