"""publish: one verb for files and tables, into a folder or back into memory."""

import errno
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell import KeyedRandom
from maskwell.errors import DataFileError, ParameterError, PublishError
from maskwell.microdata.folder.ledger import read_ledger
from maskwell.microdata.release_values import Assessment, Draw
from maskwell.verbs import release as publish

PLAN: dict[str, Any] = {
    "release": {"demonstration": True},
    "protect": [{"variables": ["sex"], "within": ["region"], "method": "method1", "theta": "1/2"}],
}


def people() -> pd.DataFrame:
    return pd.DataFrame({"sex": ["f", "f", "m", "m", "m"] * 20, "region": ["north", "south"] * 50})


def test_a_frame_into_a_folder_leaves_nothing_beside_it(tmp_path: Path) -> None:
    release = mw.release(people(), PLAN, tmp_path / "out", random=mw.SeededRandom(1))
    assert isinstance(release, mw.Release)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"public", "internal"}


def test_a_release_is_one_value_a_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for kind in (Assessment, Draw, mw.Release):

        def counted(self: Any, *, init: Any = kind.__init__, **parts: Any) -> None:
            made.append(type(self).__name__)
            init(self, **parts)

        monkeypatch.setattr(kind, "__init__", counted)
    mw.release(people(), PLAN, tmp_path / "out", random=mw.SeededRandom(1))
    assert made == ["Assessment", "Draw", "Release"]


def test_a_disk_without_room_for_the_records_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(publish, "RowPass", full)
    caught = refused(DataFileError, f"into {tmp_path}: No space left", mw.release, people(), PLAN, tmp_path / "out")
    assert "make room" in caught.hint and list(tmp_path.iterdir()) == []


def test_a_file_and_a_frame_are_released_alike(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    from_file = mw.release(tmp_path / "people.csv", PLAN, tmp_path / "one", random=mw.SeededRandom(1))
    from_frame = mw.release(people(), PLAN, tmp_path / "two", random=mw.SeededRandom(1))
    assert from_file.rows == from_frame.rows
    assert [s.design.fingerprint for s in from_file.stages] == [s.design.fingerprint for s in from_frame.stages]


def test_a_folder_is_needed_and_looked_at_before_any_row_is_read(tmp_path: Path) -> None:
    refused(DataFileError, "does not exist", mw.release, people(), PLAN, tmp_path / "missing" / "out")
    assert list(tmp_path.iterdir()) == []
    refused(ParameterError, "need a folder", mw.release, tmp_path / "people.csv", PLAN)
    plan = {"protect": [{"variables": ["sex"], "method": "sequential"}]}
    refused(mw.MaskwellError, "File name too long", mw.release, "absent.csv", plan, "x" * 300)
    for data in ("absent.csv", {"sex": ["f", "m"]}):
        with pytest.raises(mw.MaskwellError, match="folder must be a text or a path, not a dict"):
            mw.release(data, plan, {})  # type: ignore[arg-type]


def test_a_key_keeps_a_ledger_unless_another_one_is_named(tmp_path: Path) -> None:
    """Beside the file of the key, or beside the folder; a second draw that breaks the limit is refused."""
    table = {"pid": [*range(40)], "x": [*"abbbbccccccccccccccc", *["d"] * 20]}

    def plan(match: str) -> dict[str, Any]:
        release = {"keys": ["x"], "match": match, "id": "pid", "dataset": "people"}
        return {"release": release, "protect": [{"variables": ["x"], "method": "mixing"}]}

    file = KeyedRandom.new_file(tmp_path / "secret.key")
    for key in (KeyedRandom.from_file(file, "people"), KeyedRandom.of(bytes(range(32)), "people")):
        place = tmp_path / key.commitment()[:8]
        place.mkdir()
        mw.release(table, plan("0.5"), place / "one", key=key)
        book = tmp_path / "secret.key.ledger" if key.path else place / f"{key.commitment()[:16]}.ledger"
        assert len(read_ledger(book).releases) == 1
        with pytest.raises(PublishError):
            mw.release(table, plan("0.45"), place / "two", key=key)
        mw.release(table, plan("0.45"), place / "two", key=key, ledger=tmp_path / f"{place.name}.ledger")
