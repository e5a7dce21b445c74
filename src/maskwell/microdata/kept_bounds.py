"""Whether a release keeps what its plan asks for: what a stage achieves of each bound, and the chance of a match."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import HINT, MESSAGE, in_words, listed, round_down, round_up, shorten
from maskwell.core.verdicts import above, at_least, at_most, below
from maskwell.errors import InfeasibleError
from maskwell.microdata.assessment import with_stages
from maskwell.microdata.matrices.bounds import FROM_BELOW
from maskwell.microdata.plans.plan_entries import by_text
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.release_plan import JOINT_TABLE, ReleasePlan
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.identity_disclosure import has_exchange, keeps_counts, risks_of, swapped_risks
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.side_channels import ORIGINAL
from maskwell.microdata.stages.stage import Stage, acting, expected_table, needed_columns
from maskwell.notes import Note

AT_LEAST = ("least_kept", "changed_at_least")


def achieved(stage: Stage, bound: str) -> float | None:
    """The value that a stage reaches for one of the bounds by its name; ``None`` for one that is about whole files."""
    measure = _MEASURES.get(bound)
    return None if measure is None else measure(stage)


def bound_is_kept(bound: str, asked: float | Fraction, value: float) -> bool:
    """Whether a value meets the bound that was asked, up to the rounding of floats near one."""
    return (at_least if bound in AT_LEAST else at_most)(value, asked, scale=1)


def own_posteriors(stage: Stage) -> Real:
    """Shape (k,): the chance that a record released with a state has it in truth; 0 where none is."""
    released, true, flow, sums = stage.occurring_flows()
    same = released == stage.own[true]
    posteriors = np.zeros(len(stage.states))
    posteriors[true[same]] = (flow / sums[released])[same]
    return posteriors


def _posterior_own(stage: Stage) -> float:
    return float(own_posteriors(stage).max(initial=0.0))


def _odds(stage: Stage) -> float:
    posterior = _posterior_own(stage)
    return posterior / (1 - posterior) if below(posterior, 1) else np.inf


def guessed(stage: Stage) -> float:
    """Share of all records whose true state is the best guess from the released one."""
    released, _, flow, sums = stage.occurring_flows()
    best = np.zeros(len(sums))
    np.maximum.at(best, released, flow)
    return float(best.sum() / sums.sum()) if sums.sum() else 0.0


def _guess(stage: Stage) -> float:
    """The same in the cell where it is largest: the bound is asked of every cell."""
    released, true, flow, sums = stage.occurring_flows()
    best, cell = np.zeros(len(sums)), np.zeros(len(sums), dtype=np.int64)
    np.maximum.at(best, released, flow)
    cell[released] = stage.cells[true]
    right, records = (np.bincount(cell, values) for values in (best, sums))
    return float((right[records > 0] / records[records > 0]).max(initial=0.0))


def _factor(stage: Stage) -> float:
    """How much likelier or less likely a released value makes a truth, within its cell."""
    released, true, p = stage.transitions
    sums = np.bincount(released, p * stage.counts[true], minlength=len(stage.outputs))
    there = stage.counts[true] > 0
    totals = np.bincount(stage.cells, stage.counts)
    ratio = (p * totals[stage.cells[true]])[there] / sums[released[there]]
    rows = np.bincount(released[there], minlength=len(stage.outputs))
    return _whole(stage, released[there], true[there], rows) * float(np.maximum(ratio, 1 / ratio).max(initial=1.0))


def _parity(stage: Stage) -> float:
    """The largest ratio of two chances of one released value, within its cell."""
    released, true, p = stage.transitions
    there = stage.counts[true] > 0
    released, true, p = released[there], true[there], p[there]
    least, most = np.full(len(stage.outputs), np.inf), np.zeros(len(stage.outputs))
    np.minimum.at(least, released, p)
    np.maximum.at(most, released, p)
    rows = np.bincount(released, minlength=len(stage.outputs))
    some = rows > 0
    return _whole(stage, released, true, rows) * float((most[some] / least[some]).max(initial=1.0))


def _whole(stage: Stage, released: Array, true: Array, rows: Array) -> float:
    """One where each released value can come from every truth of its cell, else infinite: a zero rules truths out."""
    sizes = np.bincount(stage.cells[stage.counts > 0], minlength=int(stage.cells.max(initial=0)) + 1)
    cell = np.zeros(len(rows), dtype=np.int64)
    cell[released] = stage.cells[true]
    some = rows > 0
    return 1.0 if (rows[some] == sizes[cell[some]]).all() else np.inf


_MEASURES: dict[str, Callable[[Stage], float]] = {
    "posterior": Stage.max_posterior,
    "posterior_own": _posterior_own,
    "odds": _odds,
    "guess": _guess,
    "factor": _factor,
    "parity": _parity,
    "least_kept": lambda stage: float(stage.keeps[stage.counts > 0].min(initial=1.0)),
    "changed_at_most": Stage.expected_changed,
    "changed_at_least": Stage.expected_changed,
}

# Bounds on what a released value reveals of the true one: a record that never changes breaks them
TELLING = ("posterior", "posterior_own", "odds", "guess", "factor", "parity")
NAMED = 40  # characters of the columns that an error names
DRAWS = 20  # most draws of a file until it keeps a limit on what all released counts reveal


@dataclass(frozen=True, kw_only=True)
class BoundKept:
    """One bound of a plan, and what is reached."""

    # The protection by its number in the plan, and its stage
    number: int
    stage: Stage
    # The bound, what was asked, and what is reached by the records that are not exempt
    name: str
    asked: Fraction
    value: float
    # Records that stay as they are and are not exempt: the only value of their cell, and without a value
    alone: int = 0
    missing: int = 0
    # Records expected to come, moved before, to a cell in which their value never occurred: they stay as they are
    arriving: float = 0.0
    label: str | None = None  # The label that the bound is for, where it is a cap

    @property
    def kept(self) -> bool:
        """Whether the bound holds."""
        return bound_is_kept(self.name, self.asked, self.value)


def bounds_kept(release: AnyRelease) -> list[BoundKept]:
    """Every bound that a protection of the plan asks for, with what is reached."""
    return [one for number in range(1, len(release.stages) + 1) for one in _Protected(release, number).bounds()]


def exempted(release: AnyRelease) -> list[str]:
    """What bounds do not cover, in words: records that the plan exempts, and cells that change afterwards."""
    exemptions = []
    for number in range(1, len(release.stages) + 1):
        one = _Protected(release, number)
        protection, stage = one.protection, one.stage
        if not asked_of(protection) and not protection.caps:
            continue
        parts = [(int(stage.counts[one.excluded].sum()), "with an excluded label")]
        if "alone" in protection.exempt:
            parts.append((int(stage.counts[one.alone].sum()), "with the only value of their cell"))
        if "missing" in protection.exempt and one.lacking is not None:
            parts.append((one.lacking.n, "without a value"))
        told = ", ".join(f"{n:,} {'record' if n == 1 else 'records'} {why}" for n, why in parts if n)
        if told:
            exemptions.append(f"the bounds of {protection.title} do not cover {told}")
        later = {name for other in release.plan.protections[number:] for name in other.moved}
        if moved := [name for name in stage.within if name in later]:
            exemptions.append(
                f"the bounds of {protection.title} are for {in_words(moved)} as before a later [[protect]]"
            )
    return exemptions


def check_bounds(release: AnyRelease) -> None:
    """Raise unless every bound of every protection is kept."""
    broken = next((one for one in bounds_kept(release) if not one.kept), None)
    if broken is not None:
        raise _not_kept(release.plan, broken)


def check_match(release: AnyRelease) -> None:
    """Raise unless the bound on a correct match is kept for every record, against the intruder of the plan."""
    plan, risk = release.plan, release.risk
    if plan.match is None or risk is None or risk.after is None:
        return
    if over := risk.after.records_above:
        figures = {"above": over, "rows": release.rows, "match": float(plan.match), "nearest": risk.after.max_risk}
        raise InfeasibleError("of-records-keep-a-chance-above", hint=_match_hint(release), **figures)
    joint = risk.joint_table
    if joint is not None and joint.one_look is None and not joint.accepted:
        used = [shorten(name, 30) for name in (*joint.columns, *([joint.unit] if joint.unit else []))]
        raise InfeasibleError("joint-table-has-no-figure", what=listed(used, len(used), NAMED))
    plan.against.check_assessed(release, plan.match)


def is_kept_as_drawn(plan: ReleasePlan, risk: RiskReport | None, attempt: int, *, last: bool) -> bool:
    """Whether a drawn file keeps the limit, where that is for the very file; an error of the ``last`` attempt."""
    after = None if risk is None else risk.after
    if plan.match is None or after is None:
        return True
    try:
        plan.against.check_drawn(after, attempt, plan.match)
    except InfeasibleError:
        if last:
            raise
        return False
    return True


def check_kept(release: AnyRelease) -> None:
    """Raise unless a release keeps all that its plan asks for in numbers, also by the first of two steps alone."""
    check_match(release)
    check_bounds(release)
    if any(stage.steps is not None for stage in release.stages):
        first = with_stages(release.assessment, tuple(stage.permanent for stage in release.stages))
        check_match(first)
        check_bounds(first)


def asked_of(protection: Protection) -> dict[str, Fraction]:
    """The bounds of one protection that are its own; ``xi`` is one on a correct match, a demand one on the parity."""
    return protection.bounds.asked() | protection.how.promises()


class _Protected:
    """One protection of a release: which records its bounds are for, and what they reach."""

    def __init__(self, release: AnyRelease, number: int) -> None:
        self.release, self.number = release, number
        self.protection, self.stage = release.plan.protections[number - 1], release.stages[number - 1]
        stage = self.stage
        self.excluded = np.zeros(len(stage.states), dtype=bool)
        for column, labels in self.protection.exclude.items():
            self.excluded |= self._labelled(column, labels)
        there = (stage.counts > 0) & ~self.excluded
        size = np.bincount(stage.cells[there], minlength=int(stage.cells.max(initial=-1)) + 1)
        # states that are the only one of their cell with records; those that the bounds are for; missing values
        self.alone = np.asarray(there & (size[stage.cells] == 1) & (len(size) > 0))
        self.covered = ~(self.excluded | self.alone) if "alone" in self.protection.exempt else ~self.excluded
        self.lacking = self._without_value()

    def bounds(self) -> Iterator[BoundKept]:
        protection, stage, lacking = self.protection, self.stage, self.lacking
        missing = 0 if lacking is None or "missing" in protection.exempt else lacking.n
        met, coming = self._as_met()
        part, arriving = self._only(met), sum(coming.values())
        left = int(stage.counts[self.alone & self.covered].sum())
        bound = partial(BoundKept, number=self.number, stage=stage, alone=left)
        capped = np.zeros(len(stage.states), dtype=bool)
        if protection.caps:
            capped = self._labelled(protection.variables[0], [*protection.caps])
        for name, asked in asked_of(protection).items():
            without = missing
            if name == "match":
                value = self._match()
                if lacking is not None and above(value, Fraction(1, int(lacking.counts.min()))):
                    without = 0  # others are found more easily
            elif name in ("posterior_own", "odds"):
                value = float(own_posteriors(part)[~capped].max(initial=0.0))
                if name == "odds":
                    value = value / (1 - value) if below(value, 1) else float(np.inf)
            else:
                value = achieved(part if name in TELLING else self._only(stage), name) or 0.0
            if (missing or arriving) and name in TELLING:
                value = np.inf if name in ("odds", "factor", "parity") else 1.0
            yield bound(name=name, asked=asked, value=value, missing=without, arriving=arriving)
        for label, cap in protection.caps.items():
            own = self._labelled(protection.variables[0], [label])
            value = float(own_posteriors(part)[own].max(initial=0.0))
            arriving = sum(n for level, n in coming.items() if label in by_text([level]))
            reached = 1.0 if arriving else value
            yield bound(name="posterior_own", asked=cap, value=reached, arriving=arriving, label=label)

    def _as_met(self) -> tuple[Stage, dict[Hashable, float]]:
        """The stage with the records it is expected to meet, and how many come that it has no state for, by label."""
        protection, stage, plan = self.protection, self.stage, self.release.plan
        earlier = self.release.stages[: self.number - 1]
        moved = {name for one in earlier for name in (*one.variables, *one.linked)}
        if not moved & {*stage.within} or not ({*asked_of(protection)} & {*TELLING} or protection.caps):
            return stage, {}
        needed = {*needed_columns(earlier, stage.columns)}
        table = next(table for columns, table in self.release.tables.items() if needed <= {*columns})
        expected = expected_table(earlier, table, stage.columns)
        places = {label: place for place, label in enumerate(stage.states)}
        mass, coming = np.zeros(len(stage.states)), defaultdict[Hashable, float](float)
        for label, n in zip(expected.labels(), expected.counts.tolist(), strict=True):
            if label in places:
                mass[places[label]] = n
                continue
            levels = dict(zip(stage.columns, label, strict=True))
            no_value = plan.missing != "category" and any(levels[name] is None for name in protection.variables)
            excluded = any({*texts} & {*by_text([levels[name]])} for name, texts in protection.exclude.items())
            if not no_value and not excluded:  # the plan leaves the others as they are
                coming[label[len(stage.within)]] += n
        return replace(stage, counts=mass, weights=None), coming

    def _match(self) -> float:
        """The largest match probability of a covered record, for an intruder who knows all columns of the stage."""
        stage, risk, plan = self.stage, self.release.risk, self.release.plan
        exempt = "missing" in self.protection.exempt
        if risk is not None and risk.after is not None and self.covered.all():
            same = {*plan.keys} == {*stage.columns} and len(acting(self.release.stages, plan.keys)) == 1
            if same and not exempt:
                return plan.against.foretold(risk.after)
        arrivals = SparseArrivals.from_design(np.asarray(stage.draw_counts, dtype=np.int64), stage.design)
        risks = swapped_risks(arrivals) if stage.exchanges else risks_of(arrivals)
        every = np.zeros(len(stage.states))
        every[risks.cells] = plan.against.chances(vars(risks))
        most = float(every[self.covered].max(initial=0.0))
        return most if exempt or self.lacking is None else max(most, 1 / int(self.lacking.counts.min()))

    def _only(self, stage: Stage) -> Stage:
        """A stage with the records of the states that are covered; the others exchange none with them."""
        if self.covered.all():
            return stage
        weights = None if stage.weights is None else np.where(self.covered, stage.weights, 0)
        return replace(stage, counts=np.where(self.covered, stage.counts, 0), weights=weights)

    def _labelled(self, column: str, labels: Sequence[str]) -> Array:
        """States with one of some labels, given as texts, in a column."""
        place = self.stage.columns.index(column)
        state_levels = [state[place] for state in self.stage.states]
        known = by_text(dict.fromkeys(state_levels))
        named_levels = {known[text] for text in labels if text in known}
        return np.array([label in named_levels for label in state_levels], dtype=bool)

    def _without_value(self) -> CellTable | None:
        if self.release.plan.missing == "category":
            return None
        within, variables = self.release.plan.columns_of(self.protection)
        table = self.release.tables[(*within, *variables)]
        lacking = np.zeros(len(table), dtype=bool)
        for place in map(table.place, variables):
            if table.levels[place][-1:] == (None,):
                lacking |= table.codes[:, place] == len(table.levels[place]) - 1
        some = CellTable(table.columns, table.levels, table.codes[lacking], table.counts[lacking])
        return some if lacking.any() else None


def _not_kept(plan: ReleasePlan, broken: BoundKept) -> InfeasibleError:
    asked = f"{broken.name} = {to_decimal(broken.asked)}"
    if broken.label is not None:
        asked = f"the cap {to_decimal(broken.asked)} of {shorten(broken.label, 24)!r}"
    if plan.protections[broken.number - 1].how.own_match is not None:
        asked = asked.replace("match = ", "xi = ")
    least, most = f"{round_down(broken.value, 3):g}", f"{round_up(broken.value, 3):g}"
    value = least if broken.name in FROM_BELOW else most
    reached = f"[[protect]] number {broken.number}: {asked} is broken ({value})"
    why, hint = "", "loosen the bound, merge labels, or protect within larger cells"
    if broken.missing and broken.name in (*TELLING, "match"):
        why = f": {_records(broken.missing, 'has', 'have')} no value"
        hint = 'missing = "category" in [release] protects them too; exempt = ["missing"] leaves them out'
    elif broken.arriving and broken.name in TELLING:
        why = f": some values move to cells of {' and '.join(broken.stage.within)} without them"
        hint = "protect these columns jointly in one [[protect]], or this one before the others"
    elif broken.alone:
        why = f": {_records(broken.alone, 'is', 'are')} alone in their cell"
        hint = 'use fewer columns in within, or exempt them in this [[protect]]: exempt = ["alone"]'
    elif plan.protections[broken.number - 1].counts_from is not None:
        hint = "the counts of counts_from differ from those of this file: leave it out, or loosen the bound"
    elif broken.stage.invariance == "weights" and broken.name in TELLING:
        hint = 'the matrix preserves sums of weights, and the bound is for records: set invariance = "counts"'
    message = shorten(f"{reached}{why}", MESSAGE) if why else reached
    return InfeasibleError(message, hint=hint, bound=broken.name, nearest=broken.value)


def _records(n: int, one: str, many: str) -> str:
    return f"{n:,} record {one}" if n == 1 else f"{n:,} records {many}"


def _match_hint(release: AnyRelease) -> str:
    plan = release.plan
    joint = None if release.risk is None else release.risk.joint_table
    if joint is not None and joint.one_look is not None and plan.match and above(joint.one_look, plan.match):
        return str(Note("joint-table-exceeds-the-limit", accept=f'accept = ["{JOINT_TABLE}"]'))
    open_ = [key for key in plan.keys if key not in plan.randomized]
    if open_ and len(open_) == len(plan.keys):
        return f"no key variable is randomized: add [[protect]] with variables = {[*plan.keys]}"
    if plan.missing == "unchanged" and any(release.file.missing.get(key) for key in plan.keys):
        return 'records with a missing key value are not protected: set missing = "category" in [release]'
    if release.file.seen:
        names = json.dumps([*release.file.seen], ensure_ascii=False)
        show = "shows" if len(release.file.seen) == 1 else "show"
        way = "coarsen" if any(one.by == ORIGINAL for one in release.file.channels) else "use linked"
        whole = f"{', '.join(release.file.seen)} {show} which records moved: add drop = {names} or {way}"
        return whole if len(whole) <= HINT else f"unchanged columns show which records moved: drop them, or {way}"
    if any(one.how.by_unit and {*one.moved} & {*plan.keys} for one in plan.protections):
        return "name all other keys in similar and in risk of the targeted swap, with k and size of 1/match or more"
    if has_exchange(release.stages, plan.keys) and not keeps_counts(release.stages, plan.keys):
        return "name all other key variables in within of the swap: only then is the protection of an exchange known"
    after = None if release.risk is None else release.risk.after
    own = math.inf if after is None else after.max_risk_strict
    if after and plan.match and bound_is_kept("match", plan.match, own) and above(after.max_risk, own):
        return 'use method = "mixing", or name the intruder of the limit: intruder = "own-key"'
    if len(plan.protections) > 1 or open_:
        return 'randomize all key variables jointly with method = "mixing", or allow a larger match'
    return "name fewer columns in within, drop a key variable, or allow a larger match"
