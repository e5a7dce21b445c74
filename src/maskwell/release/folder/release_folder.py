"""The folder of a release: it appears whole, with its public and its internal part, or not at all.

The README of a released file: what it is and how to analyse it, for somebody who has nothing but the folder.

The risk of every record as a table: a line for each combination of the keys, to be joined to the records by them.

Writing the documents of a release into its folder, beside the released file.
"""

from __future__ import annotations

import csv
import json
import os
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.atomic import allowed_mode, name_folder, partial_folder
from maskwell.core.escaping import in_json, in_markdown, start_of_line, visible
from maskwell.core.json_values import plain
from maskwell.core.labels import texts
from maskwell.core.printed import Printed
from maskwell.errors import DataFileError
from maskwell.release.folder.receipt_contents import (
    advice_of,
    dumps,
    in_words,
    internal_receipt,
    kept_of,
    public_receipt,
)
from maskwell.release.folder.release_metadata import (
    Entry,
    codebook_csv,
    codebook_json,
    codebook_of,
    datapackage,
    ddi_codebook,
    formula_columns,
    processing,
)
from maskwell.release.risk.file_risk import RiskReport

if TYPE_CHECKING:
    from maskwell.release.released import Release


PUBLIC = "public"
INTERNAL = "internal"


@contextmanager
def release_folder(path: str | Path) -> Iterator[Path]:
    """A new folder under another name, with ``public`` and ``internal`` in it, that gets its name when all went well.

    What is written is on the disk before the folder is renamed. Until then only its owner may look into it; after
    that the internal part stays closed to others, and the public part is as open as the umask leaves it. After an
    error, or a signal that ends the program with one, nothing is left; after a loss of power at most a hidden folder
    whose name says that it is partial, which the next run to the same place finds.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "labour-2025"
    >>> with release_folder(place) as partial:
    ...     written = (partial / "public" / "README.md").write_text("How to analyse these data")
    >>> sorted(part.name for part in place.iterdir())   # finished: now it has its name
    ['internal', 'public']
    """
    target = check_new_folder(path)
    try:
        with partial_folder(target) as partial:
            (partial / PUBLIC).mkdir(mode=0o700)
            (partial / INTERNAL).mkdir(mode=0o700)
            yield partial
            _set_modes(partial)
            name_folder(partial, target)
    except FileExistsError as error:
        raise _exists(path) from error
    except DataFileError as error:
        if str(partial) not in error.message:
            raise
        message = error.message.replace(str(partial), str(path))  # the name that it was to have
        raise DataFileError(message, hint=error.hint, values=error.values, path=str(path)) from error
    except OSError as error:
        raise _cannot_write(path, error) from error


def check_new_folder(path: str | Path) -> Path:
    """The whole path of a folder that may be made there, or an error."""
    target = Path(os.path.abspath(path))  # noqa: PTH100 - a link as the last part is an existing name, not another place
    if target.name == "" or os.path.lexists(target):
        raise _exists(path)
    if not target.parent.is_dir():
        raise DataFileError(f"there is no folder {target.parent}", hint="make the folder first", path=str(path))
    return target


def _set_modes(partial: Path) -> None:
    """The public part for whom the umask lets in, the internal part for its owner alone, whatever the umask says."""
    for part, folder, file in ((PUBLIC, allowed_mode(0o777), allowed_mode(0o666)), (INTERNAL, 0o700, 0o600)):
        for place in sorted((partial / part).rglob("*")):
            place.chmod(folder if place.is_dir() else file)
        (partial / part).chmod(folder)
    partial.chmod(allowed_mode(0o777))


def _exists(path: str | Path) -> DataFileError:
    return DataFileError(
        f"{path} exists; a release is never written over another one",
        hint="give the name of a new folder, or move the old one away",
        path=str(path),
    )


def _cannot_write(path: str | Path, error: OSError) -> DataFileError:
    return DataFileError(
        f"cannot write {path}: {error.strerror or error}",
        hint="choose a place where folders may be made",
        path=str(path),
    )


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


PREFIX = "risk_"


def write_risks(report: RiskReport, path: Path) -> None:
    """Write the combinations that occur in the original file, how many records have each, and the risks of these."""
    table, names = report.table, list(report.per_cell)
    header = [*table.columns, "records", *(f"{PREFIX}{name}" for name in names)]
    values = zip(*(report.per_cell[name].tolist() for name in names), strict=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for cell, count, risks in zip(table.labels(), table.counts.tolist(), values, strict=True):
            writer.writerow([*("" if part is None else texts(part)[-1] for part in cell), count, *map(_number, risks)])


def _number(value: float) -> str:
    """Seven digits are plenty for a chance.

    >>> _number(1 / 3), _number(1.0)
    ('0.3333333', '1')
    """
    return f"{Printed(value):.7g}"


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
    return in_json(json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"
