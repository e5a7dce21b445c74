"""What a release reveals by all randomized columns together, also those that are not key variables (derived).

The intruder knows the keys x of a person, the matrices, and the true counts N of all combinations c of the columns,
and sees the released file in all of them. Of the N_x people with these keys N_c are in cell c; whose record is
looked for is not known, so a record released as i is the right one of m_i with

    sum over c in x of  (N_c / N_x)  Pr(a record of c is released as i | what is seen) / m_i      at most 1 / N_x

given the number m_i alone (one look), or all released counts. The bound holds whatever is seen: each of the N_x people
is as likely as the others to be the one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.verdicts import above, at_most
from maskwell.errors import TooLargeError
from maskwell.microdata.risk.arrivals import Arrivals, SparseArrivals, arrival_parts
from maskwell.microdata.risk.binomial_sums import row_sums
from maskwell.microdata.risk.file_risk import cells_in, remeasured
from maskwell.microdata.risk.identity_disclosure import has_exchange, keeps_counts, risks_of
from maskwell.microdata.risk.match_chances import strict_bound, strict_when_highest
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_draws import have_one_draw
from maskwell.microdata.risk.unit_table import SeenUnits, unit_chances
from maskwell.microdata.stages.stage import Stage, acting, needed_columns

SEARCHED = 2000  # looks of one file whose chances are computed t by t; of others a bound is taken
MOST_LOOKS = 32  # sets of columns that are looked at
_MOST_SEEN = 64  # the largest t of these
_LOST = 1e-280  # smaller products of floats have lost digits


@dataclass(frozen=True, eq=False)
class JointTable:
    """The columns of a released file that are randomized, or say how others are; and their counts."""

    table: CellTable | None  # of the true file; None where it has too many cells to be counted
    others: tuple[str, ...]  # randomized columns that are not key variables
    visible: tuple[str, ...] = ()  # the keys, the others, and columns that stay and are seen
    released: CellTable | None = None  # of the drawn file
    accepted: bool = False  # whether the plan accepts that this intruder is left out
    # the units of the records where the file shows them, or they have one draw; and the column that names them
    units: SeenUnits | None = None
    unit: str | None = None


@dataclass(frozen=True)
class JointRisk:
    """What an intruder finds who uses randomized columns that are not key variables, and units that are shown."""

    columns: tuple[str, ...]  # these columns
    unit: str | None = None  # the column that shows which records belong together
    # the largest chance of a correct match: under one released combination, and given all counts of these; None where
    # it is not known
    one_look: float | None = None
    all_counts: float | None = None
    accepted: bool = False  # whether the plan accepts that this intruder is left out
    every_look: bool = True  # whether looks at any of these columns are counted, and not only at most of them

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "columns": list(self.columns)}


def others_randomized(stages: Sequence[Stage], keys: Sequence[str]) -> tuple[str, ...]:
    """Randomized columns that are not keys, but for those that follow from keys alone."""
    free = (stage for stage in stages if not {*stage.variables} <= {*keys})
    return tuple(dict.fromkeys(name for stage in free for name in stage.moved if name not in keys))


def with_joint_table(report: RiskReport, stages: Sequence[Stage], joint: JointTable) -> RiskReport:
    """A report that counts with the other randomized columns, or says that no figure is known."""
    if report.after is None or not (joint.others or joint.unit):
        return report
    if joint.accepted:
        return replace(report, joint_table=JointRisk(joint.others, joint.unit, accepted=True))
    found = _found(report, stages, joint).bounded(report)
    measured = {name: report.per_cell[name] for name in ("in_range", "strict", "any_release")}
    counted = report.per_cell.get("released_counts")
    place = cells_in(report.table, report.table.project(report.keys))
    one_look = all_counts = None
    if found.one_look is not None:
        one_look = float(found.one_look.max())
        measured["any_release"] = np.maximum(measured["any_release"], found.one_look[place])
    if found.all_counts is not None:
        all_counts = float(found.all_counts.max())
        known = found.all_counts[place]
        measured["released_counts"] = known if counted is None else np.maximum(counted, known)
    _, every = looks_of(joint.visible, report.keys)
    told = replace(report, joint_table=JointRisk(joint.others, joint.unit, one_look, all_counts, every_look=every))
    return remeasured(told, measured)


@dataclass(frozen=True, eq=False)
class JointChances:
    """The largest chances of a match by the cells of the keys, each of shape (cells,); None where not known."""

    one_look: Real | None = None
    all_counts: Real | None = None

    def bounded(self, report: RiskReport) -> JointChances:
        """With ``1 / N_x`` for a chance that is not known, where no figure or limit of the report is below that."""
        assert report.after is not None
        sure, after = 1 / report.table.project(report.keys).counts, report.after
        said = max(after.max_risk_any_release, report.threshold or 0.0)
        if not at_most(float(sure.max()), said):
            return self
        one_look = sure if self.one_look is None else self.one_look
        drawn = after.small is not None
        return JointChances(one_look, sure if self.all_counts is None and drawn else self.all_counts)

    def in_order(self, place: Array) -> JointChances:
        """The same for the cells in another order."""
        one_look, all_counts = self.one_look, self.all_counts
        return JointChances(
            None if one_look is None else one_look[place], None if all_counts is None else all_counts[place]
        )


def _places(keys: CellTable, own: CellTable) -> Array:
    """The place of each cell of the keys in a table of the same cells that was counted apart."""
    if keys.levels == own.levels:
        return cells_in(keys, own)
    known = {label: i for i, label in enumerate(own.labels())}
    return np.array([known[label] for label in keys.labels()], dtype=np.int64)


def looks_of(visible: Sequence[str], keys: Sequence[str]) -> tuple[list[tuple[str, ...]], bool]:
    """The columns that somebody may look at, all of them first: the keys with any others; and whether these are all.

    Of very many sets those that leave out fewest are taken.
    """
    others = [name for name in visible if name not in keys]
    left_out = (out for n in range(len(others) + 1) for out in combinations(others, n))
    some = [{*out} for out in islice(left_out, MOST_LOOKS)]
    return [tuple(name for name in visible if name not in out) for out in some], 2 ** len(others) <= MOST_LOOKS


def _found(report: RiskReport, stages: Sequence[Stage], joint: JointTable) -> JointChances:
    keys = report.table.project(report.keys)
    looks, _ = looks_of(joint.visible, report.keys)
    if joint.unit is not None or have_one_draw(stages, joint.visible or joint.others):
        if joint.units is None:
            return JointChances()
        place = _places(keys, joint.units.table.project(report.keys))
        return JointChances(*unit_chances(joint.units, stages, looks)).in_order(place)
    if joint.table is None:
        return JointChances()
    known = np.zeros(len(keys))
    np.maximum.at(known, cells_in(report.table, keys), report.per_cell["any_release"])
    found = _of_look(keys, stages, joint, known)
    if found.one_look is None and joint.released is not None:  # with all released values the table may be too large
        found = _of_look(keys, stages, replace(joint, released=None), known)
    if has_exchange(stages, joint.visible):  # all counts are known, and coarser looks are means of finer ones
        return found
    for visible in looks[1:]:
        if found.one_look is not None and acting(stages, visible) and {*visible} != {*report.keys}:
            coarser = replace(joint, visible=visible, released=None)
            more = _of_look(keys, stages, coarser, np.maximum(known, found.one_look)).one_look
            found = replace(found, one_look=None if more is None else np.maximum(found.one_look, more))
    return found


def _of_look(keys: CellTable, stages: Sequence[Stage], joint: JointTable, known: Real) -> JointChances:
    """Of an intruder who uses all visible columns; chances of a look are bounds where they are below what is known."""
    assert joint.table is not None
    visible = joint.visible
    table = joint.table.project(needed_columns(stages, visible))
    own = table.project(keys.columns)
    alike, place, best = cells_in(table, own), _places(keys, own), np.zeros(len(own))
    best[place] = known
    exchange = has_exchange(stages, visible)
    if exchange and not keeps_counts(stages, visible):
        return JointChances()
    looks, compared = np.zeros((2, len(own)))
    counted = joint.released is not None
    try:
        for cells, arrivals in arrival_parts(stages, table, visible, released=joint.released):
            people = _People(arrivals.counts, alike[cells], own.counts.astype(np.int64))
            if exchange and isinstance(arrivals, SparseArrivals):
                found = people.exchanged(arrivals)
                compared = np.maximum(compared, found)
            else:
                found = people.one_look(arrivals, best)
                given_all = people.all_counts(arrivals) if counted else None
                counted = given_all is not None
                compared = compared if given_all is None else np.maximum(compared, given_all)
            looks = np.maximum(looks, found)
    except TooLargeError:
        return JointChances()
    return JointChances(looks, compared if counted else None).in_order(place)


@dataclass(frozen=True, eq=False)
class _People:
    """Cells of a joint table, and the people who are looked for in them: those with the same keys."""

    counts: Array  # counts, alike: shape (cells,): records of each cell, and the number of its keys
    alike: Array
    all_alike: Array  # shape (keys,): how many people have the same keys, in this and in other parts of the file

    @property
    def share(self) -> Real:
        """Shape (cells,): the share of the people with the same keys who are in each cell."""
        return np.asarray(self.counts / self.all_alike[self.alike])

    def all_counts(self, arrivals: Arrivals) -> Real | None:
        """By keys the chance given all released counts; None where not known."""
        if not isinstance(arrivals, SparseArrivals):
            return None
        part = self.all_alike[self.alike] / np.bincount(self.alike, self.counts)[self.alike]
        risk = realised_risks(arrivals, 1 / part, self.alike)
        if risk is None:
            return None
        cells = np.flatnonzero(arrivals.counts > 0)
        return self._largest(risk / part[cells], self.alike[cells])

    def exchanged(self, arrivals: SparseArrivals) -> Real:
        """By keys the chance where records are exchanged, so that every count is known: ``sum_c w_c p_ic / N_i``."""
        sizes = row_sums(arrivals.own, arrivals.counts, arrivals.rows)
        group, _, keys = self._looks(arrivals)
        chances = self.share[arrivals.cell] * arrivals.p / np.maximum(sizes[arrivals.row], 1)
        return self._largest(row_sums(group, chances, len(keys)), keys)

    def one_look(self, arrivals: Arrivals, known: Real) -> Real:
        """By keys the chance in the best look given the number of records there; bounds where ``known`` is larger."""
        if not isinstance(arrivals, SparseArrivals):
            risks = risks_of(arrivals)
            sums = np.bincount(self.alike[risks.cells], self.share[risks.cells] * risks.any_release, len(known))
            return np.asarray(np.minimum(sums, 1 / self.all_alike))
        group, row, keys = self._looks(arrivals)
        terms = arrivals.summands(np.arange(arrivals.rows))
        strict = strict_when_highest(terms, arrivals.row, arrivals.p)
        open_ = np.isnan(strict)
        at = arrivals.row[open_]
        strict[open_] = strict_bound(terms, at, arrivals.p[open_], arrivals.counts[arrivals.cell[open_]])
        bound = np.minimum(row_sums(group, self.share[arrivals.cell] * strict, len(keys)), 1 / self.all_alike[keys])
        entries = np.bincount(group, minlength=len(keys))
        settled = (entries == 1) & (row_sums(group, open_.astype(np.float64), len(keys)) == 0)
        doubtful = np.flatnonzero(~settled & above(bound, known[keys]))
        doubtful = doubtful[np.argsort(-bound[doubtful], kind="stable")][:SEARCHED]
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(keys) + 1))
        best = known.copy()
        for one in doubtful.tolist():
            own = order[starts[one] : starts[one + 1]]
            chance = self._look(arrivals, int(row[one]), own, float(best[keys[one]]), float(bound[one]))
            bound[one] = chance
            best[keys[one]] = max(best[keys[one]], chance)
        return self._largest(bound, keys)

    def _look(self, arrivals: SparseArrivals, row: int, own: Array, known: float, bound: float) -> float:
        """The largest chance over all numbers t of records under one released combination, if above ``known``."""
        first, last = np.searchsorted(arrivals.row, [row, row + 1])
        n, p = arrivals.counts[arrivals.cell[first:last]], arrivals.p[first:last]
        weights = self.share[arrivals.cell[own]]
        sure = int(n[p == 1].sum())
        most = min(int(n.sum()), math.floor(1 / known) if known > 0 else _MOST_SEEN + 1)
        if most > _MOST_SEEN + sure:
            return bound
        chances = chances_by_number(n, p, own - first, most - sure)
        return min(bound, max((float(weights @ each) for each in chances), default=0.0))

    def _looks(self, arrivals: SparseArrivals) -> tuple[Array, Array, Array]:
        """The look of each entry, a released combination for people with some keys; the row and the keys of each."""
        keys = len(self.all_alike)
        numbers, group = np.unique(arrivals.row * keys + self.alike[arrivals.cell], return_inverse=True)
        return group.reshape(-1), numbers // keys, numbers % keys

    def _largest(self, chances: Real, keys: Array) -> Real:
        most = np.zeros(len(self.all_alike))
        np.maximum.at(most, keys, chances)
        return most


def best_looks(looks: Sequence[SparseArrivals], alike: Array) -> Real:
    """By the numbers ``alike`` of people's keys the chance of a match in the best look; below 1 / 64 a bound."""
    best, all_alike = np.zeros((2, int(alike.max()) + 1))
    for arrivals in looks:
        people = _People(arrivals.counts, alike, np.bincount(alike, arrivals.counts).astype(np.int64))
        best = np.maximum(best, people.one_look(arrivals, np.maximum(best, 1 / _MOST_SEEN)))
        all_alike = people.all_alike
    # of more records than are searched each is the right one with less than that, and with 1 / N_x at most
    return np.asarray(np.minimum(np.maximum(best, 1 / _MOST_SEEN), 1 / all_alike))


