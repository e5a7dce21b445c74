"""Estimating tables from a released file with its receipt, as a user or as the data holder."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind, list_of
from maskwell.core.arrays import Array
from maskwell.core.cell_table import CellTable
from maskwell.core.printed import Printed
from maskwell.engines.base import Source
from maskwell.engines.cell_counting import count_rows, open_rows
from maskwell.engines.memory_rows import MemoryRows
from maskwell.engines.randomize import Progress
from maskwell.errors import MissingValueError, ParameterError
from maskwell.estimation.direct_estimate import DirectEstimate
from maskwell.estimation.invariant import estimate_unknown
from maskwell.estimation.share_estimate import Estimate
from maskwell.release.analysis.routes import EXACT, KEPT, OPEN, SOLVED, Route, check_missing, route_of
from maskwell.release.analysis.weighting import weights_remarks, weights_used
from maskwell.release.analysis.with_matrices import kept_with_matrices, solved
from maskwell.release.folder.advice import in_words
from maskwell.release.folder.receipt import Receipt

MISSING = "missing"
UNMOVED = "these columns were not randomized: their counts are those of the original file"
SWAPPED = "values were swapped between records: these counts are exactly those of the original file"
RATIOS = "missing values were randomized like any other: shares among records with a value are ratios, approximate"
TINY = 1e-18
MOST_INFLATION = 2.0
OTHER_ROWS = "the receipt is of {:,} records, the file has {:,}: shares of a part of the released file may be biased"
PUBLISHED = "the matrix is not known: variances are those of an open file times the published factor"
TARGETS = ("population", "file")


@dataclass(frozen=True, eq=False)
class Analysis:
    """An estimated table of a released file.

    Attributes
    ----------
    estimate
        Shares with their errors; categories are labels, or tuples of them for several columns.
    route
        How it was found.
    rows, dropped
        Records of the file, and those left out for want of a value.
    remarks
        Which of the flags of the estimate say of whom the shares are: of the records, or of the population.
    """

    estimate: Estimate
    route: Route
    rows: int
    dropped: int
    remarks: tuple[str, ...] = ()


def estimate_released(
    data: Any,
    receipt: Receipt,
    columns: Sequence[str],
    *,
    weights: str | None = None,
    target: str = "population",
    missing: str | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Shares of a column, or of the combinations of several, behind a released file.

    Parameters
    ----------
    data
        The released file by its path, or a released table in memory.
    receipt
        Its receipt: the public one, or the internal one of the data holder, who has the matrices and so estimates in
        place of bounds of the errors.
    columns
        Of the table, the first slowest.
    weights
        The column of survey weights; unless given, that of the receipt where weighted shares can be estimated: the
        table was not randomized, or keeps sums of weights, or is solved for with its matrices. Where only counts are
        kept, shares are those of the records, which is said.
    target
        "population": the file is a sample of it; "file": the shares of the original file itself.
    missing
        What to do with records without a value: "error", "drop", or "category". Unless given, an error, but a category
        where the receipt says that missing values were randomized as one.
    progress
        Told how far it is.

    Raises
    ------
    ParameterError
        The receipt does not allow this table; the message says why.

    >>> from maskwell.release.in_memory import release_table
    >>> from maskwell.release.plans.plan import ReleasePlan
    >>> people = {"sex": ["f", "m"] * 50, "region": ["north"] * 60 + ["south"] * 40}
    >>> plan = ReleasePlan.of([{"variables": ["sex"], "within": ["region"], "method": "method1", "theta": "1/2"}])
    >>> released = release_table(people, plan)
    >>> found = estimate_released(released.data, released.receipt(), ["region"])
    >>> found.estimate.pi_hat.tolist()   # nobody moved to another region
    [0.6, 0.4]
    """
    check_kind(Callable | None, progress=progress)
    check_kind(Receipt, receipt=receipt)
    columns = list_of(str, columns, "columns")
    check_kind(str | None, weights=weights, missing=missing)
    check_kind(str, target=target)
    if target not in TARGETS:
        raise ParameterError(f"target = {target!r}", hint=f"choose one of {', '.join(TARGETS)}")
    route = route_of(receipt, columns, weighted=weights is not None)
    how = receipt.missing if missing is None else missing
    check_missing(route, how)
    name = str(data) if isinstance(data, str | Path) else "the table"
    with _rows(data, route.cells) as source:
        used = weights_used(route, receipt, weights, source.schema.names)
        tables = count_rows(source, name, _wanted(route), weights=used, progress=progress)
    whole = tables[0]
    table, dropped = _with_values(whole, how, name, columns)
    cells = _with_values(tables[-1], how, name, columns)[0] if len(tables) > 1 else None
    estimate = _estimated(route, table, cells, target, ratios=bool(dropped) and receipt.missing == "category")
    remarks = weights_remarks(route, receipt, weights, used)
    told = [] if whole.n == receipt.rows else [OTHER_ROWS.format(receipt.rows, whole.n)]
    named = replace(estimate, categories=_named(estimate.categories), flags=(*remarks, *estimate.flags, *told))
    return Analysis(named, route, whole.n, dropped, remarks)


