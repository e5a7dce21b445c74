"""Checks of Arrow columns before anything else touches them: what a binary file claims, and types that can be used.

Arrow hands out arrays that point wherever a file says: a damaged offset reads the memory of the process. Every batch
that comes from a file passes ``validated`` first; casts, selections and conversions come later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from maskwell.core.phrases import fault_of, shorten
from maskwell.engines.arrow_arrays import require
from maskwell.errors import DataFileError, MaskwellError, WrongTypeError

WRITE_AGAIN = "write the file again from its source, or restore it from a copy"

ROWS_PER_BYTE = 1 << 17
"""Rows that a byte of a file can stand for: more than the best packed column has, so that no loop runs for years."""

LARGE, EXPANSION = 1 << 30, 2000
"""Bytes that are unpacked from fewer than a part in so many of them are meant to fill the memory."""

DEEPEST = 64
"""Levels of lists and structs within each other."""

_OUTSIDE = re.compile(
    r"offset|out of bounds|too small|indices invalid|references buffer|larger than|smaller than|run end|missing|null$",
    re.IGNORECASE,
)


def validated(batch: Any, path: str) -> Any:
    """The batch, after a look at every offset, index, length and text of every column, nested ones too."""
    arrow = require()
    try:
        batch.validate(full=True)
    except arrow.ArrowException as error:
        raise _damaged(batch, path, error) from None
    return batch


def _damaged(batch: Any, path: str, error: Exception) -> DataFileError:
    for field, column in zip(batch.schema, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except require().ArrowException as fault:
            message, hint = _damage_text(field, path, fault)
            return DataFileError(message, hint=hint, values=fault_of(fault, 200), path=path, column=field.name)
    return DataFileError(f"{path} is damaged", hint=WRITE_AGAIN, values=fault_of(error, 200), path=path)


def _damage_text(field: Any, path: str, error: Exception) -> tuple[str, str]:
    column = f"column {shorten(field.name)!r}"
    if "UTF8" in str(error):
        return f"{path}: some texts of {column} are not UTF-8", "write the texts of this column as UTF-8"
    if _OUTSIDE.search(str(error)):
        return f"{path} is damaged: {column} points outside its own data", WRITE_AGAIN
    kind = shorten(str(field.type), 20)
    return f"{path} is damaged: {column} holds what is no {kind}", WRITE_AGAIN


def validated_values(values: Any) -> Any:
    """An Arrow array, or a table, that a caller made or read: one made from buffers may point anywhere too."""
    arrow = require()
    columns = values.columns if isinstance(values, arrow.Table) else [values]
    try:
        for column in columns:
            for array in column.chunks if isinstance(column, arrow.ChunkedArray) else [column]:
                _validate(array)
    except arrow.ArrowException as error:
        raise WrongTypeError(
            "an Arrow column points outside its own data, or holds what its type forbids",
            hint="make the column again; its validate(full=True) says what is wrong",
            values=fault_of(error, 200),
        ) from None
    return values


def _validate(array: Any) -> None:
    """As ``array.validate(full=True)``, in a fifth of the time for a dictionary."""
    arrow = require()
    if not arrow.types.is_dictionary(array.type):
        array.validate(full=True)
        return
    array.validate()
    array.dictionary.validate(full=True)
    ends = require("pyarrow.compute").min_max(array.indices).as_py()
    if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(array.dictionary):
        raise arrow.ArrowInvalid("indices out of bounds")


def check_rows(rows: int, size: int, path: str) -> None:
    """Raise where a file claims more rows than its bytes can hold."""
    if not 0 <= rows <= ROWS_PER_BYTE * size:
        raise DataFileError(
            f"{path} is damaged: it claims {rows:,} rows in {size:,} bytes", hint=WRITE_AGAIN, path=path
        )


def check_unpacked(unpacked: int, size: int, path: str) -> None:
    """Raise where a small file unpacks to gigabytes."""
    if unpacked > LARGE and unpacked > EXPANSION * size:
        raise DataFileError(
            f"{path} has {size:,} bytes and unpacks to {unpacked:,}: no honest file does",
            hint="if you trust the file, write it again without compression",
            path=path,
        )


def check_schema(schema: Any, path: str) -> None:
    """Raise for names that are not UTF-8 (as UnicodeError), and for types nested without end."""
    for field in schema:
        _check_field(field, path, 0)


def _check_field(field: Any, path: str, depth: int) -> None:
    if depth > DEEPEST:
        raise DataFileError(
            f"{path} is damaged: it nests lists and structs more than {DEEPEST} levels deep",
            hint=WRITE_AGAIN,
            path=path,
        )
    str(field.name)
    for i in range(field.type.num_fields):
        _check_field(field.type.field(i), path, depth + 1)


# ---- which types of columns a command can use; those that it does not name are copied, whatever they hold

VALUES, REPORTS, ANY = "values", "reports", "any"
"""What a column is asked for: labels or numbers, reports (which may be sets, kept as bytes), or only to be there."""


def check_column_type(field: Any, use: str) -> None:
    """Raise for a column whose type cannot be used for what it is asked.

    >>> import pyarrow as pa
    >>> check_column_type(pa.field("born", pa.date32()), VALUES)
    """
    if use == ANY or has_values(field.type) or (use == REPORTS and _is_sets(field.type)):
        return
    raise WrongTypeError(
        f"column {shorten(repr(field.name), 24)} holds {shorten(str(field.type), 40)}, which cannot be used",
        hint="use texts, numbers or dates: save this column as text, or leave it out",
        column=field.name,
    )


def _is_sets(kind: Any) -> bool:
    types = require().types
    return bool(types.is_fixed_size_binary(kind.value_type if types.is_dictionary(kind) else kind))


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


@contextmanager
def column_errors(name: str) -> Iterator[None]:
    """Say which column has values that Python cannot hold: far dates, unknown time zones, bytes that are no text."""
    arrow = require()
    try:
        yield
    except MaskwellError:
        raise
    except (arrow.ArrowException, OverflowError, ValueError, ZoneInfoNotFoundError) as error:
        raise DataFileError(
            f"column {shorten(repr(name), 24)} has values that cannot be read, such as a date after the year 9999",
            hint="correct these values, or save the column as text",
            values=fault_of(error, 200),
            column=name,
        ) from None
