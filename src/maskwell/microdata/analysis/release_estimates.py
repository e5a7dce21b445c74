"""Estimating tables of a released file with its receipt, as a user or as the data holder."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

from maskwell.core.arguments import Array, check_kind, list_of
from maskwell.core.cells import CellTable
from maskwell.core.display import plain_label
from maskwell.core.phrases import Printed, in_words, option
from maskwell.core.verdicts import at_least
from maskwell.engines.cell_counts import count_rows
from maskwell.engines.row_sources import Progress
from maskwell.errors import InputError, MissingValueError, ParameterError, TooLargeError
from maskwell.estimation.direct_estimate import BOUNDED as IS_BOUNDED
from maskwell.estimation.direct_estimate import TARGETS, DirectEstimate, Released, estimate_changed, estimate_unknown
from maskwell.estimation.share_estimate import Estimate
from maskwell.microdata.analysis import table_routes as routes
from maskwell.microdata.analysis.bias_bounds import COUNTS, Distortion, Weights
from maskwell.microdata.analysis.matrix_estimates import kept_with_matrices, solved
from maskwell.microdata.analysis.table_routes import Route
from maskwell.microdata.folder.receipt import Receipt
from maskwell.notes import Note

MISSING = "missing"
TINY = 1e-18
MOST_INFLATION = 2.0
MOST_WEIGHTS = 10**5
OTHER_ROWS = "the receipt is of {:,} records, the file has {:,}: estimates from a part of it may be biased"

Domain = tuple[Hashable, ...]
Domains = Mapping[Domain, Estimate]


@dataclass(frozen=True, eq=False)
class Analysis:
    """An estimated table of a released file."""

    estimate: Estimate  # Shares with their errors; categories are labels, or tuples of them for several columns
    route: Route  # How it was found
    # Records of the file, and those left out for want of a value
    rows: int
    dropped: int
    # Which of the flags of the estimate say of whom the shares are: of the records, or of the population
    remarks: tuple[str, ...] = ()
    # Further columns, and the shares within each of their combinations
    by: tuple[str, ...] = ()
    domains: Domains = field(default_factory=dict)

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Plain values for JSON."""
        domains = [
            {"domain": plain_label(label[0] if len(label) == 1 else label), **shares.to_dict(level, interval)}
            for label, shares in self.domains.items()
        ]
        return {
            "variables": list(self.route.columns),
            **self.estimate.to_dict(level, interval),
            "route": self.route.kind,
            **({"domains": domains} if domains else {}),
            "rows": self.rows,
            "dropped": self.dropped,
        }


