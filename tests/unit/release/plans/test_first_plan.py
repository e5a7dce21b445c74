"""Plans to start from, made from files with columns of every type."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskwell.errors import PlanError
from maskwell.release.plans.release_plan import read_plan
from maskwell.verbs.publish import first_plan

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(columns: dict[str, object], folder: Path) -> str:
    path = folder / "people.parquet"
    parquet.write_table(pa.table(columns), path)
    return str(path)


def test_columns_of_which_nothing_can_be_said_are_not_published(tmp_path: Path) -> None:
    odd = {"tags": pa.array([["a", "b"]] * 40), "photo": pa.array([b"\xff"] * 40), "ba\nd\x01\u2028": [{"x": 1}] * 40}
    path = written({**odd, "sex": ["f", "m"] * 20, "region": ["n", "n", "s", "s"] * 10}, tmp_path)
    text = first_plan(path)
    plan = read_plan(text)
    assert {*plan.drop} == {*odd}
    assert plan.keys == ("sex", "region")
    assert "Neither texts nor numbers nor dates" in text


def test_a_file_of_such_columns_alone_has_nothing_to_randomize(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="has between 2 and"):
        first_plan(written({"tags": pa.array([["a", "b"]] * 40)}, tmp_path))
