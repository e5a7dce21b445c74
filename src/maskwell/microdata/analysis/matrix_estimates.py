"""Estimating tables of a released file where the matrices are known: ``P = P_m ... P_1``, over the cells that occur.

A cell whose state a group does not know stays as it is. Labels count by their texts: a file may have been
saved with numbers for texts. Source: [Adeshiyan2011, Theorem 4.2 and Remark 4.1].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.core.labels import texts
from maskwell.core.verdicts import above
from maskwell.errors import NotIdentifiableError, ParameterError, TooLargeError
from maskwell.estimation.direct_estimate import BOUNDED, WITH_WEIGHTS, DirectEstimate, Released, estimate_moved
from maskwell.estimation.outside_estimates import flags_of_moments
from maskwell.estimation.share_estimate import Estimate, diagonal
from maskwell.microdata.analysis.bias_bounds import Distortion
from maskwell.microdata.analysis.table_routes import Route
from maskwell.microdata.folder.receipt import Group
from maskwell.microdata.stages.stage import RandomizedColumns, TableFlow, is_kept

MOST_TRANSITIONS = 2 * 10**6
MOST_CELLS = 3000
MOST_CATEGORIES = 2000
SINGULAR = 1e12
TURNS_AROUND = 1e4  # condition of a matrix up to which squared weights of the true categories are computed
ROUNDING = 1e-12
DATA_DEPENDENT = (
    "a matrix was computed from the file itself: the randomization part of the variance is conditional on the file"
)
Cell = tuple[Hashable, ...]
TextKey = tuple[str | None, ...]


def kept_with_matrices(route: Route, table: CellTable, cells: CellTable | None, target: str) -> DirectEstimate | None:
    """Released shares with the part of randomization from the matrices.

        C = (D_{QN} - Q D_N Q') / n^2,     V = (D_p - p p' + C) / (n - 1) + C

    where Q adds the rows of the product of the matrices to the cells of the table, and N are the counts of its true
    states (their squared weights with weights, over the squared sum of weights). A receipt that does not hold N, such
    as a public one with a matrix in it, leaves an unbiased estimate: the released counts of these states, which are
    those of ``cells``. None where that is not possible, or where columns follow others.
    Source: [Adeshiyan2011, eqs. (4.11), (4.12)]; with estimates derived.
    """
    first = route.groups[0]
    if len(table) > MOST_CATEGORIES or not {*table.columns} <= {*first.columns}:
        return None
    if first.stage is None:
        masses = _estimated_masses(route, cells)
    else:
        squares = first.stage.squares if route.weighted else None
        masses = np.asarray(first.stage.counts if squares is None else squares, dtype=np.float64)
    if masses is None:
        return None
    known: dict[TextKey, int] = {}
    numbered_by_text(table.labels(), known)
    P, released = composed(route.groups, first.columns, list(first.states))
    codes = numbered_by_text(parts_of(released, first.columns, table.columns), known)
    Q = _summed(P, codes, len(known))
    arriving = Q @ masses
    if first.stage is None and cells is not None:  # sums over the randomized records of each cell of a table
        some = _places(first.outputs, cells) >= 0
        at = numbered_by_text(parts_of(cells.labels(), cells.columns, table.columns), known)
        arriving = np.bincount(at[some], _second(cells)[some], minlength=len(known)).astype(np.float64)
    own = slice(0, len(table))  # cells that no released record has come last
    moved = _moved(Q, masses, arriving)[own, own] / float(table.mass.sum()) ** 2
    data = Released.of(table.counts, table.weights, table.squares)
    return estimate_moved(data, moved, categories=table.labels(), target=target)


def _moved(Q: Real, masses: Real, arriving: Real) -> Real:
    """``D_a - Q D_s Q'``, a what arrives; what is zero but for rounding is zero: records that never move."""
    moved = np.diag(arriving) - (Q * masses) @ Q.T
    noise = ROUNDING * np.sqrt(np.abs(np.outer(arriving, arriving)))
    return np.where(np.abs(moved) <= noise, 0.0, moved)


