"""What users of a release read: README.md, which needs nothing but the folder, with lines for R and Stata."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core import labels as rules
from maskwell.core.phrases import Printed, in_markdown, in_words, start_of_line, visible
from maskwell.engines.input_file import SEPARATORS, UTF8, TextForm
from maskwell.microdata.folder.receipt import labels_from, matrix_from
from maskwell.microdata.folder.receipt_contents import PublicGroup, advice_of, kept_of
from maskwell.microdata.folder.release_metadata import PUBLIC_NAMES, SUMS, Entry, formula_columns, processing
from maskwell.microdata.plans.protection import UNIT, WITHHELD
from maskwell.notes import Note

WIDTH = 100
FILES = {
    "receipt.json": "what was randomized and how, for programs: `maskwell estimate` reads it",
    "codebook.json, codebook.csv": "every column with all its categories",
    "datapackage.json": "the same as Frictionless Data metadata",
    "ddi.xml": "the same as DDI Codebook 2.5 metadata",
    SUMS: "hashes of these files; to check them: `sha256sum --check SHA256SUMS`",
}
MATRIX = "a matrix of the receipt in plain decimals: a line for each report, a column for each true value"
ORDERS = {
    "shuffled": "The records are in random order.",
    "kept": "The records are in their original order, which carries no meaning.",
}


def readme(receipt: Mapping[str, Any], entries: Sequence[Entry], data: str, form: TextForm | None = None) -> str:
    """The text of ``README.md``; names and titles are written so that no reader of Markdown takes them for markup."""
    weights = receipt["weights"] if receipt["weights"] in {one.name for one in entries} else None
    groups, receipt = receipt["groups"], _in_markdown(receipt)
    title = receipt["dataset"] or "Released microdata"
    matrices = dict.fromkeys(matrix_tables(groups), MATRIX)
    demonstration = ["**A demonstration: the draws can be repeated, so nobody is protected.**"]
    formulas = [*map(in_markdown, formula_columns(entries))]
    kept = next((columns for columns in kept_of(groups) if len(columns) > 1), None)
    named = "" if kept is None else shlex.quote(visible(",".join(kept[:2])))
    example = f"    maskwell estimate {data} --receipt receipt.json --columns {named}" if named else ""
    parts = [
        f"# {title}",
        *(demonstration if receipt["demonstration"] else []),
        Note("readme-what-it-is", data=data, rows=receipt["rows"], columns=len(entries)),
        "## What was done",
        *(f"- {text}" for text in processing(receipt["groups"])),
        *(f"- {in_markdown(name)} was changed before: {how}." for name, how in receipt.get("recoded", {}).items()),
        ORDERS[receipt["order"]],
        *_in_form(form or TextForm()),
        *([Note("readme-formulas", columns=in_words(formulas))] if formulas else []),
        "## How to analyse",
        *(f"- {sentence}" for sentence in receipt["advice"]),
        "With maskwell (shares and standard errors that allow for the randomization):",
        f"    maskwell estimate {data} --receipt receipt.json\n{example}",
        *_other_programs(groups, data, form or TextForm(), weights),
        "## Files",
        *(f"- `{name}`: {what}" for name, what in {data: "the records", **FILES, **matrices}.items()),
    ]
    return "\n\n".join(map(_wrapped, parts)).replace("\n\n- ", "\n- ") + "\n"


def _other_programs(groups: Sequence[Mapping[str, Any]], data: str, form: TextForm, weights: str | None) -> list[str]:
    if (form.separator or ",") != "," or _in_form(form):
        return []  # the lines read files with commas, in UTF-8
    made = recipes(groups, data, Path(data).suffix, weights)
    return [
        part
        for program, lines in made.items()
        if lines
        for part in (f"The same in {program}, for one column (shares, then standard errors):", "\n".join(lines))
    ]


def _in_form(form: TextForm) -> list[str]:
    encoding = PUBLIC_NAMES.get(form.encoding or "", form.encoding or UTF8)
    told = [
        *([f"{SEPARATORS[form.separator]} between fields"] if form.separator and form.separator not in ",\t" else []),
        *(["decimal commas"] if form.decimal == "," else []),
        *([f"the encoding {encoding}"] if encoding != UTF8 else []),
    ]
    return [f"The file has {in_words(told)}."] if told else []


def _in_markdown(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt with names and title as Markdown has them, and the advice in these names."""
    lists = ("variables", "within", "linked")
    groups = [{**group, **{key: [*map(in_markdown, group[key])] for key in lists}} for group in receipt["groups"]]
    weights = None if receipt["weights"] is None else in_markdown(receipt["weights"])
    title = None if receipt["dataset"] is None else in_markdown(receipt["dataset"])
    return {**receipt, "groups": groups, "dataset": title, "advice": advice_of(groups, weights)}


