"""Secret keys: checked, read from a file that only its owner can read, and made anew. No message shows a key."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from maskwell.core.arguments import check_path
from maskwell.errors import DataFileError, ParameterError, WrongTypeError

LEAST_BYTES = 16
_NEW_BYTES = 32
_LEAST_DIFFERENT = 6  # different bytes; 16 random ones have fewer with a chance of 1e-17
_LARGEST_FILE = 4096


def checked_key(key: bytes | str) -> bytes:
    """A key of at least 128 bits as bytes, from bytes or hexadecimal digits.

    >>> len(checked_key("000102030405060708090a0b0c0d0e0f"))
    16
    """
    if not isinstance(key, bytes | str):
        raise WrongTypeError("a key must be bytes or hexadecimal digits", hint="make one with new_key_file")
    found = _from_digits(key) if isinstance(key, str) else key
    if len(found) < LEAST_BYTES:
        raise ParameterError(
            f"a key of {8 * len(found)} bits can be found by trial; at least {8 * LEAST_BYTES} are needed",
            hint="make one with maskwell release --new-key FILE, from the operating system",
        )
    if len(set(found)) < _LEAST_DIFFERENT:
        raise ParameterError(
            f"a key of {len(set(found))} different bytes can be guessed",
            hint="make one with maskwell release --new-key FILE, from the operating system",
        )
    return found


def _from_digits(text: str) -> bytes:
    if not re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text):
        raise ParameterError(
            "the key is not a text of hexadecimal digits, two for each byte",
            hint="give 32 digits or more of 0-9 and a-f; passwords are not keys",
        )
    return bytes.fromhex(text)


def new_key_file(path: str | Path) -> Path:
    """Write a new key of 256 bits, as 64 hexadecimal digits, to a file that only its owner can read.

    It is on the disk, whole, when this returns; after an error there is none. An existing file is never replaced: the
    draws of earlier releases could not be repeated any more.
    """
    from maskwell.core.atomic import OWNER_ONLY, atomic_file

    check_path(path=path)
    target = Path(path)
    try:
        _check_new(target)
        with atomic_file(target, mode=OWNER_ONLY) as file:
            file.write(f"{secrets.token_hex(_NEW_BYTES)}\n".encode())
    except DataFileError:
        _check_new(target)  # if somebody was faster
        raise
    return target


def _check_new(path: Path) -> None:
    if os.path.lexists(path):
        raise DataFileError(
            f"{path} exists; a key is never replaced", hint="give another name, or use the key that is there", path=path
        )


def read_key_file(path: str | Path) -> bytes:
    """The key of a file that only its owner can read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _no_key(path, "is not a file")
            _check_private(path, found.st_mode)
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise DataFileError(
            f"cannot read the key file {path}: {error.strerror}",
            hint="check the path; maskwell release --new-key FILE makes one",
        ) from error
    if len(content) > _LARGEST_FILE:
        raise _no_key(path, f"has more than {_LARGEST_FILE:,} bytes")
    return checked_key(content.decode("latin-1").strip())


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for somebody who writes


def _no_key(path: str | Path, why: str) -> DataFileError:
    return DataFileError(
        f"the key file {path} {why}", hint="name a file that holds a key and nothing else", path=str(path)
    )


def _check_private(path: str | Path, mode: int) -> None:
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise DataFileError(
            f"others than its owner may use the key file {path} (mode {stat.S_IMODE(mode):04o})",
            hint=f"close it first: chmod 600 {path}",
        )
