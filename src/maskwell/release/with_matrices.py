"""Estimating tables of a released file where the matrices are known: from the internal receipt, or published ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation.direct import DirectEstimate
from maskwell.estimation.moments import flags_of_moments
from maskwell.estimation.result import Estimate
from maskwell.release.composing import (
    Cell,
    TextKey,
    composed,
    joined_states,
    numbered_by_text,
    parts_of,
    text_key,
)
from maskwell.release.routes import Route

MOST_CATEGORIES = 2000
SINGULAR = 1e12
DATA_DEPENDENT = (
    "a matrix was worked out from the file itself: the randomization part of the variance is given the file"
)


def kept_with_matrices(route: Route, table: CellTable, target: str) -> Estimate | None:
    """Released shares with the part of randomization from the matrices and the original counts.

        C = (D_{QN} - Q D_N Q') / n^2,     V = (D_p - p p' + C) / (n - 1) + C

    where Q adds the rows of the product of the matrices to the cells of the table, and N are the counts of its true
    states (their squared weights with weights, over the squared sum of weights). None where a receipt does not tell
    the counts, or where columns follow others. Source: [Adeshiyan2011, eqs. (4.11), (4.12)]; with estimates derived.
    """
    first = route.groups[0].stage
    if first is None or len(table) > MOST_CATEGORIES or not {*table.columns} <= {*route.groups[0].cells}:
        return None
    masses = first.squares if route.weighted and first.squares is not None else first.counts
    P, released = composed(route.groups, first.columns, list(first.states))
    known: dict[TextKey, int] = {}
    numbered_by_text(table.labels(), known)
    codes = numbered_by_text(parts_of(released, first.columns, table.columns), known)
    Q = _summed(P, codes, len(known))
    s = np.asarray(masses, dtype=np.float64)
    own = slice(0, len(table))  # cells that no released record has come last
    moved = (np.diag(Q @ s) - (Q * s) @ Q.T)[own, own]
    return _assembled(table, moved, target)


def _summed(P: Any, codes: Array, count: int) -> Real:
    out = np.zeros((count, P.shape[1]))
    rows, columns, values = _entries(P)
    np.add.at(out, (codes[rows], columns), values)
    return out


def _entries(P: Any) -> tuple[Array, Array, Real]:
    entries = P.tocoo()
    return entries.row, entries.col, entries.data


def _assembled(table: CellTable, moved: Real, target: str) -> DirectEstimate:
    mass, total = table.mass, float(table.mass.sum())
    squares = np.asarray(table.counts if table.squares is None else table.squares, dtype=np.float64)
    p, size = mass / total, total**2 / squares.sum()
    randomization = moved / total**2
    spread = np.diag(squares) - np.outer(squares, p) - np.outer(p, squares) + squares.sum() * np.outer(p, p)
    sampling = (spread / total**2 * size + randomization) / (size - 1)
    if target == "file":
        sampling = np.zeros_like(sampling)
    whole = sampling + randomization
    variance, open_ = np.diagonal(whole).copy(), p * (1 - p)
    told = np.divide(open_, variance, out=np.full(len(p), np.inf), where=variance > 1e-18)
    return DirectEstimate(
        categories=table.labels(),
        pi_hat=p,
        variance=variance,
        sampling_variance=np.diagonal(sampling).copy(),
        randomization_variance=np.diagonal(randomization).copy(),
        covariance=whole,
        n=table.n,
        method="direct",
        fingerprint="internal",
        target=target,
        effective=told,
    )


def solved(route: Route, table: CellTable, cells: CellTable, target: str) -> Estimate:
    """Shares by solving ``P pi = lam`` over the cells that the matrices need, summed to the table.

        pi_hat = G lam,     V = (G D_lam G' - pi_hat pi_hat') / (n - 1),     randomization (G D_lam G' - D_pi) / n

    where G adds the rows of a left inverse of P. ``cells`` counts all columns of the route. Source:
    [Adeshiyan2011, section 3.3.2]; given the file the randomization part holds for any P.
    """
    if cells.weights is not None:
        raise ParameterError(
            "weights with matrices of several groups or cells", hint="leave out --weights, or estimate one column"
        )
    columns, levels = list(route.cells), dict(zip(cells.columns, cells.levels, strict=True))
    _check_columns(route, table)
    true = joined_states(route.groups, columns, levels)
    P, released = composed(route.groups, columns, true)
    shares, n = _shares(released, cells)
    known: dict[TextKey, int] = {}
    parts = parts_of(true, columns, table.columns)
    codes = numbered_by_text(parts, known)
    G = np.zeros((len(known), len(released)))
    np.add.at(G, codes, _left_inverse(P.toarray()))
    estimate = _moments([*dict(zip(codes.tolist(), parts, strict=True)).values()], G, shares, n, target)
    derived = any(group.kept for group in route.groups)
    return replace(estimate, flags=(*estimate.flags, DATA_DEPENDENT)) if derived else estimate


def _check_columns(route: Route, table: CellTable) -> None:
    follows = [name for name in table.columns if name not in route.cells]
    if follows:
        raise ParameterError(
            f"{follows[0]!r} follows from randomized columns", hint="estimate the columns that it follows from"
        )


def _shares(released: list[Cell], cells: CellTable) -> tuple[Real, int]:
    places = {text_key(cell): place for place, cell in enumerate(released)}
    found = [places.get(text_key(label), -1) for label in cells.labels()]
    if -1 in found:
        label = cells.label(found.index(-1))
        if None in label:
            name = cells.columns[label.index(None)]
            raise ParameterError(
                f"some records have no value of {name!r}, which the matrices of this table need",
                hint=f"estimate it with {name!r} as one more column, and leave such records out: --missing drop",
            )
        shown = ", ".join(map(str, label))
        raise ParameterError(
            f"the file holds {shown}, which these matrices cannot make", hint="use the receipt of this very file"
        )
    return np.bincount(found, cells.counts, minlength=len(released)) / cells.n, cells.n


def _left_inverse(P: Real) -> Real:
    """L with ``L P = I``, by least squares; NotIdentifiableError where there is none."""
    values = np.linalg.svd(P, compute_uv=False)
    if P.shape[0] < P.shape[1] or values[-1] * SINGULAR < values[0]:
        raise NotIdentifiableError(
            "the matrices of these columns together cannot be turned around: some truths look the same when released",
            hint="estimate fewer columns together, or columns of one group",
        )
    return np.asarray(np.linalg.pinv(P))


def _moments(categories: list[Cell], G: Real, shares: Real, n: int, target: str) -> Estimate:
    pi = G @ shares
    second = (G * shares) @ G.T
    randomization = (second - np.diag(pi)) / n
    whole = randomization if target == "file" else (second - np.outer(pi, pi)) / (n - 1)
    return Estimate(
        categories=categories,
        pi_hat=pi,
        variance=np.diagonal(whole).copy(),
        sampling_variance=np.diagonal(whole - randomization).copy(),
        randomization_variance=np.diagonal(randomization).copy(),
        covariance=whole,
        n=n,
        method="moments",
        fingerprint="receipt",
        flags=flags_of_moments(pi, np.diagonal(whole), np.diagonal(whole - randomization), full=True, n=n),
    )
