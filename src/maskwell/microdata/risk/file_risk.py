"""The disclosure risk of a whole file, before and after its release, and what each key variable adds to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, RealNumber, as_real, check_kind, check_level, list_of
from maskwell.core.cells import CellTable, give_back_memory
from maskwell.core.exact import Parity
from maskwell.core.groups import find_keys, number_cells
from maskwell.core.verdicts import above, below
from maskwell.errors import CountsError, ParameterError
from maskwell.microdata.risk.arrivals import Arrivals, SparseArrivals, arrival_parts
from maskwell.microdata.risk.binomial_sums import row_sums
from maskwell.microdata.risk.identity_disclosure import (
    CellRisks,
    exchanged_risks,
    has_exchange,
    individual_risk,
    keeps_counts,
    largest_inclusion,
    match_bound_of_reports,
    risks_of,
    swapped_risks,
)
from maskwell.microdata.risk.intruders import ANY_LOOK, MEASURES, chance_said, intruder_named
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.risk.risk_report import (
    FileRisk,
    RiskReport,
    SampleRisk,
    SmallCells,
    count_above,
    largest_by_measure,
    percentile,
)
from maskwell.microdata.stages.stage import Stage, acting, needed_columns, unchanged_columns

UNUSUAL = "k-anonymity of a randomized file is not the usual guarantee: a released unique is often not the person"
EXCHANGED = (
    "the chance of a match is taken to be that of the original file: what an exchange hides is known only where all"
    " keys are exchanged, or columns of its within"
)
SAMPLED = (
    "not knowing who is in the sample: chances are estimated from the weights by a model, as sdcMicro does; what holds"
    " at most is the chance before the sample is drawn, which needs no model, but weights that are one over the chance"
    " to be in the sample"
)
LIGHT = "in {cells:,} cells the weights sum to less than the records; they are taken to be the whole population"
FINDS_MORE = "someone who "
BEST = (
    f"{FINDS_MORE}knows the matrices and looks at the released value that serves best can find a record with a chance"
    " of {most:g}"
)
COUNTS = (
    f"{FINDS_MORE}compares all released counts with the true ones can find a record of this very file with a chance"
    " of {most:g}"
)
NOT_COVERED = (
    "not covered: someone who knows all true counts and compares them with the released ones; the file is too large to"
    " tell what that adds"
)
UNTOUCHED = "no stage randomizes a key: the risk of a match is that of the original file"


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
    """The risk that somebody who knows the key of a person finds the person's record.

    Unchanged columns are seen in the released file, and records can be counted inside their cells. Where ``N_xy`` of
    the ``N_x`` records of a key are in cell y, whoever counts there finds one of them with ``N_xy / N_x`` times the
    chance of somebody who knows y as well. Source: derived.

    Parameters
    ----------
    table
        Counts of the original file over the key and the columns of :func:`needed_columns`.
    keys
        Columns that an intruder knows.
    stages
        The randomizations of the release; none for the file as it is.
    released
        Counts of the released file over the key and the columns that are seen, where it is drawn.
    threshold
        A chance of a correct match; records above it are counted.
    level
        Probability of the range of released records with a key over which the largest chance is taken.
    weights
        Whether the weights of the table are sampling weights, from which the population is estimated.
    intruder
        Whom the threshold speaks of: one of :data:`~maskwell.microdata.risk.intruders.INTRUDERS`.
    seen
        Unchanged columns inside whose cells records are counted, too: by default those within which a key is
        randomized.
    parities
        Parity of the design of each key whose values are randomized reports. Then the risk is an upper bound: see
        :func:`~maskwell.microdata.risk.identity_disclosure.match_bound_of_reports`.

    >>> table = CellTable.of(["town", "job"], {("A", "baker"): 1, ("A", "clerk"): 5, ("B", "clerk"): 3})
    >>> report = assess_risk(table, ["town", "job"])
    >>> report.before.uniques, report.before.expected_matches   # one record in each of three cells can be found
    (1, 3.0)
    """
    check_kind(RealNumber | None, threshold=threshold)
    threshold = None if threshold is None else as_real(threshold, "threshold")
    check_kind(Flag, weights=weights)
    check_kind(Mapping | None, parities=parities)
    seen = None if seen is None else list_of(str, seen, "seen")
    check_kind(CellTable, table=table)
    stages = list_of(Stage, stages, "stages")
    check_kind(CellTable | None, released=released)
    check_kind(str, intruder=intruder)
    check_level(level)
    keys = _checked_keys(list_of(str, keys, "keys"))
    known = (*keys, *(unchanged_columns(stages, keys) if seen is None else seen))
    finer = table.project(needed_columns(stages, known))
    table = table.project(needed_columns(stages, keys))
    own = _cells_of_keys(table, keys)
    place = cells_in(table, own)
    per_cell = {"before": _chances(own, parities or {})[place]}
    per_cell |= {"population": _population(own)[place]} if weights else {}
    before, after = _before(own, per_cell, table, threshold), None
    before = _of_reports(before, per_cell["before"], table) if parities else before
    if stages:
        drawn = None if released is None else released.project(keys)
        whole = _Measured.of(stages, table, keys, level, drawn)
        measured = whole.by_name(_KEPT)
        if len(known) > len(keys):
            inside = _counted_inside(finer, known, stages, level, released)
            measured = _larger(measured, inside, _shares(finer, keys, known), cells_in(finer, table))
        per_cell |= {"after": intruder_named(intruder).chances(measured)} | measured
        after = _after(own, drawn, whole, threshold, per_cell)
        if weights:
            after = _of_sample(after, whole.risks, per_cell, before.max_risk_sampled)
    return RiskReport(
        keys=keys,
        before=before,
        after=after,
        threshold=threshold,
        level=level,
        table=table,
        per_cell=per_cell,
        intruder=intruder,
        flags=(*_flags(own, stages, weights=weights), *beyond(after, intruder, level)),
    )


def _checked_keys(keys: Sequence[str]) -> tuple[str, ...]:
    if not keys:
        raise ParameterError("no-keys-are-given")
    return tuple(dict.fromkeys(keys))


def _cells_of_keys(table: CellTable, keys: Sequence[str]) -> CellTable:
    own = table.project(keys)
    if not len(own):
        raise CountsError("the-table-has-no-records")
    return own


def cells_in(table: CellTable, coarser: CellTable) -> Array:
    """The cell of a coarser table that each cell of a table lies in."""
    codes = table.codes[:, [table.place(name) for name in coarser.columns]]
    return find_keys(*number_cells(coarser.sizes, coarser.codes, codes))


def _population(own: CellTable) -> Real:
    if own.weights is None:
        raise ParameterError("the-table-has-no-weights")
    return individual_risk(own.counts, own.weights)


def _chances(own: CellTable, parities: Mapping[str, Parity]) -> Real:
    """The probability of a correct match in each cell of the file as it is; a bound where keys are reports."""
    if not parities:
        return np.asarray(1 / own.counts)
    seen = [_unchanged(own, name, reported=name in parities) for name in own.columns]
    _, place = np.unique(np.column_stack(seen), axis=0, return_inverse=True)
    candidates = np.bincount(place.ravel(), own.counts).astype(np.float64)[place.ravel()]
    return match_bound_of_reports(own.counts.astype(np.float64), candidates, math.prod(parities.values()))


def _unchanged(own: CellTable, name: str, *, reported: bool) -> Array:
    """What a column of each cell shows as it is: all of it, and of reports whether there is one."""
    place = own.place(name)
    codes, levels = own.codes[:, place], own.levels[place]
    lacking = len(levels) - 1 if levels and levels[-1] is None else -1
    return np.asarray(codes == lacking if reported else codes, dtype=np.int64)


def _of_reports(before: FileRisk, risk: Real, table: CellTable) -> FileRisk:
    """A file of reports: matches are bounded, and how many true keys are unique is not known."""
    matches = float((risk * table.counts).sum())
    return replace(before, expected_matches=matches, guess_probability=None, expected_true_uniques=None)


def _before(own: CellTable, per_cell: Mapping[str, Real], table: CellTable, threshold: float | None) -> FileRisk:
    """The original file: everybody in a cell is found with one chance in its size."""
    risk, population = per_cell["before"], per_cell.get("population")
    small = SmallCells.of(own)
    return FileRisk(
        records=own.n,
        cells=len(own),
        small=small,
        expected_matches=float(len(own)),
        guess_probability=1.0,
        expected_uniques=float(small.uniques),
        expected_true_uniques=float(small.uniques),
        max_risk=float(risk.max()),
        max_risk_by=dict.fromkeys(MEASURES[:-1], float(risk.max())),  # none is drawn, so no counts are compared
        percentile_95=percentile(risk, table.counts, 0.95),
        records_above=count_above(risk, table.counts, threshold),
        sample=None if population is None else _sampled(population, table, own),
    )


def _sampled(population: Real, table: CellTable, own: CellTable) -> SampleRisk:
    return SampleRisk(float((population * table.counts).sum()), float(population.max()), largest_inclusion(own))


@dataclass(frozen=True, eq=False)
class _Measured:
    """What is measured of the cells of a file, part by part."""

    risks: CellRisks  # of all cells
    # uniques, right: expected released uniques, and records whose true cell is the best guess from the released one,
    # ``sum_x max_j p_xj N_j``
    uniques: float
    right: float
    # risks in the file as it came out, for somebody who compares all counts; None where not known
    realised: Real | None

    @classmethod
    def of(
        cls, stages: Sequence[Stage], table: CellTable, keys: Sequence[str], level: float, drawn: CellTable | None
    ) -> _Measured:
        """Of a table whose cells all have records."""
        order, parts = list[Array](), list[_Measured]()
        for cells, arrivals in arrival_parts(stages, table, keys, released=drawn):
            risks, uniques = _risks(arrivals, stages, keys, level)
            realised = None if drawn is None else _realised(arrivals, risks, stages, keys)
            order.append(cells)
            parts.append(cls(risks, uniques, float(arrivals.best_guesses().sum()), realised))
            give_back_memory()  # of the threads, each of which keeps its own
        if len(parts) == 1:
            return parts[0]
        place = np.argsort(np.concatenate(order), kind="stable")

        def joined(values: Sequence[Real]) -> Real:
            return np.asarray(np.concatenate(values)[place])

        names = [one.name for one in fields(CellRisks) if one.name != "cells"]
        risks = CellRisks(np.arange(len(place)), *(joined([getattr(p.risks, name) for p in parts]) for name in names))
        known = [part.realised for part in parts if part.realised is not None]
        every = joined(known) if len(known) == len(parts) else None
        return cls(risks, sum(part.uniques for part in parts), sum(part.right for part in parts), every)

    def by_name(self, names: Sequence[str]) -> dict[str, Real]:
        """These risks of all cells, and that of the file as it came out where it is known."""
        risks = {name: getattr(self.risks, name) for name in names}
        return risks if self.realised is None else risks | {"released_counts": self.realised}


_KEPT = ("unconditional", "in_range", "strict", "any_release", "kept")


def _risks(arrivals: Arrivals, stages: Sequence[Stage], keys: Sequence[str], level: float) -> tuple[CellRisks, float]:
    """Risks of all cells, and the expected released uniques."""
    if keeps_counts(stages, keys) and isinstance(arrivals, SparseArrivals):
        sizes = row_sums(arrivals.own, arrivals.counts, arrivals.rows)
        return swapped_risks(arrivals), float((sizes == 1).sum())
    risks = risks_of(arrivals, level=level)
    return exchanged_risks(risks) if has_exchange(stages, keys) else risks, arrivals.expected_uniques()


def risks_as_released(
    table: CellTable, keys: Sequence[str], stages: Sequence[Stage], released: CellTable, factors: Real
) -> Real | None:
    """Risks in the file as it came out, for somebody who compares all counts; ``factors`` as in `realised_risks`.

    The table has the columns of :func:`needed_columns` in their order. ``None`` where not known.
    """
    risk = np.zeros(len(table))
    for cells, arrivals in arrival_parts(stages, table, keys, released=released):
        if not isinstance(arrivals, SparseArrivals) or has_exchange(stages, keys):
            return None
        told = realised_risks(arrivals, factors[cells])
        if told is None:
            return None
        risk[cells] = told
        give_back_memory()
    return risk


def _realised(arrivals: Arrivals, risks: CellRisks, stages: Sequence[Stage], keys: Sequence[str]) -> Real | None:
    """Risks of the cells in the file as it came out, for somebody who compares all counts; None where not known.

    An exchange that keeps every count tells nothing by the counts; of others nothing is known.
    """
    if keeps_counts(stages, keys):
        return risks.any_release
    if not isinstance(arrivals, SparseArrivals) or has_exchange(stages, keys):
        return None
    return realised_risks(arrivals)


_INSIDE = ("in_range", "strict", "any_release")


def _counted_inside(
    finer: CellTable, known: Sequence[str], stages: Sequence[Stage], level: float, released: CellTable | None
) -> dict[str, Real]:
    """Risks of the cells of a table for somebody who knows the key and the columns that are seen."""
    drawn = released.project(known) if released is not None and {*known} <= {*released.columns} else None
    return _Measured.of(stages, finer, known, level, drawn).by_name(_INSIDE)


def _shares(finer: CellTable, keys: Sequence[str], known: Sequence[str]) -> Real:
    """For each cell ``N_xy / N_x``: how many of the records with its key share the columns that are seen."""
    inside, own = finer.project(known), finer.project(keys)
    return inside.counts[cells_in(finer, inside)] / own.counts[cells_in(finer, own)]


def _larger(measured: Mapping[str, Real], inside: Mapping[str, Real], shares: Real, place: Array) -> dict[str, Real]:
    """The larger risk of two ways to count, for each cell; what is known of one way only is left out."""
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
) -> FileRisk:
    """The released file: as it came out where it is drawn, and as it may come out."""
    risks = whole.risks
    return FileRisk(
        records=own.n,
        cells=len(own) if drawn is None else len(drawn),
        small=None if drawn is None else SmallCells.of(drawn),
        expected_matches=float((risks.unconditional * risks.counts).sum()),
        guess_probability=whole.right / own.n,
        expected_uniques=whole.uniques,
        expected_true_uniques=float(risks.true_unique.sum()),
        max_risk=float(per_cell["after"].max()),
        max_risk_by=largest_by_measure(per_cell),
        percentile_95=percentile(per_cell["after"], risks.counts, 0.95),
        records_above=count_above(per_cell["after"], risks.counts, threshold),
    )


def _of_sample(after: FileRisk, risks: CellRisks, per_cell: Mapping[str, Real], inclusion: float | None) -> FileRisk:
    """The released file if it is not known who is in the sample: nobody is found more often than sampled."""
    part = per_cell["population"] / per_cell["before"]
    matches = float((risks.unconditional * risks.counts * part).sum())
    return replace(after, sample=SampleRisk(matches, largest_in_population(per_cell), inclusion))


def largest_in_population(per_cell: Mapping[str, Real]) -> float:
    """The largest chance of a match after a release if it is not known who is in the sample.

    Chances are multiplied by what goes with not knowing it, as it was before.
    """
    return float((per_cell["after"] * per_cell["population"] / per_cell["before"]).max())


def beyond(after: FileRisk | None, intruder: str, level: float) -> Iterator[str]:
    """What the figure of the intruder does not say: rare releases, smarter ones, and who compares all counts."""
    if after is None:
        return
    said = after.max_risk
    yield from intruder_named(intruder).left_out(after, level)
    if above(after.max_risk_any_release, said, scale=1):
        yield BEST.format(most=chance_said(after.max_risk_any_release))
    if after.max_risk_released_counts is not None and above(after.max_risk_released_counts, said, scale=1):
        yield COUNTS.format(most=chance_said(after.max_risk_released_counts))
    if after.smallest is not None and after.max_risk_released_counts is None:
        yield NOT_COVERED


def _flags(own: CellTable, stages: Sequence[Stage], *, weights: bool) -> Iterator[str]:
    light = 0 if own.weights is None else int(below(own.weights, own.counts).sum())
    if weights:
        yield SAMPLED
    if weights and light:
        yield LIGHT.format(cells=light)
    if not stages:
        return
    on_key = acting(stages, own.columns)
    yield UNUSUAL if on_key else UNTOUCHED
    if has_exchange(stages, own.columns) and not keeps_counts(stages, own.columns):
        yield EXCHANGED
