"""What a release does to associations and to the precision of shares: two pictures of its utility."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.printed import Printed
from maskwell.errors import InputError
from maskwell.release.utility.utility_measures import Association, Inflation
from maskwell.release.utility.utility_report import UtilityReport, VariableUtility
from maskwell.reports.pair_lines import PairLine, PairScale, draw_pairs, pair_heights
from maskwell.reports.picture import Picture
from maskwell.reports.release_numbers import factor_text
from maskwell.reports.tables import count, label, shorten

SHOWN = 16
LARGEST = 100.0
"""Inflation beyond which a scale would show nothing else."""


def plot_associations(utility: UtilityReport) -> Picture:
    """Cramér's V of pairs of columns before and after a release, those first that lose most.

    Parameters
    ----------
    utility
        Of a release; where there is no released file yet, what is expected of it is drawn.
    """
    check_kind(UtilityReport, utility=utility)
    known = drawn_pairs(utility)
    if not known:
        raise InputError(
            "there is no pair of columns whose association could be drawn",
            hint="name two columns with at least two categories each as keys or sensitive columns",
        )
    ranked = sorted(known, key=lambda pair: -_loss(pair))
    lines = [_pair_line(pair) for pair in ranked[:SHOWN]]
    most = max(max(line.before, line.after if math.isfinite(line.after) else 0) for line in lines)
    scale = PairScale(
        title="Pairs of columns, by what they lose",
        unit="Cramér's V, from 0 (none) to 1 (complete)",
        low=0.0,
        high=min(1.0, max(0.1, 1.08 * most)),
        names=("original file", "released file", "expected after the release"),
    )
    return Picture(
        name="associations",
        title="What goes with what, before and after",
        text=_associations_in_words(ranked),
        data={name: np.array([_value(getattr(p, name)) for p in ranked]) for name in ("before", "expected", "after")},
        columns=["columns", "before", "expected", "after"],
        rows=[[_names(p), *(_v(x) for x in (p.before, p.expected, p.after))] for p in ranked[:SHOWN]],
        heights=pair_heights(lines, scale),
        draw=lambda canvas: draw_pairs(canvas, lines, scale),
    )


def drawn_pairs(utility: UtilityReport) -> list[Association]:
    """Pairs whose association in the original file is known: of a constant column it is not defined."""
    return [pair for pair in utility.pairs if pair.before is not None and math.isfinite(pair.before)]


def _loss(pair: Association) -> float:
    now = pair.after if pair.expected is None else pair.expected
    return (pair.before or 0.0) - (pair.before or 0.0 if now is None else now)


def _names(pair: Association) -> str:
    return " × ".join(pair.columns)


def _value(v: float | None) -> float:
    return math.nan if v is None else v


def _v(v: float | None) -> str:
    return "–" if v is None else f"{Printed(v):.3f}"


def _pair_line(pair: Association) -> PairLine:
    now = pair.expected if pair.after is None else pair.after
    names = " × ".join(shorten(name, 12) for name in pair.columns)
    words = f"{_v(pair.before)} → {_v(now)}"
    return PairLine(names, _value(pair.before), _value(pair.after), _value(pair.expected), words)


def _associations_in_words(ranked: Sequence[Association]) -> str:
    told = "; ".join(
        f"{_names(p)} {_v(p.before)} before, {_v(p.expected)} expected, {_v(p.after)} after" for p in ranked[:SHOWN]
    )
    left = len(ranked) - SHOWN
    more = f" {count(left)} more pairs lose less and are not drawn." if left > 0 else ""
    return f"Strength of association (Cramér's V) of pairs of columns: {told}.{more}"


def plot_inflation(utility: UtilityReport) -> Picture:
    """By which factor the variances of shares grow: the least and the most inflated category of each variable.

    Parameters
    ----------
    utility
        Of a release.
    """
    check_kind(UtilityReport, utility=utility)
    known = drawn_variables(utility)
    if not known:
        raise InputError(
            "no inflation is known of any variable", hint="randomize a variable, with a matrix of full rank"
        )
    ranked = sorted(known, key=lambda one: -_factors(one)[1])[:SHOWN]
    lines = [_inflation_line(one) for one in ranked]
    most = max(line.after for line in lines)
    scale = PairScale(
        title="Randomized columns",
        unit="Factor by which variances grow; 1: nothing is lost",
        low=1.0,
        high=min(LARGEST, max(1.1, 1 + 1.08 * (most - 1))),
        names=("", "category that loses most", "category that loses least"),
        bars=True,
        shown=lambda x: f"{Printed(x):.4g}",
    )
    return Picture(
        name="inflation",
        title="What randomization costs in precision",
        text=_inflation_in_words(ranked),
        data={
            "least": np.array([_factors(one)[0] for one in ranked]),
            "most": np.array([_factors(one)[1] for one in ranked]),
        },
        columns=["column", "least", "most", "category that loses most", "worth so many records"],
        rows=[_inflation_row(one) for one in ranked],
        heights=pair_heights(lines, scale),
        draw=lambda canvas: draw_pairs(canvas, lines, scale),
    )


def drawn_variables(utility: UtilityReport) -> list[VariableUtility]:
    """Variables whose inflation is known and can be drawn."""
    return [one for one in utility.variables.values() if one.inflation is not None and _is_finite(one.inflation)]


def _is_finite(told: Inflation) -> bool:
    return len(told.factors) > 0 and bool(np.isfinite(told.factors).all())


def _factors(one: VariableUtility) -> tuple[float, float]:
    factors = np.ones(1) if one.inflation is None else one.inflation.factors
    return float(factors.min()), float(factors.max())


def worst_category(one: VariableUtility) -> str:
    """The category whose variance grows most."""
    if one.inflation is None:
        return "–"
    return label(one.inflation.categories[int(one.inflation.factors.argmax())])


def _inflation_line(one: VariableUtility) -> PairLine:
    least, most = _factors(one)
    low, high = factor_text(least), factor_text(most)
    words = f"× {high}" if low == high else f"× {low} to {high}"
    return PairLine(one.name, math.nan, min(most, LARGEST), min(least, LARGEST), words)


def _inflation_row(one: VariableUtility) -> list[str]:
    least, most = _factors(one)
    worth = 0 if one.inflation is None else int(one.inflation.n / most)
    return [one.name, factor_text(least), factor_text(most), worst_category(one), count(worth)]


def _inflation_in_words(ranked: Sequence[VariableUtility]) -> str:
    told = "; ".join(
        f"{name} from {least} to {most}, most for {category}"
        for name, least, most, category, _ in map(_inflation_row, ranked)
    )
    return f"Factor by which the variances of shares grow, over the categories of a column: {told}."
