"""Arrow: Arrays and ChunkedArrays of dictionaries, texts, numbers and the rest; the chunks are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskwell.core.arguments import Bits
from maskwell.core.categories import Column, Versions, first_fit, not_a_column, split_array
from maskwell.engines.arrow_arrays import masks_from_bits, numbers_array, sets_of_column, texts_array, without_views
from maskwell.engines.arrow_checks import validated_values

PIECE = 1 << 20  # rows per chunk where the old chunks no longer apply; keeps texts below Arrow's 2 GB per array


def split(values: Any) -> Column:
    """See an Arrow array as a ``Column``."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        raise not_a_column(values)
    values = validated_values(values)
    if _is_number(values.type):
        nulls = _numpy(values.is_null()) if values.null_count else None
        return split_array(_numpy(values.fill_null(0) if values.null_count else values), nulls)
    try:
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return Column(_plain_list(values))
    if isinstance(coded, pa.Array):
        return Column(_positions(coded), _plain_list(coded.dictionary))
    if not coded.num_chunks:
        return Column(np.empty(0, dtype=np.int64), [])
    chunks = coded.unify_dictionaries().chunks
    return Column(np.concatenate([_positions(chunk) for chunk in chunks]), _plain_list(chunks[0].dictionary))


def join(codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ARG001
    """Array like ``like`` that holds the labels with these codes."""
    if not hasattr(like, "type"):
        raise not_a_column(like)
    is_dictionary = pa.types.is_dictionary(like.type)
    labels = _labels(versions, without_views(like.type.value_type if is_dictionary else like.type))

    def piece(part: NDArray[Any]) -> Any:
        if not is_dictionary:
            return labels.take(numbers_array(part))
        dtype = np.dtype(like.type.index_type.to_pandas_dtype())
        fits = len(labels) - 1 <= np.iinfo(dtype).max
        indices = numbers_array(part.astype(dtype if fits else np.dtype(np.int64)))
        return pa.DictionaryArray.from_arrays(indices, labels, ordered=like.type.ordered)

    if isinstance(like, pa.Array):
        return piece(codes)
    return pa.chunked_array([piece(codes[start:stop]) for start, stop in _pieces(like, len(codes))])


def split_sets(values: Any, k: int) -> Bits:
    """Bit masks of a column of bytes, or of texts of 0 and 1."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        raise not_a_column(values)
    return sets_of_column(validated_values(values), k)


def join_sets(bits: Bits, like: Any, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ARG001
    """Fixed-size binary, in the chunks of ``like``."""
    if not hasattr(like, "type"):
        raise not_a_column(like)
    masks = masks_from_bits(bits)
    if isinstance(like, pa.Array):
        return masks
    return pa.chunked_array([masks[start:stop] for start, stop in _pieces(like, len(bits))], type=masks.type)


def _positions(values: Any) -> NDArray[Any]:
    indices = values.indices
    return _numpy(indices.cast(pa.int64()).fill_null(-1) if indices.null_count else indices)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64()))


def _numpy(values: Any) -> NDArray[Any]:
    """Without pandas where that is possible: ``to_numpy`` imports it, which takes a third of a second."""
    if isinstance(values, pa.Array) and _is_number(values.type) and not values.null_count:
        return np.from_dlpack(values)
    array: NDArray[Any] = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return array


def _plain_list(values: Any) -> list[Any]:
    return [tuple(value) if isinstance(value, list) else value for value in values.to_pylist()]


def _labels(versions: Versions, kind: Any) -> Any:
    fitting = first_fit(versions, lambda labels: _array(labels, kind), _plain_list)
    if fitting is None:
        fitting = first_fit(versions[:1], pa.array, _plain_list)
    return pa.array([str(label) for label in versions[0]]) if fitting is None else fitting


def _array(labels: Any, kind: Any) -> Any:
    """Labels as an array of a type, without loading pandas where they are texts."""
    if kind == pa.string() and isinstance(labels, list) and all(isinstance(label, str) for label in labels):
        return texts_array(labels)
    return pa.array(labels, type=kind)


def _pieces(like: Any, count: int) -> Iterator[tuple[int, int]]:
    lengths = [len(chunk) for chunk in like.chunks] if len(like) == count else []
    ends = np.cumsum(lengths).tolist() if lengths else [*range(PIECE, count, PIECE), count]
    yield from zip([0, *ends[:-1]], ends, strict=True)
