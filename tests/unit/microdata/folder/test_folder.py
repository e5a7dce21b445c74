"""A release folder appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maskwell.errors import DataFileError
from maskwell.microdata.folder.release_folder import release_folder


def test_it_gets_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "labour-2025"
    with release_folder(target) as partial:
        (partial / "public" / "data.csv").write_text("a\n1\n")
        assert not target.exists()
        assert partial.parent == tmp_path and partial.name.startswith(".labour-2025.")
    assert [p.name for p in tmp_path.iterdir()] == ["labour-2025"]
    assert (target / "public" / "data.csv").read_text() == "a\n1\n"
    assert (target / "internal").is_dir()
    if os.name != "nt":
        assert (target / "internal").stat().st_mode & 0o077 == 0  # the internal part is for the owner


def _stopped(target: Path, error: BaseException) -> None:
    with release_folder(target) as partial:
        (partial / "public" / "data.csv").write_text("a")
        raise error


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), SystemExit(), FULL], ids=repr)
def test_after_an_error_nothing_is_left(tmp_path: Path, error: BaseException) -> None:
    raised, said = (DataFileError, "cannot write .*No space left") if error is FULL else (type(error), None)
    with pytest.raises(raised, match=said):
        _stopped(tmp_path / "r", error)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_name_or_one_without_the_folder_above_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, saying in (("folder", "exists"), ("file", "exists"), ("link", "exists"), ("a/b", "there is no folder")):
        with pytest.raises(DataFileError, match=saying), release_folder(tmp_path / name):
            raise AssertionError("the block must not run")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link"]


def _overtaken(target: Path) -> None:
    with release_folder(target):
        target.mkdir()
        (target / "other").write_text("somebody else's")


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "r"
    with pytest.raises(DataFileError, match="exists"):
        _overtaken(target)
    assert (target / "other").read_text() == "somebody else's"
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
