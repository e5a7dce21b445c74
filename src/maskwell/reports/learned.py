"""*What we learn from everyone*: estimates with intervals, and what their width would be without randomization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import RealNumber, as_floats, check_kind
from maskwell.core.arrays import Real
from maskwell.core.printed import Printed
from maskwell.errors import ParameterError
from maskwell.estimation.intervals.interval_ends import check_level
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports.learned_rows import Line, Lines, lines_of_domains, lines_of_everyone
from maskwell.reports.picture import SMALL, Canvas, Picture
from maskwell.reports.style import colour
from maskwell.reports.tables import shorten
from maskwell.reports.words import MINUS

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
    truth, reported = (_known(given, len(estimate.pi_hat)) for given in (truth, reported))
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


def _known(shares: Any, k: int) -> Real | None:
    if shares is None:
        return None
    found = as_floats(shares, "shares")
    if found.shape != (k,):
        raise ParameterError(f"shares of shape {found.shape} for {k:,} categories", hint="give one for each category")
    return found


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
