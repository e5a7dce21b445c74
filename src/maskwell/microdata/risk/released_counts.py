"""The risk of the very file that is released: somebody knows all true counts, and sees all released ones, m.

    Pr(correct | m) = (p_ix / m_i) [z^m] z_i F(z) / (sum_l p_lx z_l)  /  [z^m] F(z),    F = prod_j (sum_i p_ij z_i)^N_j

Small blocks of cells that exchange no records are multiplied out. Where a record of cell x stays, or leaves with rate
``a_x`` and is dealt to i with chance ``w_i`` wherever it came from, an integral gives it: with s that stayed,
d = m - s and l = N - s, and the weights ``C(N, s) (1 - a)^s a^(N - s) (u w)^d / d!`` of a cell,

    looking at x:  E_u[ E(s_x) + E(l_x d_x) / u ] / (m_x N_x)        at i != x:  E_u[ E(l_x) E(d_i) / u ] / (m_i N_x)

where u has the density proportional to e^-u times the product of the sums of the weights. No record of a cell of N is
found with more than ``1 / N``. Source: derived; [Adeshiyan2011, eq. (4.24)] conditions on one count alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import at_most
from maskwell.designs.sampler import on_all_processors
from maskwell.microdata.risk.arrivals import SparseArrivals, joined_blocks
from maskwell.microdata.risk.binomial_sums import row_sums

NODES = {6.0: 24, 20.0: 48}
"""Nodes of the Gauss-Laguerre rule for blocks of which at most so many records are expected to leave.

