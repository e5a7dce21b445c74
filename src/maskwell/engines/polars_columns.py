"""polars: Series of enums, categoricals, texts, numbers and the rest; the name is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from maskwell.core.arguments import Bits
from maskwell.core.categories import Column, Versions, first_fit, not_a_column, split_array
from maskwell.core.labels import Finder, find_all
from maskwell.engines.arrow_arrays import masks_from_bits, sets_of_column

INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
NUMPY_NUMBERS = (*INTEGERS, pl.Float32, pl.Float64)
FIRST_ROWS = 10_000


def split(values: Any) -> Column:
    """See a polars Series as a ``Column``."""
    if not isinstance(values, pl.Series):
        raise not_a_column(values)
    dtype: Any = values.dtype
    if dtype == pl.Enum:
        return Column(_physical(values), dtype.categories.to_list())
    if dtype == pl.Categorical:
        return _split_categorical(values)
    if dtype == pl.String:
        return _split_text(values)
    if dtype == pl.Boolean:
        return Column(_filled(values.cast(pl.UInt8)), [False, True], _nulls(values))
    if dtype in NUMPY_NUMBERS:
        return split_array(_filled(values), _nulls(values))
    return Column(_plain_list(values))


def join(codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ARG001
    """Series like ``like`` that holds the labels with these codes."""
    places = pl.Series(codes.astype(np.uint32))  # an array of another type is converted by polars, at twice the time
    return _labels(versions, like.dtype).gather(places).alias(like.name)


def split_sets(values: Any, k: int) -> Bits:
    """Bit masks of a Series of bytes, or of texts of 0 and 1."""
    if not isinstance(values, pl.Series):
        raise not_a_column(values)
    return sets_of_column(values.to_arrow(), k)


def join_sets(bits: Bits, like: Any, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ARG001
    """Series of bytes under the name of ``like``."""
    column: Any = pl.from_arrow(masks_from_bits(bits))
    return column.alias(like.name)


def _split_text(values: pl.Series) -> Column:
    """Try the texts of the first rows as an enum; only when others occur, pay for finding all distinct texts."""
    distinct = values.head(FIRST_ROWS).drop_nulls().unique()
    coded = values.cast(pl.Enum(distinct), strict=False)
    if coded.null_count() > values.null_count():
        distinct = values.drop_nulls().unique()
        coded = values.cast(pl.Enum(distinct))
    return Column(_physical(coded), distinct.to_list())


def _split_categorical(values: pl.Series) -> Column:
    """Renumber by the labels that occur: the numbers behind a categorical are shared by the whole process."""
    numbers, nulls = _filled(values.to_physical()), _nulls(values)
    distinct = values.head(FIRST_ROWS).drop_nulls().unique()
    positions = _renumbered(numbers, distinct)
    if positions.size and (positions if nulls is None else positions[~nulls]).min(initial=0) < 0:
        distinct = values.drop_nulls().unique()
        positions = _renumbered(numbers, distinct)
    return Column(positions, distinct.cast(pl.String).to_list(), nulls)


def _renumbered(numbers: NDArray[Any], distinct: pl.Series) -> NDArray[Any]:
    """The place of each number among those of the labels, -1 for others."""
    known = distinct.to_physical().to_numpy()
    largest = max(int(numbers.max(initial=0)), int(known.max(initial=0)))
    table: NDArray[Any] = np.full(largest + 1, -1, dtype=np.int16 if len(known) < 2**15 else np.int64)
    table[known] = np.arange(len(known))
    look_up: Finder = table.take
    return find_all(numbers, look_up, len(known), table.dtype)


def _physical(values: pl.Series) -> NDArray[Any]:
    numbers = values.to_physical()
    return numbers.cast(pl.Int64).fill_null(-1).to_numpy() if values.null_count() else numbers.to_numpy()


def _filled(values: pl.Series) -> NDArray[Any]:
    return values.fill_null(strategy="zero").to_numpy() if values.null_count() else values.to_numpy()


def _nulls(values: pl.Series) -> NDArray[np.bool_] | None:
    return values.is_null().to_numpy() if values.null_count() else None


def _plain_list(values: pl.Series) -> list[Any]:
    return [tuple(value) if isinstance(value, list) else value for value in values.to_list()]


def _labels(versions: Versions, dtype: Any) -> pl.Series:
    if dtype == pl.Enum:
        texts = first_fit(versions, lambda labels: pl.Series(labels, dtype=pl.String), pl.Series.to_list)
        if texts is not None:
            return texts.cast(pl.Enum(texts))
        dtype = None
    fitting = first_fit(versions, lambda labels: pl.Series(labels, dtype=dtype, strict=True), _plain_list)
    if fitting is None:
        fitting = first_fit(versions[:1], lambda labels: pl.Series(labels, strict=True), _plain_list)
    return pl.Series([str(label) for label in versions[0]]) if fitting is None else fitting
