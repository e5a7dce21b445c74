"""Checking that the files of a release are those that were signed.

A folder may come from anybody: files are looked up by what is there, never by a list, and links are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.documents import from_json, read_document
from maskwell.core.phrases import fault_of, in_words, round_up, shorten
from maskwell.errors import DataFileError, ParameterError
from maskwell.microdata.folder import release_metadata as metadata
from maskwell.microdata.folder.ledger import RELEASED, has_state, ledger_state, read_ledger
from maskwell.microdata.folder.receipt import receipt_from_dict, stages_of
from maskwell.microdata.folder.release_folder import CODEBOOK, RECEIPT
from maskwell.microdata.folder.release_metadata import INTERNAL, MANIFEST, PUBLIC, SUMS
from maskwell.microdata.plans.release_plan import ReleasePlan, load_plan
from maskwell.microdata.stages.stage import Stage
from maskwell.privacy.certificate_check import Check, Verified

NAMED = 3  # files that a check names; the others it counts
_HASH = re.compile(r"[0-9a-f]{64}")


def verify_release(
    folder: str | Path,
    *,
    source: str | Path | None = None,
    plan: str | Path | ReleasePlan | None = None,
    sha256: str | None = None,
    ledger: str | Path | None = None,
    earlier: str | Path | None = None,
) -> Verified:
    """Check the files against the signed hash ``sha256``; without it a folder can only agree with itself."""
    check_kind(str | Path | None, source=source)
    check_kind(str | Path | ReleasePlan | None, plan=plan)
    check_kind(str | None, sha256=sha256)
    check_kind(str | Path | None, ledger=ledger, earlier=earlier)
    place = Path(folder)
    if sha256 is not None and not _HASH.fullmatch(sha256.lower()):
        raise ParameterError("sha256-is-no-sha-256-hash", sha256=shorten(sha256))
    try:
        whole = _is_own_file(place / INTERNAL / MANIFEST) and not (place / INTERNAL).is_symlink()
        if not whole and not _is_own_file(place / SUMS):
            raise DataFileError("holds-no-internal-manifest-json", folder=folder)
        if not whole and any(one is not None for one in (source, plan, ledger, earlier)):
            raise ParameterError("the-public-part-of-a-release")
        checks = _whole_checks(place, source, plan) if whole else _public_checks(place)
        listed = place / INTERNAL / MANIFEST if whole else place / SUMS
        written_down = [] if ledger is None else _ledger_checks(Path(ledger), listed)
        changes = [] if earlier is None else _changes(place, Path(earlier))
        digest = metadata.sha256_of(listed)
        same, other = sha256 is None or digest == sha256.lower(), f"the list of files has another one, {digest}"
        signed = Check("hash to sign" if sha256 is None else "signed hash", same, digest if same else other)
        return Verified((*checks, *written_down, *changes, signed))
    except OSError as error:
        raise DataFileError("cannot-read-give-the", folder=folder, strerror=error.strerror or error) from error


def _ledger_checks(path: Path, manifest: Path) -> Iterator[Check]:
    """That every line of a ledger follows the one before it, that it began as it was then, and has the release."""
    if not path.is_file():
        raise DataFileError("there-is-no-ledger", path=path)
    try:
        ledger = read_ledger(path)
    except DataFileError as error:
        yield Check("ledger", False, error.message)
        return
    yield Check("ledger", True, f"{len(ledger.releases):,} in it, no line was changed or taken out of its middle")
    state, digest = ledger_state(manifest), metadata.sha256_of(manifest)
    if state is not None:
        same, lines = has_state(ledger, state), f"the {state['lines']:,} lines of then"
        yield Check("ledger, since then", same, f"it begins with {lines}" if same else f"it has not {lines}")
    known = next((one for one in ledger.releases if one.manifest == digest), None)
    words = "it has no release with this list of files" if known is None else f"{known.title}, {known.time}"
    yield Check("in the ledger", known is not None and known.state == RELEASED, words)


def _changes(folder: Path, earlier: Path) -> Iterator[Check]:
    """What changed since an earlier release; differences do not fail the check, files that changed since then do."""
    failed = verify_release(earlier).failed
    state = f"{earlier} is as it was released" if not failed else f"{earlier}: {failed[0].name}: {failed[0].words}"
    yield Check("earlier release", not failed, state)
    now, then = (_read(one, INTERNAL, RECEIPT) for one in (folder, earlier))
    sources = [_manifest(one / INTERNAL / MANIFEST)["source"] for one in (folder, earlier)]
    same = [digest for _, digest in sources[0]] == [digest for _, digest in sources[1]]
    told = "the same file, by its SHA-256 hash" if same else "another file, or it was changed: its SHA-256 hash differs"
    yield Check("since then: source", True, told)
    yield Check("… records", True, _both(f"{now['rows']:,}", f"{then['rows']:,}"))
    columns = [[one["name"] for one in _read(each, PUBLIC, CODEBOOK)["columns"]] for each in (folder, earlier)]
    new, gone = ([name for name in one if name not in other] for one, other in (columns, columns[::-1]))
    said = [f"{_named(names)} {verb}" for names, verb in ((new, "added"), (gone, "left out")) if names]
    yield Check("… columns", True, "; ".join(said) or f"the same {len(columns[0]):,} names")
    entries, before = (dict(_entries(one["plan"])) for one in (now, then))
    differ = [name for name in {**before, **entries} if entries.get(name) != before.get(name)]
    words = [f"{name} {entries.get(name, 'left out')} (before {before.get(name, 'none')})" for name in differ]
    told = "; ".join(shorten(one, 90) for one in words) or f"the same in all {len(entries):,} entries"
    yield Check("… plan", True, told)
    stages = [stages_of(receipt_from_dict(one, "the internal receipt")) for one in (now, then)]
    yield Check("… matrices", True, _matrices_changed(*stages))
    yield Check("… draws", True, _draws_changed(now, then, *stages))
    yield Check("… highest probability", True, _both(*(_highest(one["risk"]) for one in (now, then))))


def _read(folder: Path, *parts: str) -> dict[str, Any]:
    path = folder.joinpath(*parts)
    try:
        content = from_json(read_document(path, error=DataFileError, hint=metadata.FOLDER_HINT))
    except ValueError as error:
        raise DataFileError(
            "path-shown-is-no-json-fault-give", path_shown=path, fault=fault_of(error), path=str(path)
        ) from error
    if not isinstance(content, dict) or not {*_NEEDED[parts[-1]]} <= {*content}:
        raise DataFileError("path-shown-is-not", path_shown=path, path=str(path))
    return content


_NEEDED = {RECEIPT: ("rows", "plan", "groups", "risk"), CODEBOOK: ("columns",)}


def _both(now: str, then: str) -> str:
    return f"{now}, as before" if now == then else f"{now}, before {then}"


def _entries(content: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _entries(value, f"{name}.{key}" if name else key)
    elif isinstance(content, list) and content and all(isinstance(one, dict) for one in content):
        for number, one in enumerate(content, 1):
            yield from _entries(one, f"{name} {number}")
    else:
        yield name, ", ".join(map(str, content)) if isinstance(content, list) else str(content)


def _matrices_changed(now: Sequence[Stage], then: Sequence[Stage]) -> str:
    """Which columns have the matrix of then, by the fingerprints of all labels and chances."""
    before = {stage.variables: stage.fingerprint for stage in then}
    words = []
    for stage in now:
        old, same = before.get(stage.variables), "the same, by fingerprint"
        other = "not randomized so before" if old is None else "another one: its fingerprint differs"
        told = same if stage.fingerprint == old else other
        words.append(f"{shorten(', '.join(stage.variables), 40)}: {told}")
    return "; ".join(words)


def _draws_changed(now: Mapping[str, Any], then: Mapping[str, Any], *stages: Sequence[Stage]) -> str:
    """Whether a record whose true values stayed has the report of then; rows are in random order and reveal nothing."""
    keys = [one.get("randomness", {}).get("commitment") for one in (now, then)]
    if None in keys or keys[0] != keys[1]:
        return "new: not both with the same key and data set"
    of_then = {stage.fingerprint for stage in stages[1]}
    kept = [stage.fingerprint in of_then for stage in stages[0]]
    if not any(kept):
        return "new: the same key and data set, but no matrix is the same"
    which = "kept" if all(kept) else "kept where the matrix is"
    return f"{which}, unless the plan asks for fresh ones: the same key and data set"


def _highest(risk: Any) -> str:
    return "not measured" if risk is None else f"{round_up(100 * float(risk['headline']['risk']), 1):g} %"


def _whole_checks(folder: Path, source: str | Path | None, plan: str | Path | ReleasePlan | None) -> Iterator[Check]:
    manifest = _manifest(folder / INTERNAL / MANIFEST)
    files, listed = metadata.files_in(folder), dict(manifest["files"])
    files.pop(f"{INTERNAL}/{MANIFEST}")
    for public, what in ((True, "public files"), (False, "internal files")):
        of_part = {name: digest for name, digest in listed.items() if name.startswith(f"{PUBLIC}/") == public}
        yield _unchanged(what, of_part, files)
    yield _nothing_else(listed, files)
    start = f"{PUBLIC}/"  # what users are told is what was signed
    expected = {name.removeprefix(start): digest for name, digest in listed.items() if name.startswith(start)}
    expected.pop(SUMS, None)
    same = (folder / PUBLIC / SUMS).is_file() and metadata.sums_of(folder / PUBLIC / SUMS) == expected
    words = "lists the public files with the same hashes" if same else "does not list the public files as they were"
    yield Check(f"{PUBLIC}/{SUMS}", same, words)
    if source is not None:
        same = [digest for _, digest in metadata.source_hashes(str(source))] == [
            digest for _, digest in manifest["source"]
        ]
        words = f"{source} is the file that was released" if same else f"{source} is another file, or was changed"
        yield Check("source", same, words)
    if plan is not None:
        same = metadata.plan_hash(plan if isinstance(plan, ReleasePlan) else load_plan(plan)) == manifest["plan"]
        yield Check("plan", same, "it is the plan that was carried out" if same else "another plan was carried out")


def _public_checks(folder: Path) -> Iterator[Check]:
    files, listed = metadata.files_in(folder), metadata.sums_of(folder / SUMS)
    files.pop(SUMS)
    yield _unchanged("public files", listed, files)
    yield _nothing_else(listed, files)


def _unchanged(what: str, listed: Mapping[str, str], files: Mapping[str, Path]) -> Check:
    missing = [name for name in listed if name not in files]
    changed = [name for name in listed if name in files and not _is_same(files[name], listed[name])]
    if missing or changed:
        faults = [f"{_named(names)} {verb}" for names, verb in ((changed, "changed"), (missing, "missing")) if names]
        return Check(what, False, "; ".join(faults))
    return Check(what, True, f"{len(listed):,} as released")


def _is_same(path: Path, digest: str) -> bool:
    return _is_own_file(path) and metadata.sha256_of(path) == digest


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _nothing_else(listed: Mapping[str, str], files: Mapping[str, Path]) -> Check:
    more = sorted(set(files) - set(listed))
    return Check("nothing else", not more, f"{_named(more)} added" if more else "no file was added")


def _named(names: list[str]) -> str:
    more = [] if len(names) <= NAMED else [f"{len(names) - NAMED:,} more"]
    return in_words([*(shorten(name) for name in names[:NAMED]), *more])


def _manifest(path: Path) -> dict[str, Any]:
    """What a manifest holds, with files and source as pairs of name and hash; DataFileError where it is none."""
    text = read_document(path, error=DataFileError, hint=metadata.FOLDER_HINT)
    try:
        content = from_json(text)
        read = {key: [(str(one["file"]), str(one["sha256"])) for one in content[key]] for key in ("files", "source")}
        if content["maskwell"] != "manifest" or content["version"] != metadata.MANIFEST_VERSION:
            raise ValueError("not a manifest of this version")
        if len(dict(read["files"])) < len(read["files"]):
            raise ValueError("a file is listed twice")
    except (ValueError, KeyError, TypeError) as error:
        raise DataFileError(
            "is-no-manifest-of-a-release", path_shown=path, fault=fault_of(error), path=str(path)
        ) from error
    return {**read, "plan": content.get("plan")}
