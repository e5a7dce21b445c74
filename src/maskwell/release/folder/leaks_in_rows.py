"""Looking for leaks in the rows of a released file: its columns, what it says about itself, and numbered records."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.labels import is_missing
from maskwell.core.phrases import shorten
from maskwell.engines.arrow import describe
from maskwell.engines.files import open_source
from maskwell.errors import PublishError

if TYPE_CHECKING:
    from maskwell.release.released import Release

LOOKED_AT = 10_000
"""Rows from the start of the file; numbered records show in them."""

FEWEST = 20
"""In fewer rows than this values differ by chance."""

MOSTLY = 0.9
"""Numbered records show where so many of them have a number."""

DIGITS = "0123456789"
NUMBER = re.compile(r"[+-]?[0-9]{1,30}([.][0-9]{1,20})?")


def check_rows(path: Path, release: Release, secrets: Sequence[str] = ()) -> None:
    """Raise unless the columns of a released file, and what it says about them, may be published.

    ``secrets`` are texts in lower case that its metadata must not hold.
    """
    with open_source(str(path), exact=True) as source:
        _check_columns(source.schema.names, release, path.name)
        _check_traces(source.schema, release, path.name, secrets)
        randomized = {*release.variables}
        for name, values in _first_rows(source).items():
            if name not in randomized:
                _check_numbering(name, values, release.rows)


def _check_columns(names: Sequence[str], release: Release, file: str) -> None:
    expected = [column.name for column in release.columns]
    hidden = {*release.plan.drop, *([release.plan.id] if release.plan.id else [])}
    for name in names:
        if name in hidden:
            raise _leak(file, f"column {shorten(name)!r} is one that the plan keeps back", "write the file without it")
        if name not in expected:
            raise _leak(file, f"column {shorten(name)!r} is not among those of the release", "write no more columns")


def _check_traces(schema: Any, release: Release, file: str, secrets: Sequence[str]) -> None:
    """Arrow and Parquet files carry notes about their columns, which may name others or tell designs."""
    notes = [(schema.metadata or {}), *((field.metadata or {}) for field in schema)]
    texts = [value.decode(errors="replace") for one in notes for value in one.values()]
    hidden = [*release.plan.drop, *([release.plan.id] if release.plan.id else [])]
    if any(name in _told(text) for name in hidden for text in texts):
        raise _leak(file, "its metadata name a column that the plan keeps back", "write the file without metadata")
    if any(secret in text.lower() for secret in secrets for text in texts):
        raise _leak(file, "its metadata hold a secret", "write the file without metadata")
    if any(describe(field) is not None for field in schema):
        raise _leak(file, "its metadata tell the design of a column", "write the file without metadata")


def _told(text: str) -> set[str]:
    """The texts that a note holds: all values where it is JSON, without the names of its fields.

    >>> sorted(_told('{"columns": [{"name": "age"}]}')), _told("age")
    (['age'], {'age'})
    """
    try:
        return set(_values(json.loads(text)))
    except ValueError:
        return {text, *text.split()}


def _values(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _values(part)


def _first_rows(source: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in source.schema.names}
    rows = 0
    for batch in source.batches():
        part = batch.slice(0, LOOKED_AT - rows)
        for name, column in zip(found, part.columns, strict=True):
            found[name] += column.to_pylist()
        rows += len(part)
        if rows >= LOOKED_AT:
            break
    return found


def _check_numbering(name: str, values: Sequence[Any], rows: int) -> None:
    """Raise for a column that numbers the records, in equal steps, alone or with the same text around each number.

    A few records may have no number.
    """
    there = [value for value in values if not is_missing(value)]
    if len(there) < max(FEWEST, MOSTLY * len(values)) or len(set(there)) < len(there):
        return
    numbers = _numbers(there)
    if numbers is not None and _range(numbers) < rows:
        raise PublishError(
            f"column {shorten(name)!r} numbers the records, which links them to the original file",
            hint=f"take it out: drop = [{json.dumps(name)}] in the table [release] of the plan",
            column=name,
        )


def _range(numbers: Sequence[Fraction]) -> Fraction:
    """From the smallest to the largest, in the largest steps that lead to all of them.

    >>> _range([Fraction(3, 2), Fraction(5, 2), Fraction(13, 2)])
    Fraction(5, 1)
    """
    least = min(numbers)
    whole = math.lcm(*(number.denominator for number in numbers))
    steps = math.gcd(*(int((number - least) * whole) for number in numbers))
    return (max(numbers) - least) * whole / max(steps, 1)


def _numbers(values: Sequence[Any]) -> list[Fraction] | None:
    """The values as numbers, texts without what all of them start and end with; None where one is no number.

    >>> _numbers(["P-01/A", "P-12/A"])
    [Fraction(1, 1), Fraction(12, 1)]
    """
    if all(isinstance(value, str) for value in values):
        start = len(commonprefix(values).rstrip(DIGITS))  # noqa: RUF071 - texts, not paths
        end = len(commonprefix([value[start:][::-1] for value in values]).rstrip(DIGITS))  # noqa: RUF071
        values = [value[start : len(value) - end] for value in values]
        if not all(map(NUMBER.fullmatch, values)):
            return None
    try:
        return [Fraction(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return None


def _leak(file: str, what: str, hint: str) -> PublishError:
    return PublishError(f"{file} must not be published: {what}", hint=hint, file=file)
