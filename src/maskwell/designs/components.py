"""Linear algebra of a sparse matrix by its components: blocks that share no truth and no report.

Components of one shape are worked on together, as a stack of small dense matrices, so that a hundred thousand cells of
five states cost no more than one matrix of their entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.columns import Columns
from maskwell.designs.written_out import RANK, weighted_left_inverse
from maskwell.errors import TooLargeError

SOLVE_LIMIT = 25 * 10**6
"""Entries of all components written out, beyond which they are not solved: one of 5,000 states, say."""


class Labels(NamedTuple):
    """The number of the component of each truth, shape (k,), and of each report, shape (m,)."""

    truths: Array
    reports: Array


class Stack(NamedTuple):
    """Components of one shape: their truths (count, s), their reports (count, r), and P (count, r, s)."""

    truths: Array
    reports: Array
    P: Real


def component_labels(columns: Columns, m: int) -> Labels:
    """Truths and reports that are joined by entries that are not zero have one number, from 0 in order of truths.

    Where there are as many reports as truths, report j is that of state j and has its number, so that every component
    is square.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k = len(columns.starts) - 1
    shift = 0 if m == k else k
    nodes = k + (m if shift else 0)
    edges = (np.ones(len(columns.rows), dtype=np.int8), (columns.rows + np.int64(shift), columns.owners))
    _, found = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
    numbers = _by_first_place(np.asarray(found))
    return Labels(numbers[:k], numbers[shift : shift + m])


def _by_first_place(labels: Array) -> Array:
    """The same labels, numbered in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse]


def stacks_of(columns: Columns, values: Real, labels: Labels) -> list[Stack]:
    """The components with truths, those of one shape together."""
    width, height = sizes_of(labels)
    count = len(width)
    _check_work(width, height)
    truths, at_truth = _sorted_places(labels.truths, width)
    reports, at_report = _sorted_places(labels.reports, height)
    owners = columns.owners
    component = labels.truths[owners]
    shapes, shape = np.unique(np.stack([height, width]), axis=1, return_inverse=True)
    entries = _groups(shape.reshape(-1)[component], shapes.shape[1])
    stacks = []
    for (r, s), members, own in zip(
        shapes.T.tolist(), _groups(shape.reshape(-1), shapes.shape[1]), entries, strict=True
    ):
        place = np.zeros(count, dtype=np.int64)
        place[members] = np.arange(len(members))
        P = np.zeros((len(members), r, s))
        P[place[component[own]], at_report[columns.rows[own]], at_truth[owners[own]]] = values[own]
        stacks.append(Stack(_members(truths, width, members, s), _members(reports, height, members, r), P))
    return stacks


def sizes_of(labels: Labels) -> tuple[Array, Array]:
    """Numbers of truths and of reports of each component with truths; reports that never come may be others."""
    width = np.bincount(labels.truths)
    return width, np.bincount(labels.reports, minlength=len(width))[: len(width)]


def _check_work(width: Array, height: Array) -> None:
    if (work := int((width * height).sum())) > SOLVE_LIMIT:
        raise TooLargeError(
            f"components of up to {int(width.max()):,} states have {work:,} entries, more than {SOLVE_LIMIT:,}",
            hint="randomize within the cells of more variables, or merge rare categories",
        )


def _sorted_places(labels: Array, sizes: Array) -> tuple[Array, Array]:
    """All lines sorted by component, and for each line its place within its component."""
    order = np.argsort(labels, kind="stable")
    order = order[: int(sizes.sum())]
    place = np.zeros(len(labels), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order, place


def _groups(numbers: Array, count: int) -> list[Array]:
    """For each number 0..count-1 the positions that have it."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(numbers, minlength=count))[:-1])


def _members(order: Array, sizes: Array, members: Array, size: int) -> Array:
    first = (np.cumsum(sizes) - sizes)[members]
    return np.asarray(order[first[:, None] + np.arange(size)])


def singular_values(stack: Stack) -> Real:
    """Of each component, largest first, shape (count, min(r, s))."""
    return np.asarray(np.linalg.svd(stack.P, compute_uv=False))


def ranks(stack: Stack, values: Real) -> Array:
    """Of each component: singular values above ``max(r s eps, 1e-12)`` times its largest."""
    r, s = stack.P.shape[1:]
    return np.asarray((values > values[:, :1] * max(r * s * np.finfo(float).eps, RANK)).sum(axis=1))


def left_inverses(stack: Stack) -> Real:
    """L with L P = I for each component, shape (count, s, r): the inverse, else best at equal shares.

    Source: [NayakZhai2019, eq. (6.3)], as for a whole matrix: the sums that it is made of do not cross components.
    """
    r, s = stack.P.shape[1:]
    if r == s:
        return np.asarray(np.linalg.inv(stack.P))
    return np.stack([weighted_left_inverse(P, P.sum(axis=1)) for P in stack.P])


def by_component(x: Real, size: int, pieces: list[tuple[Array, Array, Real]]) -> Real:
    """Matrices (count, out, in) applied to the last axis of ``x`` at the places ``into`` and ``of`` of each."""
    flat = x.reshape(-1, x.shape[-1])
    out = np.zeros((len(flat), size))
    for into, of, matrices in pieces:
        found = np.matmul(flat[:, of].transpose(1, 0, 2), matrices.transpose(0, 2, 1))
        out[:, into] = found.transpose(1, 0, 2)
    return out.reshape(*x.shape[:-1], size)
