"""Files that appear whole or not at all: who may read them, and what is left after a run was killed."""

import os
import secrets
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from maskwell.core.atomic import atomic_file, partial_folder, write_files
from maskwell.core.leftovers import clear_leftovers
from maskwell.errors import DataFileError, LeftoverWarning

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions and locks of POSIX")


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def written(target: Path, like: Path | None = None, *, force: bool = False) -> int:
    with atomic_file(str(target), like=None if like is None else str(like), force=force) as file:
        assert mode(Path(file.name)) == 0o600  # from its beginning
        file.write(b"rows")
    return mode(target)


@pytest.mark.parametrize(
    ("given", "mask", "expected"),
    [(0o600, 0o022, 0o600), (0o640, 0o022, 0o640), (0o644, 0o022, 0o644), (0o644, 0o077, 0o600), (0o400, 0o022, 0o600)],
)
def test_nobody_may_read_the_output_who_may_not_read_the_input(
    tmp_path: Path, given: int, mask: int, expected: int
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a\n")
    source.chmod(given)
    os.umask(mask)
    assert written(tmp_path / "out.csv", source) == expected


def test_another_group_does_not_inherit_what_a_group_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a\n")
    source.chmod(0o640)
    try:
        os.chown(source, -1, os.getgid() + 1)
    except PermissionError:
        pytest.skip("only root may give a file to another group")
    assert written(tmp_path / "out.csv", source) == 0o600


def test_a_file_that_is_replaced_does_not_become_more_open(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    target.chmod(0o600)
    assert written(target, force=True) == 0o600
    assert written(tmp_path / "new.csv") == 0o644


def leftover(target: Path) -> Path:
    place = target.with_name(f".{target.name}.{secrets.token_hex(16)}.partial")
    place.write_text("rows of somebody")
    return place


def test_what_a_killed_run_left_is_deleted_and_what_another_is_writing_stays(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    place, other = leftover(target), leftover(tmp_path / "else.csv")
    with pytest.warns(LeftoverWarning, match=rf"{place.name}; it was deleted"):
        written(target)
    assert sorted(tmp_path.iterdir()) == sorted([target, other])
    folder = tmp_path / f".release.{secrets.token_hex(16)}.partial"
    (folder / "public").mkdir(parents=True)
    with pytest.warns(LeftoverWarning, match="it was deleted"), partial_folder(tmp_path / "release") as partial:
        assert mode(partial) == 0o700
    assert not folder.exists() and not partial.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        target = tmp_path / "b.csv"
        with atomic_file(str(target)) as file, partial_folder(target) as folder:
            clear_leftovers(target)
            assert Path(file.name).exists() and folder.exists()


def test_what_may_be_somebody_elses_is_named_and_stays(tmp_path: Path) -> None:
    old = tmp_path / ".out.csv.01234567.partial"  # of a version without locks
    old.write_text("rows")
    link = tmp_path / f".out.csv.{'a' * 32}.partial"
    precious = tmp_path / "precious"
    precious.write_text("kept")
    link.symlink_to(precious)
    with pytest.warns(LeftoverWarning, match="delete it if no other run") as told:
        clear_leftovers(tmp_path / "out.csv")
    assert len(told) == 2
    assert old.exists() and link.is_symlink() and precious.read_text() == "kept"


SCRIPT = """
import sys, time
from maskwell.core.atomic import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half of the rows"); file.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_run_that_is_killed_outright_leaves_a_closed_file_that_the_next_one_names(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(target)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.kill()
    (left,) = tmp_path.iterdir()
    assert mode(left) == 0o600 and left.read_bytes() == b"half of the rows"
    with pytest.warns(LeftoverWarning, match=left.name):
        written(target)
    assert [*tmp_path.iterdir()] == [target]


@pytest.mark.skipif(os.name == "nt", reason="Windows does not remove a folder that somebody works in")
def test_in_a_working_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(DataFileError, match="the working folder no longer exists"), atomic_file("a.csv"):
        pass
    with atomic_file(tmp_path / "a.csv") as file:
        file.write(b"x")
    assert (tmp_path / "a.csv").read_bytes() == b"x"


def test_a_name_that_cannot_be_encoded(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="its name cannot be written"), atomic_file(tmp_path / "a\ud800.csv"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="there, leftovers are never deleted")
def test_another_run_does_not_take_a_kept_old_file_for_a_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two names a second run looks for leftovers; the first output gets its old content back all the same."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("old")
    second.write_text("old too")

    def fails(place: Path, target: Path) -> Path:
        if target == second:
            clear_leftovers(first)
            raise OSError(28, "No space left on device")
        return replaced(place, target)

    replaced = Path.replace
    monkeypatch.setattr(Path, "replace", fails)
    contents = {one.name: (str(one), b"new") for one in (first, second)}
    with pytest.raises(DataFileError):
        write_files(contents, force=True)
    assert (first.read_text(), second.read_text()) == ("old", "old too")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.csv", "b.csv"]