def _estimated_masses(route: Route, cells: CellTable | None) -> Real | None:
    """Records, or squared weights, of the true states as far as the file determines them; None where it does not."""
    first = route.groups[0]
    if cells is None or not is_kept(route.groups, first.columns):
        return None
    if cells.squares is None:
        return _of_states(first.states, cells)
    design = first.design
    if len(route.groups) > 1 or design is None or not design.identifiable or above(design.condition(), TURNS_AROUND):
        return None
    return np.asarray(design.backward(_of_states(first.outputs, cells)))


def _of_states(states: Sequence[Cell], cells: CellTable) -> Real:
    """Sums over the records of each state; records without a value were not randomized and are in none."""
    places = _places(states, cells)
    return np.bincount(places[places >= 0], _second(cells)[places >= 0], minlength=len(states)).astype(np.float64)


def _second(cells: CellTable) -> Real:
    return np.asarray(cells.counts if cells.squares is None else cells.squares, dtype=np.float64)


def _summed(P: Any, codes: Array, count: int) -> Real:
    out = np.zeros((count, P.shape[1]))
    entries = P.tocoo()
    np.add.at(out, (codes[entries.row], entries.col), entries.data)
    return out


def solved(route: Route, table: CellTable, cells: CellTable, target: str, rest: Distortion | None = None) -> Estimate:
    """Shares by solving ``P pi = lam`` over the cells that the matrices need, summed to the table.

        pi_hat = G lam,     V = (G D_lam G' - pi_hat pi_hat') / (n - 1),     randomization (G D_lam G' - D_pi) / n

    where G adds the rows of a left inverse of P. ``cells`` counts all columns of the route. With weights, lam are
    shares of their sum W, and with s the sums of squared weights, S in all,

        V = (G D_s G' - (G s) pi_hat' - pi_hat (G s)' + S pi_hat pi_hat') / W^2  n_w / (n_w - 1),     n_w = W^2 / S

    and the part of randomization is (G D_s G' - D_{Gs}) / W^2. Where further groups, whose matrices are withheld,
    changed at most a share d of the records, a variance grows by at most ``d (max_i g_ci - min_i g_ci)^2 / n``, and the
    estimates have the bias of these groups. Source: [Adeshiyan2011, section 3.3.2, Theorem 3.2];
    given the file the randomization part holds for any P.
    """
    columns, levels = list(route.cells), dict(zip(cells.columns, cells.levels, strict=True))
    if follows := [name for name in table.columns if name not in route.cells]:
        raise ParameterError("follows-from-randomized-columns", follow=follows[0])
    true = joined_states(route.groups, columns, levels)
    P, released = composed(route.groups, columns, true)
    data = _in_states(released, cells)
    known: dict[TextKey, int] = {}
    parts = parts_of(true, columns, table.columns)
    codes = numbered_by_text(parts, known)
    G = np.zeros((len(known), len(released)))
    whole = P.toarray()
    values = np.linalg.svd(whole, compute_uv=False)
    if whole.shape[0] < whole.shape[1] or values[-1] * SINGULAR < values[0]:
        raise NotIdentifiableError("the-matrices-of-these-columns-together")
    np.add.at(G, codes, np.linalg.pinv(whole))  # a left inverse, by least squares
    estimate = _moments([*dict(zip(codes.tolist(), parts, strict=True)).values()], G, data, target, rest)
    derived = (DATA_DEPENDENT,) if any(group.invariant for group in route.groups) else ()
    weights = (WITH_WEIGHTS,) if data.weighted and target == "population" else ()
    bounded = () if rest is None else (BOUNDED,)
    return replace(estimate, flags=(*estimate.flags, *derived, *weights, *bounded))


def _in_states(released: Sequence[Cell], cells: CellTable) -> Released:
    places = _places(released, cells)
    if -1 in places:
        label = cells.label(places.tolist().index(-1))
        name = cells.columns[label.index(None)]
        raise ParameterError("some-records-have-no-value", name=name)
    counts, *sums = (
        None if values is None else np.bincount(places, values, minlength=len(released))
        for values in (cells.counts, cells.weights, cells.squares)
    )
    return Released.of(counts, *sums)


def _places(states: Sequence[Cell], cells: CellTable) -> Array:
    """The place of each cell among the states; -1 for those that no matrix knows because a value is missing."""
    known = {text_key(state): place for place, state in enumerate(states)}
    places = np.array([known.get(text_key(label), -1) for label in cells.labels()], dtype=np.int64)
    for place in np.flatnonzero(places < 0).tolist():
        if None not in cells.label(place):
            raise ParameterError("the-file-holds-values-that-these", values=", ".join(map(str, cells.label(place))))
    return places


