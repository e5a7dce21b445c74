"""Draws kept by a secret key: the same record gets the same random words in every release, whatever its row.

A release that is made again with new words tells more each time; with these it repeats itself. Whoever holds the key
can repeat the draws, nobody else can tell them from new ones::

    subkey(purpose, ...) = HMAC-SHA256(key, "maskwell keyed draws, version 1" | purpose | data set | ...)

    name of a record (16 bytes)  =  a whole number of 64 bits, little-endian, and eight zero bytes; else
                                    keyed BLAKE2b of the text, 16 bytes, under subkey("names"), its last bit set to one
    words 4b .. 4b + 3           =  AES-256 of the name under subkey("words", variable, b)
    spill words of refill r      =  AES-256 of the name under subkey("spill", variable, r)

Every part of a message is preceded by its length, so no two lists of parts are one message. Words are 32 bits, least
significant byte first. Records with different names get independent words, and so do different variables of a record.

Source: [RFC2104, section 2], [RFC7693, abstract], [FIPS197].
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from maskwell.core.arrays import Array, Words
from maskwell.core.key_files import checked_key, read_key_file
from maskwell.core.record_ids import Records, read_ids
from maskwell.errors import ParameterError, WrongTypeError

VERSION = b"maskwell keyed draws, version 1"
_BLOCK = 16
_PER_BLOCK = 4
_TEXT = 0x80  # the last bit of a name: one for texts, zero for numbers


class KeyedRandom:
    """Random words by record, from a secret key and the name of a data set.

    >>> keyed = KeyedRandom.of("000102030405060708090a0b0c0d0e0f", "labour-2025")
    >>> first, again = keyed.words("sex", [7, 8], 2), keyed.words("sex", ["8", "7"], 2)
    >>> bool((first == again[::-1]).all())   # whatever the order of the rows, and whether ids are numbers or texts
    True
    >>> keyed
    KeyedRandom(dataset='labour-2025')  # private: the key is not shown
    """

    private = True

    def __init__(self, key: bytes, dataset: str) -> None:
        self._key = checked_key(key)
        self.dataset = _checked_name(dataset, "dataset")

    @classmethod
    def of(cls, key: bytes | str, dataset: str) -> KeyedRandom:
        """From a key of at least 128 bits, as bytes or as hexadecimal digits."""
        return cls(checked_key(key), dataset)

    @classmethod
    def from_file(cls, path: str | Path, dataset: str) -> KeyedRandom:
        """From a file of hexadecimal digits that only its owner can read, as :func:`new_key_file` makes it."""
        return cls(read_key_file(path), dataset)

    def names(self, ids: Any) -> Array:
        """A block of 16 bytes for each record id, shape (n, 16); made once, they serve every variable.

        Ids are whole numbers or texts. A text that writes a whole number ("7", but not "07") names the same record as
        the number, so that the kind of file an id was kept in does not matter.
        """
        return self._named(read_ids(ids))

    def words(self, variable: str, ids: Any, words_per_row: int) -> Words:
        """Main words of each record for one variable, shape (n, words_per_row)."""
        return self.stream(variable).words(self.names(ids), words_per_row)

    def spill(self, variable: str, record_id: Any, refill: int) -> list[int]:
        """Further words of one record, four for each ``refill`` = 0, 1, 2, ..."""
        return self.stream(variable).spill(self.names([record_id])[0], refill)

    def stream(self, variable: str) -> KeyedStream:
        """The words of one variable."""
        return KeyedStream(self, _checked_name(variable, "variable"))

    def commitment(self) -> str:
        """Names the key for a log without telling it: equal for equal keys and data sets, in hexadecimal digits.

        It is a value of HMAC under the key itself, so that only whoever holds the key can check it.

        >>> len(KeyedRandom.of(bytes(range(32)), "labour-2025").commitment())
        64
        """
        return self.subkey("commitment").hex()

    def subkey(self, purpose: str, *parts: str) -> bytes:
        """32 bytes for one purpose."""
        message = b"".join(_measured(part.encode()) for part in (purpose, self.dataset, *parts))
        return hmac.digest(self._key, _measured(VERSION) + message, "sha256")

    def _named(self, records: Records) -> Array:
        blocks = np.zeros((len(records.numbers), _BLOCK), dtype=np.uint8)
        blocks[:, :8] = records.numbers.astype("<i8").view(np.uint8).reshape(-1, 8)
        if records.texts:
            blocks[records.rows] = self._hashed(records.texts)
        return blocks

    def _hashed(self, texts: list[str]) -> Array:
        start = hashlib.blake2b(key=self.subkey("names"), digest_size=_BLOCK)
        hashed = np.frombuffer(b"".join(_digest(start, text) for text in texts), dtype=np.uint8)
        blocks = hashed.reshape(-1, _BLOCK).copy()
        blocks[:, -1] |= _TEXT
        return blocks

    def __reduce__(self) -> Any:
        raise WrongTypeError(
            "a secret key is not copied or sent along", hint="read it from its file where it is needed (from_file)"
        )

    def __repr__(self) -> str:
        return f"KeyedRandom(dataset={self.dataset!r})  # private: the key is not shown"


class KeyedStream:
    """Random words by record for one variable of a data set."""

    def __init__(self, keyed: KeyedRandom, variable: str) -> None:
        self._keyed = keyed
        self._variable = variable
        self._keys: dict[tuple[str, int], bytes] = {}

    def words(self, names: Array, words_per_row: int) -> Words:
        """Main words of the records with these names, shape (n, words_per_row)."""
        blocks = [self._encrypted("words", b, names) for b in range(-(-words_per_row // _PER_BLOCK))]
        return (blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1))[:, :words_per_row]

    def spill(self, name: Array, refill: int) -> list[int]:
        """Further words of the record with this name, four for each ``refill`` = 0, 1, 2, ..."""
        words: list[int] = self._encrypted("spill", refill, name.reshape(1, _BLOCK))[0].tolist()
        return words

    def _encrypted(self, purpose: str, number: int, names: Array) -> Words:
        """One block of words for each name. Blocks are the records' own, so the cipher is a pseudo-random function."""
        encryptor = Cipher(AES(self._key_of(purpose, number)), ECB()).encryptor()  # noqa: S305
        made = np.empty(names.size + _BLOCK - 1, dtype=np.uint8)  # the room that the library asks for
        encryptor.update_into(np.ascontiguousarray(names).reshape(-1).data, made.data)
        return made[: names.size].view("<u4").reshape(-1, _PER_BLOCK)

    def _key_of(self, purpose: str, number: int) -> bytes:
        if (purpose, number) not in self._keys:
            self._keys[purpose, number] = self._keyed.subkey(purpose, self._variable, str(number))
        return self._keys[purpose, number]

    def __reduce__(self) -> Any:
        raise WrongTypeError(
            "a secret key is not copied or sent along",
            hint="make the stream where it is needed: keyed.stream(variable)",
        )


def _measured(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _digest(start: Any, text: str) -> bytes:
    own = start.copy()
    own.update(text.encode(errors="surrogatepass"))
    digest: bytes = own.digest()
    return digest


def _checked_name(name: str, what: str) -> str:
    if not isinstance(name, str):
        raise WrongTypeError(f"{what} = {name!r} is not a text", hint=f"give the name of the {what}")
    if not name:
        raise ParameterError(f"no name was given for the {what}", hint="give one and keep it from release to release")
    return name
