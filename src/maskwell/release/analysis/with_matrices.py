"""Estimating tables of a released file where the matrices are known: from the internal receipt, or published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation.direct_estimate import DirectEstimate, Released
from maskwell.estimation.invariant import TURNS_AROUND, WITH_WEIGHTS, estimate_moved
from maskwell.estimation.moments import flags_of_moments
from maskwell.estimation.share_estimate import Estimate
from maskwell.release.analysis.composing import (
    Cell,
    TextKey,
    composed,
    joined_states,
    numbered_by_text,
    parts_of,
    text_key,
)
from maskwell.release.analysis.kept import is_kept
from maskwell.release.analysis.routes import Route

MOST_CATEGORIES = 2000
SINGULAR = 1e12
ROUNDING = 1e-12
DATA_DEPENDENT = (
    "a matrix was worked out from the file itself: the randomization part of the variance is given the file"
)


def kept_with_matrices(route: Route, table: CellTable, cells: CellTable | None, target: str) -> DirectEstimate | None:
    """Released shares with the part of randomization from the matrices.

        C = (D_{QN} - Q D_N Q') / n^2,     V = (D_p - p p' + C) / (n - 1) + C

    where Q adds the rows of the product of the matrices to the cells of the table, and N are the counts of its true
    states (their squared weights with weights, over the squared sum of weights). A receipt that does not tell N, such
    as a public one with a matrix in it, leaves an unbiased estimate: the released counts of these states, which are
    those of ``cells``. None where that is not possible, or where columns follow others.
    Source: [Adeshiyan2011, eqs. (4.11), (4.12)]; with estimates derived.
    """
    first = route.groups[0]
    if len(table) > MOST_CATEGORIES or not {*table.columns} <= {*first.cells}:
        return None
    masses = _known_masses(route) if first.stage is not None else _estimated_masses(route, cells)
    if masses is None:
        return None
    known: dict[TextKey, int] = {}
    numbered_by_text(table.labels(), known)
    P, released = composed(route.groups, first.cells, list(first.states))
    codes = numbered_by_text(parts_of(released, first.cells, table.columns), known)
    Q = _summed(P, codes, len(known))
    arriving = Q @ masses if first.stage is not None or cells is None else _arrived(first.outputs, cells, table, known)
    own = slice(0, len(table))  # cells that no released record has come last
    moved = _moved(Q, masses, arriving)[own, own] / float(table.mass.sum()) ** 2
    labels, sums = table.labels(), {"weights": table.weights, "squares": table.squares}
    return estimate_moved(table.counts, moved, categories=labels, target=target, **sums)


def _moved(Q: Real, masses: Real, arriving: Real) -> Real:
    """``D_a - Q D_s Q'``, a what arrives; what is zero but for rounding is zero: records that never move."""
    found = np.diag(arriving) - (Q * masses) @ Q.T
    noise = ROUNDING * np.sqrt(np.abs(np.outer(arriving, arriving)))
    return np.where(np.abs(found) <= noise, 0.0, found)


def _known_masses(route: Route) -> Real:
    stage = route.groups[0].stage
    assert stage is not None
    own = stage.squares if route.weighted and stage.squares is not None else stage.counts
    return np.asarray(own, dtype=np.float64)


def _estimated_masses(route: Route, cells: CellTable | None) -> Real | None:
    """Records, or squared weights, of the true states as far as the released file tells them; None where it does not.

    Counts of these states must be kept, too. Sums of squared weights are not kept, but turned back by the matrix.
    """
    first = route.groups[0]
    if cells is None or not is_kept(route.groups, first.cells):
        return None
    if cells.squares is None:
        return _of_states(first.states, cells)
    design = first.design
    if len(route.groups) > 1 or design is None or not design.identifiable or design.condition() > TURNS_AROUND:
        return None
    return np.asarray(design.backward(_of_states(first.outputs, cells)))


def _of_states(states: Sequence[Cell], cells: CellTable) -> Real:
    """Sums over the records of each state; records without a value were not randomized and are in none."""
    found = _places(states, cells)
    return np.bincount(found[found >= 0], _second(cells)[found >= 0], minlength=len(states)).astype(np.float64)


def _arrived(outputs: Sequence[Cell], cells: CellTable, table: CellTable, known: dict[TextKey, int]) -> Real:
    """Sums over the randomized records of each cell of a table."""
    codes = numbered_by_text(parts_of(cells.labels(), cells.columns, table.columns), known)
    some = _places(outputs, cells) >= 0
    return np.bincount(codes[some], _second(cells)[some], minlength=len(known)).astype(np.float64)


def _second(cells: CellTable) -> Real:
    """Sums of squared weights, which are counts without weights."""
    return np.asarray(cells.counts if cells.squares is None else cells.squares, dtype=np.float64)


def _summed(P: Any, codes: Array, count: int) -> Real:
    out = np.zeros((count, P.shape[1]))
    rows, columns, values = _entries(P)
    np.add.at(out, (codes[rows], columns), values)
    return out


