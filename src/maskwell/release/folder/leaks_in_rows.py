"""Looking for leaks in the rows of a released file: its columns, what it says about itself, and records told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import describe
from maskwell.engines.column_codes import numbered_column
from maskwell.engines.row_sources import open_source
from maskwell.engines.value_counts import CELLS, FEWEST_CELLS, LabelCodes, ValueCounter
from maskwell.errors import PublishError
from maskwell.release.side_channels import identifies

if TYPE_CHECKING:
    from maskwell.release.released import Release


def check_rows(path: Path, release: Release, secrets: Sequence[str] = ()) -> None:
    """Raise unless the columns of a released file, and what it says about them, may be published.

    ``secrets`` are texts in lower case that its metadata must not hold.
    """
    with open_source(str(path), exact=True) as source:
        _check_columns(source.schema.names, release, path.name)
        _check_traces(source.schema, release, path.name, secrets)
        _check_identifiers(source, release)


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


def _check_identifiers(source: Any, release: Release) -> None:
    """Raise for a column whose values tell the records apart, in all rows: an id, a copy of one, or a number.

    Columns that were randomized, keys, whose risk is known, and what the plan accepts are not looked at.
    """
    plan = release.plan
    known = {*release.variables, *plan.keys, *plan.accept}
    places = [place for place, name in enumerate(source.schema.names) if name not in known]
    counters = {place: ValueCounter(max(FEWEST_CELLS, CELLS // len(places))) for place in places}
    for batch in source.batches(places) if places else ():
        one = {"": LabelCodes(np.zeros(len(batch), np.int64), 1)}
        for column, counter in zip(batch.columns, counters.values(), strict=True):
            counter.add(numbered_column(column), one)
    for place, counter in counters.items():
        name = source.schema.names[place]
        if identifies(plan, counter.facts(name)):
            raise PublishError(
                f"column {shorten(name)!r} tells the records apart, which links them to the original file",
                hint=f"take it out: drop = [{json.dumps(name)}] in the table [release] of the plan",
                column=name,
            )


def _leak(file: str, what: str, hint: str) -> PublishError:
    return PublishError(f"{file} must not be published: {what}", hint=hint, file=file)
