"""*Choosing a bound for a release*: risk on one axis, change on the other, each bound a labelled point.

Points that another one beats on both sides are grey, with an arrow to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import RealNumber, as_real, check_kind, list_of
from maskwell.core.phrases import Printed, expected_number, shorten
from maskwell.errors import ParameterError
from maskwell.release.risk_utility import RiskUtilityPoint, beaten_by
from maskwell.reports.pictures.canvas import (
    SMALL,
    WIDE,
    Canvas,
    Note,
    Picture,
    colour,
    line_mark,
    notes_height,
    open_point,
    point_mark,
    spread,
    write_notes,
)
from maskwell.reports.plain_words import SPACE, as_decimal, count, percent, percent_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT, TOP, HEIGHT = 46, 40, 270
MOST = 12
LETTERS = (22, 38)  # of a name, wide and narrow
LETTER = 7.2  # its width in pixels


def plot_risk_utility(points: Sequence[RiskUtilityPoint], *, bound: float | None = None) -> Picture:
    r"""Risk against change, for releases under several bounds.

    Parameters
    ----------
    points
        At most twelve; the one that was chosen is brought out. Those that are not possible are named below.
    bound
        The risk that was asked for, drawn as a limit.

    >>> mild = RiskUtilityPoint(label="match 0.5", risk=0.47, changed=0.02, matches=91.5, above=0, chosen=True)
    >>> odd = RiskUtilityPoint(label="theta 0.9", risk=0.61, changed=0.08, matches=120, above=7)
    >>> plot_risk_utility([mild, odd], bound=0.5).rows[1]
    ['theta 0.9', '61\xa0%', '8.0\xa0%', '120', '7', 'match 0.5']
    """
    points = list_of(RiskUtilityPoint, points, "points")
    check_kind(RealNumber | None, bound=bound)
    bound = None if bound is None else as_real(bound, "bound", low=0, high=1)
    all_points, points = points, [point for point in points if point.is_possible]
    if all_points and not points:
        raise ParameterError(
            "none of these releases has a risk to draw",
            hint="name keys in the plan: [release] keys = [...], or allow larger bounds",
            points=all_points,
        )
    if not 1 <= len(points) <= MOST:
        raise ParameterError(f"{len(points)} points to draw", hint=f"give one to {MOST} releases", points=all_points)
    beaten = beaten_by(points)
    never = [f"{point.label}: not possible" for point in all_points if not point.is_possible]
    notes = [*_notes(points, beaten, bound), *map(Note, never)]
    names = len(points) * 17 + 12
    return Picture(
        name="risk-utility",
        title="Risk against change",
        text=" ".join([_in_words(points, beaten, bound), *(f"{words}." for words in never)]),
        data={"risk": np.array([p.risk for p in points]), "changed": np.array([p.changed for p in points])},
        columns=["asked", "greatest risk", "records changed", "expected matches", "records above", "beaten by"],
        rows=[_row(p, points, i) for p, i in zip(points, beaten, strict=True)],
        heights=(
            TOP + HEIGHT + 58 + notes_height(notes, x=LEFT, width=WIDE),
            TOP + HEIGHT + 64 + names + notes_height(notes),
        ),
        draw=lambda canvas: _draw(canvas, points, beaten, bound, notes),
    )


def _row(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint], better: int | None) -> list[str]:
    matches = expected_number(point.matches).removesuffix(".0")
    figures = [_risk(point.risk), f"{percent(point.changed)}{SPACE}%", matches, count(point.above)]
    return [point.label, *figures, "" if better is None else points[better].label]


def _risk(risk: float) -> str:
    return f"{percent_bound(as_decimal(risk), up=True)}{SPACE}%"


def _in_words(points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None], bound: float | None) -> str:
    said = "; ".join(
        f"{p.label}: greatest risk {_risk(p.risk)}, {percent(p.changed)} percent of the records change"
        + (", chosen" if p.chosen else "")
        + ("" if i is None else f", beaten by {points[i].label}")
        for p, i in zip(points, beaten, strict=True)
    )
    asked = "" if bound is None else f" The bound is {_risk(bound)}."
    return f"Risk and change of releases under several bounds. {said}.{asked}"


def _tone(point: RiskUtilityPoint, better: int | None) -> str:
    return "accent" if point.chosen else "ink" if better is None else "muted"


def _notes(points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None], bound: float | None) -> list[Note]:
    kinds = {
        "accent": "what the plan asks for",
        "ink": "another bound",
        "muted": "beaten: the arrow leads to a release with no more risk that changes no more",
    }
    seen = {_tone(p, i) for p, i in zip(points, beaten, strict=True)}
    marked = [Note(words, point_mark(**_mark(tone))) for tone, words in kinds.items() if tone in seen]
    limit = [] if bound is None else [Note(f"bound of the plan, {_risk(bound)}", line_mark(**_limit()))]
    return [*marked, *limit]


# ---- drawing


def _draw(
    canvas: Canvas,
    points: Sequence[RiskUtilityPoint],
    beaten: Sequence[int | None],
    bound: float | None,
    notes: Sequence[Note],
) -> None:
    right = canvas.width - 16
    axes = canvas.axes(left=LEFT, top=TOP, width=right - LEFT, height=HEIGHT)
    axes.set(xlim=(0, 1), ylim=(0, 1.12 * max(*(p.changed for p in points), 0.005)))
    _scales(axes)
    if bound is not None:
        axes.axvline(bound, **_limit())
    for point, better in zip(points, beaten, strict=True):
        if better is not None:
            _arrow(axes, point, points[better])
        axes.plot([point.risk], [point.changed], **_mark(_tone(point, better)), clip_on=False)
    canvas.text(4, 14, "Records that change, %", tone="muted", fontsize=SMALL)
    canvas.text(right, TOP + HEIGHT + 38, "Greatest risk of a record, %", tone="muted", align="right", fontsize=SMALL)
    _labels(canvas, axes, points, beaten)
    if canvas.narrow:
        _below(canvas, points, beaten)
    top = TOP + HEIGHT + (58 + 17 * len(points) + 12 if canvas.narrow else 50)
    write_notes(canvas, notes, x=4 if canvas.narrow else LEFT, top=top)


def _scales(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{Printed(100 * y):.3g}"))
    axes.grid(color=colour("grid"), linewidth=1)
    axes.axhline(0, color=colour("muted"), linewidth=1)
    axes.axvline(0, color=colour("muted"), linewidth=1)


def _labels(canvas: Canvas, axes: Axes, points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None]) -> None:
    """A name beside each point; on a narrow screen a number, with its name below the frame."""
    top, width = axes.get_ylim()[1], canvas.width - 16 - LEFT
    places = spread([HEIGHT * (1 - p.changed / top) for p in points], apart=17, low=8, high=HEIGHT - 10)
    for i, (point, better, y) in enumerate(zip(points, beaten, places, strict=True)):
        name = str(i + 1) if canvas.narrow else shorten(point.label, LETTERS[0])
        left = width * (1 - point.risk) < LETTER * len(name) + 16
        at = point.risk + (-10 if left else 10) / width
        weight = "bold" if point.chosen else "normal"
        axes.text(
            at, top * (1 - y / HEIGHT), name, ha="right" if left else "left", weight=weight, **_name(point, better)
        )


def _below(canvas: Canvas, points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None]) -> None:
    """What the numbers of a narrow drawing stand for."""
    for i, (point, better) in enumerate(zip(points, beaten, strict=True)):
        words = f"{i + 1}  {shorten(point.label, LETTERS[1])}"
        weight = "bold" if point.chosen else "normal"
        y = TOP + HEIGHT + 64 + 17 * i
        canvas.text(4, y, words, tone=_tone(point, better), weight=weight, fontsize=SMALL)


def _name(point: RiskUtilityPoint, better: int | None) -> dict[str, Any]:
    box = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 1, "alpha": 0.85}
    tone = colour(_tone(point, better))
    return {"color": tone, "fontsize": SMALL, "va": "center", "bbox": box, "zorder": 5, "parse_math": False}


def _arrow(axes: Axes, start: RiskUtilityPoint, end: RiskUtilityPoint) -> None:
    style = {"arrowstyle": "-|>", "color": colour("muted"), "linewidth": 1, "shrinkA": 5, "shrinkB": 6}
    there, here = (end.risk, end.changed), (start.risk, start.changed)
    axes.annotate("", xy=there, xytext=here, arrowprops=style, zorder=6)


def _mark(tone: str) -> dict[str, Any]:
    shape = {"accent": ("D", 8.0), "ink": ("o", 7.0), "muted": ("o", 6.5)}[tone]
    face: dict[str, Any] = open_point(colour("ink")) if tone == "ink" else {"color": colour(tone)}
    return {"marker": shape[0], "markersize": shape[1], "linestyle": "none", "zorder": 6, **face}


def _limit() -> dict[str, Any]:
    return {"color": colour("risk"), "linewidth": 1.4, "linestyle": (0, (4, 3)), "zorder": 2}
