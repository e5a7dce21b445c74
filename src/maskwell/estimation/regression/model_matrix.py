"""The model matrix, read in blocks of rows and put on a common scale, so that Newton's equations are well conditioned.

Column j enters as ``(x_j - shift_j) / scale_j``, where the shift is the mean if one column is constant (an intercept
takes it up) and zero otherwise. Coefficients go back by ``beta = T theta``; nobody outside sees theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_list
from maskwell.core.phrases import MESSAGE, listed, shorten
from maskwell.errors import InputError, MissingValueError

BLOCK = 1 << 12  # rows at a time: a block of a dozen columns stays in the processor's cache
COLLINEAR = 1e-11  # a column with less variance of its own than this share is a combination of the others
STILL = 1e-24  # mean square around the mean, in squares of the mean, below which a column is constant up to rounding
_PARTS = (slice(0, 1000), slice(1000, None))


@dataclass(frozen=True, eq=False)
class ModelMatrix:
    """Columns of the linear predictor."""

    # Arrays of shape (n, columns): one, or one for each category of a randomized predictor, which shares its
    # coefficients
    versions: tuple[Array, ...]
    # Names of the coefficients: those of the columns, after "Intercept" if there is one without a column
    names: tuple[str, ...]
    # What is taken off each column, and what it is divided by, shape (p,)
    shift: Real
    scale: Real
    constant: int | None  # Which coefficient is the intercept, None without one
    with_ones: bool = False  # Whether the first coefficient is an intercept without a column of its own

    @classmethod
    def of(
        cls, versions: Sequence[Array], names: Sequence[str], weights: Real | None = None, *, with_ones: bool = False
    ) -> ModelMatrix:
        """Find shift and scale, and refuse columns that depend on each other."""
        arrays = tuple(versions)
        check_enough(len(arrays[0]), len(names))
        constant = 0 if with_ones else _constant(arrays)
        shift = np.zeros(len(names))
        if constant is not None:
            shift[int(with_ones) :] = _middle(arrays)
            shift[constant] = 0.0
        centred = cls(arrays, tuple(names), shift, np.ones(len(names)), constant, with_ones)
        gram = centred._gram(weights)
        _check_finite(gram, arrays, names[int(with_ones) :])
        still = np.flatnonzero((np.diag(gram) <= STILL * shift**2) & (shift != 0))
        if len(still) and constant is not None:  # a column that is constant beside the intercept
            raise _dependent(names[still[0]], [names[constant]])
        check_rank(gram, names)
        return replace(centred, scale=np.sqrt(np.diag(gram)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.versions[0])

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return len(self.names)

    def block(self, where: slice, version: int = 0) -> Real:
        """Rows with the shift taken off, not yet divided by the scale, one line for each column: shape (p, rows)."""
        values, first = self.versions[version][where], int(self.with_ones)
        out = np.empty((self.p, len(values)))
        out[:first] = 1.0
        np.subtract(values.T, self.shift[first:, None], out=out[first:])
        return out

    def column(self, j: int, version: int = 0) -> Real:
        """One column on the common scale, shape (n,)."""
        if self.with_ones and j == 0:
            return np.full(self.n, 1 / self.scale[0])
        values = self.versions[version][:, j - int(self.with_ones)]
        return np.asarray((values - self.shift[j]) / self.scale[j])

    def given(self, version: int = 0) -> Real:
        """All columns as they were given, with the ones, shape (n, p)."""
        values = np.asarray(self.versions[version], dtype=np.float64)
        return np.column_stack([np.ones(self.n), values]) if self.with_ones else values

    def part(self, rows: slice | Array) -> ModelMatrix:
        """Some rows, on the same scale."""
        return replace(self, versions=tuple(values[rows] for values in self.versions))

    @cached_property
    def back(self) -> Real:
        """T, shape (p, p): coefficients of the columns as they were given are T theta."""
        T = np.diag(1 / self.scale)
        if self.constant is not None:
            value = 1.0 if self.with_ones else float(self.versions[0][0, self.constant])
            T[self.constant] -= self.shift / self.scale / value
        return T

    def _gram(self, weights: Real | None) -> Real:
        """Mean of ``x x'`` over the rows and versions."""
        gram, total = np.zeros((self.p, self.p)), 0.0
        for v in range(len(self.versions)):
            for where in blocks(self.n):
                X = self.block(where, v)
                gram += X @ X.T if weights is None else (X * weights[where]) @ X.T
                total += X.shape[1] if weights is None else float(weights[where].sum())
        return gram / total


