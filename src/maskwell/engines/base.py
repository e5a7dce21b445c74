"""Where rows live: what a kind of file must offer so that columns can be randomized and reports counted.

An engine is one module with two functions, ``open_source`` and ``open_sink`` (see :class:`Engine`), and one line in
``ENGINES``. It is imported on first use, so that the libraries behind it are needed only by those who use it. Rows
travel as Arrow record batches, never as a whole table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, TypeAlias

from maskwell.core.categories import Categories

Coded: TypeAlias = Mapping[str, Categories | None]
"""Columns that hold categories, with the categories that are looked for in them."""

BATCH_ROWS = 1 << 16
"""Rows at a time: small enough for the processor's cache, large enough that Python does not count."""

BATCH_CELLS = 1 << 22
"""Values at a time, so that memory stays flat in files of thousands of columns too."""

MOST_COLUMNS = 50_000
"""Columns that a file to be written may have."""


def rows_of_cells(columns: int) -> int:
    """Rows that so many columns allow at a time.

    >>> rows_of_cells(20_000)
    209
    """
    return max(1, BATCH_CELLS // max(1, columns))


ENGINES = {
    ".csv": "maskwell.engines.delimited",
    ".csv.gz": "maskwell.engines.delimited",
    ".tsv": "maskwell.engines.delimited",
    ".tsv.gz": "maskwell.engines.delimited",
    ".parquet": "maskwell.engines.parquet",
    ".arrow": "maskwell.engines.ipc",
    ".sav": "maskwell.engines.labelled",
    ".dta": "maskwell.engines.labelled",
    ".sas7bdat": "maskwell.engines.labelled",
    ".xpt": "maskwell.engines.labelled",
}
"""The engine of each ending of a file name."""


class Source(Protocol):
    """Rows that are read once, batch after batch."""

    @property
    def schema(self) -> Any:
        """Names and types of the columns, as an Arrow schema."""

    @property
    def style(self) -> Any:
        """What a file of the same kind should keep besides the rows (such as line ends); None when there is nothing."""

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of any length; ``only`` these columns, in the order of the file."""

    def done(self) -> float | None:
        """Share of the file read so far, None where it cannot be known."""

    def close(self) -> None:
        """Give back the file."""


class Sink(Protocol):
    """Takes rows, batch after batch."""

    def write(self, batch: Any) -> None:
        """Add rows."""

    def close(self) -> None:
        """Write what is left; the file itself stays open."""

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""


class Engine(Protocol):
    """What the module of one kind of file offers."""

    TEXTS_ONLY: bool
    """Whether such a file holds nothing but text."""

    HOLDS_BYTES: bool
    """Whether it can hold bytes; set reports are written as texts of 0 and 1 otherwise."""

    def open_source(self, path: str, ending: str, *, coded: Coded, exact: bool) -> Source:
        """Open a file for reading.

        The columns ``coded`` may come as dictionaries, whatever their type, and as labels of their values where the
        categories that are looked for are labels (None: wherever there are labels). ``exact`` says that the rows go
        into a file of the same kind, so that dates and missing codes may come as they are stored.
        """

    def open_sink(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> Sink:
        """Start writing rows of this schema; ``style`` comes from a source."""
