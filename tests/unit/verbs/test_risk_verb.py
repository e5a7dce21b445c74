"""``risk`` as a call: tables in memory and files, before and after a release."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

from maskwell import ReleasePlan, risk
from maskwell.errors import DataFileError, ParameterError
from maskwell.microdata.publication import release_table

PEOPLE: dict[str, list[Any]] = {
    "town": ["A", "A", "A", "B", "B", "B", None, "B"],
    "rooms": [1, 2, 2, 2, 2, 3, 1, 2],
    "weight": [1.5, 2.0, 2.0, 3.0, 3.0, 1.0, 1.0, 3.0],
}


def test_cells_and_records_are_those_of_the_keys_which_are_a_list_or_a_text() -> None:
    found = risk(PEOPLE, ["town", "rooms"], weights="weight")
    assert found.before.uniques == 3
    np.testing.assert_allclose(found.record_risks()["before"], [1, 1 / 2, 1 / 2, 1 / 3, 1 / 3, 1, 1, 1 / 3])
    assert risk(PEOPLE, "town,rooms").report.keys == risk(PEOPLE, ["town", "rooms"]).report.keys
    refused(ParameterError, "keys '' does not name a column", risk, PEOPLE, [])
    refused(ParameterError, "a column name is empty or occurs twice", risk, PEOPLE, ["town", "town"])


def test_a_limit_is_kept_or_not() -> None:
    assert [risk(PEOPLE, ["town"], match=limit).kept for limit in (1, "1/4", None)] == [True, False, None]
    refused(ParameterError, "match must be above 0 and at most 1, not 2", risk, PEOPLE, ["town"], match=2)


def test_a_release_is_told_with_its_receipt(tmp_path: Path) -> None:
    people = {"town": ["A"] * 6 + ["B"] * 4, "rooms": [1, 2] * 5}
    plan = ReleasePlan.of([{"variables": ["town"], "method": "method1", "theta": "1/2"}])
    released = release_table(people, plan)
    receipt = released.receipt(internal=True)
    alone = risk(people, ["town", "rooms"], released=released.data)
    assert alone.after is None and "not known without" in alone.flags[-1]
    told = risk(people, ["town", "rooms"], released=released.data, receipt=receipt)
    assert told.after is not None and told.after.expected_matches < told.before.expected_matches
    assert [one.variable for one in told.variable_contributions]
    assert told.to_report(contributions=True)[-1].startswith("Next: ")
    assert repr(told)
    with pytest.raises(DataFileError, match="the table has 9 records, but the receipt is for 10"):
        risk({name: values[1:] for name, values in people.items()}, ["town"], receipt=receipt)
    refused(ParameterError, "in memory", told.write_records, tmp_path / "risks.csv")
