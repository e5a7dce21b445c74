"""The ledger of a data set: what was released of it, when and how, so that the next release knows what is out already.

Each line holds the hash of the one before. After a crash between ``begun`` and ``released`` it counts as released.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from maskwell.core.atomic import OWNER_ONLY, atomic_file
from maskwell.core.documents import canonical_text, from_json, read_document
from maskwell.core.exact import to_decimal
from maskwell.core.keyed import KeyedRandom
from maskwell.core.locks import locked
from maskwell.core.phrases import fault_of, round_up, shorten
from maskwell.errors import DataFileError, PublishError
from maskwell.microdata.folder.release_folder import RECEIPT
from maskwell.microdata.folder.release_metadata import INTERNAL, MANIFEST, plan_hash, sha256_of, source_hashes
from maskwell.microdata.kept_bounds import achieved
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.recodes import recode_contents
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.plans.suppression import suppression_contents
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.stages.stage import Stage

VERSION = 1
FIRST = "0" * 64  # what stands for the hash of the line before the first one
BEGUN, RELEASED, ABANDONED = "begun", "released", "abandoned"
KEPT_BY, RECODES, RULES, WITHIN = "kept by", "recodes", "rules", "within"
MOST_FOLDERS = 1000  # folders beside those of releases that are looked into for releases that a ledger lacks
LEDGER_HINT = "give the ledger as it was written, or start a new one under another name"


@dataclass(frozen=True, eq=False)
class StageRecord:
    """One randomization of a release, as a ledger keeps it."""

    # Its columns
    variables: tuple[str, ...]
    within: tuple[str, ...]
    matrix: str  # Fingerprint of matrix, states and columns: what a kept draw depends on beside the key
    draws: str  # "kept", "fresh" or "kept, then fresh"
    parity: str  # The largest ratio of two chances of one report, as text
    asked: Mapping[str, Any]  # What the plan said of it
    # What names records and makes their true states, beside the file: the column that draws are kept by, recodes,
    # rules, and draws of columns that it is randomized within
    basis: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ReleaseRecord:
    """One release of a data set, as a ledger keeps it."""

    # Its number in the ledger, and when it was begun
    number: int
    time: str
    # Names of the data set and of the key, None without
    dataset: str | None
    commitment: str | None
    folder: str  # Where it was to be written
    # Its records, and the hashes of the true files, the plan, the manifest and the internal receipt
    rows: int
    source: tuple[str, ...]
    plan: str
    manifest: str
    receipt: str
    stages: tuple[StageRecord, ...]  # What was randomized
    state: str = BEGUN  # "begun", "released" or "abandoned"

    @property
    def title(self) -> str:
        """What sentences call it."""
        unsure = "" if self.state == RELEASED else ", which was begun and may be out"
        return f"release {self.number} ({self.time[:10]}){unsure}"


@dataclass(frozen=True, eq=False)
class Ledger:
    """What a ledger holds; a file that does not exist yet holds nothing."""

    path: Path
    lines: tuple[str, ...] = ()
    releases: tuple[ReleaseRecord, ...] = ()

    @property
    def last(self) -> str:
        """The hash of the last line, which the next one holds."""
        return _hash(self.lines[-1]) if self.lines else FIRST

    def of_dataset(self, dataset: str | None, path: str | None) -> list[ReleaseRecord]:
        """Releases of one data set, or of the same file under another name of it, that are out, or may be."""
        out = [one for one in self.releases if one.state != ABANDONED]
        if path is None or all(one.dataset == dataset for one in out):
            return [one for one in out if one.dataset == dataset]
        source = {digest for _, digest in source_hashes(path)}
        return [one for one in out if one.dataset == dataset or source & {*one.source}]


def ledger_beside(key: KeyedRandom, folder: str | Path | None = None) -> Path | None:
    """The default ledger of a release with a key: beside the key's file, or else the folder."""
    if key.path is not None:
        return key.path.with_name(f"{key.path.name}.ledger")
    return None if folder is None else Path(folder).absolute().parent / f"{key.commitment()[:16]}.ledger"


