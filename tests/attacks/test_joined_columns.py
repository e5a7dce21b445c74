"""Many unchanged columns, each of which tells little of a key, tell together which records moved: not promised.


The intruder has the released file and the keys of his target. He learns from the file itself what goes with what, and
picks the record with the keys of his target whose other columns go with them best. The headline does not count him.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import numpy as np
from scipy.stats import binom
from tests.support.arrays import Array
from tests.support.intruders import FALSE_ALARM, Record, assessed, drawn_rows, headline

from maskwell.core import SeededRandom
from maskwell.release import Release, ReleasePlan
from maskwell.release.assessment import ReleasedColumn
from maskwell.reports.text.release_words import assumptions

REGIONS, COLUMNS, PEOPLE, TIMES = 30, 10, 1500, 6
NAMES = ("region", "age", *(f"x{i}" for i in range(COLUMNS)))


@cache
def people(share: float) -> list[Record]:
    """Regions of very different size; each further column is that of the region for a share of the people."""
    random = np.random.default_rng(2)
    sizes = 1 / np.arange(1, REGIONS + 1)
    region = random.choice(REGIONS, PEOPLE, p=sizes / sizes.sum())
    age = random.integers(20, size=PEOPLE)
    columns = [
        np.where(random.random(PEOPLE) < share, (7 * region + i) % (5 + i), random.integers(5 + i, size=PEOPLE))
        for i in range(COLUMNS)
    ]
    return [tuple(row) for row in np.column_stack([region, age, *columns]).tolist()]


def released(rows: list[Record]) -> tuple[Release, list[list[Record]]]:
    protect = {"variables": ["region", "age"], "method": "mixing"}
    plan = ReleasePlan.of([protect], keys=["region", "age"], match="0.2", order="kept", demonstration=True)
    release, source = assessed(rows, NAMES, plan), SeededRandom(5)
    return release, [drawn_rows(release, rows, NAMES, source) for _ in range(TIMES)]


def fit(rows: Array) -> Array:
    """How well the other columns of each row go with its region: log odds of each value, the row itself left out."""
    region, score = rows[:, 0], np.zeros(len(rows))
    of_region = np.bincount(region, minlength=REGIONS)
    for values in rows[:, 2:].T:
        both, alone = np.zeros((REGIONS, values.max() + 1)), np.bincount(values)
        np.add.at(both, (region, values), 1)
        usual = alone[values] / len(rows)
        score += np.log((both[region, values] - 1 + usual) / of_region[region] / usual)
    return score


def surest(rows: list[Record], releases: list[list[Record]]) -> tuple[int, int]:
    """Of the fifth of the picks that the intruder is surest of: how many there are, and how many are right."""
    alone = [key for key, n in Counter(row[:2] for row in rows).items() if n == 1]
    owner = {row[:2]: i for i, row in enumerate(rows)}
    picks: list[tuple[float, bool]] = []
    for release in releases:
        score, where = fit(np.array(release)), defaultdict(list)
        for i, row in enumerate(release):
            where[row[:2]].append(i)
        for key in alone:
            if where[key]:
                best = max(where[key], key=score.__getitem__)
                picks.append((float(score[best]), best == owner[key]))
    first = sorted(picks, key=lambda pick: -pick[0])[: len(picks) // 5]
    return len(first), sum(right for _, right in first)


def test_who_weighs_all_unchanged_columns_beats_the_headline_and_the_line_after_it_says_so() -> None:
    rows = people(0.6)
    release, releases = released(rows)
    tried, right = surest(rows, releases)
    assert binom.sf(right - 1, tried, float(headline(release))) < FALSE_ALARM
    columns = [ReleasedColumn(name, "integer", None) for name in NAMES]
    assert release.risk is not None
    said = assumptions(release.risk, release.with_released(columns=columns))
    assert "how well x0, x1, x2" in said and "go with the keys of a record" in said
    keys_only = release.with_released(columns=columns[:2])
    assert "go with the keys" not in assumptions(release.risk, keys_only)


def test_columns_that_tell_nothing_are_no_help() -> None:
    rows = people(0.0)
    release, releases = released(rows)
    tried, right = surest(rows, releases)
    assert binom.sf(right - 1, tried, float(headline(release))) > FALSE_ALARM
