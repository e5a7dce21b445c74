"""What several releases of one data set reveal together, and whether bounds of a plan still hold then.

Draws kept by one key under one matrix reveal as much as one release. Any others are independent: the two together are
one release with the matrix ``p_zj p'_z'j``. Source: derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.documents import canonical_text
from maskwell.core.keyed import KeyedRandom
from maskwell.core.labels import texts
from maskwell.core.percentages import tenths
from maskwell.core.phrases import in_words, option, shorten
from maskwell.core.verdicts import above
from maskwell.designs.column_arrays import Transitions
from maskwell.errors import MaskwellError, ParameterError, PlanError, PublishError
from maskwell.microdata.folder import ledger as ledgers
from maskwell.microdata.folder.ledger import Ledger, ReleaseRecord, StageRecord
from maskwell.microdata.folder.receipt import Receipt, load_receipt, stages_of
from maskwell.microdata.folder.release_folder import RECEIPT
from maskwell.microdata.folder.release_metadata import INTERNAL, plan_hash, sha256_of, source_hashes
from maskwell.microdata.kept_bounds import asked_of
from maskwell.microdata.plans.protection import UNIT, Protection
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.identity_disclosure import risks_of
from maskwell.microdata.stages.stage import Stage, State

# Why a draw is new under the same matrix, by what changed.
OTHER_BASIS = {
    ledgers.RECODES: "columns are recoded in another way",
    ledgers.RULES: "rules are not as they were",
    ledgers.WITHIN: "the columns that it is randomized within are drawn in another way",
    ledgers.KEPT_BY: "draws are kept by another column",
}
SAME_MATRIX = "{names}: the matrix is that of {title}, and records with unchanged true values keep their released ones"

MOST_ENTRIES = 4_000_000  # most pairs of reports for which joint disclosure is computed


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
    """What earlier releases of the same data set reveal together with a release that is planned."""
    earlier = ledger.of_dataset(release.plan.dataset, path)
    return tuple(one for stage in release.stages for one in _of_stage(release, stage, earlier, path))


def same_matrices(release: AnyRelease, ledger: Ledger, path: str | None = None) -> tuple[str, ...]:
    """For each randomization whose draws repeat those of earlier releases, the last of these, in words."""
    earlier = ledger.of_dataset(release.plan.dataset, path)
    stages = [stage for stage in release.stages if stage.kept_as is None]  # a note of the others says what is kept
    pairs = [(stage, record, one) for stage in stages for record in earlier for one in record.stages]
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
    distinct: dict[tuple[str, ...], tuple[ReleaseRecord, StageRecord]] = {}
    for record, one in new:  # releases that repeat one kept draw have one name for it
        own = (str(record.number), *one.variables)
        kept = (str(record.commitment), one.matrix, canonical_text(one.basis))
        distinct[kept if one.draws == "kept" else own] = record, one
    parity = ledgers.parity_of(stage)
    match = _match([stage.transitions], stage)
    # Where the true states were others, a state may be a part of a state of another release. And where one key keeps
    # draws under one matrix, a report that differs proves that the state does: then no ratio of chances is a bound.
    basis = ledgers.basis_of(release, stage)
    if all(
        one.basis.get(name) == basis[name] for _, one in distinct.values() for name in (ledgers.RECODES, ledgers.RULES)
    ):
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


def _is_same_draw(release: AnyRelease, stage: Stage, record: ReleaseRecord, one: StageRecord) -> bool:
    """Whether a draw is kept by one key, under one matrix, of the same true states (those drawn within may be new)."""
    kept = release.how_drawn(stage) == one.draws != "fresh"
    basis = ledgers.basis_of(release, stage)
    kept = kept and one.basis == basis and all(draws == "kept" for _, draws in basis[ledgers.WITHIN])
    same = one.matrix == stage.fingerprint or _is_carried_on(release, stage, one)
    return kept and record.commitment == release.keyed and same


def _is_carried_on(release: AnyRelease, stage: Stage, one: StageRecord) -> bool:
    """Whether draws of an earlier release go on but for those that the limit forbids, and no bound asks for these."""
    protection = release.plan.protection_of(stage)
    known = release.linked is not None and not asked_of(protection) and not protection.caps
    return stage.kept_as is not None and one.matrix in stage.kept_as and known


def _is_beyond(release: AnyRelease, protection: Protection, parity: float, match: float | None) -> bool:
    asked = {**asked_of(protection)}
    limit = release.plan.match_of(protection)
    if limit is not None:
        asked["match"] = limit
    if release.linked is not None and release.linked.chance is not None:  # of the pairs that are there
        match = release.linked.chance
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
        return "it was drawn with another secret key, or without one"
    if one.variables != stage.variables:
        same = {*one.variables} == {*stage.variables}
        return "variables are in another order" if same else "other columns are randomized together"
    basis = ledgers.basis_of(release, stage)
    other = [words for name, words in OTHER_BASIS.items() if one.basis.get(name) != basis[name]]
    if other and "fresh" not in (one.draws, release.how_drawn(stage)):
        return other[0]
    if one.matrix == stage.fingerprint:
        return "draws are new in each release"
    now = ledgers.asked_in(release.plan, protection)
    changed = [key for key in {**one.asked, **now} if one.asked.get(key) != now.get(key)]
    if changed:
        return f"{changed[0]} changed, and so did the matrix"
    if one.within != stage.within:
        return "it is randomized within other columns"
    return ""


def _why_another_matrix(release: AnyRelease, stage: Stage, record: ReleaseRecord, path: str | None) -> str:
    """The cause where neither key nor columns nor bounds changed: file, plan, or the program that computed it."""
    if path is None or {*record.source} != {digest for _, digest in source_hashes(path)}:
        return "the counts or the labels of the file changed, and so did the matrix"
    if record.plan != plan_hash(release.plan):
        return "another entry of the plan changed, and so did the matrix"
    if stage.invariance == "external":
        return "the matrix was made from the counts of another file"
    return "file and plan are unchanged, but another version of maskwell or of a library computed another matrix"


def _words(stage: Stage, record: ReleaseRecord, reason: str, draws: int, match: float, both: float | None) -> str:
    names, known = shorten(", ".join(stage.variables), 40), shorten(in_words([*stage.columns]), 60)
    nth = {2: "second", 3: "third"}.get(draws, f"{draws}th")
    told = (
        "what all draws reveal together is not known: recodes differ, the internal receipt of that release is"
        " missing, or there are too many combinations"
        if both is None
        else f"if all these files hold the same people, an intruder who has them, knows only {known} of a person, and"
        " knows which records are one person's, identifies the right one with a probability of up to"
        f" {tenths(both, up=True)} instead of {tenths(match, up=True)}"
    )
    return f"{names}: records that are in {record.title} too are drawn anew, for the {nth} time ({reason}); {told}"


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


def _match_together(stage: Stage, others: Sequence[tuple[ReleaseRecord, StageRecord]]) -> float | None:
    """The largest chance of a match from this release and the others; None where a matrix is not at hand."""
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
    named = dict(zip(columns, state, strict=True))
    return tuple(None if named[name] is None else texts(named[name])[-1] for name in sorted(only or columns))


def _match(parts: Sequence[Transitions], stage: Stage) -> float:
    """The largest match probability over all released combinations, for an intruder who knows the true state."""
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


def earlier_stages(matrices: Receipt | str, plan: ReleasePlan, key: KeyedRandom | None) -> list[Stage]:
    """The stages of an earlier release; an error unless the plan protects the same and the key is the same."""
    receipt = load_receipt(matrices) if isinstance(matrices, str) else matrices
    stages = stages_of(receipt)
    if key is None:
        raise ParameterError("earlier-matrices-without-a-key-no")
    if receipt.commitment != key.commitment():
        without = receipt.commitment is None
        raise ParameterError("the-earlier-release-was-drawn-without" if without else "the-earlier-release-was-drawn")
    _check_same_protections(receipt, plan)
    return stages


def _check_same_protections(receipt: Receipt, plan: ReleasePlan) -> None:
    """What is published, and whether draws are kept, may differ; what the matrices are may not."""
    free = {"publish", "clearance", "draws"}
    then, now = receipt.plan.get("protect", []), plan.to_dict()["protect"]
    if len(then) != len(now):
        raise PlanError("the-plan-has-protect", now_count=len(now), then_count=len(then))
    for number, (before, after) in enumerate(zip(then, now, strict=True), 1):
        differ = [key for key in {**before, **after} if before.get(key) != after.get(key) and key not in free]
        if differ:
            raise PlanError("protect-number-is-not", number=number, differ=differ[0])
    if receipt.plan.get("recode", {}) != plan.to_dict().get("recode", {}):
        raise PlanError("recode-is-not")
    if receipt.plan.get("suppress") != plan.to_dict().get("suppress"):
        raise PlanError("suppress-is-not")
    told = plan.to_dict()["release"]
    for key, default in (("missing", "unchanged"), ("weights", None), ("keep", [])):
        if receipt.plan.get("release", {}).get(key, default) != told.get(key, default):
            raise PlanError("release-is-not", key=key)
    if any(protection.how.exchanges for protection in plan.protections):
        raise PlanError("the-exchanges-of-a-swap")


def check_key(plan: ReleasePlan, key: KeyedRandom | None) -> None:
    """Raise where draws cannot be kept by key as the plan is."""
    kept_apart = any(one.draws == "kept" and one.each != UNIT for one in plan.protections)
    if key is not None and plan.id is None and kept_apart:
        raise PlanError("draws-by-key-need-a-column")
    if key is not None and any(one.how.exchanges and one.draws == "kept" for one in plan.protections):
        raise ParameterError("a-swap-draws-records-together-so")
    if key is not None and all(one.draws == "fresh" for one in plan.protections):
        raise ParameterError("a-key-is-of-no-use")
