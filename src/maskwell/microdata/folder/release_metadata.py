"""Metadata of a release: codebook, a data package of Frictionless Data, DDI Codebook 2.5 for archives, and hashes.

A label that no released record has, and neither plan nor value labels, would reveal that a person had it: it is left
out. Nothing public holds a hash of anything internal; who signs ``internal/manifest.json`` signs all.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from maskwell.core.documents import canonical_text, read_document, version_text
from maskwell.core.labels import texts
from maskwell.core.phrases import Printed, in_spreadsheet, in_words, is_formula, visible_lines
from maskwell.engines.input_file import TextForm
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.engines.row_sources import COMPRESSED, input_files
from maskwell.errors import DataFileError
from maskwell.microdata.folder.receipt_contents import kept_of, label_json, public_labels, recoded_in_words
from maskwell.microdata.records.column_values import MOST_CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from maskwell.microdata.plans.release_plan import ReleasePlan
    from maskwell.microdata.release_values import AnyRelease, ReleasedColumn


MOST_NUMBERS = 100  # numbers that were not randomized are not listed where they have more values than this


@dataclass(frozen=True)
class Entry:
    """One column of a codebook."""

    # What it is called, what it holds, and the question or description
    name: str
    kind: str
    label: str | None
    # Values with their labels (None without one); None for columns without categories
    categories: tuple[tuple[Hashable, str | None], ...] | None
    role: str  # "randomized", "follows" (linked to a randomized one), "weight" or "unchanged"
    group: int | None  # Which group of the receipt randomized it, from 1
    recoded: str | None = None  # How it was made coarser or suppressed before, in words; None where it was not
    decimal: str = "."  # What stands before the decimals of its numbers in a text file

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        listed = [{"value": label_json(value), "label": text} for value, text in self.categories or ()]
        return {
            "name": self.name,
            "kind": self.kind,
            "label": self.label,
            "role": self.role,
            "group": self.group,
            **({} if self.recoded is None else {"recoded": self.recoded}),
            "categories": None if self.categories is None else listed,
        }


def codebook_of(release: AnyRelease) -> tuple[Entry, ...]:
    """The codebook of a release."""
    return tuple(_entry(release, column) for column in release.columns)


def formula_columns(entries: Iterable[Entry]) -> list[str]:
    """Columns with a value that a spreadsheet would take for a formula: the data file keeps its values as they are."""
    return [
        entry.name
        for entry in entries
        if any(is_formula(texts(value)[-1]) for value, _ in entry.categories or () if isinstance(value, str))
    ]


def codebook_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """The content of ``codebook.json``."""
    return {"maskwell": "codebook", "version": 1, "columns": [entry.to_dict() for entry in entries]}


def codebook_csv(entries: Sequence[Entry]) -> str:
    """The text of ``codebook.csv``, for people: a line for each category; formulas of spreadsheets are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["column", "kind", "label", "role", "value", "value_label"])
    for entry in entries:
        for value, text in entry.categories or (("", None),):
            value_text = "" if value is None else texts(value)[-1]
            cells = [entry.name, entry.kind, entry.label or "", entry.role, value_text, text or ""]
            writer.writerow([in_spreadsheet(visible_lines(cell)) for cell in cells])
    return out.getvalue()


def _entry(release: AnyRelease, column: ReleasedColumn) -> Entry:
    about = _about(release.labels, column.name)
    group = next((i for i, s in enumerate(release.stages, 1) if column.name in (*s.variables, *s.linked)), None)
    return Entry(
        column.name,
        column.kind,
        about.label,
        _categories(release, column, about, group),
        _role(release, column, group),
        group,
        recoded_in_words(release).get(column.name),
        column.decimal,
    )


def _role(release: AnyRelease, column: ReleasedColumn, group: int | None) -> str:
    if group is not None:
        return "randomized" if column.name in release.stages[group - 1].variables else "follows"
    return "weight" if column.name == release.plan.weights else "unchanged"


