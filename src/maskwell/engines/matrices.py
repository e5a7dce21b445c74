"""Matrices that people keep in files: CSV with or without labels, JSON, NPY."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.categories import Categories
from maskwell.core.documents import from_json, read_document
from maskwell.core.exact import as_fraction
from maskwell.core.phrases import fault_of
from maskwell.errors import DataFileError, InputError, MatrixError


@dataclass(frozen=True)
class MatrixFile:
    """Entries as they were written (numbers or texts), and the labels of rows and columns if there were any."""

    entries: Any
    row_labels: Categories | None = None
    column_labels: Categories | None = None


def read_matrix(path: str) -> MatrixFile:
    """Read m lines of k numbers or fractions from CSV (labels optional), JSON (a list of lists) or NPY."""
    readers = {".csv": _read_csv, ".json": _read_json, ".npy": _read_npy}
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise DataFileError(f"{path} has no ending that tells what it is", hint=f"known endings: {' '.join(readers)}")
    try:
        return reader(path)
    except InputError:
        raise
    except OSError as error:
        raise DataFileError(
            f"cannot read {path}: {error.strerror}", hint="check the path of the matrix file"
        ) from error
    except (ValueError, EOFError, csv.Error) as error:
        raise DataFileError(
            f"cannot read {path}: {fault_of(error)}", hint="give m lines of k numbers or fractions"
        ) from error


def _read_csv(path: str) -> MatrixFile:
    lines = csv.reader(io.StringIO(_text_of(path), newline=""))
    rows = [[cell.strip() for cell in row] for row in lines if any(cell.strip() for cell in row)]
    if not rows:
        raise DataFileError(f"{path} is empty", hint="give m lines of k numbers or fractions", path=path)
    if _is_number(rows[0][0]) and len({len(row) for row in rows}) == 1:
        return MatrixFile(rows)
    header, body = rows[0], rows[1:]
    width = len(body[0]) if body else 0
    if len(header) == width:
        header = header[1:]  # without the corner
    if not body or len(header) != width - 1 or any(len(row) != width for row in body):
        lengths = sorted({len(row) for row in rows})
        raise MatrixError(
            f"{path}: lines of {' and '.join(map(str, lengths))} fields do not make a matrix",
            hint="give lines of numbers alone, or a line of category labels and a first column of report labels",
        )
    return MatrixFile([row[1:] for row in body], _labels([row[0] for row in body]), _labels(header))


def _labels(texts: Sequence[str]) -> Categories:
    return Categories.of(texts)


def _is_number(text: str) -> bool:
    try:
        as_fraction(text)
    except InputError:
        return False
    return True


def _read_json(path: str) -> MatrixFile:
    """Decimals keep the digits that were written."""
    return MatrixFile(from_json(_text_of(path), parse_float=str))


def _text_of(path: str) -> str:
    return read_document(path, error=DataFileError, hint="check the path of the matrix file")


def _read_npy(path: str) -> MatrixFile:
    array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise MatrixError(f"{path} does not hold a matrix", hint="save an array with two dimensions: reports, truths")
    return MatrixFile(array)
