"""What a release reveals together with earlier ones of the same people, whose true files are at hand.

The records of all files are joined by their ids, which no release publishes: so the true pairs are known here, and the
intruder is granted their counts, and sees which released records are one person's (:mod:`.risk.several_waves`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.documents import canonical_text
from maskwell.core.keyed import KeyedRandom
from maskwell.core.percentages import tenths
from maskwell.core.phrases import in_words, shorten
from maskwell.core.verdicts import above
from maskwell.engines.cell_counts import RowCells, count_tables
from maskwell.engines.column_codes import ids_of
from maskwell.engines.row_sources import find_column
from maskwell.engines.rows import Rows
from maskwell.errors import MaskwellError, ParameterError, PublishError
from maskwell.microdata.folder.ledger import KEPT_BY, Ledger, ReleaseRecord, basis_of
from maskwell.microdata.folder.receipt import load_receipt, stages_of
from maskwell.microdata.folder.release_folder import RECEIPT
from maskwell.microdata.folder.release_metadata import INTERNAL, sha256_of, source_hashes
from maskwell.microdata.plans.release_plan import JOINT_TABLE, LINKED_RELEASES, ReleasePlan
from maskwell.microdata.records.column_values import check_ids
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.several_waves import Randomized, Wave, linked_chances
from maskwell.microdata.stages.stage import Stage, unchanged_columns
from maskwell.microdata.true_file import following, joint_columns, prepared, risk_columns
from maskwell.notes import Note

# Names for joining the records of files: nothing is drawn with it, and nothing of it is written
_JOIN = KeyedRandom.of(b"joins the ids of files by 16 bytes", "ids")


@dataclass(frozen=True)
class LinkedRisk:
    """What somebody finds who has all releases and sees which released records are one person's."""

    earlier: tuple[int, ...]  # The earlier releases by their numbers in the ledger
    # People who are in this file and in an earlier one, and how many of them have other true values in one of these
    people: int = 0
    changed: int = 0
    # The largest chance of a correct match: for the intruder of the plan who knows the keys in all files; the same for
    # one look, and for somebody who knows the keys in one file alone; None where not known
    chance: float | None = None
    one_look: float | None = None
    one_file: float | None = None
    all_counts: float | None = None  # A bound for somebody who also compares all released counts
    exact: bool = True  # Whether these are chances; else bounds
    lacking: str = ""  # What is missing for a figure, in words
    accepted: bool = False  # Whether the plan accepts that this intruder is left out of the limit
    beyond: bool = False  # Whether the plan has a limit that is not kept, or not known to be

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "words": self.words}

    @property
    def words(self) -> str:
        """What is added to the headline."""
        numbers = f"release{'s' if len(self.earlier) > 1 else ''} {in_words([*map(str, self.earlier)])}"
        more = Note("linked-releases-are-accepted") if self.accepted else ""
        if self.chance is None:
            return Note("no-figure-for-linked-releases", numbers=numbers, lacking=self.lacking, more=more)
        one = "" if self.one_file is None else Note("linked-by-keys-of-one-file", chance=_percent(self.one_file))
        most = "at most " * (not self.exact)
        return Note(
            "linked-releases-find", numbers=numbers, most=most, chance=_percent(self.chance), one=one, more=more
        )


def _percent(chance: float) -> str:
    return f"{tenths(chance, up=True)}"


class _People(NamedTuple):
    """The records of one file: names of 16 bytes as two numbers, and the cell of each."""

    names: Array
    cells: Array


class _Lacking(Exception):  # noqa: N818 - no fault, but a reason
    """Why a figure is missing, in words."""


