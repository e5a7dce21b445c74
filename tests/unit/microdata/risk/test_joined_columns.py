"""The share of right picks of somebody who weighs other columns, against all files that can be released."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import maskwell as mw
from maskwell.core.randomness import SeededRandom
from maskwell.designs import Dense
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import MemoryTable
from maskwell.errors import InfeasibleError
from maskwell.microdata import assessment
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records import column_fit
from maskwell.microdata.risk import joined_columns

KEY = [*"aabcd", *"e" * 8, *"f" * 9]
OTHER = [*"xyxyy", *"xxxxxyyy", *"xxyyyyyyy"]
FEW = 5


def released() -> Any:
    plan = ReleasePlan.of([{"variables": ["k"], "method": "mixing"}], keys=["k"], match="0.35", demonstration=True)
    (stage,) = mw.release({"k": KEY, "v": OTHER}, plan, random=SeededRandom(1)).release.stages
    return stage


def simulated(stage: Any) -> joined_columns.JoinedRisk:
    records = MemoryTable(pa.table({"k": KEY, "v": OTHER}))
    fit = column_fit.read_column_fit(records, count_tables(records, [("k",)])[0], ["v"], 1 / 0.35)
    return joined_columns.joined_risk([stage], ["k"], fit, 1 / 0.35)


def fit_of(shown: list[str], row: int, label: str) -> float:
    """``P(v | label) / P(v)`` of the value of a row, learned from the other rows of a released file."""
    usual = Counter(OTHER)[OTHER[row]] / len(OTHER)
    rest = [i for i, other in enumerate(shown) if other == label and i != row]
    return (
        (sum(OTHER[i] == OTHER[row] for i in rest) + column_fit.PRIOR * usual) / (len(rest) + column_fit.PRIOR) / usual
    )


def picks(stage: Any, scaled: bool, anywhere: bool) -> Iterator[tuple[float, float, float, int]]:
    """Over all files: the chance of the best record, its share of right, the weight of the file, and the people.

    Of records that are equally good any may be picked.
    """
    labels, counts = [state[0] for state in stage.states], Counter(KEY)
    chance = {(labels[o], labels[d]): p for o, d, p in zip(*(x.tolist() for x in stage.transitions), strict=True)}
    ways = [[label for label in labels if (label, true) in chance] for true in KEY]
    assert all(way == [true] for way, true in zip(ways[FEW:], KEY[FEW:], strict=True))
    for few in product(*ways[:FEW]):
        shown, weight = [*few, *KEY[FEW:]], prod(chance[o, d] for o, d in zip(few, KEY[:FEW], strict=True))
        beliefs = believed(shown, chance, counts, rounds=200 if scaled else 0)
        for label in sorted({*KEY[:FEW]} if anywhere else {*few}):
            chances = {row: beliefs[row][label] for row in range(FEW) if anywhere or few[row] == label}
            alike = [row for row, one in chances.items() if one > max(chances.values()) - 1e-9]
            right = sum(KEY[row] == label for row in alike) / len(alike)
            yield max(chances.values()) / counts[label], right / counts[label], weight, counts[label]


def believed(
    shown: list[str], chance: dict[tuple[str, str], float], counts: Counter[str], rounds: int
) -> list[dict[str, float]]:
    """The chance of each true label, by row; scaled in turn to the true counts and to one so many times."""
    rows = [
        {d: p * counts[d] * fit_of(shown, row, d) for (o, d), p in chance.items() if o == shown[row]}
        for row in range(FEW)
    ]
    for last in range(rounds + 1):
        rows = [{d: one / sum(row.values()) for d, one in row.items()} for row in rows]
        if last < rounds:
            sums = {d: sum(row[d] for row in rows) for d in rows[0]}
            rows = [{d: one * counts[d] / sums[d] for d, one in row.items()} for row in rows]
    return rows


def only(monkeypatch: pytest.MonkeyPatch, *, scaled: bool, anywhere: bool, trust: tuple[float, ...] = (1,)) -> None:
    """One attack alone: naive Bayes on single key variables."""
    scalings = [one for one in joined_columns.SCALINGS.items() if ("scaled" in one[0]) == scaled]
    looks = [one for one in joined_columns.LOOKS.items() if one[1] == anywhere]
    for name, value in (
        ("SCALINGS", dict(scalings)),
        ("LOOKS", dict(looks)),
        ("TRUST", {str(one): one for one in trust}),
    ):
        monkeypatch.setattr(joined_columns, name, value)
    monkeypatch.setattr(joined_columns, "ATTACKERS", joined_columns.ATTACKERS[:1])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("anywhere", [False, True])
def test_the_simulated_share_is_that_over_all_files_that_can_be_released(
    scaled: bool, anywhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both within four standard errors of 400 files of five people; the seed is fixed. False alarm: 1e-4."""
    monkeypatch.setattr(joined_columns, "MOST_DRAWS", 400)
    only(monkeypatch, scaled=scaled, anywhere=anywhere)
    stage = released()
    joined, looks = simulated(stage), [*picks(stage, scaled, anywhere)]
    assert joined.people == FEW and joined.draws == 400 and joined.columns == ("v",) and joined.tried == 1
    assert (
        joined.attack.startswith("naive Bayes on single key variables, exponent 1,")
        and ("scaled" in joined.attack) == scaled
    )
    right = sum(share * weight * people for _, share, weight, people in looks) / FEW
    assert abs(joined.right - right) < 4 * (right * (1 - right) / (400 * FEW)) ** 0.5
    reached, found, total = 0.0, 0.0, sum(weight * people for _, _, weight, people in looks)
    for _, share, weight, people in sorted(looks, reverse=True):
        if reached < joined_columns.SUREST * total:
            reached, found = reached + weight * people, found + share * weight * people
    assert abs(joined.right_surest - found / reached) < 4 * joined.error


