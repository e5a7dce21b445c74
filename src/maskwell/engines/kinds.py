"""Which types of columns a command can use; columns that it does not name are copied, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from maskwell.core.phrases import fault_of, shorten
from maskwell.engines.arrow import require
from maskwell.errors import DataFileError, MaskwellError, WrongTypeError

VALUES, REPORTS, ANY = "values", "reports", "any"
"""What a column is asked for: labels or numbers, reports (which may be sets, kept as bytes), or only to be there."""


def check_column_type(field: Any, wanted: str) -> None:
    """Raise for a column whose type cannot be used for what it is asked.

    >>> import pyarrow as pa
    >>> check_column_type(pa.field("born", pa.date32()), VALUES)
    """
    if wanted == ANY or has_values(field.type) or (wanted == REPORTS and _is_sets(field.type)):
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
