"""The README of a released file: what it is and how to analyse it, for somebody who has nothing but the folder."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.release.folder.advice import kept_of
from maskwell.release.folder.codebook import Entry
from maskwell.release.folder.ddi import processing

WIDTH = 100
FILES = {
    "receipt.json": "what was randomized and how, for programs: `maskwell estimate` reads it",
    "codebook.json, codebook.csv": "every column with all its categories",
    "datapackage.json": "the same as Frictionless Data metadata",
    "ddi.xml": "the same as DDI Codebook 2.5 metadata",
}


def readme(receipt: Mapping[str, Any], entries: Sequence[Entry], data: str) -> str:
    """The text of ``README.md``."""
    title = receipt["dataset"] or "Released microdata"
    demonstration = ["**A demonstration: the draws can be repeated, so nobody is protected.**"]
    parts = [
        f"# {title}",
        *(demonstration if receipt["demonstration"] else []),
        f"`{data}` holds {receipt['rows']:,} records and {len(entries)} columns. To protect the people behind the "
        "records, some values were replaced at random before publication. A record is not a statement about a person; "
        "tables are.",
        "## What was done",
        *(f"- {text}" for text in processing(receipt["groups"])),
        _order(receipt),
        "## How to analyse",
        *(f"- {sentence}" for sentence in receipt["advice"]),
        "With maskwell (shares and standard errors that allow for the randomization):",
        f"    maskwell estimate {data} --receipt receipt.json\n{_example(receipt, data)}",
        "## Files",
        *(f"- `{name}`: {what}" for name, what in {data: "the records", **FILES}.items()),
    ]
    return "\n\n".join(map(_wrapped, parts)).replace("\n\n- ", "\n- ") + "\n"


def _order(receipt: Mapping[str, Any]) -> str:
    if receipt["order"] == "shuffled":
        return "The records are in random order."
    return "The records are in their original order, which carries no meaning."


def _example(receipt: Mapping[str, Any], data: str) -> str:
    for columns in kept_of(receipt["groups"]):
        if len(columns) > 1:
            return f"    maskwell estimate {data} --receipt receipt.json --columns {','.join(columns[:2])}"
    return ""


def _wrapped(text: str) -> str:
    if text.startswith(("    ", "#")):
        return text.rstrip()
    return "\n".join(
        textwrap.wrap(text, WIDTH, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False)
    )
