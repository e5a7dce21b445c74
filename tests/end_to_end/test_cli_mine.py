"""``maskwell mine``: from a file of baskets to itemsets, as text, JSON and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run

ITEMS = [f"item{place}" for place in range(66)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Baskets of 66 items, of which the first three go together."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    held = random.random((2000, 66)) < 0.04
    held[:, :3] |= random.random((2000, 1)) < 0.3
    lines = ['"' + " ".join(np.array(ITEMS)[row]) + '"' for row in held]
    Path("baskets.csv").write_text("\n".join(["id,items", *(f"{i},{line}" for i, line in enumerate(lines))]) + "\n")
    design_file("bits.json", "bits", "--items", ",".join(ITEMS), "--p", "0.95")
    run("randomize", "baskets.csv", "--design", "items=bits.json", "-o", "reports.csv", "--seed", 1)
    return tmp_path


def test_the_first_line_answers_with_both_parities_and_the_last_says_what_is_next(files) -> None:
    lines = run("mine", "reports.csv", "--design", "bits.json", "--min-support", "0.2").out.splitlines()
    first = " ".join(" ".join(lines[:2]).split())
    assert first.startswith("7 itemsets are in at least 20 % of baskets, as estimated from 2,000 reports; parity ")
    assert first.endswith("e+84 for a whole basket of 66 items, 19 for one item.")
    assert lines[2].split() == ["itemset", "support", "std.", "error"]
    assert any("item0 + item1 => item2" in line for line in lines)
    assert lines[-1] == "Next: what a report reveals: maskwell audit bits.json"
    assert max(map(len, lines)) <= 100


def test_json_and_the_picture(files) -> None:
    options = ("--design", "items=bits.json", "--min-support", "1/5", "--plot", "m.svg")
    found = run("mine", "reports.csv", *options, "--json").json()
    assert [one["items"] for one in found["itemsets"]][-1] == ["item0", "item1", "item2"]
    assert 0.25 < found["itemsets"][-1]["support"] < 0.35 and found["itemsets"][-1]["standard_error"] < 0.02
    assert (found["n"], found["items"], found["item_parity"], found["plot"]) == (2000, 66, 19.0, "m.svg")
    assert Path("m.svg").read_text(encoding="utf-8").startswith("<svg")


def test_packed_reports_in_parquet_tell_the_same(files) -> None:
    run("randomize", "baskets.csv", "--design", "items=bits.json", "-o", "reports.parquet", "--seed", 1)
    found = [run("mine", f"reports.{e}", "--design", "bits.json", "--json").json() for e in ("csv", "parquet")]
    assert found[0] == found[1]


def test_randomize_says_how_to_go_on(files) -> None:
    out = run("randomize", "baskets.csv", "--design", "items=bits.json", "-o", "again.csv").out
    assert "the parity is that of a whole basket; 19 for one item" in out
    assert out.splitlines()[-1] == "Next: maskwell mine again.csv --design items=bits.json"


def test_audit_and_design_state_both_parities(files) -> None:
    for command in (("audit", "bits.json"), ("design", "bits", "--items", ",".join(ITEMS), "--p", "0.95")):
        out = run(*command).out
        assert "parity, one item" in out and "2.5" in out and "66: item0, item1" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--design", "bits.json", "--min-support", "2"], "min_support = 2 is out of range"),
        (["--design", "nothing.json"], "nothing.json"),
        (["--design", "id=bits.json"], "2,000 of 2,000 baskets name an unknown item, the first in data row 1"),
        (["--design", "other=bits.json"], "no column 'other'"),
        (["--design", "id,items=bits.json"], "2 columns"),
    ],
)
def test_bad_input_is_one_line(files, args, said) -> None:
    assert said in refused("mine", "reports.csv", *args)


def test_a_design_of_another_kind(files) -> None:
    design_file("warner.json", "warner", "--p", "0.7")
    assert "kind warner is not made for baskets" in refused("mine", "reports.csv", "--design", "warner.json")
