"""Arrow arrays: rows become codes and bit masks without a Python step, and what is written is no more than the rows."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from maskwell.core import extras
from maskwell.core.arguments import Array, Bits
from maskwell.core.atomic import FULL_DISK
from maskwell.core.categories import not_a_column
from maskwell.core.phrases import fault_of, named_encoding, shorten
from maskwell.core.report_data import bytes_of, masks_of_characters, masks_of_width, missing_reports, split_sets
from maskwell.errors import DataFileError, MaskwellError, ReportError, WrongTypeError

KEY = b"maskwell"  # under this key the metadata of a column say which design made it


require = extras.require


@contextmanager
def file_errors(what: str, path: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be read or written."""
    arrow = require()
    try:
        yield
    except MaskwellError:
        raise
    except (arrow.ArrowException, OSError, EOFError, zlib.error, ValueError, ArithmeticError, MemoryError) as error:
        if isinstance(error, OSError) and what == "write" and error.errno in FULL_DISK:
            raise  # the caller that opened the output knows its name
        told = {"reason_of": reason_of(error, what), "values": fault_of(error, 200), "path": path}
        raise DataFileError("cannot-what-path-reason", hint=_hint(error, what), what=what, **told) from None


HARMLESS = re.compile(
    r"Expected \d+ columns, got \d+|magic bytes not found|not a gzipped file|invalid UTF-?8"
    r"|unexpected end of (?:stream|file|data)|Compressed file ended before the end-of-stream marker was reached"
    r"|CRC check failed|while decompressing data|straddles two block boundaries"
    r"|Expected to read \d+ metadata bytes, but only read \d+"
    r"|Invalid file, or file has unsupported features|cannot mix struct and non-struct|cannot mix list and non-list"
    r"|Conversion failed|tried to convert to u?(?:int|float)\d\d?|too large to fit in C integer type"
    r"|variable name '.{1,64}' (?:contains a space|starts with an illegal)|a provided name (?:is|contains) [a-z ]{1,40}"
    r"|must all be the same length|expected length \d+ but got length \d+",
    re.IGNORECASE,
)
"""What other libraries say that cannot hold a value of the data; all else that they say may."""


def reason_of(error: BaseException, what: str = "read") -> str:
    """Why another library refused data, without any value of it."""
    if isinstance(error, UnicodeError):
        return "some bytes are not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    harmless = HARMLESS.search(str(error))
    return harmless.group() if harmless else f"the data cannot be {_CODED[what]} ({type(error).__name__})"


_CODED = {"read": "decoded", "write": "encoded"}


def _hint(error: BaseException, what: str) -> str:
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "check the path"
    if "UTF" in text or isinstance(error, UnicodeError):
        return f"save the file as UTF-8, or name the encoding of a CSV file: {named_encoding('windows-1252')}"
    if what == "write":
        return "choose another place or kind of file for the output"
    return "the file may be damaged or cut short, or of another kind than its ending says"


def describe(field: Any) -> dict[str, Any] | None:
    """What the metadata of a column say about the reports in it, None when they say nothing."""
    content = _json((field.metadata or {}).get(KEY, b"null"))
    return content if isinstance(content, dict) else None


def _json(note: bytes) -> Any:
    """What a note in a file says, None where it is not JSON, also if it is nested without end."""
    try:
        return json.loads(note)
    except (ValueError, RecursionError):
        return None


def tells_designs(schema: Any) -> bool:
    """Whether the metadata of some column name the design that made it."""
    return any(describe(field) is not None for field in schema)


def is_private(field: Any) -> bool:
    """Whether a column does not say that its reports were drawn from a seed."""
    return (describe(field) or {}).get("private") is not False


def described(field: Any, about: dict[str, Any]) -> Any:
    """The field with metadata about the reports in it, and no other."""
    return field.with_metadata({KEY: json.dumps(about).encode()})


HARMLESS_NOTES = ("index_columns", "column_indexes", "pandas_version", "creator")


