"""Special uniques: records that few of their keys tell apart from all others (SUDA).

A set of keys is a *minimal sample unique* of a record if no other record has the same labels there, and if that is true
of no smaller part of the set. The fewer keys it takes, and the more such sets there are, the more special is the
record. With K keys, of which sets of up to M are looked at, a set of k keys counts

    prod over i = k .. M of (K - i)

and the score of a record is the sum over its sets. Where M = K, the last factor would be 0 and is left out: so does
sdcMicro, which always looks at all sets. The share that a key has in the score counts the sets with the key.

The chance that a record which is alone in the sample is alone in the population is estimated for all such records
together, from those that are alone and those that come in pairs,

    d = U f / (U f + P (1 - f))

where ``U`` records are alone, ``P`` records are one of two alike, and ``f`` is the share of the population that was
sampled. It is then spread over the records by their scores s,

    d_r = 1 / (1 + (U / d - U) / (s_r^q sum s^-q)),     q = 1 + (8 - K) / 20

with the sum over all records that have a score.

Source: after Elliot, Manning, Mayes, Gurd and Bane, and Skinner and Elliot, as the SDC Practice Guide of the World Bank
(scores, with the product up to M) and the documentation and tests of sdcMicro give them; nobody promises that d_r is a
chance. A missing value tells nobody apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, RealNumber, WholeNumber, as_real, check_kind, list_of
from maskwell.core.cells import CellTable
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError, TooLargeError
from maskwell.microdata.risk.file_risk import cells_in

FRACTION = 0.01
"""The share of the population that is taken to be sampled where nothing tells it, as in sdcMicro."""

SETS = 20_000
"""Sets of keys that are looked at."""

_STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpecialUniques:
    """Records of a file that few of their keys tell apart."""

    keys: tuple[str, ...]  # keys, largest: the keys, and how many of them a set has at most
    largest: int
    # records, uniques, pairs: records of the file, those that are alone with all their keys, and those that are one
    # of two alike
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
        """Records that fewer than all keys tell apart; who needs all keys has one set, that of all."""
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
        return {
            "keys": list(self.keys),
            "largest": self.largest,
            "records": self.records,
            "uniques": self.uniques,
            "pairs": self.pairs,
            "special": self.special,
            "fraction": self.fraction,
            "dis": self.dis,
            "sets": {str(size): number for size, number in self.sets.items()},
            "highest_score": float(self.scores.max(initial=0.0)),
            "highest_dis_score": float(self.dis_scores.max(initial=0.0)),
            "bands": self.bands,
            "shares": dict(self.shares),
        }


def special_uniques(
    table: CellTable, keys: Sequence[str], *, fraction: float = FRACTION, largest: int | None = None
) -> SpecialUniques:
    """SUDA and DIS-SUDA scores of the records of a file.

    Parameters
    ----------
    table
        Counts of the file by the keys, and maybe others.
    keys
        Columns that an intruder knows.
    fraction
        The share of the population that was sampled.
    largest
        How many keys a set has at most; all of them if left out.

    >>> cells = {("20s", "f", "university"): 1, ("20s", "f", "school"): 2, ("60s", "m", "university"): 1}
    >>> found = special_uniques(CellTable.of(["age", "sex", "education"], cells), ["age", "sex", "education"])
    >>> found.scores.tolist()   # who is 20 to 29 and was at a university; the same with f; who is over 60, or m
    [0.0, 2.0, 4.0]
    """
    check_kind(CellTable, table=table)
    check_kind(RealNumber, fraction=fraction)
    check_kind(WholeNumber | None, largest=largest)
    names = tuple(dict.fromkeys(list_of(str, keys, "keys")))
    share = as_real(fraction, "fraction")
    if not names:
        raise ParameterError("no-keys-are-given")
    if not 0 < share <= 1:
        raise ParameterError("fraction-is-not-above-0", share=Printed(share))
    most = len(names) if largest is None else int(largest)
    if not 1 <= most <= len(names):
        raise ParameterError("largest-is-with-keys", most=most, names_count=len(names))
    own = table.project(names)
    _check_few(len(names), most)
    scores, by_key, sets = _scored(own, most)
    uniques, pairs = int((own.counts == 1).sum()), 2 * int((own.counts == 2).sum())
    dis = uniques * share / (uniques * share + pairs * (1 - share)) if uniques else 0.0
    total = float(scores.sum())
    return SpecialUniques(
        keys=names,
        largest=most,
        records=own.n,
        uniques=uniques,
        pairs=pairs,
        fraction=share,
        dis=dis,
        sets=sets,
        shares={name: float(one / total) if total else 0.0 for name, one in zip(names, by_key, strict=True)},
        table=own,
        scores=scores,
        dis_scores=_spread(scores, uniques, dis, len(names)),
    )


def _check_few(keys: int, most: int) -> None:
    sets = sum(math.comb(keys, size) for size in range(1, most + 1))
    if sets > SETS:
        raise TooLargeError("keys-have-sets-of-up", keys=keys, sets=sets, most=most, sets_shown=SETS)


def _scored(own: CellTable, most: int) -> tuple[Real, Real, dict[int, int]]:
    """Scores of the cells, the scores of the sets with each key, and the number of sets by size."""
    k, alone = len(own.columns), np.flatnonzero(own.counts == 1)
    scores, by_key, sets = np.zeros(len(own)), np.zeros(k), dict[int, int]()
    smaller: dict[tuple[int, ...], Array] = {}
    for size in range(1, most + 1):
        worth, found, unique = _worth(k, size, most), 0, dict[tuple[int, ...], Array]()
        for places, there in _unique_in(own, alone, size):
            parts = [smaller[part] for part in combinations(places, size - 1)] if size > 1 else []
            told = np.logical_or.reduce(parts) if parts else np.zeros(len(alone), dtype=bool)
            minimal = there & ~told
            scores[alone[minimal]] += worth
            by_key[[*places]] += worth * int(minimal.sum())
            found += int(minimal.sum())
            unique[places] = there | told
        smaller, sets[size] = unique, found
    return scores, by_key, sets


def _worth(keys: int, size: int, most: int) -> int:
    """What a set of so many keys counts, where sets of up to ``most`` are looked at."""
    return math.prod(keys - i for i in range(size, min(most, keys - 1) + 1))


def _unique_in(own: CellTable, alone: Array, size: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """For each set of so many keys which of the records that are alone are so by this set."""
    lacking = np.stack([_lacks(own, place)[alone] for place in range(len(own.columns))])
    for places in combinations(range(len(own.columns)), size):
        part = own.project([own.columns[place] for place in places])
        yield places, (part.counts[cells_in(own, part)[alone]] == 1) & ~lacking[[*places]].any(axis=0)


def _lacks(own: CellTable, place: int) -> Array:
    """Which cells have no value in a column."""
    missing = np.array([label is None for label in own.levels[place]], dtype=bool)
    return np.asarray(missing[own.codes[:, place]])


def _spread(scores: Real, uniques: int, dis: float, keys: int) -> Real:
    """The estimated chance for each cell, by its score."""
    scored = scores > 0
    if not scored.any():
        return np.zeros(len(scores))
    powers = np.where(scored, scores, 1.0) ** (1 + (8 - keys) / 20)
    spread = 1 / (1 + (uniques / dis - uniques) / (powers * (1 / powers[scored]).sum()))
    return np.where(scored, spread, 0.0)
