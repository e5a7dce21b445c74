"""Many unchanged columns, each of which tells little of a key, tell together which records moved.

The intruders have the released file and the keys of their targets, and learn what goes with what. One picks the record
with the keys of the target whose other columns go with them best. The other also knows the matrix and the counts, and
weighs where a record with these keys may have come from. What they reach is held against what the release prints.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.arrays import Array
from tests.support.intruders import FALSE_ALARM, Record, assessed, drawn_rows, headline, printed_for

import maskwell as mw
from maskwell import Release, ReleasePlan, SeededRandom, verbs
from maskwell.errors import InfeasibleError
from maskwell.microdata.stages.stage import Stage
from maskwell.reports.text.release_report import release_report

REGIONS, AGES, COLUMNS, PEOPLE, TIMES = 30, 20, 10, 1500, 4
KEYS = ("region", "age")
NAMES = (*KEYS, *(f"x{i}" for i in range(COLUMNS)))
Score = Callable[[Array, Release], Array]


@cache
def people(share: float) -> list[Record]:
    """Regions of very different size; each further column is that of the region for a share of the people."""
    random = np.random.default_rng(2)
    sizes = 1 / np.arange(1, REGIONS + 1)
    region = random.choice(REGIONS, PEOPLE, p=sizes / sizes.sum())
    age = random.integers(AGES, size=PEOPLE)
    columns = [
        np.where(random.random(PEOPLE) < share, (7 * region + i) % (5 + i), random.integers(5 + i, size=PEOPLE))
        for i in range(COLUMNS)
    ]
    return [tuple(row) for row in np.column_stack([region, age, *columns]).tolist()]


def plan_of(method: str = "mixing", **options: Any) -> ReleasePlan:
    """A plan that protects both keys at once."""
    release = {k: options.pop(k) for k in ("intruder", "match") if k in options}
    entry = {"variables": KEYS, "method": method, **options}
    kept = {"order": "kept", "accept": ["record-order"]}
    return ReleasePlan.of([entry], **{"keys": KEYS, "match": "0.2", **kept, "demonstration": True, **release})


@cache
def released(share: float, **options: Any) -> tuple[Release, list[list[Record]]]:
    """The release, and what comes out in several draws."""
    rows = people(share)
    release, source = assessed(rows, NAMES, plan_of(**options)), SeededRandom(5)
    return release, [drawn_rows(release, rows, NAMES, source) for _ in range(TIMES)]


def log_odds(rows: Array, key: int) -> Iterator[Array]:
    """For each further column the log odds of its values given the labels of a key, learned from a released file."""
    for values in rows[:, 2:].T:
        both = np.zeros((max(REGIONS, AGES), values.max() + 1))
        np.add.at(both, (rows[:, key], values), 1)
        usual = both.sum(axis=0) / len(rows)
        yield np.log((both + usual) / (both.sum(axis=1, keepdims=True) + 1) / usual)


def fit(rows: Array, release: Release) -> Array:
    """How well the other columns of each row go with the keys that it shows."""
    return np.sum(
        [odds[rows[:, k], v] for k in (0, 1) for v, odds in zip(rows[:, 2:].T, log_odds(rows, k), strict=True)], axis=0
    )


def own_origin(rows: Array, release: Release) -> Array:
    """The chance that a row that shows keys has them in truth, from the matrix, the counts and the other columns."""
    (stage,) = release.stages
    places = {state: i for i, state in enumerate(stage.states)}
    goes = np.zeros((len(places), len(rows)))
    for k in (0, 1):
        labels = np.array([state[k] for state in stage.states])
        for values, odds in zip(rows[:, 2:].T, log_odds(rows, k), strict=True):
            goes += odds[labels][:, values]
    return np.array([_own(stage, places[tuple(row[:2])], goes[:, i]) for i, row in enumerate(rows.tolist())])


def _own(stage: Stage, state: int, goes: Array) -> float:
    true, p = _arriving(stage)[state]
    weights = p * stage.counts[true] * np.exp(goes[true] - goes[true].max())
    return float(weights[true == state].sum() / weights.sum())


@cache
def _arriving(stage: Stage) -> dict[int, tuple[Array, Array]]:
    released, true, p = stage.transitions
    return {int(state): (true[released == state], p[released == state]) for state in np.unique(released)}


def surest(rows: list[Record], release: Release, releases: list[list[Record]], score: Score) -> tuple[int, int]:
    """Of the fifth of the picks that the intruder is surest of: how many there are, and how many are right."""
    alone = [key for key, n in Counter(row[:2] for row in rows).items() if n == 1]
    owner = {row[:2]: i for i, row in enumerate(rows)}
    picks: list[tuple[float, bool]] = []
    for drawn in releases:
        scores, where = score(np.array(drawn), release), defaultdict(list)
        for i, row in enumerate(drawn):
            where[row[:2]].append(i)
        for key in alone:
            if where[key]:
                best = max(where[key], key=scores.__getitem__)
                picks.append((float(scores[best]), best == owner[key]))
    first = sorted(picks, key=lambda pick: -pick[0])[: len(picks) // 5]
    return len(first), sum(right for _, right in first)


def said(release: Release) -> str:
    return "\n".join(release_report(release, "released"))


@pytest.mark.parametrize("score", [fit, own_origin])
@pytest.mark.parametrize(
    ("share", "options"), [(0.6, {}), (0.6, {"block_size": 12}), (0.3, {}), (0.3, {"intruder": "all-columns"})]
)
def test_who_weighs_all_unchanged_columns_does_not_beat_what_is_printed_for_them(
    share: float, options: dict[str, Any], score: Score
) -> None:
    release, releases = released(share, **options)
    tried, right = surest(people(share), release, releases, score)
    printed = printed_for(said(release), "a simulated linkage attack")
    assert binom.sf(right - 1, tried, float(printed)) > FALSE_ALARM
    assert "intruder" not in options or printed <= 0.2


def test_the_same_attack_beats_the_headline_where_records_mix_with_all_others() -> None:
    """With one block of all small cells the attack has power, and the figure for this intruder is printed beside it."""
    release, releases = released(0.6, block_size=600)
    for score in (fit, own_origin):
        tried, right = surest(people(0.6), release, releases, score)
        assert binom.sf(right - 1, tried, float(headline(release))) < FALSE_ALARM
        assert binom.sf(right - 1, tried, float(printed_for(said(release), "a simulated linkage attack"))) > FALSE_ALARM
    assert printed_for(said(release), "a simulated linkage attack") > 0.3


def test_columns_that_tell_nothing_are_no_help() -> None:
    release, releases = released(0.0)
    for score in (fit, own_origin):
        tried, right = surest(people(0.0), release, releases, score)
        assert binom.sf(right - 1, tried, float(headline(release))) > FALSE_ALARM


def test_a_limit_against_who_weighs_all_columns_is_kept_or_refused() -> None:
    release, _ = released(0.3, intruder="all-columns")
    joined = release.joined
    assert joined is not None and joined.right_surest <= 0.2 and joined.columns == NAMES[2:]
    assert 0 < joined.error < 0.02 and joined.right < joined.right_surest
    wide, tight = (
        assessed(people(0.6), NAMES, plan_of(block_size=30, **more)) for more in ({}, {"intruder": "all-columns"})
    )
    assert (
        wide.joined is not None and tight.joined is not None and wide.joined.right_surest > 0.2 + 3 * wide.joined.error
    )
    assert tight.joined.right_surest <= 0.2 and tight.expected_change() > wide.expected_change()
    assert any("of the limit so that a linkage attack" in note for note in tight.notes)
    frame = {name: [row[i] for row in people(0.6)] for i, name in enumerate(NAMES)}
    with pytest.raises(InfeasibleError, match="linkage attack on all columns re-identifies 0"):
        mw.release(frame, plan_of("inverse-frequency", match="0.35", intruder="all-columns"), random=SeededRandom(1))
    with pytest.raises(InfeasibleError, match="cannot be simulated"):
        mw.release(frame, not_simulated(intruder="all-columns"), random=SeededRandom(1))


def not_simulated(**options: Any) -> ReleasePlan:
    """A plan that randomizes keys within a column that it randomized before."""
    first = {"variables": ["x0"], "method": "method1", "theta": "1/2"}
    then = {"variables": KEYS, "within": ["x0"], "method": "mixing", "match": "0.2"}
    accept = ["joint-table", *options.pop("accept", ())]
    return ReleasePlan.of([first, then], keys=KEYS, match="0.9", accept=accept, demonstration=True, **options)


def test_what_is_simulated_or_not_counted_is_said_before_and_after_the_release() -> None:
    frame = {name: [row[i] for row in people(0.6)[:300]] for i, name in enumerate(NAMES)}
    tried = " ".join(str(verbs.dry_run(frame, plan_of()).summary()).split())
    done = mw.release(frame, plan_of(), random=SeededRandom(1)).release
    for text in (tried, " ".join(said(done).split())):
        assert "Simulated linkage attack: using x0, x1, x2" in text and "Not counted: how" not in text
    plan = not_simulated(order="kept", accept=["record-order"])
    tried = " ".join(str(verbs.dry_run(frame, plan).summary()).split())
    done = mw.release(frame, plan, random=SeededRandom(1)).release
    for text in (tried, " ".join(said(done).split())):
        assert "how x1, x2, x3, x4" in text and "may help to link records" in text and "Simulated" not in text
    told = done.to_dict()["risk"]
    assert (
        "joined_columns" not in told and mw.release(frame, plan_of(), random=SeededRandom(1)).release.risk is not None
    )
