"""Marks and scales of drawings: points, bars and areas as the pictures share them, and numbers along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maskwell.core.percentages import MINUS
from maskwell.core.phrases import Printed
from maskwell.reports.pictures.palette import colour

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

BAR = 6.0  # half of the height of a bar
POINT = {"linestyle": "none", "clip_on": False}


def line(**style: Any) -> Artist:
    """A short piece of a line, or a point where the style has no line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def bar(*, color: str, linewidth: float) -> Artist:
    """A short upright bar."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker="|", markersize=13, markeredgewidth=linewidth, color=color, linestyle="none")


def area(**style: Any) -> Artist:
    """A small piece of an area, with an outline."""
    from matplotlib.patches import Patch

    return Patch(**{**style, "linewidth": 1})


def open_point(edge: str) -> dict[str, Any]:
    """Style of a point that is only a ring."""
    return {"markerfacecolor": colour("paper"), "markeredgecolor": edge, "markeredgewidth": 1.6}


LOOKS: Mapping[str, Mapping[str, Any]] = {
    # what randomization adds: to a width, to a variance, to the records that change; and what sampling alone gives
    "added": {"facecolor": "randomization", "edgecolor": "report", "hatch": "////", "linewidth": 1},
    "sampling": {"facecolor": "sampling", "edgecolor": "truth", "linewidth": 1},
    "sampling alone": {"color": "truth", "linewidth": 1.2, "linestyle": (0, (5, 2))},
    # a true value, or one before a release; a value of the reports, or one after it
    "true": {"marker": "v", "markersize": 8.5, "markeredgewidth": 0, "color": "truth", "zorder": 7, **POINT},
    "reported": {
        "marker": "o",
        "markersize": 7.5,
        "markeredgewidth": 2,
        "zorder": 6,
        **POINT,
        "markerfacecolor": "paper",
        "markeredgecolor": "report",
    },
    "before": {"color": "truth", "linewidth": 1.8, "linestyle": (0, (6, 2)), "zorder": 4},
    "after": {"color": "report", "linewidth": 2.6, "zorder": 5},
    # intervals: of a share, and of a coefficient with its point
    "interval": {"facecolor": "rule", "edgecolor": "muted", "linewidth": 1},
    "reach": {"color": "sampling", "linewidth": 5.0, "solid_capstyle": "butt"},
    "coefficient": {"marker": "o", "markersize": 7, "color": "truth", "linestyle": "none", "zorder": 5},
    # beliefs: the diagonal, the boundary of a parity, where no report leads, and a breach that one leads to
    "nothing learned": {"color": "muted", "linewidth": 1, "linestyle": (0, (1, 3))},
    "parity": {"color": "ink", "linewidth": 1.4},
    "unreachable": {"facecolor": "grid", "edgecolor": "rule", "linewidth": 0},
    "broken": {"facecolor": "risk", "edgecolor": "risk", "linewidth": 0, "alpha": 0.45},
    # bounds of a release, and one combination of labels
    "limit": {"color": "risk", "linewidth": 1.4, "linestyle": (0, (4, 3)), "zorder": 2},
    "beyond": {"facecolor": "risk", "alpha": 0.13, "linewidth": 0, "zorder": 1},
    "dot": {"marker": "o", "markersize": 4, "linestyle": "none", "zorder": 4, "markeredgewidth": 0, "color": "truth"},
    # what a reader pointed out
    "pin": {"marker": "D", "markersize": 8, "linestyle": "none", "color": "accent", "zorder": 6},
}
COLOURED = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


def look(name: str, **more: Any) -> dict[str, Any]:
    """A style by its name, in the colours that were chosen."""
    style = {key: colour(value) if key in COLOURED else value for key, value in LOOKS[name].items()}
    return {**style, **more}


def box_at(low: float, high: float, y: float) -> tuple[list[float], list[float]]:
    """A bar around a height, as ``fill`` takes it."""
    return [low, high, high, low], [y - BAR, y - BAR, y + BAR, y + BAR]


def upright(axes: Axes, x: float, y: float, **style: Any) -> None:
    """A short upright line around a height."""
    axes.plot([x] * 2, [y - 8, y + 8], **{"color": colour("ink"), "linewidth": 2, "zorder": 6, **style})


def name_ends(axes: Axes, height: float, ends: Sequence[tuple[float, str, str, bool]]) -> None:
    """The names of lines beside their right ends, moved apart where they would touch."""
    places = spread([height * at for at, *_ in ends], apart=15, low=5, high=height - 5)
    for (_, name, tone, strong), y in zip(ends, places, strict=True):
        style: dict[str, Any] = {"color": colour(tone), "weight": "bold" if strong else "normal", "va": "center"}
        axes.text(1.02, y / height, name, transform=axes.transAxes, **style)


FEW_DECADES, MOST_DECADES = 2.2, 9
LARGE_COUNT = 10**6
LEAST_PLAIN, LARGEST_PLAIN = 1e-3, 1e4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def round_numbers(low: float, high: float) -> list[float]:
    """Numbers for a logarithmic scale: powers of ten, with 2 and 5 in between where it is short, few where long."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high) - math.log10(low) <= FEW_DECADES else (1,)
    stride = math.ceil((last - first) / MOST_DECADES)
    powers = range(first - first % stride, last + 1, stride)
    numbers = [float(f"{step}e{power}") for power in powers for step in steps]
    return [int(x) if x >= 1 else x for x in numbers if low <= x * (1 + 1e-12) and x <= high * (1 + 1e-12)]