def _wrapped(text: str) -> str:
    if text.startswith(("    ", "#")):
        return text.rstrip()
    first, *more = textwrap.wrap(
        text, WIDTH, subsequent_indent="  " if text.startswith("- ") else "", break_on_hyphens=False
    )
    return "\n".join([first, *map(start_of_line, more)])


MOST_WRITTEN = 1000  # states of a matrix up to which it is written as a table
READ_IN_R = {
    ".csv": 'read.csv("{}", colClasses = "character", na.strings = "", check.names = FALSE)',
    ".parquet": 'as.data.frame(arrow::read_parquet("{}"))',
    ".sav": 'as.data.frame(haven::read_sav("{}"))',
    ".dta": 'as.data.frame(haven::read_dta("{}"))',
}
# Names that stand in a line of R as they are, and that no reader of Markdown takes for markup.
IN_R = re.compile(r"\w[\w .-]{0,59}")
# Names that Stata keeps as they are, but for one that the lines need.
IN_STATA = re.compile(
    r"(?!(?:byte|double|float|if|in|int|long|reported|str\d*|strL|using|with)$)[A-Za-z][A-Za-z0-9_]{0,31}"
)
MISSING_LABEL = "missing"  # what a missing value that is a category is called in the table of a matrix


def matrix_tables(groups: Sequence[PublicGroup]) -> dict[str, str]:
    """The included matrices as CSV by file name: a line for each report, a column for each truth, labels with dots."""
    return {name: _matrix_table(group) for name, group in _written(groups).items()}


def _written(groups: Sequence[PublicGroup]) -> dict[str, PublicGroup]:
    """The groups whose matrices are written as tables, by the names of the files."""
    named: dict[str, PublicGroup] = {}
    for group in groups:
        if "design" in group and max(len(group["states"]), len(group["outputs"])) <= MOST_WRITTEN:
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", "_".join(group["variables"]))[:60]
            same = sum(other.startswith(f"matrix_{name}.") for other in named)
            named[f"matrix_{name}{f'.{same + 1}' if same else ''}.csv"] = group
    return named


def _matrix_table(group: PublicGroup) -> str:
    width = len(group["within"]) + len(group["variables"])
    truths, reports = (
        [".".join(MISSING_LABEL if one is None else rules.texts(one)[-1] for one in state) for state in states]
        for states in (labels_from(group["states"], width), labels_from(group["outputs"], width))
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["reported", *truths])
    for label, row in zip(reports, matrix_from(group["design"]).matrix(), strict=True):
        writer.writerow([label, *(np.format_float_positional(p, trim="-") for p in row.tolist())])
    return text.getvalue()


def recipes(groups: Sequence[PublicGroup], data: str, ending: str, weights: str | None = None) -> dict[str, list[str]]:
    """Lines of R and of Stata that estimate a column with its errors, as ``maskwell estimate`` does, by program.

    With published ``weights``, also where sums of them are kept.
    """
    fixed = [(group, name) for name, group in _written(groups).items() if _is_plain(group)]
    kept = [one for group, columns in zip(groups, kept_of(groups), strict=True) for one in _inflated(group, columns)]
    in_r: list[str] = []
    in_stata: list[str] = []
    for column, factor, missing in kept[:1]:
        jointly = (  # a column that was randomized together with this one, within no other, and not by unit
            name
            for group, columns in zip(groups, kept_of(groups), strict=True)
            if column in group["variables"] and not group["within"] and group.get("each") != UNIT
            for name in group["variables"]
            if name != column and name in columns
        )
        in_r += _kept_in_r(column, factor, next(jointly, ""), missing=missing)
        in_stata += _kept_in_stata(column, factor, data, missing=missing)
    pairs = zip(groups, kept_of(groups), strict=True)
    heavy = [one for group, columns in pairs for one in _inflated(group, columns, "weights")]
    for column, factor, missing in heavy[:1]:
        if weights is None or not IN_R.fullmatch(weights):
            continue
        in_r += _weighted_in_r(column, factor, weights, missing=missing)
        in_stata += _weighted_in_stata(column, factor, weights, data, missing=missing)
    for group, table in fixed[:1]:
        column, missing = group["variables"][0], [None] in group["states"]
        in_r += _solved_in_r(column, table, missing=missing)
        in_stata += _solved_in_stata(column, table, data, missing=missing)
    read = READ_IN_R.get(ending)
    whole = [f"    d <- {read.format(data)}", *in_r] if in_r and read is not None else []
    return {"R": whole, "Stata": in_stata if ending == ".csv" else []}