def _entries(P: Any) -> tuple[Array, Array, Real]:
    entries = P.tocoo()
    return entries.row, entries.col, entries.data


def solved(route: Route, table: CellTable, cells: CellTable, target: str) -> Estimate:
    """Shares by solving ``P pi = lam`` over the cells that the matrices need, summed to the table.

        pi_hat = G lam,     V = (G D_lam G' - pi_hat pi_hat') / (n - 1),     randomization (G D_lam G' - D_pi) / n

    where G adds the rows of a left inverse of P. ``cells`` counts all columns of the route. With weights, lam are
    shares of their sum W, and with s the sums of squared weights, S in all,

        V = (G D_s G' - (G s) pi_hat' - pi_hat (G s)' + S pi_hat pi_hat') / W^2  n_w / (n_w - 1),     n_w = W^2 / S

    and the part of randomization is (G D_s G' - D_{Gs}) / W^2. Source: [Adeshiyan2011, section 3.3.2, Theorem 3.2];
    given the file the randomization part holds for any P.
    """
    columns, levels = list(route.cells), dict(zip(cells.columns, cells.levels, strict=True))
    _check_columns(route, table)
    true = joined_states(route.groups, columns, levels)
    P, released = composed(route.groups, columns, true)
    data = _in_states(released, cells)
    known: dict[TextKey, int] = {}
    parts = parts_of(true, columns, table.columns)
    codes = numbered_by_text(parts, known)
    G = np.zeros((len(known), len(released)))
    np.add.at(G, codes, _left_inverse(P.toarray()))
    estimate = _moments([*dict(zip(codes.tolist(), parts, strict=True)).values()], G, data, target)
    derived = (DATA_DEPENDENT,) if any(group.kept for group in route.groups) else ()
    weights = (WITH_WEIGHTS,) if data.weighted and target == "population" else ()
    return replace(estimate, flags=(*estimate.flags, *derived, *weights))


def _check_columns(route: Route, table: CellTable) -> None:
    follows = [name for name in table.columns if name not in route.cells]
    if follows:
        raise ParameterError(
            f"{follows[0]!r} follows from randomized columns", hint="estimate the columns that it follows from"
        )


def _in_states(released: list[Cell], cells: CellTable) -> Released:
    """The records of the file by released cell."""
    found = _places(released, cells)
    if -1 in found:
        label = cells.label(found.tolist().index(-1))
        name = cells.columns[label.index(None)]
        raise ParameterError(
            f"some records have no value of {name!r}, which the matrices of this table need",
            hint=f"estimate it with {name!r} as one more column, and leave such records out: --missing drop",
        )
    counts, *sums = (
        None if values is None else np.bincount(found, values, minlength=len(released))
        for values in (cells.counts, cells.weights, cells.squares)
    )
    return Released.of(counts, *sums)


def _places(states: Sequence[Cell], cells: CellTable) -> Array:
    """The place of each cell among the states; -1 for those that no matrix knows because a value is missing."""
    places = {text_key(state): place for place, state in enumerate(states)}
    found = np.array([places.get(text_key(label), -1) for label in cells.labels()], dtype=np.int64)
    for place in np.flatnonzero(found < 0).tolist():
        if None not in cells.label(place):
            raise ParameterError(
                "the file holds values that these matrices cannot make",
                hint="use the receipt of this very file",
                values=", ".join(map(str, cells.label(place))),
            )
    return found


def _left_inverse(P: Real) -> Real:
    """L with ``L P = I``, by least squares; NotIdentifiableError where there is none."""
    values = np.linalg.svd(P, compute_uv=False)
    if P.shape[0] < P.shape[1] or values[-1] * SINGULAR < values[0]:
        raise NotIdentifiableError(
            "the matrices of these columns together cannot be turned around: some truths look the same when released",
            hint="estimate fewer columns together, or columns of one group",
        )
    return np.asarray(np.linalg.pinv(P))


def _moments(categories: list[Cell], G: Real, data: Released, target: str) -> Estimate:
    pi, squares = G @ data.p, G @ data.squares
    total = float(data.weights.sum())
    second = (G * data.squares) @ G.T
    randomization = (second - np.diag(squares)) / total**2
    spread = second - np.outer(squares, pi) - np.outer(pi, squares) + data.squares.sum() * np.outer(pi, pi)
    whole = randomization if target == "file" else spread / total**2 * data.size / (data.size - 1)
    variance, sampling = np.diagonal(whole).copy(), np.diagonal(whole - randomization).copy()
    return Estimate(
        categories=categories,
        pi_hat=pi,
        variance=variance,
        sampling_variance=sampling,
        randomization_variance=np.diagonal(randomization).copy(),
        covariance=whole,
        n=data.n,
        method="moments",
        fingerprint="receipt",
        flags=flags_of_moments(pi, variance, sampling, full=True, n=data.n),
    )