def scale_number(x: float) -> str:
    """A number of a scale, without needless digits; a power of ten where it is very large or small."""
    if LEAST_PLAIN <= x < LARGEST_PLAIN:
        return f"{Printed(x):.4g}"
    lead, power = f"{Printed(x):.3e}".split("e")
    first = f"{Printed(float(lead)):g}"
    return f"{'' if first == '1' else f'{first}·'}10{raised(int(power))}"


def raised(power: int) -> str:
    """The digits of a power."""
    return str(power).translate(RAISED)


def log_scale(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Logarithmic scales with round numbers and a light grid."""
    axes.set(xscale="log", yscale="log", xlim=x, ylim=y)
    for axis, (low, high) in ((axes.xaxis, x), (axes.yaxis, y)):
        set_numbers(axis, round_numbers(low, high))


def plain_number(x: float) -> str:
    """A number of a scale, or 0."""
    return scale_number(x) if x else "0"


def ticks(axis: Axis, most: int, shown: Callable[[float], str], *, steps: Sequence[float] = (1, 2, 5, 10)) -> None:
    """A scale with so many round numbers at most."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[*steps]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: shown(x)))


def percent_ticks(axis: Axis, most: int = 5) -> None:
    """A scale of shares, in percent."""
    ticks(axis, most, lambda x: f"{Printed(100 * x):.4g}".replace("-", MINUS))


def whole_percent_ticks(axis: Axis) -> None:
    """A scale of shares from 0 to 100 percent."""
    axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])


def count_ticks(axis: Axis, most: float) -> None:
    """A logarithmic scale of numbers of records, at powers of ten; from a million on these are written as powers."""
    from matplotlib.ticker import NullLocator

    powers = [x for x in round_numbers(1, most) if f"{Printed(x):g}"[0] == "1"]
    axis.set_ticks(powers, [f"{x:,}" if x < LARGE_COUNT else scale_number(x) for x in powers])
    axis.set_minor_locator(NullLocator())


def set_numbers(axis: Axis, at: Sequence[float], *, factor: float = 1) -> None:
    """Numbers on a scale and nothing between them, shown times a factor."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks([float(x) for x in at], labels=[scale_number(factor * x) for x in at])
    axis.set_minor_locator(NullLocator())


def spread(places: Sequence[float], *, apart: float, low: float, high: float) -> list[float]:
    """Places moved as little as needed to lie at least ``apart`` from each other, between ``low`` and ``high``."""
    groups: list[list[int]] = []
    order = sorted(range(len(places)), key=places.__getitem__)
    for i in order:
        groups.append([i])
        while len(groups) > 1 and (
            _start(groups[-1], places, apart, low, high)
            < _start(groups[-2], places, apart, low, high) + apart * (len(groups[-2]) - 1) + apart
        ):
            last = groups.pop()
            groups[-1] += last
    spread_out = [0.0] * len(places)
    for group in groups:
        first = _start(group, places, apart, low, high)
        for step, i in enumerate(group):
            spread_out[i] = places[i] if len(group) == 1 and low <= places[i] <= high else first + apart * step
    return spread_out


def _start(group: Sequence[int], places: Sequence[float], apart: float, low: float, high: float) -> float:
    """Where a group begins: around its middle, inside the limits."""
    length = apart * (len(group) - 1)
    middle = sum(places[i] for i in group) / len(group)
    return max(low, min(middle - length / 2, high - length))
