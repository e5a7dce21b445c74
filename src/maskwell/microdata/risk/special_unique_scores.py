"""Special uniques: records that are unique on few of their keys (SUDA).

A set of k of K keys on which a record is unique, and on no part of it, counts ``prod over i = k .. M of (K - i)`` in
its score (without a factor 0). Of U records alone and P in pairs, with the share f of the population sampled,

    d = U f / (U f + P (1 - f)),     d_r = 1 / (1 + (U / d - U) / (s_r^q sum s^-q)),     q = 1 + (8 - K) / 20

Source: after Elliot, Manning, Mayes, Gurd and Bane, and Skinner and Elliot, as the SDC Practice Guide of the World Bank
and sdcMicro give them; nothing guarantees that d_r is a probability. A missing value distinguishes nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.errors import TooLargeError
from maskwell.microdata.risk.file_risk import cells_in

FRACTION = 0.01  # the share of the population that is taken to be sampled where nothing tells it, as in sdcMicro
SETS = 20_000  # sets of keys that are looked at
_STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpecialUniques:
    """Records of a file that are unique on few of their keys."""

    keys: tuple[str, ...]  # keys, largest: the keys, and how many of them a set has at most
    largest: int
    # records of the file, those that are alone with all their keys, and those that are one of two alike
    records: int
    uniques: int
    pairs: int
    fraction: float  # the share of the population that is taken to be sampled
    # the estimated chance that a record which is alone in the sample is alone in the population; 0 if none is
    dis: float
    sets: Mapping[int, int]  # how many minimal sample uniques there are, by the number of their keys
    shares: Mapping[str, float]  # the share of all scores that sets with each key have
    # table, scores, dis_scores: the cells of the keys, and the scores of a record of each, shape (cells,)
    table: CellTable = field(repr=False)
    scores: Real = field(repr=False)
    dis_scores: Real = field(repr=False)

    @property
    def special(self) -> int:
        """Records that are unique on fewer than all keys; one that needs all keys has one set, that of all."""
        return int((self.scores > 0).sum()) - self.sets.get(len(self.keys), 0)

    @property
    def bands(self) -> dict[str, int]:
        """Records by the size of their DIS-SUDA score, as sdcMicro lists them."""
        counts = self.table.counts
        bands = {"0": int(counts[self.dis_scores <= 0].sum())}
        for low, high in zip(_STEPS, (*_STEPS[1:], math.inf), strict=True):
            name = f"({low:g}, {high:g}]" if high < math.inf else f"above {low:g}"
            bands[name] = int(counts[(self.dis_scores > low) & (self.dis_scores <= high)].sum())
        return bands

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = ("largest", "records", "uniques", "pairs", "special", "fraction", "dis")
        return {
            "keys": list(self.keys),
            **{name: getattr(self, name) for name in names},
            "sets": {str(size): number for size, number in self.sets.items()},
            "highest_score": float(self.scores.max(initial=0.0)),
            "highest_dis_score": float(self.dis_scores.max(initial=0.0)),
            "bands": self.bands,
            "shares": dict(self.shares),
        }


def special_uniques(
    table: CellTable, keys: Sequence[str], *, fraction: float = FRACTION, largest: int | None = None
) -> SpecialUniques:
    """SUDA and DIS-SUDA scores; ``fraction`` of the population was sampled, and a set has ``largest`` keys at most."""
    own, most = table.project(keys), len(keys) if largest is None else largest
    number_of_sets = sum(math.comb(len(keys), size) for size in range(1, most + 1))
    if number_of_sets > SETS:
        raise TooLargeError("keys-have-sets-of-up", keys=len(keys), sets=number_of_sets, most=most, sets_shown=SETS)
    scores, by_key, sets = _scored(own, most)
    uniques, pairs = int((own.counts == 1).sum()), 2 * int((own.counts == 2).sum())
    dis = uniques * fraction / (uniques * fraction + pairs * (1 - fraction)) if uniques else 0.0
    total, scored, dis_scores = float(scores.sum()), scores > 0, np.zeros(len(scores))
    if scored.any():
        powers = np.where(scored, scores, 1.0) ** (1 + (8 - len(keys)) / 20)
        spread = 1 / (1 + (uniques / dis - uniques) / (powers * (1 / powers[scored]).sum()))
        dis_scores = np.where(scored, spread, 0.0)
    return SpecialUniques(
        keys=tuple(keys),
        largest=most,
        records=own.n,
        uniques=uniques,
        pairs=pairs,
        fraction=fraction,
        dis=dis,
        sets=sets,
        shares={name: float(one / total) if total else 0.0 for name, one in zip(keys, by_key, strict=True)},
        table=own,
        scores=scores,
        dis_scores=dis_scores,
    )


def _scored(own: CellTable, most: int) -> tuple[Real, Real, dict[int, int]]:
    """Scores of the cells, the scores of the sets with each key, and the number of sets by size."""
    k, alone = len(own.columns), np.flatnonzero(own.counts == 1)
    scores, by_key, sets = np.zeros(len(own)), np.zeros(k), dict[int, int]()
    missing = [np.array([label is None for label in labels], dtype=bool) for labels in own.levels]
    lacking = [one[own.codes[alone, place]] for place, one in enumerate(missing)]  # who has no value in a column
    smaller: dict[tuple[int, ...], Array] = {}
    for size in range(1, most + 1):
        worth = math.prod(k - i for i in range(size, min(most, k - 1) + 1))  # what a set of so many keys counts
        found, unique = 0, dict[tuple[int, ...], Array]()
        for places in combinations(range(k), size):
            part = own.project([own.columns[place] for place in places])
            there = part.counts[cells_in(own, part)[alone]] == 1  # of the records that are alone, those by this set
            there &= ~np.any([lacking[place] for place in places], axis=0)
            parts = [smaller[fewer] for fewer in combinations(places, size - 1)] if size > 1 else []
            told = np.logical_or.reduce(parts) if parts else np.zeros(len(alone), dtype=bool)
            minimal = there & ~told
            scores[alone[minimal]] += worth
            by_key[[*places]] += worth * int(minimal.sum())
            found += int(minimal.sum())
            unique[places] = there | told
        smaller, sets[size] = unique, found
    return scores, by_key, sets