def read_ledger(path: str | Path) -> Ledger:
    """The ledger of a file; DataFileError where it was changed, or is none."""
    place = Path(path)
    if not place.exists():
        return Ledger(place)
    lines = read_document(place, error=DataFileError, hint=LEDGER_HINT).splitlines()
    releases: dict[int, ReleaseRecord] = {}
    before = FIRST
    for number, line in enumerate(lines, 1):
        try:
            content = from_json(line)
            if content["previous"] != before:
                raise DataFileError("line-does-not-follow-the-one", place=place, number=number, path=str(place))
            _take(content, releases)
        except (ValueError, KeyError, TypeError) as error:
            raise DataFileError(
                "line-is-no-line", place=place, number=number, fault=fault_of(error), path=str(place)
            ) from error
        before = _hash(line)
    return Ledger(place, tuple(lines), tuple(releases.values()))


def _take(content: Mapping[str, Any], releases: dict[int, ReleaseRecord]) -> None:
    if content["maskwell"] != "ledger" or content["version"] != VERSION:
        raise ValueError("not of this version")
    number, event = int(content["number"]), content["event"]
    if event == BEGUN:
        _check_kinds(content)
        if number in releases:  # it would hide the other one
            raise ValueError("a number that another release has")
        stages = tuple(
            StageRecord(**{**one, "variables": tuple(one["variables"]), "within": tuple(one["within"])})
            for one in content["stages"]
        )
        fields = {name: content[name] for name in _FIELDS}
        releases[number] = ReleaseRecord(**{**fields, "source": tuple(content["source"]), "stages": stages})
    elif event in (RELEASED, ABANDONED):
        releases[number] = ReleaseRecord(**{**vars(releases[number]), "state": event})
    else:
        raise ValueError(f"{shorten(str(event), 20)!r} is not an event")


def _check_kinds(content: Mapping[str, Any]) -> None:
    """Raise ValueError for values that no release writes: a ledger may come from anybody."""
    named = [content[name] for name in ("time", "folder", "plan", "manifest", "receipt")]
    named += [one[name] for one in content["stages"] for name in ("matrix", "draws", "parity")]
    named += [name for one in content["stages"] for name in (*one["variables"], *one["within"])]
    named += [*content["source"], *(one for one in (content["dataset"], content["commitment"]) if one is not None)]
    whole = all(type(content[name]) is int for name in ("number", "rows"))
    if not whole or not isinstance(content["source"], list) or not all(isinstance(one, str) for one in named):
        raise ValueError("a value of another kind")
    if not all(isinstance(one[name], dict) for one in content["stages"] for name in ("asked", "basis")):
        raise ValueError("a value of another kind")
    if not all(float(one["parity"]) >= 1 for one in content["stages"]):
        raise ValueError("no randomization")


_FIELDS = ("number", "time", "dataset", "commitment", "folder", "rows", "plan", "manifest", "receipt")


def begin(ledger: Ledger, release: AnyRelease, partial: Path, folder: str, source: Sequence[tuple[str, str]]) -> int:
    """Write down that a release is about to get its name, with the hashes of all that it holds; returns its number."""
    number = max((one.number for one in ledger.releases), default=0) + 1
    content = {
        "event": BEGUN,
        "number": number,
        "time": _now(),
        "dataset": release.plan.dataset,
        "commitment": release.keyed,
        "folder": str(Path(folder).absolute()),
        "rows": release.rows,
        "source": [digest for _, digest in source],
        "plan": plan_hash(release.plan),
        "manifest": sha256_of(partial / INTERNAL / MANIFEST),
        "receipt": sha256_of(partial / INTERNAL / RECEIPT),
        "stages": [asdict(_record(release, stage)) for stage in release.stages],
    }
    _append(ledger, content)
    return number


def state_of(ledger: Ledger, release: AnyRelease) -> dict[str, Any]:
    """The length and the end of the ledger before a release: its manifest and the next line vouch for each other."""
    return {**_name_of(ledger, release), "lines": len(ledger.lines), "head": ledger.last}


def _name_of(ledger: Ledger, release: AnyRelease) -> dict[str, Any]:
    return {"file": ledger.path.name, "dataset": release.plan.dataset, "commitment": release.keyed}


def check_not_cut(ledger: Ledger, release: AnyRelease, folder: str) -> None:
    """Raise if the folder of a release exists that was once recorded in this ledger and is not in it any more."""
    known = {one.manifest for one in ledger.releases}
    places = dict.fromkeys([Path(folder).absolute().parent, *(Path(one.folder).parent for one in ledger.releases)])
    for manifest in (path for place in places for path in _manifests(place)):
        state = ledger_state(manifest)
        if state is None or any(state.get(name) != value for name, value in _name_of(ledger, release).items()):
            continue
        if sha256_of(manifest) not in known:
            name, lacking = shorten(str(ledger.path), 24), shorten(manifest.parts[-3], 24)
            raise PublishError("lacks-the-release-its-end", name=name, lacking=lacking, path=str(manifest))