def test_the_best_of_several_intruders_is_told_also_of_matrices_that_were_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage, found = released(), []
    for trust in ((1.0,), (0.0,), (1.0, 0.0)):  # nothing of what was learned, too
        only(monkeypatch, scaled=False, anywhere=False, trust=trust)
        found.append(simulated(stage))
        monkeypatch.undo()
    assert found[0] != found[1]
    assert found[2].right == max(found[0].right, found[1].right)
    assert found[2].right_surest == max(found[0].right_surest, found[1].right_surest)
    # Released states that are not the same object as the true ones; and the same file is judged alike every time.
    stage = released()
    assert simulated(replace(stage, outputs=(*stage.states,))) == simulated(stage)


def test_every_attack_is_tried_and_the_best_has_its_name() -> None:
    """With one key: naive Bayes on it, weighted columns, neighbours, both; three exponents, two scalings, two looks."""
    joined = simulated(released())
    assert joined.tried == 4 * 3 * 2 * 2 and joined.to_spare == joined.right_surest + joined.error
    assert joined.attack.split(",")[0] in {one.name for one in joined_columns.ATTACKERS}


def test_a_second_step_that_many_releases_undo_does_not_count() -> None:
    """Enough releases of a kept report that is randomized once more reveal it: the first step is what is attacked."""
    stage = released()
    stays = Dense.of(np.full((len(stage.states),) * 2, Fraction(1, len(stage.states))).tolist())
    assert simulated(replace(stage, design=stays, steps=(stage.design, stays))) == simulated(stage)
    assert simulated(replace(stage, design=stays)) != simulated(stage)


def test_people_with_the_same_keys_in_several_blocks_are_counted_once() -> None:
    """Keys that are randomized within a column that the intruder does not know."""
    random = np.random.default_rng(2)
    frame = {
        name: random.integers(size, size=300).tolist() for name, size in (("w", 2), ("a", 12), ("b", 12), ("v", 3))
    }
    entry = {"variables": ["a", "b"], "within": ["w"], "method": "mixing"}
    plan = ReleasePlan.of([entry], keys=["a", "b"], match="0.2", demonstration=True)
    joined = mw.release(frame, plan, random=SeededRandom(1)).release.joined
    counts = Counter(zip(frame["a"], frame["b"], strict=True))
    assert joined.people == sum(n for n in counts.values() if n < 5)


@pytest.mark.parametrize(("entry", "match"), [({"within": ["v"]}, "0.2"), ({}, "1")])
def test_a_limit_is_kept_where_nobody_can_be_found_by_other_columns(entry: dict[str, Any], match: str) -> None:
    """Either the other column tells nothing, since keys are exchanged within it, or no keys are those of few."""
    random = np.random.default_rng(2)
    frame = {name: random.integers(size, size=300).tolist() for name, size in (("a", 12), ("b", 3), ("v", 2))}
    entry = {"variables": ["a", "b"], "method": "mixing", **entry}
    options: dict[str, Any] = {"keys": ["a", "b"], "match": match, "intruder": "all-columns", "demonstration": True}
    release = mw.release(frame, ReleasePlan.of([entry], **options), random=SeededRandom(1)).release
    assert release.joined is None and release.file.others == ("v",)


def test_matrices_that_do_not_follow_the_limit_are_judged_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an earlier release, or of a method that does not look at other columns."""
    judged = []

    def judge(*arguments: Any) -> joined_columns.JoinedRisk:
        judged.append(arguments)
        return joined_columns.JoinedRisk(("v",), "guesses", 1, 9, 2, right=0.5, right_surest=0.7, surest=2, error=0.3)

    monkeypatch.setattr(assessment, "_joined", judge)
    options: dict[str, Any] = {"keys": ["k"], "match": "0.35", "intruder": "all-columns", "demonstration": True}
    plan = ReleasePlan.of([{"variables": ["k"], "method": "mixing"}], **options)
    with pytest.raises(InfeasibleError, match="linkage attack on all columns re-identifies 1 of"):
        mw.release({"k": KEY, "v": OTHER}, plan, random=SeededRandom(1))
    assert len(judged) == 2


def test_what_only_pairs_of_keys_tell_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that go with the sum of two keys, and with neither of them alone: three standard errors, a fixed seed."""
    random = np.random.default_rng(2)
    frame = {name: random.integers(size, size=900) for name, size in (("a", 7), ("b", 7), ("c", 12))}
    for name in ("u", "v", "w"):
        frame[name] = np.where(random.random(900) < 0.8, (frame["a"] + frame["b"]) % 7, random.integers(7, size=900))
    entry = {"variables": ["a", "b", "c"], "method": "mixing", "block_size": 40}
    plan = ReleasePlan.of([entry], keys=["a", "b", "c"], match="0.2", demonstration=True)

    def found() -> float:
        joined = mw.release(frame, plan, random=SeededRandom(1)).release.joined
        return joined.right_surest

    both = found()
    monkeypatch.setattr(column_fit, "MOST_OF_PAIRS", 0)
    monkeypatch.setattr(column_fit, "MOST_OF_TRIPLES", 0)
    assert both > found() + 0.02
