"""*What we learn from everyone*: estimates with intervals, and what their width would be without randomization.

A line for each category of everyone, or of everyone and each domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, RealNumber, as_floats, check_kind, check_level
from maskwell.core.phrases import Printed, shorten
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports.pictures.canvas import SMALL, Canvas, Picture, colour
from maskwell.reports.plain_words import MINUS, SPACE, decimals_for, label, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, NARROW_ROW, THIN_ROW = 44, 58, 30
HEAD, FOOT = 48, 52
BAR = 6.0


def plot_learned(
    estimate: Estimate,
    *,
    truth: Real | None = None,
    reported: Real | None = None,
    level: float = 0.95,
    interval: str | None = None,
    by: str = "group",
) -> Picture:
    """Estimates with intervals.

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
    """
    check_level(level)
    check_kind(RealNumber, level=level)
    check_kind(Estimate, estimate=estimate)
    check_kind(str | None, interval=interval)
    check_kind(str, by=by)
    truth, reported = (_known_shares(given, len(estimate.pi_hat)) for given in (truth, reported))
    if isinstance(estimate, SurveyEstimate) and estimate.domains and truth is None and reported is None:
        lines = lines_of_domains(estimate, level=level, interval=interval, by=by)
    else:
        lines = lines_of_everyone(estimate, level=level, interval=interval, truth=truth, reported=reported)
    columns, rows = lines.table()
    arrays = {"estimate": "centre", "low": "low", "high": "high", "sampling_half_width": "openly"}
    arrays |= {name: name for name in lines.known}
    return Picture(
        name="learned",
        title="What we learn from everyone",
        text=f"Estimates from {estimate.n:,} reports with {lines.words()}.{lines.left_out}",
        data={name: lines.values(source) for name, source in arrays.items()},
        columns=columns,
        rows=rows,
        heights=(HEAD + ROW * len(lines) + FOOT, HEAD + 90 + (NARROW_ROW + THIN_ROW) * len(lines) + FOOT),
        draw=lambda canvas: _draw(canvas, lines),
    )


def _known_shares(shares: Any, k: int) -> Real | None:
    if shares is None:
        return None
    known = as_floats(shares, "shares")
    if known.shape != (k,):
        raise ParameterError(f"shares of shape {known.shape} for {k:,} categories", hint="give one for each category")
    return known


def _draw(canvas: Canvas, lines: Lines) -> None:
    if canvas.narrow:
        shares, widths = HEAD + 6, HEAD + 6 + len(lines) * NARROW_ROW + 84
        _shares(canvas, lines, left=14, right=canvas.width - 14, top=shares, step=NARROW_ROW)
        _widths(canvas, lines, left=104, right=canvas.width - 14, top=widths, step=THIN_ROW)
        _name_narrow(canvas, lines, shares, widths)
    else:
        _shares(canvas, lines, left=132, right=424, top=HEAD, step=ROW)
        _widths(canvas, lines, left=452, right=574, top=HEAD, step=ROW)
        for i, line in enumerate(lines.lines):
            _name_wide(canvas, lines, line, HEAD + ROW * (i + 0.5))


def _name_wide(canvas: Canvas, lines: Lines, line: Line, y: float) -> None:
    if line.heading:
        canvas.text(4, y + 8, shorten(line.label, 40), weight="bold")
        return
    canvas.text(120, y, shorten(line.label, 16), align="right")
    if lines.symmetric:
        canvas.text(canvas.width - 2, y, lines.both(line), align="right")
    else:  # two short lines, where one would not fit
        canvas.text(canvas.width - 2, y - 8, f"{lines.share(line)} %", align="right")
        canvas.text(canvas.width - 2, y + 9, lines.ends(line), align="right", fontsize=SMALL)


def _name_narrow(canvas: Canvas, lines: Lines, shares: float, widths: float) -> None:
    grouped = any(line.heading for line in lines.lines)
    for i, line in enumerate(lines.lines):
        above, beside = shares + NARROW_ROW * i + 10, widths + THIN_ROW * (i + 0.5)
        if line.heading:
            canvas.text(20, above + 24, shorten(line.label, 36), weight="bold")
            canvas.text(4, beside + 4, shorten(line.label, 36), weight="bold", fontsize=SMALL)
            continue
        canvas.text(20, above, shorten(line.label, 22), weight="normal" if grouped else "bold")
        canvas.text(canvas.width - 4, above, lines.both(line), align="right")
        canvas.text(96, beside, shorten(line.label, 12), align="right", fontsize=SMALL)


def _shares(canvas: Canvas, lines: Lines, *, left: float, right: float, top: float, step: int) -> None:
    """Estimates with their intervals, against the truth and the reports where known."""
    axes = canvas.axes(left=left, top=top, width=right - left, height=step * len(lines))
    _scale(axes, lines)
    axes.set(ylim=(step * len(lines), 0))
    for i, line in enumerate(lines.lines):
        _estimate(axes, line, step * (i + 0.5) + (12 if canvas.narrow else 0))
    _key(canvas, ["estimate", *lines.known], 2 if canvas.narrow else left, top - (36 if canvas.narrow else 30))
    said = f"Share of {shorten(lines.share_of, 16)}, %; {Printed(100 * lines.level):g} % intervals"
    bottom = top + step * len(lines) + 36
    canvas.text(right, bottom, said, tone="muted", align="right", fontsize=SMALL)


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

    drawn = np.concatenate([[0.0, 0.01], *(lines.values(name) for name in ("centre", "low", "high", *lines.known))])
    axes.set(xlim=(np.nanmin(drawn) * 1.05, np.nanmax(drawn) * 1.04), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{Printed(100 * x):.4g}".replace("-", MINUS)))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    axes.axvline(0, color=colour("muted"), linewidth=1)


def _widths(canvas: Canvas, lines: Lines, *, left: float, right: float, top: float, step: int) -> None:
    """Half widths of the intervals, from zero: of open answers, and of the randomized ones."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes = canvas.axes(left=left, top=top, width=right - left, height=step * len(lines))
    widest = float(np.nanmax(np.concatenate([[1e-6], lines.values("half"), lines.values("openly")])))
    axes.set(xlim=(0, widest * 1.05), ylim=(step * len(lines), 0), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{Printed(100 * x):.4g}"))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    for i, line in enumerate(lines.lines):
        _width(axes, line, step * (i + 0.5))
    axes.axvline(0, color=colour("muted"), linewidth=1)
    if np.isfinite(lines.values("openly")).any():
        _key(canvas, ["sampling", "added"], 2 if canvas.narrow else left, top - (20 if canvas.narrow else 30))
    bottom = top + step * len(lines) + 36
    canvas.text(right, bottom, "Half width, ± points", tone="muted", align="right", fontsize=SMALL)


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

SHOWN = 24
ALL = "all"


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


@dataclass(frozen=True, eq=False)
class Lines:
    """All lines of a picture, and what they have in common.

    Attributes
    ----------
    lines
        From top to bottom.
    share_of
        What the shares are of, as the axis says it.
    level, symmetric
        Of the intervals: their level, and whether they reach equally far to both sides.
    first_columns
        Names of the labels in the table.
    known
        Which of "truth" and "reported" are known.
    left_out
        What is not drawn, in words.
    """

    lines: tuple[Line, ...]
    share_of: str
    level: float
    symmetric: bool
    first_columns: tuple[str, ...]
    known: tuple[str, ...] = ()
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def estimates(self) -> tuple[Line, ...]:
        """The lines that are no headings."""
        return tuple(line for line in self.lines if not line.heading)

    @property
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
        half = f"half width, {Printed(100 * self.level):g}{SPACE}%"
        numbers = {"estimate": "centre", **ends, half: "half", "of open answers": "openly", **extra}
        rows = [
            [*self._names(line), *(self._cell(getattr(line, name)) for name in numbers.values())]
            for line in self.estimates
        ]
        return [*self.first_columns, *numbers], rows

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
    estimate: Estimate, *, level: float, interval: str | None, truth: Real | None = None, reported: Real | None = None
) -> Lines:
    """A line for each category."""
    more = len(estimate.categories) - SHOWN
    known = {"truth": truth, "reported": reported}
    lines = _lines(estimate, level, interval)[:SHOWN]
    for name, values in known.items():
        if values is not None:
            lines = [_with_known(line, name, float(x)) for line, x in zip(lines, values, strict=False)]
    return Lines(
        tuple(lines),
        "all people",
        level,
        estimate.intervals(level, interval).method == "wald",
        ("category",),
        tuple(name for name, values in known.items() if values is not None),
        f" {more:,} more categories are not drawn." if more > 0 else "",
    )


