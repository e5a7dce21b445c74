"""Metadata of a release for archives: DDI Codebook 2.5.

What was done stands in ``method/dataProcessing``, advice on errors in ``method/anlyInfo/EstSmpErr``, categories in
``var/catgry`` and remarks about a column in ``var/notes``; the order of the elements is that of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from maskwell.core.escapes import visible_lines
from maskwell.core.labels import texts
from maskwell.core.phrases import Printed
from maskwell.release.folder.advice import in_words, kept_of
from maskwell.release.folder.codebook import Entry

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
    """What was done to each group of columns, in one paragraph without numbers that tell of the file."""
    return [_processing(group, kept) for group, kept in zip(groups, kept_of(groups), strict=True)]


def _processing(group: Mapping[str, Any], kept: Sequence[str]) -> str:
    how = "swapped between records" if group["method"] == "swap" else "replaced at random (PRAM)"
    within = f" within the cells of {in_words(group['within'])}" if group["within"] else ""
    how_well = "exactly" if group["method"] == "swap" else "on average"
    keeps = f"{KEEPS[group['invariance']]} of {in_words(kept)} are kept {how_well}" if kept else "counts are not kept"
    return (
        f"Values of {in_words([*group['variables'], *group['linked']])} were {how}{within}; {keeps}; the transition "
        f"matrix is {group['matrix']}.{_changed(group['changed_expected'])}"
    )


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


def _add(parent: ET.Element, tag: str, content: str | None = None, /, **attributes: str) -> ET.Element:
    safe = {key: _clean(value) for key, value in attributes.items()}
    element = ET.SubElement(parent, f"{{{NAMESPACE}}}{tag}", safe)
    element.text = None if content is None else _clean(content)
    return element


def _clean(text: str) -> str:
    """Without characters that no XML file can hold, or that nobody would see; they are written as escapes."""
    return visible_lines(text)
