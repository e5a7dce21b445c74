"""Where answers and records go: the reports that a truth may become, and the matrix of one randomization of a release.

*Where your answer goes* has truths on the left and reports on the right, width = probability. *Where records go* draws
a small matrix whole: truths are columns, reports are rows, staying blue and moving orange, stronger where it is
likelier. Of a large one each state is a dot: how many records it has, and the chance that they keep their labels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.categories import Categories
from maskwell.core.phrases import Printed, shorten, visible
from maskwell.core.verdicts import ranked
from maskwell.designs.design import Design
from maskwell.engines.labelled_columns import Labels
from maskwell.release.stages.stage import Stage
from maskwell.reports.pictures.canvas import (
    LINE,
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    Canvas,
    Note,
    Picture,
    area_mark,
    colour,
    notes_height,
    point_mark,
    round_numbers,
    scale_number,
    write_notes,
)
from maskwell.reports.plain_words import SPACE, count, counted, percent
from maskwell.reports.text.release_words import PARTS, columns_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WHOLE, NUMBERED, NUMBERED_NARROW = 24, 10, 5
"""States up to which a matrix is drawn whole, and with numbers in it on each screen."""

FAINT, STRONG = 0.06, 0.46
"""Strength of a colour at a chance of almost none and of one; ink stays readable on both."""

SIDE, MATRIX_TOP = 150, 70
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
    return _whole_matrix(stage, labels) if whole else _large(stage, labels)


# ---- a whole matrix


def _whole_matrix(stage: Stage, labels: Labels | None) -> Picture:
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
        MATRIX_TOP + _step(len(reports), len(truths), narrow=n) * len(reports) + 16 + notes_height(notes, x=4, width=w)
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
    order = [i for i in ranked(chances).tolist() if chances[i]]
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
    axes = canvas.axes(left=side, top=MATRIX_TOP, width=width * k, height=step * m)
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
        canvas.text(side - 8, MATRIX_TOP + step * (i + 0.5), shorten(label, letters), align="right", fontsize=SMALL)
    _matrix_headings(canvas, truths, side, width)
    write_notes(canvas, notes, x=4, top=MATRIX_TOP + step * m + 12)


def _number(axes: Axes, p: float, x: float, y: float) -> None:
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "color": colour("ink")}
    axes.text(x, y, percent(p) if p < 1 else "100", **style)


def _frame(axes: Axes, m: int, k: int) -> None:
    style: dict[str, Any] = {"color": colour("grid"), "linewidth": 0.8, "zorder": 1}
    for i in range(m + 1):
        axes.plot([0, k], [i, i], **style, clip_on=False)
    for j in range(k + 1):
        axes.plot([j, j], [0, m], **style, clip_on=False)


def _matrix_headings(canvas: Canvas, truths: list[str], side: float, width: float) -> None:
    """The truths above their columns, those of two parts in two lines where one would be too long."""
    canvas.text(side, 14, "True labels, %", tone="truth", weight="bold")
    canvas.text(side - 8, MATRIX_TOP - 16, "Reported", tone="report", align="right", weight="bold")
    letters = int((width - 6) / 7)
    long = max(map(len, truths)) > letters
    parts = [label.split(PARTS) if long and label.count(PARTS) == 1 else [label] for label in truths]
    if letters < READABLE and any(len(part) > letters for label in parts for part in label):
        canvas.text(side, MATRIX_TOP - 16, "in the order of the rows", tone="muted", fontsize=SMALL)
        return
    for j, lines in enumerate(parts):
        for up, part in enumerate(reversed(lines)):
            middle = side + width * (j + 0.5)
            canvas.text(middle, MATRIX_TOP - 14 - 16 * up, shorten(part, letters), align="center", fontsize=SMALL)


def _cell(tone: str, p: float) -> dict[str, Any]:
    strength = FAINT + (STRONG - FAINT) * p
    return {"facecolor": colour(tone), "alpha": strength, "linewidth": 0, "zorder": 2}


# ---- a large one


def _large(stage: Stage, labels: Labels | None) -> Picture:
    keeps, counts = stage.keeps, np.asarray(stage.counts)
    order = ranked(-keeps)
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
    rounded_dots = np.column_stack([np.round(np.log10(np.maximum(counts, 0.7)), 2), np.round(keeps, 3)])
    places = np.unique(rounded_dots, axis=0, return_index=True)[1]
    if len(places) <= MOST_DOTS:
        return np.asarray(places)
    return np.asarray(places[np.linspace(0, len(places) - 1, MOST_DOTS).astype(np.int64)])


def _dot_scales(axes: Axes, most: float) -> None:
    from matplotlib.ticker import NullLocator

    powers = [x for x in round_numbers(1, most) if f"{Printed(x):g}"[0] == "1"]
    axes.set_xticks(powers, [f"{x:,}" if x < 10**6 else scale_number(x) for x in powers])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])
    axes.grid(color=colour("grid"), linewidth=1)
    axes.axhline(0, color=colour("muted"), linewidth=1)


def _dot() -> dict[str, Any]:
    face = {"markerfacecolor": colour("truth"), "markeredgecolor": colour("truth"), "markeredgewidth": 0}
    return {"marker": "o", "markersize": 4, "linestyle": "none", "zorder": 4, **face}


MOST_TRUTHS, MOST_REPORTS = 6, 8
BAND, GAP, FLOWS_TOP = 58, 10, 56
LONG_FOCUS = 14
"""Letters of a true answer that a heading has room for."""


@dataclass(frozen=True, eq=False)
class _Flow:
    """Probabilities of the reports shown (rows) given the truths shown (columns)."""

    truths: list[str]
    reports: list[str]
    probability: Real
    focus: int
    note: str


def plot_flows(design: Design, *, truth: Hashable | None = None) -> Picture:
    """Where an answer goes.

    Small designs are drawn whole, with one truth brought out; of larger ones that truth is drawn alone, with its
    likeliest reports. Where reports are sets and many, the chance that each category is named is shown.

    Parameters
    ----------
    design
        Any design.
    truth
        Label or code of the true category to bring out; the first if it is left out.
    """
    check_kind(Design, design=design)
    truth = 0 if truth is None else design.inputs.find(truth, "truth")
    whole = design.k <= MOST_TRUTHS and design.m <= MOST_REPORTS
    flow = _whole_flow(design, truth) if whole else _single(design, truth)
    return Picture(
        name="flows",
        title="Where an answer goes",
        text=_in_words(flow),
        data={"probability": flow.probability},
        columns=["report", *(f"if the truth is {label}" for label in flow.truths)],
        rows=[
            [label, *(f"{percent(float(p))}{SPACE}%" for p in row)]
            for label, row in zip(flow.reports, flow.probability, strict=True)
        ],
        heights=(_height(flow, narrow=False), _height(flow, narrow=True)),
        draw=lambda canvas: _draw(canvas, flow),
    )


NAMES = {False: (18, 18), True: (11, 12)}
"""Letters of a line of the names of true answers and of reports, wide and narrow."""


def _lines(name: str, letters: int) -> list[str]:
    return textwrap.wrap(visible(name), letters) or [""]


def _gap(flow: _Flow, *, narrow: bool) -> int:
    """Pixels between two reports: room for the longest of their names, however thin its band."""
    truths, reports = NAMES[narrow]
    most = max(len(_lines(name, reports)) for name in flow.reports)
    most = max(most, *(len(_lines(name, truths)) for name in flow.truths))
    return max(GAP, LINE * most - 8)


def _height(flow: _Flow, *, narrow: bool) -> int:
    gaps = _gap(flow, narrow=narrow) * len(flow.reports)
    return FLOWS_TOP + max(BAND * len(flow.truths), 44 * len(flow.reports)) + gaps + 30


def _write(canvas: Canvas, x: float, y: float, lines: Sequence[str], **style: Any) -> None:
    """A name in lines around a height."""
    for i, line in enumerate(lines):
        canvas.text(x, y + LINE * (i - (len(lines) - 1) / 2), line, **style)


def _whole_flow(design: Design, truth: int) -> _Flow:
    return _Flow(
        truths=[str(label) for label in design.inputs.labels],
        reports=_report_names(design),
        probability=design.matrix(),
        focus=truth,
        note="",
    )


def _report_names(design: Design) -> list[str]:
    if isinstance(design.outputs, Categories):
        return [str(label) for label in design.outputs.labels]
    members = np.unpackbits(design.report_space(), axis=1, count=design.k, bitorder="little")
    return [" + ".join(_named(design.inputs.labels, row)) or "none" for row in members]


def _named(labels: Sequence[Any], row: Array) -> list[str]:
    return [str(label) for label, inside in zip(labels, row, strict=True) if inside]


def _single(design: Design, truth: int) -> _Flow:
    share = design.apply(np.eye(1, design.k, truth)[0])
    labels = design.outputs.labels if isinstance(design.outputs, Categories) else design.inputs.labels
    best = ranked(share)[: MOST_REPORTS - 1]
    rest = np.delete(share, best)
    names, values = [str(labels[i]) for i in best.tolist()], share[best]
    if len(rest):
        names, values = [*names, f"each of {len(rest):,} others"], np.append(values, rest.mean())
    kind = "is named in the report" if design.reports_are_sets else "is the report"
    spread = "" if not len(rest) or np.ptp(rest) < 1e-12 else "; for the others, the average"
    return _Flow(
        truths=[str(design.inputs.labels[truth])],
        reports=names,
        probability=values[:, None],
        focus=0,
        note=f"chance that the category {kind}{spread}",
    )


def _in_words(flow: _Flow) -> str:
    focus = flow.truths[flow.focus]
    said = "; ".join(
        f"{label} with {percent(float(p))} percent"
        for label, p in zip(flow.reports, flow.probability[:, flow.focus], strict=True)
    )
    note = f" Shown is the {flow.note}." if flow.note else ""
    return f"Someone whose true answer is {focus} reports {said}.{note}"


def _draw(canvas: Canvas, flow: _Flow) -> None:
    narrow, size = canvas.narrow, SMALL if canvas.narrow else SIZE
    start, end = (84, 176) if narrow else (150, 460)
    room = canvas.height - FLOWS_TOP - 24
    P = flow.probability
    unit = (room - _gap(flow, narrow=narrow) * (len(flow.reports) - 1)) / float(P.sum())
    heights = unit * P.sum(axis=0)
    lefts = _stack(heights, room)
    rights = _stack(unit * P.sum(axis=1), room)
    _ribbons(canvas, flow, unit, lefts, rights, (start + 10, end))
    for j, label in enumerate(flow.truths):
        _node(canvas, start, lefts[j], heights[j], "truth")
        bold = "bold" if j == flow.focus else "normal"
        name = _lines(label, NAMES[narrow][0])
        _write(canvas, start - 8, lefts[j] + heights[j] / 2, name, align="right", weight=bold, fontsize=size)
    for i, label in enumerate(flow.reports):
        height = unit * float(P[i].sum())
        _node(canvas, end, rights[i], height, "report")
        y = rights[i] + height / 2
        chance = f"{percent(float(P[i, flow.focus]))} %"
        column = end + (58 if narrow else 66)
        canvas.text(column, y, chance, align="right", weight="bold", fontsize=size)
        _write(canvas, column + 7, y, _lines(label, NAMES[narrow][1]), fontsize=size)
    _flow_headings(canvas, flow, start, end)


def _stack(heights: Real, room: float) -> Real:
    gap = (room - float(heights.sum())) / max(len(heights) - 1, 1)
    first = FLOWS_TOP if len(heights) > 1 else FLOWS_TOP + (room - float(heights.sum())) / 2
    return first + np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]])


def _node(canvas: Canvas, x: float, top: float, height: float, tone: str) -> None:
    canvas.page.fill([x, x + 10, x + 10, x], [top, top, top + height, top + height], color=colour(tone), linewidth=0)


def _ribbons(canvas: Canvas, flow: _Flow, unit: float, lefts: Real, rights: Real, ends: tuple[float, float]) -> None:
    into = rights.copy()
    order: list[tuple[bool, float, float, float, str]] = []
    for j, truth in enumerate(flow.truths):
        out = float(lefts[j])
        for i, report in enumerate(flow.reports):
            width = unit * float(flow.probability[i, j])
            tone = "rule" if j != flow.focus else "truth" if report == truth else "report"
            order.append((j == flow.focus, out, float(into[i]), width, tone))
            out += width
            into[i] += width
    for bright, a, b, width, tone in sorted(order, key=lambda ribbon: ribbon[0]):
        _ribbon(canvas, ends, (a, b), width, tone=tone, alpha=0.8 if bright else 0.45)


def _ribbon(
    canvas: Canvas, ends: tuple[float, float], tops: tuple[float, float], width: float, *, tone: str, alpha: float
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (x0, x1), (a, b), middle = ends, tops, sum(ends) / 2
    points = [(x0, a), (middle, a), (middle, b), (x1, b)]
    back = [(x1, b + width), (middle, b + width), (middle, a + width), (x0, a + width)]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    shape = Path([*points, *back], codes)
    edge = {"edgecolor": colour("paper"), "linewidth": 0.6}
    canvas.page.add_patch(PathPatch(shape, facecolor=colour(tone), alpha=alpha, **edge))


def _flow_headings(canvas: Canvas, flow: _Flow, start: float, end: float) -> None:
    canvas.text(start + 10, 14, "True answer", tone="truth", align="right", weight="bold")
    canvas.text(end, 14, "Report" if canvas.narrow else "Reported answer", tone="report", weight="bold")
    focus = visible(flow.truths[flow.focus])
    words = f"if the truth is “{focus}”" if not canvas.narrow else f"if “{focus}”"
    if len(focus) > LONG_FOCUS:
        words = "for the one in bold" if canvas.narrow else "if the truth is the one in bold"
    canvas.text(end, 36, words, tone="muted", fontsize=SMALL)
    if flow.note:
        canvas.text(canvas.width - 4, canvas.height - 8, flow.note, tone="muted", align="right", fontsize=SMALL)
