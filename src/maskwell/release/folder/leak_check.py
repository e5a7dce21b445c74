"""Looking for leaks in the rows of a released file: its columns, what it says about itself, and records told apart.

Looking for leaks: the last look at what will be public, before the folder of a release gets its name.

Nothing may be there but what is known to be harmless: files, fields of the receipt and columns are compared with what
may be there, not with what may not. Beyond that no text of a secret may occur, such as the fingerprint of a matrix that
is withheld, and no column may number the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.phrases import shorten
from maskwell.engines.arrow import describe
from maskwell.engines.files import open_source
from maskwell.engines.value_counting import CELLS, FEWEST_CELLS, Labels, ValueCounter
from maskwell.engines.value_numbers import encode
from maskwell.errors import LabelError, PublishError
from maskwell.release.folder.matrix_disclosure import INCLUDED, check_matrix, check_randomness, is_included
from maskwell.release.folder.receipt import numbered, schema
from maskwell.release.folder.receipt_contents import rounded_share, rounded_up
from maskwell.release.folder.release_folder import RECEIPT, data_name
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
        one = {"": Labels(np.zeros(len(batch), np.int64), 1)}
        for column, counter in zip(batch.columns, counters.values(), strict=True):
            counter.add(encode(column), one)
    for place, counter in counters.items():
        name = source.schema.names[place]
        if identifies(plan, counter.facts(name)):
            raise PublishError(
                f"column {shorten(name)!r} tells the records apart, which links them to the original file",
                hint=f"take it out: drop = [{json.dumps(name)}] in the table [release] of the plan",
                column=name,
            )


def _leak(name: str, what: str, hint: str) -> PublishError:
    return PublishError(f"{name} must not be published: {what}", hint=hint, file=name)


DOCUMENTS = (RECEIPT, "codebook.json", "codebook.csv", "datapackage.json", "ddi.xml", "README.md")
LEAST_SECRET = 8
"""Texts shorter than this occur by chance."""


def check_public(folder: Path, release: Release, *, secrets: Iterable[str] = ()) -> None:
    """Raise unless everything in the public folder may be published.

    Parameters
    ----------
    folder
        The public folder, complete.
    release
        What it was made from.
    secrets
        Texts that must not occur anywhere, such as a key or a seed.

    Raises
    ------
    PublishError
        Names the file and what is wrong with it, and never the secret itself.
    """
    check_randomness(private=release.private, demonstration=release.plan.demonstration)
    for stage in release.stages:
        check_matrix(release.plan, stage)
    _check_order(release)
    _check_files(folder, data_name(release))
    check_receipt(json.loads((folder / RECEIPT).read_text(encoding="utf-8")), release)
    hidden = [secret.lower() for secret in (*secrets, *_withheld(release)) if len(secret) >= LEAST_SECRET]
    _check_texts(folder, hidden)
    check_rows(folder / data_name(release), release, hidden)


def check_receipt(receipt: Mapping[str, Any], release: Release) -> None:
    """Raise unless a public receipt holds nothing but what the schema of public receipts names."""
    allowed = schema()["$defs"]
    _check_keys(receipt, allowed["public"]["properties"], RECEIPT)
    if receipt["audience"] != "public":
        raise _leak(RECEIPT, "it is the internal receipt", "write the public one: public_receipt(release)")
    for group, stage in zip(receipt["groups"], release.stages, strict=True):
        _check_keys(group, allowed["public_group"]["properties"], RECEIPT)
        if "design" in group and not is_included(release.plan, stage):
            raise _leak(RECEIPT, f"it holds the matrix of {group['variables'][0]}", "withhold it, or clear it")
        if "design" in group and (group["design"]["provenance"] or group["matrix"] != INCLUDED):
            raise _leak(RECEIPT, "a matrix says how it came about", "leave its provenance out")
        _check_rounded(group, release.rows)


def _check_rounded(group: Mapping[str, Any], rows: int) -> None:
    numbers = [*group["vif"].values(), *group["n_eff"].values()]
    exact = [x for x in numbers if abs(rounded_up(x) - x) > 1e-9 * max(1.0, x)]
    share = group["changed_expected"]
    if exact or (share is not None and rounded_share(share, rows) != share):
        raise _leak(RECEIPT, "a number has too many digits", "round it: many digits tell the counts of the file")


def _check_keys(content: Mapping[str, Any], allowed: Mapping[str, Any], name: str) -> None:
    more = sorted(set(content) - set(allowed))
    if more:
        raise _leak(name, f"it holds {shorten(more[0])!r}, which is internal", "leave it out of the public receipt")


def _check_order(release: Release) -> None:
    if release.plan.order == "shuffled" and not release.shuffled:
        raise PublishError(
            "the records are in their original order, which links them to the original file",
            hint='shuffle them, or say that their order carries no meaning: order = "kept"',
        )


def _check_files(folder: Path, data: str) -> None:
    expected = {data, *DOCUMENTS}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in expected:
            raise _leak(name, "it is none of the files of a public folder", "put it into the internal folder")
        if path.is_symlink() or not path.is_file():
            raise _leak(name, "it is no file of its own", "write the file itself, no link")
        expected.remove(name)
    if expected:
        raise _leak(min(expected), "it is not there", "write all files before the last look")


def _check_texts(folder: Path, secrets: Sequence[str]) -> None:
    for name in DOCUMENTS:
        content = (folder / name).read_text(encoding="utf-8").lower()
        if any(secret in content for secret in secrets):
            raise _leak(
                name, "it holds a secret: a key, a seed, or the fingerprint of a withheld matrix", "leave it out"
            )


def _withheld(release: Release) -> list[str]:
    """Fingerprints of matrices that are not published: with one, matrices can be tried until it fits."""
    found = []
    for stage in release.stages:
        if is_included(release.plan, stage):
            continue
        found.append(numbered(stage.design).fingerprint)
        with suppress(LabelError):  # labels that have no JSON form have no fingerprint either
            found.append(stage.design.fingerprint)
    return [one.removeprefix("sha256:") for one in found]
