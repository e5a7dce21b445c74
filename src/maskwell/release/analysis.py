"""Estimating tables from a released file with its receipt, as a user or as the data holder."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.cell_table import CellTable
from maskwell.engines.cell_counting import count_tables
from maskwell.engines.randomize import Progress
from maskwell.errors import MissingValueError, ParameterError, TooLargeError
from maskwell.estimation.direct import DirectEstimate
from maskwell.estimation.invariant import estimate_unknown
from maskwell.estimation.result import Estimate
from maskwell.release.advice import in_words
from maskwell.release.receipt import Receipt
from maskwell.release.routes import EXACT, OPEN, SOLVED, Route, check_missing, route_of
from maskwell.release.with_matrices import kept_with_matrices, solved

MISSING = "missing"
UNMOVED = "these columns were not randomized: their counts are those of the original file"
SWAPPED = "values were swapped between records: these counts are exactly those of the original file"
BY_WEIGHT = "every record counts with its weight, because sums of weights were kept"
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
    """

    estimate: Estimate
    route: Route
    rows: int
    dropped: int


def estimate_released(
    path: str,
    receipt: Receipt,
    columns: Sequence[str],
    *,
    weights: str | None = None,
    target: str = "population",
    missing: str = "error",
    progress: Progress | None = None,
) -> Analysis:
    """Shares of a column, or of the combinations of several, behind a released file.

    Parameters
    ----------
    path
        The released file.
    receipt
        Its receipt: the public one, or the internal one of the data holder, which gives smaller errors.
    columns
        Of the table, the first slowest.
    weights
        The column of survey weights, where weighted counts are wanted; that of the receipt where sums of weights were
        kept.
    target
        "population": the file is a sample of it; "file": the shares of the original file itself.
    missing
        What to do with records without a value: "error", "drop", or "category".
    progress
        Told how far it is.

    Raises
    ------
    ParameterError
        The receipt does not allow this table; the message says why.
    """
    if target not in TARGETS:
        raise ParameterError(f"target = {target!r}", hint=f"choose one of {', '.join(TARGETS)}")
    route = route_of(receipt, columns)
    asked, weights = weights, receipt.weights if weights is None and _needs_weights(route) else weights
    _check_weights(route, receipt, weights)
    check_missing(route, missing)
    wanted = [tuple(columns), *([route.cells] if route.kind == SOLVED else [])]
    tables = count_tables(path, wanted, weights=weights, progress=progress)
    whole = tables[0]
    table, dropped = _with_values(whole, missing, path, columns)
    if route.kind == SOLVED:
        estimate = solved(route, table, _with_values(tables[1], missing, path, columns)[0], target)
    else:
        estimate = _counted(route, table, target)
    more = [] if asked == weights else [f"{BY_WEIGHT} ({weights})"]
    more += [] if whole.n == receipt.rows else [OTHER_ROWS.format(receipt.rows, whole.n)]
    flags = (*estimate.flags, *more)
    return Analysis(replace(estimate, categories=_named(estimate.categories), flags=flags), route, whole.n, dropped)


def _needs_weights(route: Route) -> bool:
    return route.weighted and route.kind not in (EXACT, SOLVED)


def share_by_domain(estimate: Estimate, domains: int) -> dict[tuple[Hashable, ...], Estimate]:
    """Shares within each domain, from a table whose first columns, so many, tell the domain.

        R = p_c / p_d,     Cov(R) = G Cov G',    G = (I - R 1') / p_d

    to the first order, where p_c are the cells of a domain and p_d is their sum. Source: standard (delta method).
    """
    if estimate.covariance is None:
        raise TooLargeError("too many cells for domains: covariances were left out", hint="use fewer categories")
    places: dict[tuple[Hashable, ...], list[int]] = {}
    cells = cast(Sequence[tuple[Hashable, ...]], estimate.categories)
    for place, cell in enumerate(cells):
        places.setdefault(cell[:domains], []).append(place)
    return {domain: _within(estimate, np.array(own), domains) for domain, own in places.items()}


def _within(estimate: Estimate, own: Array, domains: int) -> Estimate:
    assert estimate.covariance is not None
    p = estimate.pi_hat[own]
    total = float(p.sum())
    ratio = p / total if total > 0 else np.full(len(p), np.nan)
    G = (np.eye(len(p)) - np.outer(ratio, np.ones(len(p)))) / total if total > 0 else np.full((len(p),) * 2, np.nan)
    whole = G @ estimate.covariance[np.ix_(own, own)] @ G.T
    variance = np.diagonal(whole).copy()
    categories = cast(Sequence[tuple[Hashable, ...]], estimate.categories)
    cells = [categories[i][domains:] for i in own]
    known = {
        "categories": [cell[0] if len(cell) == 1 else cell for cell in cells],
        "pi_hat": ratio,
        "variance": variance,
        "sampling_variance": np.full(len(p), np.nan),
        "randomization_variance": np.full(len(p), np.nan),
        "covariance": whole,
        "n": round(total * estimate.n),
        "flags": (),
    }
    if isinstance(estimate, DirectEstimate):
        open_ = ratio * (1 - ratio)
        known["effective"] = np.divide(open_, variance, out=np.full(len(p), np.inf), where=variance > TINY)
    return replace(estimate, **known)


def _counted(route: Route, table: CellTable, target: str) -> Estimate:
    """Shares as they stand in the file."""
    if route.kind not in (OPEN, EXACT) and all(group.design is not None for group in route.groups):
        found = kept_with_matrices(route, table, target)
        if found is not None:
            return found
    fixed = route.kind in (OPEN, EXACT)
    blocks = np.arange(len(table)) if fixed else _blocks(route, table)
    sums = {"weights": table.weights, "squares": table.squares}
    bound = estimate_unknown(table.counts, categories=table.labels(), blocks=blocks, target=target, **sums)
    if fixed:
        return replace(bound, flags=(UNMOVED if route.kind == OPEN else SWAPPED, *bound.flags[1:]))
    return _with_factor(bound, _factor(route))


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
        flags=(f"{PUBLISHED} {factor:g}; covariances are left out", *bound.flags[1:]),
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


def _check_weights(route: Route, receipt: Receipt, weights: str | None) -> None:
    """Weighted tables need matrices that keep weighted counts, and the other way round."""
    if not route.groups or route.kind == SOLVED:
        return
    names = in_words([name for group in route.groups for name in group.variables])
    if route.weighted and weights != receipt.weights:
        raise ParameterError(
            f"sums of weights were kept for {names}, not numbers of records",
            hint=f"count every record with its weight: --weights {receipt.weights}",
        )
    if not route.weighted and weights is not None:
        raise ParameterError(
            f"numbers of records were kept for {names}, not sums of weights",
            hint="leave out --weights; weighted tables are not unbiased here",
        )


def _named(categories: Sequence[Any]) -> list[Hashable]:
    """Labels without the tuple around one, and a word for a missing one."""
    cells = [tuple(MISSING if label is None else label for label in cell) for cell in categories]
    return [cell[0] if len(cell) == 1 else cell for cell in cells]
