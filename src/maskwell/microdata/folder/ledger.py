"""The ledger of a data set: what was released of it, when and how, so that the next release knows what is out already.

A file of JSON lines beside the key. Every line holds the hash of the line before it, so that a line that was changed or
taken out shows. A release is two lines: ``begun``, with all hashes, before its folder gets its name, and ``released``
after that. After a crash between the two the ledger says ``begun``, which is true, and counts as if it was released.

Two releases of one record tell as much as one where draws are kept by one key under one matrix. Any other two draws are
independent, and (z, z') is reported with the chance ``p_zj p'_z'j`` of a record whose true state is j. What somebody
finds who has both files, and knows which two records are one, follows as from one release with that matrix.

Source: derived.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.atomic import OWNER_ONLY, atomic_file
from maskwell.core.documents import canonical_text, from_json, read_document
from maskwell.core.exact import to_decimal
from maskwell.core.labels import texts
from maskwell.core.percentages import tenths
from maskwell.core.phrases import fault_of, in_words, option, round_up, shorten
from maskwell.core.verdicts import above
from maskwell.designs.column_arrays import Transitions
from maskwell.errors import DataFileError, MaskwellError, PublishError
from maskwell.microdata.folder.receipt import load_receipt, stages_of
from maskwell.microdata.folder.release_folder import RECEIPT
from maskwell.microdata.folder.release_metadata import INTERNAL, MANIFEST, plan_hash, sha256_of, source_hashes
from maskwell.microdata.kept_bounds import asked_of
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.recodes import recode_contents
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.identity_disclosure import risks_of
from maskwell.microdata.risk.sparse_arrivals import SparseArrivals
from maskwell.microdata.stages.achieved_bounds import achieved
from maskwell.microdata.stages.stage import Stage, State

VERSION = 1
FIRST = "0" * 64
"""What stands for the hash of the line before the first one."""

BEGUN, RELEASED, ABANDONED = "begun", "released", "abandoned"
KEPT_BY, RECODES, RULES, WITHIN = "kept by", "recodes", "rules", "within"
OTHER_BASIS = {
    RECODES: "columns are recoded in another way",
    RULES: "rules are not as they were",
    WITHIN: "the columns that it is randomized within are drawn in another way",
    KEPT_BY: "draws are kept by another column",
}
"""Why a draw is new under the same matrix, by what changed."""

SAME_MATRIX = "{names}: the matrix is that of {title}, and records with unchanged true values keep their released ones"

MOST_ENTRIES = 4_000_000
"""Pairs of reports that are looked at for what releases tell together."""

MOST_FOLDERS = 1000
"""Folders beside those of releases that are looked into for releases that a ledger lacks."""

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
        stages = tuple(
            StageRecord(**{**one, "variables": tuple(one["variables"]), "within": tuple(one["within"])})
            for one in content["stages"]
        )
        fields = {name: content[name] for name in _FIELDS}
        releases[number] = ReleaseRecord(**{**fields, "source": tuple(content["source"]), "stages": stages})
    elif event in (RELEASED, ABANDONED):
        releases[number] = ReleaseRecord(**{**vars(releases[number]), "state": event})
    else:
        raise ValueError(f"there is no event {shorten(str(event), 20)!r}")


def _check_kinds(content: Mapping[str, Any]) -> None:
    """Raise ValueError for values that no release writes: a ledger may come from anybody."""
    named = [content[name] for name in ("time", "folder", "plan", "manifest", "receipt")]
    named += [one[name] for one in content["stages"] for name in ("matrix", "draws", "parity")]
    named += [name for one in content["stages"] for name in (*one["variables"], *one["within"])]
    if not all(isinstance(one, str) for one in named) or not isinstance(content["rows"], int):
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
    """What a manifest tells of the ledger as it was before its release: how long it was, and the hash of its end.

    The hash of the manifest goes into the next line. So each vouches for the other, and who signed a manifest signed
    all lines before it.
    """
    return {**_name_of(ledger, release), "lines": len(ledger.lines), "head": ledger.last}


def _name_of(ledger: Ledger, release: AnyRelease) -> dict[str, Any]:
    return {"file": ledger.path.name, "dataset": release.plan.dataset, "commitment": release.keyed}


def check_not_cut(ledger: Ledger, release: AnyRelease, folder: str) -> None:
    """Raise where a folder is found of a release that was written down in this ledger and is not in it any more.

    Its end was cut off then, or an older copy was brought back. Looked at are folders beside the one that is to be
    written, and beside those that the ledger names. What was moved away from there, or deleted, is not missed.
    """
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
    """What a manifest tells of the ledger before its release; ``None`` where it tells nothing, or is none."""
    try:
        state = from_json(read_document(manifest, error=DataFileError, hint=LEDGER_HINT)).get("ledger")
    except (ValueError, AttributeError, OSError, DataFileError):
        return None
    return state if isinstance(state, dict) and isinstance(state.get("lines"), int) else None


def has_state(ledger: Ledger, state: Mapping[str, Any]) -> bool:
    """Whether a ledger began with the lines that a manifest tells of."""
    lines = state["lines"]
    if not 0 <= lines <= len(ledger.lines):
        return False
    return state.get("head") == (_hash(ledger.lines[lines - 1]) if lines else FIRST)


def settle(ledger: Ledger, number: int, event: str) -> None:
    """Write down how a release that was begun ended: ``"released"`` or ``"abandoned"``."""
    _append(read_ledger(ledger.path), {"event": event, "number": number, "time": _now()})


def _append(ledger: Ledger, content: Mapping[str, Any]) -> None:
    """One more line, on the disk and whole when this returns; an error if somebody else wrote one meanwhile."""
    line = canonical_text({"maskwell": "ledger", "version": VERSION, "previous": ledger.last, **content})
    if read_ledger(ledger.path).lines != ledger.lines:
        raise DataFileError("was-written-by-another-release-meanwhile", ledger_path=ledger.path, path=str(ledger.path))
    with atomic_file(str(ledger.path), force=True, mode=OWNER_ONLY) as file:
        file.write("".join(f"{one}\n" for one in (*ledger.lines, line)).encode())


def _record(release: AnyRelease, stage: Stage) -> StageRecord:
    return StageRecord(
        variables=stage.variables,
        within=stage.within,
        matrix=stage.fingerprint,
        draws=release.draws_of(stage),
        parity=_parity_text(_parity(stage)),
        asked=_asked(release.plan, release.plan.protection_of(stage)),
        basis=_basis(release, stage),
    )


def _basis(release: AnyRelease, stage: Stage) -> dict[str, Any]:
    """What a kept draw depends on that neither key nor matrix tells."""
    plan = release.plan
    asks_rules = bool({*stage.columns} & {*release.file.further})
    recodes = {name: recode_contents(one) for name, one in plan.recodes.items() if asks_rules or name in stage.columns}
    earlier = release.stages[: release.stages.index(stage)]
    within = [one for one in earlier if {*one.moved} & {*stage.within}]
    return {
        KEPT_BY: (stage.unit or plan.id) if release.keeps(stage) else None,
        RECODES: recodes,
        RULES: plan.to_dict().get("rule", []) if asks_rules else [],
        WITHIN: [[one.fingerprint, release.draws_of(one)] for one in within],
    }


def _asked(plan: ReleasePlan, protection: Protection) -> dict[str, Any]:
    """What the plan says of one randomization."""
    limit = {} if plan.match is None else {"match of [release]": to_decimal(plan.match)}
    return {**protection.contents(), **limit}


def _parity(stage: Stage) -> float:
    value = achieved(stage, "parity")
    return math.inf if value is None else float(value)


def _parity_text(value: float) -> str:
    return f"{round_up(value, 4):g}" if math.isfinite(value) else "inf"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


# ---- what releases tell together


@dataclass(frozen=True)
class DrawnAgain:
    """Columns whose values were released before, in draws that do not depend on those of this release."""

    # The columns, and the earlier releases by their numbers
    variables: tuple[str, ...]
    earlier: tuple[int, ...]
    reason: str  # Why the draws are not the same, in words
    draws: int  # How many independent draws of a record there are, that of this release included
    # The largest ratio of two chances of one report, of this release and of all together; infinite where a report rules
    # a true value out
    parity: float
    parity_together: float
    # The largest chance to find a record for somebody who knows the true values of these columns and of those that they
    # are randomized within, but no others; of this release, and of all together if all hold the same persons and he
    # knows which records are one person's; None where it cannot be told
    match: float
    match_together: float | None
    beyond: bool  # Whether the plan has a bound that all together do not keep, or are not known to keep
    words: str  # All that in a few sentences

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def drawn_again(release: AnyRelease, ledger: Ledger, path: str | None = None) -> tuple[DrawnAgain, ...]:
    """What earlier releases of the same data set tell together with a release that is planned.

    With the ``path`` of the true file, releases of that file count under whatever name of the data set.
    """
    earlier = ledger.of_dataset(release.plan.dataset, path)
    return tuple(one for stage in release.stages for one in _of_stage(release, stage, earlier, path))


def same_matrices(release: AnyRelease, ledger: Ledger, path: str | None = None) -> tuple[str, ...]:
    """For each randomization whose draws repeat those of earlier releases, the last of these, in words."""
    earlier = ledger.of_dataset(release.plan.dataset, path)
    pairs = [(stage, record, one) for stage in release.stages for record in earlier for one in record.stages]
    same = {stage.variables: record for stage, record, one in pairs if _is_same_draw(release, stage, record, one)}
    return tuple(
        SAME_MATRIX.format(names=shorten(", ".join(names), 40), title=one.title) for names, one in same.items()
    )


def _of_stage(
    release: AnyRelease, stage: Stage, earlier: Sequence[ReleaseRecord], path: str | None
) -> Iterator[DrawnAgain]:
    others = [(record, one) for record in earlier for one in record.stages if {*one.variables} & {*stage.variables}]
    new = [pair for pair in others if not _is_same_draw(release, stage, *pair)]
    if not new:
        return
    distinct = {_name_of_draw(*pair): pair for pair in new}
    parity = _parity(stage)
    match = _match([stage.transitions], stage)
    if _is_recoded_alike(release, stage, [one for _, one in distinct.values()]):
        together = parity * math.prod(float(one.parity) for _, one in distinct.values())
        both = _match_together(stage, [*distinct.values()])
    else:
        together, both = math.inf, None
    protection = release.plan.protection_of(stage)
    last, one = new[-1]
    first = next(record for record, other in new if other.matrix == one.matrix)  # later ones may have taken it over
    reason = _reason(release, protection, stage, last, one) or _why_another_matrix(release, stage, first, path)
    beyond = _is_beyond(release, protection, together, both)
    yield DrawnAgain(
        variables=stage.variables,
        earlier=tuple(dict.fromkeys(record.number for record, _ in new)),
        reason=reason,
        draws=1 + len(distinct),
        parity=parity,
        parity_together=together,
        match=match,
        match_together=both,
        beyond=beyond,
        words=_words(stage, new[-1][0], reason, 1 + len(distinct), match, both),
    )


def _is_recoded_alike(release: AnyRelease, stage: Stage, others: Sequence[StageRecord]) -> bool:
    """Whether earlier releases had the same true states, so that it can be said what all tell together.

    Otherwise a state of one release may be a part of a state of another. And where one key keeps draws under one
    matrix, a report that differs proves that the state does: then no ratio of chances is a bound.
    """
    basis = _basis(release, stage)
    return all(one.basis.get(name) == basis[name] for one in others for name in (RECODES, RULES))


def _is_same_draw(release: AnyRelease, stage: Stage, record: ReleaseRecord, one: StageRecord) -> bool:
    """Whether a draw of an earlier release is this one: kept by one key, under one matrix, of the same true states.

    A column that is drawn within one whose draw is new has new states, and so a new draw, too. Reports that are
    randomized once more tell less than the kept ones, and bounds are checked for these, too.
    """
    kept = release.draws_of(stage) == one.draws != "fresh"
    basis = _basis(release, stage)
    kept = kept and one.basis == basis and all(draws == "kept" for _, draws in basis[WITHIN])
    return kept and record.commitment == release.keyed and one.matrix == stage.fingerprint


def _name_of_draw(record: ReleaseRecord, one: StageRecord) -> tuple[str, ...]:
    """Releases that repeat one kept draw have one name for it."""
    if one.draws == "kept":
        return (str(record.commitment), one.matrix, canonical_text(one.basis))
    return (str(record.number), *one.variables)


def _is_beyond(release: AnyRelease, protection: Protection, parity: float, match: float | None) -> bool:
    asked = {**asked_of(protection)}
    limit = release.plan.match_of(protection)
    if limit is not None:
        asked["match"] = limit
    if protection.caps:
        return True
    for name, bound in asked.items():
        if name in _OF_ONE_FILE:
            continue
        value = {"match": match, "parity": parity}.get(name)
        if value is None or above(value, bound):
            return True
    return False


_OF_ONE_FILE = ("least_kept", "changed_at_most", "changed_at_least")
"""Bounds on how much is changed, which another release does not touch."""


def _reason(release: AnyRelease, protection: Protection, stage: Stage, record: ReleaseRecord, one: StageRecord) -> str:
    """Why a draw is another one, as far as keys, columns and bounds say; nothing where they are as they were."""
    if record.commitment != release.keyed:
        return "it was drawn with another key, or without one"
    if one.variables != stage.variables:
        same = {*one.variables} == {*stage.variables}
        return "variables are in another order" if same else "other columns are randomized together"
    basis = _basis(release, stage)
    other = [words for name, words in OTHER_BASIS.items() if one.basis.get(name) != basis[name]]
    if other and "fresh" not in (one.draws, release.draws_of(stage)):
        return other[0]
    if one.matrix == stage.fingerprint:
        return "draws are new in each release"
    now = _asked(release.plan, protection)
    changed = [key for key in {**one.asked, **now} if one.asked.get(key) != now.get(key)]
    if changed:
        return f"{changed[0]} is not as it was, and so the matrix is another one"
    if one.within != stage.within:
        return "it is randomized within other columns"
    return ""


def _why_another_matrix(release: AnyRelease, stage: Stage, record: ReleaseRecord, path: str | None) -> str:
    """The cause where neither key nor columns nor bounds changed: file, plan, or the program that computed it."""
    if path is None or {*record.source} != {digest for _, digest in source_hashes(path)}:
        return "the counts or the labels of the file changed, and so the matrix is another one"
    if record.plan != plan_hash(release.plan):
        return "another entry of the plan changed, and so the matrix is another one"
    if stage.invariance == "external":
        return "the matrix was made from the counts of another file"
    return "file and plan are unchanged, but another version of maskwell or of a library computed another matrix"


def _words(stage: Stage, record: ReleaseRecord, reason: str, draws: int, match: float, both: float | None) -> str:
    names, known = shorten(", ".join(stage.variables), 40), shorten(in_words([*stage.columns]), 60)
    told = (
        "what all draws tell together is not known: recodes differ, the internal receipt of that release is not where"
        " it was, or there are too many combinations"
        if both is None
        else f"if all these files hold the same persons, whoever has them, knows {known} of somebody and nothing else,"
        " and knows which records are one person's, finds the right one with a chance of up to"
        f" {tenths(both, up=True)} instead of {tenths(match, up=True)}"
    )
    return (
        f"{names}: records that are in {record.title} too are drawn anew, for the {_nth(draws)} time ({reason}); {told}"
    )


def _nth(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")


def check_again(again: Sequence[DrawnAgain], *, allowed: bool) -> None:
    """Raise where a bound of the plan does not hold for all releases together, unless that is allowed."""
    beyond = [one for one in again if one.beyond]
    if not beyond or allowed:
        return
    first = beyond[0]
    names = shorten(", ".join(first.variables), 30)
    numbers = f"release{'s' if len(first.earlier) > 1 else ''} {in_words([*map(str, first.earlier[-3:])])}"
    kept = option("matrices", "OLD/internal/receipt.json")
    raise PublishError(
        "would-be-drawn-anew-together", names=names, numbers=numbers, kept=kept, again=[one.to_dict() for one in again]
    )


# ---- the chance of a match from several releases


def _match_together(stage: Stage, others: Sequence[tuple[ReleaseRecord, StageRecord]]) -> float | None:
    """The largest chance of a match from this release and the others; None where a matrix is not at hand.

    Of one look: at the records with one combination of reports, or at those with one report in one of the releases.
    """
    parts = [stage.transitions]
    for record, one in others:
        earlier = _stage_of(record, one)
        if earlier is None:
            return None
        parts.append(_on_states(earlier, stage))
    with suppress(_TooManyError):
        return max(_match(parts, stage), *(_match([one], stage) for one in parts))
    return None


class _TooManyError(MaskwellError):
    """More pairs of reports than are looked at."""


def _stage_of(record: ReleaseRecord, one: StageRecord) -> Stage | None:
    """The randomization itself, from the internal receipt of its release, if that is unchanged where it was."""
    path = Path(record.folder) / INTERNAL / RECEIPT
    try:
        if not path.is_file() or sha256_of(path) != record.receipt:
            return None
        stages = stages_of(load_receipt(str(path)))
    except (OSError, ValueError, MaskwellError):
        return None
    return next((stage for stage in stages if stage.variables == one.variables), None)


def _on_states(earlier: Stage, stage: Stage) -> Transitions:
    """What an earlier release did to the states of this one; those that it did not have show nothing."""
    places = {_by_column(earlier.columns, state): place for place, state in enumerate(earlier.states)}
    shared = [name for name in stage.columns if name in earlier.columns]
    if {*shared} != {*earlier.columns}:  # less is known here than there: taken to be seen as it is
        released = np.arange(len(stage.states))
        return Transitions(released, released, np.ones(len(stage.states)))
    at = np.array([places.get(_by_column(stage.columns, state, shared), -1) for state in stage.states])
    released, true, p = earlier.transitions
    order = np.argsort(true, kind="stable")
    first = np.searchsorted(true[order], at)
    count = np.where(at >= 0, np.searchsorted(true[order], at, side="right") - first, 0)
    entries = order[np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())]
    absent = np.flatnonzero(at < 0)
    nothing = np.full(len(absent), len(earlier.outputs))
    return Transitions(
        np.concatenate([released[entries], nothing]),
        np.concatenate([np.repeat(np.arange(len(at)), count), absent]),
        np.concatenate([p[entries], np.ones(len(absent))]),
    )


def _by_column(columns: Sequence[str], state: State, only: Sequence[str] | None = None) -> tuple[Any, ...]:
    """The labels of a state as texts, in the order of the names of their columns."""
    named = dict(zip(columns, state, strict=True))
    return tuple(None if named[name] is None else texts(named[name])[-1] for name in sorted(only or columns))


def _match(parts: Sequence[Transitions], stage: Stage) -> float:
    """The largest chance of a match, over all released combinations, of somebody who knows the true state."""
    row, cell, p = parts[0]
    for more in parts[1:]:
        row, cell, p = _joined((row, cell, p), more)
    combined = np.unique(row, return_inverse=True)[1].reshape(-1)
    counts = np.asarray(stage.draw_counts, dtype=np.int64)
    rows = int(combined.max(initial=-1)) + 1
    own = np.arange(len(counts)) + rows  # no released combination is a state's own
    arrivals = SparseArrivals.of(counts, own, rows + len(counts), combined, cell, p)
    return float(risks_of(arrivals).any_release.max(initial=0.0))


def _joined(one: tuple[Array, Array, Any], other: Transitions) -> tuple[Array, Array, Any]:
    """Entries of both releases: a row for each pair of reports, with the product of the chances."""
    row, cell, p = one
    more, true, q = other
    order = np.argsort(true, kind="stable")
    first, last = (np.searchsorted(true[order], cell, side=side) for side in ("left", "right"))
    count = last - first
    if count.sum() > MOST_ENTRIES:
        raise _TooManyError("too-many-pairs-of-reports")
    entries = order[np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())]
    pairs = np.repeat(row, count).astype(np.int64) * (int(more.max(initial=0)) + 1) + more[entries]
    renumbered = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return renumbered, np.repeat(cell, count), np.repeat(p, count) * q[entries]
