"""The methods of a plan: from the records of one cell to their matrix. One function each, listed in ``MAKERS``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.designs.base import Design
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, PlanError
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.cell_blocks import BlockThetas, blocks_for_xi, blocks_of_cells, thetas_for_blocks
from maskwell.release.matrices.closed_forms import (
    inverse_frequency,
    inverse_frequency_by_block,
    method1,
    method2,
    sequential_uniform,
)
from maskwell.release.matrices.match_caps import lower_until, method1_for_match
from maskwell.release.matrices.matrix_algebra import places_by_cell
from maskwell.release.matrices.optimal_flows import optimal_matrix
from maskwell.release.plans.method_entries import demand_of
from maskwell.release.risk.intruders import ANY_LOOK
from maskwell.release.stages.given_matrices import given_design, places_of
from maskwell.release.stages.stage import state_categories

MOST_IN_A_PROGRAM = 3000
"""States that a linear program takes at once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Local:
    """States whose matrix is to be made, and what is asked of it.

    Attributes
    ----------
    counts, mass
        Shape (l,): records, and what the matrix keeps on average (records or sums of weights).
    labels, codes
        Labels of the variables in each state, and the codes of these labels, shape (l, variables).
    cells
        Shape (l,): the cell of each state. No matrix leads out of a cell; most methods are given one cell at a time.
    options, bounds
        Of the protection; caps of the bounds by local place.
    forbidden
        Pairs (released, true) of local places that must have probability zero.
    where
        The protection and the cell, for messages.
    intruder
        Whom the bound on a correct match is for.
    """

    counts: Array
    mass: Array
    labels: Sequence[tuple[Hashable, ...]]
    codes: Array
    cells: Array
    options: Mapping[str, Any]
    bounds: Bounds
    forbidden: Sequence[tuple[int, int]] = ()
    where: str = ""
    intruder: str = ANY_LOOK

    @property
    def categories(self) -> Categories:
        """The states by their labels."""
        return state_categories(self.labels)

    @property
    def match(self) -> Fraction:
        """The bound on the chance of a correct match."""
        if self.bounds.match is None:
            raise PlanError(f"{self.where} has no bound on a correct match", hint="give match = 0.5")
        return self.bounds.match


Maker = Callable[[Local], Sparse]


def _method1(local: Local) -> Sparse:
    if "theta" in local.options:
        return method1(local.mass, local.options["theta"], categories=local.categories)
    return method1_for_match(local.counts, local.match, intruder=local.intruder, categories=local.categories).design


def _method2(local: Local) -> Sparse:
    return method2(local.mass, first_stage(local), categories=local.categories)


def first_stage(local: Local) -> Any:
    """The first matrix of Method 2: given, with one diagonal, or uniform by a demand."""
    demand, k = demand_of(local.options), len(local.labels)
    if demand is not None:
        return Uniform.from_gamma(demand.gamma_exact, local.categories)
    if "diagonal" in local.options:
        kept = Fraction(local.options["diagonal"])
        return [[kept if i == j else (1 - kept) / (k - 1) for j in range(k)] for i in range(k)]
    design = given_design(local.options["first"], local.options, local.where)
    return _columns_of(design, local)


def _columns_of(design: Design, local: Local) -> list[list[Fraction]]:
    """The columns of a given matrix for the categories that occur, in their order."""
    places = places_of(design, local.labels, local.where)
    return [[row[j] for j in places] for row in design.exact_matrix()]


def _sequential(local: Local) -> Sparse:
    return sequential_uniform(local.mass, categories=local.categories)


def _inverse_frequency(local: Local) -> Sparse:
    size = int(local.options.get("block_size", 5))
    if "theta" in local.options:
        blocks = blocks_of_cells(local.codes, size, local.cells.tolist())
        return inverse_frequency(local.counts, local.options["theta"], blocks=blocks)
    xi = local.options.get("xi") or local.match
    if local.options.get("invariance") == "weights":
        return inverse_frequency_by_block(local.mass, _blocks_of_like_weight(local, xi, size))
    return inverse_frequency_by_block(
        local.counts, blocks_for_xi(local.codes, local.counts, xi, size=size, within=local.cells.tolist())
    )