def chances_by_number(n: Array, p: Real, asked: Array, most: int) -> Iterator[Real]:
    """For t = 1, 2, ... of those above that are certain, the chance that the record of each cell is the one picked.

    With the odds o of the n records of each cell, ``o e_(t-1)(all but one) / e_t(all) / t`` for elementary symmetric
    polynomials e; the records with p = 1 are among the t in any case. ``asked`` says for which cells.
    """
    sure, free = int(n[p == 1].sum()), p < 1
    odds = np.where(free, p / np.where(free, 1 - p, 1.0), 0.0)
    scale = 1 / max(float((n * odds).sum()), 1e-300)
    most = max(0, min(most, int(n[free].sum())))
    every = _symmetric(n[free], odds[free] * scale, most)
    without = {}
    for cell in dict.fromkeys(asked.tolist()):
        fewer = n.copy()
        fewer[cell] -= 1
        without[cell] = _symmetric(fewer[free], odds[free] * scale, most) if p[cell] < 1 else every
    for others in range(most + 1):
        t, whole = sure + others, every[others]
        if not t:
            continue
        if whole <= _LOST:  # lost in the range of floats: nothing smaller than certainty is claimed
            yield np.ones(len(asked))
            continue
        among = [
            1.0 if p[cell] == 1 else odds[cell] * scale * without[cell][others - 1] / whole if others else 0.0
            for cell in asked.tolist()
        ]
        yield np.array(among) / t


def _symmetric(n: Array, odds: Real, most: int) -> Real:
    """``e_0, ..., e_most`` of n records each of some odds."""
    out = np.zeros(most + 1)
    out[0] = 1.0
    for times, one in zip(n.tolist(), odds.tolist(), strict=True):
        row = np.zeros(most + 1)
        row[0] = 1.0
        for k in range(1, min(times, most) + 1):
            row[k] = row[k - 1] * (times - k + 1) / k * one
        out = np.convolve(out, row)[: most + 1]
    return out
