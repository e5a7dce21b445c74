"""Logarithmic scales and labels at the ends of lines that do not touch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from maskwell.core.phrases import Printed
from maskwell.reports.style import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

FEW_DECADES, MOST_DECADES = 2.2, 9
SMALL, LARGE = 1e-3, 1e4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def round_numbers(low: float, high: float) -> list[float]:
    """Numbers for a logarithmic scale: powers of ten, with 2 and 5 in between where it is short, few where it is long.

    >>> round_numbers(1.5, 60), round_numbers(0.02, 3000), round_numbers(2, 1e30)
    ([2, 5, 10, 20, 50], [0.1, 1, 10, 100, 1000], [10000, 100000000, ...])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high) - math.log10(low) <= FEW_DECADES else (1,)
    stride = math.ceil((last - first) / MOST_DECADES)
    powers = range(first - first % stride, last + 1, stride)
    found = [float(f"{step}e{power}") for power in powers for step in steps]
    return [int(x) if x >= 1 else x for x in found if low <= x * (1 + 1e-12) and x <= high * (1 + 1e-12)]


def number(x: float) -> str:
    """A number of a scale, without needless digits; a power of ten where it is very large or small.

    >>> number(0.05), number(20), number(200000), number(1e-5)
    ('0.05', '20', '2·10⁵', '10⁻⁵')
    """
    if SMALL <= x < LARGE:
        return f"{Printed(x):.4g}"
    lead, power = f"{Printed(x):.3e}".split("e")
    first = f"{Printed(float(lead)):g}"
    return f"{'' if first == '1' else f'{first}·'}10{raised(int(power))}"


def raised(power: int) -> str:
    """The digits of a power.

    >>> "10" + raised(-12)
    '10⁻¹²'
    """
    return str(power).translate(RAISED)


def log_scale(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Logarithmic scales with round numbers and a light grid."""
    axes.set(xscale="log", yscale="log", xlim=x, ylim=y)
    for axis, (low, high) in ((axes.xaxis, x), (axes.yaxis, y)):
        set_numbers(axis, round_numbers(low, high))
    axes.grid(color=colour("grid"), linewidth=1)


def set_numbers(axis: Axis, at: Sequence[float], *, factor: float = 1) -> None:
    """Numbers on a scale and nothing between them, shown times a factor."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks([float(x) for x in at], labels=[number(factor * x) for x in at])
    axis.set_minor_locator(NullLocator())


def spread(places: Sequence[float], *, apart: float, low: float, high: float) -> list[float]:
    """Places moved as little as needed to lie at least ``apart`` from each other, between ``low`` and ``high``.

    >>> spread([10, 11, 50], apart=14, low=0, high=100)
    [3.5, 17.5, 50]
    """
    groups: list[list[int]] = []
    order = sorted(range(len(places)), key=places.__getitem__)
    for i in order:
        groups.append([i])
        while (
            len(groups) > 1
            and _start(groups[-1], places, apart, low, high) < _end(groups[-2], places, apart, low, high) + apart
        ):
            last = groups.pop()
            groups[-1] += last
    found = [0.0] * len(places)
    for group in groups:
        first = _start(group, places, apart, low, high)
        for step, i in enumerate(group):
            found[i] = places[i] if len(group) == 1 and low <= places[i] <= high else first + apart * step
    return found


def _start(group: Sequence[int], places: Sequence[float], apart: float, low: float, high: float) -> float:
    """Where a group begins: around its middle, inside the limits."""
    length = apart * (len(group) - 1)
    middle = sum(places[i] for i in group) / len(group)
    return max(low, min(middle - length / 2, high - length))


def _end(group: Sequence[int], places: Sequence[float], apart: float, low: float, high: float) -> float:
    return _start(group, places, apart, low, high) + apart * (len(group) - 1)
