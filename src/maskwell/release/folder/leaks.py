"""Looking for leaks: the last look at what will be public, before the folder of a release gets its name.

Nothing may be there but what is known to be harmless: files, fields of the receipt and columns are compared with what
may be there, not with what may not. Beyond that no text of a secret may occur, such as the fingerprint of a matrix that
is withheld, and no column may number the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.phrases import shorten
from maskwell.errors import LabelError, PublishError
from maskwell.release.folder.leaks_in_rows import check_rows
from maskwell.release.folder.publishing import INCLUDED, check_matrix, check_randomness, is_included
from maskwell.release.folder.receipt import schema
from maskwell.release.folder.receipt_making import rounded_share, rounded_up
from maskwell.release.folder.stage_json import numbered
from maskwell.release.folder.writing import RECEIPT, data_name

if TYPE_CHECKING:
    from maskwell.release.released import Release

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


def _leak(name: str, what: str, hint: str) -> PublishError:
    return PublishError(f"{name} must not be published: {what}", hint=hint, file=name)
