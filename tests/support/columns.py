"""Columns of a small CSV file as arrays, for figures that are worked out by hand."""

import csv
from pathlib import Path

import numpy as np
from tests.support.arrays import Array


def read_columns(path: Path) -> dict[str, Array]:
    """Every column by its name: numbers where all are, else texts."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {name: _array([row[i] for row in rows]) for i, name in enumerate(header)}


def _array(texts: list[str]) -> Array:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)