It is exact for powers of u below twice the nodes, and more leavers than that have no weight."""

_DROP = 32.0  # where the logarithm of the integrand is so far below its maximum, nothing is left
_ROOM = 4 * 10**5
_LAST = 1e-14
_PAIRS = 400  # released values of a block up to which each pair of cell and value is looked at
STATES = 10**6  # coefficients of one polynomial that are kept at once
WORK = 10**9  # products of coefficients that are formed for one file
SAFE = 0.01  # chances below this are not told apart
_LEVELS = 100  # blocks in which about the same can be found are worked on together
_EQUAL = 1e-9


def realised_risks(arrivals: SparseArrivals, factors: Real | None = None, alike: Array | None = None) -> Real | None:
    """The chance of a match in the easiest place, by cell; ``1 / N`` where no cell can be worst; None if not known.

    ``alike`` numbers the people of each cell: an intruder who attacks one of them does not know which cell theirs is.
    """
    part = np.ones(len(arrivals.counts)) if factors is None else factors
    blocks = _Blocks(arrivals, part, alike)
    if not blocks.possible:
        return None
    risk = np.where(arrivals.counts > 0, 1 / np.maximum(blocks.people, 1), 0.0)
    alone = (blocks.cells[blocks.of_cell] == 1) & (arrivals.counts > 0)  # the only cell of its block: found with 1 / N
    worst = float((part * risk)[alone].max(initial=SAFE))
    dealt = blocks.dealt()
    level = np.ceil(blocks.most * _LEVELS)
    for some in (dealt & (level == one) for one in np.unique(level[dealt])[::-1]):
        if at_most(float(blocks.most[some].max()), worst):
            break
        for group in blocks.grouped(some):
            risks = dealt_risks(group)
            if not np.isfinite(risks).all():
                return None
            cells = group.cells[group.cells >= 0]
            risk[cells] = risks[group.cells >= 0]
            worst = max(worst, float((part * risk)[cells].max()))
    work = 0.0
    others = np.flatnonzero(~dealt & (blocks.cells > 1))
    for number in others[np.argsort(-blocks.most[others], kind="stable")].tolist():
        if at_most(float(blocks.most[number]), worst):
            break
        block = blocks.block(number)
        work += block.work
        chances = None if block.states > STATES or work > WORK else block.risks()
        if chances is None:
            return None
        risk[block.cells] = chances
        worst = max(worst, float((part * risk)[block.cells].max()))
    return risk[arrivals.counts > 0]


class _Blocks:
    """Cells and released values that hang together: no record leaves its block."""

    def __init__(self, arrivals: SparseArrivals, part: Real, alike: Array | None = None) -> None:
        self._listed, self._alike = arrivals, np.arange(len(arrivals.counts)) if alike is None else alike
        # who may be looked for, by cell
        self.people = np.bincount(self._alike, arrivals.counts)[self._alike].astype(np.int64)
        cells, rows = len(arrivals.counts), arrivals.rows
        self.count, self.of_row, self.of_cell = joined_blocks(arrivals.row, rows, arrivals.cell, cells)
        there = arrivals.counts > 0
        self.cells = np.bincount(self.of_cell[there], minlength=self.count)
        self.rows = np.bincount(self.of_row, minlength=self.count)
        self.most = np.zeros(self.count)  # that can be found in each block, of the part that counts
        np.maximum.at(self.most, self.of_cell[there], part[there] / self.people[there])

    @property
    def possible(self) -> bool:
        """Whether as many records were released in each block as it has: else the file is not of this release."""
        listed = self._listed
        if listed.seen is None:
            return False
        records = row_sums(self.of_cell, listed.counts, self.count)
        return bool((records == row_sums(self.of_row, listed.seen, self.count)).all())

    def dealt(self) -> Array:
        """Which blocks deal records out, with which rates and shares: columns in proportion but for own entries."""
        listed = self._listed
        there = listed.counts > 0
        entries = np.bincount(self.of_cell[listed.cell], minlength=self.count)
        owned = np.bincount(self.of_row[np.unique(listed.own[there])], minlength=self.count)
        full = (entries == self.cells * self.rows) & (owned == self.cells) & (self.cells > 1)
        self._rates, self._shares = np.zeros(len(listed.counts)), np.zeros(listed.rows)
        shapes, of_shape = np.unique(np.stack([self.rows[full], self.cells[full]]), axis=1, return_inverse=True)
        numbers = np.flatnonzero(full)
        for shape, (r, c) in enumerate(shapes.T.tolist()):
            some = numbers[of_shape.ravel() == shape]
            full[some] = self._split(some, r, c)
        return np.asarray(full)

    def _split(self, numbers: Array, r: int, c: int) -> Array:
        """Rates and shares of blocks of r released values and c cells; whether they give the matrix back."""
        listed = self._listed
        place = np.full(self.count, -1)
        place[numbers] = np.arange(len(numbers))
        entries = np.flatnonzero(place[self.of_row[listed.row]] >= 0)  # by row, and in each row by cell
        entries = entries[np.argsort(place[self.of_row[listed.row[entries]]], kind="stable")]
        P = listed.p[entries].reshape(-1, r, c)
        rows = listed.row[entries].reshape(-1, r, c)[:, :, 0]
        cells = listed.cell[entries].reshape(-1, r, c)[:, 0, :]
        own = (rows[:, :, None] == listed.own[cells][:, None, :]).argmax(axis=1)
        shares = _dealt_shares(P, own)
        block = np.arange(len(P))[:, None]
        kept = P[block, own, np.arange(c)]
        with np.errstate(divide="ignore", invalid="ignore"):  # a share of one fits nothing
            rates = (1 - kept) / (1 - shares[block, own])
            away = shares[:, :, None] * rates[:, None, :]
            away[block, own, np.arange(c)] += 1 - rates
            fits = (np.abs(away - P) <= _EQUAL * P).all(axis=(1, 2)) & (rates <= 1 + _EQUAL).all(axis=1)
        self._rates[cells], self._shares[rows] = np.minimum(rates, 1.0), shares
        return np.asarray(fits)

    def grouped(self, chosen: Array) -> Iterator[Dealt]:
        """Chosen blocks that deal records out, those of one size together."""
        listed = self._listed
        assert listed.seen is not None
        there = np.flatnonzero(listed.counts > 0)
        cell = np.full(listed.rows, -1)
        cell[listed.own[there]] = there
        for size in np.unique(self.rows[chosen]).tolist():
            numbers = np.flatnonzero(chosen & (self.rows == size))
            block = np.full(self.count, -1)
            block[numbers] = np.arange(len(numbers))
            rows = np.flatnonzero(block[self.of_row] >= 0)
            rows = rows[np.argsort(block[self.of_row[rows]], kind="stable")]
            cells = cell[rows].reshape(-1, size)
            yield Dealt(
                cells=cells,
                counts=np.where(cells >= 0, listed.counts[cells], 0),
                people=np.where(cells >= 0, self.people[cells], 0),
                alike=np.where(cells >= 0, self._alike[cells], -1),
                leave=np.where(cells >= 0, self._rates[cells], 0.0),
                shares=self._shares[rows].reshape(-1, size),
                released=listed.seen[rows].reshape(-1, size).astype(np.int64),
            )

    def block(self, number: int) -> _Block:
        listed = self._listed
        cells = np.flatnonzero((self.of_cell == number) & (listed.counts > 0))
        rows = np.flatnonzero(self.of_row == number)
        P = np.zeros((len(rows), len(cells)))
        inside = self.of_cell[listed.cell] == number
        P[np.searchsorted(rows, listed.row[inside]), np.searchsorted(cells, listed.cell[inside])] = listed.p[inside]
        assert listed.seen is not None
        alike = np.unique(self._alike[cells], return_inverse=True)[1].reshape(-1)
        counts, released = listed.counts[cells].astype(np.int64), listed.seen[rows].astype(np.int64)
        return _Block(cells, counts, P, released, alike, counts / self.people[cells])


@dataclass(frozen=True, eq=False)
class _Block:
    cells: Array
    counts: Array
    P: Real
    released: Array
    # alike, share: which cells have the same people, by number, and the share of these that is in each cell
    alike: Array
    share: Real

    @property
    def shape(self) -> tuple[int, ...]:
        """Coefficients by the powers of all released values but the most frequent, whose power follows from the sum."""
        return tuple((self.released + 1)[self._kept].tolist())

    @property
    def _kept(self) -> Array:
        return np.delete(np.arange(len(self.released)), int(np.argmax(self.released)))

    @property
    def states(self) -> float:
        return float(np.exp(min(np.log(self.shape).sum(), 700.0)))

    @property
    def work(self) -> float:
        """Products that are formed, about."""
        return float(self.states * len(self.released) * (2.0 * self.counts.sum() + 3 * len(self.cells)))

    def risks(self) -> Real | None:
        after = np.zeros(self.shape)
        after[(0,) * after.ndim] = 1.0
        before = [after]
        for j, n in enumerate(self.counts[:-1].tolist()):
            before.append(self._times(before[-1], j, n))
        looks = np.zeros((int(self.alike.max()) + 1, len(self.released)))
        for j in range(len(self.cells) - 1, -1, -1):
            without = self._times(before[j], j, int(self.counts[j]) - 1)
            joint = self._coefficients(without, after) * self.P[:, j]  # Pr(m, the record is released as i)
            total = float(joint.sum())
            if not total > 0:
                return None
            looks[self.alike[j]] += self.share[j] * joint / np.maximum(self.released, 1) / total
            after = self._times(after, j, int(self.counts[j]))
        return np.asarray(looks.max(axis=1)[self.alike])

    def _times(self, polynomial: Real, j: int, n: int) -> Real:
        """The polynomial times that of n records of a cell, scaled so that its largest coefficient is one."""
        kept = self._kept.tolist()
        rest = self.P[int(np.argmax(self.released)), j]
        for _ in range(n):
            product = rest * polynomial
            for axis, i in enumerate(kept):
                if self.P[i, j] > 0:
                    up = [slice(None)] * polynomial.ndim
                    down = [slice(None)] * polynomial.ndim
                    up[axis], down[axis] = slice(1, None), slice(None, -1)
                    product[tuple(up)] += self.P[i, j] * polynomial[tuple(down)]
            most = product.max(initial=0.0)
            polynomial = product / most if most > 0 else product
        return polynomial

    def _coefficients(self, left: Real, right: Real) -> Real:
        """``[z^m] z_i left(z) right(z)`` for every released value i, shape (r,), up to a common factor."""
        out = np.zeros(len(self.released))
        turned = right[(slice(None, None, -1),) * right.ndim]
        for i, n in enumerate(self.released.tolist()):
            if not n:
                continue
            at: list[slice] = [slice(None)] * left.ndim
            to: list[slice] = [slice(None)] * left.ndim
            if i in self._kept:
                axis = self._kept.tolist().index(i)
                at[axis], to[axis] = slice(None, -1), slice(1, None)
            out[i] = float((left[tuple(at)] * turned[tuple(to)]).sum())
        return out


def _dealt_shares(P: Real, own: Array) -> Real:
    """Shares with which records are dealt, from matrices of shape (blocks, r, c) and the own row of each column."""
    block, r = np.arange(len(P)), P.shape[1]
    first, second = own[:, 0], own[:, 1]
    if r == 2:  # any would do: one with which both cells have the same rate
        shares = np.empty(P.shape[:2])
        shares[block, first], shares[block, second] = P[block, first, 1], P[block, second, 0]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
    shares = P[:, :, 0].copy()
    third = np.argmax((np.arange(r) != first[:, None]) & (np.arange(r) != second[:, None]), axis=1)
    shares[block, first] = shares[block, third] * P[block, first, 1] / P[block, third, 1]
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Dealt:
    """Blocks of r released values each that deal records out."""

    cells: Array  # shape (blocks, r): the true cell whose own key each released value is, -1 where no record has it
    counts: Array  # counts, leave: shape (blocks, r): records N and rates a of that cell, 0 where there is none
    leave: Real
    # people, alike: shape (blocks, r): how many people may be looked for there, and their number, -1 for none
    people: Array
    alike: Array
    shares: Real  # shape (blocks, r): the share w of those that leave which is dealt to each value
    released: Array  # shape (blocks, r): records m that were released with each value

    def summed(self, looks: Real) -> Real:
        """Chances of shape (blocks, r, looks), added up over the cells of one block that have the same people."""
        block, there = np.arange(len(looks))[:, None] * (int(self.alike.max(initial=-1)) + 2), self.alike >= 0
        numbers, place = np.unique(np.where(there, block + self.alike + 1, -1), return_inverse=True)
        if len(numbers) == int(there.sum()) + (not there.all()):  # nobody shares people
            return looks
        place = place.reshape(self.alike.shape)
        sums = np.zeros((len(numbers), looks.shape[2]))
        np.add.at(sums, place, np.where(there[:, :, None], looks, 0.0))
        return np.asarray(sums[place])

    def part(self, rows: slice | Array) -> Dealt:
        """Some of the blocks."""
        return Dealt(**{name: values[rows] for name, values in vars(self).items()})


def dealt_risks(blocks: Dealt) -> Real:
    """The chance of a correct match of every cell, using the most revealing released value; 0 without a cell."""
    out = np.zeros(blocks.counts.shape)
    leavers = (blocks.counts * blocks.leave).sum(axis=1)
    more = 0.0
    for few, nodes in NODES.items():
        step = max(1, _ROOM // (nodes * blocks.counts.shape[1] * 20))
        inside = np.flatnonzero((leavers >= more) & (leavers < few))
        parts = [inside[first : first + step] for first in range(0, len(inside), step)]

        def work(rows: Array, nodes: int = nodes) -> Real:
            return _risks(blocks.part(rows), *_laguerre(nodes))

        for rows, risks in zip(parts, on_all_processors(work, parts), strict=True):
            out[rows] = risks
        more = few
    for row in np.flatnonzero(leavers >= more).tolist():
        # the trapezoidal rule for log u, around the largest integrand
        one, expected = blocks.part(slice(row, row + 1)), float(leavers[row])
        around = np.unique(np.maximum(expected + np.sqrt(expected) * np.linspace(-10, 10, 81), expected / 100))
        value = _Means(one, around).log_sums.sum(axis=2)[0] - around
        middle = float(around[int(np.argmax(value))])
        step = 0.5 / np.sqrt(middle)
        u = middle * np.exp(step * np.arange(-60, 61))
        out[row] = _risks(one, u, np.log(u) - u + np.log(step))[0]
    return out


@cache
def _laguerre(nodes: int) -> tuple[Real, Real]:
    """Nodes and logarithms of weights of the Gauss-Laguerre rule: made once, and only read."""
    from scipy.special import roots_laguerre

    places, weights = roots_laguerre(nodes)
    return places, np.log(weights)


def _risks(blocks: Dealt, u: Real, log_weight: Real) -> Real:
    """Of blocks, with nodes u and weights that hold e^-u."""
    means = _Means(blocks, u)
    density = log_weight + means.log_sums.sum(axis=2)
    highest = density.max(axis=1, keepdims=True)
    density = np.exp(density - np.where(np.isfinite(highest), highest, np.nan))  # nan: these counts cannot be released
    density /= density.sum(axis=1, keepdims=True)
    n, m = np.maximum(blocks.people, 1), np.maximum(blocks.released, 1)
    own = (density[..., None] * (means.stayed + means.both / u[:, None])).sum(axis=1) / (n * m)
    left = density[..., None] * means.left / u[:, None]
    size = blocks.counts.shape[1]
    if size <= _PAIRS:
        each = np.einsum("bqx,bqi->bxi", left, means.dealt) / (n[:, :, None] * m[:, None, :])
        each[:, np.arange(size), np.arange(size)] = own
        return np.where(blocks.counts > 0, blocks.summed(each).max(axis=2), 0.0)
    # the easiest look at every node by itself: not less than the best one, and all but the same
    elsewhere = (left * (means.dealt / m[:, None, :]).max(axis=2, keepdims=True)).sum(axis=1) / n
    most = blocks.summed(np.maximum(own, elsewhere)[:, :, None])[:, :, 0]
    return np.where(blocks.counts > 0, np.minimum(most, 1 / n), 0.0)


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
        w = blocks.shares[..., None]
        most = int(np.minimum(n, m).max(initial=0)) + 1
        place = np.arange(min(terms, most))
        left = np.maximum(n - m, 0) + place
        dealt = left - (n - m)
        stayed = n - left
        with np.errstate(invalid="ignore"):
            fixed = gammaln(n + 1) - gammaln(left + 1) - gammaln(np.maximum(stayed, 0) + 1) - gammaln(dealt + 1)
            fixed = fixed + xlogy(left, a) + xlog1py(np.maximum(stayed, 0), -a) + dealt * np.log(w)
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