def linked_risk(release: AnyRelease, ledger: Ledger, rows: Rows, earlier: Sequence[str | Path]) -> LinkedRisk | None:
    """What a release reveals with the earlier ones of its ledger; ``earlier`` are true files that differ from this."""
    plan = release.plan
    path = None if rows.path is None else str(rows.path)
    before = [one for one in ledger.of_dataset(plan.dataset, rows.path) if one.stages]
    files = _files(before, earlier)
    own = frozenset[str]() if path is None else frozenset(digest for _, digest in source_hashes(path))
    by_row = release.keyed is None or all(own == {*one.source} for one in before)
    if not before or not plan.keys or (plan.id is None and by_row):  # there is nobody to join, or nothing changed
        return None
    numbers, accepted = tuple(one.number for one in before), LINKED_RELEASES in plan.accept
    limited = plan.match is not None and not accepted
    try:
        files = files if path is None else {**files, own: path}
        waves, people = _waves(release, rows, before, files)
    except _Lacking as reason:
        return LinkedRisk(numbers, lacking=str(reason), accepted=accepted, beyond=limited)
    cells, counts = _joined(people)
    found = linked_chances(waves, cells, counts, plan.against)
    both, differs = (cells[:, -1] >= 0) & (cells[:, :-1] >= 0).any(axis=1), np.zeros(len(cells), dtype=bool)
    known = [[tuple(map(str, label)) for label in wave.table.labels()] for wave in waves]
    for i, places in enumerate(cells.tolist()):
        differs[i] = len({known[t][cell] for t, cell in enumerate(places) if cell >= 0}) > 1
    return LinkedRisk(
        numbers,
        people=int(counts[both].sum()),
        changed=int(counts[both & differs].sum()),
        **vars(found),
        accepted=accepted,
        beyond=limited and plan.match is not None and above(found.chance, plan.match, scale=1),
    )


def check_linked(linked: LinkedRisk | None, *, allowed: bool = False) -> None:
    """Raise where the limit of a plan does not hold for all releases together, unless that is allowed."""
    if linked is None or not linked.beyond:
        return
    accept = f'accept = ["{LINKED_RELEASES}"]'
    told: dict[str, Any] = {"accept": accept, "linked": linked.to_dict()}
    if linked.chance is None:
        raise PublishError("linked-releases-have-no-figure", lacking=linked.lacking, **told)
    if not allowed:
        chance = _percent(linked.chance)
        raise PublishError("linked-releases-exceed-the-limit", chance=chance, nearest=linked.chance, **told)


def _files(before: Sequence[ReleaseRecord], earlier: Sequence[str | Path]) -> dict[frozenset[str], str]:
    """True files by their hashes; an error for one that no release was made from."""
    files = {}
    for place in map(str, earlier):
        digests = frozenset(digest for _, digest in source_hashes(place))
        if not any(digests == {*one.source} for one in before):
            raise ParameterError("no-release-of-the-ledger-has-this-file", path_shown=shorten(place, 40), path=place)
        files[digests] = place
    return files


def _waves(
    release: AnyRelease,
    rows: Rows,
    before: Sequence[ReleaseRecord],
    files: Mapping[frozenset[str], str],
) -> tuple[list[Wave], list[_People]]:
    """Each file as a wave with its people, the one that is to be released last."""
    plan = release.plan
    if plan.id is None:
        raise _Lacking("the plan names no ids")
    found, people = list[Wave](), list[_People]()
    receipts = [_of_receipt(record) for record in before]
    asked = dict.fromkeys(
        name for one in (*(then for then, _ in receipts), plan) for name in (*one.keys, *one.randomized)
    )
    for record, (as_then, stages) in zip(before, receipts, strict=True):
        place = files.get(frozenset(record.source))
        if place is None:
            raise _Lacking(f"the true file of release {record.number} is not named")
        try:
            records, as_then = prepared(Rows.of(place), as_then)
            wave, its = _wave(records, as_then, stages, plan.id, following(records, as_then), [*asked])
        except MaskwellError as error:
            raise _Lacking(f"the records of release {record.number} cannot be joined") from error
        found.append(wave)
        people.append(its)
    drawn = [
        Randomized(stage, _kept(release.keyed, plan.dataset, basis_of(release, stage)[KEPT_BY], release.keeps(stage)))
        for stage in release.stages
    ]
    wave, its = _wave(rows, plan, drawn, plan.id, release.file.seen, [*asked])
    return [*found, wave], [*people, its]


