"""How a table of a released file can be estimated: which randomizations touch it, and whether they keep it.

A randomization keeps counts or sums of weights, not both. Tables that are not kept are solved for, or have a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from maskwell.core.phrases import in_words, option, shorten
from maskwell.core.verdicts import below
from maskwell.designs.coded import CodedDesign
from maskwell.engines.assignments import Assignment
from maskwell.engines.row_sources import Source
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.microdata.analysis.bias_bounds import COUNTS, WEIGHTS, Move, moves_of
from maskwell.microdata.folder.receipt import Group, Receipt, drawn_until_kept, labelled_as
from maskwell.microdata.stages.stage import acting, is_kept, needed_columns

OPEN, EXACT, KEPT, SOLVED, BOUNDED = "open", "exact", "kept", "solved", "bounded"
BY_WEIGHT = "every record counts with its weight ({}), as the receipt says"
RECORDS = "shares of the records, not of the population: this release preserves counts, not weighted counts, of {}"
SOLVABLE = "; ask for its weights ({}) to have weighted shares solved for with the matrices"
BOUNDABLE = "; ask for its weights ({}) to have weighted shares with a bound of their bias"
NO_WEIGHTS = "shares of the records, not of the population: the file has no column of weights ({})"
PLANS = ("weights", "strata", "clusters", "replicates")
BOUNDED_PLANS = (*PLANS, "lonely", "replicate_method", "fay")
SAMPLING_COLUMNS = ("weights", "inclusion", "strata", "clusters", "population")
OTHER_WEIGHTS = ("weights", "inclusion", "population", "replicates")


@dataclass(frozen=True, eq=False)
class Route:
    """How a table is estimated."""

    # "open": nothing moved its columns. "exact": they were swapped, its counts stay exactly. "kept": counts are
    # unbiased as they stand. "solved": with the matrices. "bounded": as it stands, with a bound of its bias
    kind: str
    columns: tuple[str, ...]  # Of the table
    # Those that moved its columns, or columns that these depend on, in the order in which they were carried out
    groups: tuple[Group, ...]
    cells: tuple[str, ...]  # Columns that the matrices of these groups need together
    moves: tuple[Move, ...] = ()  # At most what the groups that moved its columns did to it

    @property
    def moved(self) -> frozenset[str]:
        """Columns that some group moved."""
        return frozenset(name for group in self.groups for name in group.moved)

    @property
    def by_unit(self) -> bool:
        """Whether all records of a unit, such as a household, had one draw of its columns; not of exact counts."""
        return self.kind != EXACT and any(group.each != "record" for group in self.groups)

    @property
    def weighted(self) -> bool:
        """Whether sums of weights are kept, and not counts."""
        return any(group.invariance == "weights" for group in self.groups)

    @property
    def counts_only(self) -> bool:
        """Whether numbers of records can be estimated, but no sums of weights."""
        return bool(self.groups) and self.kind != SOLVED and not self.weighted

    @property
    def to_solve(self) -> Route | None:
        """What groups with known matrices did to a bounded table; None where hidden ones are in the way."""
        known = tuple(group for group in self.groups if group.design is not None)
        hidden = [group for group in self.groups if group.design is None]
        crossing = any({*a.moved} & {*b.columns} or {*b.moved} & {*a.columns} for a in known for b in hidden)
        if self.kind != BOUNDED or not known or not hidden or crossing or any(group.linked for group in known):
            return None
        return Route(SOLVED, self.columns, known, needed_columns(known, self.columns))


def route_of(receipt: Receipt, columns: Sequence[str], *, weighted: bool = False) -> Route:
    """How the table of these columns is estimated, ``weighted`` or not; ParameterError where it cannot be."""
    groups = acting(receipt.groups, columns)
    linked = {name for group in groups for name in group.linked}
    cells = tuple(name for name in needed_columns(groups, columns) if name not in linked)
    kind = _kind(groups, columns)
    if weighted and kind == KEPT and all(group.design is not None and group.invariance == "counts" for group in groups):
        kind = SOLVED
    route = Route(kind, tuple(columns), groups, cells, moves_of(receipt.groups, columns))
    if route.by_unit:  # a column that had one draw for whole units: its published inflation counts with that alone
        one = len(route.columns) == len(route.groups) == 1 and route.columns[0] in route.groups[0].inflation
        if not one or route.kind != KEPT or route.weighted or weighted:
            check_drawn_apart(route.groups)
        return route
    return route if kind != SOLVED or all(group.design is not None for group in groups) else bounded(route)


def check_drawn_apart(groups: Sequence[Group]) -> None:
    """Raise for columns that had one draw for a whole unit: a receipt does not state how errors of tables depend."""
    names = [name for group in groups if group.each != "record" for name in group.variables]
    if names:
        raise ParameterError("had-one-draw-for-all-records", names=shorten(", ".join(names), 40))


def bounded(route: Route) -> Route:
    """The released table with a bound on its bias; ParameterError if the receipt does not state how much changed."""
    check_drawn_apart(route.groups)
    unknown = [
        move.group for move in route.moves if move.changed >= 1 and (route.kind != SOLVED or not move.group.design)
    ]
    if unknown:
        raise ParameterError(
            "the-table-of-is-not-kept", columns=in_words(route.columns), variables=in_words(unknown[0].variables)
        )
    return replace(route, kind=BOUNDED)


def _kind(groups: Sequence[Group], columns: Sequence[str]) -> str:
    if not groups:
        return OPEN
    if not is_kept(groups, columns):
        return SOLVED
    return EXACT if all(group.method == "swap" for group in groups) else KEPT


def check_missing(route: Route, missing: str) -> None:
    """Raise where records without a value are to be left out, and values can be lost or found by randomization."""
    for group in route.groups if missing == "drop" and route.kind == SOLVED else ():
        for name in (one for one in group.variables if one in route.columns):
            place = group.columns.index(name)
            if any(state[place] is None for state in group.states):
                raise ParameterError("a-missing-value-of-was-randomized", name=name)


def weights_used(route: Route, receipt: Receipt, asked: str | None, names: Sequence[str]) -> str | None:
    """The column of weights: as asked, or that of the receipt where weighted shares can be estimated."""
    absent = receipt.weights not in names and not route.weighted  # a plan may leave weights out of the file
    return asked if asked is not None or route.counts_only or absent else receipt.weights


def measured(route: Route, receipt: Receipt, weights: str | None) -> Route:
    """The route of a table of records, or of these weights: bounded where the other of the two was kept."""
    if route.kind not in (KEPT, EXACT) or measure_of(receipt, weights) == (WEIGHTS if route.weighted else COUNTS):
        return route
    return bounded(route)


def measure_of(receipt: Receipt, weights: str | None) -> str:
    """What shares are shares of: of records, of the weights that the receipt names, or of others."""
    return COUNTS if weights is None else WEIGHTS if weights == receipt.weights else "other weights"


def remarks_of(route: Route, receipt: Receipt, asked: str | None, used: str | None) -> tuple[str, ...]:
    """What a reader must know, of weights and of files that were drawn until they kept a limit."""
    return (*_weights_remarks(route, receipt, asked, used), *_drawn_remarks(receipt))


def _drawn_remarks(receipt: Receipt) -> tuple[str, ...]:
    return (drawn_until_kept(receipt.kept_share),) if below(receipt.kept_share, 1) else ()


def _weights_remarks(route: Route, receipt: Receipt, asked: str | None, used: str | None) -> tuple[str, ...]:
    """What a reader must know about weights that the receipt names, in words; nothing where they were asked for."""
    if asked is not None or receipt.weights is None:
        return ()
    if used is not None:
        return (BY_WEIGHT.format(used),)
    if route.counts_only:
        said = RECORDS.format(in_words([name for group in route.groups for name in group.variables]))
        if route.by_unit:
            return (said,)
        solvable = route_of(receipt, route.columns, weighted=True).kind == SOLVED
        return (f"{said}{(SOLVABLE if solvable else BOUNDABLE).format(receipt.weights)}",)
    return (NO_WEIGHTS.format(receipt.weights),)


@contextmanager
def released_rows(data: Any, names: Sequence[str]) -> Iterator[tuple[Source, str]]:
    """The rows of a file or of a table in memory, and what messages call them."""
    rows = Rows.of(data)
    with rows.open_stored(names) as source:
        yield source, str(rows)


@dataclass(frozen=True, eq=False)
class ReleasedSurvey:
    """A table of a released file that is estimated as that of a survey: its designs are known and were fixed before."""

    # Columns with their designs, and columns that were not moved
    designs: list[tuple[tuple[str, ...], CodedDesign]]
    direct: list[str]
    # How missing values count, and the column of weights: as asked, or else as the receipt says
    missing: str
    weights: str | None
    remarks: tuple[str, ...]  # What a reader should know about that, in words

    @property
    def assignments(self) -> list[Assignment]:
        """The columns with their designs, as they are counted."""
        return [Assignment(columns, design) for columns, design in self.designs]


def survey_of_release(
    data: Any,
    receipt: Receipt,
    columns: Sequence[str],
    *,
    by: Sequence[str] = (),
    target: str = "population",
    missing: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    method: str = "moments",
) -> ReleasedSurvey | None:
    """The table where a receipt holds designs for its columns, and the population is the target; None for others."""
    if target == "file":
        return None
    route = route_of(receipt, columns)
    designs = assigned(route)
    moved = {name for group in receipt.groups for name in group.moved}
    if designs is None or moved & {*by}:
        return None  # domains of released values are not those of true ones
    how = receipt.missing if missing is None else missing
    check_missing(route, how)
    check_unmoved(sampling or {}, moved)
    weights: str | None = (sampling or {}).get("weights")
    remarks = _drawn_remarks(receipt)
    if receipt.weights is not None and not any((sampling or {}).get(name) for name in OTHER_WEIGHTS):
        with released_rows(data, []) as (source, _):
            weights = weights_used(route, receipt, None, source.schema.names)
        if weights is not None and method == "ml":
            raise ParameterError("method-ml-where-every-record-counts", used=weights)
        remarks = remarks_of(route, receipt, None, weights)
    randomized = {name for names, _ in designs for name in names}
    return ReleasedSurvey(designs, [name for name in columns if name not in randomized], how, weights, remarks)


def check_unmoved(sampling: Mapping[str, Any], moved: set[str]) -> None:
    """Raise if a column that describes how rows were sampled was randomized."""
    for name in SAMPLING_COLUMNS:
        value = sampling.get(name)
        names = value.split(",") if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else []
        if wrong := moved & {*names}:
            raise ParameterError(
                "the-values-of-were-randomized", name_option=option(name), names=",".join(names), wrong=min(wrong)
            )


def has_plan(sampling: Mapping[str, Any]) -> bool:
    """Whether more than weights is said about how the rows were sampled."""
    return any(value and name not in ("weights", "lonely") for name, value in sampling.items())


def check_release_sampling(sampling: Mapping[str, Any], receipt: Receipt, route: Route) -> None:
    """Raise where errors under a plan are not known: with a withheld matrix, all but weights, strata, clusters."""
    check_unmoved(sampling, {name for group in receipt.groups for name in group.moved})
    check_drawn_apart(route.groups)
    more = [name for name, value in sampling.items() if value and name not in BOUNDED_PLANS]
    if more and route.kind != OPEN:
        raise ParameterError(
            "with-a-matrix-that-is-withheld", more_option=option(more[0]), plans=", ".join(map(option, PLANS))
        )


def assigned(route: Route) -> list[tuple[tuple[str, ...], CodedDesign]] | None:
    """The columns of each matrix where each is a design of its own columns, not computed from the file; else None."""
    designs = []
    for group in route.groups:
        if group.design is None or group.invariant or group.within or not {*group.variables} <= {*route.columns}:
            return None
        designs.append((group.variables, labelled_as(group.design, group.states, group.outputs)))
    follows = {name for group in route.groups for name in group.linked} & {*route.columns}
    return None if follows or route.kind != SOLVED else designs
