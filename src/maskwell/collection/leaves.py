"""Leaves: rows of a database that do not reveal in which order their lines came.

A *leaf* is some dozen lines, sorted, with blanks behind them, so that a further line is written into the same place. A
keyed hash says which leaf a line belongs to, and the number of leaves follows from that of the lines (linear hashing,
by W. Litwin): what the database holds is the same whichever way the lines came. The key is in the database only,
so that nobody outside can choose many ids that belong to one leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from maskwell.errors import InputError

ROOM = 960  # characters of a leaf of counts, or a multiple of them
LOAD = 8  # reports in a leaf, on average; one that was not split for long holds up to twice as many
FULL = 3 * LOAD  # reports that a leaf has room for: about one leaf in a hundred gets more, and then twice the room
_ID_DIGITS = 32
SPAN = 1 << 32  # places that belong to one survey; its leaves are numbered from the first of them


class DamagedError(InputError):
    """The content of the database was not written by maskwell."""

    code = "damaged"

    def __init__(self) -> None:
        super().__init__(
            "the database is damaged: it holds a line that is not of a report or a count",
            hint="keep a copy of it, and restore a backup into a new file: maskwell survey restore",
            status=500,
        )


def leaf_text(lines: Iterable[str], room: int = ROOM) -> str:
    """A leaf: its lines in their own order, then blanks."""
    text = "".join([f"{line}\n" for line in sorted(lines)])
    return text.ljust(max(1, -(-len(text) // room)) * room)


def lines_of(leaf: str) -> list[str]:
    """The lines of a leaf."""
    return leaf.split("\n")[:-1]


def record_lines(records: Mapping[bytes, str]) -> list[str]:
    """Lines of reports: the id in hexadecimal digits, a blank, the content, which has none."""
    return [f"{key.hex()} {content}" for key, content in records.items()]


def records_of(leaves: Iterable[str]) -> dict[bytes, str]:
    """The reports of leaves, by their ids."""
    return {id_of(line): line[_ID_DIGITS + 1 :] for leaf in leaves for line in lines_of(leaf)}


def id_of(line: str) -> bytes:
    """The id of a line of reports."""
    try:
        return bytes.fromhex(line[:_ID_DIGITS])
    except ValueError:
        raise DamagedError from None


def content_at(leaf: str, key: bytes) -> str | None:
    """What stands under an id; the only blank of a line stands behind its id."""
    at = leaf.find(f"{key.hex()} ")
    return None if at < 0 else leaf[at + _ID_DIGITS + 1 : leaf.index("\n", at)]


def counts_of(lines: Iterable[str]) -> dict[str, int]:
    """The counts of cells, from lines of a cell, a blank and its count."""
    try:
        return {cell: int(count) for cell, _, count in (line.rpartition(" ") for line in lines)}
    except ValueError:
        raise DamagedError from None


def room_of(longest: int) -> int:
    """Characters of a leaf of reports, where the longest content has so many."""
    return FULL * (_ID_DIGITS + longest + 2)


@dataclass(frozen=True)
class Leaves:
    """Which of the leaves of a survey an id belongs to, while there are so many ids in all."""

    first: int  # the place of the first leaf
    salt: bytes  # the key of the hash
    room: int  # characters of each

    def count(self, size: int) -> int:
        """How many leaves so many ids have."""
        return size // LOAD + 1

    def place(self, key: bytes, count: int) -> int:
        """The leaf of an id among so many: by as many last bits of its hash as there are leaves for, or by one less."""
        hashed = int.from_bytes(blake2b(key, key=self.salt, digest_size=8).digest())
        half = 1 << (count.bit_length() - 1)
        leaf = hashed % (2 * half)
        return self.first + (leaf if leaf < count else leaf - half)

    def split(self, before: int, after: int) -> set[int]:
        """The leaves that give ids to new ones, where their number grows."""
        ancestors = set()
        for leaf in range(before, after):
            while leaf >= before:  # up to the leaf, of so many before, that held what a new one gets
                leaf -= 1 << (leaf.bit_length() - 1)
            ancestors.add(self.first + leaf)
        return ancestors
