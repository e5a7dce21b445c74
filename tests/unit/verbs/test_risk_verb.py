"""``risk`` as a call: tables in memory and files, before and after a release."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskwell import ReleasePlan, risk
from maskwell.errors import DataFileError, ParameterError
from maskwell.microdata.publication import release_table

PEOPLE: dict[str, list[Any]] = {
    "town": ["A", "A", "A", "B", "B", "B", None, "B"],
    "rooms": [1, 2, 2, 2, 2, 3, 1, 2],
    "weight": [1.5, 2.0, 2.0, 3.0, 3.0, 1.0, 1.0, 3.0],
}


def tables() -> list[Any]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    return [PEOPLE, pandas.DataFrame(PEOPLE), polars.DataFrame(PEOPLE), arrow.table(PEOPLE)]


def test_every_kind_of_table_and_a_file_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    lines = [",".join("" if x is None else str(x) for x in row) for row in zip(*PEOPLE.values(), strict=True)]
    path.write_text("\n".join([",".join(PEOPLE), *lines]) + "\n")
    results = [risk(data, ["town", "rooms"], weights="weight") for data in (*tables(), path)]
    contents = [result.to_dict(contributions=False) for result in results]
    assert contents.count(contents[0]) == len(contents)
    assert results[0].before.uniques == 3
    for result in results:
        np.testing.assert_allclose(result.record_risks()["before"], [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1, 1, 1 / 3])


def test_keys_are_a_list_or_a_text() -> None:
    assert risk(PEOPLE, "town,rooms").report.keys == risk(PEOPLE, ["town", "rooms"]).report.keys
    with pytest.raises(ParameterError, match="keys '' names no column"):
        risk(PEOPLE, [])
    with pytest.raises(ParameterError, match="named twice"):
        risk(PEOPLE, ["town", "town"])


def test_a_limit_is_kept_or_not() -> None:
    assert risk(PEOPLE, ["town"], match=1).kept is True
    assert risk(PEOPLE, ["town"], match="1/4").kept is False
    assert risk(PEOPLE, ["town"]).kept is None
    with pytest.raises(ParameterError, match="match 2 is not above 0"):
        risk(PEOPLE, ["town"], match=2)


def test_a_release_is_told_with_its_receipt(tmp_path: Path) -> None:
    people = {"town": ["A"] * 6 + ["B"] * 4, "rooms": [1, 2] * 5}
    plan = ReleasePlan.of([{"variables": ["town"], "method": "method1", "theta": "1/2"}])
    released = release_table(people, plan)
    receipt = released.receipt(internal=True)
    alone = risk(people, ["town", "rooms"], released=released.data)
    assert alone.after is None
    assert "not known without" in alone.flags[-1]
    told = risk(people, ["town", "rooms"], released=released.data, receipt=receipt)
    assert told.after is not None
    assert told.after.expected_matches < told.before.expected_matches
    assert [one.variable for one in told.variable_contributions]
    assert told.to_report(contributions=True)[-1].startswith("Next: ")
    assert repr(told)
    with pytest.raises(DataFileError, match="the table has 9 records, the receipt tells of 10"):
        risk({name: values[1:] for name, values in people.items()}, ["town"], receipt=receipt)
    with pytest.raises(ParameterError, match="in memory"):
        told.write_records(tmp_path / "risks.csv")
