"""Files of secret keys: made once, read only where nobody else can."""

from __future__ import annotations

import errno
import os
import re
import secrets
from pathlib import Path

import pytest

from maskwell.core import KeyedRandom, atomic, new_key_file
from maskwell.core.keyed import checked_key, read_key_file
from maskwell.errors import DataFileError, ParameterError, WrongTypeError

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")


def test_a_new_key_has_256_bits_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = new_key_file(tmp_path / "labour.key")
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert read_key_file(path) == bytes.fromhex(path.read_text().strip())
    assert new_key_file(tmp_path / "other.key").read_text() != path.read_text()


@posix
def test_the_mode_does_not_depend_on_the_mask_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = new_key_file(tmp_path / "labour.key")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    path = new_key_file(tmp_path / "labour.key")
    before = path.read_text()
    with pytest.raises(DataFileError, match="never replaced"):
        new_key_file(path)
    assert path.read_text() == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="there is no folder"):
        new_key_file(tmp_path / "nowhere" / "labour.key")
    with pytest.raises(DataFileError, match="cannot read the key file"):
        read_key_file(tmp_path / "labour.key")


@posix
@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_key_that_could_not_be_written_does_not_block_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "labour.key"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        where = {"write": (secrets, "token_hex"), "fsync": (os, "fsync"), "rename": (atomic, "_is_renamed")}[step]
        patch.setattr(*where, full)
        with pytest.raises(DataFileError, match="No space left"):
            new_key_file(path)
    assert [*tmp_path.iterdir()] == []
    assert len(read_key_file(new_key_file(path))) == 32


@posix
def test_a_key_is_made_beside_nothing_that_exists(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "folder", tmp_path / "dangling", tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(DataFileError, match="never replaced"):
            new_key_file(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "folder", "pipe"]


@posix
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = new_key_file(tmp_path / "labour.key")
    path.chmod(mode)
    with pytest.raises(DataFileError, match=f"{mode:04o}") as raised:
        read_key_file(path)
    assert "chmod 600" in raised.value.hint
    path.chmod(0o400)
    assert len(read_key_file(path)) == 32


def test_white_space_around_the_digits_is_no_part_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "labour.key"
    path.write_bytes(b" " + bytes(range(16)).hex().upper().encode() + b"\r\n\n")
    path.chmod(0o600)
    assert read_key_file(path) == bytes(range(16))
    assert KeyedRandom.from_file(path, "d").commitment() == KeyedRandom.of(bytes(range(16)), "d").commitment()


@posix
def test_what_holds_no_key_is_refused(tmp_path: Path) -> None:
    path = new_key_file(tmp_path / "labour.key")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for other in (tmp_path / "pipe", tmp_path / "folder", Path("/dev/zero")):
        with pytest.raises(DataFileError, match=r"is not a file|Is a directory"):
            read_key_file(other)
    for text in ("", "not hexadecimal", "0123", "ab" * 15, "ab" * 40):
        path.write_text(text)
        with pytest.raises(ParameterError) as raised:
            read_key_file(path)
        assert not text or text not in str(raised.value)
    path.write_text("ab" * 2049)
    with pytest.raises(DataFileError, match="more than 4,096 bytes"):
        read_key_file(path)
    with pytest.raises(WrongTypeError):
        checked_key(12345)  # type: ignore[arg-type]
