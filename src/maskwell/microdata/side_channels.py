"""Side channels: columns that are published unchanged and give records or protected values away."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.cells import CellTable
from maskwell.core.percentages import tenths
from maskwell.core.phrases import HINT, MESSAGE, Printed, listed, shorten
from maskwell.core.verdicts import above, at_least, at_most, below, ceil_of
from maskwell.errors import PlanError, TooLargeError
from maskwell.microdata.plans.protection import UNIT
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.dependence import DependenceCounter, UnitFacts
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.records.value_counts import ColumnFacts, Restored, gain_of
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.stages.stage import Stage, needed_columns

FEWEST_RECORDS = 20  # in smaller files values differ by chance
MOST = Fraction(1, 2)  # a column identifies records where more than this share of them is in small groups
SMALL_GROUP = 5
MANY_VALUES = 200  # with so many values, groups of fewer than five records are small: households, for example
NOTED_GROUPS = 0.05
NOTED_GAIN = 0.5
NOTED_SURE = 0.1
"""From here on a warning names a column: records in small groups, wrong guesses that the column corrects, and records
that it is certain of."""

# Wrong guesses that a column may correct where a match is bounded, and where nothing is
MATCH_GAIN, MOST_GAIN = Fraction(3, 4), Fraction(9, 10)
CLEARLY = 0.1  # by so much two columns correct more guesses than one of them

# A column reveals which records form a unit where at least this share of them agrees with the rest of the unit
ALIKE = 0.99

# Records of a household: how many on average at least, and how many at most where nine in ten records live
UNIT_SIZE, MOST_MEMBERS = 1.2, 15
FOLLOWS = 0.9
ORIGINAL = "original values"  # a column follows from columns as they were before a recode
# How one column alone restores another, in few words
_ALONE = {"value": "", "size": " by counting", "place": " by place", ORIGINAL: ""}

# Cells of keys and side channels up to which the risk is computed; beyond, it is bounded by the smallest cell
MOST_CELLS = 20_000
SHOWN = 60
WARNINGS = (
    ("identifies", "{found}; coarsen {names}, or drop {them}"),
    (
        "restores",
        "unchanged columns give protected ones away: {found}; protect them together, coarsen {names}, or drop {them}",
    ),
    (
        "shows changes",
        "unchanged columns show which values were changed: {found}; name {names} in linked, or drop {them}",
    ),
    (
        ORIGINAL,
        "unchanged columns show which values were changed: {found}; coarsen {names}, or drop {them}",
    ),
    ("shows units", "{found}; coarsen {names}, or drop {them}"),
)
"""Notes on columns that are published nevertheless, by the start of the kind, or by ``ORIGINAL``."""


@dataclass(frozen=True)
class SideChannel:
    """One unchanged column, and what it gives away."""

    # The kind is "identifies", "copies", "restores", "restores rare" (one rare value of a protected column), "restores
    # some" (for some records), "shows changes" or "shows units" (which records belong together)
    column: str
    kind: str
    # The column that is copied or restored, whose changes show, or that names the units; None for "identifies"
    of: str | None
    # Share of the records that are identified or restored, and restored by the best guess without the column
    share: float
    without: float = 0.0
    # What restores: "value", "size", "place", or a second column; or "original values", before columns were recoded
    by: str = "value"
    size: int = 2  # Records in groups smaller than this are identified
    alone: bool = False  # Whether some records are alone with their value
    together: tuple[str, ...] = ()  # All columns that it follows from, where these are several
    told: tuple[str, ...] = ()  # Of units that show: what follows for protected columns, in words
    # Whether it is beyond the limit, and whether the plan accepts it
    refused: bool = False
    accepted: bool = False

    @property
    def words(self) -> str:
        """What it gives away, with its figure."""
        name, share = shorten(self.column, 30), tenths(self.share, up=True)
        beside = "" if self.by == "value" else f" and {shorten(self.by, 30)}"
        how = {
            "size": f"recomputed from {name} by counting its records",
            "place": f"recomputed from the place of a record among those with the same {name}",
        }.get(self.by, f"inferred from {name}{beside}")
        shows = f"{name} shows which records belong together"
        if self.column != self.of:
            others = f" with {self.by}" if self.by != "value" else ""
            shows = f"{name}{others} shows for {share} of records which others have the same {self.of}"
        known = [shorten(each, 30) for each in self.together or (self.of or "",)]
        before = f"the {ORIGINAL} of " if self.by == ORIGINAL else ""
        alone, rare = "have a unique value", f"right for {share} of its records"
        told = {
            "identifies": alone if self.size <= 2 else f"share their value with fewer than {self.size - 1:,} others",
            "copies": f"{name} has one value for each value of {self.of}, which is not published",
            "restores rare": f"a rare value of {self.of} can be inferred from {name} ({rare})",
            "restores some": f"{self.of} is certain from {name} for {share} of records",
            "shows changes": f"{name} follows from {before}{listed(known, len(known), SHOWN)} for {share} of records",
            "shows units": "; ".join([shows, *self.told]),
        }
        told["identifies"] = f"{name} identifies records: {share} {told['identifies']}"
        right = f"right for {share} of records, {tenths(self.without, up=True)} without it"
        return told.get(self.kind, f"{self.of} can be {how} ({right})")

    @property
    def short(self) -> str:
        """The same in a few words, for an error that names several columns."""
        share, other = tenths(self.share, up=True), _ALONE.get(self.by, f" with {shorten(self.by, 20)}")
        told = {
            "identifies": f"{share} {'unique' if self.size <= 2 else 'in small groups'}",
            "copies": f"copy of {self.of}",
            "restores rare": f"rare {self.of} {share}",
        }
        return told.get(self.kind, f"{self.of} {share}{other}")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        restores = self.kind == "restores"
        return {
            "column": self.column,
            "kind": self.kind,
            "of": self.of,
            "share": self.share,
            **({"without": self.without, "gain": gain_of(self.share, self.without), "by": self.by} if restores else {}),
            "accepted": self.accepted,
            "words": self.words,
        }


@dataclass(frozen=True)
class SideChannelRisk:
    """The risk of an intruder who knows the keys and unchanged columns that give records or keys away."""

    # What the intruder knows: the keys of the plan, and these columns too
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    chance: float  # The largest chance of a correct match
    exact: bool  # Whether it is computed, or bounded by the size of the smallest cell

    @property
    def words(self) -> str:
        """One sentence."""
        known = listed([shorten(name, 30) for name in self.columns], len(self.columns), SHOWN)
        keys = " as well as the key variables" if self.keys else ""
        most = tenths(self.chance, up=True)
        return f"an intruder who knows {known}{keys} identifies a record with a probability of up to {most}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "keys": list(self.keys),
            "columns": list(self.columns),
            "max_risk": self.chance,
            "exact": self.exact,
            "words": self.words,
        }


def dependence_counter(plan: ReleasePlan, names: Sequence[str]) -> DependenceCounter:
    """What follows the unchanged columns of a file through its rows, for a plan."""
    hidden = {*plan.randomized, *plan.unpublished}
    columns = [name for name in names if name not in hidden]
    twice = next((name for name, times in Counter(columns).items() if times > 1), None)
    if twice is not None:
        raise PlanError("the-file-has-two-columns-named", twice=shorten(twice), column=twice)
    return DependenceCounter(
        columns,
        [*dict.fromkeys(plan.randomized)],
        together=[key for key in plan.keys if key in columns],
        ids=sorted(plan.unpublished, key=lambda name: name != plan.id),
        missing=plan.missing == "category",
        ordered=plan.order == "kept",
        joint=changed_together(plan),
        unit=plan.unit,
    )


def changed_together(plan: ReleasePlan) -> list[tuple[str, ...]]:
    """The variables of each protection."""
    return [one.variables for one in plan.protections]


def side_channels(plan: ReleasePlan, facts: Sequence[ColumnFacts]) -> tuple[SideChannel, ...]:
    """What the unchanged columns of a file give away."""
    judge = _Judge(plan, facts)
    return tuple(channel for one in facts for channel in judge.column(one))


def linking_columns(plan: ReleasePlan, facts: Sequence[ColumnFacts], units: UnitFacts) -> tuple[str, ...]:
    """Published columns that all records of a unit have in common, those with the most values first."""
    drawn = [name for one in plan.protections if one.each == UNIT for name in one.moved]
    common = [one for one in facts if at_least(units.alike.get(one.column, 0.0), ALIKE) and one.values > 1]
    names = [one.column for one in sorted(common, key=lambda one: -one.values) if one.column != plan.unit]
    return (*names, *drawn) if names else ()


def unit_channel(plan: ReleasePlan, units: UnitFacts, members: UnitMembers) -> SideChannel | None:
    """What shows which records belong to one unit, and what follows from it; None where hardly anything does."""
    nearly = "may show, since nearly every unit has one of its values exactly once"
    once = tuple(f"then a changed {name} {nearly}" for name in units.once)
    if plan.unit is not None and plan.unit not in plan.unpublished:  # what it restores is told as of any column
        return SideChannel(plan.unit, "shows units", plan.unit, 1.0, told=once, accepted=True)
    told = []  # what is learned of protected columns, and whether that is too much
    for one in _Judge(plan, [units.facts]).restored(units.facts):
        right = f"right for {tenths(one.share, up=True)} of records, {tenths(one.without, up=True)} without"
        how = {"size": "recomputed by counting", "place": "inferred from the place in the unit"}.get(
            one.by, "inferred from the others"
        )
        told.append((f"then {one.of} can be {how} ({right})", one.refused))
    share = members.share_shown(_least_size(plan))
    if below(share, NOTED_GROUPS) or not members.seen:
        return None
    first, *others = members.seen
    return SideChannel(
        first,
        "shows units",
        plan.unit,
        share,
        by=listed([shorten(name, 30) for name in others], len(others), SHOWN) if others else "value",
        told=(*(words for words, _ in told), *once),
        refused=above(share, MOST) and any(beyond for _, beyond in told),
        accepted=first in plan.accept,
    )


def unit_guess(facts: Sequence[ColumnFacts]) -> tuple[str, str] | None:
    """The column whose values look like households, shared by a few records each, and why in words."""
    likely = []
    for one in facts:  # of values that every record has, and nearly all share with a few others, if with any
        is_complete = one.records >= FEWEST_RECORDS and one.rows == one.records
        is_small = at_least(one.share_below(MOST_MEMBERS + 1), FOLLOWS)
        ways = [each for each in one.restored if each.by in ("value", "size") and at_least(each.gain, NOTED_GAIN)]
        same = [*dict.fromkeys(each.column for each in ways if at_least(each.share, ALIKE))]
        if same and is_complete and is_small and at_least(one.rows, UNIT_SIZE * one.values):
            likely.append((one, same))
    if not likely:
        return None
    best, same = max(likely, key=lambda one: len(one[1]))
    told = listed([shorten(name, 30) for name in same], len(same), SHOWN)
    each = f"{Printed(best.rows / best.values):.1f}"
    return best.column, f"{shorten(best.column, 30)} has {each} records for each value on average, alike in {told}"


def identifies(plan: ReleasePlan, facts: ColumnFacts) -> int:
    """The size below which groups are small, where most records are in such groups; else 0."""
    if facts.rows < FEWEST_RECORDS:
        return 0
    sizes = [_least_size(plan), *([SMALL_GROUP] if facts.values >= MANY_VALUES else [])]
    return next((size for size in sizes if above(facts.share_below(size), MOST)), 0)


def _least_size(plan: ReleasePlan) -> int:
    return 2 if plan.match is None else max(2, ceil_of(float(1 / plan.match)))


class _Judge:
    """Compares what was counted with what a plan allows."""

    def __init__(self, plan: ReleasePlan, facts: Sequence[ColumnFacts]) -> None:
        self._plan = plan
        self._alone = {(one.column, r.column): r for one in facts for r in one.restored if r.by == "value"}

    def column(self, facts: ColumnFacts) -> Iterator[SideChannel]:
        if facts.records < FEWEST_RECORDS:
            return
        if facts.rows >= FEWEST_RECORDS:
            size = 0 if facts.column in self._plan.keys else identifies(self._plan, facts)
            threshold = size or _least_size(self._plan)
            share = facts.share_below(threshold)
            if facts.column not in self._plan.keys and (size or at_least(share, NOTED_GROUPS)):
                yield self._made(facts, "identifies", None, share, size=threshold, refused=size > 0)
            if not size:
                yield from self._copies(facts)
        yield from self._restores(facts)
        told = {one.column: one.gain for one in facts.restored if one.by == "value"}
        for one in facts.shown:
            within = facts.column in self._within(one.column)
            if at_least(one.gain, FOLLOWS) and below(told.get(one.column, 0.0), FOLLOWS) and not within:
                yield self._made(facts, "shows changes", one.column, one.share)
        singly = any(at_least(one.gain, FOLLOWS) for one in facts.shown)
        for group, one in facts.shown_together:
            if at_least(one.gain, FOLLOWS) and not singly and facts.column not in self._within(group[0]):
                of = next((name for name in group if name in self._plan.keys), group[0])
                yield self._made(facts, "shows changes", of, one.share, together=group)
        if not singly and not any(at_least(one.gain, FOLLOWS) for _, one in facts.shown_together):
            yield from self._follows_originals(facts, told)

    def _follows_originals(self, facts: ColumnFacts, told: Mapping[str, float]) -> Iterator[SideChannel]:
        """The fewest original columns that a column follows from, unless it restores one of them."""
        for group, one in sorted(facts.shown_before, key=lambda each: len(each[0])):
            of = next((name for name in group if name in self._plan.keys), group[0])
            restored = any(at_least(told.get(name, 0.0), FOLLOWS) for name in group)
            if at_least(one.gain, FOLLOWS) and not restored and facts.column not in self._within(of):
                yield self._made(facts, "shows changes", of, one.share, together=group, by=ORIGINAL)
                return

    def _made(self, facts: ColumnFacts, kind: str, of: str | None, share: float, **more: Any) -> SideChannel:
        accepted = facts.column in self._plan.accept
        return SideChannel(facts.column, kind, of, share, alone=facts.share_below(2) > 0, accepted=accepted, **more)

    def _copies(self, facts: ColumnFacts) -> Iterator[SideChannel]:
        for name in facts.stands_for:
            if name in (self._plan.id, self._plan.unit) or above(facts.share_below(SMALL_GROUP), MOST):
                yield self._made(facts, "copies", name, 1.0, refused=True)
                return

    def restored(self, facts: ColumnFacts) -> list[SideChannel]:
        """Protected columns that one column restores for most records."""
        return [one for one in self._restores(facts) if one.kind == "restores"]

    def _restores(self, facts: ColumnFacts) -> Iterator[SideChannel]:
        for target in dict.fromkeys(one.column for one in facts.restored):
            usual = "size" if facts.share_below(2) > 0 else "value"  # the size also reveals records that are unique
            best = max(
                self._ways(facts, target, "gain"),
                key=lambda one: (round(one.gain, 2), one.by == usual, one.by == "value"),
                default=Restored(target, 0.0, 1.0),
            )
            rare = sure = 0.0  # how well a rare value is told, and for how many records the value is certain
            if facts.column not in self._plan.keys:
                rare = max((one.rare for one in self._ways(facts, target, "rare")), default=0.0)
                sure = max((one.sure for one in self._ways(facts, target, "sure")), default=0.0)
            told = at_least(best.gain, NOTED_GAIN)
            refused = told and self._is_refused(facts.column, best)
            if told and (refused or at_most(rare, MOST_GAIN)):
                more = {"without": best.without, "by": best.by}
                yield self._made(facts, "restores", target, best.share, refused=refused, **more)
            elif above(rare, MATCH_GAIN):
                yield self._made(facts, "restores rare", target, rare, refused=above(rare, MOST_GAIN))
            elif at_least(sure, NOTED_SURE):
                yield self._made(facts, "restores some", target, sure)

    def _ways(self, facts: ColumnFacts, target: str, figure: str) -> list[Restored]:
        """How a column restores another one; two columns only where they reveal clearly more than each of them."""
        within, ways = {*self._within(target)}, [one for one in facts.restored if one.column == target]
        alone = [] if facts.column in within else [one for one in ways if one.by in _ALONE]
        by_unit = any(one.each == UNIT for one in self._plan.protections if target in one.moved)
        if facts.column == self._plan.unit and by_unit:  # nobody differs from the others
            alone = [one for one in alone if one.by != "value"]
        pairs = [one for one in ways if one.by not in _ALONE and not {facts.column, one.by} <= within]
        for pair in pairs:
            each = [self._alone.get((name, target)) for name in (facts.column, pair.by)]
            known = max(0.0 if one is None else getattr(one, figure) for one in each)
            if at_least(getattr(pair, figure), known + CLEARLY):
                alone.append(pair)
        return alone

    def _within(self, target: str) -> tuple[str, ...]:
        return next((one.within for one in self._plan.protections if target in one.moved), ())

    def _is_refused(self, column: str, best: Restored) -> bool:
        """Whether a column reveals more of another than the bounds on that one allow."""
        protection = next(one for one in self._plan.protections if best.column in one.moved)
        bounds = protection.bounds
        odds = None if bounds.odds is None else bounds.odds / (1 + bounds.odds)
        beliefs = [one for one in (bounds.posterior, bounds.posterior_own, bounds.guess, odds) if one]
        if beliefs and above(best.share, min(beliefs)):
            return True
        if column in self._plan.keys and best.column in self._plan.keys:
            return False  # the risk of a match counts with it
        asked = self._plan.match_of(protection) or protection.how.own_match
        return above(best.gain, MOST_GAIN if asked is None else max(MATCH_GAIN, min(asked, MOST_GAIN)))


def following_columns(plan: ReleasePlan, found: Sequence[SideChannel]) -> tuple[str, ...]:
    """Unchanged columns that follow from a randomized key: they show which records moved, and count in the risk."""
    keys = {*plan.keys} & {*plan.randomized}
    showing = (one for one in found if one.kind == "shows changes" and one.of in keys and not one.accepted)
    return tuple(dict.fromkeys(one.column for one in showing if one.column not in plan.keys))


def check_side_channels(found: Sequence[SideChannel]) -> None:
    """Raise for columns beyond the limits that the plan does not accept."""
    refused = [one for one in found if one.refused and not one.accepted]
    if not refused:
        return
    names = [*dict.fromkeys(one.column for one in refused)]
    start = "unchanged columns reveal too much: "
    reasons = {name: "; ".join(one.short for one in refused if one.column == name) for name in names}
    items = [f"{shorten(name, 20)} ({why})" for name, why in reasons.items()]
    message = start + listed(items, len(items), MESSAGE - len(start))
    if len(refused) == 1 and len(refused[0].words) <= MESSAGE:
        message = refused[0].words
    raise PlanError(message, hint=_hint(names), columns=names, found=[one.to_dict() for one in refused])


def _hint(names: Sequence[str]) -> str:
    written = json.dumps([*names], ensure_ascii=False)
    which = "it" if len(names) == 1 else "they"
    whole = f"add drop = {written} to [release], or accept = {written} if {which} may be published"
    if len(whole) <= HINT:
        return whole
    start = "name them in drop in the table [release], or in accept: "
    return start + listed([json.dumps(name, ensure_ascii=False) for name in names], len(names), HINT - len(start))


def side_channel_warnings(found: Sequence[SideChannel], risk: SideChannelRisk | None) -> Iterator[str]:
    """What is published all the same, in words, with the risk that it brings."""
    accepted = [*dict.fromkeys(one.words for one in found if one.accepted)]
    if accepted:
        yield f"accepted by the plan: {'; '.join(accepted)}"
    left = [one for one in found if not one.accepted]
    for kind, words in WARNINGS:
        if some := [one for one in left if (ORIGINAL if one.by == ORIGINAL else one.kind).startswith(kind)]:
            columns = [*dict.fromkeys(shorten(one.column, 30) for one in some)]
            shown, names = "; ".join(one.words for one in some), listed(columns, len(columns), SHOWN)
            yield words.format(
                found=shown, names=names, them="it" if len({one.column for one in some}) == 1 else "them"
            )
    if risk is not None:
        yield risk.words


def side_channel_risk(
    plan: ReleasePlan,
    found: Sequence[SideChannel],
    stages: Sequence[Stage],
    count: Callable[[Sequence[str]], CellTable],
) -> SideChannelRisk | None:
    """The risk where the columns found are known, too: keys unless alone; ``count`` counts the file once more."""
    telling = [one for one in found if one.kind != "shows units" and (one.kind != "shows changes" or one.accepted)]
    named = dict.fromkeys(name for one in telling for name in (one.column, *({one.by} - {*_ALONE})))
    columns = tuple(name for name in named if name not in plan.keys)
    if not columns:
        return None
    if any(one.alone for one in telling if one.column in columns):
        return SideChannelRisk(plan.keys, columns, 1.0, exact=True)
    known = (*plan.keys, *columns)
    try:
        table = count(needed_columns(stages, known))
    except TooLargeError:
        return SideChannelRisk(plan.keys, columns, 1.0, exact=False)
    if len(table) > MOST_CELLS:
        return SideChannelRisk(plan.keys, columns, 1 / float(table.counts.min()), exact=False)
    after = assess_risk(table, known, stages).after
    assert after is not None
    return SideChannelRisk(plan.keys, columns, max(after.max_risk_strict, after.max_risk_any_release), exact=True)
