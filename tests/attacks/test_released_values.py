"""Somebody who has the right record guesses its true value from the released one: how often is he right?

He knows the matrix and the counts, and the group within which the record was randomized. Each bound of a plan is held
against the exact law of the release and against the program's own draws, records picked independently of each other;
false alarms at a rate of 1e-6 for each test.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.intruders import FALSE_ALARM, Record, assessed, campaign, laws_of, rows_of

from maskwell import ReleasePlan
from maskwell.errors import MaskwellError
from maskwell.microdata.matrices import Bounds

SLACK = Fraction(1, 10**9)
COLUMNS = ("group", "value")
ROWS = rows_of(
    {("g", "a"): 12, ("g", "b"): 8, ("g", "c"): 3, ("g", "d"): 5, ("h", "a"): 4, ("h", "b"): 4, ("h", "d"): 6}
)
ALONE = {"variables": ["value"]}
WITHIN = {"variables": ["value"], "within": ["group"]}
TIMES = 40_000
Joint = Mapping[tuple[Record, Record], Fraction]
"""Chance of a true and a released row, for a record picked at random."""


def of_group(joint: Joint, group: str) -> dict[tuple[Record, Record], Fraction]:
    """The same for a record of one group."""
    own = {pair: p for pair, p in joint.items() if pair[0][0] == group}
    return {pair: p / sum(own.values()) for pair, p in own.items()}


def shares(joint: Joint, place: int) -> dict[Record, Fraction]:
    found: dict[Record, Fraction] = {}
    for pair, p in joint.items():
        found[pair[place]] = found.get(pair[place], Fraction(0)) + p
    return found


def posteriors(joint: Joint) -> dict[tuple[Record, Record], Fraction]:
    released = shares(joint, 1)
    return {pair: p / released[pair[1]] for pair, p in joint.items()}


def _posterior(joint: Joint) -> Fraction:
    return max(posteriors(joint).values())


def _own(joint: Joint) -> Fraction:
    return max(p for (true, released), p in posteriors(joint).items() if true == released)


def _odds(joint: Joint) -> Fraction:
    return _own(joint) / (1 - _own(joint))


def _guess(joint: Joint) -> Fraction:
    best: dict[Record, Fraction] = {}
    for (_, released), p in joint.items():
        best[released] = max(best.get(released, Fraction(0)), p)
    return sum(best.values(), Fraction(0))


def _factor(joint: Joint) -> Fraction:
    true, after = shares(joint, 0), posteriors(joint)
    ratios = [after.get((j, i), Fraction(0)) / p for i in shares(joint, 1) for j, p in true.items()]
    assert min(ratios) > 0
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def _parity(joint: Joint) -> Fraction:
    true = shares(joint, 0)
    chances = [[joint.get((j, i), Fraction(0)) / p for j, p in true.items()] for i in shares(joint, 1)]
    return max(max(row) / min(row) for row in chances)


MEASURES: dict[str, Callable[[Joint], Fraction]] = {
    "posterior": _posterior,
    "posterior_own": _own,
    "odds": _odds,
    "guess": _guess,
    "factor": _factor,
    "parity": _parity,
}
ABOUT_USE = {"least_kept", "changed_at_most", "changed_at_least"}
ELSEWHERE = {"match"}
ASKED = {"posterior": "0.6", "posterior_own": "0.55", "odds": "1.2", "guess": "0.65", "factor": "2.5", "parity": "4"}


def test_every_bound_is_attacked() -> None:
    """A new bound needs an attack here, unless it is about what users get."""
    assert {*MEASURES} | ABOUT_USE | ELSEWHERE == {*Bounds.names()}


def plan_of(protect: Mapping[str, Any], **more: Any) -> ReleasePlan:
    return ReleasePlan.of(
        [dict(protect)], keys=["value"], order="kept", accept=["record-order"], demonstration=True, **more
    )


def joint_of(plan: ReleasePlan, rows: list[Record] = ROWS) -> Joint:
    release = assessed(rows, COLUMNS, plan)
    found: dict[tuple[Record, Record], Fraction] = {}
    for row, law in zip(rows, laws_of(rows, COLUMNS, release.stages), strict=True):
        for released, p in law.items():
            found[row, released] = found.get((row, released), Fraction(0)) + p / len(rows)
    return found


def valued(joint: Joint) -> Joint:
    """Without the group, where the matrix is one for all groups."""
    found: dict[tuple[Record, Record], Fraction] = {}
    for (true, released), p in joint.items():
        pair = (true[1:], released[1:])
        found[pair] = found.get(pair, Fraction(0)) + p
    return found


@pytest.mark.parametrize("bound", list(MEASURES))
@pytest.mark.parametrize("method", ["optimal", "lowered"])
def test_a_bound_holds_in_the_whole_file(bound: str, method: str) -> None:
    extra = {"match": "0.5"} if method == "lowered" else {}
    joint = valued(joint_of(plan_of({**ALONE, "method": method, bound: ASKED[bound], **extra})))
    assert MEASURES[bound](joint) <= Fraction(ASKED[bound]) + SLACK


@pytest.mark.parametrize("bound", list(MEASURES))
def test_a_bound_holds_in_every_group(bound: str) -> None:
    joint = joint_of(plan_of({**WITHIN, "method": "optimal", bound: ASKED[bound]}))
    for group in "gh":
        assert MEASURES[bound](of_group(joint, group)) <= Fraction(ASKED[bound]) + SLACK


@pytest.mark.parametrize("bound", list(MEASURES))
def test_guesses_from_drawn_releases_keep_to_the_bound(bound: str) -> None:
    plan = plan_of({**ALONE, "method": "optimal", bound: ASKED[bound]})
    joint = valued(joint_of(plan))
    assert caught_guessing(drawn(plan), joint, bound, Fraction(ASKED[bound])) == []


def test_caps_of_single_values_hold_and_the_best_guess_is_the_best() -> None:
    joint = valued(joint_of(plan_of({**ALONE, "method": "optimal", "posterior": "0.9", "caps": {"c": "0.3"}})))
    after = posteriors(joint)
    assert after[("c",), ("c",)] <= Fraction(3, 10) + SLACK
    plan = plan_of({**ALONE, "method": "sequential"})
    release = assessed(ROWS, COLUMNS, plan)
    stated = release.risk.after.guess_probability
    assert float(_guess(valued(joint_of(plan)))) <= stated + 1e-9
    assert caught_guessing(drawn(plan), valued(joint_of(plan)), "guess", Fraction(stated)) == []


@pytest.mark.parametrize("bound", ["posterior", "posterior_own", "odds"])
@pytest.mark.parametrize("method", ["optimal", "lowered"])
def test_a_group_that_cannot_keep_the_bound_is_not_released_under_it(bound: str, method: str) -> None:
    """All records of one group have the same value: nothing hides it."""
    rows = [*ROWS, ("i", "a"), ("i", "a")]
    extra = {"match": "0.5"} if method == "lowered" else {}
    plan = plan_of({**WITHIN, "method": method, bound: ASKED[bound], **extra})
    try:
        joint = joint_of(plan, rows)
    except MaskwellError:
        return
    assert _own(of_group(joint, "i")) <= Fraction(3, 5), "the value of every record of this group is public"


# ---- the same from draws


Pools = Mapping[Record, list[Record]]
"""Released values of the records of each true value."""


def drawn(plan: ReleasePlan) -> Pools:
    done = campaign(ROWS, COLUMNS, plan, times=TIMES // len(ROWS), seed=11)
    found: dict[Record, list[Record]] = {}
    for release in done.looks.tolist():
        for row, look in zip(ROWS, release, strict=True):
            found.setdefault(row[1:], []).append(done.kinds[look][1:])
    return found


def picked(pools: Pools) -> list[tuple[Record, Record]]:
    """True and released values of records that are picked at random, each draw used once."""
    random = np.random.default_rng(2)
    sizes = {true: len(pool) for true, pool in pools.items()}
    n = sum(sizes.values())
    order = random.choice(len(sizes), size=7 * n // 10, p=np.array([*sizes.values()]) / n)
    left = {true: iter(pool) for true, pool in pools.items()}
    return [(true, next(left[true])) for true in (list(sizes)[i] for i in order.tolist())]


def caught_guessing(pools: Pools, joint: Joint, bound: str, asked: Fraction) -> list[str]:
    """Guesses that are right more often than a bound lets them be."""
    at_random = picked(pools)
    after = posteriors(joint)
    released, true = list(shares(joint, 1)), shares(joint, 0)
    if bound == "guess":
        best = {i: max(true, key=lambda j: after.get((j, i), Fraction(0))) for i in released}
        trials = {"all": (len(at_random), sum(best[z] == x for x, z in at_random), asked)}
    elif bound == "parity":
        trials = _two_suspects(pools, joint, asked)
    else:
        trials = {}
        seen = Counter(z for _, z in at_random)
        both = Counter(at_random)
        for i in released:
            for j in [i] if bound in ("posterior_own", "odds") else list(true):
                limit = {"odds": asked / (1 + asked), "factor": asked * true[j]}.get(bound, asked)
                trials[f"{j} given {i}"] = seen[i], both[j, i], limit
    level = FALSE_ALARM / len(trials)
    return [
        f"{name}: {hits} of {n} above {float(limit):.3f}"
        for name, (n, hits, limit) in trials.items()
        if limit < 1 and binom.sf(hits - 1, n, float(limit)) < level
    ]


def _two_suspects(pools: Pools, joint: Joint, asked: Fraction) -> dict[str, tuple[int, int, Fraction]]:
    """Two values are equally likely to somebody before a report; with it he is right at most eta / (1 + eta)."""
    random = np.random.default_rng(3)
    trials = {}
    for (one, first), (other, second) in combinations(pools.items(), 2):
        n = min(len(first), len(second))
        heads = random.integers(2, size=n).tolist()
        report = [(first, second)[side][i] for i, side in enumerate(heads)]
        for seen in shares(joint, 1):
            at = [side for side, z in zip(heads, report, strict=True) if z == seen]
            for side, name in enumerate((one, other)):
                trials[f"{name} of {one} and {other} given {seen}"] = len(at), at.count(side), asked / (1 + asked)
    return trials


# ---- negative controls


@pytest.mark.parametrize("bound", list(MEASURES))
def test_a_release_that_breaks_its_bound_is_caught(bound: str) -> None:
    """Rows of a plan that asks for less, held against the bound of the other."""
    asked = Fraction(ASKED[bound])
    lax = {"posterior": "0.8", "posterior_own": "0.8", "odds": "4", "guess": "0.85", "factor": "6", "parity": "12"}
    plan = plan_of({**ALONE, "method": "optimal", bound: lax[bound]})
    joint = valued(joint_of(plan))
    assert MEASURES[bound](joint) > asked + SLACK
    assert caught_guessing(drawn(plan), joint, bound, asked)


def test_a_value_that_is_published_is_caught() -> None:
    plan = plan_of({**ALONE, "method": "fixed", "matrix": np.eye(4).tolist(), "orientation": "columns"} | _LABELS)
    joint = valued(joint_of(plan))
    assert _posterior(joint) == _guess(joint) == 1
    assert caught_guessing(drawn(plan), joint, "posterior", Fraction(9, 10))


_LABELS = {"categories": ["a", "b", "c", "d"]}
