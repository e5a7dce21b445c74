"""*Before and after a release*: risk per record as two distributions with the bound drawn, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.percentages import as_decimal, bound_in_percent, percent
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import above, at_least
from maskwell.errors import InputError, ParameterError
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.stages.stage import Stage
from maskwell.notes import Note
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Row, Sheet, rows_height, write_rows
from maskwell.reports.plain_words import count, counted
from maskwell.reports.text.names_in_words import columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 250
MOST_COSTS = 7
SHOWN_RISKS = (Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(1, 10), Fraction(1, 100))


def plot_release_risk(release: AnyRelease) -> Picture:
    """Risk of the records of a file before and after its release, against the bound, and what the release costs.

    The risk after is the largest chance of a correct match by the intruder that the limit of the plan is for.
    """
    check_kind(AnyRelease, release=release)
    if release.risk is None:
        raise InputError("the-release-has-no-risk")
    return plot_risk_report(release.risk, costs=[_cost(release, stage) for stage in release.stages])


def plot_risk_report(report: RiskReport, *, costs: Sequence[Cost] = ()) -> Picture:
    """The same from the risk of a file and its release alone, without what it costs unless that is given."""
    if report.after is None:
        raise InputError("the-file-is-not-released-so")
    before, after = (RiskSpread.of(report.per_cell[when], report.table.counts) for when in ("before", "after"))
    return draw_release_risk(before, after, bound=report.threshold, costs=costs, keys=report.keys)


def _cost(release: AnyRelease, stage: Stage) -> Cost:
    variables = release.utility.variables
    inflation = [
        one.worst for name in stage.variables if name in variables and (one := variables[name].inflation) is not None
    ]
    realised = None
    if len(stage.variables) == 1 and stage.variables[0] in release.changed:  # of several, each is counted on its own
        realised = release.changed[stage.variables[0]] / max(1, release.rows)
    return Cost(columns_of(stage), stage.expected_changed(), realised, max(inflation, default=None))


def draw_release_risk(
    before: RiskSpread, after: RiskSpread, *, bound: float | None, costs: Sequence[Cost] = (), keys: Sequence[str] = ()
) -> Picture:
    """The picture from its parts; :func:`plot_release_risk` takes them from a release."""
    drawn, listed = list(costs[:MOST_COSTS]), {*SHOWN_RISKS, *([] if bound is None else [as_decimal(bound)])}
    return Picture(
        name="release-risk",
        title="Before and after a release",
        text=_in_words(before, after, bound, costs, keys),
        data={
            "risk_before": before.risk,
            "records_before": before.records,
            "risk_after": after.risk,
            "records_after": after.records,
            "changed": np.array([cost.changed for cost in costs]),
        },
        columns=["probability of a correct match, at least", "records before", "records after"],
        rows=[
            [bound_in_percent(r, up=False), count(before.at_least(float(r))), count(after.at_least(float(r)))]
            for r in sorted(listed, reverse=True)
        ],
        draw=lambda sheet: _draw(sheet, before, after, bound, drawn),
    )


def _in_words(
    before: RiskSpread, after: RiskSpread, bound: float | None, costs: Sequence[Cost], keys: Sequence[str]
) -> str:
    who = f"who knows {', '.join(keys)} of a person" if keys else "who knows the key variables of a person"
    records, found = counted(before.n, "record", "records"), count(before.at_least(before.most))
    said: str = Note(
        "picture-of-a-release", who=who, records=records, before=_most(before), found=found, after=_most(after)
    )
    if bound is not None:
        above, earlier = after.above(bound), count(before.above(bound))
        said += f" The bound is {bound_in_percent(bound, up=True)}: {earlier} records were above it, "
        said += f"{count(above) if above else 'none'} still {'are' if above != 1 else 'is'}."
    changes = "; ".join(f"{c.label} {percent(c.changed)} percent" for c in costs)
    return said + (f" Records that change: {changes}." if changes else "")


def _most(spread: RiskSpread) -> str:
    return bound_in_percent(spread.most, up=True)


def _notes(before: RiskSpread, after: RiskSpread, bound: float | None) -> list[LegendEntry]:
    notes = [
        LegendEntry(f"before: up to {_most(before)}", marks.line(**marks.look("before"))),
        LegendEntry(f"after: up to {_most(after)}", marks.line(**marks.look("after"))),
    ]
    if bound is None:
        return notes
    above = after.above(bound)
    said = "no record is above it" if not above else f"{counted(above, 'record', 'records')} still above it"
    return [
        *notes,
        LegendEntry(
            f"bound of {bound_in_percent(bound, up=True)}: {said} after the release", marks.area(**marks.look("beyond"))
        ),
    ]


def _draw(sheet: Sheet, before: RiskSpread, after: RiskSpread, bound: float | None, costs: Sequence[Cost]) -> None:
    inflations = [
        "" if cost.inflation is None else f", variances up to × {Printed(cost.inflation):.2f}" for cost in costs
    ]
    rows = [Row(cost.label, f"{percent(cost.changed)} %{more}") for cost, more in zip(costs, inflations, strict=True)]
    curves, *beside = sheet.plots(HEIGHT, *([rows_height(rows)] if costs else []))
    _curves(curves, before, after, bound)
    sheet.below += _notes(before, after, bound)
    if costs:
        _costs(beside[0], costs, rows)
        sheet.below.append(LegendEntry("records that change, expected", marks.area(**marks.look("added"))))
        if any(cost.realised is not None for cost in costs):
            sheet.below.append(
                LegendEntry("records that changed, as realised", marks.bar(color=colour("ink"), linewidth=2))
            )


def _curves(axes: Axes, before: RiskSpread, after: RiskSpread, bound: float | None) -> None:
    axes.set(xlim=(0, 1), ylim=(FLOOR, 1.6 * before.n), yscale="log")
    marks.count_ticks(axes.yaxis, max(10, before.n))
    marks.whole_percent_ticks(axes.xaxis)
    if bound is not None:
        axes.axvspan(bound, 1, **marks.look("beyond"))
        axes.axvline(bound, color=colour("risk"), linewidth=1.4, zorder=3)
        at, align = (bound - 0.015, "right") if bound > 0.5 else (bound + 0.015, "left")
        words = f"bound {bound_in_percent(bound, up=True)}"
        axes.text(at, 1.15 * before.n, words, color=colour("risk"), ha=align, va="center")
    _curve(axes, before, marks.look("before"))
    _curve(axes, after, marks.look("after"))
    axes.axhline(FLOOR, color=colour("muted"), linewidth=1)
    axes.set_title("Records with at least this risk")
    axes.set_xlabel("Probability of a correct match, %")


FLOOR = 0.6  # where the scale of records ends; below one record there is none


def _curve(axes: Axes, spread: RiskSpread, style: dict[str, Any]) -> None:
    """A step down at each risk that records have, to the floor at the greatest."""
    risk, records = spread.steps()
    x = np.concatenate([[0], np.repeat(risk, 2)])
    y = np.concatenate([np.repeat(records, 2), [FLOOR]])
    axes.plot(x, y, **style, clip_on=False)


ENDS = (0.02, 0.1, 0.2, 0.5, 1.0)  # where the scale may end


@dataclass(frozen=True)
class Cost:
    """What a release does to a group of columns: share of records that change, expected and realised."""

    label: str
    changed: float
    realised: float | None = None
    inflation: float | None = None


def _costs(axes: Axes, costs: Sequence[Cost], rows: Sequence[Row]) -> None:
    """A bar for the share of records that change, with what was realised."""
    widest = max(max(c.changed, c.realised or 0.0) for c in costs)
    end = next((end for end in ENDS if end >= widest), ENDS[-1])
    axes.set_xlim(0, end)
    axes.set_xticks([0, end / 2, end], ["0", f"{Printed(50 * end):g}", f"{Printed(100 * end):g}"])
    for cost, y in zip(costs, write_rows(axes, rows), strict=True):
        axes.fill(*marks.box_at(0, cost.changed, y), zorder=3, **marks.look("added"))
        marks.upright(axes, 0, y, color=colour("muted"), linewidth=1.4, clip_on=False, zorder=4)
        if cost.realised is not None:
            marks.upright(axes, cost.realised, y, clip_on=False)
    axes.set_title("What it costs")
    axes.set_xlabel("Records that change, %")


MOST_STEPS = 300


@dataclass(frozen=True, eq=False)
class RiskSpread:
    """How risk is spread over the records of a file."""

    risk: Real  # distinct risks, ascending, shape (r,)
    records: Array  # records that have each of them, shape (r,)

    @classmethod
    def of(cls, risk: Real, records: Array) -> RiskSpread:
        """From the risk of a record of each cell, and the number of its records."""
        if len(risk) == 0:
            raise ParameterError("there-is-no-record-whose-risk")
        levels, places = np.unique(np.asarray(risk, dtype=np.float64), return_inverse=True)
        return cls(levels, np.bincount(places, weights=records, minlength=len(levels)).astype(np.int64))

    @property
    def n(self) -> int:
        """Records in all."""
        return int(self.records.sum())

    @property
    def most(self) -> float:
        """The greatest risk."""
        return float(self.risk[-1])

    def at_least(self, risk: float) -> int:
        """Records with at least this risk."""
        return int(self.records[at_least(self.risk, risk, scale=1)].sum())

    def above(self, risk: float) -> int:
        """Records with more than this risk."""
        return int(self.records[above(self.risk, risk, scale=1)].sum())

    def steps(self) -> tuple[Real, Real]:
        """The curve of records with at least each risk, at not too many places."""
        falling = np.cumsum(self.records[::-1])[::-1].astype(np.float64)
        if len(self.risk) > MOST_STEPS:  # a curve that would not look different
            places = np.unique(np.searchsorted(self.risk, np.linspace(0, self.most, MOST_STEPS)))
            return self.risk[places], falling[places]
        return self.risk, falling
