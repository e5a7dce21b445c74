"""The linear program of an invariant matrix in exact numbers, with flows as integers on a fine grid.

    sum_i F_ij = v_j,    sum_j F_ij = v_i,    least_ij <= F_ij <= most_ij

Three bounds tie flows together: the guess, ``sum_i max_j F_ij <= gamma n``; the parity, ``max_j F_ij / v_j <= eta
min_j F_ij / v_j``; and the share that changes. All numbers are integers over one ``scale``, a multiple of the
denominators of the bounds where that is not too large: then what is met with equality is met exactly. Source: after
[Adeshiyan2011, sections 4.5, 4.7].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, pairs_of, shown_short
from maskwell.core.exact import common_denominator
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError
from maskwell.microdata.matrices.bounds import FROM_BELOW, Bounds
from maskwell.microdata.matrices.kept_cells import SHARE_BITS, KeptCells

GRID_BITS = 60  # The flows of a program sum to at least two to this power, in units of the grid
PARITY_BITS = 110  # The same where a parity is asked for, whose smallest flows need digits of their own
# Denominators of bounds beyond this are not made part of the grid; the bounds are then rounded towards privacy.
DENOMINATOR_BITS = 160


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs:
    """The pairs that may have a flow, sorted by released state, and what moving one record costs; all of shape (N,)."""

    released: Array
    true: Array
    cost: Real

    def __len__(self) -> int:
        return len(self.true)

    @property
    def own(self) -> Array:
        """Which pairs represent a record that stays, shape (N,)."""
        return np.asarray(self.released == self.true)


def allowed_pairs(
    places: Sequence[Array], k: int, forbidden: Iterable[tuple[int, int]], band: int | None, costs: Real | None
) -> list[Pairs]:
    """For each block, given by the places of its states, the pairs that may have a flow; sorted by released state."""
    never_pairs = pairs_of(forbidden, "forbidden")
    for pair in never_pairs:
        if not all(_is_whole(x) and 0 <= x < k for x in pair):
            raise ParameterError("the-forbidden-pair-names-a-state", k_sub=k - 1, pair=pair)
    never = np.array([i * k + j for i, j in never_pairs], dtype=np.int64)
    if band is not None and not (_is_whole(band) and band >= 0):
        raise ParameterError("band-is-no-number-of-places", band=shown_short(band))
    return [_pairs(own, k, never, band, costs) for own in places]


def cost_matrix(cost: Any, k: int) -> Real | None:
    """Costs of releasing i for j, shape (k, k); None where the records that stay are counted instead."""
    if cost is None:
        return None
    if isinstance(cost, str):
        if cost != "ordinal":
            raise ParameterError("there-is-no-cost", cost=shorten(cost))
        place = np.arange(k)
        return np.asarray(np.abs(np.subtract.outer(place, place)), dtype=np.float64)
    try:
        matrix = as_floats(cost, "cost", finite=False)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (k, k) or not np.isfinite(matrix).all():
        raise ParameterError("the-costs-are-no-by-matrix", k=k, cost=cost)
    return matrix


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _pairs(places: Array, k: int, never: Array, band: int | None, costs: Real | None) -> Pairs:
    i, j = _near(places, band)
    kept = ~np.isin(places[i] * k + places[j], never)
    i, j = i[kept], j[kept]
    cost = -(i == j).astype(np.float64) if costs is None else costs[places[i], places[j]]
    return Pairs(released=i, true=j, cost=cost)


def _near(places: Array, band: int | None) -> tuple[Array, Array]:
    """All pairs of states of a block, or those at most ``band`` places apart."""
    size = len(places)
    if band is None:
        i, j = np.divmod(np.arange(size * size), size)
        return i, j
    band = min(band, int(places.max(initial=0)) + 1)
    first, last = np.searchsorted(places, places - band), np.searchsorted(places, places + band, side="right")
    i = np.repeat(np.arange(size), last - first)
    starts = np.cumsum(last - first) - (last - first)
    return i, np.arange(len(i)) - starts[i] + first[i]


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """One program over l states that all occur."""

    v: Array  # shape (l,): counts as Python's integers, all positive
    pairs: Pairs  # the N pairs that are allowed
    scale: int  # A flow of 1 is this many units of the grid
    least: Array  # least, most: shape (N,): bounds of the flows, in units
    most: Array
    guess: int | None = None  # bound of ``sum_i max_j F_ij`` in units, or None
    parity: Fraction | None = None  # bound of the ratios, or None
    # least and largest ``sum_i F_ii`` in units, each None where nothing is asked
    kept: tuple[int | None, int | None] = (None, None)
    # Rows ``sum_e c_e F_e <= b`` of integer coefficients, shape (N,), with the flows in units
    ties: Sequence[tuple[Array, int]] = ()

    @property
    def total(self) -> int:
        """All flows together, in units."""
        return int(self.v.sum()) * self.scale

    @property
    def sums(self) -> Array:
        """What each row and each column sums to, in units, shape (l,)."""
        return np.asarray(self.v * self.scale)

    def keeping(self, tables: Sequence[KeptCells]) -> Program:
        """The same with these tables kept within their tolerances."""
        i, j = self.pairs.released, self.pairs.true
        limits = [(one.rows(i, j), int(one.within * self.total * (1 << SHARE_BITS))) for one in tables]
        return replace(self, ties=[(sign * row, limit) for rows, limit in limits for row in rows for sign in (1, -1)])


def program_of(v: Iterable[int], pairs: Pairs, bounds: Bounds) -> Program:
    """The program for counts v, all positive, under the bounds; caps are by the place among these counts."""
    counts = np.array([int(x) for x in v], dtype=object)
    n = int(counts.sum())
    factor = _factor(bounds)
    scale = _scale(counts, bounds, factor)
    least, most = _single_flows(counts, pairs, bounds, factor, scale)
    units = scale * n
    most_changed, least_changed = bounds.changed_at_most, bounds.changed_at_least
    kept = (
        None if most_changed is None else math.ceil((1 - most_changed) * units),
        None if least_changed is None else math.floor((1 - least_changed) * units),
    )
    guess = None if bounds.guess is None else math.floor(bounds.guess * units)
    untied = Program(v=counts, pairs=pairs, scale=scale, least=least, most=most, kept=kept)
    parity = bounds.parity
    if guess is not None and sum(row_largest(untied, untied.most)) <= guess:
        guess = None  # the bounds of single flows see to it already
    if parity is not None and parity_holds(untied, untied.least, untied.most, parity):
        parity = None
    return replace(untied, guess=guess, parity=parity)


def _factor(bounds: Bounds) -> Fraction | None:
    """A parity of eta keeps posteriors within a factor of eta: averages of a row lie between its ends."""
    factors = [x for x in (bounds.factor, bounds.parity) if x is not None]
    return min(factors, default=None)


def _scale(v: Array, bounds: Bounds, factor: Fraction | None) -> int:
    n = int(v.sum())
    shares = [
        *bounds.asked().values(),
        *bounds.caps.values(),
        *bounds.exchanges.moves.values(),
        *(bounds.own(i) for i in range(len(v))),
    ]
    common = common_denominator(shares)
    for spread in set(bounds.exchanges.spread.values()):
        common = math.lcm(common, n * spread.denominator)
    if factor is not None:
        common = math.lcm(common, n * factor.numerator * factor.denominator)
    if bounds.guess is not None and bounds.guess * n == max(v):
        common = math.lcm(common, *range(1, len(v) + 1))  # flows of the matrix with the smallest guess
    if common.bit_length() > DENOMINATOR_BITS:
        common = 1
    bits = (PARITY_BITS if bounds.parity is not None else GRID_BITS) - (common * n).bit_length()
    return common << max(0, bits)


def _single_flows(v: Array, pairs: Pairs, bounds: Bounds, factor: Fraction | None, scale: int) -> tuple[Array, Array]:
    i, j, stays = pairs.released, pairs.true, pairs.own
    least = np.array([0] * len(pairs), dtype=object)
    most = np.minimum(v[i], v[j]) * scale
    if bounds.posterior is not None:
        most = np.minimum(most, _floors((bounds.posterior * int(x) for x in v), scale)[i])
    caps = _floors((bounds.own(place) * int(x) for place, x in enumerate(v)), scale)
    most[stays] = np.minimum(most[stays], caps[i[stays]])
    if bounds.exchanges.moves:
        number = {pair: place for place, pair in enumerate(zip(i.tolist(), j.tolist(), strict=True))}
        for pair, cap in bounds.exchanges.moves.items():
            if pair in number:
                most[number[pair]] = min(most[number[pair]], math.floor(cap * int(v[pair[1]]) * scale))
    if bounds.least_kept is not None:
        least[stays] = -_floors((-bounds.least_kept * int(x) for x in v), scale)[i[stays]]
    n = int(v.sum())
    for spread in set(bounds.exchanges.spread.values()):
        states = [place for place, value in bounds.exchanges.spread.items() if value == spread]
        near = (np.isin(i, states) | np.isin(j, states)) & ~stays
        even = v[i[near]] * v[j[near]] * scale
        most[near] = np.minimum(most[near], even * spread.numerator // (n * spread.denominator))
    if factor is not None:
        even = v[i] * v[j] * scale
        most = np.minimum(most, even * factor.numerator // (n * factor.denominator))
        least = np.maximum(least, -(-even * factor.denominator // (n * factor.numerator)))
    return least, most


def _floors(values: Iterator[Fraction], scale: int) -> Array:
    return np.array([math.floor(value * scale) for value in values], dtype=object)


def row_largest(program: Program, flows: Array) -> list[int]:
    """The largest flow into each released state, in units."""
    return [int(x) for x in np.maximum.reduceat(flows, row_starts(program))]


def row_starts(program: Program) -> Array:
    """Where the pairs of each released state start."""
    return np.searchsorted(program.pairs.released, np.arange(len(program.v)))


def parity_holds(program: Program, low: Array, high: Array, eta: Fraction) -> bool:
    """Whether ``max_j high_ij / v_j <= eta min_j low_ij / v_j`` for every i; exact."""
    counts = program.v[program.pairs.true]
    starts = row_starts(program).tolist()
    rows = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(counts)], strict=True)]
    return all(
        max(map(Fraction, high[row].tolist(), counts[row].tolist()))
        <= eta * min(map(Fraction, low[row].tolist(), counts[row].tolist()))
        for row in rows
    )


def attained(program: Program, units: Array) -> dict[str, float]:
    """The value of every bound that the flows of one block reach; infinite where some value never becomes another."""
    i, j = program.pairs.released, program.pairs.true
    v = program.v.astype(np.float64)
    flow = np.asarray(units / program.scale, dtype=np.float64)
    posterior, p, n = flow / v[i], flow / v[j], v.sum()
    stay = np.zeros(len(v))
    stay[i[program.pairs.own]] = posterior[program.pairs.own]
    own = float(stay.max())
    every = len(p) == len(v) ** 2 and bool(p.all())
    ratio = p * n / v[i]
    return {
        "posterior": float(posterior.max()),
        "posterior_own": own,
        "odds": own / (1 - own) if own < 1 else math.inf,
        "guess": float(_by_row(np.maximum, flow, i).sum() / n),
        "factor": float(np.maximum(ratio, 1 / ratio).max()) if every else math.inf,
        "parity": float((_by_row(np.maximum, p, i) / _by_row(np.minimum, p, i)).max()) if every else math.inf,
        "least_kept": float(stay.min()),
        "changed": float(1 - (stay * v).sum() / n),
    }


def worst_of(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    """The worst value of each bound over several blocks; nothing without blocks."""
    if not parts:
        return {}
    return {name: (min if name in FROM_BELOW else max)(part[name] for part in parts) for name in parts[0]}


def _by_row(ufunc: np.ufunc, values: Array, i: Array) -> Array:
    return np.asarray(ufunc.reduceat(values, np.flatnonzero(np.diff(i, prepend=-1))))
