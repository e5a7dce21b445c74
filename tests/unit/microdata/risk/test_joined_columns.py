"""The share of right picks of somebody who weighs other columns, against all files that can be released."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import maskwell as mw
from maskwell import ReleasePlan, SeededRandom
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import MemoryTable
from maskwell.errors import InfeasibleError
from maskwell.microdata import assessment
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


def picks(stage: Any) -> Iterator[tuple[float, float, float, int]]:
    """Over all files: the chance of the best record, its share of right, the weight of the file, and the people.

    Of records that are equally good any may be picked.
    """
    labels, counts = [state[0] for state in stage.states], Counter(KEY)
    chance = {(labels[o], labels[d]): p for o, d, p in zip(*(x.tolist() for x in stage.transitions), strict=True)}
    ways = [[label for label in labels if (label, true) in chance] for true in KEY]
    assert all(way == [true] for way, true in zip(ways[FEW:], KEY[FEW:], strict=True))
    for few in product(*ways[:FEW]):
        shown, weight = [*few, *KEY[FEW:]], prod(chance[o, d] for o, d in zip(few, KEY[:FEW], strict=True))
        for label in sorted({*few}):
            rows = [row for row in range(FEW) if few[row] == label]
            chances = [own(shown, row, chance, counts) for row in rows]
            alike = [row for row, one in zip(rows, chances, strict=True) if one > max(chances) - 1e-12]
            right = sum(KEY[row] == label for row in alike) / len(alike)
            yield max(chances) / counts[label], right / counts[label], weight, counts[label]


def own(shown: list[str], row: int, chance: dict[tuple[str, str], float], counts: Counter[str]) -> float:
    """The chance that a row has the label that it shows in truth."""
    odds = {d: p * counts[d] * fit_of(shown, row, d) for (o, d), p in chance.items() if o == shown[row]}
    return odds[shown[row]] / sum(odds.values())


def test_the_simulated_share_is_that_over_all_files_that_can_be_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both within four standard errors of 400 files of five people; the seed is fixed. False alarm: 1e-4."""
    monkeypatch.setattr(joined_columns, "MOST_DRAWS", 400)
    monkeypatch.setattr(joined_columns, "TRUST", (1.0,))
    stage = released()
    joined, looks = simulated(stage), [*picks(stage)]
    assert joined.people == FEW and joined.draws == 400 and joined.columns == ("v",)
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
        monkeypatch.setattr(joined_columns, "TRUST", trust)
        found.append(simulated(stage))
    assert found[0] != found[1] and found[2].right == max(found[0].right, found[1].right)
    assert found[2].right_surest == max(found[0].right_surest, found[1].right_surest)
    assert found[2] == simulated(stage)  # the same file is judged alike every time
    # Their released states are not the same object as the true ones.
    stage = released()
    assert simulated(replace(stage, outputs=(*stage.states,))) == simulated(stage)


def test_people_in_several_blocks_are_counted_once_and_pairs_of_keys_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are randomized within a column that the intruder does not know. Columns that go with the sum of two
    keys, and with neither of them alone: three standard errors, a fixed seed.
    """
    random = np.random.default_rng(2)
    frame = {
        name: random.integers(size, size=300).tolist() for name, size in (("w", 2), ("a", 12), ("b", 12), ("v", 3))
    }
    entry = {"variables": ["a", "b"], "within": ["w"], "method": "mixing"}
    plan = ReleasePlan.of([entry], keys=["a", "b"], match="0.2", demonstration=True)
    joined = mw.release(frame, plan, random=SeededRandom(1)).release.joined
    counts = Counter(zip(frame["a"], frame["b"], strict=True))
    assert joined.people == sum(n for n in counts.values() if n < 5)
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
    assert both > found() + 0.02


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
        return joined_columns.JoinedRisk(("v",), people=9, draws=2, right=0.5, right_surest=0.7, surest=2, error=0.3)

    monkeypatch.setattr(assessment, "_joined", judge)
    options: dict[str, Any] = {"keys": ["k"], "match": "0.35", "intruder": "all-columns", "demonstration": True}
    plan = ReleasePlan.of([{"variables": ["k"], "method": "mixing"}], **options)
    with pytest.raises(InfeasibleError, match="someone who weighs all columns is right"):
        mw.release({"k": KEY, "v": OTHER}, plan, random=SeededRandom(1))
    assert len(judged) == 2
