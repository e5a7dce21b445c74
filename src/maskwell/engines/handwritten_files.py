"""Small files that people write by hand: tables with a header, the curves of a demand, matrices."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.categories import Categories
from maskwell.core.documents import LARGEST_BY_HAND, from_json, read_document
from maskwell.core.exact import as_fraction, as_given, check_probability, to_decimal
from maskwell.core.phrases import fault_of
from maskwell.errors import DataFileError, InputError, MatrixError, ParameterError
from maskwell.privacy.curves import Curve, Lines, Steps

Line = tuple[int, list[str]]


def read_lines(path: str, *, hint: str) -> list[Line]:
    """The lines that are not empty, as their number in the file and their cells."""
    text = read_document(path, error=DataFileError, hint=hint, largest=LARGEST_BY_HAND)
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        return [(rows.line_num, [cell.strip() for cell in row]) for row in rows if any(map(str.strip, row))]
    except csv.Error as error:
        raise DataFileError("cannot-read-2", hint=hint, fault=fault_of(error), path=path) from error


def read_small_table(
    path: str, *, needed: Iterable[str], allowed: Iterable[str] = (), hint: str
) -> list[tuple[int, dict[str, str]]]:
    """The rows by the names of their columns, with their line; an error for columns that are missing or unknown."""
    lines = read_lines(path, hint=hint)
    header = lines[0][1] if lines else []
    known = {*needed, *allowed}
    if not set(needed) <= set(header) <= known or len(set(header)) < len(header):
        raise DataFileError("path-has-the-columns-header", hint=hint, header=", ".join(header) or "none", path=path)
    for number, line in lines[1:]:
        if len(line) != len(header):
            told = {"number": number, "line_count": len(line), "header_count": len(header)}
            raise DataFileError("line-fields-for-columns", hint=hint, **told, path=path)
    if len(lines) < 2:
        raise DataFileError("path-has-no-rows", hint=hint, path=path)
    return [(number, dict(zip(header, line, strict=True))) for number, line in lines[1:]]


CURVES_HINT = "give a CSV with the header p,lower,upper and one row for each prior, starting at p = 0"
Rows = Sequence[tuple[Fraction, Fraction]]


def read_curves(path: str, *, between: str = "steps") -> tuple[Curve | None, Curve | None]:
    """The lower and the upper curve, None without a column: "steps" that hold up to the next p, or "lines" between."""
    lines = read_lines(path, hint=CURVES_HINT)
    header = lines[0][1] if lines else []
    if "p" not in header or not {"lower", "upper"} & set(header) or len(set(header)) < len(header):
        raise DataFileError("path-has-the-columns-header-give", header=", ".join(header) or "none", path=path)
    table = _priors(path, header, lines[1:])
    make = _steps if between == "steps" else _lines
    curves = []
    for name in ("lower", "upper"):
        rows = [(p, row[name]) for p, row in table.items() if name in row]
        try:
            curves.append(make(rows) if rows else None)
        except ParameterError as error:
            raise ParameterError(
                "path-column-name-problem", hint=error.hint, name=name, problem=error.message, path=path
            ) from error
    return curves[0], curves[1]


def _priors(
    path: str, header: Sequence[str], lines: Sequence[tuple[int, Sequence[str]]]
) -> dict[Fraction, dict[str, Fraction]]:
    """The table by its priors; ``lines`` come with their number in the file."""
    table: dict[Fraction, dict[str, Fraction]] = {}
    for number, line in lines:
        if len(line) != len(header):
            raise DataFileError(
                "line-fields-for-columns-give", path=path, number=number, line_count=len(line), header_count=len(header)
            )
        cells = dict(zip(header, line, strict=True))
        p = as_given(as_fraction(cells["p"], f"{path}, line {number}, p"), cells["p"])
        before = next(reversed(table), None)
        late = before is not None and p <= before
        if late or not 0 <= p <= 1:
            wrong = f"comes after p = {to_decimal(before)}" if before is not None and late else "is not from 0 to 1"
            raise DataFileError("line-p", path=path, number=number, p=to_decimal(p), wrong=wrong)
        table[p] = {
            name: check_probability(cells[name], f"{path}, line {number}, {name}")
            for name in ("lower", "upper")
            if name in cells
        }
    if not table:
        raise DataFileError("path-has-no-rows-give", path=path)
    return table


def _steps(rows: Rows) -> Steps:
    if rows[0][0] != 0:
        raise ParameterError("nothing-is-said-about-priors-below", row=to_decimal(rows[0][0]))
    inside = [(p, v) for p, v in rows if p < 1]
    return Steps.of([p for p, _ in inside[1:]], [v for _, v in inside])


def _lines(rows: Rows) -> Lines:
    start = [] if rows[0][0] == 0 else [(Fraction(0), Fraction(0))]
    end = [] if rows[-1][0] == 1 else [(Fraction(1), Fraction(1))]
    return Lines.of([*start, *rows, *end])


@dataclass(frozen=True)
class MatrixFile:
    """Entries as they were written (numbers or texts), and the labels of rows and columns if there were any."""

    entries: Any
    row_labels: Categories | None = None
    column_labels: Categories | None = None


def read_matrix(path: str) -> MatrixFile:
    """Read m lines of k numbers or fractions from CSV (labels optional), JSON (a list of lists) or NPY."""
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".json", ".npy"):
        raise DataFileError("has-no-ending-that-tells-what", path=path, readers=".csv .json .npy")
    try:
        if ending == ".npy":
            array = np.load(path, allow_pickle=False)
            if not isinstance(array, np.ndarray) or array.ndim != 2:
                raise MatrixError("does-not-hold-a-matrix", path=path)
            return MatrixFile(array)
        text = read_document(path, error=DataFileError, hint="check the path of the matrix file")
        # Decimals of JSON keep the digits that were written.
        return _from_csv(text, path) if ending == ".csv" else MatrixFile(from_json(text, parse_float=str))
    except InputError:
        raise
    except OSError as error:
        raise DataFileError("cannot-read-check", path=path, strerror=error.strerror) from error
    except (ValueError, EOFError, csv.Error) as error:
        raise DataFileError("cannot-read-give", path=path, fault=fault_of(error)) from error


def _from_csv(text: str, path: str) -> MatrixFile:
    lines = csv.reader(io.StringIO(text, newline=""))
    rows = [[cell.strip() for cell in row] for row in lines if any(cell.strip() for cell in row)]
    if not rows:
        raise DataFileError("path-is-empty-give-m", path=path)
    if _is_number(rows[0][0]) and len({len(row) for row in rows}) == 1:
        return MatrixFile(rows)
    header, body = rows[0], rows[1:]
    width = len(body[0]) if body else 0
    if len(header) == width:
        header = header[1:]  # without the corner
    if not body or len(header) != width - 1 or any(len(row) != width for row in body):
        lengths = sorted({len(row) for row in rows})
        raise MatrixError("lines-of-fields-do-not-make", path=path, lengths=" and ".join(map(str, lengths)))
    return MatrixFile([row[1:] for row in body], Categories.of([row[0] for row in body]), Categories.of(header))


def _is_number(text: str) -> bool:
    try:
        as_fraction(text)
    except InputError:
        return False
    return True
