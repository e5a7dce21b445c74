"""The folder of a release: it appears whole, with its public and its internal part, or not at all.

Before it gets its name, what will be public is compared with what may be there: files, fields, columns, secret texts.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_path
from maskwell.core.atomic import allowed_mode, name_folder, partial_folder
from maskwell.core.documents import json_form
from maskwell.core.labels import texts
from maskwell.core.phrases import in_json, shorten
from maskwell.engines.arrow_arrays import tells_designs
from maskwell.engines.column_codes import numbered_columns
from maskwell.engines.input_file import InputFile
from maskwell.engines.row_sources import open_source
from maskwell.errors import DataFileError, LabelError, PublishError
from maskwell.microdata.folder import release_metadata as metadata
from maskwell.microdata.folder.matrix_disclosure import check_matrix
from maskwell.microdata.folder.readme import matrix_tables, readme
from maskwell.microdata.folder.receipt_contents import (
    dumps,
    internal_text,
    numbered,
    public_receipt,
    rounded_share,
    rounded_up,
    schema,
)
from maskwell.microdata.folder.release_metadata import INTERNAL, MANIFEST, PUBLIC, SUMS
from maskwell.microdata.plans.protection import INCLUDED
from maskwell.microdata.records.dependence import CELLS, FEWEST_CELLS
from maskwell.microdata.records.value_counts import LabelCodes, ValueCounter
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.side_channels import identifies

if TYPE_CHECKING:
    from maskwell.microdata.release_values import AnyRelease


@contextmanager
def release_folder(path: str | Path) -> Iterator[Path]:
    """A new folder that gets its name when all went well; after an error nothing is left. Only its owner can look."""
    target = check_new_folder(path)
    try:
        with partial_folder(target) as partial:
            (partial / PUBLIC).mkdir(mode=0o700)
            (partial / INTERNAL).mkdir(mode=0o700)
            yield partial
            # the public part for whom the umask lets in, the internal part for its owner alone
            for part, folder, file in ((PUBLIC, allowed_mode(0o777), allowed_mode(0o666)), (INTERNAL, 0o700, 0o600)):
                for place in sorted((partial / part).rglob("*")):
                    place.chmod(folder if place.is_dir() else file)
                (partial / part).chmod(folder)
            partial.chmod(allowed_mode(0o777))
            name_folder(partial, target)
    except FileExistsError as error:
        raise DataFileError("exists-a-release-is-never-written", path_shown=path, path=str(path)) from error
    except DataFileError as error:
        if str(partial) not in error.message:
            raise
        message = error.message.replace(str(partial), str(path))  # the name that it was to have
        raise DataFileError(message, hint=error.hint, values=error.values, path=str(path)) from error
    except OSError as error:
        raise _cannot_write(path, error) from error


def check_new_folder(path: str | Path) -> Path:
    """The whole path of a folder that may be made there, or an error."""
    check_path(folder=path)
    target = Path(os.path.abspath(path))  # noqa: PTH100 - a link as the last part is an existing name, not another place
    try:
        there = target.name == "" or target.lstat() is not None
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        raise _cannot_write(path, error) from error
    if there:
        raise DataFileError("exists-a-release-is-never-written", path_shown=path, path=str(path))
    if not target.parent.is_dir():
        raise DataFileError("there-is-no-folder", parent=target.parent, path=str(path))
    return target


def _cannot_write(path: str | Path, error: OSError) -> DataFileError:
    return DataFileError("cannot-write-choose", path_shown=path, strerror=error.strerror or error, path=str(path))


PREFIX = "risk_"


def write_risks(report: RiskReport, path: Path) -> None:
    """Write the combinations that occur in the original file, how many records have each, and the risks of these."""
    table, names = report.table, list(report.per_cell)
    header = [*table.columns, "records", *(f"{PREFIX}{name}" for name in names)]
    labels = [np.array(["" if one is None else texts(one)[-1] for one in level], object) for level in table.levels]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for first in range(0, len(table), WRITTEN_AT_ONCE):
            rows = slice(first, first + WRITTEN_AT_ONCE)
            cells = [level[table.codes[rows, place]] for place, level in enumerate(labels)]
            chances = [_numbers(report.per_cell[name][rows]) for name in names]
            writer.writerows(zip(*cells, table.counts[rows].tolist(), *chances, strict=True))


WRITTEN_AT_ONCE = 1 << 14  # cells whose texts are in memory at once
_UP = 1e-12


def _numbers(values: Real) -> list[str]:
    """Seven digits are plenty for a chance; what lies half way is rounded up, whatever its last bits."""
    texts_of_values: list[str] = np.char.mod("%.7g", values * (1 + _UP)).tolist()
    return texts_of_values


RECEIPT = "receipt.json"
CODEBOOK = "codebook.json"
RISKS = "risk.csv"


def write_public(release: AnyRelease, folder: Path) -> list[Path]:
    """Write what users get beside ``data<ending>``, which must be there; returns all files."""
    data = folder / data_name(release)
    if not data.is_file():
        raise DataFileError("there-is-no-in-the-folder", name=data.name)
    receipt, entries = public_receipt(release), metadata.codebook_of(release)
    contents = {
        RECEIPT: dumps(receipt),
        CODEBOOK: _json(metadata.codebook_json(entries)),
        "codebook.csv": metadata.codebook_csv(entries),
        "datapackage.json": _json(metadata.datapackage(receipt, entries, data, release.form)),
        "ddi.xml": metadata.ddi_codebook(receipt, entries, data.name),
        "README.md": readme(receipt, entries, data.name, release.form),
        **matrix_tables(receipt["groups"]),
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    files = [data, *(folder / name for name in contents)]
    (folder / SUMS).write_text(metadata.sums_text(files), encoding="utf-8", newline="\n")
    return [*files, folder / SUMS]


def write_manifest(
    release: AnyRelease, folder: Path, source: Sequence[tuple[str, str]], ledger: Mapping[str, Any] | None = None
) -> Path:
    """Write the list of all files of a release, when they are there, with their hashes and those of the source."""
    path = folder / INTERNAL / MANIFEST
    path.write_text(metadata.manifest_text(folder, source, release.plan, ledger), encoding="utf-8", newline="\n")
    return path


def write_internal(release: AnyRelease, folder: Path) -> list[Path]:
    """Write what stays with the data holder; returns the files."""
    path = folder / RECEIPT
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(internal_text(release))
    if release.risk is None:
        return [path]
    write_risks(release.risk, folder / RISKS)
    return [path, folder / RISKS]


def data_name(release: AnyRelease) -> str:
    """The name of the released file."""
    return f"data{release.file.ending}"


def _json(content: Any) -> str:
    return in_json(json.dumps(json_form(content), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def check_rows(path: Path, release: AnyRelease, secrets: Sequence[str] = ()) -> None:
    """Raise unless the columns of a released file, and what it says about them, may be published."""
    with open_source(InputFile.of(str(path), release.form), exact=True) as source:
        expected, hidden = [column.name for column in release.columns], {*release.plan.unpublished}
        for name in source.schema.names:
            told = f"column {shorten(name)!r} is"
            if name in hidden:
                raise _leak(path.name, f"{told} one that the plan does not publish", "write the file without it")
            if name not in expected:
                raise _leak(path.name, f"{told} not among those of the release", "write no more columns")
        _check_traces(source.schema, release, path.name, secrets)
        _check_identifiers(source, release)


def _check_traces(schema: Any, release: AnyRelease, file: str, secrets: Sequence[str]) -> None:
    """Arrow and Parquet files carry notes about their columns, which may name others or reveal designs."""
    notes = [(schema.metadata or {}), *((field.metadata or {}) for field in schema)]
    texts = [value.decode(errors="replace") for one in notes for value in one.values()]
    hidden = release.plan.unpublished
    if any(name in _told(text) for name in hidden for text in texts):
        raise _leak(
            file, "its metadata name a column that the plan does not publish", "write the file without metadata"
        )
    if any(secret in text.lower() for secret in secrets for text in texts):
        raise _leak(file, "its metadata hold a secret", "write the file without metadata")
    if tells_designs(schema):
        raise _leak(file, "its metadata reveal the design of a column", "write the file without metadata")


def _told(text: str) -> set[str]:
    """The texts that a note holds: all values where it is JSON, without the names of its fields."""
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


def _check_identifiers(source: Any, release: AnyRelease) -> None:
    """Raise for a column whose values identify every record, unless randomized, a key, or accepted."""
    plan = release.plan
    known = {*release.variables, *plan.keys, *plan.accept}
    names = source.schema.names
    places = [place for place, name in enumerate(names) if name not in known]
    counters = {names[place]: ValueCounter(max(FEWEST_CELLS, CELLS // len(places))) for place in places}
    for batch in source.batches(places) if places else ():
        one = {"": LabelCodes(np.zeros(len(batch), np.int64), 1)}
        for name, column in numbered_columns(dict(zip(counters, batch.columns, strict=True))).items():
            counters[name].add(column, one)
    for name, counter in counters.items():
        if identifies(plan, counter.facts(name)):
            raise PublishError(
                "column-tells-the-records-apart-which", name=shorten(name), dumps=json.dumps(name), column=name
            )


def _leak(name: str, what: str, hint: str) -> PublishError:
    return PublishError("must-not-be-published", hint=hint, what=what, file=name)


DOCUMENTS = (RECEIPT, CODEBOOK, "codebook.csv", "datapackage.json", "ddi.xml", "README.md", SUMS)
LEAST_SECRET = 8  # texts shorter than this occur by chance


def check_public(folder: Path, release: AnyRelease, *, secrets: Iterable[str] = ()) -> None:
    """Raise unless everything in the public folder may be published."""
    release.plan.check_private(private=release.private)
    for stage in release.published:
        check_matrix(release.plan, stage)
    if release.plan.order == "shuffled" and not release.shuffled:
        raise PublishError("the-records-are-in-their-original")
    tables = matrix_tables(public_receipt(release)["groups"])
    _check_files(folder, {data_name(release), *DOCUMENTS, *tables})
    check_receipt(json.loads((folder / RECEIPT).read_text(encoding="utf-8")), release)
    for name, text in tables.items():
        if (folder / name).read_text(encoding="utf-8") != text:
            raise _leak(name, "it differs from the matrix in the receipt", "write the matrix of the receipt")
    hidden = [secret.lower() for secret in (*secrets, *_withheld(release)) if len(secret) >= LEAST_SECRET]
    for name in DOCUMENTS:
        content = (folder / name).read_text(encoding="utf-8").lower()
        if any(secret in content for secret in hidden):
            what = "it holds a secret: a key, a seed, or the fingerprint of a withheld matrix"
            raise _leak(name, what, "leave it out")
    check_rows(folder / data_name(release), release, hidden)


def check_receipt(receipt: Mapping[str, Any], release: AnyRelease) -> None:
    """Raise unless a public receipt holds nothing but what the schema of public receipts names."""
    allowed = schema()["$defs"]
    _check_keys(receipt, allowed["public"]["properties"], RECEIPT)
    if receipt["audience"] != "public":
        raise _leak(RECEIPT, "it is the internal receipt", "write the public one: public_receipt(release)")
    for group, stage in zip(receipt["groups"], release.stages, strict=True):
        _check_keys(group, allowed["public_group"]["properties"], RECEIPT)
        if "design" in group and not release.plan.publishes(stage):
            raise _leak(RECEIPT, f"it holds the matrix of {group['variables'][0]}", "withhold it, or clear it")
        if "design" in group and (group["design"]["provenance"] or group["matrix"] != INCLUDED):
            raise _leak(RECEIPT, "a matrix records its provenance", "leave its provenance out")
        numbers, share = [*group["vif"].values(), *group["n_eff"].values()], group["changed_expected"]
        exact = any(abs(rounded_up(x) - x) > 1e-9 * max(1.0, x) for x in numbers)
        if exact or (share is not None and rounded_share(share, release.rows) != share):
            raise _leak(RECEIPT, "a number has too many digits", "round it: many digits reveal the counts of the file")


def _check_keys(content: Mapping[str, Any], allowed: Mapping[str, Any], name: str) -> None:
    more = sorted(set(content) - set(allowed))
    if more:
        raise _leak(name, f"it holds {shorten(more[0])!r}, which is internal", "leave it out of the public receipt")


def _check_files(folder: Path, expected: set[str]) -> None:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in expected:
            raise _leak(name, "it does not belong in a public folder", "put it into the internal folder")
        if path.is_symlink() or not path.is_file():
            raise _leak(name, "it is not a regular file", "write the file itself, not a link")
        expected.remove(name)
    if expected:
        raise _leak(min(expected), "it is missing", "write all files before this check")


def _withheld(release: AnyRelease) -> list[str]:
    """Fingerprints of matrices that are not published: with one, matrices can be tried until it fits."""
    fingerprints = []
    for stage in release.stages:
        if release.plan.publishes(stage):
            continue
        fingerprints.append(numbered(stage.design).fingerprint)
        with suppress(LabelError):  # labels that have no JSON form have no fingerprint either
            fingerprints.append(stage.design.fingerprint)
    return [one.removeprefix("sha256:") for one in fingerprints]
