"""*What we learn from everyone*: estimates with intervals, and the two parts of their width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.estimation.result import Estimate
from maskwell.reports.picture import SMALL, Canvas, Picture
from maskwell.reports.style import colour
from maskwell.reports.tables import shorten
from maskwell.reports.words import MINUS, SPACE, decimals_for, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 24
ROW, NARROW_ROW, THIN_ROW = 44, 58, 30
HEAD, FOOT = 48, 52
BAR = 6.0


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is drawn, one entry for each category shown."""

    labels: list[str]
    centre: Real
    low: Real
    high: Real
    half: Real
    sampling: Real
    symmetric: bool
    truth: Real | None
    reported: Real | None
    decimals: int


def plot_learned(
    estimate: Estimate,
    *,
    truth: Real | None = None,
    reported: Real | None = None,
    level: float = 0.95,
    interval: str | None = None,
) -> Picture:
    """Estimates with intervals.

    Beside each estimate stands the half width of its Wald interval in two parts: what open answers of the same people
    would have given (sampling), and what the design makes of it (randomization).

    Parameters
    ----------
    estimate
        Estimated shares.
    truth
        True shares where they are known, as in a simulation, shape (k,).
    reported
        Shares of the reports, where reports are the same categories, shape (k,).
    level, interval
        Of the intervals: their level, and the method by its name.
    """
    z, found = estimate.critical_value((1 + level) / 2), estimate.intervals(level, interval)
    rows = _Rows(
        labels=[str(label) for label in estimate.categories[:SHOWN]],
        centre=estimate.pi_hat[:SHOWN],
        low=found.low[:SHOWN],
        high=found.high[:SHOWN],
        half=(z * estimate.standard_error)[:SHOWN],
        symmetric=found.method == "wald",
        sampling=z * np.sqrt(np.maximum(estimate.sampling_variance, 0))[:SHOWN],
        truth=None if truth is None else np.asarray(truth)[:SHOWN],
        reported=None if reported is None else np.asarray(reported)[:SHOWN],
        decimals=decimals_for(found.half_width[:SHOWN].tolist()),
    )
    columns, table, count = *_table(rows, level), len(rows.labels)
    return Picture(
        name="learned",
        title="What we learn from everyone",
        text=_in_words(rows, estimate, level),
        data={
            "estimate": rows.centre,
            "low": rows.low,
            "high": rows.high,
            "sampling_half_width": rows.sampling,
            **({} if rows.truth is None else {"truth": rows.truth}),
            **({} if rows.reported is None else {"reported": rows.reported}),
        },
        columns=columns,
        rows=table,
        heights=(HEAD + ROW * count + FOOT, HEAD + 90 + (NARROW_ROW + THIN_ROW) * count + FOOT),
        draw=lambda canvas: _draw(canvas, rows),
    )


def _table(rows: _Rows, level: float) -> tuple[list[str], list[list[str]]]:
    optional = {"true share": rows.truth, "share of reports": rows.reported}
    extra = {name: values for name, values in optional.items() if values is not None}
    ends = {} if rows.symmetric else {"from": rows.low, "to": rows.high}
    columns = ["category", "estimate", *ends, f"half width, {100 * level:g}{SPACE}%", "of open answers", *extra]
    numbers = [rows.centre, *ends.values(), rows.half, rows.sampling, *extra.values()]
    shown = [[f"{percent(float(v), rows.decimals)}{SPACE}%" for v in values] for values in numbers]
    return columns, [[label, *cells] for label, *cells in zip(rows.labels, *shown, strict=True)]


def _in_words(rows: _Rows, estimate: Estimate, level: float) -> str:
    said = "; ".join(
        f"{label} {percent(float(p), rows.decimals)} {_reach_in_words(rows, i)} percent"
        for i, (label, p) in enumerate(zip(rows.labels, rows.centre, strict=True))
    )
    more = len(estimate.categories) - len(rows.labels)
    rest = f" {more:,} more categories are not drawn." if more else ""
    return f"Estimates from {estimate.n:,} reports with {100 * level:g} % intervals: {said}.{rest}"


def _reach_in_words(rows: _Rows, i: int) -> str:
    if rows.symmetric:
        return f"plus or minus {percent(float(rows.half[i]), rows.decimals)}"
    return f"({_ends(rows, i)})"


