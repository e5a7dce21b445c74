"""The README of a released file: what it is and how to analyse it, for somebody who has nothing but the folder."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.escapes import in_markdown, start_of_line, visible
from maskwell.release.folder.advice import advice_of, in_words, kept_of
from maskwell.release.folder.codebook import Entry, formula_columns
from maskwell.release.folder.ddi import processing

WIDTH = 100
FILES = {
    "receipt.json": "what was randomized and how, for programs: `maskwell estimate` reads it",
    "codebook.json, codebook.csv": "every column with all its categories",
    "datapackage.json": "the same as Frictionless Data metadata",
    "ddi.xml": "the same as DDI Codebook 2.5 metadata",
}


def readme(receipt: Mapping[str, Any], entries: Sequence[Entry], data: str) -> str:
    """The text of ``README.md``; names and titles are written so that no reader of Markdown takes them for markup."""
    groups, receipt = receipt["groups"], _in_markdown(receipt)
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
        *_formulas(entries),
        "## How to analyse",
        *(f"- {sentence}" for sentence in receipt["advice"]),
        "With maskwell (shares and standard errors that allow for the randomization):",
        f"    maskwell estimate {data} --receipt receipt.json\n{_example(groups, data)}",
        "## Files",
        *(f"- `{name}`: {what}" for name, what in {data: "the records", **FILES}.items()),
    ]
    return "\n\n".join(map(_wrapped, parts)).replace("\n\n- ", "\n- ") + "\n"


def _formulas(entries: Sequence[Entry]) -> list[str]:
    """A word to those who open the file with a spreadsheet, where some values would be worked out."""
    names = formula_columns(entries)
    if not names:
        return []
    return [
        f"Some values of {in_words([*map(in_markdown, names)])} start with =, +, - or @, which spreadsheets take for a "
        "formula: import these columns as text."
    ]


def _order(receipt: Mapping[str, Any]) -> str:
    if receipt["order"] == "shuffled":
        return "The records are in random order."
    return "The records are in their original order, which carries no meaning."


def _in_markdown(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt with names and title as Markdown has them, and the advice in these names."""
    lists = ("variables", "within", "linked")
    groups = [{**group, **{key: [*map(in_markdown, group[key])] for key in lists}} for group in receipt["groups"]]
    weights = None if receipt["weights"] is None else in_markdown(receipt["weights"])
    title = None if receipt["dataset"] is None else in_markdown(receipt["dataset"])
    return {**receipt, "groups": groups, "dataset": title, "advice": advice_of(groups, weights)}


def _example(groups: Sequence[Mapping[str, Any]], data: str) -> str:
    for columns in kept_of(groups):
        if len(columns) > 1:
            named = shlex.quote(visible(",".join(columns[:2])))
            return f"    maskwell estimate {data} --receipt receipt.json --columns {named}"
    return ""


def _wrapped(text: str) -> str:
    if text.startswith(("    ", "#")):
        return text.rstrip()
    first, *more = textwrap.wrap(
        text, WIDTH, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False
    )
    return "\n".join([first, *map(start_of_line, more)])
