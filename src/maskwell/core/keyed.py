"""Draws kept by a secret key: the same record, truth and design give the same random words, whatever the row.

A release that is made again repeats itself where nothing changed, and has new words where the truth or the design did:
words shared by two truths would reveal both. Without the key, the draws cannot be distinguished from new ones::

    subkey(purpose, ...) = HMAC-SHA256(key, "maskwell keyed draws, version 2" | purpose | data set | ...)

    label of a record (16 bytes) =  a whole number of 64 bits, little-endian, and eight zero bytes; else
                                    keyed BLAKE2b of the text, 16 bytes, under subkey("texts"), its last bit set to one
    name of a record (16 bytes)  =  AES-256 of the label under subkey("names")
    words 4b .. 4b + 3           =  AES-256 of (name xor (state | b)) under subkey("words", variable, design)
    spill words of refill r      =  AES-256 of (name xor (state | r)) under subkey("spill", variable, design)

where ``state`` is the code of the true state, ``design`` the fingerprint of codes and matrix, and ``state | b`` two
numbers of 64 bits, little-endian. Every part of a message is preceded by its length, so no two lists of parts are one
message. Words are 32 bits, least significant byte first; those of two records, states, variables or designs are
independent of each other. No message shows a key.

Source: [RFC2104, section 2], [RFC7693, abstract], [FIPS197]; the joint function of name and state is derived, see ADR
0013.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Words, as_array, as_list, check_path, kind_of, list_of
from maskwell.core.labels import is_missing
from maskwell.errors import DataFileError, MissingValueError, ParameterError, WrongTypeError

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")

_LOW, _HIGH = -(2**63), 2**63

_LARGEST_WHOLE_FLOAT = 2.0**53
LEAST_BYTES = 16
_NEW_BYTES = 32
_LEAST_DIFFERENT = 6  # different bytes; 16 random ones have fewer with a chance of 1e-17
_LARGEST_FILE = 4096
VERSION = b"maskwell keyed draws, version 2"
_BLOCK = 16
_PER_BLOCK = 4
_STRETCH = 1 << 12  # blocks that stay in the cache of a processor
_TEXT = 0x80  # the last bit of a name: one for texts, zero for numbers


class KeyedRandom:
    """Random words by record and truth, from a secret key and the name of a data set.

    The same truth and design give the same words in every release, and so the same report. A changed report reveals
    to anyone who compares two releases that the truth, or the design, changed.

    >>> keyed = KeyedRandom.of("000102030405060708090a0b0c0d0e0f", "labour-2025")
    >>> sex = keyed.stream("sex", "design 1")
    >>> first = sex.words(keyed.names([7, 8]), [0, 1], 2)   # two records, whose true states have the codes 0 and 1
    >>> again = sex.words(keyed.names(["8", "7"]), [1, 0], 2)
    >>> bool((first == again[::-1]).all())   # whatever the order of the rows, and whether ids are numbers or texts
    True
    >>> changed = sex.words(keyed.names([7, 8]), [1, 0], 2)
    >>> bool((first == changed).any())   # other truths, other words
    False
    >>> keyed
    KeyedRandom(dataset='labour-2025')  # private: the key is not shown
    """

    private = True
    path: Path | None = None  # the file that the key was read from

    def __init__(self, key: bytes, dataset: str) -> None:
        self._key = checked_key(key)
        self.dataset = _checked_name(dataset, "dataset")

    @classmethod
    def of(cls, key: bytes | str, dataset: str) -> KeyedRandom:
        """From a key of at least 128 bits, as bytes or as hexadecimal digits."""
        return cls(checked_key(key), dataset)

    @classmethod
    def from_file(cls, path: str | Path, dataset: str) -> KeyedRandom:
        """From a file of hexadecimal digits that only its owner can read, as :meth:`new_file` makes it."""
        check_path(path=path)
        keyed = cls(read_key_file(path), dataset)
        keyed.path = Path(path)
        return keyed

    @staticmethod
    def new_file(path: str | Path) -> Path:
        """Write a new key of 256 bits, in hexadecimal digits, to a file that only its owner can read.

        It is on the disk, whole, when this returns. An existing file is never replaced: its draws would be lost.
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

    def names(self, ids: Any) -> Array:
        """A block of 16 bytes for each record id, shape (n, 16); made once, they serve every variable.

        Ids are whole numbers or texts. A text that writes a whole number ("7", but not "07") names the same record as
        the number, so that the kind of file an id was kept in does not matter.
        """
        return _encrypted(self.subkey("names"), self._labels(read_ids(ids)))

    def stream(self, variable: str, design: str) -> KeyedStream:
        """The words of one variable under the design with this fingerprint."""
        return KeyedStream(self, _checked_name(variable, "variable"), _checked_name(design, "design"))

    def commitment(self) -> str:
        """Names the key for a log without revealing it: only a holder of the key can check this HMAC under it."""
        return self.subkey("commitment").hex()

    def derived(self, draws: Iterable[tuple[str, str]]) -> DerivedKeys:
        """What draws of these variables, each with the fingerprint of its design, need of the key; it can be sent."""
        needed: list[tuple[str, ...]] = [("names",), ("texts",)]
        for one in list_of(tuple, draws, "draws"):
            if len(one) != 2:
                raise ParameterError("names-for-draws", one_count=len(one))
            names = _checked_name(one[0], "variable"), _checked_name(one[1], "design")
            needed += [("words", *names), ("spill", *names)]
        return DerivedKeys(self.dataset, {one: self.subkey(*one) for one in needed})

    def subkey(self, purpose: str, *parts: str) -> bytes:
        """32 bytes for one purpose."""
        message = b"".join(_measured(part.encode(errors="surrogatepass")) for part in (purpose, self.dataset, *parts))
        return hmac.digest(self._key, _measured(VERSION) + message, "sha256")

    def _labels(self, records: Records) -> Array:
        blocks = np.zeros((len(records.numbers), _BLOCK), dtype=np.uint8)
        blocks[:, :8] = records.numbers.astype("<i8").view(np.uint8).reshape(-1, 8)
        if records.texts:
            blocks[records.rows] = self._hashed(records.texts)
        return blocks

    def _hashed(self, texts: list[str]) -> Array:
        start = hashlib.blake2b(key=self.subkey("texts"), digest_size=_BLOCK)
        hashed = np.frombuffer(b"".join(_digest(start, text) for text in texts), dtype=np.uint8)
        blocks = hashed.reshape(-1, _BLOCK).copy()
        blocks[:, -1] |= _TEXT
        return blocks

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-secret-key-is-not-copied")

    def __repr__(self) -> str:
        return f"KeyedRandom(dataset={self.dataset!r})  # private: the key is not shown"


