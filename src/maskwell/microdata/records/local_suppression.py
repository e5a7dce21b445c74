"""Local suppression: values of key variables are left out until each record shares its released keys with k - 1 others.

All records with the same keys lose the same values. A missing value counts as a category of its own: someone who knows
a person's true keys then finds at least k records that may be the person's. Where a missing value matched any other, as
in sdcMicro with alpha = 1, fewer values go, but the only record without a value is still that of the person whose value
is unique (derived); a plan may ask for that, too. Codes that a labelled file declares missing are values: who opens the
file sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.extras import require
from maskwell.core.groups import KeyFinder, joint_keys, possible_cells
from maskwell.engines.cell_counts import coders_of
from maskwell.engines.column_codes import MISSING, codes_of
from maskwell.engines.row_sources import Source, find_columns
from maskwell.errors import PlanError, TooLargeError

MOST_KEYS = 12  # key variables whose sets are tried
MOST_COMPARED = 2 * 10**10  # values of cells that are compared in one round, where missing values match any other
MOST_CHOICES = 20_000  # of cells and sets of keys, among which an integer program chooses


@dataclass(frozen=True, kw_only=True)
class LocalSuppression:
    """What a plan asks for: see :func:`suppressed`."""

    k: int  # records that have the same released keys, at least
    keys: tuple[str, ...]
    # Keys in falling importance: the first is suppressed last. Others follow, those with fewer categories first
    importance: tuple[str, ...] = ()
    exact: bool = False  # Whether an integer program finds the fewest values
    any_value: bool = False  # Whether a missing value matches any other, as in sdcMicro by default


@dataclass(frozen=True, eq=False)
class Suppression:
    """Which keys the records of each cell lose."""

    table: CellTable  # Counts over the keys, before
    lost: Array  # Whether the cell loses the value of the key, shape (cells, keys)

    @property
    def by_key(self) -> dict[str, int]:
        """The number of values that are left out, by key."""
        counts = self.table.counts @ (self.lost & (_codes(self.table) != MISSING))
        return dict(zip(self.table.columns, counts.tolist(), strict=True))

    @property
    def records(self) -> int:
        """How many records lose some value."""
        return int(self.table.counts[(self.lost & (_codes(self.table) != MISSING)).any(axis=1)].sum())

    def __call__(self, source: Source, path: str) -> SuppressedSource:
        """The rows of a source without these values."""
        return SuppressedSource(source, path, self)


def suppressed(table: CellTable, asked: LocalSuppression) -> Suppression:
    """Which values of the keys to leave out so that all released keys are those of at least k records.

    Sets of keys are tried in rising size, and among equally large ones the least important first. Records that are
    still in small cells lose the values of a set as soon as k of them, or a cell that is large enough, agree on the
    other keys. What is then left joins the group of records for which the fewest further values are lost. The order of
    keys is that of [Templ2026, localSuppression]; the order of the sets is derived.
    """
    if len(table.columns) > MOST_KEYS:
        raise PlanError("suppress-has-too-many-keys", count=len(table.columns), most=MOST_KEYS)
    if table.n < asked.k:
        raise PlanError("suppress-has-fewer-records-than-k", n=table.n, k=asked.k)
    codes, rank = _codes(table), _ranks(table, asked.importance)
    if asked.any_value:
        return Suppression(table, _matched(codes, table.counts, asked.k, rank))
    if asked.exact:
        return Suppression(table, _fewest(codes, table.counts, asked.k, rank))
    lost = np.zeros(codes.shape, dtype=bool)
    sizes = [size + 1 for size in table.sizes]
    left = np.flatnonzero(table.counts < asked.k)
    settled = _keys(codes[table.counts >= asked.k], sizes)
    for keys in _sets(rank):
        if not len(left):
            break
        pattern = codes[left]
        pattern[:, keys] = MISSING
        known, group = np.unique(_keys(pattern, sizes), return_inverse=True)
        enough = (np.bincount(group.reshape(-1), table.counts[left]) >= asked.k) | np.isin(known, settled)
        chosen = enough[group.reshape(-1)]
        lost[left[chosen][:, None], keys] = True
        settled, left = np.union1d(settled, known[enough]), left[~chosen]
    for cell in left.tolist():
        _join(cell, codes, lost, table.counts, rank, asked.k)
    return Suppression(table, lost)


def _codes(table: CellTable) -> Array:
    """The labels of cells, with one code for all that is missing."""
    missing = [bool(levels) and levels[-1] is None for levels in table.levels]
    last = np.array([len(levels) - 1 if none else -2 for levels, none in zip(table.levels, missing, strict=True)])
    return np.where(table.codes == last, MISSING, table.codes)


def _keys(codes: Array, sizes: Sequence[int]) -> Array:
    return joint_keys([*codes.T], sizes, len(codes), first=MISSING)


def _ranks(table: CellTable, importance: Sequence[str]) -> Array:
    """The place of each key, from 0 for the least important: named last, or with the most categories."""
    size = dict(zip(table.columns, table.sizes, strict=True))
    unnamed = sorted((name for name in table.columns if name not in importance), key=lambda name: size[name])
    falling = [*importance, *unnamed]
    return np.array([len(falling) - 1 - falling.index(name) for name in table.columns])


def _sets(rank: Array) -> Iterator[list[int]]:
    """All sets of keys but the empty one, small ones first, and among equally large ones the least important."""
    places = np.argsort(rank).tolist()
    for size in range(1, len(places) + 1):
        yield from map(list, combinations(places, size))


def _join(cell: int, codes: Array, lost: Array, counts: Array, rank: Array, k: int) -> None:
    """Let the records of a cell and of the group that costs least lose the values in which they differ."""
    now = np.where(lost, MISSING, codes)
    groups, group = np.unique(np.delete(now, cell, axis=0), axis=0, return_inverse=True)
    records = np.bincount(group.reshape(-1), np.delete(counts, cell))
    apart = groups != codes[cell]
    further = (apart & (groups != MISSING)) * records[:, None] + (apart & (codes[cell] != MISSING)) * counts[cell]
    best = np.lexsort((further @ rank, further.sum(axis=1), records < k))[0]  # records that are left are too few
    lost[cell] |= apart[best]
    lost[(now == groups[best]).all(axis=1)] |= apart[best]


def _matched(codes: Array, counts: Array, k: int, rank: Array) -> Array:
    """What to leave out where missing values match any other: value by value, as sdcMicro does with alpha = 1.

    In turn each cell that fewer than k records match loses the least important value in which one of the nearest cells
    differs, of those that differ at all; until k records match each. A cell counts with k records at most. Source:
    [Templ2026, localSuppression]; there the records of a cell come one by one, which is the same for k = 2.
    """
    known, lost = codes != MISSING, np.zeros(codes.shape, dtype=bool)
    records, falling = np.minimum(counts, k), np.argsort(rank).tolist()
    if len(codes) * int((counts < k).sum()) * codes.shape[1] > MOST_COMPARED:
        raise TooLargeError("suppress-has-too-many-cells-for-any", cells=len(codes))

    def apart(cell: int) -> Array:
        return np.asarray((codes != codes[cell]) & known & known[cell])

    left = np.flatnonzero(counts < k)
    while len(left):
        matching = np.array([records[~apart(cell).any(axis=1)].sum() for cell in left.tolist()])
        left = left[np.argsort(matching, kind="stable")][: int((matching < k).sum())]
        for cell in left.tolist():
            differs = apart(cell)
            number = differs.sum(axis=1)
            if not number.any():  # others lost values since, and all match
                continue
            nearest = differs[number == number[number > 0].min()]
            place = next(key for key in falling if nearest[:, key].any())
            lost[cell, place], known[cell, place] = True, False
    return lost


def _fewest(codes: Array, counts: Array, k: int, rank: Array) -> Array:
    """The fewest values, by an integer program: each cell chooses a set of keys, each pattern has 0 or k records.

    min sum_cS n_c |S| x_cS,   sum_S x_cS = 1,   sum_{cS -> p} n_c x_cS >= k y_p,   x_cS <= y_p,   all 0 or 1 (derived)
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    sets = [[], *_sets(rank)]
    cells, choices = len(codes), len(codes) * len(sets)
    if choices > MOST_CHOICES:
        raise TooLargeError("suppress-is-too-large-for-exact", choices=choices, most=MOST_CHOICES)
    chosen = np.zeros((len(sets), codes.shape[1]), dtype=bool)
    for place, keys in enumerate(sets):
        chosen[place, keys] = True
    takes = np.tile(chosen, (cells, 1))  # choice c * len(sets) + S
    cell = np.repeat(np.arange(cells), len(sets))
    own = codes[cell]
    patterns, pattern = np.unique(np.where(takes, MISSING, own), axis=0, return_inverse=True)
    pattern, every = pattern.reshape(-1), np.arange(choices)
    lost = takes & (own != MISSING)
    scale = 1 + codes.shape[1] * int(rank.sum() + 1)  # ties go to the least important keys
    cost = counts[cell] * (lost.sum(axis=1) + (lost @ rank) / (scale * counts.sum()))
    width = choices + len(patterns)
    one = coo_array((np.ones(choices), (cell, every)), shape=(cells, width))
    full = coo_array(
        (
            np.concatenate([counts[cell], np.full(len(patterns), -k)]).astype(float),
            (np.concatenate([pattern, np.arange(len(patterns))]), np.arange(width)),
        ),
        shape=(len(patterns), width),
    )
    used = coo_array(
        (np.repeat([1.0, -1.0], choices), (np.tile(every, 2), np.concatenate([every, choices + pattern]))),
        shape=(choices, width),
    )
    solved = milp(
        np.concatenate([cost, np.zeros(len(patterns))]),
        integrality=np.ones(width),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(one, 1, 1),
            LinearConstraint(vstack([full]), 0, np.inf),
            LinearConstraint(used, -np.inf, 0),
        ],
        options={"mip_rel_gap": 0},
    )
    if solved.x is None:
        raise PlanError("suppress-was-not-solved")
    best = solved.x[:choices].reshape(cells, len(sets)).argmax(axis=1)
    found: Array = chosen[best]
    _, group = np.unique(np.where(found, MISSING, codes), axis=0, return_inverse=True)
    if np.bincount(group.reshape(-1), counts).min() < k:  # whatever the solver says, cells are counted in whole numbers
        raise PlanError("suppress-was-not-solved")
    return found


