"""Itemsets that many baskets hold, found level by level from reported baskets, and the rules among them. Derived.

By chance a part of a frequent set may be estimated below the threshold: a set is searched further unless even
``sigma_hat + slack * standard error < threshold``, and reported only where its own estimate reaches the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import at_least, ranked
from maskwell.errors import ParameterError
from maskwell.estimation.itemset_supports import (
    Itemset,
    ReportedBaskets,
    Rule,
    SampledBaskets,
    confidence_of,
    estimate_of,
)
from maskwell.notes import Note

MOST_CANDIDATES = 500_000  # sets of one size that are counted; more mean that noise keeps them in the search
AT_ONCE = 1 << 21  # counts of parts that are worked on at once


@dataclass(frozen=True, eq=False)
class Level:
    """What was counted of sets of one size; ``kept`` marks those searched further."""

    sets: Array
    counts: Array
    support: Real
    error: Real
    kept: Array


@dataclass(frozen=True, eq=False)
class Mined:
    """Frequent itemsets, by size and then by support; rules, by confidence; and what was searched."""

    # What was found
    itemsets: tuple[Itemset, ...]
    rules: tuple[Rule, ...]
    searched: tuple[int, ...]  # How many sets of each size were counted
    near: int  # How many sets have an estimate below the threshold, and within the slack of it
    # How many rules were left out because the support they divide by is within two standard errors of zero
    undefined: int
    flags: tuple[str, ...]  # What a reader should know, in words


def mine_itemsets(
    baskets: ReportedBaskets, *, min_support: float, min_confidence: float = 0.5, max_items: int = 4, slack: float = 2.0
) -> Mined:
    """Frequent itemsets and rules."""
    items = len(baskets.names)
    if items**max_items >= 2**63:  # one number stands for a set
        most = max(one for one in range(1, max_items) if items**one < 2**63)
        raise ParameterError("max-items-for-items-there", size=max_items, items=items, most=most)
    levels, flags = [_next_level(baskets, [], np.arange(items)[:, None], min_support, slack)], []
    while len(levels) < max_items:
        candidates = _candidates(levels[-1], items)
        if candidates is None:
            flags.append(_too_many(len(levels) + 1, levels[-1], min_support, slack))
            break
        if not len(candidates):
            break
        levels.append(_next_level(baskets, levels, candidates, min_support, slack))
    itemsets = []
    for level in levels:
        chosen = np.flatnonzero(at_least(level.support, min_support))
        itemsets += [
            Itemset(_names(baskets, level.sets[i]), float(level.support[i]), float(level.error[i]))
            for i in chosen[ranked(level.support[chosen])].tolist()
        ]
    rules, undefined = _rules(baskets, levels, min_support, min_confidence)
    near = sum(int((level.kept & (level.support < min_support)).sum()) for level in levels)
    return Mined(tuple(itemsets), tuple(rules), tuple(len(level.sets) for level in levels), near, undefined, (*flags,))


def _too_many(size: int, before: Level, min_support: float, slack: float) -> str:
    reach = slack * float(np.median(before.error[before.kept]))
    told = {"size": size, "smaller": size - 1, "most": MOST_CANDIDATES, "slack": Printed(slack)}
    return Note("sets-of-items-were-not-searched", **told, reach=Printed(reach), threshold=Printed(min_support))


def _next_level(baskets: ReportedBaskets, levels: list[Level], sets: Array, threshold: float, slack: float) -> Level:
    if isinstance(baskets, SampledBaskets):
        counts = np.zeros(len(sets), dtype=np.int64)
        support, error = baskets.estimates(sets.tolist())
    else:
        counts = baskets.inclusion_counts(sets.tolist())
        step = max(1, AT_ONCE >> sets.shape[1])
        blocks = (slice(start, start + step) for start in range(0, len(sets), step))
        shares = np.concatenate([_shares(baskets, levels, sets[block], counts[block]) for block in blocks])
        support, error = estimate_of(shares, baskets.w0[sets], baskets.w1[sets], baskets.n)
    return Level(sets, counts, support, error, at_least(support + slack * error, threshold))


def _shares(baskets: ReportedBaskets, levels: list[Level], sets: Array, counts: Array) -> Real:
    """Inclusion shares of all parts of each set, shape (sets, 2^size); the first item is the highest bit."""
    size, items = sets.shape[1], len(baskets.names)
    shares = np.ones((len(sets), 1 << size))
    shares[:, -1] = counts / baskets.n
    for part in range(1, (1 << size) - 1):
        held = [i for i in range(size) if part >> (size - 1 - i) & 1]
        level = levels[len(held) - 1]
        place = np.searchsorted(_keys(level.sets, items), _keys(sets[:, held], items))
        shares[:, part] = level.counts[place] / baskets.n
    return shares


def _keys(sets: Array, items: int) -> Array:
    """One number for each set; sets in lexicographic order have increasing numbers."""
    keys = np.zeros(len(sets), dtype=np.int64)
    for column in sets.T:
        keys = keys * items + column
    return keys


def _candidates(level: Level, items: int) -> Array | None:
    """Sets of one item more all of whose parts were kept, in lexicographic order; None where there are too many."""
    kept, size = level.sets[level.kept], level.sets.shape[1] + 1
    keys = _keys(kept, items)
    starts = np.flatnonzero(np.diff(keys // items, prepend=-1)).tolist()
    found, total = [np.zeros((0, size), dtype=np.int64)], 0
    for first, end in pairwise([*starts, len(kept)]):
        if (end - first) ** 2 > 4 * MOST_CANDIDATES:
            return None
        own = kept[first:end]  # sets that differ in their last item only are joined two by two
        one, two = np.triu_indices(len(own), k=1)
        group = np.column_stack([own[one], own[two, -1]])
        for left_out in range(size - 2):  # the two parts that it was joined from are there
            part = _keys(np.delete(group, left_out, axis=1), items)
            place = np.minimum(np.searchsorted(keys, part), len(keys) - 1)
            group = group[keys[place] == part]
        found.append(group)
        total += len(group)
        if total > MOST_CANDIDATES:
            return None
    return np.concatenate(found)


def _names(baskets: ReportedBaskets, places: Array) -> tuple[str, ...]:
    return tuple(baskets.names[place] for place in places.tolist())


def _rules(baskets: ReportedBaskets, levels: list[Level], threshold: float, least: float) -> tuple[list[Rule], int]:
    """Rules of the frequent sets, by confidence; and how many were left out because they are not defined."""
    rules: list[Rule] = []
    undefined = 0
    for level in levels[1:]:
        frequent = np.flatnonzero(at_least(level.support, threshold))
        if not len(frequent):
            continue
        sets = level.sets[frequent]
        sampled = isinstance(baskets, SampledBaskets)
        shares = None if sampled else _shares(baskets, levels, sets, level.counts[frequent])
        size = sets.shape[1]
        for places in (one for count in range(1, size) for one in combinations(range(size), count)):
            before = np.isin(np.arange(size), places)  # a way to divide a set into a condition and what follows
            if shares is None:
                ratio, error, defined = baskets.confidences(sets.tolist(), before)
            else:
                w0, w1 = baskets.w0[sets], baskets.w1[sets]
                ratio, error, defined = confidence_of(shares, w0, w1, before, baskets.n)
            undefined += int((~defined).sum())
            rules += [
                Rule(
                    _names(baskets, sets[i, before]),
                    _names(baskets, sets[i, ~before]),
                    float(ratio[i]),
                    float(error[i]),
                    float(level.support[frequent[i]]),
                )
                for i in np.flatnonzero(defined & at_least(ratio, least)).tolist()
            ]
    return [rules[i] for i in ranked(np.array([rule.confidence for rule in rules]))], undefined
