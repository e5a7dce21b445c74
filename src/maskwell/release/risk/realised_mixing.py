"""The risk of a released file in blocks whose records stay or are dealt out evenly, whatever the size of the blocks.

A record of cell x leaves with rate ``a_x`` and is then dealt to any of the r released values, its own among them, with
the same chance: ``p_xx = 1 - a_x + a_x / r``, ``p_ix = a_x / r``. Method 1 and the inverse-frequency method are of this
kind. With s records of a cell that did not leave and ``d = m - s`` that were dealt to it, ``L = sum (N - s) = sum d``,
the weight of all s is ``L! prod C(N, s) (1 - a)^s a^(N - s) r^-d / d!``. With ``L! = int_0^inf u^L e^-u du`` it is a
product over cells under an integral of one variable:

    Pr(correct | m), looking at x:         E_u[ E(s_x) + E(l_x d_x) / u ] / (m_x N_x)
                     looking at i != x:    E_u[ E(l_x) E(d_i) / u ] / (m_i N_x)

where l = N - s records left, inner means are over the weights ``C(N, s) (1 - a)^s a^(N - s) (u / r)^d / d!`` of a cell,
and u has the density that is proportional to e^-u times the product of their sums. Source: derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real

NODES = {6.0: 24, 20.0: 48}
"""Nodes of the Gauss-Laguerre rule for blocks of which at most so many records are expected to leave.

