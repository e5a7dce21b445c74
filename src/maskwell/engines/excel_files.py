"""Excel workbooks (.xlsx): the first sheet, its first row as names; every cell is read as text, as in CSV.

python-calamine reads, XlsxWriter writes. Whole numbers have no decimal point, so that labels such as 1 and 2 are the
same as in a CSV file; dates are written as 2025-12-31. An empty cell is a missing value.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, BinaryIO

from maskwell.core.extras import require_library
from maskwell.engines.arrow_arrays import file_errors, require
from maskwell.engines.arrow_checks import check_unpacked
from maskwell.engines.input_file import note_once
from maskwell.engines.row_sources import BATCH_ROWS, Coded, Engine, rows_of_cells
from maskwell.errors import DataFileError

WHAT = "an Excel file"
MOST_ROWS, MOST_COLUMNS, LONGEST = 1 << 20, 1 << 14, 32_767
"""Rows and columns of a sheet, and characters of a cell: the limits of the format."""


class _ExcelSource:
    """Rows of the first sheet of a workbook."""

    style = None

    def __init__(self, path: str, ending: str, *, coded: Coded, exact: bool, copied: bool) -> None:
        calamine = require_library("python_calamine", WHAT, extra="excel")
        if path == "-":
            raise DataFileError("excel-cannot-be-read-from-standard-input")
        self._path, self._seen = path, 0
        try:
            with file_errors("read", path), zipfile.ZipFile(path) as parts:
                packed = sum(part.compress_size for part in parts.infolist())
                check_unpacked(sum(part.file_size for part in parts.infolist()), packed, path)
                _check_sheets(parts, path)
            book = calamine.CalamineWorkbook.from_path(path)
            sheet = book.get_sheet_by_index(0)
        except (zipfile.BadZipFile, calamine.CalamineError) as error:
            raise DataFileError("is-not-an-excel-file", path=path) from error
        if len(book.sheet_names) > 1:
            note_once(path, f"has {len(book.sheet_names)} sheets; the first one is read: {sheet.name}")
        rows = iter(sheet.to_python(skip_empty_area=False))
        names = [_text(cell) or "" for cell in next(rows, [])]
        if not names or "" in names:
            raise DataFileError("excel-header-is-empty", path=path, number=names.index("") + 1 if names else 1)
        self._rows = [row for row in rows if any(cell != "" for cell in row)]
        self.schema = require().schema([(name, require().string()) for name in names])

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of texts."""
        places = range(len(self.schema)) if only is None else sorted(only)
        schema = require().schema([self.schema.field(place) for place in places])
        step = min(BATCH_ROWS, rows_of_cells(len(schema)))
        for start in range(0, len(self._rows), step):
            rows = self._rows[start : start + step]
            columns = [require().array([_text(row[place]) for row in rows], require().string()) for place in places]
            self._seen = start + len(rows)
            yield require().RecordBatch.from_arrays(columns, schema=schema)

    def done(self) -> float | None:
        """Share of the rows handed on so far."""
        return self._seen / len(self._rows) if self._rows else None

    def close(self) -> None:
        self._rows = []


def _check_sheets(parts: zipfile.ZipFile, path: str) -> None:
    """Raise where few cells span a huge area: the reader has room for all cells between the first and the last."""
    for part in parts.namelist():
        if not part.startswith("xl/worksheets/"):
            continue
        count, row, column, rest = 0, 0, 0, b""
        with parts.open(part) as sheet:
            while piece := sheet.read(1 << 20):
                text = rest + piece
                cut = text.rfind(b"<") if len(text) > _LONGEST_TAG else 0
                rest = text[cut:] if cut > 0 else b""
                for letters, digits in _PLACE.findall(text[:cut] if cut > 0 else text):
                    count += 1
                    row, column = max(row, int(digits[:8])), max(column, _column(letters[:4]))
        if row * column > _SPARE_CELLS + _EMPTY_CELLS * count:
            raise DataFileError("excel-cells-lie-far-apart", path=path)


_PLACE = re.compile(rb"""<(?:\w+:)?(?:c|row)\s[^<>]*?\br\s*=\s*["']([A-Za-z]*)(\d+)["']""")
_LONGEST_TAG = 1 << 16
_SPARE_CELLS, _EMPTY_CELLS = 1 << 22, 64  # empty cells that any sheet may have, and those for each cell that is there


def _column(letters: bytes) -> int:
    """The number of a column, from 1 on."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _text(cell: Any) -> str | None:
    """A cell as text: whole numbers without a decimal point, dates as ISO 8601; None for an empty one."""
    if cell == "":
        return None
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    return cell.isoformat(sep=" ") if isinstance(cell, datetime) else str(cell)


class _ExcelSink:
    """Writes one sheet; texts that are numbers become numbers, and nothing becomes a formula or a link."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> None:
        xlsxwriter = require_library("xlsxwriter", WHAT, extra="excel")
        if len(schema) > MOST_COLUMNS:
            raise DataFileError("excel-has-too-many", what="columns", most=MOST_COLUMNS)
        # In memory: scratch files of the library have names, and would stay after a crash.
        self._book = xlsxwriter.Workbook(file, {"in_memory": True})
        self._book.set_properties({"created": datetime(2000, 1, 1)})  # the same rows: the same file
        self._sheet, self._row = self._book.add_worksheet(), 1
        self._write_row(0, schema.names)

    def write(self, batch: Any) -> None:
        texts = [column.cast(require().string()).to_pylist() for column in batch.columns]
        if self._row + len(batch) > MOST_ROWS:
            raise DataFileError("excel-has-too-many", what="rows", most=MOST_ROWS - 1)
        for row in zip(*texts, strict=True):
            self._write_row(self._row, row)
            self._row += 1

    def close(self) -> None:
        """Write the workbook; the file itself stays open."""
        with file_errors("write", "the output"):
            self._book.close()

    def abandon(self) -> None:
        self._book.fileclosed = True  # or it warns when it is collected

    def _write_row(self, number: int, cells: Sequence[str | None]) -> None:
        for place, text in enumerate(cells):
            if text is None:
                continue
            if len(text) > LONGEST:
                raise DataFileError("excel-cell-is-too-long", most=LONGEST)
            if number and (value := _number(text)) is not None:
                self._sheet.write_number(number, place, value)
            else:
                self._sheet.write_string(number, place, text)


def _number(text: str) -> float | None:
    """The number that this text is read back from, to the last character; None for any other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and _text(value) == text else None


EXCEL = Engine(_ExcelSource, _ExcelSink, texts_only=True)