def _categories(
    release: AnyRelease, column: ReleasedColumn, about: ColumnLabels, group: int | None
) -> tuple[tuple[Hashable, str | None], ...] | None:
    file_labels = public_labels(release, column)
    many = MOST_NUMBERS if column.kind in ("integer", "number") else MOST_CATEGORIES
    if group is None and (len(file_labels) > many or column.name == release.plan.weights):
        return None
    planned = release.plan.codebook.get(column.name, ())
    values_by_text: dict[str, Hashable] = {}  # values with the same text are one
    for value in (*_typed(planned, file_labels), *file_labels, *about.values):
        values_by_text.setdefault(texts(value)[-1], value)
    values = [*values_by_text.values()]
    ends = release.plan.recodes[column.name].ends if column.name in release.plan.recodes else {}
    labels = {**{value: ends.get(texts(value)[-1]) for value in values}, **about.values}
    return tuple((value, labels[value]) for value in values) if values else None


def _typed(planned: Iterable[str], file_labels: Sequence[Hashable]) -> list[Hashable]:
    """Labels of the plan, which are texts, as the values of the file that have these texts."""
    known = {text: label for label in file_labels for text in texts(label)}
    return [known.get(text, text) for text in planned]


def _about(labels: Any, name: str) -> ColumnLabels:
    return labels.columns.get(name, ColumnLabels()) if isinstance(labels, Labels) else ColumnLabels()


PROPERTY = "maskwell:randomization"
MATRIX = ("design", "states", "outputs")
TYPES = {"text": "string", "integer": "integer", "number": "number", "date": "date", "boolean": "boolean"}
DELIMITED = {".csv": ("csv", "text/csv", ","), ".tsv": ("tsv", "text/tab-separated-values", "\t")}
MEDIA = {
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".arrows": "application/vnd.apache.arrow.stream",
    ".sav": "application/x-spss-sav",
    ".dta": "application/x-stata-dta",
    ".xpt": "application/x-sas-xport",
}
PUBLIC_NAMES = {"cp1252": "windows-1252", "cp1250": "windows-1250", "iso8859-1": "iso-8859-1"}
"""Encodings as other programs than Python call them."""


def datapackage(
    receipt: Mapping[str, Any], entries: Sequence[Entry], data: Path, form: TextForm | None = None
) -> dict[str, Any]:
    """The content of ``datapackage.json``, from the public receipt, the codebook and the released file."""
    tabular = _delimited(data.name) is not None
    slug = re.sub(r"[^a-z0-9._-]+", "-", (receipt["dataset"] or "release").lower()).strip("-")
    resource = {
        "name": "data",
        "path": data.name,
        "profile": "tabular-data-resource" if tabular else "data-resource",
        **_form(data.name, form or TextForm()),
        "bytes": data.stat().st_size,
        "hash": f"sha256:{sha256_of(data)}",
        "schema": {"fields": [_field(entry) for entry in entries], "missingValues": [""]},
        PROPERTY: [{key: group[key] for key in group if key not in MATRIX} for group in receipt["groups"]],
    }
    return {
        "profile": "tabular-data-package" if tabular else "data-package",
        "name": slug or "release",
        "title": receipt["dataset"] or "Released microdata",
        "description": " ".join(receipt["advice"]),
        "maskwell:demonstration": receipt["demonstration"],
        "resources": [resource],
    }


def _field(entry: Entry) -> dict[str, Any]:
    kind = TYPES.get(entry.kind, "any")
    field: dict[str, Any] = {"name": entry.name, "type": kind}
    if kind == "number" and entry.decimal != ".":
        field["decimalChar"] = entry.decimal
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
    if kind in ("integer", "number") and isinstance(value, str):
        return int(value) if kind == "integer" else float(value)
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    return texts(value)[-1]


def _form(name: str, text: TextForm) -> dict[str, Any]:
    delimited = _delimited(name)
    if delimited is None:
        ending = Path(name).suffix
        return {"format": ending.lstrip("."), "mediatype": MEDIA.get(ending, "application/octet-stream")}
    form, media, delimiter = delimited
    packed = {"compression": Path(name).suffix[1:]} if name.endswith(COMPRESSED) else {}
    return {
        "format": form,
        "mediatype": media,
        "encoding": PUBLIC_NAMES.get(text.encoding or "", text.encoding or "utf-8"),
        "dialect": {"delimiter": text.separator or delimiter, "header": True},
        **packed,
    }


