"""*What we learn from everyone*: estimates with intervals, and what their width would be without randomization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, RealNumber, as_floats, as_list, check_kind, check_level
from maskwell.core.percentages import SPACE, percent
from maskwell.core.phrases import HINT, Printed, listed, shorten
from maskwell.errors import LabelError, ParameterError
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import METHOD_NAMES, Estimate
from maskwell.estimation.summed_shares import of_sums
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import LINES, Draw, Picture, ordered, page_words
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Row, Sheet, rows_height, write_rows
from maskwell.reports.plain_words import decimals_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_learned(
    estimate: Estimate,
    *,
    truth: Real | None = None,
    reported: Real | None = None,
    level: float = 0.95,
    interval: str | None = None,
    by: str = "group",
    order: str | Sequence[Any] = "given",
    sums: Estimate | None = None,
    categories: Sequence[Any] | None = None,
) -> Picture:
    """Estimates with intervals; long labels are wrapped, and many lines are parted into pages.

    The inner part of an interval is what open answers of the same people would have left uncertain (their Wald
    interval), the rest is what randomization adds. Variances add up, half widths do not.

    Parameters
    ----------
    estimate
        Estimated shares. Where it has domains, each has lines of its own below those of everyone: of the first of two
        categories, or of all categories.
    truth
        True shares where they are known, as in a simulation, shape (k,); domains are then not drawn.
    reported
        Shares of the reports, where reports are the same categories, shape (k,); domains are then not drawn.
    level, interval
        Of the intervals: their level, and the method by its name.
    by
        What distinguishes the domains.
    order
        Of the groups, where one category of each is drawn, else of the categories: "given", "largest", "smallest" or
        "name", or labels in the order in which they are drawn.
    sums
        Shares of combined categories, with the same domains; each has a line below those of the categories.
    categories
        Labels of the categories and combinations that are drawn, all of them by default. Of one category each domain
        has one line.
    """
    check_level(level)
    check_kind(RealNumber, level=level)
    check_kind(Estimate, estimate=estimate)
    check_kind(str | None, interval=interval)
    check_kind(str, by=by)
    check_kind(Estimate | None, sums=sums)
    chosen = None if categories is None else _chosen(estimate, sums, categories)
    truth, reported = (_known_shares(given, len(estimate.pi_hat)) for given in (truth, reported))
    if isinstance(estimate, SurveyEstimate) and estimate.domains and truth is None and reported is None:
        lines = lines_of_domains(estimate, level=level, interval=interval, by=by, order=order, sums=sums, chosen=chosen)
    else:
        known = {"truth": truth, "reported": reported}
        lines = lines_of_everyone(
            estimate, level=level, interval=interval, known=known, order=order, sums=sums, chosen=chosen
        )
    columns, rows = lines.table()
    arrays = {"estimate": "centre", "low": "low", "high": "high", "sampling_half_width": "openly"}
    arrays |= {name: name for name in lines.known}
    pages = _pages(lines)
    return Picture(
        name="learned",
        title="What we learn from everyone",
        text=f"Estimates from {estimate.n:,} reports with {lines.words()}.",
        data={name: lines.values(source) for name, source in arrays.items()},
        columns=columns,
        rows=rows,
        draw=pages[0],
        further=tuple(pages[1:]),
    )


def _chosen(estimate: Estimate, sums: Estimate | None, categories: Sequence[Any]) -> list[str]:
    """The names of the lines that are drawn."""
    known = [_name(one) for part in (estimate, sums) if part is not None for one in part.categories]
    names = [_name(one) for one in ([categories] if isinstance(categories, str) else as_list(categories, "categories"))]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None or not names:
        raise LabelError(
            "a picture needs a category" if unknown is None else f"{shorten(repr(unknown), 40)} is not a category",
            hint=f"known: {listed(known, len(known), HINT - len('known: '))}",
        )
    return names


def _pages(lines: Lines) -> list[Draw]:
    """Lines that stand on one page each; a group that goes on has its name again."""
    starts = range(0, len(lines.lines), LINES)
    pages: list[Draw] = []
    for page, start in enumerate(starts):
        some = lines.lines[start : start + LINES]
        if page and some[0].group and not some[0].heading:
            some = (Line(f"{some[0].group} (continued)", heading=True), *some)
        part = replace(lines, lines=some, foot=page_words(page, len(starts)), limits=lines.scale)
        pages.append(partial(_draw, lines=part))
    return pages


def _known_shares(shares: Any, k: int) -> Real | None:
    if shares is None:
        return None
    known = as_floats(shares, "shares")
    if known.shape != (k,):
        raise ParameterError("shares-of-shape-for-categories", shape=known.shape, k=k)
    return known


def _draw(sheet: Sheet, *, lines: Lines) -> None:
    rows = [Row(line.label, "" if line.heading else lines.both(line), heading=line.heading) for line in lines.lines]
    (axes,) = sheet.plots(rows_height(rows))
    axes.set_xlim(lines.scale)
    marks.percent_ticks(axes.xaxis)
    axes.axvline(0, color=colour("muted"), linewidth=1)
    for line, y in zip(lines.lines, write_rows(axes, rows), strict=True):
        _estimate(axes, line, y)
    axes.set_xlabel(f"Share of {shorten(lines.share_of, 40)}, %")
    sheet.below += _key(lines)
    sheet.below += [LegendEntry(lines.foot, tone="muted")] if lines.foot else []


def _estimate(axes: Axes, line: Line, y: float) -> None:
    """One line; what is not known is not drawn."""
    if np.isfinite(line.high - line.low):
        known = np.isfinite(line.openly)
        axes.fill(
            *marks.box_at(line.low, line.high, y),
            zorder=3,
            **(marks.look("added") if known else marks.look("interval")),
        )
        if known:
            inner = np.clip([line.centre - line.openly, line.centre + line.openly], line.low, line.high)
            axes.fill(*marks.box_at(inner[0], inner[1], y), zorder=4, **marks.look("sampling"))
    if np.isfinite(line.centre):
        marks.upright(axes, line.centre, y)
    if np.isfinite(line.reported):
        axes.plot([line.reported], [y], **marks.look("reported"))
    if np.isfinite(line.truth):
        axes.plot([line.truth], [y - 9], **marks.look("true"))


def _key(lines: Lines) -> list[LegendEntry]:
    """What the marks mean, as far as there are any."""
    kinds = [f"{Printed(100 * lines.level):g} % {' and '.join(lines.methods)} interval"]
    parts = [np.isfinite(line.openly) for line in lines.estimates if np.isfinite(line.high - line.low)]
    notes = [LegendEntry("estimate", marks.bar(color=colour("ink"), linewidth=2))]
    if any(parts):
        notes += [
            LegendEntry(f"{kinds[0]}, as randomized", marks.area(**marks.look("added"))),
            LegendEntry("of it, if the same people had been asked openly", marks.area(**marks.look("sampling"))),
        ]
    if not all(parts):
        notes.append(LegendEntry(kinds[0], marks.area(**marks.look("interval"))))
    known = {
        "truth": LegendEntry("truth", marks.line(**marks.look("true"))),
        "reported": LegendEntry("reports", marks.line(**marks.look("reported"))),
    }
    return [*notes, *(known[name] for name in lines.known)]


ALL = "all"


@dataclass(frozen=True, eq=False)
class Line:
    """One estimate with its interval; a heading has a label only."""

    label: str  # label, group: its name, and that of the domain it belongs to, if any
    group: str = ""
    centre: float = np.nan  # centre, low, high: the estimate and the ends of its interval
    low: float = np.nan
    high: float = np.nan
    # half, openly: half widths of Wald intervals: as it is, and if the same people had been asked openly
    half: float = np.nan
    openly: float = np.nan
    truth: float = np.nan  # truth, reported: true share and share of the reports, NaN where they are not known
    reported: float = np.nan
    heading: bool = False
    method: str = ""  # the name of its interval


@dataclass(frozen=True, eq=False)
class Lines:
    """All lines of a picture, and what they have in common."""

    lines: tuple[Line, ...]  # from top to bottom
    share_of: str  # what the shares are of, as the axis says it
    level: float  # of the intervals
    first_columns: tuple[str, ...]  # names of the labels in the table
    known: tuple[str, ...] = ()  # which of "truth" and "reported" are known
    foot: str = ""  # which page it is, where there are several
    limits: tuple[float, float] | None = None  # of the scale, where other pages decide about it too

    @property
    def scale(self) -> tuple[float, float]:
        """Ends of the scale of shares."""
        if self.limits is not None:
            return self.limits
        drawn = np.concatenate([[0.0, 0.01], *(self.values(name) for name in ("centre", "low", "high", *self.known))])
        return float(np.nanmin(drawn)) * 1.05, float(np.nanmax(drawn)) * 1.04

    @cached_property
    def estimates(self) -> tuple[Line, ...]:
        """The lines without the headings."""
        return tuple(line for line in self.lines if not line.heading)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The names of the intervals, each once."""
        return tuple(dict.fromkeys(line.method for line in self.estimates if line.method))

    @property
    def symmetric(self) -> bool:
        """Whether all intervals reach equally far to both sides."""
        return self.methods == (METHOD_NAMES["wald"],)

    @cached_property
    def decimals(self) -> int:
        """Of all percentages."""
        return decimals_for([(line.high - line.low) / 2 for line in self.estimates])

    def values(self, name: str) -> Real:
        """One attribute of all estimates."""
        return np.array([getattr(line, name) for line in self.estimates])

    def share(self, line: Line) -> str:
        """The estimate, in percent."""
        return percent(line.centre, self.decimals)

    def ends(self, line: Line) -> str:
        """The interval, in percent."""
        return f"{percent(line.low, self.decimals)} to {percent(line.high, self.decimals)}"

    def both(self, line: Line) -> str:
        """The estimate with its interval, in percent."""
        if self.symmetric:
            return f"{self.share(line)} ± {percent(line.half, self.decimals)} %"
        return f"{self.share(line)} % ({self.ends(line)})"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the table for people."""
        ends = {} if self.symmetric else {"from": "low", "to": "high"}
        titles = {"truth": "true share", "reported": "share of reports"}
        extra = {titles[name]: name for name in self.known}
        half = f"{'' if self.symmetric else 'Wald '}half width, {Printed(100 * self.level):g}{SPACE}%"
        openly = {"of open answers": "openly"} if np.isfinite(self.values("openly")).any() else {}
        numbers = {"estimate": "centre", **ends, half: "half", **openly, **extra}
        named = len(self.methods) > 1
        rows = [
            [
                *self._names(line),
                *(self._cell(getattr(line, name)) for name in numbers.values()),
                *([line.method] if named else []),
            ]
            for line in self.estimates
        ]
        return [*self.first_columns, *numbers, *(["interval"] if named else [])], rows

    def _names(self, line: Line) -> list[str]:
        return [line.group, line.label][-len(self.first_columns) :]

    def _cell(self, value: float) -> str:
        return f"{percent(value, self.decimals)}{SPACE}%"

    def words(self) -> str:
        """All estimates in a sentence, beginning with their level."""
        return f"{Printed(100 * self.level):g} % intervals: " + "; ".join(
            f"{' '.join(self._names(line))} {self.share(line)} {self._reach(line)} percent" for line in self.estimates
        )

    def _reach(self, line: Line) -> str:
        if self.symmetric:
            return f"plus or minus {percent(line.half, self.decimals)}"
        return f"({self.ends(line)})"


def lines_of_everyone(
    estimate: Estimate,
    *,
    level: float,
    interval: str | None,
    known: Mapping[str, Real | None],
    order: str | Sequence[Any] = "given",
    sums: Estimate | None = None,
    chosen: Sequence[str] | None = None,
) -> Lines:
    """A line for each category, and for each combination of them."""
    lines = _both(estimate, sums, level, interval)
    for name, values in known.items():
        given: list[dict[str, Any]] = [] if values is None else [{name: float(x)} for x in values]
        lines[: len(given)] = [replace(line, **one) for line, one in zip(lines, given, strict=False)]
    lines = _in_order(lines, order)
    lines = lines if chosen is None else _picked(lines, chosen)
    return Lines(
        tuple(lines),
        "all people",
        level,
        ("category",),
        tuple(name for name, values in known.items() if values is not None),
    )


def _in_order(lines: Sequence[Line], order: str | Sequence[Any]) -> list[Line]:
    return [lines[i] for i in ordered([line.label for line in lines], [line.centre for line in lines], order)]


def lines_of_domains(
    estimate: SurveyEstimate,
    *,
    level: float,
    interval: str | None,
    by: str,
    order: str | Sequence[Any] = "given",
    sums: Estimate | None = None,
    chosen: Sequence[str] | None = None,
) -> Lines:
    """Everyone, then each domain: one category, if only one is drawn or there are two, or all below its name."""
    if chosen is None and sums is None and len(estimate.pi_hat) == 2:
        chosen = [_name(estimate.categories[0])]
    inner = sums.domains if isinstance(sums, SurveyEstimate) else {}
    parts = {ALL: _both(estimate, sums, level, interval)}
    parts |= {_name(name): _both(one, inner.get(name), level, interval) for name, one in estimate.domains.items()}
    parts = {name: lines if chosen is None else _picked(lines, chosen) for name, lines in parts.items()}
    if chosen is not None and len(chosen) == 1:
        everyone, *named = [replace(line, label=name, group=name) for name, (line,) in parts.items()]
        lines = [replace(everyone, group=""), *_in_order(named, order)]
    else:
        lines = [
            line
            for name, some in parts.items()
            for line in (Line(name, heading=True), *(replace(one, group=name) for one in _in_order(some, order)))
        ]
    alone = chosen[0] if chosen is not None and len(chosen) == 1 else None
    return Lines(
        tuple(lines), "each group" if alone is None else alone, level, (by, "category") if alone is None else (by,)
    )


def _both(estimate: Estimate, sums: Estimate | None, level: float, interval: str | None) -> list[Line]:
    """The lines of the categories, then those of their combinations."""
    combined = [] if sums is None else _lines(sums, level, of_sums(interval))
    return [*_lines(estimate, level, interval), *combined]


def _picked(lines: Sequence[Line], chosen: Sequence[str]) -> list[Line]:
    """The lines of these labels, in the order of the labels."""
    by_label = {line.label: line for line in lines}
    return [by_label[name] for name in chosen]


def _lines(estimate: Estimate, level: float, interval: str | None) -> list[Line]:
    z, intervals = estimate.critical_value((1 + level) / 2), estimate.intervals(level, interval)
    half, openly = z * estimate.standard_error, z * np.sqrt(np.maximum(estimate.sampling_variance, 0))
    columns = (estimate.categories, estimate.pi_hat, intervals.low, intervals.high, half, openly)
    return [
        Line(
            _name(one),
            centre=float(p),
            low=float(low),
            high=float(high),
            half=float(wide),
            openly=float(inner),
            method="" if np.isnan(p) else intervals.name,
        )
        for one, p, low, high, wide, inner in zip(*columns, strict=True)
    ]


def _name(category: object) -> str:
    """A category; a pair by its parts, without brackets that take room."""
    return ", ".join(map(str, category)) if isinstance(category, tuple) else str(category)
