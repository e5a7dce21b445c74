"""``maskwell mine``: from a file of baskets to itemsets, as text, JSON and a picture."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run

ITEMS = [f"item{place}" for place in range(66)]


@pytest.fixture
def files(tmp_path):
    """Baskets of 66 items, of which the first three go together."""
    random = np.random.default_rng(1)
    held = random.random((2000, 66)) < 0.04
    held[:, :3] |= random.random((2000, 1)) < 0.3
    lines = ['"' + " ".join(np.array(ITEMS)[row]) + '"' for row in held]
    Path("baskets.csv").write_text("\n".join(["id,items", *(f"{i},{line}" for i, line in enumerate(lines))]) + "\n")
    design_file("bits.json", "bits", "--items", ",".join(ITEMS), "--p", "0.95")
    run("randomize", "baskets.csv", "--design", "items=bits.json", "-o", "reports.csv", "--seed", 1)
    return tmp_path


def test_json_the_picture_and_both_parities(files) -> None:
    options = ("--design", "items=bits.json", "--min-support", "1/5", "--plot", "m.svg")
    found = run("mine", "reports.csv", *options, "--json").json()
    assert [one["items"] for one in found["itemsets"]][-1] == ["item0", "item1", "item2"]
    assert 0.25 < found["itemsets"][-1]["support"] < 0.35 and found["itemsets"][-1]["standard_error"] < 0.02
    assert (found["n"], found["items"], found["item_parity"], found["plot"]) == (2000, 66, 19.0, "m.svg")
    assert Path("m.svg").read_text(encoding="utf-8").startswith("<svg")
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
    assert "a design of kind warner is not available for baskets of items" in refused(
        "mine", "reports.csv", "--design", "warner.json"
    )