def _with_known(line: Line, name: str, value: float) -> Line:
    return replace(line, truth=value) if name == "truth" else replace(line, reported=value)


def lines_of_domains(estimate: SurveyEstimate, *, level: float, interval: str | None, by: str) -> Lines:
    """Everyone, then each domain: the first of two categories, or all categories below the name of the domain."""
    two = len(estimate.pi_hat) == 2
    everyone: Sequence[tuple[str, Estimate]] = [(ALL, estimate)]
    parts = [*everyone, *((label(name), one) for name, one in estimate.domains.items())]
    size = 1 if two else len(estimate.pi_hat) + 1
    drawn = parts[: max(1, SHOWN // size)]
    lines = [line for name, one in drawn for line in _part(name, one, level, interval, two=two)]
    return Lines(
        tuple(lines),
        label(estimate.categories[0]) if two else "each group",
        level,
        estimate.intervals(level, interval).method == "wald",
        (by,) if two else (by, "category"),
        (),
        f" {len(parts) - len(drawn):,} more groups are not drawn." if len(parts) > len(drawn) else "",
    )


def _part(name: str, estimate: Estimate, level: float, interval: str | None, *, two: bool) -> list[Line]:
    lines = _lines(estimate, level, interval)
    if two:
        return [replace(lines[0], label=name)]
    return [Line(name, heading=True), *(replace(line, group=name) for line in lines)]


def _lines(estimate: Estimate, level: float, interval: str | None) -> list[Line]:
    z, intervals = estimate.critical_value((1 + level) / 2), estimate.intervals(level, interval)
    half, openly = z * estimate.standard_error, z * np.sqrt(np.maximum(estimate.sampling_variance, 0))
    columns = (estimate.categories, estimate.pi_hat, intervals.low, intervals.high, half, openly)
    return [
        Line(_name(one), centre=float(p), low=float(low), high=float(high), half=float(wide), openly=float(inner))
        for one, p, low, high, wide, inner in zip(*columns, strict=True)
    ]


def _name(category: object) -> str:
    """A category; a pair by its parts, without brackets that take room.

    >>> _name(("own answer", "yes")), _name("never")
    ('own answer, yes', 'never')
    """
    return ", ".join(map(str, category)) if isinstance(category, tuple) else str(category)
