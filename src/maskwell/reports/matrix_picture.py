"""*Where records go*: the matrix of one randomization of a release, or, where it is large, the chance to stay.

A small matrix is drawn whole: truths are columns, reports are rows, staying blue and moving orange, stronger where it
is likelier. Of a large one each state is a dot: how many records it has, and the chance that they keep their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array, Real
from maskwell.core.printed import Printed
from maskwell.engines.labelled_columns import Labels
from maskwell.release.stages.stage import Stage
from maskwell.reports.notes import Note, area_mark, notes_height, point_mark, write_notes
from maskwell.reports.picture import NARROW, SMALL, WIDE, Canvas, Picture
from maskwell.reports.scales import number, round_numbers
from maskwell.reports.state_names import PARTS, columns_of, name_of
from maskwell.reports.style import colour
from maskwell.reports.tables import count, counted, shorten
from maskwell.reports.words import SPACE, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WHOLE, NUMBERED, NUMBERED_NARROW = 24, 10, 5
"""States up to which a matrix is drawn whole, and with numbers in it on each screen."""

FAINT, STRONG = 0.06, 0.46
"""Strength of a colour at a chance of almost none and of one; ink stays readable on both."""

SIDE, TOP = 150, 70
NARROW_SIDE = 92
DOTS_LEFT, DOTS_TOP, DOTS_HEIGHT = 52, 40, 230
MOST_DOTS = 1500
SHOWN_ROWS = 24
TOLD = 3  # reports of each truth that are told in words
READABLE = 5  # letters below which a label that is cut says nothing


def plot_matrix(stage: Stage, *, labels: Labels | None = None) -> Picture:
    """The matrix of one randomization: where the records of each state go.

    Parameters
    ----------
    stage
        As it is carried out; a state is the labels of the columns within which is randomized, then of the variables.
    labels
        What the values of the columns stand for, where a labelled file tells it.
    """
    check_kind(Labels | None, labels=labels)
    check_kind(Stage, stage=stage)
    whole = len(stage.states) <= WHOLE and len(stage.outputs) <= WHOLE
    return _whole(stage, labels) if whole else _large(stage, labels)


# ---- a whole matrix


def _whole(stage: Stage, labels: Labels | None) -> Picture:
    P = stage.design.matrix()
    truths, reports = (
        [name_of(state, stage.columns, labels) for state in states] for states in (stage.states, stage.outputs)
    )
    notes = [
        Note("stays as it is", area_mark(**_cell("truth", 0.7))),
        Note("becomes another report; stronger where it is likelier", area_mark(**_cell("report", 0.7))),
        Note("no colour: never"),
    ]
    heights = [
        TOP + _step(len(reports), len(truths), narrow=n) * len(reports) + 16 + notes_height(notes, x=4, width=w)
        for n, w in ((False, WIDE), (True, NARROW))
    ]
    return Picture(
        name="matrix",
        title=f"Where the records of {columns_of(stage)} go",
        text=_whole_in_words(P, truths, reports),
        data={"probability": P},
        columns=["report", *(f"if the truth is {label}" for label in truths)],
        rows=[[label, *(f"{percent(float(p))}{SPACE}%" for p in row)] for label, row in zip(reports, P, strict=True)],
        heights=(heights[0], heights[1]),
        draw=lambda canvas: _draw_whole(canvas, P, truths, reports, notes),
    )


def _whole_in_words(P: Real, truths: list[str], reports: list[str]) -> str:
    said = "; ".join(f"{truth} becomes {_reports_in_words(P[:, j], reports)}" for j, truth in enumerate(truths))
    return f"Chances of the reports for each truth: {said}."


def _reports_in_words(chances: Real, reports: list[str]) -> str:
    """The likeliest reports and, in one sum, the others."""
    order = [i for i in np.argsort(-chances, kind="stable").tolist() if chances[i]]
    first = [f"{reports[i]} with {percent(float(chances[i]))} percent" for i in order[:TOLD]]
    rest = float(chances[order[TOLD:]].sum())
    return ", ".join([*first, *([f"others with {percent(rest)} percent"] if len(order) > TOLD else [])])


def _step(rows: int, columns: int, *, narrow: bool) -> int:
    """Height of a row: as wide as a column, within reason."""
    room = (NARROW - NARROW_SIDE if narrow else WIDE - SIDE) / max(rows, columns)
    return int(np.clip(room, 16, 34))


def _draw_whole(canvas: Canvas, P: Real, truths: list[str], reports: list[str], notes: Sequence[Note]) -> None:
    m, k = P.shape
    side = NARROW_SIDE if canvas.narrow else SIDE
    step = _step(m, k, narrow=canvas.narrow)
    width = min((canvas.width - side - 4) / k, 84)
    axes = canvas.axes(left=side, top=TOP, width=width * k, height=step * m)
    axes.set(xlim=(0, k), ylim=(m, 0), xticks=[], yticks=[])
    numbered = k <= (NUMBERED_NARROW if canvas.narrow else NUMBERED)
    for i, j in np.argwhere(P > 0).tolist():
        tone = "truth" if reports[i] == truths[j] else "report"
        axes.fill([j, j + 1, j + 1, j], [i, i, i + 1, i + 1], **_cell(tone, float(P[i, j])))
        if numbered:
            _number(axes, float(P[i, j]), j + 0.5, i + 0.5)
    _frame(axes, m, k)
    letters = int((side - 12) / 7)
    for i, label in enumerate(reports):
        canvas.text(side - 8, TOP + step * (i + 0.5), shorten(label, letters), align="right", fontsize=SMALL)
    _headings(canvas, truths, side, width)
    write_notes(canvas, notes, x=4, top=TOP + step * m + 12)


def _number(axes: Axes, p: float, x: float, y: float) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "color": colour("ink")}
    axes.text(x, y, percent(p) if p < 1 else "100", **style)


def _frame(axes: Axes, m: int, k: int) -> None:
    style: dict[str, Any] = {"color": colour("grid"), "linewidth": 0.8, "zorder": 1}
    for i in range(m + 1):
        axes.plot([0, k], [i, i], **style, clip_on=False)
    for j in range(k + 1):
        axes.plot([j, j], [0, m], **style, clip_on=False)


def _headings(canvas: Canvas, truths: list[str], side: float, width: float) -> None:
    """The truths above their columns, those of two parts in two lines where one would be too long."""
    canvas.text(side, 14, "True labels, %", tone="truth", weight="bold")
    canvas.text(side - 8, TOP - 16, "Reported", tone="report", align="right", weight="bold")
    letters = int((width - 6) / 7)
    long = max(map(len, truths)) > letters
    parts = [label.split(PARTS) if long and label.count(PARTS) == 1 else [label] for label in truths]
    if letters < READABLE and any(len(part) > letters for label in parts for part in label):
        canvas.text(side, TOP - 16, "in the order of the rows", tone="muted", fontsize=SMALL)
        return
    for j, lines in enumerate(parts):
        for up, part in enumerate(reversed(lines)):
            middle = side + width * (j + 0.5)
            canvas.text(middle, TOP - 14 - 16 * up, shorten(part, letters), align="center", fontsize=SMALL)


def _cell(tone: str, p: float) -> dict[str, Any]:
    strength = FAINT + (STRONG - FAINT) * p
    return {"facecolor": colour(tone), "alpha": strength, "linewidth": 0, "zorder": 2}


# ---- a large one


def _large(stage: Stage, labels: Labels | None) -> Picture:
    keeps, counts = stage.keeps, np.asarray(stage.counts)
    order = np.argsort(keeps, kind="stable")
    notes = [Note("one combination of labels", point_mark(**_dot()))]
    height = DOTS_TOP + DOTS_HEIGHT + 58
    return Picture(
        name="matrix",
        title=f"How often the records of {columns_of(stage)} stay",
        text=_large_in_words(stage, keeps, order, labels),
        data={"records": counts, "keeps": keeps},
        columns=["labels", "records", "stay as they are"],
        rows=[
            [
                name_of(stage.states[j], stage.columns, labels),
                count(int(counts[j])),
                f"{percent(float(keeps[j]))}{SPACE}%",
            ]
            for j in order[:SHOWN_ROWS].tolist()
        ],
        heights=(height + notes_height(notes, x=DOTS_LEFT, width=WIDE), height + notes_height(notes)),
        draw=lambda canvas: _draw_large(canvas, counts, keeps, notes),
    )


def _large_in_words(stage: Stage, keeps: Real, order: Array, labels: Labels | None) -> str:
    least, most = int(order[0]), int(order[-1])
    first, last = (name_of(stage.states[j], stage.columns, labels) for j in (least, most))
    said = (
        f"Chance to stay of each of {counted(len(keeps), 'combination', 'combinations')} of {columns_of(stage)}: from "
        f"{percent(float(keeps[least]))} percent for {first} to "
        f"{percent(float(keeps[most]))} percent for {last}; all records together "
        f"{percent(1 - stage.expected_changed())} percent."
    )
    left = len(keeps) - SHOWN_ROWS
    return said + (f" The table has the {SHOWN_ROWS} that change most." if left > 0 else "")


def _draw_large(canvas: Canvas, counts: Array, keeps: Real, notes: Sequence[Note]) -> None:
    right = canvas.width - 16
    axes = canvas.axes(left=DOTS_LEFT, top=DOTS_TOP, width=right - DOTS_LEFT, height=DOTS_HEIGHT)
    most = float(max(counts.max(), 10))
    axes.set(xscale="log", xlim=(0.7, most * 1.5), ylim=(0, 1.04))
    _dot_scales(axes, most)
    places = _few(counts, keeps)
    axes.plot(np.maximum(counts[places], 0.7), keeps[places], **_dot())
    canvas.text(4, 14, "Chance to stay as it is, %", tone="muted", fontsize=SMALL)
    below = "Records with these labels"
    canvas.text(right, DOTS_TOP + DOTS_HEIGHT + 38, below, tone="muted", align="right", fontsize=SMALL)
    write_notes(canvas, notes, x=4 if canvas.narrow else DOTS_LEFT, top=DOTS_TOP + DOTS_HEIGHT + 50)


def _few(counts: Array, keeps: Real) -> Array:
    """Dots that cover others are drawn once; not more than a page can hold."""
    shown = np.column_stack([np.round(np.log10(np.maximum(counts, 0.7)), 2), np.round(keeps, 3)])
    places = np.unique(shown, axis=0, return_index=True)[1]
    if len(places) <= MOST_DOTS:
        return np.asarray(places)
    return np.asarray(places[np.linspace(0, len(places) - 1, MOST_DOTS).astype(np.int64)])


def _dot_scales(axes: Axes, most: float) -> None:
    from matplotlib.ticker import NullLocator

    powers = [x for x in round_numbers(1, most) if f"{Printed(x):g}"[0] == "1"]
    axes.set_xticks(powers, [f"{x:,}" if x < 10**6 else number(x) for x in powers])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])
    axes.grid(color=colour("grid"), linewidth=1)
    axes.axhline(0, color=colour("muted"), linewidth=1)


def _dot() -> dict[str, Any]:
    face = {"markerfacecolor": colour("truth"), "markeredgecolor": colour("truth"), "markeredgewidth": 0}
    return {"marker": "o", "markersize": 4, "linestyle": "none", "zorder": 4, **face}
