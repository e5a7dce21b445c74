"""*What your report reveals*: belief before on one axis, belief after on the other, and where no report can lead."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.exact import Parity
from maskwell.reports.picture import SMALL, Canvas, Picture
from maskwell.reports.style import colour
from maskwell.reports.words import PRIORS, SPACE, factor_up, range_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASE = Fraction(1, 10)
POINTS = 401
SPAN = 12.0  # log-odds at the ends of the grid: 0.0006 % and its mirror


def posterior_curves(gamma: float, prior: Real) -> tuple[Real, Real]:
    """The least and greatest belief after a report, for each belief before it.

        h_low(p) = p / (gamma - (gamma - 1) p),    h_high(p) = gamma p / (1 + (gamma - 1) p)

    where ``prior`` holds p, shape (n,). Both leave 0 and 1 where they are, for gamma infinite too.
    Source: [ChaiNayak2018, eq. (3.5)].

    >>> low, high = posterior_curves(5, np.array([0.1]))
    >>> round(float(low[0]), 7), round(float(high[0]), 6)   # one in ten may become one in three, not more
    (0.0217391, 0.357143)
    """
    if math.isinf(gamma):
        return np.where(prior < 1, 0.0, 1.0), np.where(prior > 0, 1.0, 0.0)
    return prior / (gamma - (gamma - 1) * prior), gamma * prior / (1 + (gamma - 1) * prior)


def plot_revealed(parity: Parity) -> Picture:
    """What one report can do to anybody's belief, for a design of this parity.

    >>> print(plot_revealed(Fraction(3)).text.split(".")[0])
    With parity at most 3, one report can multiply or divide the odds of any statement about a person by at most 3
    """
    prior = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-SPAN, SPAN, POINTS))), [1.0]])
    lower, upper = posterior_curves(float(parity), prior)
    rows = [[f"{text}{SPACE}%" for text in range_in_words(parity, p)] for p in PRIORS]
    return Picture(
        name="revealed",
        title="What a report reveals",
        text=_in_words(parity, rows),
        data={"prior": prior, "lower": lower, "upper": upper},
        columns=("belief before the report", "after it, at least", "after it, at most"),
        rows=rows,
        heights=(470, 430),
        draw=lambda canvas: _draw(canvas, parity, prior, lower, upper),
    )


def _in_words(parity: Parity, rows: list[list[str]]) -> str:
    cases = "; ".join(f"a belief of {before} becomes {low} to {high}" for before, low, high in rows)
    if isinstance(parity, float):
        return f"This design has no bound on parity: a report may lead anybody to certainty. In numbers: {cases}."
    factor = factor_up(parity)
    return (
        f"With parity at most {factor}, one report can multiply or divide the odds of any statement about a person by "
        f"at most {factor}. In numbers: {cases}."
    )


def _draw(canvas: Canvas, parity: Parity, prior: Real, lower: Real, upper: Real) -> None:
    side, left, top = (264, 46, 40) if canvas.narrow else (376, 54, 42)
    axes = canvas.axes(left=left, top=top, width=side, height=side)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=np.arange(0, 1.1, 0.2), yticks=np.arange(0, 1.1, 0.2))
    axes.set_xticklabels([f"{t:.0f}" for t in np.arange(0, 101, 20)])
    axes.set_yticklabels([f"{t:.0f}" for t in np.arange(0, 101, 20)])
    axes.grid(color=colour("grid"), linewidth=1)
    hatched: dict[str, Any] = {
        "facecolor": "none",
        "edgecolor": colour("risk"),
        "hatch": "////",
        "linewidth": 0,
        "alpha": 0.55,
    }
    axes.fill_between(prior, upper, 1, **hatched)
    axes.fill_between(prior, 0, lower, **hatched)
    axes.plot([0, 1], [0, 1], color=colour("muted"), linewidth=1, linestyle=(0, (1, 3)))
    for curve in (upper, lower):
        axes.plot(prior, curve, color=colour("risk"), linewidth=1.8)
    _mark_case(axes, parity)
    canvas.text(4, top - 22, "Belief after the report, %", tone="muted", fontsize=SMALL)
    canvas.text(
        left + side, top + side + 38, "Belief before the report, %", tone="muted", align="right", fontsize=SMALL
    )
    _explain(canvas, parity, left + side + 26, top)


def _mark_case(axes: Axes, parity: Parity) -> None:
    low, high = (float(c[0]) for c in posterior_curves(float(parity), np.array([float(CASE)])))
    axes.plot([float(CASE)] * 2, [low, high], color=colour("report"), linewidth=6, solid_capstyle="butt", zorder=4)
    axes.plot([float(CASE)], [float(CASE)], marker="o", markersize=8, color=colour("ink"), zorder=5, clip_on=False)


def _explain(canvas: Canvas, parity: Parity, x: float, top: float) -> None:
    before, low, high = range_in_words(parity, CASE)
    if canvas.narrow:
        words = f"Case: {before} % before, {low} to {high} % after."
        canvas.text(4, canvas.height - 44, words, fontsize=SMALL)
        _hatched_key(canvas, 4, canvas.height - 18)
        return
    lines = [
        ("One case", "muted", "normal"),
        (f"{before} % before", "ink", "bold"),
        (f"{low} to {high} % after", "ink", "bold"),
        ("whatever the report says", "ink", "normal"),
    ]
    for step, (words, tone, weight) in enumerate(lines):
        canvas.text(x, top + 10 + 21 * step, words, tone=tone, weight=weight)
    dots = canvas.page
    dots.plot([x + 4], [top + 116], marker="o", markersize=8, color=colour("ink"))
    canvas.text(x + 20, top + 116, "before", fontsize=SMALL)
    dots.plot([x + 4] * 2, [top + 130, top + 152], color=colour("report"), linewidth=6, solid_capstyle="butt")
    canvas.text(x + 20, top + 141, "possible after", fontsize=SMALL)
    dots.plot([x - 1, x + 11], [top + 168] * 2, color=colour("muted"), linewidth=1, linestyle=(0, (1, 3)))
    canvas.text(x + 20, top + 168, "nothing learned", fontsize=SMALL)
    _hatched_key(canvas, x - 2, top + 194)


def _hatched_key(canvas: Canvas, x: float, y: float) -> None:
    canvas.page.fill(
        [x, x + 14, x + 14, x],
        [y - 7, y - 7, y + 7, y + 7],
        facecolor="none",
        edgecolor=colour("risk"),
        hatch="////",
        linewidth=1,
    )
    canvas.text(x + 22, y, "breach: no report leads here", fontsize=SMALL)
