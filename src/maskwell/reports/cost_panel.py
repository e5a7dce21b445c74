"""What a release costs, beside its risk: a bar for each group of columns, with the share of records that change."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwell.core.phrases import Printed
from maskwell.reports.picture import SMALL, Canvas
from maskwell.reports.style import colour
from maskwell.reports.tables import shorten
from maskwell.reports.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, LINE = 41, 17  # without its label, and each line of the label
LETTERS = 24
ENDS = (0.02, 0.1, 0.2, 0.5, 1.0)
"""Where the scale may end."""


@dataclass(frozen=True)
class Cost:
    """What a release does to a group of columns: share of records that change, expected and as it came out."""

    label: str
    changed: float
    realised: float | None = None
    inflation: float | None = None


def _label(cost: Cost) -> list[str]:
    """In two lines at most."""
    words = " ".join(shorten(word, LETTERS) for word in cost.label.split())
    lines = textwrap.wrap(words, LETTERS, break_on_hyphens=False)
    return lines if len(lines) <= 2 else [lines[0], shorten(" ".join(lines[1:]), LETTERS)]


def cost_row(costs: Sequence[Cost]) -> int:
    """Pixels for each of some costs."""
    return ROW + LINE * max(len(_label(cost)) for cost in costs)


def draw_costs(canvas: Canvas, costs: Sequence[Cost], *, left: float, top: float) -> None:
    """A bar for the share of records that change, with what came out and what it does to variances."""
    if not costs:
        return
    room, row = canvas.width - left - 8, cost_row(costs)
    axes = canvas.axes(left=left, top=top, width=room, height=row * len(costs))
    widest = max(max(c.changed, c.realised or 0.0) for c in costs)
    end = next((end for end in ENDS if end >= widest), ENDS[-1])
    axes.set(xlim=(0, end), ylim=(row * len(costs), 0), yticks=[])
    axes.set_xticks([0, end / 2, end], ["0", f"{Printed(50 * end):g}", f"{Printed(100 * end):g}"])
    axes.axhline(row * len(costs), color=colour("rule"), linewidth=1)
    for i, cost in enumerate(costs):
        _cost_bar(axes, cost, row * i + 10 + LINE * len(_label(cost)))
        _cost_words(canvas, cost, left, left + room, top + row * i)
    canvas.text(left, top - 34, "What it costs", weight="bold")
    canvas.text(left, top - 12, "records that change, expected, %", tone="muted", fontsize=SMALL)
    if any(cost.realised is not None for cost in costs):
        canvas.text(left, top + row * len(costs) + 34, "upright line: as it came out", tone="muted", fontsize=SMALL)


def _cost_bar(axes: Axes, cost: Cost, y: float) -> None:
    axes.fill([0, cost.changed, cost.changed, 0], [y - 6, y - 6, y + 6, y + 6], **_changed())
    axes.plot([0, 0], [y - 8, y + 8], color=colour("muted"), linewidth=1.4, clip_on=False, zorder=4)
    if cost.realised is not None:
        axes.plot([cost.realised] * 2, [y - 9, y + 9], color=colour("ink"), linewidth=2, clip_on=False, zorder=5)


def _cost_words(canvas: Canvas, cost: Cost, left: float, right: float, top: float) -> None:
    for i, line in enumerate(_label(cost)):
        canvas.text(left, top + 11 + LINE * i, line, fontsize=SMALL)
    canvas.text(right, top + 11, percent(cost.changed), align="right", fontsize=SMALL)
    if cost.inflation is not None:
        said = f"variances up to × {Printed(cost.inflation):.2f}"
        y = top + 26 + LINE * len(_label(cost))
        canvas.text(right, y, said, tone="muted", align="right", fontsize=SMALL)


def _changed() -> dict[str, Any]:
    face = {"facecolor": colour("randomization"), "edgecolor": colour("report")}
    return {**face, "hatch": "////", "linewidth": 1, "zorder": 3}