def _blocks_of_like_weight(local: Local, xi: Fraction, size: int) -> BlockThetas:
    """Blocks of cells whose records have nearly the same weight: others cannot exchange records and keep weights."""
    mean = np.asarray(local.mass / local.counts, dtype=np.float64)
    order = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
    groups = zip(local.cells.tolist(), _alike(mean).tolist(), strict=True)
    blocks = blocks_of_cells(np.column_stack([local.counts * float(xi) >= 1, order]), size, groups)
    return thetas_for_blocks(local.counts, blocks, xi, mass=local.mass)


def _alike(mean: Array) -> Array:
    """A number for each weight; those with one number differ by a quarter at most.

    >>> _alike(np.array([1.0, 7.0, 1.2, 7.5])).tolist()
    [0, 1, 0, 1]
    """
    group, start, number = np.zeros(len(mean), dtype=np.int64), -np.inf, -1
    for place in np.argsort(mean, kind="stable"):
        if mean[place] > 1.25 * start or number < 0:
            start, number = mean[place], number + 1
        group[place] = number
    return group


def _optimal(local: Local) -> Sparse:
    _check_program_size(local)
    if local.bounds.match is not None:
        return _lowered(local)
    return optimal_matrix(
        local.mass,
        local.bounds,
        cost=_cost(local),
        forbidden=local.forbidden,
        band=local.options.get("band"),
        categories=local.categories,
    ).design


def _lowered(local: Local) -> Sparse:
    _check_program_size(local)
    return lower_until(
        local.counts,
        local.match,
        bounds=replace(local.bounds, match=None),
        intruder=local.intruder,
        forbidden=local.forbidden,
        cost=_cost(local),
        band=local.options.get("band"),
        categories=local.categories,
    ).design


def _cost(local: Local) -> Any:
    cost = local.options.get("cost")
    return None if cost == "agreement" else cost


def _check_program_size(local: Local) -> None:
    if len(local.counts) > MOST_IN_A_PROGRAM:
        raise ParameterError(
            f"{local.where}: {len(local.counts):,} combinations in one linear program; at most {MOST_IN_A_PROGRAM:,}",
            hint='randomize within the cells of another column, or use method = "inverse-frequency"',
        )


MAKERS: Mapping[str, Maker] = {
    "method1": _method1,
    "method2": _method2,
    "sequential": _sequential,
    "inverse-frequency": _inverse_frequency,
    "optimal": _optimal,
    "lowered": _lowered,
}
"""How each method makes its matrix from the records."""

AT_ONCE = {"inverse-frequency"}
"""Methods that take the states of all cells at once, and keep them apart themselves."""


def make_matrix(method: str, local: Local) -> Sparse:
    """The matrix of all states: cell by cell, those that are alone in their cell unchanged."""
    if method in AT_ONCE:
        return MAKERS[method](local)
    parts, places, alone = [], [], []
    for own in places_by_cell(local.cells):
        if len(own) < 2:
            alone.append(own)
            continue
        parts.append(MAKERS[method](_part(local, own)))
        places.append(own)
    rest = np.concatenate(alone) if alone else np.zeros(0, dtype=np.int64)
    if len(rest):
        parts.append(Sparse.unchanged(Categories.numbered(len(rest))))
        places.append(rest)
    notes = [note for part in parts for note in part.provenance.get("notes", ())]
    if len(parts) == 1 and not len(rest):
        return parts[0]
    return Sparse.stacked(parts, places).with_provenance(notes=[*dict.fromkeys(notes)])


def _part(local: Local, places: Array) -> Local:
    here = {int(place): i for i, place in enumerate(places)}
    caps = {here[place]: cap for place, cap in local.bounds.caps.items() if place in here}
    pairs = [(here[i], here[j]) for i, j in local.forbidden if i in here and j in here]
    return replace(
        local,
        counts=local.counts[places],
        mass=local.mass[places],
        labels=[local.labels[i] for i in places],
        codes=local.codes[places],
        cells=local.cells[places],
        bounds=replace(local.bounds, caps=caps),
        forbidden=pairs,
    )