def _delimited(name: str) -> tuple[str, str, str] | None:
    return DELIMITED.get(Path(Path(name).stem if name.endswith(COMPRESSED) else name).suffix)


NAMESPACE = "ddi:codebook:2_5"
FILE = "F1"
REMARKS = {
    "randomized": "Values were randomized; see the data processing of the study.",
    "follows": "Values follow from randomized columns; see the data processing of the study.",
}
KEEPS = {"counts": "counts", "weights": "weighted counts"}


def ddi_codebook(receipt: Mapping[str, Any], entries: Sequence[Entry], data: str) -> str:
    """The text of ``ddi.xml``, from the public receipt, the codebook and the name of the released file."""
    ET.register_namespace("", NAMESPACE)
    root = ET.Element(f"{{{NAMESPACE}}}codeBook", {"version": "2.5"})
    _study(root, receipt)
    _file(root, receipt, entries, data)
    described = _add(root, "dataDscr")
    for number, entry in enumerate(entries, 1):
        _variable(described, number, entry)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _study(root: ET.Element, receipt: Mapping[str, Any]) -> None:
    study = _add(root, "stdyDscr")
    title = receipt["dataset"] or "Released microdata"
    marked = " (demonstration, not for use)" if receipt["demonstration"] else ""
    citation = _add(study, "citation")
    _add(_add(citation, "titlStmt"), "titl", title + marked)
    _add(_add(citation, "prodStmt"), "software", receipt["program"])
    method = _add(study, "method")
    errors = _add(method, "anlyInfo")
    for sentence in receipt["advice"]:
        _add(errors, "EstSmpErr", sentence)
    for text in processing(receipt["groups"]):
        _add(method, "dataProcessing", text, type="post-randomization")


