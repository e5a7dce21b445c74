"""An intruder who knows the matrix and the counts looks where it is easiest, and finds nobody more often than stated.

Each release is drawn many times. For every record of a small cell, every released value i and every number t of records
that show it, the intruder picks one of the t whenever t of them turn up. Right picks are counted against the stated
chance by a one-sided binomial test; over all looks together a false alarm has a chance of at most 1e-6.
"""

import numpy as np
import pytest
from scipy.stats import binom

from maskwell import Release, ReleasePlan, SeededRandom
from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.designs.coded import CodedDesign
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.true_file import tables_of

COUNTS = [1, 2, 3, 40, 60]
RELEASES = 20_000
FALSE_ALARM = 1e-6


def released(match: str, **more: str) -> Release:
    """A plan for one column, by the fewest changes that keep a limit."""
    labels = "abcde"[: len(COUNTS)]
    table = CellTable.of(["x"], {(label,): n for label, n in zip(labels, COUNTS, strict=True)})
    intruder = {"intruder": more.pop("intruder")} if "intruder" in more else {}
    plan = ReleasePlan.of([{"variables": "x", **more}], keys=["x"], match=match, **intruder)
    return assess_tables(dict.fromkeys(tables_of(plan), table), plan)


def drawn(design: CodedDesign, random: SeededRandom) -> Array:
    """Released values of all records, shape (releases, records)."""
    codes = np.repeat(np.arange(len(COUNTS)), COUNTS)
    return np.asarray(design.sampler(random).sample(np.tile(codes, RELEASES)).data).reshape(RELEASES, -1)


def looks_that_exceed(release: Release, stated: float) -> tuple[int, float]:
    """How many looks find more than stated beyond chance, and the largest share of right picks with 200 tries."""
    values = drawn(release.stages[0].design, SeededRandom(20))
    picks = np.random.default_rng(21).random(RELEASES)
    small = range(sum(n for n in COUNTS if n < 1 / stated))
    tests, exceeding, most = 0, [], 0.0
    for i in range(len(COUNTS)):
        here = values == i
        t = here.sum(axis=1)
        for number in np.unique(t[t > 0]).tolist():
            seen = t == number
            picked = (picks[seen] * number).astype(int)
            for record in small:
                before = here[seen, :record].sum(axis=1)
                right = int((here[seen, record] & (before == picked)).sum())
                tests += 1
                exceeding.append(float(binom.sf(right - 1, int(seen.sum()), stated)))
                if seen.sum() >= 200:
                    most = max(most, right / int(seen.sum()))
    return int((np.array(exceeding) < FALSE_ALARM / tests).sum()), most


@pytest.mark.parametrize("method", ["lowered", "optimal", "inverse-frequency", "mixing"])
@pytest.mark.parametrize("match", ["0.2", "0.3"])
def test_no_look_finds_more_than_the_headline_says(method: str, match: str) -> None:
    release = released(match, method=method)
    if release.risk.headline["kept"]:
        assert release.risk.headline["risk"] <= float(match) + 1e-9
    assert looks_that_exceed(release, release.risk.headline["risk"])[0] == 0


def test_the_figure_of_who_looks_only_at_own_keys_is_exceeded() -> None:
    """The negative control: a limit that holds for the milder intruder alone, attacked by the other one."""
    release = released("0.1", method="lowered", intruder="own-key-95")
    assert release.risk is not None and release.risk.after is not None and release.risk.headline["kept"]
    beyond, most = looks_that_exceed(release, release.risk.after.max_risk_in_range)
    assert beyond > 0 and most > 0.25 and release.risk.headline["worst"] >= most - 0.05
    assert looks_that_exceed(release, release.risk.headline["worst"])[0] == 0