def without_traces(
    schema: Any, columns: Sequence[str], dropped: Sequence[str] = (), *, row_numbers: bool = True
) -> Any:
    """The schema without notes about the file that could reveal the true values in these columns.

    Notes of pandas on other columns are kept, so that an index is found again, unless it is one of the columns that are
    ``dropped``, or a range without ``row_numbers``: one reveals which rows of a table these were.
    """
    notes = _json((schema.metadata or {}).get(b"pandas", b"null"))
    listed = notes.get("columns") if isinstance(notes, dict) else None
    if not isinstance(listed, list) or not all(isinstance(note, dict) for note in listed):
        return schema.remove_metadata()
    about = [note for note in listed if not any(note.get(key) in columns for key in ("name", "field_name"))]
    harmless = {key: notes[key] for key in notes if key in HARMLESS_NOTES}
    if isinstance(harmless.get("index_columns"), list):
        kept = [one for one in notes["index_columns"] if one not in dropped]
        harmless["index_columns"] = [one for one in kept if row_numbers or isinstance(one, str)]
    return schema.with_metadata({b"pandas": json.dumps({**harmless, "columns": about}).encode()})


def numbers_array(values: Array, lost: Array | None = None) -> Any:
    """Numbers as an Arrow array in the same memory, without the lost ones; ``pyarrow.array`` would load pandas."""
    arrow, held = require(), np.ascontiguousarray(values)
    there = None if lost is None else arrow.py_buffer(np.packbits(~lost, bitorder="little"))
    return arrow.Array.from_buffers(arrow.from_numpy_dtype(held.dtype), len(held), [there, arrow.py_buffer(held)])


