"""*Choosing a bound for a release*: risk on one axis, change on the other, each bound a labelled point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import RealNumber, as_real, check_kind, list_of
from maskwell.core.percentages import bound_in_percent, in_percent, percent
from maskwell.core.phrases import expected_number, shorten
from maskwell.errors import ParameterError
from maskwell.microdata.risk_utility import RiskUtilityPoint, beaten_by
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import WIDTH, LegendEntry, Sheet
from maskwell.reports.plain_words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT, ACROSS = 290, WIDTH - 60  # pixels of the frame; of its width about
MOST = 12
LETTERS = 22
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
        raise ParameterError("none-of-these-releases", points=all_points)
    if not 1 <= len(points) <= MOST:
        raise ParameterError("points-to-draw", points_count=len(points), most=MOST, points=all_points)
    beaten = beaten_by(points)
    never = [f"{point.label}: not possible" for point in all_points if not point.is_possible]
    return Picture(
        name="risk-utility",
        title="Risk against change",
        text=" ".join([_in_words(points, beaten, bound), *(f"{words}." for words in never)]),
        data={"risk": np.array([p.risk for p in points]), "changed": np.array([p.changed for p in points])},
        columns=["asked", "greatest risk", "records changed", "expected matches", "records above", "beaten by"],
        rows=[_row(p, points, i) for p, i in zip(points, beaten, strict=True)],
        draw=lambda sheet: _draw(sheet, points, beaten, bound, never),
    )


def _row(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint], better: int | None) -> list[str]:
    matches = expected_number(point.matches).removesuffix(".0")
    figures = [_risk(point.risk), in_percent(point.changed), matches, count(point.above)]
    return [point.label, *figures, "" if better is None else points[better].label]


def _risk(risk: float) -> str:
    return bound_in_percent(risk, up=True)


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


def _notes(points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None], bound: float | None) -> list[LegendEntry]:
    kinds = {
        "accent": "what the plan asks for",
        "ink": "another bound",
        "muted": "beaten: the arrow leads to a release with no more risk that changes no more",
    }
    seen = {_tone(p, i) for p, i in zip(points, beaten, strict=True)}
    marked = [LegendEntry(words, marks.line(**_mark(tone))) for tone, words in kinds.items() if tone in seen]
    limit = (
        [] if bound is None else [LegendEntry(f"bound of the plan, {_risk(bound)}", marks.line(**marks.look("limit")))]
    )
    return [*marked, *limit]


def _draw(
    sheet: Sheet,
    points: Sequence[RiskUtilityPoint],
    beaten: Sequence[int | None],
    bound: float | None,
    never: Sequence[str],
) -> None:
    (axes,) = sheet.plots(HEIGHT)
    axes.set(xlim=(0, 1), ylim=(0, 1.12 * max(*(p.changed for p in points), 0.005)))
    marks.percent_ticks(axes.xaxis)
    marks.percent_ticks(axes.yaxis)
    axes.axhline(0, color=colour("muted"), linewidth=1)
    axes.axvline(0, color=colour("muted"), linewidth=1)
    if bound is not None:
        axes.axvline(bound, **marks.look("limit"))
    for point, better in zip(points, beaten, strict=True):
        if better is not None:
            _arrow(axes, point, points[better])
        axes.plot([point.risk], [point.changed], **_mark(_tone(point, better)), clip_on=False)
    names = _labels(axes, points, beaten)
    axes.set_title("Records that change, %")
    axes.set_xlabel("Greatest risk of a record, %")
    sheet.below += [*_notes(points, beaten, bound), *map(LegendEntry, (*names, *never))]


def _labels(axes: Axes, points: Sequence[RiskUtilityPoint], beaten: Sequence[int | None]) -> list[str]:
    """A name beside each point, or a number where names would touch; the names are then given back."""
    top = axes.get_ylim()[1]
    at = [(ACROSS * p.risk, HEIGHT * p.changed / top) for p in points]
    named, numbered = [shorten(p.label, LETTERS) for p in points], [str(i) for i in range(1, len(points) + 1)]
    places = _places(at, named)
    names, places = (numbered, _places(at, numbered) or at) if places is None else (named, places)
    for point, better, name, (x, y) in zip(points, beaten, names, places, strict=True):
        weight = "bold" if point.chosen else "normal"
        axes.text(x / ACROSS, top * y / HEIGHT, name, ha="center", weight=weight, **_name(point, better))
    return [] if names is named else [f"{name}  {p.label}" for name, p in zip(names, points, strict=True)]


def _places(at: Sequence[tuple[float, float]], names: Sequence[str]) -> list[tuple[float, float]] | None:
    """The middle of each name, beside, above or below its point, where it touches no point and no other name."""
    taken = [(x - 6, x + 6, y - 6, y + 6) for x, y in at]
    places = []
    for (x, y), name in zip(at, names, strict=True):
        half = LETTER * len(name) / 2 + 2
        tried = [
            (x + half + 9, y),
            (x - half - 9, y),
            (x, y + 16),
            (x, y - 16),
            (x + half + 4, y + 14),
            (x - half - 4, y + 14),
            (x, y + 30),
        ]
        boxes = {(u, v): (u - half, u + half, v - 8, v + 8) for u, v in tried if half <= u <= ACROSS - half and v >= 0}
        free = next((place for place, box in boxes.items() if not any(_touch(box, other) for other in taken)), None)
        if free is None:
            return None
        places.append(free)
        taken.append(boxes[free])
    return places


def _touch(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _name(point: RiskUtilityPoint, better: int | None) -> dict[str, Any]:
    box = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 1, "alpha": 0.85}
    tone = colour(_tone(point, better))
    return {"color": tone, "va": "center", "bbox": box, "zorder": 5, "parse_math": False}


def _arrow(axes: Axes, start: RiskUtilityPoint, end: RiskUtilityPoint) -> None:
    style = {"arrowstyle": "-|>", "color": colour("muted"), "linewidth": 1, "shrinkA": 5, "shrinkB": 6}
    there, here = (end.risk, end.changed), (start.risk, start.changed)
    axes.annotate("", xy=there, xytext=here, arrowprops=style, zorder=6)


def _mark(tone: str) -> dict[str, Any]:
    shape = {"accent": ("D", 8.0), "ink": ("o", 7.0), "muted": ("o", 6.5)}[tone]
    face: dict[str, Any] = marks.open_point(colour("ink")) if tone == "ink" else {"color": colour(tone)}
    return {"marker": shape[0], "markersize": shape[1], "linestyle": "none", "zorder": 6, **face}
