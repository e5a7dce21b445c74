"""The data package of a release: metadata in the form of Frictionless Data, with the groups of the receipt beside.

Categories are ``constraints.enum`` of a field. What was randomized stands in a property of its own,
``maskwell:randomization``, which other programs keep and do not mind.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maskwell.core.labels import texts
from maskwell.release.folder.codebook import Entry

PROPERTY = "maskwell:randomization"
TYPES = {"text": "string", "integer": "integer", "number": "number", "date": "date", "boolean": "boolean"}
DELIMITED = {".csv": ("csv", "text/csv", ","), ".tsv": ("tsv", "text/tab-separated-values", "\t")}
MEDIA = {
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".sav": "application/x-spss-sav",
    ".dta": "application/x-stata-dta",
    ".xpt": "application/x-sas-xport",
}
_CHUNK = 1 << 20


def datapackage(receipt: Mapping[str, Any], entries: Sequence[Entry], data: Path) -> dict[str, Any]:
    """The content of ``datapackage.json``, from the public receipt, the codebook and the released file."""
    tabular = _delimited(data.name) is not None
    resource = {
        "name": "data",
        "path": data.name,
        "profile": "tabular-data-resource" if tabular else "data-resource",
        **_form(data.name),
        "bytes": data.stat().st_size,
        "hash": f"sha256:{_sha256(data)}",
        "schema": {"fields": [_field(entry) for entry in entries], "missingValues": [""]},
        PROPERTY: [_without_matrix(group) for group in receipt["groups"]],
    }
    return {
        "profile": "tabular-data-package" if tabular else "data-package",
        "name": _slug(receipt["dataset"] or "release"),
        "title": receipt["dataset"] or "Released microdata",
        "description": " ".join(receipt["advice"]),
        "maskwell:demonstration": receipt["demonstration"],
        "resources": [resource],
    }


def _field(entry: Entry) -> dict[str, Any]:
    kind = TYPES.get(entry.kind, "any")
    field: dict[str, Any] = {"name": entry.name, "type": kind}
    if entry.label:
        field["title"] = entry.label
    if entry.categories:
        values = [value for value, _ in entry.categories]
        field["constraints"] = {"enum": [_enumerated(value, kind) for value in values]}
        labels = {texts(value)[-1]: text for value, text in entry.categories if text is not None}
        if labels:
            field["maskwell:labels"] = labels
    if entry.group is not None:
        field["maskwell:group"] = entry.group
    return field


def _enumerated(value: Any, kind: str) -> Any:
    """A category as its type has it; texts for anything that JSON has no word for."""
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    return texts(value)[-1]


def _without_matrix(group: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key not in ("design", "states", "outputs")}


def _form(name: str) -> dict[str, Any]:
    found = _delimited(name)
    if found is None:
        ending = Path(name).suffix
        return {"format": ending.lstrip("."), "mediatype": MEDIA.get(ending, "application/octet-stream")}
    form, media, delimiter = found
    packed = {"compression": "gz"} if name.endswith(".gz") else {}
    return {
        "format": form,
        "mediatype": media,
        "encoding": "utf-8",
        "dialect": {"delimiter": delimiter, "header": True},
        **packed,
    }


def _delimited(name: str) -> tuple[str, str, str] | None:
    return DELIMITED.get(Path(name.removesuffix(".gz")).suffix)


def _slug(text: str) -> str:
    """A name as Data Packages allow it.

    >>> _slug("Labour force 2025")
    'labour-force-2025'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-") or "release"


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