def _moments(categories: list[Cell], G: Real, data: Released, target: str, rest: Distortion | None) -> Estimate:
    pi, squares = G @ data.p, G @ data.squares
    total = float(data.weights.sum())
    second = (G * data.squares) @ G.T
    more = 0.0 if rest is None else np.diag(rest.changed * np.ptp(G, axis=1) ** 2 / data.size)
    randomization = (second - np.diag(squares)) / total**2 + more
    spread = second - np.outer(squares, pi) - np.outer(pi, squares) + data.squares.sum() * np.outer(pi, pi)
    whole = randomization if target == "file" else spread / total**2 * data.size / (data.size - 1) + more
    variance, parts = np.diagonal(whole).copy(), (diagonal(whole - randomization), diagonal(randomization))
    return Estimate(
        categories=categories,
        pi_hat=pi,
        variance=variance,
        variance_parts=parts,
        covariance=whole,
        n=data.n,
        method="moments",
        fingerprint="receipt",
        flags=flags_of_moments(pi, variance, parts[0], full=True, n=data.n),
        bias=None if rest is None else np.full(len(pi), rest.bias),
    )


def composed(groups: Sequence[Group], columns: Sequence[str], cells: Sequence[Cell]) -> tuple[Any, Sequence[Cell]]:
    """The matrix that takes true cells, of these columns, to released ones, and the texts of the released cells."""
    from scipy.sparse import csc_array, identity

    P = identity(len(cells), format="csc")
    flow = TableFlow.from_labels(columns, [text_key(cell) for cell in cells])

    def check(group: RandomizedColumns, state: Array) -> None:
        if group.transition_count(state) + int((state < 0).sum()) > MOST_TRANSITIONS:
            raise TooLargeError("the-matrices-of-these-columns", most_transitions=MOST_TRANSITIONS)

    for group in groups:
        states, outputs = ([text_key(label) for label in labels] for labels in (group.states, group.outputs))
        by_text = replace(group, states=states, outputs=outputs)
        after = flow.one_by_one().through(by_text, columns, check)
        places, of_entry = distinct_rows([after.codes[name] for name in columns], len(after.mass))
        P = csc_array((after.mass, (of_entry, after.origin)), shape=(len(places), len(flow.mass))) @ P
        codes = {name: places[:, i] for i, name in enumerate(columns)}
        flow = TableFlow(codes, after.labels, np.ones(len(places)))
    return P, flow.cells(columns)


def text_key(labels: Sequence[Hashable]) -> TextKey:
    """Labels by their texts: a file may have been saved with numbers for texts."""
    return tuple(None if label is None else texts(label)[-1] for label in labels)


def joined_states(
    groups: Sequence[Group], columns: Sequence[str], levels: Mapping[str, Sequence[Hashable]]
) -> list[Cell]:
    """All cells whose part in each group is one of its states; columns of no group have all their levels."""
    cells: list[dict[str, Hashable]] = [{}]
    for group in groups:
        cells = [
            {**cell, **dict(zip(group.columns, state, strict=True))}
            for cell in cells
            for state in group.states
            if all(cell.get(name, label) == label for name, label in zip(group.columns, state, strict=True))
        ]
        _check_few(len(cells))
    for name in columns:
        if not any(name in group.columns for group in groups):
            _check_few(len(cells) * len(levels[name]))
            cells = [{**cell, name: label} for cell in cells for label in levels[name]]
    return [tuple(cell[name] for name in columns) for cell in cells]


def _check_few(count: int) -> None:
    if count > MOST_CELLS:
        raise TooLargeError("a-table-of-more-than-cells", most_cells=MOST_CELLS)


def parts_of(cells: Sequence[Cell], columns: Sequence[str], wanted: Sequence[str]) -> list[Cell]:
    """The labels of each cell in the wanted columns."""
    places = [columns.index(name) for name in wanted]
    return [tuple(cell[i] for i in places) for cell in cells]


def numbered_by_text(parts: Sequence[Cell], known: dict[TextKey, int]) -> Array:
    """A number for each cell, the same for those with the same texts; new ones are added to ``known``."""
    return np.array([known.setdefault(text_key(part), len(known)) for part in parts], dtype=np.int64)