@dataclass(frozen=True, eq=False)
class ReleasedColumns:
    """Every randomized column of a released file, estimated on its own."""

    tables: tuple[Analysis, ...]  # Of the columns that could be estimated
    refused: Mapping[str, str] = field(default_factory=dict)  # The others, and why

    @property
    def not_estimated(self) -> list[str]:
        """The columns that could not be estimated, in words."""
        return [f"{name} was not estimated: {why}" for name, why in self.refused.items()]

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Plain values for JSON: every table, and all estimates below each other."""
        tables = [table.to_dict(level, interval) for table in self.tables]
        rows = [{"variable": t["variables"][0], **row} for t in tables for row in t["estimates"]]
        return {
            "variables": [t["variables"][0] for t in tables],
            "n": max(t["n"] for t in tables),
            "method": tables[0]["method"] if len({t["method"] for t in tables}) == 1 else "several",
            "estimates": rows,
            "covariance": None,
            "sampling_variance": [x for t in tables for x in t["sampling_variance"]],
            "randomization_variance": [x for t in tables for x in t["randomization_variance"]],
            "flags": [*dict.fromkeys(flag for t in tables for flag in t["flags"]), *self.not_estimated],
            "tables": tables,
            "refused": dict(self.refused),
            "rows": tables[0]["rows"],
        }


def estimate_released(
    data: Any,
    receipt: Receipt,
    columns: Sequence[str],
    *,
    by: Sequence[str] = (),
    weights: str | None = None,
    target: str = "population",
    missing: str | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """Shares of a column, or of the combinations of several, as the receipt of a released file allows."""
    check_kind(Callable | None, progress=progress)
    check_kind(Receipt, receipt=receipt)
    columns, domains = list_of(str, columns, "columns"), list_of(str, by, "by")
    check_kind(str | None, weights=weights, missing=missing)
    check_kind(str, target=target)
    if target not in TARGETS:
        raise ParameterError("target-target", target=target, targets=", ".join(TARGETS))
    options = _Options(weights, target, missing, progress)
    whole = _table(data, receipt, columns, options)
    return whole if not domains else _with_domains(whole, data, receipt, domains, options)


def estimate_each_released(
    data: Any,
    receipt: Receipt,
    *,
    by: Sequence[str] = (),
    weights: str | None = None,
    target: str = "population",
    missing: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    progress: Progress | None = None,
) -> ReleasedColumns:
    """Shares of every randomized column on its own; what cannot be estimated is said, unless nothing can."""
    check_kind(Receipt, receipt=receipt)
    options: dict[str, Any] = {"weights": weights, "target": target, "missing": missing}
    tables, refused, first = [], {}, None
    for name in (name for name in randomized_columns(receipt) if name not in by):
        try:
            table = estimate_released(data, receipt, [name], by=by, progress=progress, **options)
            table.estimate.intervals(level, interval)
            tables.append(table)
        except InputError as error:
            refused[name], first = error.message, first or error
    if not tables:
        raise first or ParameterError("the-receipt-names-no-randomized-column")
    return ReleasedColumns(tuple(tables), refused)


def randomized_columns(receipt: Receipt) -> list[str]:
    """The columns that some group moved, each once."""
    return [*dict.fromkeys(name for group in receipt.groups for name in group.moved)]


class _Options(NamedTuple):
    weights: str | None
    target: str
    missing: str | None
    progress: Progress | None


def _table(data: Any, receipt: Receipt, columns: Sequence[str], options: _Options, *, by: int = 0) -> Analysis:
    """The shares of a table, and within the domains of its first ``domains`` columns, where these are bounded."""
    counted = _count(data, receipt, columns, options, by)
    route, whole = counted.route, counted.tables[0]
    how = receipt.missing if options.missing is None else options.missing
    table, dropped = _with_values(whole, how, counted.name, columns)
    cells = _with_values(counted.tables[1], how, counted.name, columns)[0] if len(counted.tables) > 1 else None
    estimate = _estimated(counted, table, cells, options.target, ratios=bool(dropped) and receipt.missing == "category")
    remarks = routes.remarks_of(route, receipt, options.weights, counted.weights)
    other = [] if whole.n == receipt.rows else [OTHER_ROWS.format(receipt.rows, whole.n)]
    named = replace(estimate, categories=_named(estimate.categories), flags=(*remarks, *estimate.flags, *other))
    domains = _bounded_domains(counted, table, by, options.target) if by and named.covariance is None else {}
    return Analysis(named, route, whole.n, dropped, remarks, domains=domains)


@dataclass(frozen=True, eq=False)
class _Counted:
    route: Route
    name: str  # What messages call the rows
    weights: str | None
    tables: list[CellTable]
    # At most what randomization did to a bounded table, and to the shares within its domains
    distortion: Distortion | None = None
    inner: Distortion | None = None
    complete: bool = True  # Whether these are all records that were released
    untold: Distortion | None = None  # The first without what a receipt states of the table


def _count(data: Any, receipt: Receipt, columns: Sequence[str], options: _Options, by: int) -> _Counted:
    route = routes.route_of(receipt, columns, weighted=options.weights is not None)
    routes.check_missing(route, receipt.missing if options.missing is None else options.missing)
    with routes.released_rows(data, route.cells) as (source, name):
        used = routes.weights_used(route, receipt, options.weights, source.schema.names)
        route = routes.measured(route, receipt, used)
        needed = [route.columns]  # and the cells that its matrices need together where they are known
        if route.kind == routes.SOLVED or route.to_solve is not None:
            needed.append((route.to_solve or route).cells)
        elif route.kind == routes.KEPT and _has_matrices(route):
            needed.append(route.groups[0].columns)
        counted = count_rows(source, name, needed, weights=used, progress=options.progress)
    tables = [table.in_order(receipt.categories) for table in counted]
    if route.kind != routes.BOUNDED:
        return _Counted(route, name, used, tables)
    hidden = [move for move in route.moves if route.to_solve is None or move.group.design is None]
    most = Distortion.of(hidden, weights_of(data, receipt, used), tables[0].n / receipt.rows)
    most = most.among_kept(receipt.kept_share)
    complete, inner = tables[0].n == receipt.rows, most
    if complete and route.to_solve is None:
        size = Released.of(tables[0].counts, tables[0].weights, tables[0].squares).size
        measure = COUNTS if used is None else routes.measure_of(receipt, used)
        told = most.told(receipt.tables.get((frozenset(columns), measure)), size)
        inner = told if not route.moved & {*columns[:by]} else most
        return _Counted(route, name, used, tables, told, inner, complete, most)
    return _Counted(route, name, used, tables, most, inner, complete, most)


def _with_domains(whole: Analysis, data: Any, receipt: Receipt, by: Sequence[str], options: _Options) -> Analysis:
    """A table with the shares within domains, and what must be said of these: one may be weighted, the other not."""
    if both := [name for name in whole.route.columns if name in by]:
        raise ParameterError("both-is-in-columns", both=both[0])
    joint = _table(data, receipt, [*by, *whole.route.columns], options, by=len(by))
    more = tuple(f"by {','.join(by)}: {remark}" for remark in joint.remarks if remark not in whole.remarks)
    remarks = (*whole.remarks, *more)
    bounded = () if joint.route.kind != routes.BOUNDED else (f"by {','.join(by)}: {IS_BOUNDED}",)
    flags = (*remarks, *whole.estimate.flags[len(whole.remarks) :], *bounded)
    return replace(
        whole,
        remarks=remarks,
        estimate=replace(whole.estimate, flags=flags),
        by=tuple(by),
        domains=joint.domains or _share_by_domain(joint.estimate, len(by)),
    )


def weights_of(data: Any, receipt: Receipt, weights: str | None) -> Weights:
    """How weight is spread over the records, by one more pass."""
    if weights is None:
        return Weights.alike()
    measure = routes.measure_of(receipt, weights)
    with routes.released_rows(data, []) as (source, name):
        return Weights.of(count_rows(source, name, [(weights,)], weights=weights, most=MOST_WEIGHTS)[0], measure)


def _has_matrices(route: Route) -> bool:
    """Whether all matrices are known, and draws of records independent, as formulas with matrices need."""
    return all(group.design is not None for group in route.groups) and not route.by_unit


def _estimated(counted: _Counted, table: CellTable, cells: CellTable | None, target: str, *, ratios: bool) -> Estimate:
    route = counted.route
    if route.kind == routes.SOLVED:
        assert cells is not None
        return solved(route, table, cells, target)
    if counted.distortion is not None:
        most = _of_all(counted, table, counted.distortion).within(*_parts_of(table, counted.tables[0]))
        if route.to_solve is not None and cells is not None:
            return solved(route.to_solve, table, cells, target, most)
        return _bounded(route, table, most, target, still=counted.complete and table.n == counted.tables[0].n)
    if not ratios or route.kind != routes.KEPT:
        return _counted(route, table, cells, target)
    routes.check_drawn_apart(route.groups)
    bound = _bound(route, table, target)
    return replace(bound, flags=(*bound.flags, Note("missing-values-were-randomized-like-any")))


def _counted(route: Route, table: CellTable, cells: CellTable | None, target: str) -> Estimate:
    if route.kind == routes.KEPT and _has_matrices(route):
        shares = kept_with_matrices(route, table, cells, target)
        if shares is not None:
            return shares
    bound = _bound(route, table, target)
    if route.kind in (routes.OPEN, routes.EXACT):
        open_ = Note("these-columns-were-not-randomized-their")
        swapped = Note("values-were-swapped-between-records-these")
        return replace(bound, flags=(open_ if route.kind == routes.OPEN else swapped, *bound.flags[1:]))
    # the published inflation of a single column that one group moved holds for each of its shares
    single = len(route.columns) == len(route.groups) == 1
    factor = route.groups[0].inflation.get(route.columns[0]) if single else None
    shares = _with_factor(bound, factor, any_factor=route.weighted or route.by_unit, weighted=route.weighted)
    return replace(shares, flags=(*shares.flags, Note("records-of-a-unit-moved-together"))) if route.by_unit else shares


def _bounded(route: Route, table: CellTable, most: Distortion, target: str, *, still: bool) -> Estimate:
    """Shares as they stand with a bound of their bias; where records are ``still`` the same, within their blocks."""
    blocks, mass = _blocks(route, table), np.asarray(table.mass, dtype=np.float64)
    in_block = np.bincount(blocks, mass)[blocks] / mass.sum()
    data = Released.of(table.counts, table.weights, table.squares)
    bias = np.minimum(most.bias, in_block if still else 1.0)
    how: dict[str, Any] = {"changed": most.changed, "squares": most.squares, "target": target}
    return estimate_changed(data, bias=bias, categories=table.labels(), **how)


def _of_all(counted: _Counted, table: CellTable, stated: Distortion) -> Distortion:
    """What a receipt states is for single cells of the whole table: not for sums of them, where some are left out."""
    return stated if counted.untold is None or table.n == counted.tables[0].n else counted.untold


def _parts_of(table: CellTable, whole: CellTable) -> tuple[float, float]:
    """The share of the weight, and of the squared weights, of a file that a part of it has."""
    squares = [one.counts if one.squares is None else one.squares for one in (table, whole)]
    return float(table.mass.sum() / whole.mass.sum()), float(squares[0].sum() / squares[1].sum())


def _bounded_domains(counted: _Counted, table: CellTable, domains: int, target: str) -> Domains:
    """Bounded shares within each domain, which is a file of its own with as many changed records."""
    assert counted.inner is not None
    inner = _of_all(counted, table, counted.inner)
    all_there = counted.complete and table.n == counted.tables[0].n
    still = all_there and not counted.route.moved & {*table.columns[:domains]}
    shares: dict[Domain, Estimate] = {}
    for domain, chosen in _by_domain(table.labels(), domains).items():
        part = _chosen(table, np.isin(np.arange(len(table)), chosen))
        most = inner.within(*_parts_of(part, counted.tables[0]))
        estimate = _bounded(counted.route, part, most, target, still=still)
        cells = [cell[domains:] for cell in cast(Sequence[Domain], estimate.categories)]
        shares[_words(domain)] = replace(estimate, categories=_named(cells))
    return shares


def _bound(route: Route, table: CellTable, target: str) -> DirectEstimate:
    """Shares with bounds of their errors that hold for every matrix."""
    blocks = np.arange(len(table)) if route.kind in (routes.OPEN, routes.EXACT) else _blocks(route, table)
    data = Released.of(table.counts, table.weights, table.squares)
    return estimate_unknown(data, categories=table.labels(), blocks=blocks, target=target)


def _with_factor(
    bound: DirectEstimate, factor: float | None, *, any_factor: bool = False, weighted: bool = False
) -> DirectEstimate:
    """The bound on randomization by a published factor f: ``C_ii <= (f - 1) p_i (1 - p_i) / n``.

    Where records were drawn one by one, f is 2 at most whatever the matrix, and a larger one is not used. Of units of
    s records that had one draw, ``C_ii = sum_j s^2 u_j q_ij (1 - q_ij) / n^2`` with u_j units, which f is made from;
    it may be ``1 + s`` (``any_factor``). With weights it is f times the variance of an open file, in which the squared
    weights of the released records serve as the true ones; f may be above 2. The factor holds for each share, not for
    sums of them, so covariances are left out. Source: [Adeshiyan2011, section 4.6], as a factor derived.
    """
    if factor is None or (at_least(factor, MOST_INFLATION) and not any_factor):
        return bound
    added = bound.sampling_variance if weighted and bound.target == "population" else bound.randomization_variance
    randomization = (factor - 1) * added
    variance = bound.sampling_variance + randomization
    smaller = np.divide(bound.variance, variance, out=np.full(len(variance), np.inf), where=variance > TINY)
    return replace(
        bound,
        variance=variance,
        variance_parts=(bound.sampling_variance, randomization),
        covariance=None,
        effective=np.where(bound.variance > TINY, bound.effective * smaller, bound.effective),
        flags=(Note("the-matrix-is-not-known-variances", factor=Printed(factor)), *bound.flags[1:]),
    )


def _blocks(route: Route, table: CellTable) -> Array:
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
        words = {"drop": option("missing", "drop"), "keep": option("missing", "category"), "columns": in_words(columns)}
        raise MissingValueError("of-records-have-no-value", path=path, n=table.n, count=count, **words)
    return _chosen(table, ~lost), count


def _chosen(table: CellTable, places: Array) -> CellTable:
    return replace(
        table,
        codes=table.codes[places],
        counts=table.counts[places],
        weights=None if table.weights is None else table.weights[places],
        squares=None if table.squares is None else table.squares[places],
    )


def _named(categories: Sequence[Any]) -> list[Hashable]:
    cells = [_words(cell) for cell in categories]
    return [cell[0] if len(cell) == 1 else cell for cell in cells]


def _words(cell: Domain) -> Domain:
    return tuple(MISSING if label is None else label for label in cell)


def _share_by_domain(estimate: Estimate, domains: int) -> dict[Domain, Estimate]:
    """Shares within each domain: ``R = p_c / p_d``, covariance ``G Cov G'``, ``G = (I - R 1') / p_d``."""
    if estimate.covariance is None:
        raise TooLargeError("too-many-cells-for-domains-covariances")
    places = _by_domain(cast(Sequence[Domain], estimate.categories), domains)
    return {domain: _within(estimate, np.array(cells), domains) for domain, cells in places.items()}


def _by_domain(cells: Sequence[Domain], domains: int) -> dict[Domain, list[int]]:
    places: dict[Domain, list[int]] = {}
    for place, cell in enumerate(cells):
        places.setdefault(cell[:domains], []).append(place)
    return places


def _within(estimate: Estimate, places: Array, domains: int) -> Estimate:
    assert estimate.covariance is not None
    p = estimate.pi_hat[places]
    total = float(p.sum())
    ratio = p / total if total > 0 else np.full(len(p), np.nan)
    G = (np.eye(len(p)) - np.outer(ratio, np.ones(len(p)))) / total if total > 0 else np.full((len(p),) * 2, np.nan)
    whole = G @ estimate.covariance[np.ix_(places, places)] @ G.T
    variance = np.diagonal(whole).copy()
    categories = cast(Sequence[Domain], estimate.categories)
    cells = [categories[i][domains:] for i in places]
    known: dict[str, Any] = {}
    if estimate.bias is not None:
        known["bias"] = np.full(len(p), min(1.0, float(estimate.bias.max()) / max(total, TINY)))
    if isinstance(estimate, DirectEstimate):
        open_ = ratio * (1 - ratio)
        known["effective"] = np.divide(open_, variance, out=np.full(len(p), np.inf), where=variance > TINY)
    return replace(
        estimate,
        categories=[cell[0] if len(cell) == 1 else cell for cell in cells],
        pi_hat=ratio,
        variance=variance,
        variance_parts=(np.full(len(p), np.nan),) * 2,
        covariance=whole,
        n=round(total * estimate.n),
        flags=(),
        **known,
    )