def blocks(n: int) -> list[slice]:
    """All rows, a block at a time."""
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def check_rank(gram: Real, names: Sequence[str]) -> None:
    """Raise unless no column is a combination of the others; name those that belong together."""
    left = gram.copy()
    for j, name in enumerate(names):
        if gram[j, j] <= 0:
            raise InputError("column-is-zero-in-every-row", name=shorten(name), column=name)
        if left[j, j] <= COLLINEAR * gram[j, j]:
            parts = np.linalg.solve(gram[:j, :j], gram[:j, j])
            size = np.abs(parts) * np.sqrt(np.diag(gram)[:j] / gram[j, j])
            raise _dependent(name, [one for one, share in zip(names, size, strict=False) if share > 1e-6])
        shared = left[j + 1 :, j] / left[j, j]  # what the later columns share with this one is taken off
        left[j + 1 :, j + 1 :] -= np.outer(shared, left[j, j + 1 :])


def check_enough(n: int, p: int) -> None:
    """Raise unless there are more rows than coefficients."""
    if n <= p:
        raise InputError("rows-for-coefficients", n=n, p=p)


def _dependent(name: str, together: Sequence[str]) -> InputError:
    wrong = f"column {shorten(name, 30)!r} is a combination of the columns "
    partners = listed((repr(shorten(one, 24)) for one in together), len(together), MESSAGE - len(wrong))
    return InputError(wrong + partners, hint="leave out one of these columns", column=name, columns=tuple(together))


def _constant(arrays: Sequence[Array]) -> int | None:
    """The first column with one value, other than zero, in every row."""
    first = arrays[0][0]
    for j in range(arrays[0].shape[1]):
        if first[j] != 0 and all((values[part, j] == first[j]).all() for part in _PARTS for values in arrays):
            return j
    return None


def _middle(arrays: Sequence[Array]) -> Real:
    """About the mean of each column: of some rows, because any shift will do."""
    step = max(1, len(arrays[0]) // 10_000)
    return np.asarray(np.mean([values[::step].mean(axis=0, dtype=np.float64) for values in arrays], axis=0))


def _check_finite(gram: Real, arrays: Sequence[Array], names: Sequence[str]) -> None:
    """Raise if a value is missing or infinite, which makes the matrix of products so."""
    if np.isfinite(gram).all():
        return
    for values in arrays:
        for j, name in enumerate(names):
            lost = int((~np.isfinite(values[:, j].astype(np.float64))).sum())
            if lost:
                raise MissingValueError(
                    "column-of-values-are-missing-or",
                    name=shorten(name),
                    values_count=len(values),
                    column=name,
                    count=lost,
                )
    raise InputError("a-column-has-values-too-large")


def as_matrix(X: Any, names: Sequence[str] | None) -> tuple[Array, tuple[str, ...]]:
    """Predictors as an array (n, columns) of numbers with a name for each column."""
    values = as_array(X, "X")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise InputError("x-must-be-a-table", dtype=values.dtype, shape=values.shape)
    columns = tuple(map(str, getattr(X, "columns", ()) if names is None else as_list(names, "names")))
    named = columns or tuple(f"x{j + 1}" for j in range(values.shape[1]))
    if len(named) != values.shape[1]:
        raise InputError("names-for-columns", named_count=len(named), shape=values.shape[1], names=names)
    return (values.astype(np.float64) if values.dtype.kind == "b" else values), named