class DerivedKeys(KeyedRandom):
    """The subkeys that some draws need, for workers: neither the key nor other draws can be computed from them."""

    def __init__(self, dataset: str, subkeys: Mapping[tuple[str, ...], bytes]) -> None:
        self.dataset, self._subkeys = dataset, dict(subkeys)

    def subkey(self, purpose: str, *parts: str) -> bytes:
        """32 bytes for one purpose, if they were derived."""
        if (purpose, *parts) not in self._subkeys:
            raise ParameterError(
                "the-subkey-was-not-sent-along", purpose=purpose, part=f" for {parts[0]}" if parts else ""
            )
        return self._subkeys[purpose, *parts]

    def __reduce__(self) -> Any:
        return DerivedKeys, (self.dataset, self._subkeys)


class KeyedStream:
    """Random words by record and true state, for one variable of a data set under one design."""

    def __init__(self, keyed: KeyedRandom, variable: str, design: str) -> None:
        self._words = keyed.subkey("words", variable, design)
        self._spill = keyed.subkey("spill", variable, design)

    def words(self, names: Array, states: Any, words_per_row: int) -> Words:
        """Main words of the records with these names and true states, shape (n, words_per_row)."""
        numbers = np.arange(-(-words_per_row // _PER_BLOCK), dtype="<u8")
        return _words(self._words, names, np.asarray(states).astype("<u8"), numbers)[:, :words_per_row]

    def spill(self, name: Array, state: int, refill: int) -> list[int]:
        """Further words of the record with this name and true state, four for each ``refill`` = 0, 1, 2, ..."""
        number, states = np.array([refill], "<u8"), np.array([state], "<u8")
        words: list[int] = _words(self._spill, name.reshape(1, _BLOCK), states, number)[0].tolist()
        return words

    def further(self, names: Array, states: Any, refills: int) -> Words:
        """The first ``refills`` times four words of :meth:`spill` for each of these records, shape (n, 4 refills)."""
        return _words(self._spill, names, np.asarray(states).astype("<u8"), np.arange(refills, dtype="<u8"))

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-secret-key-is-not-copied-or")


def _words(key: bytes, names: Array, states: Array, numbers: Array) -> Words:
    """Blocks of words, shape (n, 4 numbers); no two pairs (name, state | number) give the cipher one block."""
    blocks = np.repeat(names.view("<u8")[:, None, :], len(numbers), axis=1)
    blocks[:, :, 0] ^= states[:, None]
    if len(numbers) > 1 or numbers.any():
        blocks[:, :, 1] ^= numbers
    return (
        _encrypted(key, blocks.reshape(-1, 2).view(np.uint8)).view("<u4").reshape(len(names), _PER_BLOCK * len(numbers))
    )


def _encrypted(key: bytes, blocks: Array) -> Array:
    """AES-256 of each block of 16 bytes on its own, in place. Every block is used once: a pseudo-random function."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import ECB

    encryptor = Cipher(AES(key), ECB()).encryptor()  # noqa: S305
    step = min(_STRETCH, max(1, len(blocks)))
    made = np.empty(step * _BLOCK + _BLOCK - 1, dtype=np.uint8)  # the room that the library asks for
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        encryptor.update_into(part.reshape(-1).data, made.data)
        part[:] = made[: part.size].reshape(-1, _BLOCK)
    return blocks


def _measured(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _digest(start: Any, text: str) -> bytes:
    hashed = start.copy()
    hashed.update(text.encode(errors="surrogatepass"))
    digest: bytes = hashed.digest()
    return digest


def _checked_name(name: str, what: str) -> str:
    if not isinstance(name, str):
        raise WrongTypeError("must-be-a-text-not", what=what, name_kind=kind_of(name))
    if not name:
        raise ParameterError("no-name-was-given", what=what)
    return name


def checked_key(key: bytes | str) -> bytes:
    """A key of at least 128 bits as bytes, from bytes or hexadecimal digits."""
    if not isinstance(key, bytes | str):
        raise WrongTypeError("a-key-must-be-bytes")
    if isinstance(key, str) and not re.fullmatch(r"(?:[0-9a-fA-F]{2})+", key):
        raise ParameterError("the-key-is-not-a-text")
    secret = bytes.fromhex(key) if isinstance(key, str) else key
    if len(secret) < LEAST_BYTES:
        raise ParameterError("a-key-of-bits-can", secret_count=8 * len(secret), least_bytes=8 * LEAST_BYTES)
    if len(set(secret)) < _LEAST_DIFFERENT:
        raise ParameterError("a-key-of-different-bytes-can", secret_count=len(set(secret)))
    return secret


def read_key_file(path: str | Path) -> bytes:
    """The key of a file that only its owner can read."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _no_key(path, "is not a file")
            if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise DataFileError("others-than-its-owner-may-use", path=path, s_imode=stat.S_IMODE(status.st_mode))
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise DataFileError("cannot-read-the-key-file", path=path, strerror=error.strerror) from error
    if len(content) > _LARGEST_FILE:
        raise _no_key(path, f"has more than {_LARGEST_FILE:,} bytes")
    return checked_key(content.decode("latin-1").strip())


def _check_new(path: Path) -> None:
    if os.path.lexists(path):
        raise DataFileError("exists-a-key-is-never-replaced", path=path)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for somebody who writes


def _no_key(path: str | Path, why: str) -> DataFileError:
    return DataFileError("the-key-file", path_shown=path, why=why, path=str(path))


class Records(NamedTuple):
    """A number for each record, shape (n,), and for those that are named by a text its row and the text."""

    numbers: Array
    rows: list[int]
    texts: list[str]


def read_ids(ids: Any) -> Records:
    """Ids as numbers of 64 bits where they are whole numbers, also in a text or a float, and as texts elsewhere."""
    array = _as_array(ids)
    if array.ndim != 1:
        raise WrongTypeError("ids-of-shape", shape=array.shape)
    if array.dtype.kind in "iu" and not (array.dtype == np.uint64 and array.size and int(array.max()) >= _HIGH):
        return Records(array.astype(np.int64), [], [])
    if array.dtype.kind in "mM":  # of nanoseconds NumPy would make whole numbers
        raise WrongTypeError("the-id-in-row-0-counted", row=0)
    if array.dtype.kind == "f":
        inexact = np.abs(array) >= 2.0 ** (np.finfo(array.dtype).nmant + 1)  # two whole numbers may be one float
        if inexact.any():
            row = int(np.argmax(inexact))
            raise WrongTypeError("the-id-in-row-counted-from", dtype=array.dtype, row=row)
        if np.isfinite(array).all() and (array == np.rint(array)).all():
            return Records(array.astype(np.int64), [], [])
    return _one_by_one(array.tolist())


def _as_array(ids: Any) -> Array:
    """A column of another library by its own conversion; a list as it is, since NumPy would make all of one kind."""
    if hasattr(ids, "__array__"):
        return as_array(ids, "ids")
    values = as_list(ids, "ids")
    if values and set(map(type, values)) == {int} and min(values) >= _LOW and max(values) < _HIGH:
        return np.array(values, dtype=np.int64)
    return np.array([*values, None], dtype=object)[:-1]


def _one_by_one(values: list[Any]) -> Records:
    numbers, rows, texts = np.zeros(len(values), dtype=np.int64), [], []
    for row, value in enumerate(values):
        name = _read(value, row)
        if isinstance(name, str):
            rows.append(row)
            texts.append(name)
        else:
            numbers[row] = name
    return Records(numbers, rows, texts)


def _read(value: Any, row: int) -> int | str:
    if isinstance(value, str) and value:
        return _within(int(value)) if _WHOLE.fullmatch(value) else value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return _within(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE_FLOAT:
        return int(value)
    if (isinstance(value, str) and not value) or is_missing(value):
        raise MissingValueError("the-record-in-row-counted", row=row)
    raise WrongTypeError("the-id-in-row-counted", name=type(value).__name__, values=f"{value!r:.40}", row=row)


def _within(number: int) -> int | str:
    """A number of 64 bits, or the digits of a longer one."""
    return number if _LOW <= number < _HIGH else str(number)