@contextmanager
def _rows(data: Any, names: Sequence[str]) -> Iterator[Source]:
    """The rows of a file or of a table in memory."""
    if isinstance(data, str | Path):
        with open_rows(str(data), names) as source:
            yield source
    else:
        yield MemoryRows(data)


def _wanted(route: Route) -> list[tuple[str, ...]]:
    """The table, and the cells that its matrices need together where they are known."""
    if route.kind == SOLVED:
        return [route.columns, route.cells]
    return [route.columns, route.groups[0].cells] if route.kind == KEPT and _has_matrices(route) else [route.columns]


def _has_matrices(route: Route) -> bool:
    return all(group.design is not None for group in route.groups)


def _estimated(route: Route, table: CellTable, cells: CellTable | None, target: str, *, ratios: bool) -> Estimate:
    if route.kind == SOLVED:
        assert cells is not None
        return solved(route, table, cells, target)
    if not ratios or route.kind != KEPT:
        return _counted(route, table, cells, target)
    found = _bound(route, table, target)
    return replace(found, flags=(*found.flags, RATIOS))


def _counted(route: Route, table: CellTable, cells: CellTable | None, target: str) -> Estimate:
    """Shares as they stand in the file."""
    if route.kind == KEPT and _has_matrices(route):
        found = kept_with_matrices(route, table, cells, target)
        if found is not None:
            return found
    bound = _bound(route, table, target)
    if route.kind in (OPEN, EXACT):
        return replace(bound, flags=(UNMOVED if route.kind == OPEN else SWAPPED, *bound.flags[1:]))
    return _with_factor(bound, _factor(route))


def _bound(route: Route, table: CellTable, target: str) -> DirectEstimate:
    """Shares with bounds of their errors that hold for every matrix."""
    blocks = np.arange(len(table)) if route.kind in (OPEN, EXACT) else _blocks(route, table)
    sums = {"weights": table.weights, "squares": table.squares}
    return estimate_unknown(table.counts, categories=table.labels(), blocks=blocks, target=target, **sums)


def _factor(route: Route) -> float | None:
    """The published inflation of a single column that one group moved; it holds for each of its shares.

    Not with weights: the bound is that of the squared weights of the released records, to which it is no factor.
    """
    if len(route.columns) > 1 or len(route.groups) > 1 or route.weighted:
        return None
    return route.groups[0].inflation.get(route.columns[0])


def _with_factor(bound: DirectEstimate, factor: float | None) -> DirectEstimate:
    """The bound on randomization made smaller by a published factor f: ``C_ii <= (f - 1) p_i (1 - p_i) / n``.

    The factor holds for each share, not for sums of them, so covariances are left out. Source:
    [Adeshiyan2011, section 4.6], as a factor derived.
    """
    if factor is None or factor >= MOST_INFLATION:
        return bound
    randomization = (factor - 1) * bound.randomization_variance
    variance = bound.sampling_variance + randomization
    smaller = np.divide(bound.variance, variance, out=np.full(len(variance), np.inf), where=variance > TINY)
    return replace(
        bound,
        variance=variance,
        randomization_variance=randomization,
        covariance=None,
        effective=np.where(bound.variance > TINY, bound.effective * smaller, bound.effective),
        flags=(f"{PUBLISHED} {Printed(factor):g}; covariances are left out", *bound.flags[1:]),
    )


def _blocks(route: Route, table: CellTable) -> Array:
    """Cells that agree in all columns that were not moved: no record ever left them."""
    still = [place for place, name in enumerate(table.columns) if name not in route.moved]
    if not still:
        return np.zeros(len(table), dtype=np.int64)
    return np.asarray(np.unique(table.codes[:, still], axis=0, return_inverse=True)[1]).reshape(-1)


def _with_values(table: CellTable, missing: str, path: str, columns: Sequence[str]) -> tuple[CellTable, int]:
    """The cells that have a value of these columns, and how many records were left out."""
    lost = np.zeros(len(table), dtype=bool)
    for place, (name, levels) in enumerate(zip(table.columns, table.levels, strict=True)):
        if name in columns and levels and levels[-1] is None:
            lost |= table.codes[:, place] == len(levels) - 1
    if missing == "category" or not lost.any():
        return table, 0
    count = int(table.counts[lost].sum())
    if missing == "error":
        raise MissingValueError(
            f"{path}: {count:,} of {table.n:,} records have no value of {in_words(columns)}",
            hint="leave such rows out with --missing drop, or count them with --missing category",
            count=count,
        )
    kept = ~lost
    return replace(
        table,
        codes=table.codes[kept],
        counts=table.counts[kept],
        weights=None if table.weights is None else table.weights[kept],
        squares=None if table.squares is None else table.squares[kept],
    ), count


def _named(categories: Sequence[Any]) -> list[Hashable]:
    """Labels without the tuple around one, and a word for a missing one."""
    cells = [tuple(MISSING if label is None else label for label in cell) for cell in categories]
    return [cell[0] if len(cell) == 1 else cell for cell in cells]
