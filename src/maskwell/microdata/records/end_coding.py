"""Top and bottom coding from the records: limits that a share of them reach, and means that keep the total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.phrases import Printed, shorten
from maskwell.engines.cell_counts import check_weights
from maskwell.engines.column_codes import places_of
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.engines.row_sources import find_columns
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.records.recoding import Recode, as_number, is_declared_missing

FEWEST = 3  # records whose mean may be published
MEAN_DIGITS = 12  # significant digits of a mean


def with_ends(records: Rows, recodes: Mapping[str, Recode], weights: str | None) -> dict[str, Recode]:
    """Recodes whose shares and means have become numbers, from the records that they are for.

    The limit of ``top_share = p`` is the largest value that at least p of the records reach, with a value in the
    column; that of ``bottom_share`` the smallest value that at least p do not exceed. A mean is that of the values at
    the limit or beyond, weighted where there are weights: it keeps the total (derived).
    """
    asked = {name: one for name, one in recodes.items() if one.needs_records}
    if not asked:
        return dict(recodes)
    counts = _counted(records, [*asked], weights if any(one.mean for one in asked.values()) else None)
    return {**recodes, **{name: _resolved(name, one, counts[name]) for name, one in asked.items()}}


Numbers = dict[Fraction, tuple[int, float]]  # records and their weight, by number


def _counted(records: Rows, names: list[str], weights: str | None) -> dict[str, Numbers]:
    found: dict[str, tuple[Counter[Any], Counter[Any]]] = {name: (Counter(), Counter()) for name in names}
    with records.open() as source:
        about = source.style.columns if isinstance(source.style, Labels) else {}
        only = find_columns(source.schema, [*names, *([] if weights is None else [weights])], str(records))
        row = 0
        for batch in source.batches(sorted({*only})):
            heavy = None if weights is None else check_weights(batch.column(weights), weights, row)
            row += len(batch)
            for name in names:
                places, dictionary = places_of(batch.column(name))
                values = dictionary.to_pylist()
                times = np.bincount(places, minlength=len(values)).tolist()
                weight = times if heavy is None else np.bincount(places, heavy, minlength=len(values)).tolist()
                for total, part in zip(found[name], (times, weight), strict=True):
                    for value, n in zip(values, part, strict=False):
                        total[value] += n
    return {name: _numbers(name, *counted, about.get(name)) for name, counted in found.items()}


def _numbers(name: str, times: Counter[Any], weight: Counter[Any], about: ColumnLabels | None) -> Numbers:
    numbers: Numbers = {}
    for value, n in times.items():
        if value is None or value != value or (about is not None and is_declared_missing(value, about)) or not n:
            continue
        try:
            number = as_number(value)
        except ValueError:
            raise ParameterError(
                "recode-the-column-holds-a-value", name=shorten(name, 30), values=repr(value), column=name
            ) from None
        before = numbers.get(number, (0, 0.0))
        numbers[number] = (before[0] + n, before[1] + weight[value])
    return numbers


def _resolved(name: str, recode: Recode, numbers: Numbers) -> Recode:
    """The recode with limits and means in numbers."""
    if not numbers:
        raise PlanError("recode-finds-no-numbers", column=shorten(name, 30))
    top = recode.top if recode.top_share is None else _reached(numbers, sorted(numbers, reverse=True), recode.top_share)
    bottom = recode.bottom if recode.bottom_share is None else _reached(numbers, sorted(numbers), recode.bottom_share)
    if top is not None and bottom is not None and top <= bottom:
        raise PlanError("recode-ends-meet", column=shorten(name, 30))
    recode = replace(recode, top=top, bottom=bottom)
    if not recode.mean:
        return recode
    ends = ((recode.top_share, top), (recode.bottom_share, bottom))
    above = {number: n for number, n in numbers.items() if top is not None and number >= top}
    below = {number: n for number, n in numbers.items() if bottom is not None and number <= bottom}
    found_top, found_bottom = (None if one is None else at for one, at in ends)
    return replace(
        recode, top_mean=_mean(name, "top", above, found_top), bottom_mean=_mean(name, "bottom", below, found_bottom)
    )


def _reached(numbers: Numbers, order: list[Fraction], share: Fraction) -> Fraction:
    n, needed = 0, share * sum(times for times, _ in numbers.values())
    for number in order:
        n += numbers[number][0]
        if n >= needed:
            break
    return number


def _mean(name: str, end: str, numbers: Numbers, found: Fraction | None) -> Fraction | None:
    """The mean of enough records: those at a published limit that was ``found``, or without weight, do not count."""
    if not numbers:
        return None  # nobody is at this end
    records = sum(times for number, (times, weight) in numbers.items() if number != found and weight > 0)
    if records < FEWEST:
        raise PlanError("recode-mean-of-few", column=shorten(name, 30), end=end, n=records, fewest=FEWEST)
    weight = [Fraction(weight) for _, weight in numbers.values()]
    if not sum(weight):
        raise PlanError("recode-mean-without-weight", column=shorten(name, 30), end=end)
    mean = sum(number * w for number, w in zip(numbers, weight, strict=True)) / sum(weight)
    return Fraction(f"{Printed(float(mean)):.{MEAN_DIGITS}g}")
