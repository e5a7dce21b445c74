"""Writing the documents of a release into its folder, beside the released file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.documents import json_form
from maskwell.core.escapes import in_json
from maskwell.errors import DataFileError
from maskwell.release.folder.codebook import codebook_csv, codebook_json, codebook_of
from maskwell.release.folder.ddi import ddi_codebook
from maskwell.release.folder.frictionless import datapackage
from maskwell.release.folder.reader import readme
from maskwell.release.folder.receipt_making import dumps, internal_receipt, public_receipt
from maskwell.release.folder.risk_file import write_risks

if TYPE_CHECKING:
    from maskwell.release.released import Release

RECEIPT = "receipt.json"
RISKS = "risk.csv"


def write_public(release: Release, folder: Path) -> list[Path]:
    """Write what users get beside ``data<ending>``, which must be there; returns all files.

    Raises
    ------
    PublishError
        A matrix that the plan wants published would give the counts of the file away.
    """
    data = folder / data_name(release)
    if not data.is_file():
        raise DataFileError(f"there is no {data.name} in the folder", hint="write the released file first")
    receipt, entries = public_receipt(release), codebook_of(release)
    contents = {
        RECEIPT: dumps(receipt),
        "codebook.json": _json(codebook_json(entries)),
        "codebook.csv": codebook_csv(entries),
        "datapackage.json": _json(datapackage(receipt, entries, data)),
        "ddi.xml": ddi_codebook(receipt, entries, data.name),
        "README.md": readme(receipt, entries, data.name),
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [data, *(folder / name for name in contents)]


def write_internal(release: Release, folder: Path) -> list[Path]:
    """Write what stays with the data holder; returns the files."""
    path = folder / RECEIPT
    path.write_text(dumps(internal_receipt(release)), encoding="utf-8", newline="\n")
    if release.risk is None:
        return [path]
    write_risks(release.risk, folder / RISKS)
    return [path, folder / RISKS]


def data_name(release: Release) -> str:
    """The name of the released file."""
    return f"data{release.ending}"


def _json(content: Any) -> str:
    return in_json(json.dumps(json_form(content), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"
