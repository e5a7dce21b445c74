"""Where answers and records go: the reports that a truth may become, and the matrix of one randomization."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.categories import Categories
from maskwell.core.percentages import in_percent, percent
from maskwell.core.phrases import shorten, visible
from maskwell.core.verdicts import ranked
from maskwell.designs.design import Design
from maskwell.engines.labelled_columns import Labels
from maskwell.microdata.stages.stage import Stage
from maskwell.notes import Note
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LETTER, LINE, SIZE, WIDTH, LegendEntry, Sheet
from maskwell.reports.plain_words import count, counted
from maskwell.reports.text.names_in_words import columns_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WHOLE, NUMBERED = 24, 8  # states up to which a matrix is drawn whole, and with numbers in it
FAINT, STRONG = 0.06, 0.46  # strength of a colour at a chance of almost none and of one; ink stays readable on both
SMALLER, CROWDED = 10.0, 16  # letters of the labels of a matrix of many states, and how many that is
LABEL = 130  # pixels for the labels of the rows of a matrix at most
DOTS_HEIGHT = 230
MOST_DOTS = 1500
SHOWN_ROWS = 24
TOLD = 3  # reports of each truth that are told in words


def plot_matrix(stage: Stage, *, labels: Labels | None = None) -> Picture:
    """The matrix of one randomization: where the records of each state go."""
    whole = len(stage.states) <= WHOLE and len(stage.outputs) <= WHOLE
    return _whole_matrix(stage, labels) if whole else _large(stage, labels)


def _whole_matrix(stage: Stage, labels: Labels | None) -> Picture:
    P = stage.design.matrix()
    truths, reports = (
        [name_of(state, stage.columns, labels) for state in states] for states in (stage.states, stage.outputs)
    )
    said = "; ".join(f"{truth} becomes {_reports_in_words(P[:, j], reports)}" for j, truth in enumerate(truths))
    return Picture(
        name="matrix",
        title=f"Where the records of {columns_of(stage)} go",
        text=f"Chances of the reports for each truth: {said}.",
        data={"probability": P},
        columns=["report", *(f"if the truth is {label}" for label in truths)],
        rows=[[label, *(in_percent(float(p)) for p in row)] for label, row in zip(reports, P, strict=True)],
        draw=lambda sheet: _draw_whole(sheet, P, truths, reports),
    )


def _reports_in_words(chances: Real, reports: list[str]) -> str:
    """The likeliest reports and, in one sum, the others."""
    order = [i for i in ranked(chances).tolist() if chances[i]]
    first = [f"{reports[i]} with {percent(float(chances[i]))} percent" for i in order[:TOLD]]
    rest = float(chances[order[TOLD:]].sum())
    return ", ".join([*first, *([f"others with {percent(rest)} percent"] if len(order) > TOLD else [])])


def _draw_whole(sheet: Sheet, P: Real, truths: list[str], reports: list[str]) -> None:
    m, k = P.shape
    size = SMALLER if max(m, k) > CROWDED else SIZE
    beside = [_wrapped(label, LABEL, size) for label in reports]
    width = (WIDTH - 14 - min(LABEL, max(_pixels(label, size) for label in beside))) / k
    step = max(float(np.clip(width, 16, 34)), max(label.count("\n") + 1 for label in beside) * 1.3 * size)
    (axes,) = sheet.plots(step * m)
    axes.set(xlim=(0, k), ylim=(m, 0))
    for i, j in np.argwhere(P > 0).tolist():
        tone = "truth" if reports[i] == truths[j] else "report"
        axes.fill([j, j + 1, j + 1, j], [i, i, i + 1, i + 1], **_cell(tone, float(P[i, j])))
        if k <= NUMBERED:
            axes.text(j + 0.5, i + 0.5, percent(float(P[i, j])) if P[i, j] < 1 else "100", ha="center", va="center")
    lines: dict[str, Any] = {"colors": colour("grid"), "linewidth": 0.8, "zorder": 1, "clip_on": False}
    axes.grid(visible=False)
    axes.hlines(range(m + 1), 0, k, **lines)
    axes.vlines(range(k + 1), 0, m, **lines)
    _matrix_labels(axes, truths, beside, width, size)
    sheet.below += [
        LegendEntry("stays as it is", marks.area(**_cell("truth", 0.7))),
        LegendEntry("becomes another report; stronger where it is likelier", marks.area(**_cell("report", 0.7))),
        LegendEntry("no colour: never"),
    ]


def _matrix_labels(axes: Axes, truths: list[str], beside: list[str], width: float, size: float) -> None:
    """The truths above their columns, upright where they are too long for them, and the reports beside their rows."""
    style: dict[str, Any] = {"parse_math": False, "color": colour("ink"), "fontsize": size}
    above = [_wrapped(label, width - 4, size) for label in truths]
    flat = all(_pixels(word, size) <= width - 4 for label in truths for word in visible(label).split() or [""])
    flat = flat and not any("..." in label or "…" in label for label in above)
    upright: dict[str, Any] = {} if flat else {"rotation": 90, "va": "bottom"}
    names = above if flat else [_wrapped(label, LABEL, size, lines=max(1, int(width / size / 1.3))) for label in truths]
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(truths)) + 0.5, names, **style, **upright)
    axes.set_yticks(np.arange(len(beside)) + 0.5, beside, **style)
    axes.set_xlabel("True labels, %", color=colour("truth"), weight="bold", loc="left")
    axes.xaxis.set_label_position("top")
    axes.set_ylabel("Reported", color=colour("report"), weight="bold", loc="top")


def _wrapped(label: str, room: float, size: float, lines: int = 3) -> str:
    """A label in a few lines that fit, shortened where they are too few."""
    letters = max(3, int(room / (LETTER * size / SIZE)))
    parts = textwrap.wrap(visible(label), letters) or [""]
    return "\n".join(
        parts if len(parts) <= lines else [*parts[: lines - 1], shorten(" ".join(parts[lines - 1 :]), letters)]
    )


def _pixels(label: str, size: float) -> float:
    return max(map(len, label.split("\n"))) * LETTER * size / SIZE


def _cell(tone: str, p: float) -> dict[str, Any]:
    strength = FAINT + (STRONG - FAINT) * p
    return {"facecolor": colour(tone), "alpha": strength, "linewidth": 0, "zorder": 2}


def _large(stage: Stage, labels: Labels | None) -> Picture:
    keeps, counts = stage.keeps, np.asarray(stage.counts)
    order = ranked(-keeps)
    return Picture(
        name="matrix",
        title=f"How often the records of {columns_of(stage)} stay",
        text=_large_in_words(stage, keeps, order, labels),
        data={"records": counts, "keeps": keeps},
        columns=["labels", "records", "stay as they are"],
        rows=[
            [name_of(stage.states[j], stage.columns, labels), count(int(counts[j])), in_percent(float(keeps[j]))]
            for j in order[:SHOWN_ROWS].tolist()
        ],
        draw=lambda sheet: _draw_large(sheet, counts, keeps),
    )


def _large_in_words(stage: Stage, keeps: Real, order: Array, labels: Labels | None) -> str:
    least, most = int(order[0]), int(order[-1])
    first, last = (name_of(stage.states[j], stage.columns, labels) for j in (least, most))
    low, high, whole = map(percent, (float(keeps[least]), float(keeps[most]), 1 - stage.expected_changed()))
    each = f"{counted(len(keeps), 'combination', 'combinations')} of {columns_of(stage)}"
    said = Note("picture-of-a-large-matrix", each=each, low=low, first=first, high=high, last=last, whole=whole)
    left = len(keeps) - SHOWN_ROWS
    return said + (f" The table has the {SHOWN_ROWS} that change most." if left > 0 else "")


def _draw_large(sheet: Sheet, counts: Array, keeps: Real) -> None:
    (axes,) = sheet.plots(DOTS_HEIGHT)
    most = float(max(counts.max(), 10))
    axes.set(xscale="log", xlim=(0.7, most * 1.5), ylim=(0, 1.04))
    marks.count_ticks(axes.xaxis, most)
    marks.whole_percent_ticks(axes.yaxis)
    axes.axhline(0, color=colour("muted"), linewidth=1)
    places = _few(counts, keeps)
    axes.plot(np.maximum(counts[places], 0.7), keeps[places], **marks.look("dot"))
    axes.set_title("Chance to stay as it is, %")
    axes.set_xlabel("Records with these labels")
    sheet.below.append(LegendEntry("one combination of labels", marks.line(**marks.look("dot"))))


def _few(counts: Array, keeps: Real) -> Array:
    """Dots that cover others are drawn once; not more than a page can hold."""
    rounded_dots = np.column_stack([np.round(np.log10(np.maximum(counts, 0.7)), 2), np.round(keeps, 3)])
    places = np.unique(rounded_dots, axis=0, return_index=True)[1]
    if len(places) <= MOST_DOTS:
        return np.asarray(places)
    return np.asarray(places[np.linspace(0, len(places) - 1, MOST_DOTS).astype(np.int64)])


MOST_TRUTHS, MOST_REPORTS = 6, 8
BAND, GAP = 58, 10
START, END, NODE = 108, 232, 10  # pixels from the left at which answers and reports stand, and how wide
LETTERS = 14  # of a line of a name


@dataclass(frozen=True, eq=False)
class _Flow:
    """Probabilities of the reports shown (rows) given the truths shown (columns)."""

    truths: list[str]
    reports: list[str]
    probability: Real
    focus: int
    note: str = ""


def plot_flows(design: Design, *, truth: Hashable | None = None) -> Picture:
    """Where an answer goes.

    Small designs are drawn whole, with one truth brought out; of larger ones that truth is drawn alone, with its
    likeliest reports. Where reports are sets and many, the chance that each category is named is shown.

    Parameters
    ----------
    truth
        Label or code of the true category to bring out; the first if it is left out.
    """
    check_kind(Design, design=design)
    truth = 0 if truth is None else design.inputs.find(truth, "truth")
    if design.k <= MOST_TRUTHS and design.m <= MOST_REPORTS:
        flow = _Flow([str(label) for label in design.inputs.labels], _report_names(design), design.matrix(), truth)
    else:
        flow = _single(design, truth)
    return Picture(
        name="flows",
        title="Where an answer goes",
        text=_in_words(flow),
        data={"probability": flow.probability},
        columns=["report", *(f"if the truth is {label}" for label in flow.truths)],
        rows=[
            [label, *(in_percent(float(p)) for p in row)]
            for label, row in zip(flow.reports, flow.probability, strict=True)
        ],
        draw=lambda sheet: _draw(sheet, flow),
    )


def _lines(name: str) -> list[str]:
    return textwrap.wrap(visible(name), LETTERS) or [""]


def _report_names(design: Design) -> list[str]:
    if isinstance(design.outputs, Categories):
        return [str(label) for label in design.outputs.labels]
    members = np.unpackbits(design.report_space(), axis=1, count=design.k, bitorder="little")
    names = [str(label) for label in design.inputs.labels]
    return [" + ".join(name for name, inside in zip(names, row, strict=True) if inside) or "none" for row in members]


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


def _draw(sheet: Sheet, flow: _Flow) -> None:
    P = flow.probability
    # between two names there is room for the longest of them, however thin its band
    gap = max(GAP, LINE * max(len(_lines(name)) for name in (*flow.truths, *flow.reports)) - 8)
    room = max(BAND * len(flow.truths), 44 * len(flow.reports)) + gap * len(flow.reports)
    (axes,) = sheet.plots(room)
    axes.set(xlim=(0, WIDTH), ylim=(room, 0), xticks=[], yticks=[])
    unit = (room - gap * (len(flow.reports) - 1)) / float(P.sum())
    starts = []
    for heights in (unit * P.sum(axis=0), unit * P.sum(axis=1)):
        free, between = room - float(heights.sum()), len(heights) - 1
        first = 0.0 if between else free / 2
        starts.append(first + np.concatenate([[0.0], np.cumsum(heights + free / max(between, 1))[:-1]]))
    lefts, rights = starts
    _ribbons(axes, flow, unit, lefts, rights)
    for j, label in enumerate(flow.truths):
        height = unit * float(P[:, j].sum())
        _node(axes, START, lefts[j], height, "truth")
        weight = "bold" if j == flow.focus else "normal"
        axes.text(START - 8, lefts[j] + height / 2, "\n".join(_lines(label)), ha="right", va="center", weight=weight)
    for i, label in enumerate(flow.reports):
        height = unit * float(P[i].sum())
        _node(axes, END, rights[i], height, "report")
        y = rights[i] + height / 2
        axes.text(END + 64, y, f"{percent(float(P[i, flow.focus]))} %", ha="right", va="center", weight="bold")
        axes.text(END + 72, y, "\n".join(_lines(label)), va="center")
    axes.set_title("True answer", color=colour("truth"), weight="bold")
    axes.set_title("Reported answer", color=colour("report"), weight="bold", loc="right")
    focus = shorten(visible(flow.truths[flow.focus]), 60)
    sheet.below.append(LegendEntry(f"Percentages: what is reported if the truth is “{focus}”", tone="muted"))
    sheet.below += [LegendEntry(flow.note, tone="muted")] if flow.note else []


def _node(axes: Axes, x: float, top: float, height: float, tone: str) -> None:
    axes.fill([x, x + NODE, x + NODE, x], [top, top, top + height, top + height], color=colour(tone), linewidth=0)


def _ribbons(axes: Axes, flow: _Flow, unit: float, lefts: Real, rights: Real) -> None:
    """All bands, those of the truth that is brought out above the others."""
    into = rights.copy()
    for j, truth in enumerate(flow.truths):
        out = float(lefts[j])
        for i, report in enumerate(flow.reports):
            width = unit * float(flow.probability[i, j])
            tone = "rule" if j != flow.focus else "truth" if report == truth else "report"
            _ribbon(axes, (out, float(into[i])), width, tone=tone, bright=j == flow.focus)
            out += width
            into[i] += width


def _ribbon(axes: Axes, tops: tuple[float, float], width: float, *, tone: str, bright: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x0, x1, (a, b), middle = START + NODE, END, tops, (START + NODE + END) / 2
    points = [(x0, a), (middle, a), (middle, b), (x1, b)]
    back = [(x1, b + width), (middle, b + width), (middle, a + width), (x0, a + width)]
    shape = Path([*points, *back], [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3])
    looks: dict[str, Any] = {"edgecolor": colour("paper"), "linewidth": 0.6, "alpha": 0.8 if bright else 0.45}
    axes.add_patch(PathPatch(shape, facecolor=colour(tone), zorder=2 if bright else 1, **looks))
