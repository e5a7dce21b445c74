"""pandas: Series, Index, Categorical and other extension arrays; index and name are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maskwell.core import report_data
from maskwell.core.arguments import Bits
from maskwell.core.categories import Column, Versions, first_fit, label_array, not_a_column, split_array
from maskwell.engines.arrow_arrays import masks_from_bits, require, sets_of_column
from maskwell.engines.arrow_checks import validated_values
from maskwell.errors import InputError

LARGEST_ARRAY = 1 << 30  # bytes of one Arrow array of binary values, which counts them in 32 bits


def split(values: Any) -> Column:
    """See a pandas column as a ``Column``."""
    array = _array(values)
    if isinstance(array, pd.Categorical):
        return Column(array.codes, array.categories.tolist())
    if isinstance(array, np.ndarray):
        return split_array(array)
    if isinstance(array, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        data = array.to_numpy(dtype=array.dtype.numpy_dtype, na_value=0)
        return split_array(data, array.isna())
    positions, distinct = array.factorize()
    return Column(positions, distinct.tolist())


def join(codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:
    """Column like ``like`` that holds the labels with these codes."""
    return _like(like, _labels(versions, _array(like), codes), kept)


def split_sets(values: Any, k: int) -> Bits:
    """Bit masks of a column of bytes, or of texts of 0 and 1; columns that Arrow holds are not taken apart."""
    array = _array(values)
    if hasattr(array, "__arrow_array__"):
        return sets_of_column(validated_values(array.__arrow_array__()), k)
    return report_data.split_sets(np.asarray(array, dtype=object), k)


def join_sets(bits: Bits, like: Any, kept: NDArray[np.bool_] | None) -> Any:
    """Bytes that Arrow holds, of type binary: pandas does not read a file with its own fixed-size binary."""
    arrow, masks = require(), masks_from_bits(bits)
    step = max(1, LARGEST_ARRAY // max(1, bits.shape[1]))
    parts = [masks[start : start + step].cast(arrow.binary()) for start in range(0, len(masks), step)]
    return _like(like, pd.arrays.ArrowExtensionArray(arrow.chunked_array(parts, type=arrow.binary())), kept)


def _like(like: Any, result: Any, kept: NDArray[np.bool_] | None) -> Any:
    if not isinstance(like, pd.Series | pd.Index):
        return result
    if isinstance(like, pd.Index):
        return _index(result).rename(like.name)
    index = like.index if kept is None else like.index[kept]
    if len(index) != len(result):
        raise InputError("codes-for-a-series-of-rows", result_count=len(result), index_count=len(index))
    return pd.Series(result, index=index, name=like.name, dtype=result.dtype)


def _array(values: Any) -> Any:
    if isinstance(values, pd.Series | pd.Index) and not isinstance(values, pd.MultiIndex):
        values = values.array
    if type(values) is pd.arrays.NumpyExtensionArray:
        return values.to_numpy()
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return values
    raise not_a_column(values)


def _labels(versions: Versions, like: Any, codes: NDArray[Any]) -> Any:
    if isinstance(like, pd.Categorical):
        categories = _label_column(versions, like.categories.dtype)
        return pd.Categorical.from_codes(codes, categories=_index(categories), ordered=like.ordered)
    return _label_column(versions, like.dtype).take(codes)


def _index(array: Any) -> Any:
    return pd.Index(array, dtype=array.dtype, tupleize_cols=False)


def _label_column(versions: Versions, dtype: Any) -> Any:
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return label_array(versions, dtype)
    fitting = first_fit(versions, lambda labels: pd.array(labels, dtype=dtype), lambda array: array.tolist())
    return fitting if fitting is not None else _natural(versions)


def _natural(versions: Versions) -> Any:
    return pd.Series(label_array(versions, np.dtype(object))).infer_objects().array
