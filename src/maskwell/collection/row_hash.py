"""A hash of the rows of a file, the same whatever the container: CSV, packed, with other line ends or quotes, Parquet.

A row counts with its reports and with all its other columns, and rows count in their order. A hash of the reports
alone could be guessed: somebody with the database knows them, and could try all orders of a few, or all counts of many.
Other columns are compared by what they say: 1.50 in a CSV file is 1.5 in a Parquet file, midnight is its day.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from maskwell.engines.arrow_arrays import require

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ t]\d\d:.*)?", re.ASCII)
_LONGEST = 40
_REMEMBERED = 100_000


class RowHash:
    """The hash of rows that are added one after the other."""

    def __init__(self) -> None:
        self._hashed = hashlib.sha256()
        self._meant: dict[str, str] = {}

    def add(self, content: str, others: Mapping[str, Any]) -> None:
        """The next row: its reports, and its other columns by name; columns without a value do not count."""
        cells = sorted((name, meant) for name, value in others.items() if (meant := self._cell(value)))
        self._hashed.update(json.dumps([content, cells]).encode() + b"\n")

    def digest(self) -> bytes:
        """The hash of all rows so far."""
        return self._hashed.digest()

    def _cell(self, value: Any) -> str:
        if value is None or value == "":
            return ""
        text = value if isinstance(value, str) else _as_text(value)
        if text not in self._meant:
            if len(self._meant) >= _REMEMBERED:
                self._meant.clear()
            self._meant[text] = meant_by(text)
        return self._meant[text]


def meant_by(text: str) -> str:
    """What a value says, however a container writes it; nothing for a missing one.

    >>> [meant_by(text) for text in ("1.50", "7.0", "1e3", " True", "NaN", "2024-05-01 00:00:00", "2024-05-01T10:00Z")]
    ['1.5', '7', '1000', 'true', '', '2024-05-01', '2024-05-01T10:00:00']
    """
    plain = text.strip().lower()
    if plain == "nan":
        return ""
    if len(plain) <= _LONGEST and _NUMBER.fullmatch(plain):
        number = float(plain)
        whole = plain.lstrip("+-").isdecimal()
        return str(int(plain)) if whole else f"{number:.15g}" if math.isfinite(number) else plain
    if len(plain) <= _LONGEST and _MOMENT.fullmatch(plain):
        return _moment(plain)
    return plain


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.upper())
        moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return text
    return moment.isoformat().removesuffix("T00:00:00")


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str) if isinstance(value, Mapping | list) else str(value)


def shown(column: Any) -> list[Any]:
    """The values of a column as texts: what Arrow has no text for as its parts, and what cannot be read as nothing."""
    arrow = require()
    for made in (lambda: column.cast(arrow.string()).to_pylist(), column.to_pylist):
        try:
            return list(made())
        except (arrow.ArrowException, ValueError, TypeError, OverflowError, ImportError):
            continue
    return [None] * len(column)