It is exact for powers of u below twice the nodes, and more leavers than that have no weight."""

_DROP = 32.0
"""Where the logarithm of the integrand is so far below its maximum, nothing is left."""

_ROOM = 2 * 10**6
_LAST = 1e-14


@dataclass(frozen=True, eq=False)
class Dealt:
    """Blocks of r released values each that deal records out evenly.

    Attributes
    ----------
    cells
        Shape (blocks, r): the true cell whose own key each released value is, -1 where no record has it.
    counts, leave
        Shape (blocks, r): records N and rates a of that cell, 0 where there is none.
    released
        Shape (blocks, r): records m that were released with each value.
    """

    cells: Array
    counts: Array
    leave: Real
    released: Array

    def part(self, rows: slice | Array) -> Dealt:
        """Some of the blocks."""
        return Dealt(self.cells[rows], self.counts[rows], self.leave[rows], self.released[rows])


def dealt_risks(blocks: Dealt) -> Real:
    """The chance of a correct match of every cell, looking where it is easiest; 0 where there is no cell.

    >>> block = Dealt(np.array([[0, 1]]), np.array([[1, 1]]), np.array([[0.5, 0.5]]), np.array([[1, 1]]))
    >>> dealt_risks(block).round(3).tolist()   # both records stayed, or both changed: 9 to 1
    [[0.9, 0.9]]
    """
    from scipy.special import roots_laguerre

    out = np.zeros(blocks.counts.shape)
    leavers = (blocks.counts * blocks.leave).sum(axis=1)
    more = 0.0
    for few, nodes in NODES.items():
        u, w = roots_laguerre(nodes)
        step = max(1, _ROOM // (nodes * blocks.counts.shape[1] * 20))
        for rows in _pieces(np.flatnonzero((leavers >= more) & (leavers < few)), step):
            out[rows] = _risks(blocks.part(rows), u, np.log(w))
        more = few
    for row in np.flatnonzero(leavers >= more).tolist():
        one = blocks.part(slice(row, row + 1))
        out[row] = _risks(one, *_nodes(one, float(leavers[row])))[0]
    return out


def _pieces(rows: Array, step: int) -> Iterator[Array]:
    yield from (rows[first : first + step] for first in range(0, len(rows), step))


def _nodes(block: Dealt, leavers: float) -> tuple[Real, Real]:
    """Nodes and logarithms of weights for one block: the trapezoidal rule for log u, around the largest integrand."""
    around = leavers + np.sqrt(leavers) * np.linspace(-10, 10, 81)
    around = np.unique(np.maximum(around, leavers / 100))
    value = _Means(block, around).log_sums.sum(axis=2)[0] - around
    middle = float(around[int(np.argmax(value))])
    step = 0.5 / np.sqrt(middle)
    places = np.arange(-60, 61)
    u = middle * np.exp(step * places)
    return u, np.log(u) - u + np.log(step)


def _risks(blocks: Dealt, u: Real, log_weight: Real) -> Real:
    """Of blocks, with nodes u and weights that hold e^-u."""
    means = _Means(blocks, u)
    density = log_weight + means.log_sums.sum(axis=2)
    highest = density.max(axis=1, keepdims=True)
    density = np.exp(density - np.where(np.isfinite(highest), highest, np.nan))  # nan: these counts cannot be released
    density /= density.sum(axis=1, keepdims=True)
    n, m = np.maximum(blocks.counts, 1), np.maximum(blocks.released, 1)
    own = (density[..., None] * (means.stayed + means.both / u[:, None])).sum(axis=1) / (n * m)
    left = density[..., None] * means.left / u[:, None]
    if blocks.counts.shape[1] <= _PAIRS:
        each = np.einsum("bqx,bqi->bxi", left, means.dealt) / (n[:, :, None] * m[:, None, :])
        each[:, np.arange(each.shape[1]), np.arange(each.shape[1])] = 0.0
        elsewhere = each.max(axis=2)
    else:  # the easiest look at every node by itself: not less than the best one, and all but the same
        elsewhere = (left * (means.dealt / m[:, None, :]).max(axis=2, keepdims=True)).sum(axis=1) / n
    return np.where(blocks.counts > 0, np.maximum(own, elsewhere), 0.0)


_PAIRS = 400
"""Released values of a block up to which each pair of cell and value is looked at."""


class _Means:
    """Sums and means over the records that stayed, by block, node and cell; each of shape (blocks, nodes, r)."""

    def __init__(self, blocks: Dealt, u: Real) -> None:
        terms = 16
        while not self._fill(blocks, u, terms):
            terms *= 2

    def _fill(self, blocks: Dealt, u: Real, terms: int) -> bool:
        """Whether the last of the terms no longer matters."""
        from scipy.special import gammaln, xlog1py, xlogy

        n, m, a = blocks.counts[..., None], blocks.released[..., None], blocks.leave[..., None]
        most = int(np.minimum(n, m).max(initial=0)) + 1
        place = np.arange(min(terms, most))
        left = np.maximum(n - m, 0) + place
        dealt = left - (n - m)
        stayed = n - left
        with np.errstate(invalid="ignore"):
            fixed = gammaln(n + 1) - gammaln(left + 1) - gammaln(np.maximum(stayed, 0) + 1) - gammaln(dealt + 1)
            fixed = fixed + xlogy(left, a) + xlog1py(np.maximum(stayed, 0), -a) - dealt * np.log(n.shape[1])
        fixed = np.where(stayed >= 0, fixed, -np.inf)
        logs = fixed[:, None] + dealt[:, None] * np.log(u)[:, None, None]
        highest = logs.max(axis=3, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(highest), highest, 0.0))
        sums = weights.sum(axis=3)
        self.log_sums = np.log(np.where(sums > 0, sums, 1.0)) + highest[..., 0]
        safe = np.where(sums > 0, sums, 1.0)
        self.stayed, self.left, self.dealt, self.both = (
            (weights * values[:, None]).sum(axis=3) / safe for values in (stayed, left, dealt, left * dealt)
        )
        if terms >= most:
            return True
        if not np.isfinite(self.log_sums).all():
            return False
        likely = self.log_sums.sum(axis=2) - u
        likely = likely > likely.max(axis=1, keepdims=True) - _DROP
        return bool((weights[..., -1] <= _LAST * sums)[likely].all())
