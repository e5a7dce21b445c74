"""*What we learn from everyone*: estimates with intervals, and what their width would be without randomization.

A line for each category of everyone, or of everyone and each domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from maskwell.core.arguments import Real, RealNumber, as_floats, as_list, check_kind, check_level
from maskwell.core.phrases import HINT, Printed, listed, shorten
from maskwell.errors import LabelError, ParameterError
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import METHOD_NAMES, Estimate
from maskwell.estimation.summed_shares import of_sums
from maskwell.reports.pictures.canvas import (
    LINE,
    MOST_HEIGHT,
    NARROW,
    SMALL,
    WIDE,
    Canvas,
    Page,
    Picture,
    colour,
    in_pages,
    label_lines,
    labels_width,
    ordered,
    page_words,
)
from maskwell.reports.plain_words import MINUS, SPACE, decimals_for, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, SMALL_ROW, NARROW_ROW, THIN_ROW = 44, 36, 58, 30
FEW = 24
"""Lines that have room to spare; more of them are set closer."""

LABEL, MOST_LABEL = 116, 260
NAME_NARROW, THIN_LABEL, THIN_LETTER = 150, 92, 6.6
HEAD, FOOT = 48, 60
BAR = 6.0
Scales: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


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

    Beside each estimate stands the half width of its Wald interval, and within it the half width that open answers of
    the same people would have had. (Variances add up, half widths do not: with half of the variance from randomization,
    open answers have 71 % of the half width.)

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
        What tells the domains apart.
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
        heights=pages[0].heights,
        draw=pages[0].draw,
        further=tuple(pages[1:]),
        width=WIDE + lines.column - LABEL,
    )


def _chosen(estimate: Estimate, sums: Estimate | None, categories: Sequence[Any]) -> list[str]:
    """The names of the lines that are drawn."""
    known = [_name(one) for part in (estimate, sums) if part is not None for one in part.categories]
    names = [_name(one) for one in ([categories] if isinstance(categories, str) else as_list(categories, "categories"))]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None or not names:
        raise LabelError(
            "no category to draw" if unknown is None else f"no category {shorten(repr(unknown), 40)}",
            hint=f"known: {listed(known, len(known), HINT - len('known: '))}",
        )
    return names


def _pages(lines: Lines) -> list[Page]:
    """Lines that stand on one page each; a group that goes on has its name again."""
    parts = in_pages([lines.room(line).wide for line in lines.lines], MOST_HEIGHT - HEAD - FOOT)
    several = [_page_of(lines, lines.lines[part], i, len(parts)) for i, part in enumerate(parts)]
    return [_page(one) for one in several]


def _page_of(lines: Lines, some: tuple[Line, ...], page: int, pages: int) -> Lines:
    first = some[0]
    again = (Line(f"{first.group} (continued)", heading=True),) if first.group and not first.heading else ()
    return replace(lines, lines=(*again, *some), foot=page_words(page, pages), limits=lines.scales)


def _page(lines: Lines) -> Page:
    rooms = [lines.room(line) for line in lines.lines]
    wide, above, thin = (sum(getattr(room, name) for room in rooms) for name in ("wide", "above", "thin"))
    return Page((HEAD + wide + FOOT, HEAD + 90 + above + thin + FOOT), lambda canvas: _draw(canvas, lines))


def _known_shares(shares: Any, k: int) -> Real | None:
    if shares is None:
        return None
    known = as_floats(shares, "shares")
    if known.shape != (k,):
        raise ParameterError(f"shares of shape {known.shape} for {k:,} categories", hint="give one for each category")
    return known


def _draw(canvas: Canvas, lines: Lines) -> None:
    rooms = [lines.room(line) for line in lines.lines]
    if canvas.narrow:
        above, thin = [room.above for room in rooms], [room.thin for room in rooms]
        shares, widths = HEAD + 6, HEAD + 6 + sum(above) + 84
        _shares(canvas, lines, left=14, right=canvas.width - 14, top=shares, steps=above)
        _widths(canvas, lines, left=104, right=canvas.width - 14, top=widths, steps=thin)
        _name_narrow(canvas, lines, shares, widths)
    else:
        wide, left = [room.wide for room in rooms], lines.column + 16
        _shares(canvas, lines, left=left, right=left + 292, top=HEAD, steps=wide)
        _widths(canvas, lines, left=left + 320, right=left + 442, top=HEAD, steps=wide)
        for line, y in zip(lines.lines, _middles(wide), strict=True):
            _name_wide(canvas, lines, line, HEAD + y)
    canvas.text(4, canvas.height - 16, lines.foot, tone="muted", fontsize=SMALL)


def _middles(steps: Sequence[int]) -> list[float]:
    """The middle of each line, down from the first."""
    ends = np.cumsum(steps)
    return [float(end - step / 2) for end, step in zip(ends, steps, strict=True)]


def _label(canvas: Canvas, words: Sequence[str], x: float, y: float, **style: Any) -> None:
    """A label in lines around ``y``."""
    for i, line in enumerate(words):
        canvas.text(x, y + LINE * (i - (len(words) - 1) / 2), line, **style)


def _name_wide(canvas: Canvas, lines: Lines, line: Line, y: float) -> None:
    if line.heading:
        _label(canvas, label_lines(line.label, canvas.width - 8), 4, y + 4, weight="bold")
        return
    _label(canvas, label_lines(line.label, lines.column), lines.column + 4, y, align="right")
    if lines.symmetric:
        canvas.text(canvas.width - 2, y, lines.both(line), align="right")
    else:  # two short lines, where one would not fit
        canvas.text(canvas.width - 2, y - 8, f"{lines.share(line)} %", align="right")
        canvas.text(canvas.width - 2, y + 9, lines.ends(line), align="right", fontsize=SMALL)


def _name_narrow(canvas: Canvas, lines: Lines, shares: float, widths: float) -> None:
    grouped = any(line.heading for line in lines.lines)
    for line in lines.lines:
        room = lines.room(line)
        words, beside = label_lines(line.label, NAME_NARROW), label_lines(line.label, THIN_LABEL, letter=THIN_LETTER)
        below = widths + room.thin / 2
        if line.heading:
            whole = label_lines(line.label, canvas.width - 24)
            _label(canvas, whole, 20, shares + room.above / 2 + 6, weight="bold")
            _label(canvas, whole, 4, below + 4, weight="bold", fontsize=SMALL)
        else:
            first = shares + 10 + LINE * (len(words) - 1) / 2
            _label(canvas, words, 20, first, weight="normal" if grouped else "bold")
            canvas.text(canvas.width - 4, shares + 10, lines.both(line), align="right")
            _label(canvas, beside, 96, below, align="right", fontsize=SMALL)
        shares, widths = shares + room.above, widths + room.thin


def _shares(canvas: Canvas, lines: Lines, *, left: float, right: float, top: float, steps: Sequence[int]) -> None:
    """Estimates with their intervals, against the truth and the reports where known."""
    axes = canvas.axes(left=left, top=top, width=right - left, height=sum(steps))
    _scale(axes, lines)
    axes.set(ylim=(sum(steps), 0))
    for line, middle, step in zip(lines.lines, _middles(steps), steps, strict=True):
        _estimate(axes, line, middle + (step / 2 - 17 if canvas.narrow else 0))
    _key(canvas, ["estimate", *lines.known], 2 if canvas.narrow else left, top - (36 if canvas.narrow else 30))
    words = f"Share of {lines.share_of}, %; {Printed(100 * lines.level):g} % {' and '.join(lines.methods)} intervals"
    for i, said in enumerate(label_lines(words, right - left, letter=THIN_LETTER)):
        canvas.text(right, top + sum(steps) + 30 + 14 * i, said, tone="muted", align="right", fontsize=SMALL)


def _estimate(axes: Axes, line: Line, y: float) -> None:
    """One line; what is not known is not drawn."""
    if np.isfinite(line.high - line.low):
        axes.fill(*_box(line.low, line.high, y), **_interval())
    if np.isfinite(line.centre):
        axes.plot([line.centre] * 2, [y - 8, y + 8], **_tick())
    if np.isfinite(line.reported):
        axes.plot([line.reported], [y], **_reported())
    if np.isfinite(line.truth):
        axes.plot([line.truth], [y - 11.5], **_truth())


def _scale(axes: Axes, lines: Lines) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set(xlim=lines.scales[0], yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{Printed(100 * x):.4g}".replace("-", MINUS)))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    axes.axvline(0, color=colour("muted"), linewidth=1)


def _widths(canvas: Canvas, lines: Lines, *, left: float, right: float, top: float, steps: Sequence[int]) -> None:
    """Half widths of the intervals, from zero: of open answers, and of the randomized ones."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes = canvas.axes(left=left, top=top, width=right - left, height=sum(steps))
    axes.set(xlim=lines.scales[1], ylim=(sum(steps), 0), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{Printed(100 * x):.4g}"))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    for line, middle in zip(lines.lines, _middles(steps), strict=True):
        _width(axes, line, middle)
    axes.axvline(0, color=colour("muted"), linewidth=1)
    if np.isfinite(lines.values("openly")).any():
        _key(canvas, ["sampling", "added"], 2 if canvas.narrow else left, top - (20 if canvas.narrow else 30))
    bottom = top + sum(steps) + 30
    words = "Half width, ± points" if lines.symmetric else "Wald half width, ±"
    canvas.text(right, bottom, words, tone="muted", align="right", fontsize=SMALL)


def _width(axes: Axes, line: Line, y: float) -> None:
    """One half width; without parts where that of open answers is not known."""
    if not np.isfinite(line.half):
        return
    if not np.isfinite(line.openly):
        axes.fill(*_box(0, line.half, y), **_interval())
        return
    inner = min(line.openly, line.half)
    axes.fill(*_box(inner, line.half, y), **_added())
    axes.fill(*_box(0, inner, y), **_sampling())


def _box(low: float, high: float, y: float) -> tuple[list[float], list[float]]:
    return [low, high, high, low], [y - BAR, y - BAR, y + BAR, y + BAR]


def _interval() -> dict[str, Any]:
    return {"facecolor": colour("rule"), "edgecolor": colour("muted"), "linewidth": 1, "zorder": 3}


def _tick() -> dict[str, Any]:
    return {"color": colour("ink"), "linewidth": 2.2, "solid_capstyle": "butt", "zorder": 5}


def _added() -> dict[str, Any]:
    fill = {"facecolor": colour("randomization"), "edgecolor": colour("report")}
    return {**fill, "hatch": "////", "linewidth": 1, "zorder": 3}


def _sampling() -> dict[str, Any]:
    return {"facecolor": colour("sampling"), "edgecolor": colour("truth"), "linewidth": 1, "zorder": 4}


def _truth() -> dict[str, Any]:
    edge = {"markeredgewidth": 0, "clip_on": False}
    return {"marker": "v", "markersize": 9, "color": colour("truth"), "linestyle": "none", "zorder": 7, **edge}


def _reported() -> dict[str, Any]:
    face = {"markerfacecolor": colour("paper"), "markeredgecolor": colour("report"), "markeredgewidth": 2}
    return {"marker": "o", "markersize": 7.5, "linestyle": "none", "zorder": 6, **face}


KEYS = {
    "estimate": "estimate",
    "truth": "truth",
    "reported": "reports",
    "sampling": "asked openly",
    "added": "randomized",
}


def _key(canvas: Canvas, kinds: list[str], x: float, y: float) -> None:
    """What the marks mean, above the frame that holds them."""
    for kind in kinds:
        _key_mark(canvas.page, kind, x + 10, y)
        canvas.text(x + 26, y, KEYS[kind], fontsize=SMALL)
        x += 42 + 7.2 * len(KEYS[kind])


def _key_mark(page: Axes, kind: str, x: float, y: float) -> None:
    if kind == "estimate":
        page.fill(*_box(x - 10, x + 10, y), **_interval())
        page.plot([x] * 2, [y - 8, y + 8], **_tick())
    elif kind in ("sampling", "added"):
        page.fill(*_box(x - 10, x + 10, y), **(_sampling() if kind == "sampling" else _added()))
    else:
        page.plot([x], [y], **(_truth() if kind == "truth" else _reported()))


# ---- what is drawn, line by line

ALL = "all"


class Room(NamedTuple):
    """Pixels of a line: when wide, and when narrow in the two parts of the picture."""

    wide: int
    above: int
    thin: int


@dataclass(frozen=True, eq=False)
class Line:
    """One estimate with its interval; a heading has a label only.

    Attributes
    ----------
    label, group
        Its name, and that of the domain it belongs to, if any.
    centre, low, high
        The estimate and the ends of its interval.
    half, openly
        Half widths of Wald intervals: as it is, and if the same people had been asked openly.
    truth, reported
        True share and share of the reports, NaN where they are not known.
    method
        The name of its interval.
    """

    label: str
    group: str = ""
    centre: float = np.nan
    low: float = np.nan
    high: float = np.nan
    half: float = np.nan
    openly: float = np.nan
    truth: float = np.nan
    reported: float = np.nan
    heading: bool = False
    method: str = ""


@dataclass(frozen=True, eq=False)
class Lines:
    """All lines of a picture, and what they have in common.

    Attributes
    ----------
    lines
        From top to bottom.
    share_of
        What the shares are of, as the axis says it.
    level
        Of the intervals.
    first_columns
        Names of the labels in the table.
    known
        Which of "truth" and "reported" are known.
    column, step
        Pixels for the labels beside a wide picture, and of a line at least.
    foot
        Which page it is, where there are several.
    limits
        Of the two scales, where other pages decide about them too.
    """

    lines: tuple[Line, ...]
    share_of: str
    level: float
    first_columns: tuple[str, ...]
    known: tuple[str, ...] = ()
    column: int = LABEL
    step: int = ROW
    foot: str = ""
    limits: Scales | None = None

    def room(self, line: Line) -> Room:
        """What a line needs: labels that are wrapped need more."""
        if line.heading:
            wide, narrow = (len(label_lines(line.label, width)) for width in (self.column + 520, NARROW - 24))
            return Room(LINE * wide + 16, LINE * narrow + 24, LINE * narrow + 14)
        beside, above = (len(label_lines(line.label, width)) for width in (self.column, NAME_NARROW))
        thin = len(label_lines(line.label, THIN_LABEL, letter=THIN_LETTER))
        return Room(max(self.step, LINE * beside + 12), NARROW_ROW + LINE * (above - 1), max(THIN_ROW, LINE * thin + 8))

    @property
    def scales(self) -> Scales:
        """Ends of the scales of shares and of half widths."""
        if self.limits is not None:
            return self.limits
        drawn = np.concatenate([[0.0, 0.01], *(self.values(name) for name in ("centre", "low", "high", *self.known))])
        widest = float(np.nanmax(np.concatenate([[1e-6], self.values("half"), self.values("openly")])))
        return (float(np.nanmin(drawn)) * 1.05, float(np.nanmax(drawn)) * 1.04), (0.0, widest * 1.05)

    @cached_property
    def estimates(self) -> tuple[Line, ...]:
        """The lines that are no headings."""
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
    lines = _lines(estimate, level, interval)
    for name, values in known.items():
        if values is not None:
            lines = [_with_known(line, name, float(x)) for line, x in zip(lines, values, strict=True)]
    lines = _in_order([*lines, *_lines_of_sums(sums, level, interval)], order)
    lines = lines if chosen is None else _picked(lines, chosen)
    return Lines(
        tuple(lines),
        "all people",
        level,
        ("category",),
        tuple(name for name, values in known.items() if values is not None),
        _column(lines),
        _step(lines),
    )


def _in_order(lines: Sequence[Line], order: str | Sequence[Any]) -> list[Line]:
    return [lines[i] for i in ordered([line.label for line in lines], [line.centre for line in lines], order)]


def _column(lines: Sequence[Line]) -> int:
    return labels_width([line.label for line in lines if not line.heading], least=LABEL, most=MOST_LABEL)


def _step(lines: Sequence[Line]) -> int:
    return ROW if len(lines) <= FEW else SMALL_ROW


def _with_known(line: Line, name: str, value: float) -> Line:
    return replace(line, truth=value) if name == "truth" else replace(line, reported=value)


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
        tuple(lines),
        "each group" if alone is None else alone,
        level,
        (by, "category") if alone is None else (by,),
        column=_column(lines),
        step=_step(lines),
    )


def _both(estimate: Estimate, sums: Estimate | None, level: float, interval: str | None) -> list[Line]:
    """The lines of the categories, then those of their combinations."""
    return [*_lines(estimate, level, interval), *_lines_of_sums(sums, level, interval)]


def _lines_of_sums(sums: Estimate | None, level: float, interval: str | None) -> list[Line]:
    return [] if sums is None else _lines(sums, level, of_sums(interval))


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
    """A category; a pair by its parts, without brackets that take room.

    >>> _name(("own answer", "yes")), _name("never")
    ('own answer, yes', 'never')
    """
    return ", ".join(map(str, category)) if isinstance(category, tuple) else str(category)