def _kept(commitment: str | None, dataset: str | None, by: Any, kept: bool) -> str | None:  # noqa: FBT001
    return canonical_text([commitment, dataset, by]) if kept else None


def _of_receipt(record: ReleaseRecord) -> tuple[ReleasePlan, list[Randomized]]:
    """The plan of an earlier release and its randomizations, from its internal receipt where it is unchanged."""
    path = Path(record.folder) / INTERNAL / RECEIPT
    try:
        if not path.is_file() or sha256_of(path) != record.receipt:
            raise _Lacking(f"the receipt of release {record.number} is gone or changed")
        receipt = load_receipt(str(path))
        plan, stages = ReleasePlan.from_dict(receipt.plan), stages_of(receipt)
    except (OSError, ValueError, MaskwellError) as error:
        raise _Lacking(f"the receipt of release {record.number} cannot be read") from error
    if len(stages) != len(record.stages):
        raise _Lacking(f"the receipt of release {record.number} has other matrices")
    pairs: Iterator[tuple[Stage, Any]] = zip(stages, record.stages, strict=True)
    return plan, [
        Randomized(stage, _kept(record.commitment, record.dataset, one.basis.get(KEPT_BY), one.draws != "fresh"))
        for stage, one in pairs
    ]


def _wave(
    rows: Rows, plan: ReleasePlan, drawn: Sequence[Randomized], identity: str, seen: Sequence[str], asked: Sequence[str]
) -> tuple[Wave, _People]:
    """A file with its plan as a wave, and its people by a column of ids, which is the same for all files.

    ``seen`` are columns that follow from a key, and show which records moved; ``asked`` are keys and randomized columns
    of any of the files, which are seen as they are where another file has them unchanged.
    """
    check_ids(rows, identity)
    stages, declared = [one.stage for one in drawn], plan.missing != "category"
    columns = risk_columns(plan) if JOINT_TABLE in plan.accept else joint_columns(plan)
    shown = {*rows.schema.names} - {*plan.unpublished}
    follow = [name for name in seen if name in shown]
    clear = [name for name in asked if name in shown and name not in plan.randomized]
    table = count_tables(rows, [tuple(dict.fromkeys([*columns, *follow, *clear]))], declared=declared)[0]
    within = [name for name in unchanged_columns(stages, plan.keys) if name not in plan.unpublished]
    visible = [name for name in table.columns if name not in plan.unpublished]
    known = [*dict.fromkeys([*plan.keys, *(name for name in (*within, *follow) if name in table.columns)])]
    wave = Wave(table, drawn, known, visible)
    names, cells = list[Array](), list[Array]()
    with rows.open_stored([*table.columns]) as source:
        finder = RowCells(source, str(rows), table, declared=declared)
        place = find_column(source.schema, identity, str(rows))
        for batch in source.batches():
            ids = _JOIN.names(ids_of(batch.column(place), identity))
            names.append(np.ascontiguousarray(ids).view("<u8").reshape(-1, 2))
            cells.append(finder.find(batch).astype(np.int64))
    return wave, _People(np.concatenate([np.zeros((0, 2), "<u8"), *names]), np.concatenate([np.zeros(0, int), *cells]))


def _joined(people: Sequence[_People]) -> tuple[Array, Array]:
    """The cells of people in all files, shape (kinds of people, files), -1 where they are not; and their numbers."""
    names = np.concatenate([one.names for one in people])
    order = np.lexsort((names[:, 1], names[:, 0]))
    new = np.ones(len(names), dtype=bool)
    new[1:] = (names[order][1:] != names[order][:-1]).any(axis=1)
    person = np.empty(len(names), dtype=np.int64)
    person[order] = np.cumsum(new) - 1
    cells = np.full((int(new.sum()), len(people)), -1, dtype=np.int64)
    start = 0
    for t, one in enumerate(people):
        cells[person[start : start + len(one.cells)], t] = one.cells
        start += len(one.cells)
    kinds, counts = np.unique(cells, axis=0, return_counts=True)
    return kinds, counts
