"""Small tables that people write by hand: CSV with a header, every line told by its number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from maskwell.core.documents import LARGEST_BY_HAND, read_document
from maskwell.core.phrases import fault_of
from maskwell.errors import DataFileError

Line = tuple[int, list[str]]


def read_lines(path: str, *, hint: str) -> list[Line]:
    """The lines that are not empty, as their number in the file and their cells."""
    text = read_document(path, error=DataFileError, hint=hint, largest=LARGEST_BY_HAND)
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        return [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(map(str.strip, row))]
    except csv.Error as error:
        raise DataFileError(f"cannot read {path}: {fault_of(error)}", hint=hint, path=path) from error


def read_small_table(
    path: str, *, needed: Iterable[str], allowed: Iterable[str] = (), hint: str
) -> list[tuple[int, dict[str, str]]]:
    """The rows by the names of their columns, with their line; an error for columns that are missing or unknown."""
    lines = read_lines(path, hint=hint)
    header = lines[0][1] if lines else []
    known = {*needed, *allowed}
    if not set(needed) <= set(header) <= known or len(set(header)) < len(header):
        raise DataFileError(f"{path} has the columns {', '.join(header) or 'none'}", hint=hint, path=path)
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise DataFileError(
                f"{path}, line {number}: {len(line)} fields for {len(header)} columns", hint=hint, path=path
            )
    if len(lines) < 2:
        raise DataFileError(f"{path} has no rows", hint=hint, path=path)
    return [(number, dict(zip(header, line, strict=True))) for number, line in lines[1:]]
