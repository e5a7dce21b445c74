"""Pools of units for the protections ``targeted-swap`` of a plan: read from the records before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.groups import MISSING_NUMBER, distinct_rows
from maskwell.core.phrases import shorten
from maskwell.core.randomness import SECURE, SeededRandom
from maskwell.engines.arrow_arrays import ANY
from maskwell.engines.column_codes import numbered_columns
from maskwell.engines.row_sources import find_columns
from maskwell.engines.rows import Rows
from maskwell.errors import MissingValueError, PlanError
from maskwell.microdata.plans.count_methods import TargetedSwap
from maskwell.microdata.records.swap_pools import PoolColumn, SwapUnits, drawn_pools, levels_at_risk, make_ups

if TYPE_CHECKING:
    from maskwell.microdata.plans.protection import Protection
    from maskwell.microdata.plans.release_plan import ReleasePlan

SIZE = 10  # Units of a pool, where neither the plan nor its limit says how many


def pooled(records: Rows, plan: ReleasePlan) -> tuple[ReleasePlan, dict[str, PoolColumn]]:
    """The plan with its targeted swaps inside pools, which are further columns of the records."""
    further: dict[str, PoolColumn] = {}
    protections = list(plan.protections)
    for i, protection in enumerate(plan.protections):
        if isinstance(protection.how, TargetedSwap):
            name = f"pool of [[protect]] {i + 1}"
            further[name], kept = _pools(records, plan, protection, f"[[protect]] number {i + 1}")
            within = (*protection.within, *(one for one in kept if one not in protection.within))
            protections[i] = replace(protection, within=within, how=replace(protection.how, pool=name))
    if not further:
        return plan, {}
    return replace(plan, protections=tuple(protections), as_typed=plan.as_typed or plan), further


def _pools(records: Rows, plan: ReleasePlan, protection: Protection, where: str) -> tuple[PoolColumn, tuple[str, ...]]:
    """The pool of each unit, and the columns that are the same in a pool and in a unit, for every profile."""
    how, unit = cast(TargetedSwap, protection.how), plan.unit
    assert unit is not None
    profiles = [tuple(dict.fromkeys((*protection.within, *profile))) for profile in how.similar]
    names = [*dict.fromkeys([unit, *protection.variables, *how.risk, *(name for one in profiles for name in one)])]
    columns = _read(records, names, unit)
    ids, number = np.unique(columns[unit], return_inverse=True)
    number = number.reshape(-1)
    first = np.zeros(len(ids), dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    regions = [_codes(columns[name])[0] for name in protection.variables]
    for name, codes in zip(protection.variables, regions, strict=True):
        _check_same(codes, number, first, name, where)
    _check_nested(records, protection.variables, regions, where)
    of_units = np.column_stack(regions)[first]
    units = SwapUnits(
        regions=of_units,
        levels=levels_at_risk(number, of_units, _joint(columns, how.risk), how.k or 0),
        profiles=[make_ups(number, _joint(columns, profile)) for profile in profiles],
    )
    least = 0 if plan.match is None else -(-plan.match.denominator // plan.match.numerator)
    size = how.size or least or SIZE
    random = SeededRandom(0) if plan.demonstration else SECURE
    pools = drawn_pools(units, size=size, rate=how.rate or Fraction(0), random=random)
    # where regions stay, the cell is the region with the number of records: nothing is exchanged in it
    sizes = np.bincount(number)
    own = [*(of_units + 1).T, sizes]
    stay = pools.of_units < 0
    stays, place = distinct_rows([np.where(stay, column, 0) for column in own], len(ids))
    texts = [f"pool {i + 1}" for i in range(int(pools.of_units.max(initial=-1)) + 1)]
    places = np.where(stay, len(texts) + place, pools.of_units)
    texts += [f"not exchanged {i + 1}" for i in range(len(stays))]
    common = [name for name in profiles[0] if all(name in one for one in profiles[1:]) and name not in plan.randomized]
    kept = tuple(name for name in common if _same(_codes(columns[name])[0], number, first))
    return PoolColumn(unit, ids, places, texts, tuple(pools.notes())), kept


def _read(records: Rows, names: Sequence[str], unit: str) -> dict[str, Array]:
    """Columns of all records, each value as a number of 64 bits."""
    parts: dict[str, list[Array]] = {name: [np.zeros(0, np.uint64)] for name in names}
    with records.open_stored(names) as source:
        places = find_columns(source.schema, names, str(records), ANY)
        for batch in source.batches(sorted({*places})):
            if lost := batch.column(unit).null_count:
                words = "record belongs" if lost == 1 else "records belong"
                raise MissingValueError("column-to-no-unit", lost=lost, words=words, column=unit)
            numbered = numbered_columns({name: batch.column(name) for name in names})
            for name, column in numbered.items():
                parts[name].append(column.numbers[column.places])
    return {name: np.concatenate(values) for name, values in parts.items()}


def _codes(numbers: Array) -> tuple[Array, int]:
    """Codes from 0; -1 for a missing value; and how many there are."""
    values, codes = np.unique(numbers, return_inverse=True)
    codes = codes.reshape(-1)
    missing = np.flatnonzero(values == MISSING_NUMBER)
    if not len(missing):
        return codes, len(values)
    place = int(missing[0])
    return np.where(codes == place, -1, codes - (codes > place)), len(values) - 1


def _joint(columns: dict[str, Array], names: Sequence[str]) -> Array:
    """Several columns as one of codes; a missing value counts as one more value."""
    codes = [_codes(columns[name])[0] + 1 for name in names]
    return distinct_rows(codes, len(codes[0]))[1]


def _same(codes: Array, number: Array, first: Array) -> bool:
    return bool((codes == codes[first][number]).all())


def _check_same(codes: Array, number: Array, first: Array, name: str, where: str) -> None:
    """Raise where a column differs among the records of a unit."""
    differs = codes != codes[first][number]
    if differs.any():
        units = len(np.unique(number[differs]))
        raise PlanError(
            "region-differs-within",
            where=where,
            name=shorten(name, 24),
            units=units,
            words="unit" if units == 1 else "units",
            column=name,
        )


def _check_nested(records: Rows, names: Sequence[str], regions: Sequence[Array], where: str) -> None:
    """Raise where a region lies in two regions of the level above."""
    for level in range(1, len(names)):
        fine, coarse = regions[level], regions[level - 1]
        known = fine >= 0
        pairs, place = distinct_rows([fine[known], coarse[known] + 1], int(known.sum()))
        twice = np.flatnonzero(np.diff(pairs[:, 0]) == 0)
        if len(twice):
            rows = np.flatnonzero(known)
            two = [int(rows[(place == pair).argmax()]) for pair in (twice[0], twice[0] + 1)]
            label, first, second = _labels_at(records, names[level], names[level - 1], two)
            raise PlanError(
                "regions-are-not-nested",
                where=where,
                fine=shorten(names[level], 24),
                coarse=shorten(names[level - 1], 24),
                count=(count := len(np.unique(pairs[twice, 0]))),
                words="value" if count == 1 else "values",
                values=f"{names[level]} {label}: in {first} and in {second}",
                column=names[level],
            )


def _labels_at(records: Rows, fine: str, coarse: str, rows: Sequence[int]) -> list[str]:
    """The label of a region in the first of two rows, and those of the level above in both."""
    found: dict[int, tuple[object, object]] = {}
    with records.open_stored([fine, coarse]) as source:
        begin = 0
        for batch in source.batches(sorted({*find_columns(source.schema, [fine, coarse], str(records), ANY)})):
            for row in rows:
                if begin <= row < begin + len(batch):
                    one, other = (batch.column(name)[row - begin].as_py() for name in (fine, coarse))
                    found[row] = (one, other)
            begin += len(batch)
    return [str(found[rows[0]][0]), *(str(found[row][1]) for row in rows)]