def _manifests(place: Path) -> Iterator[Path]:
    """The manifests of releases in a folder of folders, the first thousand."""
    with suppress(OSError):
        for child in sorted(place.iterdir())[:MOST_FOLDERS]:
            path = child / INTERNAL / MANIFEST
            if not child.is_symlink() and not path.is_symlink() and path.is_file():
                yield path


def ledger_state(manifest: Path) -> dict[str, Any] | None:
    """What a manifest records of the ledger before its release; ``None`` where it records nothing, or is not valid."""
    try:
        state = from_json(read_document(manifest, error=DataFileError, hint=LEDGER_HINT)).get("ledger")
    except (ValueError, AttributeError, OSError, DataFileError):
        return None
    return state if isinstance(state, dict) and isinstance(state.get("lines"), int) else None


def has_state(ledger: Ledger, state: Mapping[str, Any]) -> bool:
    """Whether a ledger began with the lines that a manifest records."""
    lines = state["lines"]
    if not 0 <= lines <= len(ledger.lines):
        return False
    return state.get("head") == (_hash(ledger.lines[lines - 1]) if lines else FIRST)


def settle(ledger: Ledger, number: int, event: str) -> None:
    """Write down how a release that was begun ended: ``"released"`` or ``"abandoned"``."""
    _append(ledger, {"event": event, "number": number, "time": _now()}, behind_others=True)


def _append(ledger: Ledger, content: Mapping[str, Any], *, behind_others: bool = False) -> None:
    """One more line, on the disk and whole when this returns; an error if another release wrote one meanwhile."""
    with _locked(ledger.path):
        now = read_ledger(ledger.path)
        if now.lines != ledger.lines and not behind_others:
            raise DataFileError(
                "was-written-by-another-release-meanwhile", ledger_path=ledger.path, path=str(ledger.path)
            )
        line = canonical_text({"maskwell": "ledger", "version": VERSION, "previous": now.last, **content})
        with atomic_file(str(ledger.path), force=True, mode=OWNER_ONLY) as file:
            file.write("".join(f"{one}\n" for one in (*now.lines, line)).encode())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One release at a time; where the folder takes no file, the error is that of the ledger."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(locked(path))
        yield


def _record(release: AnyRelease, stage: Stage) -> StageRecord:
    parity = parity_of(stage)
    return StageRecord(
        variables=stage.variables,
        within=stage.within,
        matrix=stage.fingerprint,
        draws=release.how_drawn(stage),
        parity=f"{round_up(parity, 4):g}" if math.isfinite(parity) else "inf",
        asked=asked_in(release.plan, release.plan.protection_of(stage)),
        basis=basis_of(release, stage),
    )


def basis_of(release: AnyRelease, stage: Stage) -> dict[str, Any]:
    """What a kept draw depends on beside key and matrix."""
    plan = release.plan
    asks_rules = bool({*stage.columns} & {*release.file.further})
    recodes = {name: recode_contents(one) for name, one in plan.recodes.items() if asks_rules or name in stage.columns}
    if plan.suppress is not None and {*plan.suppress.keys} & {*stage.columns}:
        recodes["[suppress]"] = suppression_contents(plan.suppress)
    earlier = release.stages[: release.stages.index(stage)]
    within = [one for one in earlier if {*one.moved} & {*stage.within}]
    return {
        KEPT_BY: (stage.unit or plan.id) if release.keeps(stage) else None,
        RECODES: recodes,
        RULES: plan.to_dict().get("rule", []) if asks_rules else [],
        WITHIN: [[one.fingerprint, release.how_drawn(one)] for one in within],
    }


def asked_in(plan: ReleasePlan, protection: Protection) -> dict[str, Any]:
    """What the plan says of one randomization."""
    limit = {} if plan.match is None else {"match of [release]": to_decimal(plan.match)}
    return {**protection.contents(), **limit}


def parity_of(stage: Stage) -> float:
    """The largest ratio of two chances of one report; infinite where a report rules a true value out."""
    value = achieved(stage, "parity")
    return math.inf if value is None else float(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
