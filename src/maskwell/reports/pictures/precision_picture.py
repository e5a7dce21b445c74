"""What randomization costs: variance against categories and parity, width of intervals against respondents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_list, check_kind, pairs_of
from maskwell.core.exact import Number, to_float
from maskwell.core.phrases import Printed, shorten
from maskwell.errors import ParameterError
from maskwell.notes import Note
from maskwell.planning.sample_size import SamplePlan, margin_of
from maskwell.planning.set_sizes import check_k, gamma_of, minimax_size, switch_gamma, switch_k, variance_table
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour, levels
from maskwell.reports.pictures.sheet import LegendEntry, Sheet
from maskwell.reports.plain_words import factor_down, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KS, GAMMAS = (3, 10, 30, 100, 1000), (2, 5, 10, 20, 100)
MOST = 8
LARGEST = 10**12  # gammas beyond it are not drawn
LINE_POINTS = 161
PANEL_HEIGHT = 260
MARKS = 6  # changes of the best size that are marked on a line, from the smallest; more would crowd


@dataclass(frozen=True)
class _Mark:
    """A number of categories and a parity that are pointed out, with the least added variance and its size."""

    k: int
    gamma: Fraction
    variance: float
    size: int

    @classmethod
    def of(cls, k: int, gamma: Number) -> _Mark:
        exact = gamma_of(gamma)
        table = variance_table([k], [exact])
        return cls(check_k(k), exact, float(table.added_variance[0, 0]), int(table.size[0, 0]))

    @property
    def beyond(self) -> bool:
        """Whether no scale can hold its parity."""
        return self.gamma > LARGEST

    def arrays(self) -> dict[str, Array]:
        return {"mark": np.array([self.k, to_float(self.gamma), self.variance, self.size])}

    def words(self) -> str:
        where = f"k = {self.k} and γ = {_gamma_text(self.gamma)}"
        said = f"{where}: {Printed(self.variance):.3g} at the best size, q = {self.size}"
        return f"{said}; beyond the scale of γ" if self.beyond else said


@dataclass(frozen=True, eq=False)
class _Line:
    """One line of a panel."""

    name: str  # its label
    x: Real  # x, variance, size: points of the line and the best size at each, shape (n,)
    variance: Real
    size: Array
    changes: list[tuple[float, float]]  # where the best size changes: pairs (x, variance)


def plot_variance(
    *, ks: Sequence[int] = KS, gammas: Sequence[Number] = GAMMAS, mark: tuple[int, Number] | None = None
) -> Picture:
    """Added variance V_R of the minimax subset design: against k for each gamma, against gamma for each k.

        V_R = (k-1)/k [ (k-1) D^2 / (q (k-q) (gamma-1)^2) - 1 ],   D = q gamma + k - q

    where q is the size that makes it least. V_R / n is added to the variances of all k estimates together; sampling
    itself gives them at most (1 - 1/k) / n.

    Parameters
    ----------
    ks, gammas
        Up to eight each. The largest k and the range of gammas set the scales.
    mark
        A pair (k, gamma) to point out, such as that of a plan; its lines are drawn with the others.

    >>> plot_variance(ks=[5, 10], gammas=[5, 20]).rows
    [['5', '3.25 (q = 1)', '0.476 (q = 1)'], ['10', '9.35 (q = 2)', '1.2 (q = 1)']]
    """
    ks, gammas = as_list(ks, "ks"), as_list(gammas, "gammas")
    pin = None if mark is None else _Mark.of(*pairs_of([mark], "mark")[0])
    categories = sorted({*map(check_k, ks), *([] if pin is None else [pin.k])})
    exact = sorted({*map(gamma_of, gammas), *([] if pin is None or pin.beyond else [pin.gamma])})
    _check(categories, exact)
    by_k = [_against_k(gamma, max(*categories, 10)) for gamma in exact]
    by_gamma = [_against_gamma(k, exact) for k in categories]
    table = variance_table(categories, exact)
    told = _told([*by_k, *by_gamma], pin)
    return Picture(
        name="variance",
        title="What randomization costs",
        text=_variances_in_words(categories, exact, [*told]),
        data=_arrays(by_k, by_gamma) | ({} if pin is None else pin.arrays()),
        columns=("k", *(f"γ = {_gamma_text(gamma)}" for gamma in exact)),
        rows=[
            [str(k), *(_cell(float(v), int(q)) for v, q in zip(variances, sizes, strict=True))]
            for k, variances, sizes in zip(categories, table.added_variance.T, table.size.T, strict=True)
        ],
        draw=lambda sheet: _draw_variances(sheet, by_k, by_gamma, pin, told),
    )


def _check(ks: Sequence[int], gammas: Sequence[Fraction]) -> None:
    if not 1 <= len(ks) <= MOST:
        raise ParameterError("numbers-of-categories", ks_count=len(ks), most=MOST, ks=ks)
    if not 1 <= len(gammas) <= MOST:
        raise ParameterError("gammas-count-gammas", gammas_count=len(gammas), most=MOST, gammas=gammas)
    if gammas[-1] > LARGEST:
        raise ParameterError("gamma-is-beyond-the-scale", gamma=factor_down(gammas[-1]), largest=LARGEST)


def _against_k(gamma: Fraction, most: int) -> _Line:
    """A line over k, with the k from which the best size is 2, 3 and so on."""
    switches = [k for k in (switch_k(gamma, q) for q in range(1, MARKS + 1)) if k <= most]
    x = sorted({*np.geomspace(2, most, LINE_POINTS).round().astype(int).tolist(), *switches})
    table = variance_table(x, [gamma])
    variances = dict(zip(x, table.added_variance[0].tolist(), strict=True))
    changes = [(float(k), variances[k]) for k in switches]
    return _Line(f"γ = {_gamma_text(gamma)}", np.array(x, float), table.added_variance[0], table.size[0], changes)


def _against_gamma(k: int, gammas: Sequence[Fraction]) -> _Line:
    """A line over gamma, with the gammas below which the best size is 2, 3 and so on."""
    low, high = _range(gammas)
    first = minimax_size(k, high)
    switches = [g for g in (switch_gamma(k, q) for q in range(first, first + MARKS)) if low < g < high]
    x = sorted({*np.geomspace(low, high, LINE_POINTS).tolist(), *switches})
    table = variance_table([k], x)
    variances = dict(zip(x, table.added_variance[:, 0].tolist(), strict=True))
    return _Line(
        f"k = {marks.scale_number(k)}",
        np.array(x),
        table.added_variance[:, 0],
        table.size[:, 0],
        [(g, variances[g]) for g in switches],
    )


def _range(gammas: Sequence[Fraction]) -> tuple[float, float]:
    """From the least to the greatest gamma; around a single one."""
    if len(gammas) > 1:
        return float(gammas[0]), float(gammas[-1])
    return 1 + (float(gammas[0]) - 1) / 2, 2 * float(gammas[0])


def _gamma_text(gamma: Fraction) -> str:
    """What is allowed, rounded down; a power of ten where it is large."""
    return factor_down(gamma) if gamma < marks.LARGEST_PLAIN or gamma > LARGEST else marks.scale_number(float(gamma))


def _cell(variance: float, size: int) -> str:
    return f"{Printed(variance):.3g} (q = {size})"


def _variances_in_words(ks: Sequence[int], gammas: Sequence[Fraction], marked: Sequence[str]) -> str:
    table = variance_table(ks, gammas)
    said = "; ".join(
        f"with {k} categories "
        + ", ".join(
            f"{_cell(float(v), int(q))} at gamma {_gamma_text(g)}"
            for g, v, q in zip(gammas, table.added_variance[:, j], table.size[:, j], strict=True)
        )
        for j, k in enumerate(ks)
    )
    return Note("picture-of-added-variance", said=said, marked="; ".join(marked) or "nothing")


def _arrays(by_k: Sequence[_Line], by_gamma: Sequence[_Line]) -> dict[str, Array]:
    """For each line its points, best sizes and changes."""
    panels = {"k": by_k, "gamma": by_gamma}
    arrays: dict[str, Array] = {}
    for panel, lines in panels.items():
        for i, line in enumerate(lines, 1):
            arrays |= {f"{panel}_{i}": line.x, f"variance_by_{panel}_{i}": line.variance}
            arrays |= {f"size_by_{panel}_{i}": line.size, f"changes_by_{panel}_{i}": np.array(line.changes)}
    return arrays


def _told(lines: Sequence[_Line], pin: _Mark | None) -> dict[str, str]:
    """What the marks mean, as far as there are any, with the kind of each mark."""
    low, high = _heights(lines)
    told = {} if pin is None else {pin.words(): "" if pin.beyond else "pin"}
    if any(line.changes for line in lines):
        told[f"the best size q changes, up to {MARKS} times on each line"] = "ring"
    if low < 1 < high:
        told["as much as sampling adds at most"] = "sampling"
    return told


def _draw_variances(
    sheet: Sheet, by_k: Sequence[_Line], by_gamma: Sequence[_Line], pin: _Mark | None, told: Mapping[str, str]
) -> None:
    panels = sheet.plots(PANEL_HEIGHT, PANEL_HEIGHT)
    heights = _heights([*by_k, *by_gamma])
    for axes, lines, across in zip(panels, (by_k, by_gamma), ("Number of categories k", "Parity γ"), strict=True):
        _panel(axes, lines, heights)
        axes.set_xlabel(across)
    panels[0].set_title("Added variance × number of reports")
    if pin is not None and not pin.beyond:
        for axes, x in zip(panels, (pin.k, float(pin.gamma)), strict=True):
            axes.plot([x], [pin.variance], **marks.look("pin"), clip_on=False)
    styles = {
        "pin": marks.look("pin"),
        "ring": {"marker": "o", "markersize": 6, "linestyle": "none", **marks.open_point(colour("level5"))},
        "sampling": marks.look("sampling alone"),
    }
    sheet.below += [LegendEntry(words, marks.line(**styles[kind]) if kind else None) for words, kind in told.items()]


def _heights(lines: Sequence[_Line]) -> tuple[float, float]:
    values = np.concatenate([line.variance for line in lines])
    return float(values.min()) / 1.3, float(values.max()) * 1.3


def _panel(axes: Axes, lines: Sequence[_Line], y: tuple[float, float]) -> None:
    marks.log_scale(axes, x=(float(lines[0].x[0]), float(lines[0].x[-1])), y=y)
    if y[0] < 1 < y[1]:
        axes.axhline(1, **marks.look("sampling alone"))
    tones = levels(len(lines))
    for line, tone in zip(lines, tones, strict=True):
        axes.plot(line.x, line.variance, color=colour(tone), linewidth=1.8)
        rings: dict[str, Any] = {"marker": "o", "markersize": 5, "linestyle": "none", "clip_on": False, "zorder": 5}
        if line.changes:
            axes.plot(
                [x for x, _ in line.changes], [v for _, v in line.changes], **rings, **marks.open_point(colour(tone))
            )
    ends = [math.log(float(line.variance[-1]) / y[0]) / math.log(y[1] / y[0]) for line in lines]
    marks.name_ends(
        axes, PANEL_HEIGHT, [(end, line.name, tone, False) for end, line, tone in zip(ends, lines, tones, strict=True)]
    )


MARGIN_HEIGHT = 236
CURVE_POINTS = 121
REACH = 4  # the picture goes from a quarter of the respondents to four times as many
LONG = 10**6  # numbers of respondents from here on are written as powers of ten


def plot_margins(plan: SamplePlan) -> Picture:
    """The margin of a plan against the number of respondents; below it, what the open question would give.

    The area between the two is the price of protection.

    >>> from maskwell.planning.sample_size import plan_sample
    >>> from maskwell.procedures.statement_cards import warner
    >>> plot_margins(plan_sample(warner("0.7"), pi=[0.1, 0.9], margin=0.05)).rows[2]
    ['2,156', '0.05', '0.0127']
    """
    check_kind(SamplePlan, plan=plan)
    reach = np.geomspace(max(2.0, plan.n / REACH), max(8.0, float(plan.n) * REACH), CURVE_POINTS)
    z, parts = margin_of(1, 1, plan.level), (plan.variance.total, plan.variance.sampling)
    margin, direct = (z * np.sqrt(v / reach) for v in parts)
    few = [max(1, round(plan.n / 4)), max(1, round(plan.n / 2)), plan.n, 2 * plan.n, 4 * plan.n]
    rows = [[f"{n:,}", *(f"{Printed(margin_of(v, n, plan.level)):.3g}" for v in parts)] for n in few]
    said = "; ".join(f"{n} respondents give {margin}, asked directly {direct}" for n, margin, direct in rows)
    return Picture(
        name="margins",
        title="How exact a survey will be",
        text=f"Half width of the {Printed(100 * plan.level):g} % interval of the share of {label(plan.label)}: {said}.",
        data={"n": reach, "margin": margin, "direct_margin": direct},
        columns=("respondents", f"within, {Printed(100 * plan.level):g} %", "asked directly"),
        rows=rows,
        draw=lambda sheet: _draw_margins(sheet, plan, reach, margin, direct),
    )


def _draw_margins(sheet: Sheet, plan: SamplePlan, reach: Real, margin: Real, direct: Real) -> None:
    (axes,) = sheet.plots(MARGIN_HEIGHT)
    axes.set(xscale="log", xlim=(reach[0], reach[-1]), ylim=(0, float(margin[0]) * 1.06))
    ticks = marks.round_numbers(float(reach[0]), float(reach[-1]))
    marks.set_numbers(axes.xaxis, ticks)
    if ticks[-1] < LONG:
        axes.xaxis.set_ticklabels([f"{n:,}" for n in ticks])
    axes.fill_between(reach, direct, margin, zorder=2, **marks.look("added"))
    axes.fill_between(reach, 0, direct, zorder=3, **marks.look("sampling"))
    axes.plot([float(plan.n)], [plan.margin], **marks.look("pin"), clip_on=False)
    axes.axhline(0, color=colour("muted"), linewidth=1)
    axes.set_title(f"{Printed(100 * plan.level):g} % interval within ±")
    axes.set_xlabel("Respondents")
    who = shorten(label(plan.label), 24)
    within, directly = f"{Printed(plan.margin):.3g}", f"{Printed(plan.direct_margin):.3g}"
    sheet.below += [
        LegendEntry(
            f"{plan.n:,} respondents: share of {who} within {within}, asked directly {directly}",
            marks.line(**marks.look("pin")),
        ),
        LegendEntry("randomized", marks.area(**marks.look("added"))),
        LegendEntry("asked openly", marks.area(**marks.look("sampling"))),
    ]
