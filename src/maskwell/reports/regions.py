"""Breach regions of privacy demands: which changes of belief a demand forbids, and what it really asks for.

Source: [ChaiNayak2018, Figures 1, 2 and 3, Definition 2.2, Lemma 3.1, Theorem 3.1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import check_kind, list_of
from maskwell.core.arrays import Array
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand
from maskwell.reports.demands import COLUMNS, asked, demand_in_words, demand_rows, in_symbols
from maskwell.reports.notes import Note, area_mark, line_mark
from maskwell.reports.outline import Grid, Region
from maskwell.reports.picture import Canvas, Picture
from maskwell.reports.square import (
    DASHES,
    HATCHES,
    at_parity,
    breach,
    breach_line,
    diagonal_note,
    end_notes,
    explain,
    sample_of,
    shade,
    shade_outside,
    square,
    square_heights,
    trace,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_demand(demand: Demand) -> Picture:
    """The breach region of a demand as it is stated: all above its upper and below its lower limit.

    >>> plot_demand(Demand.from_rho("0.1", "0.5")).data["upper"].max()
    np.float64(1.0)
    """
    check_kind(Demand, demand=demand)
    region = Region.of(demand)
    notes = [
        *_heading(demand),
        *_breach_notes(region, "breach", "upper and lower limit"),
        *end_notes(region),
        diagonal_note(),
    ]

    def draw(canvas: Canvas) -> None:
        _stated(square(canvas), region)
        explain(canvas, notes)

    return Picture(
        name="demand",
        title="What a demand forbids",
        text=demand_in_words(demand),
        data=_arrays(region),
        columns=COLUMNS,
        rows=demand_rows(demand),
        heights=square_heights(notes),
        draw=draw,
    )


def plot_demands(demands: Sequence[Demand]) -> Picture:
    """Two demands in one square. Their regions may overlap; what they ask for can always be compared.

    >>> plot_demands([Demand.from_rho("0.1", "0.5"), Demand.from_beta(4)]).text.split(". ")[-1]
    'β = 4 asks for more protection: parity up to 4, against 9.'
    """
    demands = list_of(Demand, demands, "demands")
    if len(demands) != 2:
        raise ParameterError(f"{len(demands)} demands", hint="give two: the figure compares a pair", demands=demands)
    regions = [Region.of(demand) for demand in demands]
    verdict = _stricter(*demands)
    both = sample_of(breach()) | {"hatch": "".join(HATCHES)}
    notes = [
        *(note for place, pair in enumerate(zip(demands, regions, strict=True)) for note in _one_of_two(place, *pair)),
        *([Note("breach of both", area_mark(**both), space=8)] if _overlap(*demands) else []),
        *end_notes(*regions),
        diagonal_note(),
        Note(verdict, space=8),
    ]

    def draw(canvas: Canvas) -> None:
        axes = square(canvas)
        for place, region in enumerate(regions):
            _stated(axes, region, place)
        explain(canvas, notes)

    return Picture(
        name="demands",
        title="Two demands compared",
        text=" ".join([*map(demand_in_words, demands), verdict]),
        data={f"{key}_{i}": values for i, region in enumerate(regions, 1) for key, values in _arrays(region).items()},
        columns=("demand", *COLUMNS),
        rows=[[in_symbols(demand), *row] for demand in demands for row in demand_rows(demand)],
        heights=square_heights(notes),
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
    notes = [
        *_heading(demand),
        *_breach_notes(stated, "breach, as stated", "upper and lower limit, as stated"),
        *([] if same else [Note("breach that follows from it", area_mark(**sample_of(breach(HATCHES[1]))))]),
        *([] if same else [Note("limits that follow from it", line_mark(**breach_line(DASHES[1])))]),
        Note(f"really asked: {asked(demand).split(' (')[0]}", line_mark(**at_parity())),
        *end_notes(stated),
        diagonal_note(),
        Note(remark, space=8),
    ]

    def draw(canvas: Canvas) -> None:
        axes = square(canvas)
        shade(axes, stated.upper.prior, canonical.upper.value, stated.upper.value, **breach(HATCHES[1]))
        shade(axes, stated.lower.prior, stated.lower.value, canonical.lower.value, **breach(HATCHES[1]))
        _stated(axes, stated)
        for curve in () if same else (canonical.lower, canonical.upper):
            trace(axes, curve, **breach_line(DASHES[1]))
        for curve in (implied.lower, implied.upper):
            trace(axes, curve, **at_parity())
        explain(canvas, notes)

    return Picture(
        name="canonical",
        title="What a demand really asks for",
        text=f"{demand_in_words(demand)} {remark}",
        data={
            **_arrays(stated),
            "canonical_lower": canonical.lower.value,
            "canonical_upper": canonical.upper.value,
            "implied_lower": implied.lower.value,
            "implied_upper": implied.upper.value,
        },
        columns=COLUMNS,
        rows=demand_rows(demand),
        heights=square_heights(notes),
        draw=draw,
    )


def _arrays(region: Region) -> Mapping[str, Array]:
    return {"prior": region.upper.prior, "lower": region.lower.value, "upper": region.upper.value}


def _heading(demand: Demand) -> list[Note]:
    return [
        Note("The demand", tone="muted"),
        Note(in_symbols(demand), strong=True),
        Note("asks for parity up to", tone="muted"),
        Note(asked(demand), strong=True),
        *([Note("Reaching the boundary is a breach already.")] if demand.closed else []),
        *([] if demand.certified else [Note("Not certain: seen on samples only.", tone="risk")]),
    ]


def _breach_notes(region: Region, area: str, line: str) -> list[Note]:
    """What hatching and its edge mean, where there is any."""
    if region.is_empty:
        return []
    return [Note(area, area_mark(**sample_of(breach())), space=10), Note(line, line_mark(**breach_line()))]


def _one_of_two(place: int, demand: Demand, region: Region) -> list[Note]:
    area = None if region.is_empty else area_mark(**sample_of(breach(HATCHES[place])))
    line = None if region.is_empty else line_mark(**breach_line(DASHES[place]))
    return [
        Note(in_symbols(demand), area, strong=True, space=8 * place),
        Note(f"parity up to {asked(demand)}", line),
    ]


def _overlap(first: Demand, second: Demand) -> bool:
    """Whether some change of belief breaches both."""
    prior = Grid.around((*first.breaks, *second.breaks)).prior[1:-1]
    above = np.maximum(first.upper(prior), second.upper(prior)) < 1
    below = np.minimum(first.lower(prior), second.lower(prior)) > 0
    return bool(above.any() or below.any())


def _stricter(first: Demand, second: Demand) -> str:
    if first.gamma_exact == second.gamma_exact:
        return "Both ask for the same protection."
    strict, loose = sorted((first, second), key=lambda demand: demand.gamma_exact)
    low, high = (asked(demand).split(" ")[2] for demand in (strict, loose))
    return f"{in_symbols(strict)} asks for more protection: parity up to {low}, against {high}."


def _stated(axes: Axes, region: Region, place: int = 0) -> None:
    shade_outside(axes, region.lower, region.upper, **breach(HATCHES[place]))
    for curve in (region.lower, region.upper):
        trace(axes, curve, **breach_line(DASHES[place]))
