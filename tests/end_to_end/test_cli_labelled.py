"""randomize and estimate on SPSS, Stata and SAS files, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command_line import refused, run

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
prs = pytest.importorskip("pyreadstat")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Ten people: five yes, four no, one who refused; and designs over labels and over codes."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 5, "drugs": [1.0] * 5 + [2.0] * 4 + [9.0], "w": [1.5] * 10})
    prs.write_sav(
        frame,
        "people.sav",
        column_labels={"drugs": "Ever used drugs?"},
        variable_value_labels={"drugs": {1.0: "yes", 2.0: "no", 9.0: "refused"}, "sex": {1.0: "male", 2.0: "female"}},
        missing_ranges={"drugs": [9.0]},
    )
    run("design", "k-ary", "--categories", "yes,no", "--gamma", "3", "-o", "labels.json")
    run("design", "k-ary", "--categories", "1,2", "--gamma", "3", "-o", "codes.json")
    return "people.sav"


@pytest.mark.parametrize("design", ["labels.json", "codes.json"])
def test_there_and_back(people: str, design: str) -> None:
    done = run(
        "randomize", people, "--design", f"drugs={design}", "--missing", "drop", "-o", "out.sav", "--json"
    ).json()
    assert done["rows"] == 9 and done["dropped"] == 1 and done["lost"] == []
    found = run("estimate", "out.sav", "--design", f"drugs={design}", "--json").json()
    assert found["n"] == 9
    after, about = prs.read_sav("out.sav", user_missing=True)
    assert about.variable_value_labels["drugs"][9.0] == "refused"
    assert after["sex"].tolist() == [1.0, 2.0] * 4 + [1.0]


def test_what_is_lost_is_said(people: str) -> None:
    made = run("randomize", people, "--design", "drugs=labels.json", "--missing", "drop", "-o", "out.csv")
    assert (
        "note: a .csv file does not keep variable labels, value labels and missing codes of the .sav file" in made.out
    )
    assert Path("out.csv").read_text(encoding="utf-8").splitlines()[0] == "sex,drugs,w"


def test_domains_go_by_their_labels(people: str) -> None:
    args = ("estimate", people, "--design", "drugs=labels.json", "--missing", "drop", "--by", "sex", "--weights", "w")
    found = run(*args, "--json").json()
    assert {domain["domain"] for domain in found["domains"]} == {"male", "female"}


def test_refusals(people: str) -> None:
    refused("randomize", people, "--design", "drugs=labels.json", "-o", "out.sav", saying="missing")
    refused(
        "randomize", people, "--design", "drugs=labels.json", "--missing", "drop", "-o", "o.sas7bdat", saying=".xpt"
    )
    Path("bad.sav").write_bytes(b"nothing of the kind" * 9)
    refused("estimate", "bad.sav", "--design", "drugs=labels.json", saying="cannot read bad.sav")
