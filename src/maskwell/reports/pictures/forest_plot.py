"""Coefficients of a regression, or supports of itemsets, with their intervals, one to a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from maskwell.core.arguments import Flag, Real, check_kind, check_level, list_of
from maskwell.core.phrases import Printed, shorten
from maskwell.errors import InputError
from maskwell.estimation.itemset_supports import Itemset
from maskwell.estimation.regression.regression_result import Regression
from maskwell.reports.pictures.canvas import SMALL, Canvas, Picture, colour

SHOWN = 30
HEAD, ROW, FOOT = 40, 34, 56
LABEL = 200
BAR = 5.0


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


def plot_coefficients(found: Regression, *, level: float = 0.95, exponentiate: bool = False) -> Picture:
    """Coefficients with intervals, without intercepts; a line marks no effect.

    Parameters
    ----------
    found
        A regression.
    level
        Of the intervals.
    exponentiate
        Draw odds ratios, on a logarithmic scale.
    """
    check_kind(Flag, exponentiate=exponentiate)
    check_kind(Regression, found=found)
    kept = _drawn(found)
    values = np.column_stack([found.estimates, found.confidence_interval(level)])[kept]
    values = np.exp(values) if exponentiate else values
    rows = _Rows(
        [found.terms[j] for j in kept],
        values[:, 0],
        values[:, 1],
        values[:, 2],
        1.0 if exponentiate else 0.0,
        exponentiate,
        "odds ratio" if exponentiate else "log odds ratio" if found.family != "linear" else "change in the mean",
        level,
        "1 means no difference" if exponentiate else "0 means no difference",
    )
    return _picture(rows, "coefficients", f"What goes with {found.outcome}", "term", f"from {found.n:,} rows")


def plot_itemsets(itemsets: Sequence[Itemset], min_support: float, n: int, *, level: float = 0.95) -> Picture:
    """The largest supports with their intervals; a line marks the threshold.

    Parameters
    ----------
    itemsets
        Sets of items with their supports.
    min_support
        The threshold.
    n
        Number of baskets.
    level
        Of the intervals.
    """
    found = sorted(list_of(Itemset, itemsets, "itemsets"), key=lambda one: -one.support)[:SHOWN]
    if not found:
        raise InputError("there is no itemset to draw", hint="lower the threshold: none is estimated above it")
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
    return Picture(
        name=name,
        title=title,
        text=f"{rows.unit.capitalize()} with {Printed(100 * level):g} % interval {source}: {said}.",
        data={"estimate": rows.centre, "low": rows.low, "high": rows.high},
        columns=[what, rows.unit, "from", "to"],
        rows=cells,
        heights=(HEAD + ROW * len(cells) + FOOT, HEAD + 2 * ROW * len(cells) + FOOT),
        draw=lambda canvas: _draw(canvas, rows),
    )


def _drawn(regression: Regression) -> list[int]:
    kept = [
        j
        for j, term in enumerate(regression.terms)
        if not term.endswith("Intercept") and math.isfinite(regression.standard_error[j])
    ]
    if not kept:
        raise InputError("there is no coefficient to draw", hint="add a predictor; intercepts are not drawn")
    return kept[:SHOWN]


def _draw(canvas: Canvas, rows: _Rows) -> None:
    narrow, count = canvas.narrow, len(rows.labels)
    step, left = (2 * ROW, 16) if narrow else (ROW, LABEL + 24)
    axes = canvas.axes(left=left, top=HEAD, width=canvas.width - left - 24, height=step * count)
    axes.set(ylim=(count, 0), yticks=[])
    if rows.logarithmic:
        from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    axes.axvline(rows.zero, color=colour("muted"), linewidth=1.2)
    for i, (label, centre, low, high) in enumerate(zip(rows.labels, rows.centre, rows.low, rows.high, strict=True)):
        y = i + (0.7 if narrow else 0.5)
        axes.plot([low, high], [y, y], color=colour("sampling"), linewidth=BAR, solid_capstyle="butt")
        axes.plot([centre], [y], marker="o", markersize=7, color=colour("truth"))
        place = HEAD + step * (i + (0.3 if narrow else 0.5))
        canvas.text(16, place, shorten(label, 44 if narrow else 28), fontsize=SMALL)
    if not rows.logarithmic:
        low_end, high_end = axes.get_xlim()
        axes.set_xlim(min(low_end, 0), max(high_end, 0))
    canvas.text(16, 18, f"{rows.unit}, with its {Printed(100 * rows.level):g} % interval", tone="muted", fontsize=SMALL)
    canvas.text(16, HEAD + step * count + 40, rows.below, tone="muted", fontsize=SMALL)
