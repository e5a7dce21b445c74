"""Methods that work a matrix out from the records of a file, so that it keeps their counts on average, and swaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.verdicts import above as is_above
from maskwell.core.verdicts import at_least, at_most
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.matrices import matrix_patterns as patterns
from maskwell.microdata.matrices.bounds import Bounds
from maskwell.microdata.matrices.closed_forms import inverse_frequency, method1, method2, sequential_uniform
from maskwell.microdata.matrices.kept_cells import LikeOutcomes
from maskwell.microdata.matrices.match_caps import lower_until, method1_for_match
from maskwell.microdata.matrices.mixing import rates_for_match
from maskwell.microdata.matrices.optimal_flows import optimal_matrix
from maskwell.microdata.plans import given_methods as given
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.method import (
    DEMANDS,
    CountMethod,
    Method,
    OpenStates,
    above,
    kept_option,
    option,
    up_to_one,
)
from maskwell.microdata.plans.plan_entries import unknown

MOST_IN_A_PROGRAM = 3000  # States that a linear program takes at once


@dataclass(frozen=True, kw_only=True)
class Method1(CountMethod):
    """Every category sends out and receives the same expected number of records."""

    name: ClassVar[str] = "method1"
    bounds: ClassVar[tuple[str, ...]] = ("match",)
    one_of: ClassVar[tuple[str, ...]] = ("theta", "match")
    match: ClassVar[bool] = True

    theta: Fraction | None = option(up_to_one)
    invariance: str | None = kept_option()

    def matrix_of(self, states: OpenStates) -> Sparse:
        """By its number, or the least change that keeps the bound on a match."""
        if self.theta is not None:
            return method1(states.mass, self.theta, categories=states.categories)
        intruder, categories = states.intruder, states.categories
        return method1_for_match(states.counts, states.match, intruder=intruder, categories=categories).design


@dataclass(frozen=True, kw_only=True)
class Method2(given.ByDemand, CountMethod):
    """A first matrix, undone on average by a second one."""

    name: ClassVar[str] = "method2"
    one_of: ClassVar[tuple[str, ...]] = ("first", "diagonal", *DEMANDS)
    moves: ClassVar[bool] = True

    first: Any = given.matrix_option()
    diagonal: Fraction | None = option(up_to_one)
    orientation: str | None = option(read.choice(*given.ORIENTATIONS))
    categories: tuple[tuple[str, ...], ...] | None = given.categories_option()
    invariance: str | None = kept_option()

    @classmethod
    def check_options(cls, options: Any, where: str) -> None:
        """A matrix says which way it is written; an orientation without a matrix says nothing."""
        if ("first" in options) != ("orientation" in options):
            raise cls.lacks("orientation" if "first" in options else "first", where)

    def matrix_of(self, states: OpenStates) -> Sparse:
        """The product of both."""
        return method2(states.mass, self.first_matrix(states), categories=states.categories)

    def first_matrix(self, states: OpenStates) -> Any:
        """The first matrix: given, with one diagonal, or uniform by a demand."""
        k = len(states.labels)
        if self.demand is not None:
            return Uniform.from_gamma(self.demand.gamma_exact, states.categories)
        if self.diagonal is not None:
            kept = Fraction(self.diagonal)
            return [[kept if i == j else (1 - kept) / (k - 1) for j in range(k)] for i in range(k)]
        design = given.design_of_matrix(self.first, self.orientation, self.categories, states.where)
        places = given.places_of(design, states.labels, states.where)  # the categories that occur, in their order
        return [[row[j] for j in places] for row in design.exact_matrix()]


@dataclass(frozen=True, kw_only=True)
class Sequential(CountMethod):
    """The smallest categories shared out equally: the least that a guess can gain."""

    name: ClassVar[str] = "sequential"

    invariance: str | None = kept_option()

    def matrix_of(self, states: OpenStates) -> Sparse:
        """It has no number in it."""
        return sequential_uniform(states.mass, categories=states.categories)


@dataclass(frozen=True, kw_only=True)
class InverseFrequency(CountMethod):
    """Every cell of a block sends out theta records on average, so that the small ones are covered."""

    name: ClassVar[str] = "inverse-frequency"
    bounds: ClassVar[tuple[str, ...]] = ("match",)
    one_of: ClassVar[tuple[str, ...]] = ("theta", "xi", "match")
    match: ClassVar[bool] = True
    by_counts: ClassVar[bool] = True
    at_once: ClassVar[bool] = True

    theta: Fraction | None = option(above(0, strictly=False))
    xi: Fraction | None = option(read.share)
    block_size: int | None = option(read.whole)
    invariance: str | None = kept_option()

    def matrix_of(self, states: OpenStates) -> Sparse:
        """Blocks of rare and frequent cells, each with its number."""
        size, within = self.block_size or 5, states.cells.tolist()
        if self.theta is not None:
            return inverse_frequency(
                states.counts, self.theta, blocks=patterns.blocks_of_cells(states.codes, size, within)
            )
        xi = self.xi or states.match
        if self.invariance == "weights":
            # only cells whose records have nearly the same weight can exchange records and keep weights
            mean = np.asarray(states.mass / states.counts, dtype=np.float64)
            order = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
            groups = zip(within, _alike(mean).tolist(), strict=True)
            codes = np.column_stack([at_least(states.counts * float(xi), 1), order])
            thetas = patterns.thetas_for_blocks(
                states.counts, patterns.blocks_of_cells(codes, size, groups), xi, mass=states.mass
            )
            return patterns.inverse_frequency_by_block(states.mass, thetas)
        blocks = patterns.blocks_for_xi(states.codes, states.counts, xi, size=size, within=within)
        return patterns.inverse_frequency_by_block(states.counts, blocks)


def _alike(mean: Array) -> Array:
    """A number for each weight; those with one number differ by a quarter at most."""
    group, start, number = np.zeros(len(mean), dtype=np.int64), -np.inf, -1
    for place in np.argsort(mean, kind="stable"):
        if not at_most(float(mean[place]), 1.25 * start) or number < 0:
            start, number = mean[place], number + 1
        group[place] = number
    return group


@dataclass(frozen=True, kw_only=True)
class Mixing(CountMethod):
    """Records of cells smaller than 1/match leave them and are dealt again among all that left; larger cells stay."""

    name: ClassVar[str] = "mixing"
    bounds: ClassVar[tuple[str, ...]] = ("match",)
    match: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("match",)
    bounds_weighted: ClassVar[bool] = True
    at_once: ClassVar[bool] = True
    weighs_others: ClassVar[bool] = True
    keeps_tables: ClassVar[bool] = True

    block_size: int | None = option(read.whole)
    invariance: str | None = kept_option()

    def matrix_of(self, states: OpenStates) -> Sparse:
        """Blocks of small cells, whose rates follow from the bound."""
        cells, mean = states.cells.tolist(), states.mass / states.counts
        others = LikeOutcomes(states.kept, states.codes) if states.kept else states.others
        rates = rates_for_match(
            states.codes,
            states.counts,
            states.match,
            within=cells,
            size=self.block_size,
            others=others,
            mass=states.mass if is_above(float(mean.max()), float(mean.min())) else None,  # else both are kept
        )
        rates.check_reached(states.counts, cells, states.where)
        return rates.design(states.counts)


@dataclass(frozen=True, kw_only=True)
class Lowered(CountMethod):
    """Diagonals lowered until the chance of a correct match is small enough."""

    name: ClassVar[str] = "lowered"
    bounds: ClassVar[tuple[str, ...]] = Bounds.names()
    match: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("match",)
    moves: ClassVar[bool] = True
    capped: ClassVar[bool] = True
    by_counts: ClassVar[bool] = True
    keeps_tables: ClassVar[bool] = True

    cost: str | None = option(read.choice("agreement", "ordinal"))
    band: int | None = option(read.whole)

    def _limits(self, states: OpenStates) -> dict[str, Any]:
        if (count := len(states.counts)) > MOST_IN_A_PROGRAM:
            most = MOST_IN_A_PROGRAM
            raise ParameterError(
                "combinations-in-one-linear-program", where=states.where, counts_count=count, most_in_a_program=most
            )
        cost = None if self.cost == "agreement" else self.cost
        return {
            "cost": cost,
            "forbidden": states.forbidden,
            "band": self.band,
            "categories": states.categories,
            "kept": states.kept,
        }

    def matrix_of(self, states: OpenStates) -> Sparse:
        """One program after the other, with smaller diagonals."""
        limits, bounds = self._limits(states), replace(states.bounds, match=None)
        return lower_until(states.counts, states.match, bounds=bounds, intruder=states.intruder, **limits).design


@dataclass(frozen=True, kw_only=True)
class Optimal(Lowered):
    """The fewest changes under all the bounds, by linear programming."""

    name: ClassVar[str] = "optimal"
    needs: ClassVar[tuple[str, ...]] = ()
    by_counts: ClassVar[bool] = False

    invariance: str | None = kept_option()

    def matrix_of(self, states: OpenStates) -> Sparse:
        """One program, or several where a match is bounded."""
        if states.bounds.match is not None:
            return super().matrix_of(states)
        return optimal_matrix(states.mass, states.bounds, **self._limits(states)).design


COUNT_METHODS: tuple[type[CountMethod], ...] = (
    *(Method1, Method2, Sequential, InverseFrequency, Mixing, Optimal, Lowered),
)
BASES = {method.name: method for method in COUNT_METHODS}  # Methods whose flows a swap can carry out


@dataclass(frozen=True, kw_only=True)
class Swap(Method):
    """Records exchanged so that every count stays exactly the same."""

    name: ClassVar[str] = "swap"
    by_counts: ClassVar[bool] = True
    exchanges: ClassVar[bool] = True

    flows: CountMethod

    @classmethod
    def maker_of(cls, table: read.Entries) -> type[Method]:
        """The method whose flows are carried out."""
        others = ", ".join(name for name in BASES if name != Mixing.name)
        name = table.need("base", read.text, f'add base = "{Mixing.name}"; others: {others}')
        if name not in BASES:
            raise unknown(name, f"{table.where}: a swap has no base", [*BASES])
        return BASES[name]

    @classmethod
    def around(cls, maker: Method) -> Method:
        """The swap that carries out its flows."""
        return cls(flows=cast(CountMethod, maker))  # one of BASES

    @property
    def maker(self) -> Method:
        """The method whose flows are carried out."""
        return self.flows

    @property
    def options(self) -> dict[str, Any]:
        """The base, and its own."""
        return {"base": self.flows.name, **self.flows.options}

    def contents(self) -> dict[str, Any]:
        """The base, and what it writes."""
        return {"base": self.flows.name, **self.flows.contents()}


def _profiles(value: Any, name: str) -> tuple[tuple[str, ...], ...]:
    """Profiles in the order in which they are tried; a single one needs no second pair of brackets."""
    if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)):
        return (read.some_names(value, name),)
    return tuple(read.some_names(one, name) for one in read.some(value, name))


def _two_or_more(value: Any, name: str) -> int:
    if (size := read.whole(value, name)) < 2:
        raise PlanError("is-out-of-range-give-a", name=name, number=size, allowed="of 2 or more")
    return size


def _lists(value: Sequence[Any]) -> list[Any]:
    return [list(one) if isinstance(one, tuple) else one for one in value]


@dataclass(frozen=True, kw_only=True)
class TargetedSwap(CountMethod):
    """Regions of units at risk are dealt anew among units that are alike, so that every count of these stays."""

    name: ClassVar[str] = "targeted-swap"
    needs: ClassVar[tuple[str, ...]] = ("similar", "risk", "k")
    by_counts: ClassVar[bool] = True
    at_once: ClassVar[bool] = True
    exchanges: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True

    similar: tuple[tuple[str, ...], ...] = option(_profiles, _lists)
    risk: tuple[str, ...] = option(read.some_names, _lists)
    k: int | None = option(read.whole)
    rate: Fraction | None = option(read.share)
    size: int | None = option(_two_or_more)
    pool: str | None = None  # A further column inside whose cells units are exchanged, once the records are known

    @property
    def named_columns(self) -> Mapping[str, Sequence[str]]:
        """Columns by the option that names them."""
        return {"similar": [*dict.fromkeys(name for one in self.similar for name in one)], "risk": self.risk}

    def matrix_of(self, states: OpenStates) -> Sparse:
        """Inside a pool each unit gets a region with the share that the region has there."""
        order = np.argsort(states.cells, kind="stable")
        first, sizes = np.unique(states.cells[order], return_index=True, return_counts=True)[1:]
        own = np.empty(len(order), dtype=np.int64)
        own[order] = np.repeat(np.arange(len(first)), sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[own])])
        step = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes[own])
        rows = order[np.repeat(first[own], sizes[own]) + step]
        return Sparse.from_integers(starts, rows, states.counts[rows])


def matrix_from_counts(method: CountMethod, states: OpenStates) -> Sparse:
    """The matrix of all states: cell by cell, those that are alone in their cell unchanged."""
    if method.at_once:
        return method.matrix_of(states)
    parts, places, alone = [], [], []
    for cell in patterns.places_by_cell(states.cells):
        if len(cell) < 2:
            alone.append(cell)
            continue
        parts.append(method.matrix_of(states.part(cell)))
        places.append(cell)
    rest = np.concatenate(alone) if alone else np.zeros(0, dtype=np.int64)
    if len(rest):
        parts.append(Sparse.unchanged(Categories.numbered(len(rest))))
        places.append(rest)
    notes = [note for part in parts for note in part.provenance.get("notes", ())]
    if len(parts) == 1 and not len(rest):
        return parts[0]
    return Sparse.stacked(parts, places).with_provenance(notes=[*dict.fromkeys(notes)])
