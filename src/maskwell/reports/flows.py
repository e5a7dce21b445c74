"""*Where your answer goes*: truths on the left, the reports they may become on the right, width = probability."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.reports.picture import SIZE, SMALL, Canvas, Picture
from maskwell.reports.style import colour
from maskwell.reports.tables import shorten
from maskwell.reports.words import SPACE, percent

MOST_TRUTHS, MOST_REPORTS = 6, 8
BAND, GAP, TOP = 58, 10, 56


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
    flow = _whole(design, truth) if whole else _single(design, truth)
    height = TOP + max(BAND * len(flow.truths), 44 * len(flow.reports)) + GAP * len(flow.reports) + 30
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
        heights=(height, height),
        draw=lambda canvas: _draw(canvas, flow),
    )


def _whole(design: Design, truth: int) -> _Flow:
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
    best = np.argsort(-share, kind="stable")[: MOST_REPORTS - 1]
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
    room = canvas.height - TOP - 24
    P = flow.probability
    unit = (room - GAP * (len(flow.reports) - 1)) / float(P.sum())
    heights = unit * P.sum(axis=0)
    lefts = _stack(heights, room)
    rights = _stack(unit * P.sum(axis=1), room)
    _ribbons(canvas, flow, unit, lefts, rights, (start + 10, end))
    for j, label in enumerate(flow.truths):
        _node(canvas, start, lefts[j], heights[j], "truth")
        bold = "bold" if j == flow.focus else "normal"
        name = shorten(label, 11 if narrow else 18)
        canvas.text(start - 8, lefts[j] + heights[j] / 2, name, align="right", weight=bold, fontsize=size)
    for i, label in enumerate(flow.reports):
        height = unit * float(P[i].sum())
        _node(canvas, end, rights[i], height, "report")
        y = rights[i] + height / 2
        chance = f"{percent(float(P[i, flow.focus]))} %"
        column = end + (58 if narrow else 66)
        canvas.text(column, y, chance, align="right", weight="bold", fontsize=size)
        canvas.text(column + 7, y, shorten(label, 12 if narrow else 18), fontsize=size)
    _headings(canvas, flow, start, end)


def _stack(heights: Real, room: float) -> Real:
    gap = (room - float(heights.sum())) / max(len(heights) - 1, 1)
    first = TOP if len(heights) > 1 else TOP + (room - float(heights.sum())) / 2
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


def _headings(canvas: Canvas, flow: _Flow, start: float, end: float) -> None:
    canvas.text(start + 10, 14, "True answer", tone="truth", align="right", weight="bold")
    canvas.text(end, 14, "Report" if canvas.narrow else "Reported answer", tone="report", weight="bold")
    focus = shorten(flow.truths[flow.focus], 14)
    words = f"if the truth is “{focus}”" if not canvas.narrow else f"if “{focus}”"
    canvas.text(end, 36, words, tone="muted", fontsize=SMALL)
    if flow.note:
        canvas.text(canvas.width - 4, canvas.height - 8, flow.note, tone="muted", align="right", fontsize=SMALL)