def _inflated(group: PublicGroup, kept: Sequence[str], invariance: str = "counts") -> list[tuple[str, float, bool]]:
    """Columns whose counts are kept by a matrix that is withheld, their inflation, and whether missing values count."""
    if group["invariance"] != invariance or group["matrix"] != WITHHELD or group["method"] == "swap":
        return []
    named = [name for name in kept if name in group["vif"] and IN_R.fullmatch(name)]
    most = math.inf if group.get("each") == UNIT or invariance == "weights" else 2.0
    return [(name, min(group["vif"][name], most), group["missing"] == "category") for name in named]


def _is_plain(group: PublicGroup) -> bool:
    """Whether a matrix is that of one column, of as many reports as truths, and keeps nothing."""
    alone = len(group["variables"]) == 1 and not group["within"] and group["invariance"] == "none"
    square = len(group["states"]) == len(group["outputs"])
    ambiguous = [None] in group["states"] and any(MISSING_LABEL in state for state in group["states"])
    return alone and square and not ambiguous and bool(IN_R.fullmatch(group["variables"][0]))


def _kept_in_r(column: str, factor: float, beside: str, *, missing: bool) -> list[str]:
    """The lines for one column; ``beside`` is a column that is kept together with it."""
    too = ', useNA = "ifany"' if missing else ""
    both = f'interaction(d[c("{column}", "{beside}")], drop = TRUE)'  # none where one of them is missing
    both = f'paste(d[["{column}"]], d[["{beside}"]], sep = " | ")' if missing else both
    several = [f"    # with {beside}: N <- table({both}), and f <- 2"] if IN_R.fullmatch(beside) else []
    return [*Note("recipe-kept-in-r", column=column, too=too, factor=Printed(factor)).splitlines(), *several]


def _weighted_in_r(column: str, factor: float, weights: str, *, missing: bool) -> list[str]:
    values = f'addNA(factor(d[["{column}"]]))' if missing else f'd[["{column}"]]'
    made = Note("recipe-weighted-in-r", values=values, weights=weights, factor=Printed(factor))
    return made.splitlines()


def _weighted_in_stata(column: str, factor: float, weights: str, data: str, *, missing: bool) -> list[str]:
    if not (IN_STATA.fullmatch(column) and IN_STATA.fullmatch(weights)):
        return []
    dropped = "" if missing else f'    drop if {column} == ""\n'
    told = {"dropped": dropped, "weights": weights, "column": column, "factor": Printed(factor)}
    return Note("recipe-weighted-in-stata", data=data, **told).splitlines()


def _kept_in_stata(column: str, factor: float, data: str, *, missing: bool) -> list[str]:
    if not IN_STATA.fullmatch(column):
        return []
    also = "missing " if missing else ""
    made = Note("recipe-kept-in-stata", data=data, column=column, also=also, factor=Printed(factor))
    return made.splitlines()


def _solved_in_r(column: str, table: str, *, missing: bool) -> list[str]:
    named = f'    y[is.na(y)] <- "{MISSING_LABEL}"\n' if missing else ""
    return Note("recipe-solved-in-r", column=column, table=table, named=named).splitlines()


def _solved_in_stata(column: str, table: str, data: str, *, missing: bool) -> list[str]:
    if not IN_STATA.fullmatch(column):
        return []
    named = f'    replace {column} = "{MISSING_LABEL}" if {column} == ""\n' if missing else ""
    return Note("recipe-solved-in-stata", data=data, column=column, table=table, named=named).splitlines()