def _draw(canvas: Canvas, rows: _Rows) -> None:
    count = len(rows.labels)
    if canvas.narrow:
        shares, widths = HEAD + 6, HEAD + 6 + count * NARROW_ROW + 84
        _shares(canvas, rows, left=14, right=canvas.width - 14, top=shares, step=NARROW_ROW)
        _widths(canvas, rows, left=104, right=canvas.width - 14, top=widths, step=THIN_ROW)
        _name_narrow(canvas, rows, shares, widths)
    else:
        _shares(canvas, rows, left=132, right=424, top=HEAD, step=ROW)
        _widths(canvas, rows, left=452, right=574, top=HEAD, step=ROW)
        for i, label in enumerate(rows.labels):
            y = HEAD + ROW * (i + 0.5)
            canvas.text(120, y, shorten(label, 16), align="right")
            if rows.symmetric:
                canvas.text(canvas.width - 2, y, _value(rows, i), align="right")
            else:  # two short lines, where one would not fit
                canvas.text(canvas.width - 2, y - 8, f"{_share(rows, i)} %", align="right")
                canvas.text(canvas.width - 2, y + 9, _ends(rows, i), align="right", fontsize=SMALL)


def _name_narrow(canvas: Canvas, rows: _Rows, shares: float, widths: float) -> None:
    for i, label in enumerate(rows.labels):
        y = shares + NARROW_ROW * i + 10
        canvas.text(20, y, shorten(label, 22), weight="bold")
        canvas.text(canvas.width - 4, y, _value(rows, i), align="right")
        canvas.text(96, widths + THIN_ROW * (i + 0.5), shorten(label, 12), align="right", fontsize=SMALL)


def _value(rows: _Rows, i: int) -> str:
    if rows.symmetric:
        return f"{_share(rows, i)} ± {percent(float(rows.half[i]), rows.decimals)} %"
    return f"{_share(rows, i)} % ({_ends(rows, i)})"


def _share(rows: _Rows, i: int) -> str:
    return percent(float(rows.centre[i]), rows.decimals)


def _ends(rows: _Rows, i: int) -> str:
    return f"{percent(float(rows.low[i]), rows.decimals)} to {percent(float(rows.high[i]), rows.decimals)}"


def _shares(canvas: Canvas, rows: _Rows, *, left: float, right: float, top: float, step: int) -> None:
    """Estimates with their intervals, against the truth and the reports where known."""
    axes = canvas.axes(left=left, top=top, width=right - left, height=step * len(rows.labels))
    _scale(axes, rows)
    axes.set(ylim=(step * len(rows.labels), 0))
    for i, centre in enumerate(rows.centre.tolist()):
        y, low, high = step * (i + 0.5) + (12 if canvas.narrow else 0), float(rows.low[i]), float(rows.high[i])
        if np.isfinite(high - low):
            axes.fill(*_box(low, high, y), **_interval())
        axes.plot([centre] * 2, [y - 8, y + 8], **_tick())
        if rows.reported is not None:
            axes.plot([float(rows.reported[i])], [y], **_reported())
        if rows.truth is not None:
            axes.plot([float(rows.truth[i])], [y - 11.5], **_truth())
    optional = {"truth": rows.truth, "reported": rows.reported}
    known = [kind for kind, values in optional.items() if values is not None]
    _key(canvas, ["estimate", *known], 2 if canvas.narrow else left, top - (36 if canvas.narrow else 30))
    bottom = top + step * len(rows.labels) + 36
    canvas.text(right, bottom, "Share of all people, %", tone="muted", align="right", fontsize=SMALL)


def _scale(axes: Axes, rows: _Rows) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    known = [float(x.max()) for x in (rows.truth, rows.reported) if x is not None]
    high = max(float(np.fmax(rows.centre, rows.high).max()), *known, 0.01)
    low = min(0.0, float(np.fmin(rows.centre, rows.low).min()))
    axes.set(xlim=(low * 1.05, high * 1.04), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.4g}".replace("-", MINUS)))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    axes.axvline(0, color=colour("muted"), linewidth=1)


def _widths(canvas: Canvas, rows: _Rows, *, left: float, right: float, top: float, step: int) -> None:
    """Half widths of the intervals, from zero: what sampling alone would give, and the rest."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes = canvas.axes(left=left, top=top, width=right - left, height=step * len(rows.labels))
    widest = max(float(np.nan_to_num(rows.half).max()), float(rows.sampling.max()), 1e-6)
    axes.set(xlim=(0, widest * 1.05), ylim=(step * len(rows.labels), 0), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.4g}"))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    for i, (half, inner) in enumerate(zip(rows.half.tolist(), rows.sampling.tolist(), strict=True)):
        y = step * (i + 0.5)
        if np.isfinite(half):
            axes.fill(*_box(min(inner, half), half, y), **_added())
            axes.fill(*_box(0, min(inner, half), y), **_sampling())
    axes.axvline(0, color=colour("muted"), linewidth=1)
    if canvas.narrow:
        _key(canvas, ["sampling", "added"], 2, top - 20)
    else:
        _key(canvas, ["sampling", "added"], left, top - 30)
    bottom = top + step * len(rows.labels) + 36
    canvas.text(right, bottom, "± points", tone="muted", align="right", fontsize=SMALL)


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
    "sampling": "sampling",
    "added": "randomization",
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
