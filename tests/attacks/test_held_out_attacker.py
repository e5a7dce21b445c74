"""An attacker that neither the matrices nor the simulation use, with all that the headline grants at once.

They guess the keys of a record from its nearest neighbours in the released file, by mid-ranks of the unchanged columns;
then they draw from all assignments of the released records to the true counts, by exchanging two at a time, and take
for every person the record that most often had their keys. What they reach may exceed the printed figure by two
standard errors at most: one time in forty for a figure that is just right. Seeds are fixed.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from math import hypot, sqrt

import numpy as np
import pytest
from scipy.stats import rankdata
from tests.support.arrays import Array
from tests.support.intruders import Record, assessed, drawn_rows

from maskwell.core.randomness import SeededRandom
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import Release
from maskwell.microdata.risk import joined_columns
from maskwell.microdata.stages.stage import Stage

PEOPLE, RELEASES, NEAREST, SWAPS, SETTLED, LIMIT = 1500, 12, 25, 1500, 300, 0.2
KEYS = ("region", "age", "job")
NAMES = (*KEYS, *(f"x{i}" for i in range(6)), "income", "hours")


@cache
def people() -> list[Record]:
    """Two hidden traits go with keys and columns alike, so that columns repeat each other."""
    random = np.random.default_rng(8)
    one, other = random.random((2, PEOPLE))

    def of(trait: Array, part: float, size: int) -> Array:
        return ((part * trait + (1 - part) * random.random(PEOPLE)) ** 2 * size).astype(int)

    keys = [of(one, 0.95, 20), of(other, 0.95, 15), of((one + other) / 2, 0.95, 6)]
    columns = [of(trait, 0.9, 5 + i) for i, trait in enumerate([one, other] * 3)]
    numbers = [(5 * np.exp(2 * one) + 5 * random.random(PEOPLE)).astype(int), of(other, 0.9, 40)]
    return [tuple(row) for row in np.column_stack([*keys, *columns, *numbers]).tolist()]


@cache
def panel() -> list[Record]:
    """Twelve records of each of 125 firms, a month each; no other column reveals the firm, but all of them do."""
    random = np.random.default_rng(9)
    firm, month = np.divmod(random.permutation(PEOPLE), 12)
    region, size = random.integers(8, size=(2, 125))[:, firm]
    own = random.integers(3, size=(125, len(NAMES) - len(KEYS)))[firm]
    columns = np.where(random.random(own.shape) < 0.03, random.integers(3, size=own.shape), own)
    return [tuple(row) for row in np.column_stack([region, month, size, columns]).tolist()]


@cache
def released(of: Callable[[], list[Record]], intruder: str = "any-look") -> Release:
    entry = {"variables": KEYS, "method": "mixing"}
    accepted = {
        "keys": KEYS,
        "match": LIMIT,
        "order": "kept",
        "demonstration": True,
        "accept": ["record-order"],
        "intruder": intruder,
    }
    return assessed(of(), NAMES, ReleasePlan.of([entry], **accepted))


def likelihoods(rows: Array, labels: Array) -> Array:
    """Shape (records, states): how often neighbours have each key of a state, against how often all have it."""
    ranks = np.stack([rankdata(column) for column in rows[:, len(KEYS) :].T], axis=1)
    ranks /= ranks.std(axis=0)
    square = (ranks**2).sum(axis=1)
    far = square[:, None] + square[None] - 2 * ranks @ ranks.T
    np.fill_diagonal(far, np.inf)
    near = np.argpartition(far, NEAREST, axis=1)[:, :NEAREST]
    sums = np.zeros((len(rows), len(labels)))
    for key, values in enumerate(labels.T):
        own = rows[:, key]
        usual = np.bincount(own, minlength=values.max() + 1) / len(own)
        shares = np.stack([(own[near] == label).sum(axis=1) for label in range(len(usual))], axis=1)
        odds = np.log((shares + 5 * usual) / (NEAREST + 5) / np.maximum(usual, 1 / len(own)) + 1e-9)
        sums += odds[:, values]
    return sums


def beliefs(stage: Stage, shown: Array, fits: Array) -> Array:
    """Shape (records, states): how often each record has each true state, over all assignments that keep the counts."""
    random = np.random.default_rng(1)
    chance = np.zeros((len(stage.states),) * 2)
    released_as, true, p = stage.transitions
    chance[released_as, true] = p
    with np.errstate(divide="ignore"):
        logs = np.log(chance)[shown] + fits
    state = shown.copy()
    groups: dict[tuple[int, ...], list[int]] = {}
    for record, one in enumerate(shown.tolist()):
        groups.setdefault(tuple(np.flatnonzero(chance[one]).tolist()), []).append(record)
    groups = {states: records for states, records in groups.items() if len(states) > 1}
    for states, records in groups.items():  # any start that has the true counts
        state[records] = np.repeat(states, stage.counts[[*states]].astype(int))
    sizes = np.array([len(records) for records in groups.values()])
    members = np.concatenate([*groups.values()])
    starts = np.cumsum(sizes) - sizes
    found = np.zeros(logs.shape, dtype=np.int32)
    for swap in range(SWAPS):
        for _ in range(10):
            a, b = (members[starts + (random.random(len(sizes)) * sizes).astype(int)] for _ in range(2))
            gain = logs[a, state[b]] + logs[b, state[a]] - logs[a, state[a]] - logs[b, state[b]]
            taken = np.log(random.random(len(sizes))) < gain
            state[a[taken]], state[b[taken]] = state[b[taken]], state[a[taken]]
        if swap >= SETTLED:
            found[members, state[members]] += 1
    return found / (SWAPS - SETTLED)


def surest_tenth(release: Release, rows: list[Record]) -> tuple[float, float]:
    """The share of right picks of the tenth of the people that the attacker is surest of, and its standard error."""
    (stage,) = release.stages
    source, place = SeededRandom(5), {state: i for i, state in enumerate(stage.states)}
    labels = np.array(stage.states)
    true = np.array([place[row[: len(KEYS)]] for row in rows])
    rare = [place[key] for key, n in Counter(row[: len(KEYS)] for row in rows).items() if n < 1 / LIMIT]
    picks: list[tuple[float, float, int]] = []
    for _ in range(RELEASES):
        drawn = drawn_rows(release, rows, NAMES, source)
        shown = np.array([place[row[: len(KEYS)]] for row in drawn])
        often = beliefs(stage, shown, likelihoods(np.array(drawn), labels))
        for state in rare:
            n, best = int(stage.counts[state]), int(often[:, state].argmax())
            picks.append((often[best, state] / n, (true[best] == state) / n, n))
    picks.sort(key=lambda pick: -pick[0])
    reached = np.cumsum([n for *_, n in picks])
    first = picks[: int(np.searchsorted(reached, reached[-1] / 10)) + 1]
    persons = sum(n for *_, n in first)
    share = sum(right * n for _, right, n in first) / persons
    return share, sqrt(share * (1 - share) / persons)


def beaten(release: Release, rows: list[Record]) -> bool:
    """Whether the attacker finds more than is printed by more than two standard errors of both."""
    assert release.joined is not None
    share, error = surest_tenth(release, rows)
    return share - release.joined.right_surest > 2 * hypot(error, release.joined.error)


@pytest.mark.parametrize("intruder", ["any-look", "all-columns"])
@pytest.mark.parametrize("of", [people, panel])
def test_an_attacker_that_the_simulation_does_not_use_finds_no_more_than_is_printed(
    of: Callable[[], list[Record]], intruder: str
) -> None:
    release = released(of, intruder)
    assert not beaten(release, of())
    assert intruder == "any-look" or release.joined.to_spare <= LIMIT


def test_the_same_attacker_detects_a_figure_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The release of an intruder who uses columns or counts, but not both, as was simulated before."""
    monkeypatch.setattr(joined_columns, "SCALINGS", {"": joined_columns.SCALINGS[""]})
    monkeypatch.setattr(joined_columns, "LOOKS", {"among records with the same released key values": False})
    assert beaten(released.__wrapped__(people), people())


def test_near_copies_of_records_raise_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no column by itself says much, what is printed rises by the neighbours, by two standard errors."""
    whole = released(panel).joined
    monkeypatch.setattr(joined_columns, "ATTACKERS", joined_columns.ATTACKERS[:-2])
    before = released.__wrapped__(panel).joined
    assert "nearest neighbours" in whole.attack
    assert whole.right_surest - before.right_surest > 2 * hypot(whole.error, before.error)