def texts_array(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array, without loading pandas."""
    arrow, held = require(), [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)]).astype(np.int32)
    buffers = [None, arrow.py_buffer(ends), arrow.py_buffer(b"".join(held))]
    return arrow.Array.from_buffers(arrow.string(), len(held), buffers)


def masks_from_bits(bits: Bits) -> Any:
    """Bit masks as an array of fixed-size binary values."""
    arrow, data = require(), np.ascontiguousarray(bits)
    return arrow.Array.from_buffers(arrow.binary(data.shape[1]), len(data), [None, arrow.py_buffer(data)])


def arrow_values(values: Any) -> Any:
    """One column of a table in memory as Arrow has it; NaN and None are missing values, whatever else is there."""
    arrow = require()
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if isinstance(values, arrow.Array | arrow.ChunkedArray):
        return values
    if isinstance(values, Set | Iterator | Mapping | str | bytes):
        raise not_a_column(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "V" and not values.dtype.fields and values.ndim == 1:
        return masks_from_bits(bytes_of(values))
    try:
        return arrow.array(values, from_pandas=True)
    except OverflowError:
        raise WrongTypeError("a-column-holds-integers-of-more") from None


def texts_from_bits(bits: Bits, k: int) -> Any:
    """Bit masks as texts of k characters 0 and 1."""
    arrow = require()
    characters = np.unpackbits(np.ascontiguousarray(bits), axis=1, count=k, bitorder="little") | np.uint8(ord("0"))
    offsets = np.arange(len(bits) + 1, dtype=np.int32) * np.int32(k)
    return arrow.Array.from_buffers(
        arrow.string(), len(bits), [None, arrow.py_buffer(offsets), arrow.py_buffer(np.ascontiguousarray(characters))]
    )


def bits_from_array(values: Any, k: int) -> Bits:
    """Bit masks from a column without missing values: binary of any type, or texts of k characters 0 and 1."""
    arrow = require()
    if arrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if arrow.types.is_fixed_size_binary(values.type):
        width = values.type.byte_width
        data = np.frombuffer(values.buffers()[1] or b"", dtype=np.uint8)[values.offset * width :]
        return masks_of_width(data[: len(values) * width].reshape(len(values), width), k)
    kind = without_views(values.type)
    if str(kind) not in _OFFSETS:
        raise ReportError("the-column-holds-set-reports", type=shorten(str(values.type), 30))
    return _bits_of_lengths(values if kind == values.type else values.cast(kind), k)


def _bits_of_lengths(values: Any, k: int) -> Bits:
    """Of texts or bytes that each have a length of their own, which must be the same for all."""
    if not len(values):
        return np.zeros((0, (k + 7) // 8), dtype=np.uint8)
    ends, data = _text_places(values, _OFFSETS[str(values.type)])
    are_texts = str(values.type).endswith("string")
    width = k if are_texts else int(ends[1]) - int(ends[0])
    if (ends[1:] - ends[:-1] != width).any():
        return split_sets(values.to_pylist(), k)  # which says what is wrong
    rows = np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])].reshape(len(values), width)
    return masks_of_characters(rows, k) if are_texts else masks_of_width(rows, k)


def sets_of_column(values: Any, k: int) -> Bits:
    """Bit masks from an Arrow array or its chunks, all of whose rows must have a report."""
    if values.null_count:
        raise missing_reports(np.flatnonzero(missing_rows(values)).tolist(), len(values))
    chunks = values.chunks if isinstance(values, require().ChunkedArray) else [values]
    parts = [bits_from_array(chunk, k) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.zeros((0, (k + 7) // 8), dtype=np.uint8), *parts])


def missing_rows(values: Any) -> Array:
    """Which rows have no value."""
    lost = values.is_null()
    return flags_in_memory(lost.combine_chunks() if isinstance(lost, require().ChunkedArray) else lost)


def without_nan(values: Any) -> Any:
    """The column with missing values in place of NaN: what pandas and dictionaries call missing is so everywhere."""
    if not require().types.is_floating(values.type):
        return values
    compute = require("pyarrow.compute")
    nan = compute.is_nan(values.cast("float32") if values.type == require().float16() else values)
    return compute.if_else(nan, None, values) if compute.any(nan).as_py() else values


def size_of(batch: Any) -> int:
    """What rows take in memory; where Arrow cannot say it of a part of a column, what the whole column takes."""
    try:
        return int(batch.nbytes)
    except require().ArrowException:  # views of lists, before Arrow 22
        return int(batch.get_total_buffer_size())


def flags_in_memory(values: Any) -> Array:
    """True and False of an Arrow array without missing ones."""
    return numbers_in_memory(values.cast(require().uint8())).astype(np.bool_)


def numbers_in_memory(values: Any) -> Array:
    """Numbers of an Arrow array without missing ones, as they lie in memory; ``to_numpy`` would load pandas."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    numbers = np.frombuffer(values.buffers()[1], dtype=str(values.type))
    return numbers[values.offset : values.offset + len(values)]


def without_views(kind: Any) -> Any:
    """The plain type of views, which share buffers with rows that went elsewhere, and of runs of equal values."""
    arrow = require()
    types = arrow.types
    if str(kind) in ("string_view", "binary_view"):
        return arrow.string() if str(kind) == "string_view" else arrow.binary()
    if types.is_run_end_encoded(kind):
        return without_views(kind.value_type)
    if types.is_list(kind):
        return arrow.list_(kind.value_field.with_type(without_views(kind.value_type)))
    if types.is_large_list(kind):
        return arrow.large_list(kind.value_field.with_type(without_views(kind.value_type)))
    if types.is_struct(kind):
        return arrow.struct([field.with_type(without_views(field.type)) for field in kind])
    return kind


def schema_without_views(schema: Any) -> Any:
    """The schema of a file whose columns share nothing."""
    return require().schema([f.with_type(without_views(f.type)) for f in schema], metadata=schema.metadata)


def table_without_views(table: Any) -> Any:
    """A table in memory with plain texts and bytes: few functions of Arrow take views."""
    schema = schema_without_views(table.schema)
    if table.schema.equals(schema):
        return table
    return require().Table.from_batches([in_schema(batch, schema) for batch in table.to_batches()], schema)


def batch_without_views(batch: Any) -> Any:
    """The batch with plain texts and bytes."""
    return in_schema(batch, schema_without_views(batch.schema))


def in_schema(batch: Any, schema: Any) -> Any:
    """The batch with columns of these types."""
    if batch.schema.equals(schema):
        return batch
    arrays = []
    for array, field in zip(batch.columns, schema, strict=True):
        if require().types.is_run_end_encoded(array.type):
            array = require("pyarrow.compute").run_end_decode(array)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return require().RecordBatch.from_arrays(arrays, schema=schema)


def coming_schema(coming: Any, schema: Any) -> Any:
    """The schema, with dictionaries where a column comes as a dictionary of its values."""
    is_dictionary = require().types.is_dictionary
    for place, (field, stored) in enumerate(zip(coming, schema, strict=True)):
        if is_dictionary(field.type) and field.type.value_type == stored.type:
            schema = schema.set(place, stored.with_type(field.type))
    return schema


FEW_ROWS = 1 << 12  # rows in which all values of most columns occur


def first_used(values: Any) -> Any:
    """A dictionary array with the values that occur only, in the order in which they do; an ordered one keeps its."""
    arrow, compute, looked_at = require(), require("pyarrow.compute"), FEW_ROWS
    while True:  # no row is read after all have occurred
        used = compute.drop_null(compute.unique(values.indices.slice(0, looked_at)))
        if len(used) == len(values.dictionary) or looked_at >= len(values):
            break
        looked_at *= 16
    used = used.take(compute.sort_indices(used)) if values.type.ordered else used
    places = np.zeros(len(values.dictionary), dtype=str(values.type.index_type))
    places[numbers_in_memory(used)] = np.arange(len(used))
    indices = numbers_array(places).take(values.indices)
    return arrow.DictionaryArray.from_arrays(indices, values.dictionary.take(used), ordered=values.type.ordered)


def with_dictionary(values: Any, dictionary: Any) -> Any:
    """The same values with another dictionary, which has all of them."""
    places = require("pyarrow.compute").index_in(values.dictionary, value_set=dictionary).cast(values.type.index_type)
    return require().DictionaryArray.from_arrays(places.take(values.indices), dictionary, ordered=values.type.ordered)


class SortedDictionary:
    """Sorts the dictionary of a column, batch after batch: its order often reveals whose value was first in the file.

    What a later batch adds comes behind, so that a file may go on with its dictionary; an ordered one keeps its order.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._values: Any = None
        self._places: Any = None

    def sorted(self, array: Any) -> Any:
        """The array with its dictionary in another order."""
        kind = array.type
        if kind.ordered or not has_values(kind):
            return array
        if self._before is None or not array.dictionary.equals(self._before):
            self._before, self._values = array.dictionary, self._with(array.dictionary, kind.index_type)
            places = require("pyarrow.compute").index_in(self._before, value_set=self._values)
            self._places = places.cast(kind.index_type)
        return require().DictionaryArray.from_arrays(self._places.take(array.indices), self._values)

    def _with(self, values: Any, index: Any) -> Any:
        """All values so far, in order; only those of this batch where they exceed what its numbers can represent."""
        if self._values is None:
            return _in_order(values)
        compute = require("pyarrow.compute")
        added = values.filter(compute.invert(compute.is_in(values, value_set=self._values)))
        joined = require().concat_arrays([self._values, _in_order(added)])
        return joined if len(joined) <= 1 << (index.bit_width - 1) else _in_order(values)


def _in_order(values: Any) -> Any:
    return values.take(require("pyarrow.compute").sort_indices(values))


def exact_batch(batch: Any, schema: Any) -> Any:
    """The rows and nothing else: an array may carry what stood where a value is missing, and bytes of rows cut off."""
    arrays = (_exact(array, field.type) for array, field in zip(in_schema(batch, schema).columns, schema, strict=True))
    return require().RecordBatch.from_arrays([*arrays], schema=schema)


def _exact(array: Any, kind: Any) -> Any:
    arrow = require()
    if arrow.types.is_struct(kind):
        parts = [_exact(part, field.type) for part, field in zip(array.flatten(), kind, strict=True)]
        lost = array.is_null() if array.null_count else None
        return arrow.StructArray.from_arrays(parts, fields=list(kind), mask=lost) if parts else array
    if arrow.types.is_dictionary(kind):
        return arrow.DictionaryArray.from_arrays(
            _exact(array.indices, kind.index_type), array.dictionary, ordered=kind.ordered
        )
    if len(array) and not array.null_count:
        if (offsets := _OFFSETS.get(str(kind))) is not None:
            ends, data = _text_places(array, offsets)
            texts = data.slice(int(ends[0]), int(ends[-1]) - int(ends[0]))
            return arrow.Array.from_buffers(kind, len(array), [None, arrow.py_buffer(ends - ends[0]), texts])
        if arrow.types.is_primitive(kind) and not arrow.types.is_boolean(kind):
            width = kind.bit_width // 8
            cut = array.buffers()[1].slice(width * array.offset, width * len(array))
            return arrow.Array.from_buffers(kind, len(array), [None, cut])
    return array.take(numbers_array(np.arange(len(array))))


_OFFSETS: dict[str, type] = {
    **dict.fromkeys(("string", "binary"), np.int32),
    **dict.fromkeys(("large_string", "large_binary"), np.int64),
}
"""The offsets at which texts begin, by their type."""


def _text_places(array: Any, offsets: type) -> tuple[Array, Any]:
    """Where texts begin and the last one ends, and the buffer that they point into."""
    _, places, data = array.buffers()
    data = data or require().py_buffer(b"")
    ends: Array = np.frombuffer(places, dtype=offsets)[array.offset : array.offset + len(array) + 1]
    if not 0 <= int(ends[0]) <= int(ends[-1]) <= data.size:
        raise DataFileError("a-column-of-texts-points-outside")
    return ends, data


VALUES, REPORTS, BASKETS, ANY = "values", "reports", "baskets", "any"
"""What a column is asked for: labels or numbers; reports, which may be sets, kept as bytes; baskets, which may also be
lists of items; or only to be there."""


def check_column_type(field: Any, use: str) -> None:
    """Raise for a column whose type cannot be used for what it is asked."""
    types, kind = require().types, field.type
    sets = use in (REPORTS, BASKETS) and holds_bytes(kind)
    lists = use == BASKETS and (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
    if use == ANY or has_values(kind) or sets or (lists and has_values(kind.value_type)):
        return
    name, said = shorten(repr(field.name), 24), shorten(str(field.type), 40)
    raise WrongTypeError("column-holds-which-cannot-be-used", name=name, type=said, column=field.name)


def holds_bytes(kind: Any) -> bool:
    """Whether values are bytes, as packed sets are; also as a dictionary."""
    types = require().types
    kind = without_views(kind.value_type if types.is_dictionary(kind) else kind)
    return bool(types.is_fixed_size_binary(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def has_values(kind: Any) -> bool:
    """Texts, numbers, dates and times, booleans; also as a dictionary, and a column that holds nothing at all."""
    types = require().types
    if types.is_dictionary(kind):
        return has_values(kind.value_type)
    temporal = types.is_temporal(kind) and not (types.is_interval(kind) or types.is_duration(kind))
    texts = types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"
    numbers = (
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal128(kind) or types.is_decimal256(kind)
    )
    return bool(texts or numbers or temporal or types.is_boolean(kind) or types.is_null(kind))


def columns_with_values(schema: Any) -> list[str]:
    """Names of the columns that hold texts, numbers and the like."""
    return [field.name for field in schema if has_values(field.type)]


@contextmanager
def column_errors(name: str) -> Iterator[None]:
    """Report which column has values that Python cannot hold: far dates, unknown time zones, undecodable bytes."""
    try:
        yield
    except MaskwellError:
        raise
    except (require().ArrowException, OverflowError, ValueError, KeyError) as error:  # KeyError: of a time zone
        raise DataFileError(
            "column-has-values-that-cannot", name=shorten(repr(name), 24), values=fault_of(error, 200), column=name
        ) from None
