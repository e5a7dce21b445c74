"""Coefficients of a regression, or supports of itemsets, with their intervals, one to a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import Flag, Real, check_kind, check_level, list_of
from maskwell.core.phrases import Printed
from maskwell.errors import InputError
from maskwell.estimation.itemset_supports import Itemset
from maskwell.estimation.regression.named_coefficients import Coefficients, interval_words
from maskwell.estimation.regression.predicted_chances import Effects
from maskwell.estimation.regression.regression_result import Regression
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import LINES, Picture, ordered, page_words
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Row, Sheet, rows_height, write_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is drawn, one entry for each line; ``zero`` is marked, and ``below`` says what it means."""

    labels: list[str]
    centre: Real
    low: Real
    high: Real
    zero: float
    logarithmic: bool
    unit: str
    level: float
    below: str
    method: str = ""
    ends: tuple[float, float] = (0.0, 1.0)


def plot_coefficients(
    found: Coefficients, *, level: float = 0.95, exponentiate: bool = False, order: str | Sequence[str] = "given"
) -> Picture:
    """Coefficients with intervals, without intercepts; a line marks no effect.

    Parameters
    ----------
    found
        A regression, or the effects that it gives.
    exponentiate
        Draw odds ratios, on a logarithmic scale.
    order
        "given", "largest", "smallest" or "name", or terms in the order in which they are drawn.
    """
    check_kind(Flag, exponentiate=exponentiate)
    check_kind(Coefficients, found=found)
    kept = _drawn(found)
    kept = [kept[i] for i in ordered([found.terms[j] for j in kept], found.shown[kept].tolist(), order)]
    values = np.column_stack([found.shown, found.confidence_interval(level)])[kept]
    values = np.exp(values) if exponentiate else values
    rows = _Rows(
        [found.terms[j] for j in kept],
        values[:, 0],
        values[:, 1],
        values[:, 2],
        1.0 if exponentiate else 0.0,
        exponentiate,
        _unit(found, exponentiate=exponentiate),
        level,
        "1 means no difference" if exponentiate else "0 means no difference",
        method=interval_words(found),
    )
    title = f"What goes with {found.outcome}" if isinstance(found, Regression) else "Estimates with intervals"
    source = f"from {found.n:,} rows" if hasattr(found, "n") else ""
    return _picture(rows, "coefficients", title, "term", source)


def _unit(part: Coefficients, *, exponentiate: bool) -> str:
    """What the numbers are."""
    if not isinstance(part, Regression):
        return "effect" if isinstance(part, Effects) else "estimate"
    return "odds ratio" if exponentiate else "log odds ratio" if part.family != "linear" else "change in the mean"


def plot_itemsets(
    itemsets: Sequence[Itemset],
    min_support: float,
    n: int,
    *,
    level: float = 0.95,
    order: str | Sequence[str] = "largest",
) -> Picture:
    """The supports with their intervals; a line marks the threshold."""
    given = list_of(Itemset, itemsets, "itemsets")
    places = ordered([" + ".join(one.items) for one in given], [one.support for one in given], order)
    found = [given[i] for i in places]
    if not found:
        raise InputError("there-is-no-itemset-to-draw")
    support, error = (np.array([getattr(one, name) for one in found]) for name in ("support", "standard_error"))
    reach = NormalDist().inv_cdf((1 + check_level(level)) / 2) * error
    names = [" + ".join(one.items) for one in found]
    below = f"the line marks the threshold, {Printed(min_support):g}"
    rows = _Rows(names, support, support - reach, support + reach, min_support, False, "support", level, below)
    return _picture(rows, "itemsets", "What baskets hold", "itemset", f"from {n:,} baskets")


def _picture(rows: _Rows, name: str, title: str, what: str, source: str) -> Picture:
    values, level = np.column_stack([rows.centre, rows.low, rows.high]), rows.level
    cells = [[label, *(f"{Printed(x):.3g}" for x in line)] for label, line in zip(rows.labels, values, strict=True)]
    said = "; ".join(f"{label} {a} from {b} to {c}" for label, a, b, c in cells)
    known = values[np.isfinite(values) & ((values > 0) | (not rows.logarithmic))]
    rows = replace(rows, ends=(float(np.min(known)), float(np.max(known))))
    starts = range(0, len(rows.labels), LINES)
    pages = [
        partial(_draw, rows=rows, part=slice(start, start + LINES), foot=page_words(i, len(starts)))
        for i, start in enumerate(starts)
    ]
    return Picture(
        name=name,
        title=title,
        text=f"{rows.unit.capitalize()} with {Printed(100 * level):g} % interval {source}: {said}.",
        data={"estimate": rows.centre, "low": rows.low, "high": rows.high},
        columns=[what, rows.unit, "from", "to"],
        rows=cells,
        draw=pages[0],
        further=tuple(pages[1:]),
    )


def _drawn(regression: Coefficients) -> list[int]:
    ends = regression.confidence_interval()
    kept = [
        j
        for j, term in enumerate(regression.terms)
        if not (term.endswith("Intercept") or regression.is_threshold[j]) and np.isfinite(ends[j]).any()
    ]
    if not kept:
        raise InputError("there-is-no-coefficient-to-draw")
    return kept


def _draw(sheet: Sheet, *, rows: _Rows, part: slice, foot: str) -> None:
    values = [rows.centre[part].tolist(), rows.low[part].tolist(), rows.high[part].tolist()]
    shown = [[f"{Printed(x):.3g}" for x in column] for column in values]
    names = zip(rows.labels[part], *shown, strict=True)
    words = [Row(name, f"{centre} ({low} to {high})") for name, centre, low, high in names]
    (axes,) = sheet.plots(rows_height(words))
    _scale(axes, rows)
    left, right = axes.get_xlim()
    for centre, low, high, y in zip(*values, write_rows(axes, words), strict=True):
        axes.plot(np.clip([low, high], left, right), [y, y], **marks.look("reach"))
        inside = left < centre < right  # at infinity an arrow at the edge shows the way
        marker = "o" if inside else "<" if centre <= left else ">"
        axes.plot([np.clip(centre, left, right)], [y], **marks.look("coefficient", marker=marker))
    axes.set_xlabel(f"{rows.unit}; {rows.below}")
    interval = f"{Printed(100 * rows.level):g} % interval{f' ({rows.method})' if rows.method else ''}"
    sheet.below += [
        LegendEntry(rows.unit, marks.line(**marks.look("coefficient"))),
        LegendEntry(interval, marks.line(**marks.look("reach"))),
    ]
    sheet.below += [LegendEntry(foot, tone="muted")] if foot else []


def _scale(axes: Axes, rows: _Rows) -> None:
    """The same scale on every page."""
    low, high = min(rows.ends[0], rows.zero), max(rows.ends[1], rows.zero)
    if rows.logarithmic:
        from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_xlim(low / (high / low) ** 0.05, high * (high / low) ** 0.05)
    else:
        axes.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.axvline(rows.zero, color=colour("muted"), linewidth=1.2)
