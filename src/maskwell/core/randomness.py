"""Where random words come from: AES in counter mode, keyed by the operating system unless a seed is asked for by name.

A stream gives row ``i`` of a column the same words however rows are cut into chunks, threads or files::

    counter block (16 bytes, big-endian) =  number of the stream (8 bytes) | number of the block (8 bytes)

    blocks 0, 1, 2, ...             main words, rows one after the other, ``words_per_row`` each
    blocks 2**63 + row * 2**16 ...  spill words of that row: for the few draws that the main words do not settle

Words are 32 bits, least significant byte first. Source: [FIPS197], [NIST80038A, section 6.5], with 256-bit keys.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from functools import cmp_to_key, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from maskwell.core.arguments import Array, Words, kind_of, shown_short
from maskwell.errors import ParameterError, WrongTypeError

_BLOCK = 16
_SPILL = 1 << 63
SPILL_BLOCKS = 1 << 16

_lineage = [os.getpid()]  # this process and those it was forked from

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _lineage.append(os.getpid()))


def _process() -> tuple[int, int]:
    """Distinguishes a forked child from its parent, even where process numbers repeat."""
    return os.getpid(), len(_lineage)


class RandomSource(Protocol):
    """Anything that hands out streams of random words."""

    @property
    def private(self) -> bool:
        """False when someone who knows the seed could undo the randomization."""

    def stream(self) -> Stream:
        """A stream that no other call gets."""


def check_source(random: object) -> None:
    """Raise unless this is a source of random words; a seed or a generator of NumPy is none."""
    if not hasattr(random, "private") or not callable(getattr(random, "stream", None)) or isinstance(random, type):
        raise WrongTypeError("random-must-be-a-source", random_kind=kind_of(random))


class Held(NamedTuple):
    """A key and the process that may use it."""

    process: tuple[int, int]
    key: bytes


class Stream:
    """Random words by row, for one pass over one column. Not to be shared between threads."""

    def __init__(self, key: bytes, number: int, *, secure: bool) -> None:
        self._secure = secure
        self._number = number
        self._held = Held(_process(), key)
        self._position: tuple[bytes, int] | None = None
        self._buffer = self._zeros = np.zeros(0, dtype=np.uint8)

    def twin(self) -> Stream:
        """A second reader of the same words, for another thread that works on other rows."""
        held = self._renewed()
        twin = Stream(held.key, self._number, secure=self._secure)
        twin._held = held  # with the process it belongs to, which may not be this one any more after a fork
        return twin

    def words(self, first_row: int, rows: int, words_per_row: int) -> Words:
        """Main words of ``rows`` rows, shape (rows, words_per_row). The array is reused by the next call."""
        held = self._renewed()
        start, size = 4 * words_per_row * first_row, 4 * words_per_row * rows
        if self._position != (held.key, start):
            block, skip = divmod(start, _BLOCK)
            self._cipher = self._encryptor(held.key, block)
            self._cipher.update(bytes(skip))
        if len(self._buffer) < size:
            self._buffer, self._zeros = np.empty(size, dtype=np.uint8), np.zeros(size, dtype=np.uint8)
        self._cipher.update_into(self._zeros[:size], self._buffer[:size])
        self._position = held.key, start + size
        return self._buffer[:size].view("<u4").reshape(rows, words_per_row)

    def spill(self, row: int, refill: int) -> list[int]:
        """Further words of one row, four for each ``refill`` = 0, 1, 2, ..."""
        if refill >= SPILL_BLOCKS:
            raise OverflowError("a draw used up its random words; this cannot happen with a working generator")
        encryptor = self._encryptor(self._renewed().key, _SPILL + row * SPILL_BLOCKS + refill)
        words: list[int] = np.frombuffer(encryptor.update(bytes(_BLOCK)), dtype="<u4").tolist()
        return words

    def further(self, rows: Array, refills: int) -> Words:
        """The first ``refills`` times four words of :meth:`spill` for each of these rows, shape (n, 4 refills)."""
        if refills > SPILL_BLOCKS or int(rows.max(initial=0)) >= (_SPILL // SPILL_BLOCKS):
            raise OverflowError("a stream ends after 2**16 blocks of a row and after 2**47 rows")
        counters = np.empty((len(rows), refills, 2), dtype=">u8")
        counters[:, :, 0] = self._number
        first = rows.astype(np.uint64) * np.uint64(SPILL_BLOCKS) + np.uint64(_SPILL)
        counters[:, :, 1] = first[:, None] + np.arange(refills, dtype=np.uint64)
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import ECB

        encryptor = Cipher(AES(self._renewed().key), ECB()).encryptor()  # noqa: S305 (each counter is used once)
        words = np.frombuffer(encryptor.update(counters.tobytes()), dtype="<u4")
        return words.reshape(len(rows), 4 * refills)

    def _encryptor(self, key: bytes, block: int) -> Any:
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        counter = self._number.to_bytes(8, "big") + block.to_bytes(8, "big")
        return Cipher(AES(key), CTR(counter)).encryptor()

    def _renewed(self) -> Held:
        """The key of this process: a new one in a forked child. Key and process are kept and read as one."""
        held = self._held
        if self._secure and held.process != _process():
            held = self._held = Held(_process(), os.urandom(32))
        return held

    def __reduce__(self) -> Any:
        raise WrongTypeError("a-random-stream-cannot-be-copied")


class SecureRandom:
    """Unpredictable words: the default. Every stream has a key of its own from the operating system."""

    private = True

    def stream(self) -> Stream:
        """A stream that no other call gets."""
        return Stream(os.urandom(32), 0, secure=True)

    def __repr__(self) -> str:
        return "SecureRandom()"


class SeededRandom:
    """Repeatable words for tests and simulation. **Not private**: the seed is enough to undo the randomization."""

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise WrongTypeError("seed-is-not-an-integer", seed=shown_short(seed))
        if seed < 0:
            raise ParameterError("seed-is-negative", seed=seed)
        self.seed = seed
        self._key = hashlib.sha256(b"maskwell seeded source, version 1: %d" % seed).digest()
        self._next = itertools.count()

    def stream(self) -> Stream:
        """The next stream of this seed."""
        return Stream(self._key, next(self._next), secure=False)

    def __reduce__(self) -> Any:
        return (SeededRandom, (self.seed,))

    def __repr__(self) -> str:
        return f"SeededRandom({self.seed})  # not private"


SECURE = SecureRandom()  # the source used where none is given


def random_order(stream: Stream, first: int, size: int) -> Array:
    """The numbers 0..size-1 in an order of which all are equally likely: sorted by random numbers of 64 bits."""
    keys = stream.words(first, size, 2).copy().view("<u8").ravel()
    order, alike = _by_first_bits(keys)
    order[alike] = order[alike][np.argsort(keys[order[alike]])]
    for start, end in _tied(keys[order[alike]]):  # however these came out
        rows = alike[start:end]
        order[rows] = sorted(order[rows].tolist(), key=cmp_to_key(partial(_compared, stream, first)))
    return order


def _by_first_bits(keys: Array) -> tuple[Array, Array]:
    """The order by the first 32 bits, and the places in it that have these in common with a neighbour."""
    second, first = ((keys >> np.uint64(bits)).astype(np.uint16) for bits in (32, 48))
    order = np.argsort(second, kind="stable")
    order = order[np.argsort(first[order], kind="stable")]
    sorted_ = (keys >> np.uint64(32)).astype(np.uint32)[order]
    same = np.concatenate([[False], sorted_[1:] == sorted_[:-1], [False]])
    return order, np.flatnonzero(same[1:] | same[:-1])


def _compared(stream: Stream, first: int, a: int, b: int) -> int:
    """Which of two rows comes first by its further words."""
    pairs = ((stream.spill(first + a, refill), stream.spill(first + b, refill)) for refill in itertools.count())
    one, two = next((x, y) for x, y in pairs if x != y)
    return -1 if one < two else 1


def _tied(keys: Array) -> list[tuple[int, int]]:
    """Stretches of equal numbers in a sorted column."""
    same = np.concatenate([[False], keys[1:] == keys[:-1], [False]]).view(np.int8)
    changes = np.diff(same)
    starts, ends = (np.flatnonzero(changes == change).tolist() for change in (1, -1))
    return [(start, end + 1) for start, end in zip(starts, ends, strict=True)]
