"""Breach regions of privacy demands: which changes of belief a demand forbids, and what it really asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, as_list, check_kind, list_of
from maskwell.core.exact import Number, log_of, safe_below, to_float
from maskwell.core.percentages import SPACE
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand
from maskwell.reports.demand_words import COLUMNS, asked, demand_in_words, demand_rows, in_symbols
from maskwell.reports.pictures import belief_square as beliefs
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.belief_square import Region
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import LEVELS, colour, levels
from maskwell.reports.pictures.sheet import LegendEntry, Sheet
from maskwell.reports.plain_words import PRIORS, factor_up, range_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_demand(demand: Demand) -> Picture:
    """The breach region of a demand as it is stated: all above its upper and below its lower limit.

    >>> plot_demand(Demand.from_rho("0.1", "0.5")).data["upper"].max()
    np.float64(1.0)
    """
    check_kind(Demand, demand=demand)
    region = Region.of(demand)

    def draw(sheet: Sheet) -> None:
        beliefs.draw_breach(beliefs.square(sheet), region)
        marked = beliefs.breach_notes(region, "breach", "upper and lower limit")
        beliefs.explain(sheet, [*_heading(demand), *marked, *beliefs.end_notes(region), beliefs.diagonal_note()])

    return Picture(
        name="demand",
        title="What a demand forbids",
        text=demand_in_words(demand),
        data=region.arrays,
        columns=COLUMNS,
        rows=demand_rows(demand),
        draw=draw,
    )


def plot_demands(demands: Sequence[Demand]) -> Picture:
    """Two demands in one square. Their regions may overlap; what they ask for can always be compared.

    >>> plot_demands([Demand.from_rho("0.1", "0.5"), Demand.from_beta(4)]).text.split(". ")[-1]
    'β = 4 asks for more protection: parity up to 4, against 9.'
    """
    demands = list_of(Demand, demands, "demands")
    if len(demands) != 2:
        raise ParameterError("demands-count-demands", demands_count=len(demands), demands=demands)
    regions = [Region.of(demand) for demand in demands]
    verdict = _stricter(*demands)
    prior = beliefs.Grid.around(one for demand in demands for one in demand.breaks).prior[1:-1]
    above = np.max([demand.upper(prior) for demand in demands], axis=0) < 1
    below = np.min([demand.lower(prior) for demand in demands], axis=0) > 0
    any_both = bool(above.any() or below.any())  # whether some change of belief breaches both

    def draw(sheet: Sheet) -> None:
        axes = beliefs.square(sheet)
        for place, region in enumerate(regions):
            beliefs.draw_breach(axes, region, place)
        pairs = enumerate(zip(demands, regions, strict=True))
        marked = [note for place, pair in pairs for note in _one_of_two(place, *pair)]
        if any_both:
            hatched = {**beliefs.breach(), "hatch": "".join(beliefs.HATCHES)}
            marked.append(LegendEntry("breach of both", marks.area(**hatched)))
        beliefs.explain(sheet, [LegendEntry(verdict), *marked, *beliefs.end_notes(*regions), beliefs.diagonal_note()])

    return Picture(
        name="demands",
        title="Two demands compared",
        text=" ".join([*map(demand_in_words, demands), verdict]),
        data={f"{key}_{i}": values for i, region in enumerate(regions, 1) for key, values in region.arrays.items()},
        columns=("demand", *COLUMNS),
        rows=[[in_symbols(demand), *row] for demand in demands for row in demand_rows(demand)],
        draw=draw,
    )


def plot_canonical(demand: Demand) -> Picture:
    """What a demand forbids, what it forbids with it, and what it really asks for.

    A rise of one belief is a fall of its opposite, so a demand on both says more than it seems: its canonical region,
    above ``h(p) = min(h_u(p), 1 - h_l(1 - p))`` and below ``1 - h(1 - p)``, is larger unless the two halves say the
    same. What counts in the end is the boundary of parity gamma = B, the largest that fits under h.

    >>> "say the same" in plot_canonical(Demand.from_gamma(5)).text
    True
    """
    check_kind(Demand, demand=demand)
    stated, canonical = Region.of(demand), Region.canonical(demand)
    implied = Region.at_parity(demand.gamma_exact, like=stated)
    same = stated.is_as(canonical)
    remark = (
        "Both halves of this demand say the same: its canonical region is the region as stated."
        if same
        else "A rise of one belief is a fall of its opposite, so more is forbidden than stated."
    )

    def draw(sheet: Sheet) -> None:
        axes = beliefs.square(sheet)
        beliefs.shade_between(axes, canonical, stated, **beliefs.breach(1))
        beliefs.draw_breach(axes, stated)
        if not same:
            beliefs.trace(axes, canonical, **beliefs.breach_line(1))
        beliefs.trace(axes, implied, **marks.look("parity"))
        beliefs.explain(sheet, [*_canonical_notes(demand, stated, same=same), LegendEntry(remark)])

    return Picture(
        name="canonical",
        title="What a demand really asks for",
        text=f"{demand_in_words(demand)} {remark}",
        data={
            **stated.arrays,
            "canonical_lower": canonical.lower.value,
            "canonical_upper": canonical.upper.value,
            "implied_lower": implied.lower.value,
            "implied_upper": implied.upper.value,
        },
        columns=COLUMNS,
        rows=demand_rows(demand),
        draw=draw,
    )


def _canonical_notes(demand: Demand, stated: Region, *, same: bool) -> list[LegendEntry]:
    """What the areas and lines mean; ``same`` where nothing follows that is not stated."""
    following = [
        LegendEntry("breach that follows from it", marks.area(**beliefs.breach(1))),
        LegendEntry("limits that follow from it", marks.line(**beliefs.breach_line(1))),
    ]
    return [
        *_heading(demand),
        *beliefs.breach_notes(stated, "breach, as stated", "upper and lower limit, as stated"),
        *([] if same else following),
        LegendEntry(f"really asked: {asked(demand).split(' (')[0]}", marks.line(**marks.look("parity"))),
        *beliefs.end_notes(stated),
        beliefs.diagonal_note(),
    ]


def _heading(demand: Demand) -> list[LegendEntry]:
    return [
        LegendEntry(f"The demand {in_symbols(demand)}", strong=True),
        LegendEntry(f"asks for parity up to {asked(demand)}", strong=True),
        *([LegendEntry("Reaching the boundary is a breach already.")] if demand.closed else []),
        *([] if demand.certified else [LegendEntry("Not certain: seen on samples only.", tone="risk")]),
    ]


def _one_of_two(place: int, demand: Demand, region: Region) -> list[LegendEntry]:
    area = None if region.is_empty else marks.area(**beliefs.breach(place))
    line = None if region.is_empty else marks.line(**beliefs.breach_line(place))
    return [LegendEntry(in_symbols(demand), area, strong=True), LegendEntry(f"parity up to {asked(demand)}", line)]


def _stricter(first: Demand, second: Demand) -> str:
    if first.gamma_exact == second.gamma_exact:
        return "Both ask for the same protection."
    strict, loose = sorted((first, second), key=lambda demand: demand.gamma_exact)
    low, high = (asked(demand).split(" ")[2] for demand in (strict, loose))
    return f"{in_symbols(strict)} asks for more protection: parity up to {low}, against {high}."


GAMMAS = (2, 5, 10, 20, 100)
MOST = 10
APART = 0.038  # least distance of two labels along each side of the square
EDGE = 0.075  # no label nearer to the corner, where the scale has its own
CASE = Fraction(1, 10)
LARGEST = 100.0  # a logarithm beyond which no label would be seen


def plot_family(gammas: Sequence[Number] = GAMMAS, *, demand: Demand | None = None) -> Picture:
    """The boundaries of parity gamma, up and down, for several gammas.

        h(p) = gamma p / (1 + (gamma - 1) p),    h~(p) = p / (gamma - (gamma - 1) p)

    Parameters
    ----------
    gammas
        At most ten, each above 1.
    demand
        Drawn over the family, with the boundary of the parity that it allows.

    >>> [cell.replace(SPACE, " ") for cell in plot_family([3]).rows[0]]   # 10 % cannot become more than 25 %
    ['3', '0.33 to 3 %', '3.5 to 25 %', '25 to 75 %', '75 to 96.5 %']
    """
    check_kind(Demand | None, demand=demand)
    gammas = as_list(gammas, "gammas")
    exact = _read(gammas)
    asked_for = None if demand is None else Region.of(demand)
    regions = [Region.at_parity(gamma, like=asked_for) for gamma in exact]
    implied = None if demand is None else Region.at_parity(demand.gamma_exact, like=asked_for)

    def draw(sheet: Sheet) -> None:
        axes = beliefs.square(sheet)
        if asked_for and implied and not asked_for.is_empty:
            beliefs.draw_breach(axes, asked_for)
            beliefs.trace(axes, implied, **marks.look("parity"))
        for region, style in zip(regions, _styles(len(exact)), strict=True):
            beliefs.trace(axes, region, **style)
        _label(axes, exact)
        added = [] if demand is None or asked_for is None else _demand_key(demand, asked_for)
        beliefs.explain(sheet, [*_key(exact), *added, beliefs.diagonal_note()])

    return Picture(
        name="family",
        title="What each parity leaves possible",
        text=_in_words(exact, demand),
        data=_family_arrays(exact, regions, asked_for, implied),
        columns=("γ", *(f"from {100 * p}{SPACE}%" for p in PRIORS)),
        rows=[[factor_up(gamma), *(_range(gamma, p) for p in PRIORS)] for gamma in exact],
        draw=draw,
    )


def _read(gammas: Sequence[Number]) -> list[Fraction]:
    exact = sorted({safe_below(gamma, "gamma") for gamma in gammas})
    if not 1 <= len(exact) <= MOST or exact[0] <= 1:
        raise ParameterError(
            "gammas-gammas-shown", gammas_shown=", ".join(map(str, gammas)) or "none", most=MOST, gammas=gammas
        )
    return exact


def _range(gamma: Fraction, prior: Fraction) -> str:
    _, low, high = range_in_words(gamma, prior)
    return f"{low} to {high}{SPACE}%"


def _family_arrays(
    gammas: Sequence[Fraction], regions: Sequence[Region], stated: Region | None, implied: Region | None
) -> dict[str, Array]:
    """Curves by name: ``upper`` and ``lower`` have a row for each gamma."""
    optional = {"demand": stated, "implied": implied}
    return {
        "gamma": np.array([to_float(gamma) for gamma in gammas]),
        "prior": regions[0].upper.prior,
        "lower": np.array([region.lower.value for region in regions]),
        "upper": np.array([region.upper.value for region in regions]),
        **{f"{name}_lower": region.lower.value for name, region in optional.items() if region},
        **{f"{name}_upper": region.upper.value for name, region in optional.items() if region},
    }


def _in_words(gammas: Sequence[Fraction], demand: Demand | None) -> str:
    said = "; ".join(
        f"parity {factor_up(gamma)}: " + ", ".join(f"{100 * p} % becomes {_range(gamma, p)}" for p in PRIORS)
        for gamma in gammas
    )
    drawn = f"What a belief can become after one report, for several parities. {said}."
    return drawn if demand is None else f"{drawn} {demand_in_words(demand)}"


def _styles(count: int) -> list[dict[str, Any]]:
    """A shade each; beyond the number of shades, every second line is dashed."""
    dashes = itertools.cycle(beliefs.DASHES if count > LEVELS else beliefs.DASHES[:1])
    return [
        {"color": colour(tone), "linewidth": 1.8, "linestyle": dash, "zorder": 4}
        for tone, dash in zip(levels(count), dashes, strict=False)
    ]


def _key(gammas: Sequence[Fraction]) -> list[LegendEntry]:
    before = f"{100 * CASE}"
    lines = [
        LegendEntry(f"γ = {factor_up(gamma)}: {_range(gamma, CASE)}", marks.line(**style))
        for gamma, style in zip(gammas, _styles(len(gammas)), strict=True)
    ]
    return [LegendEntry(f"One report at parity γ turns {before} % into the range below.", strong=True), *lines]


def _demand_key(demand: Demand, stated: Region) -> list[LegendEntry]:
    if stated.is_empty:
        return [LegendEntry(f"{in_symbols(demand)}: nothing is asked")]
    bound = asked(demand).split(" (", maxsplit=1)[0]
    return [
        *beliefs.breach_notes(stated, f"breach of {in_symbols(demand)}", "limit of the demand"),
        *beliefs.end_notes(stated),
        LegendEntry(f"really asked: {bound}", marks.line(**marks.look("parity"))),
    ]


def _label(axes: Axes, gammas: Sequence[Fraction]) -> None:
    """Each gamma on its upper curve, where that is farthest from the diagonal; not where it would touch other words."""
    last = math.inf
    for gamma in gammas:
        at = 1 / (1 + math.exp(min(log_of(gamma), LARGEST) / 2))
        if last - at > APART and at > EDGE:
            box = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 1.5}
            style: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "zorder": 5}
            axes.text(at, 1 - at, factor_up(gamma), color=colour("ink"), parse_math=False, **style)
            last = at
