"""Risk against utility: what other plans would give and cost, under other bounds or without recodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.exact import to_decimal
from maskwell.core.verdicts import at_most, below
from maskwell.engines.rows import Rows
from maskwell.errors import MaskwellError, PlanError
from maskwell.microdata.assessment import assess_counts
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.true_file import TrueFile, closure, column_fits, count_records, prepared, tables_of, tables_with


@dataclass(frozen=True, kw_only=True)
class RiskUtilityPoint:
    """A release as it would be under one bound.

    >>> strict = RiskUtilityPoint(label="match 0.4", risk=0.4, changed=0.05, matches=80.0, above=0)
    >>> strict.beats(RiskUtilityPoint(label="method 1", risk=0.6, changed=0.09, matches=90.0, above=3))
    True
    """

    label: str  # What was asked, as people would say it: "match 0.5"
    risk: float  # The greatest chance of a correct match that any record keeps; NaN where there is no such release
    changed: float  # Share of the records that are expected to change in at least one column
    matches: float  # Expected correct matches, if every record of the file is looked for
    above: int  # Records whose risk is above the bound of the plan
    # Factor by which the variances of shares grow, the largest of all categories; None where it is not known
    inflation: float | None = None
    chosen: bool = False  # Whether it is what the plan asks for
    note: str = ""  # Why there is no such release, or what else must be said

    @property
    def is_possible(self) -> bool:
        """Whether there is such a release; else the note says why not."""
        return math.isfinite(self.risk) and math.isfinite(self.changed)

    def beats(self, other: RiskUtilityPoint) -> bool:
        """Whether it has no more risk (greatest, above the bound, expected) and changes no more, and less of one."""
        check_kind(RiskUtilityPoint, other=other)
        costs = ("risk", "changed", "matches", "above")
        no_worse = all(at_most(getattr(self, name), getattr(other, name)) for name in costs)
        return no_worse and (below(self.risk, other.risk) or below(self.changed, other.changed))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def beaten_by(points: Sequence[RiskUtilityPoint]) -> list[int | None]:
    """For each point the place of one that beats it, with the least risk of those; None where nothing does."""
    return [
        min(
            (i for i, other in enumerate(points) if other.beats(point)),
            key=lambda i: (points[i].risk, points[i].changed),
            default=None,
        )
        for point in points
    ]


MATCHES = tuple(map(Fraction, ("3/4", "3/5", "1/2", "2/5", "7/20", "1/5", "1/10")))
STRENGTHS = tuple(map(Fraction, ("1/4", "1/2", "3/4", "1")))


def risk_utility_map(
    release: AnyRelease, progress: Callable[[int, float | None], None] | None = None
) -> list[RiskUtilityPoint]:
    """What other bounds on a correct match, or strengths of the randomization, would give and cost."""
    points = [point_of(release, label_of(release.plan), chosen=True)]
    variants = [*_variants(release.plan)]
    for done, (label, plan) in enumerate(variants, 1):
        if label not in {point.label for point in points}:
            points.append(_tried(release, label, plan))
        if progress is not None:
            progress(release.rows, done / len(variants))
    return sorted(points, key=lambda point: (math.isnan(point.risk), -point.risk))


@dataclass(frozen=True, kw_only=True)
class RecodeEffect:
    """A file with some columns recoded, and its release under the bound of the plan.

    Attributes
    ----------
    left_out
        Columns that are not recoded here although the plan recodes them; none in the plan itself.
    categories
        Of the columns left out: how many they have, and how many the plan makes of them.
    alone
        Records that are alone with their keys before anything is randomized.
    risk_before, risk
        The greatest chance of a correct match, before and after the randomization; NaN where there is none.
    changed
        Share of the records that are expected to change in at least one column; NaN where no release is possible.
    lifted
        Numbers of the rules that are left out here, because they name new categories of the columns left out.
    note
        Why no release is possible.
    """

    left_out: tuple[str, ...]
    categories: tuple[tuple[int, int], ...] = ()
    alone: int = 0
    risk_before: float = math.nan
    risk: float = math.nan
    changed: float = math.nan
    lifted: tuple[int, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {key: None if isinstance(x, float) and math.isnan(x) else x for key, x in asdict(self).items()}
        pairs = [list(pair) for pair in self.categories]
        return {**numbers, "left_out": list(self.left_out), "categories": pairs, "lifted": list(self.lifted)}


def recode_effects(
    records: Rows, release: AnyRelease, progress: Callable[[int, float | None], None] | None = None
) -> list[RecodeEffect]:
    """What the recodes of a plan save: the plan, the plan without each of them, and without all.

    The file is counted once more for each. Only recodes of columns that affect the risk count. A rule that names new
    categories of a column is left out where the column is not recoded.
    """
    columns = tuple(column for column in release.plan.recodes if column in closure(release.plan, release.plan.keys))
    variants: list[tuple[str, ...]] = [(column,) for column in columns]
    if len(columns) > 1:
        variants.append(columns)
    if not variants:
        return []
    effects = [_effect(release, ())]
    for done, left_out in enumerate(variants, 1):
        effects.append(_tried_without(records, release, left_out))
        if progress is not None:
            progress(release.rows, done / len(variants))
    return effects


def _tried_without(records: Rows, release: AnyRelease, left_out: tuple[str, ...]) -> RecodeEffect:
    asked = release.plan.as_typed or release.plan
    lifted = tuple(n for n, rule in enumerate(asked.rules, 1) if any(map(rule.labels().get, left_out)))
    tried = RecodeEffect(
        left_out=left_out, categories=tuple(release.file.changes.recoded[one] for one in left_out), lifted=lifted
    )
    try:
        recodes = {column: recode for column, recode in asked.recodes.items() if column not in left_out}
        codebook = {column: labels for column, labels in asked.codebook.items() if column not in left_out}
        rules = tuple(rule for number, rule in enumerate(asked.rules, 1) if number not in lifted)
        protections = release.plan.protections if asked.keep else asked.protections
        changes: dict[str, Any] = {"recodes": recodes, "codebook": codebook, "rules": rules}
        rows, plan = prepared(records, replace(asked, protections=protections, **changes))
        tables = count_records(rows, plan, tables_of(plan))
        fits = column_fits(rows, plan, tables, release.file.others)
        seen = release.file.seen  # what follows from keys follows from finer ones
        wider = tables_with(plan, tables, seen)
        tables |= count_records(rows, plan, wider) if wider else {}
        assessed = assess_counts(TrueFile(tables=tables, fits=fits, seen=seen), plan)
    except MaskwellError as error:
        return replace(tried, note=error.message)
    return replace(_effect(assessed, left_out), categories=tried.categories, lifted=lifted)


def _effect(release: AnyRelease, left_out: tuple[str, ...]) -> RecodeEffect:
    risk = release.risk
    return RecodeEffect(
        left_out=left_out,
        alone=0 if risk is None else risk.before.uniques or 0,
        risk_before=math.nan if risk is None else risk.before.max_risk,
        risk=math.nan if risk is None or risk.after is None else risk.after.max_risk,
        changed=release.expected_change(),
    )


def label_of(plan: ReleasePlan) -> str:
    """What a plan asks for, in a few words."""
    by_match = [p for p in plan.protections if _bound(plan, p) is not None]
    if by_match:
        bound = min(b for p in by_match if (b := _bound(plan, p)) is not None)
        return f"match {to_decimal(bound)}"
    strengths = {p.strength for p in plan.protections if _mixed(p, p.strength) is not None}
    return f"strength {to_decimal(min(strengths))}" if len(strengths) == 1 else "the plan"


def _bound(plan: ReleasePlan, protection: Protection) -> Fraction | None:
    """The bound on a correct match from which the matrix follows, if it does."""
    if protection.how.own_match is not None:
        return protection.how.own_match
    if not protection.base.follows_match or protection.caps:
        return None
    others = {name for name in protection.bounds.asked() if name != "match"}
    return None if others and protection.bounds.match is None else plan.match_of(protection)


def _variants(plan: ReleasePlan) -> Iterator[tuple[str, ReleasePlan]]:
    if any(_bound(plan, protection) is not None for protection in plan.protections):
        for bound in MATCHES:
            changed = []
            for one in plan.protections:
                if _bound(plan, one) is None:
                    changed.append(one)
                elif one.how.own_match is not None:
                    changed.append(replace(one, how=one.how.with_own_match(bound)))
                else:
                    changed.append(replace(one, bounds=replace(one.bounds, match=bound)))
            yield (
                f"match {to_decimal(bound)}",
                replace(plan, protections=tuple(changed), match=bound if plan.keys else None),
            )
        return
    if label_of(plan) == "the plan":
        return
    for strength in STRENGTHS:
        mixed = tuple(_mixed(p, strength) or p for p in plan.protections)
        yield f"strength {to_decimal(strength)}", replace(plan, protections=mixed)


def _mixed(protection: Protection, strength: Fraction) -> Protection | None:
    """The protection with another strength, ``None`` where a bound or a fixed matrix does not allow any."""
    try:
        replace(protection, strength=Fraction(1, 2))
        return replace(protection, strength=strength)
    except PlanError:
        return None


def _tried(release: AnyRelease, label: str, plan: ReleasePlan) -> RiskUtilityPoint:
    try:
        return point_of(assess_counts(release.file, plan, tighter=release.tighter), label, threshold=release.plan.match)
    except MaskwellError as error:
        nothing: dict[str, Any] = dict.fromkeys(("risk", "changed", "matches"), math.nan)
        return RiskUtilityPoint(label=label, above=0, note=error.message, **nothing)


def point_of(
    release: AnyRelease, label: str, *, chosen: bool = False, threshold: Fraction | None = None
) -> RiskUtilityPoint:
    """A release as a point of the map."""
    after = None if release.risk is None else release.risk.after
    bound = threshold if threshold is not None else release.plan.match
    return RiskUtilityPoint(
        label=label,
        risk=math.nan if after is None else after.max_risk,
        changed=release.expected_change(),
        matches=math.nan if after is None else after.expected_matches,
        above=0 if release.risk is None or bound is None else release.risk.count_above(float(bound)),
        inflation=release.utility.worst_inflation,
        chosen=chosen,
    )
