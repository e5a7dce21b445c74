"""The disclosure risk of a whole file, before and after its release, and what each key and each label adds to it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    check_counts,
    check_level,
)
from maskwell.core.cells import CellTable
from maskwell.core.exact import Parity
from maskwell.core.freed_memory import give_back_memory
from maskwell.core.groups import find_keys, number_cells
from maskwell.core.verdicts import below
from maskwell.errors import CountsError, ParameterError
from maskwell.microdata.risk import identity_disclosure as identity
from maskwell.microdata.risk.arrivals import Arrivals, SparseArrivals, arrival_parts
from maskwell.microdata.risk.intruders import ANY_LOOK, intruder_named
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.risk.risk_report import FileRisk, RiskReport, SampleRisk, SmallCells, chance_figures
from maskwell.microdata.stages.stage import Stage, acting, needed_columns, unchanged_columns
from maskwell.notes import Note


def assess_risk(
    table: CellTable,
    keys: Sequence[str],
    stages: Sequence[Stage] = (),
    *,
    released: CellTable | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    weights: bool = False,
    intruder: str = ANY_LOOK.name,
    seen: Sequence[str] | None = None,
    parities: Mapping[str, Parity] | None = None,
) -> RiskReport:
    """The risk that an intruder who knows the keys of a person identifies the record.

    Unchanged columns (``seen``) let records be counted inside their cells: where ``N_xy`` of the ``N_x`` records of a
    key are in cell y, an intruder who counts there identifies one of them with ``N_xy / N_x`` times the probability of
    one who knows y as well. Source: derived. With ``parities`` of randomized keys the risk is an upper bound.
    """
    against = intruder_named(intruder)
    check_level(level)
    keys = tuple(dict.fromkeys(keys))
    known = (*keys, *(unchanged_columns(stages, keys) if seen is None else seen))
    finer = table.project(needed_columns(stages, known))
    table = table.project(needed_columns(stages, keys))
    own = table.project(keys)
    if not len(own):
        raise CountsError("the-table-has-no-records")
    place = cells_in(table, own)
    per_cell = {"before": _chances(own, parities or {})[place]}
    if weights:
        if own.weights is None:
            raise ParameterError("the-table-has-no-weights")
        population = identity.individual_risk(own.counts, check_counts(own.weights, weighted=True, name="weights"))
        per_cell["population"] = population[place]
    before = _before(own, per_cell, table.counts, threshold, of_reports=bool(parities))
    after = None
    if stages:
        drawn = None if released is None else released.project(keys)
        whole = _Measured.of(stages, table, keys, level, drawn)
        measured = whole.by_name(_KEPT)
        if len(known) > len(keys):
            drawn_finer = released.project(known) if released is not None and {*known} <= {*released.columns} else None
            inside = _Measured.of(stages, finer, known, level, drawn_finer).by_name(_INSIDE)
            dealt = any(stage.exchanges and stage.unit is not None for stage in acting(stages, keys))
            measured = _larger(measured, inside, table, finer, keys, known, dealt=dealt)
        per_cell |= {"after": against.chances(measured)} | measured
        after = _after(own, drawn, whole, threshold, per_cell, before.max_risk_sampled)
    unsaid = () if after is None else against.unsaid(after, level)
    return RiskReport(
        keys=keys,
        before=before,
        after=after,
        threshold=threshold,
        level=level,
        table=table,
        per_cell=per_cell,
        intruder=intruder,
        flags=(*_flags(own, stages, weights=weights), *unsaid),
    )


def cells_in(table: CellTable, coarser: CellTable) -> Array:
    """The cell of a coarser table that each cell of a table lies in."""
    codes = table.codes[:, [table.place(name) for name in coarser.columns]]
    return find_keys(*number_cells(coarser.sizes, coarser.codes, codes))


def _chances(own: CellTable, parities: Mapping[str, Parity]) -> Real:
    """The probability of a correct match in each cell of the file as it is; a bound where keys are reports."""
    if not parities:
        return np.asarray(1 / own.counts)
    shown = []  # what each column shows as it is: all of it, and of reports whether there is one
    for name in own.columns:
        codes, levels = own.codes[:, own.place(name)], own.levels[own.place(name)]
        lacking = len(levels) - 1 if levels and levels[-1] is None else -1
        shown.append((codes == lacking if name in parities else codes).astype(np.int64))
    _, place = np.unique(np.column_stack(shown), axis=0, return_inverse=True)
    candidates = np.bincount(place.ravel(), own.counts).astype(np.float64)[place.ravel()]
    return identity.match_bound_of_reports(own.counts.astype(np.float64), candidates, math.prod(parities.values()))


def _before(
    own: CellTable, per_cell: Mapping[str, Real], counts: Array, threshold: float | None, *, of_reports: bool
) -> FileRisk:
    """The original file: one chance in the size of a cell; of reports a bound, and no true keys."""
    risk, population = per_cell["before"], per_cell.get("population")
    sample = None
    if population is not None:
        sample = SampleRisk(
            float((population * counts).sum()), float(population.max()), identity.largest_inclusion(own)
        )
    small = SmallCells.of(own)
    return FileRisk(
        records=own.n,
        cells=len(own),
        small=small,
        expected_matches=float((risk * counts).sum()) if of_reports else float(len(own)),
        guess_probability=None if of_reports else 1.0,
        expected_uniques=float(small.uniques),
        expected_true_uniques=None if of_reports else float(small.uniques),
        sample=sample,
        **chance_figures(risk, counts, threshold, dict.fromkeys(_INSIDE, risk)),
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    risks: identity.CellRisks  # of all cells
    # expected released uniques, and records whose true cell is the best guess: ``sum_x max_j p_xj N_j``
    uniques: float
    right: float
    # risks in the file as it came out, for somebody who compares all counts; None where not known
    realised: Real | None

    @classmethod
    def of(
        cls, stages: Sequence[Stage], table: CellTable, keys: Sequence[str], level: float, drawn: CellTable | None
    ) -> _Measured:
        order, parts = list[Array](), list[_Measured]()
        for cells, arrivals in arrival_parts(stages, table, keys, released=drawn):
            risks, uniques = identity.risks_of_stages(arrivals, stages, keys, level)
            if drawn is None:
                realised = None
            elif identity.keeps_counts(stages, keys):  # an exchange that keeps every count tells nothing by the counts
                realised = risks.any_release
            else:
                realised = _as_released(arrivals, stages, keys)
            order.append(cells)
            parts.append(cls(risks, uniques, float(arrivals.best_guesses().sum()), realised))
            give_back_memory()  # of the threads, each of which keeps its own
        if len(parts) == 1:
            return parts[0]
        place = np.argsort(np.concatenate(order), kind="stable")

        def joined(values: Sequence[Real]) -> Real:
            return np.asarray(np.concatenate(values)[place])

        names = [one.name for one in fields(identity.CellRisks) if one.name != "cells"]
        risks = identity.CellRisks(
            np.arange(len(place)), *(joined([getattr(p.risks, name) for p in parts]) for name in names)
        )
        known = [part.realised for part in parts if part.realised is not None]
        every = joined(known) if len(known) == len(parts) else None
        return cls(risks, sum(part.uniques for part in parts), sum(part.right for part in parts), every)

    def by_name(self, names: Sequence[str]) -> dict[str, Real]:
        """These risks of all cells, and that of the realised file where it is known."""
        risks = {name: getattr(self.risks, name) for name in names}
        return risks if self.realised is None else risks | {"released_counts": self.realised}


_KEPT = ("unconditional", "in_range", "strict", "any_release", "kept")


def _as_released(
    arrivals: Arrivals, stages: Sequence[Stage], keys: Sequence[str], factors: Real | None = None
) -> Real | None:
    """Risks of cells in the realised file, for an intruder who compares all counts; None where not known."""
    if not isinstance(arrivals, SparseArrivals) or identity.has_exchange(stages, keys):
        return None
    return realised_risks(arrivals, factors)


def risks_as_released(
    table: CellTable, keys: Sequence[str], stages: Sequence[Stage], released: CellTable, factors: Real
) -> Real | None:
    """Risks of cells for who compares all counts, with ``factors`` as in `realised_risks`; None where not known."""
    risk = np.zeros(len(table))
    for cells, arrivals in arrival_parts(stages, table, keys, released=released):
        part = _as_released(arrivals, stages, keys, factors[cells])
        if part is None:
            return None
        risk[cells] = part
        give_back_memory()
    return risk


_INSIDE = ("in_range", "strict", "any_release")


def _larger(
    measured: Mapping[str, Real],
    inside: Mapping[str, Real],
    table: CellTable,
    finer: CellTable,
    keys: Sequence[str],
    known: Sequence[str],
    *,
    dealt: bool,
) -> dict[str, Real]:
    """The larger risk of two ways to count, for each cell; what is known of one way only is left out.

    Regions that are ``dealt`` to units of a pool do not come independently: the figure is for who knows the pool.
    """
    within, own, place = finer.project(known), finer.project(keys), cells_in(finer, table)
    shares = within.counts[cells_in(finer, within)] / own.counts[cells_in(finer, own)]  # ``N_xy / N_x`` of each cell
    if dealt:
        shares = np.ones(len(finer))
    larger = dict(measured)
    for name in (*_INSIDE, "released_counts"):
        if name in inside and name in larger:
            larger[name] = larger[name].copy()
            np.maximum.at(larger[name], place, inside[name] * shares)
        else:
            larger.pop(name, None)
    return larger


def _after(
    own: CellTable,
    drawn: CellTable | None,
    whole: _Measured,
    threshold: float | None,
    per_cell: Mapping[str, Real],
    inclusion: float | None,
) -> FileRisk:
    """The released file, realised or possible; nobody is identified more often than sampled, ``inclusion``."""
    risks, sample = whole.risks, None
    if "population" in per_cell:
        part = per_cell["population"] / per_cell["before"]
        matches = float((risks.unconditional * risks.counts * part).sum())
        sample = SampleRisk(matches, largest_in_population(per_cell), inclusion)
    return FileRisk(
        records=own.n,
        cells=len(own) if drawn is None else len(drawn),
        small=None if drawn is None else SmallCells.of(drawn),
        expected_matches=float((risks.unconditional * risks.counts).sum()),
        guess_probability=whole.right / own.n,
        expected_uniques=whole.uniques,
        expected_true_uniques=float(risks.true_unique.sum()),
        sample=sample,
        **chance_figures(per_cell["after"], risks.counts, threshold, per_cell),
    )


def largest_in_population(per_cell: Mapping[str, Real]) -> float:
    """The largest chance of a match after a release if it is not known who is in the sample."""
    return float((per_cell["after"] * per_cell["population"] / per_cell["before"]).max())


def remeasured(report: RiskReport, measured: Mapping[str, Real]) -> RiskReport:
    """A report with other chances of a match; what comparing all counts adds is left out where it is not among them."""
    assert report.after is not None
    intruder = intruder_named(report.intruder)
    chance, sample = intruder.chances(measured), report.after.sample
    known = {name: values for name, values in report.per_cell.items() if name != "released_counts"}
    per_cell = {**known, **measured, "after": chance}
    after = replace(
        report.after,
        sample=None if sample is None else replace(sample, max_risk_population=largest_in_population(per_cell)),
        **chance_figures(chance, report.table.counts, report.threshold, measured),
    )
    before = {*intruder.unsaid(report.after, report.level)}
    flags = [flag for flag in report.flags if flag not in before]
    flags += intruder.unsaid(after, report.level)
    return replace(report, after=after, per_cell=per_cell, flags=tuple(flags))


def _flags(own: CellTable, stages: Sequence[Stage], *, weights: bool) -> Iterator[str]:
    if weights:
        yield Note("risk-of-a-sample")
        light = 0 if own.weights is None else int(below(own.weights, own.counts).sum())
        if light:
            yield Note("weights-sum-to-less-than-records", cells=light)
    if stages:
        yield Note("released-uniques-are-often-others") if acting(stages, own.columns) else Note("no-key-is-randomized")
    if identity.has_exchange(stages, own.columns) and not identity.keeps_counts(stages, own.columns):
        yield Note("exchange-beyond-the-keys")


@dataclass(frozen=True)
class LevelContribution:
    """The risk of the records with one label of a key variable."""

    variable: str  # variable, level, records: the variable, its label and the records that have it
    level: Hashable
    records: int
    mean_risk: float  # mean_risk, max_risk: mean and largest chance of a correct match of these records
    max_risk: float
    matches: float  # expected correct matches among them, each record with the risk that it has

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def level_contributions(report: RiskReport) -> list[LevelContribution]:
    """The risk of each label of each key, those with the largest mean risk first."""
    table, risk = report.table, report.risk
    matched = report.per_cell["before" if report.after is None else "unconditional"]
    levels = []
    for name in report.keys:
        place = table.place(name)
        codes, size = table.codes[:, place], len(table.levels[place])
        records, risks, matches = (
            np.bincount(codes, weights=table.counts * values, minlength=size) for values in (1, risk, matched)
        )
        largest = np.zeros(size)
        np.maximum.at(largest, codes, risk)
        levels += [
            LevelContribution(
                variable=name,
                level=table.levels[place][code],
                records=int(records[code]),
                mean_risk=float(risks[code] / records[code]),
                max_risk=float(largest[code]),
                matches=float(matches[code]),
            )
            for code in np.flatnonzero(records).tolist()
        ]
    return sorted(levels, key=lambda level: (-level.mean_risk, -level.matches))


@dataclass(frozen=True)
class VariableContribution:
    """How much less an intruder could do who does not know one variable."""

    variable: str  # its name
    matches: float  # matches, matches_without: expected correct matches with the whole key, and without the variable
    matches_without: float
    uniques_without: float  # expected uniques without the variable
    max_risk_without: float  # the largest chance of a correct match without it
    share: float  # share of the expected matches that would be gone

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def variable_contributions(
    table: CellTable,
    keys: Sequence[str],
    stages: Sequence[Stage] = (),
    *,
    level: float = 0.95,
    parities: Mapping[str, Parity] | None = None,
) -> list[VariableContribution]:
    """What each key adds, the largest first."""

    def known(names: Sequence[str]) -> FileRisk:
        reported = {name: parity for name, parity in (parities or {}).items() if name in names}
        return assess_risk(table, names, stages, level=level, parities=reported).now

    matches, added = known(keys).expected_matches, []
    for name in keys:
        others = [key for key in keys if key != name]
        if others:
            left = known(others)
            figures = left.expected_matches, left.expected_uniques, left.max_risk
        else:  # who knows nothing picks any record
            figures = 1.0, float(table.n == 1), 1 / table.n
        share = 1 - figures[0] / matches if matches else 0.0
        added.append(VariableContribution(name, matches, *figures, share))
    return sorted(added, key=lambda one: one.matches_without)
