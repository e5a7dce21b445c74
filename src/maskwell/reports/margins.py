"""*How exact a survey will be*: the half width of intervals against respondents, with and without randomization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.planning.sample_size import SamplePlan, margin_of
from maskwell.reports.notes import Note, area_mark, notes_height, point_mark, write_notes
from maskwell.reports.picture import SMALL, WIDE, Canvas, Picture
from maskwell.reports.scales import round_numbers, set_numbers, spread
from maskwell.reports.style import colour
from maskwell.reports.tables import label, shorten

LEFT, TOP, HEIGHT = 46, 34, 236
POINTS = 121
REACH = 4
"""The picture goes from a quarter of the respondents to four times as many."""

LONG = 10**6
"""Numbers of respondents from here on are written as powers of ten."""


@dataclass(frozen=True, eq=False)
class _Curve:
    n: Real
    margin: Real
    direct: Real


def plot_margins(plan: SamplePlan) -> Picture:
    """The margin of a plan against the number of respondents; below it, what the open question would give.

    The area between the two is the price of protection.

    >>> from maskwell.planning.sample_size import plan_sample
    >>> from maskwell.procedures.statement_cards import warner
    >>> plot_margins(plan_sample(warner("0.7"), pi=[0.1, 0.9], margin=0.05)).rows[2]
    ['2,156', '0.05', '0.0127']
    """
    check_kind(SamplePlan, plan=plan)
    curve = _curve(plan)
    rows = [[f"{n:,}", *(f"{Printed(m):.3g}" for m in _margins(plan, n))] for n in _few(plan.n)]
    own = [Note(_own(plan), point_mark(**_dot()))]
    named = [*own, Note("randomized", area_mark(**_added())), Note("asked openly", area_mark(**_sampling()))]
    return Picture(
        name="margins",
        title="How exact a survey will be",
        text=_in_words(plan, rows),
        data={"n": curve.n, "margin": curve.margin, "direct_margin": curve.direct},
        columns=("respondents", f"within, {Printed(100 * plan.level):g} %", "asked directly"),
        rows=rows,
        heights=(
            TOP + HEIGHT + 58 + notes_height(own, x=LEFT, width=WIDE),
            TOP + HEIGHT + 58 + notes_height(named),
        ),
        draw=lambda canvas: _draw(canvas, plan, curve, named if canvas.narrow else own),
    )


def _curve(plan: SamplePlan) -> _Curve:
    n = np.geomspace(max(2.0, plan.n / REACH), max(8.0, plan.n * REACH), POINTS)
    z = margin_of(1, 1, plan.level)
    total, open_ = (z * np.sqrt(v / n) for v in (plan.variance.total, plan.variance.sampling))
    return _Curve(n, total, open_)


def _margins(plan: SamplePlan, n: int) -> tuple[float, float]:
    return margin_of(plan.variance.total, n, plan.level), margin_of(plan.variance.sampling, n, plan.level)


def _few(n: int) -> list[int]:
    """Some numbers of respondents for the table, the planned one in the middle."""
    return [max(1, round(n / 4)), max(1, round(n / 2)), n, 2 * n, 4 * n]


def _own(plan: SamplePlan) -> str:
    who = shorten(label(plan.label), 24)
    within, directly = f"{Printed(plan.margin):.3g}", f"{Printed(plan.direct_margin):.3g}"
    return f"{plan.n:,} respondents: share of {who} within {within}, asked directly {directly}"


def _in_words(plan: SamplePlan, rows: list[list[str]]) -> str:
    said = "; ".join(f"{n} respondents give {margin}, asked directly {direct}" for n, margin, direct in rows)
    return f"Half width of the {Printed(100 * plan.level):g} % interval of the share of {label(plan.label)}: {said}."


def _draw(canvas: Canvas, plan: SamplePlan, curve: _Curve, notes: list[Note]) -> None:
    right = canvas.width - (14 if canvas.narrow else 128)
    axes = canvas.axes(left=LEFT, top=TOP, width=right - LEFT, height=HEIGHT)
    top = float(curve.margin[0]) * 1.06
    axes.set(xscale="log", xlim=(curve.n[0], curve.n[-1]), ylim=(0, top))
    ticks = round_numbers(float(curve.n[0]), float(curve.n[-1]))
    set_numbers(axes.xaxis, ticks)
    if ticks[-1] < LONG:
        axes.xaxis.set_ticklabels([f"{n:,}" for n in ticks])
    axes.grid(color=colour("grid"), linewidth=1)
    axes.fill_between(curve.n, curve.direct, curve.margin, **_added())
    axes.fill_between(curve.n, 0, curve.direct, **_sampling())
    axes.plot([plan.n], [plan.margin], **_dot(), clip_on=False)
    axes.axhline(0, color=colour("muted"), linewidth=1)
    if not canvas.narrow:
        _name_areas(canvas, curve, right, top)
    canvas.text(4, 14, f"{Printed(100 * plan.level):g} % interval within ±", tone="muted", fontsize=SMALL)
    canvas.text(right, TOP + HEIGHT + 38, "Respondents", tone="muted", align="right", fontsize=SMALL)
    write_notes(canvas, notes, x=4 if canvas.narrow else LEFT, top=TOP + HEIGHT + 50)


def _name_areas(canvas: Canvas, curve: _Curve, right: float, top: float) -> None:
    """Words at the right ends of the areas, one above the other."""
    ends = (float(curve.direct[-1] + curve.margin[-1]) / 2, float(curve.direct[-1]) / 2)
    places = spread([TOP + HEIGHT * (1 - y / top) for y in ends], apart=15, low=TOP, high=TOP + HEIGHT - 6)
    for name, tone, y in zip(("randomized", "asked openly"), ("report", "truth"), places, strict=True):
        canvas.text(right + 8, y, name, tone=tone, fontsize=SMALL)


def _added() -> dict[str, Any]:
    face = {"facecolor": colour("randomization"), "edgecolor": colour("report")}
    return {**face, "hatch": "////", "linewidth": 1, "zorder": 2}


def _sampling() -> dict[str, Any]:
    return {"facecolor": colour("sampling"), "edgecolor": colour("truth"), "linewidth": 1, "zorder": 3}


def _dot() -> dict[str, Any]:
    return {"marker": "D", "markersize": 8, "linestyle": "none", "color": colour("accent"), "zorder": 6}