class SuppressedSource:
    """Rows of a source in which some values of the keys are missing."""

    def __init__(self, source: Source, path: str, suppression: Suppression) -> None:
        table = suppression.table
        self._source, self._names = source, table.columns
        self.schema, self.style = source.schema, source.style
        self.done, self.close = source.done, source.close
        self._places = find_columns(source.schema, table.columns, path)
        levels = dict(zip(table.columns, table.levels, strict=True))
        self._coders = coders_of(source, table.columns, declared=False, levels=levels)
        self._sizes = [len(coder.labels) + 1 for coder in self._coders.values()]
        if possible_cells(self._sizes) >= 1 << 62:
            raise TooLargeError("suppress-has-too-many-cells")
        cells = np.flatnonzero(suppression.lost.any(axis=1))
        self._lost = np.vstack([suppression.lost[cells], np.zeros(len(self._names), dtype=bool)])  # -1 loses nothing
        self._finder = KeyFinder(_keys(_codes(table)[cells], self._sizes))

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        arrow = require()
        asked = [*range(len(self.schema))] if only is None else sorted(only)
        needed = asked if not {*self._places} & {*asked} else sorted({*asked, *self._places})
        for batch in self._source.batches(None if only is None else needed):
            given = dict(zip(needed, batch.columns, strict=True))
            if needed is not asked or only is None:
                codes = codes_of(self._coders, batch)
                cell = self._finder.find(joint_keys([*codes.values()], self._sizes, len(batch), first=MISSING))
                rows = np.arange(len(batch))
                for place, own, lost in zip(self._places, codes.values(), self._lost[cell].T, strict=True):
                    gone = lost | (own == MISSING)  # all missing values alike: nobody sees which were suppressed
                    if place in given and gone.any():
                        given[place] = given[place].take(arrow.array(rows, mask=gone))
            yield arrow.RecordBatch.from_arrays([given[p] for p in asked], [self.schema.names[p] for p in asked])
