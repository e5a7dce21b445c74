"""SUDA scores, against those that sdcMicro publishes with its tests, and against a slow twin."""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.support.together import together

import maskwell as mw
from maskwell.core import CellTable
from maskwell.microdata.risk.special_unique_scores import SpecialUniques, special_uniques

Row = tuple[Hashable, ...]


def scored(rows: Sequence[Row], **options: float) -> tuple[SpecialUniques, list[float]]:
    """The result, and the score of each row."""
    keys = [f"key {i}" for i in range(len(rows[0]))]
    found = special_uniques(CellTable.of(keys, dict(Counter(rows))), keys, **options)  # type: ignore[arg-type]
    by_label = dict(zip(found.table.labels(), found.scores.tolist(), strict=True))
    return found, [by_label[row] for row in rows]


def columns(*texts: str) -> list[Row]:
    return [*zip(*(text.split() for text in texts), strict=True)]


BOOK = columns("2 2 2 2 2 2 2 6", "m m m m f f f m", "+ + - - - - - -", "h h h h u h i u")
GUIDELINE = columns(
    "U U U U R U U U U U", "F F F M F M F M F F", "si si pi sc sc sc pc ps si si", "E E N E U E N U N N"
)


@together(["rows", "scores"], [(BOOK, [0, 0, 0, 0, 4, 2, 6, 8]), (GUIDELINE, [0, 0, 6, 0, 12, 0, 6, 10, 0, 0])])
def test_examples_of_sdcmicro(rows: list[Row], scores: list[float]) -> None:
    """Its tests "book example" and "sdc guideline"."""
    assert scored(rows)[1] == scores


def test_shares_of_keys_as_sdcmicro_has_them() -> None:
    found, _ = scored([(2, 0, 0), (1, 3, 6), (1, 0, 0)])
    assert [*found.shares.values()] == [0.5, 0.375, 0.375]


@together(["keys", "score"], [("urbrur,roof,walls,water,sex", 2), ("urbrur,roof,walls,water,electcon,relat,sex", 180)])
def test_the_first_record_of_testdata2(shared: Path, keys: str, score: float) -> None:
    with (shared / "data" / "sdc_testdata2.csv").open(encoding="utf-8", newline="") as lines:
        rows = [tuple(row[key] for key in keys.split(",")) for row in csv.DictReader(lines)]
    assert scored(rows)[1][0] == score


def slow(rows: list[Row], largest: int) -> list[float]:
    """By the definition, set by set and record by record."""
    k, scores = len(rows[0]), []
    for row in rows:
        sets = list[set[int]]()
        for size in range(1, largest + 1):
            for places in itertools.combinations(range(k), size):
                alike = sum(all(other[i] == row[i] for i in places) for other in rows)
                known = None not in [row[i] for i in places]
                if alike == 1 and known and not any(part <= {*places} for part in sets):
                    sets.append({*places})
        factors = ([k - i for i in range(len(one), largest + 1) if i < k] for one in sets)
        scores.append(float(sum(map(math.prod, factors))))
    return scores


@together(["largest", "score"], [(1, 3), (2, 12), (3, 12), (4, 12)])
def test_scores_by_the_largest_set_that_is_looked_for(largest: int, score: float) -> None:
    """The SDC Practice Guide works out the fifth record with M = 3: {Rural} counts 3 * 2 * 1 and three pairs 2 * 1.

    With M = 2 its formula, the product of 4 - i for i from k to M, gives 3 * 2 and 2; with M = 1, 3 for {Rural} alone.
    """
    assert scored(GUIDELINE, largest=largest)[1][4] == score


def test_scores_are_those_of_a_slow_twin() -> None:
    random = np.random.default_rng(8)
    for largest in (1, 2, 3, 4):
        drawn = random.integers(0, 4, (25, 4)).tolist()
        rows = [tuple(None if one == 3 and i == 2 else one for i, one in enumerate(row)) for row in drawn]
        found, scores = scored(rows, largest=largest)
        assert scores == slow(rows, largest)
        assert sum(found.sets.values()) >= found.uniques - sum(None in row for row in rows) or largest < 4


def test_scores_of_a_sample_rise_with_its_share() -> None:
    """The estimates of all scored records are around d, they rank as scores do, and with all people sampled are 1."""
    found, _ = scored(GUIDELINE, fraction=0.1)
    assert found.dis == pytest.approx(4 * 0.1 / (4 * 0.1 + 6 * 0.9))
    some = found.scores > 0
    assert (np.argsort(found.scores[some], kind="stable") == np.argsort(found.dis_scores[some], kind="stable")).all()
    assert found.dis_scores[some].min() < found.dis < found.dis_scores.max()
    whole, _ = scored(GUIDELINE, fraction=1.0)
    assert whole.dis_scores[some].tolist() == [1.0] * int(some.sum())
    assert sum(whole.bands.values()) == len(GUIDELINE) == whole.bands["0"] + whole.bands["above 0.7"]


def test_the_verb_writes_scores_beside_risks() -> None:
    data = dict(zip("abcd", map(list, zip(*GUIDELINE, strict=True)), strict=True)) | {"w": [50.0] * 9 + [100.0]}
    result = mw.risk(data, "a,b,c,d", suda=True, weights="w")
    assert result.special is not None
    assert result.special.fraction == pytest.approx(10 / 550)
    assert result.record_risks()["suda"].tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert result.to_dict()["special_uniques"]["special"] == result.special.special == 4
    assert "special uniques" in str(result.to_report())
    before = result.before
    assert before.max_risk_sampled == pytest.approx(1 / 50)
    assert before.max_risk_population is not None
    assert before.max_risk_population == pytest.approx(math.log(50) / 49)  # alone, of some 50