def processing(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was done to each group of columns, in one paragraph without numbers that reveal counts of the file."""
    told = []
    for group, kept in zip(groups, kept_of(groups), strict=True):
        swapped = group["method"] == "swap"
        how = "swapped between records" if swapped else "replaced at random (PRAM)"
        within = f" within the cells of {in_words(group['within'])}" if group["within"] else ""
        how_well = "exactly" if swapped else "on average"
        keeps = (
            f"{KEEPS[group['invariance']]} of {in_words(kept)} are preserved {how_well}"
            if kept
            else "counts are not preserved"
        )
        columns, share = in_words([*group["variables"], *group["linked"]]), _changed(group["changed_expected"])
        told.append(
            f"Values of {columns} were {how}{within}; {keeps}; the transition matrix is {group['matrix']}.{share}"
        )
    return told


def _changed(share: float | None) -> str:
    if share is None:
        return ""
    about = f"About {Printed(100 * share):.0f} %" if share else "Fewer than 1 %"
    return f" {about} of the records are expected to have changed."


def _file(root: ET.Element, receipt: Mapping[str, Any], entries: Sequence[Entry], data: str) -> None:
    described = _add(_add(root, "fileDscr", ID=FILE), "fileTxt")
    _add(described, "fileName", data)
    dimensions = _add(described, "dimensns")
    _add(dimensions, "caseQnty", str(receipt["rows"]))
    _add(dimensions, "varQnty", str(len(entries)))


def _variable(parent: ET.Element, number: int, entry: Entry) -> None:
    variable = _add(
        parent,
        "var",
        ID=f"V{number}",
        name=entry.name,
        files=FILE,
        intrvl="contin" if entry.categories is None and entry.kind in ("integer", "number") else "discrete",
        **({"wgt": "wgt"} if entry.role == "weight" else {}),
    )
    if entry.label:
        _add(variable, "labl", entry.label)
    for value, label in entry.categories or ():
        category = _add(variable, "catgry")
        _add(category, "catValu", texts(value)[-1])
        if label is not None:
            _add(category, "labl", label)
    _add(variable, "varFormat", type="numeric" if entry.kind in ("integer", "number") else "character")
    if entry.role in REMARKS:
        _add(variable, "notes", REMARKS[entry.role], subject="disclosure control")
    if entry.recoded is not None:
        _add(variable, "notes", f"Recoded before the release: {entry.recoded}.", subject="disclosure control")


def _add(parent: ET.Element, tag: str, content: str | None = None, /, **attributes: str) -> ET.Element:
    # without characters that no XML file can hold, or that nobody would see; they are written as escapes
    safe = {key: visible_lines(value) for key, value in attributes.items()}
    element = ET.SubElement(parent, f"{{{NAMESPACE}}}{tag}", safe)
    element.text = None if content is None else visible_lines(content)
    return element


PUBLIC = "public"
INTERNAL = "internal"
MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
MANIFEST_VERSION = 1

FOLDER_HINT = "give the folder that maskwell release wrote, or the public part of it"
_SUM = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")


def sha256_of(path: Path) -> str:
    """The hash of a file, as ``sha256sum`` prints it; a device may have no end, and a pipe can be read only once."""
    if path.exists() and not path.is_file():
        raise DataFileError("is-a-device-a-pipe", path=path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(files: Iterable[Path]) -> str:
    """What ``SHA256SUMS`` says of files that lie beside it."""
    return "".join(f"{sha256_of(path)}  {path.name}\n" for path in sorted(files))


def source_hashes(source: str) -> list[tuple[str, str]]:
    """Name and hash of the file that the true records came from; of a folder, of every file in it."""
    return [(Path(file).name, sha256_of(Path(file))) for file in input_files(source)]


def signed_hashes(public: Path, source: Sequence[tuple[str, str]], plan: ReleasePlan) -> list[tuple[str, str]]:
    """What the page that a board signs states: the hashes of source, plan, released file and public receipt."""
    shown = [(name, digest) for name, digest in sums_of(public / SUMS).items() if name.startswith(("data.", "receipt"))]
    return [*source, ("the plan", plan_hash(plan)), *((f"{PUBLIC}/{name}", digest) for name, digest in shown)]


def manifest_text(
    folder: Path, source: Sequence[tuple[str, str]], plan: ReleasePlan, ledger: Mapping[str, Any] | None = None
) -> str:
    """The manifest of a folder that is complete but for it; ``ledger`` is what its ledger was before it."""
    files = [{"file": name, "sha256": sha256_of(path)} for name, path in sorted(files_in(folder).items())]
    content = {
        "maskwell": "manifest",
        "version": MANIFEST_VERSION,
        "date": release_day(),
        "made_with": {"maskwell": version_text(), "python": platform.python_version()},
        "source": [{"file": name, "sha256": digest} for name, digest in source],
        "plan": plan_hash(plan),
        "files": files,
        **({} if ledger is None else {"ledger": ledger}),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def plan_hash(plan: ReleasePlan) -> str:
    """The hash of what a plan says; comments and order of its file do not count."""
    return hashlib.sha256(canonical_text(plan.to_dict()).encode()).hexdigest()


def release_day() -> str:
    """The day of a release: today, or that of ``SOURCE_DATE_EPOCH``."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isascii() and epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()


def files_in(folder: Path) -> dict[str, Path]:
    """Everything in a folder but folders, by its path there; links are not followed."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(folder).as_posix(): path for path in paths}


def sums_of(path: Path) -> dict[str, str]:
    """What a file ``SHA256SUMS`` says, by name."""
    text = read_document(path, error=DataFileError, hint=FOLDER_HINT)
    lines = [_SUM.fullmatch(line) for line in text.splitlines()]
    if not all(lines):
        raise DataFileError("is-no-list-of-sha-256", path_shown=path, path=str(path))
    sums = {line[2]: line[1] for line in lines if line}
    if len(sums) < len(lines):
        raise DataFileError("lists-a-file-twice", path_shown=path, path=str(path))
    return sums
