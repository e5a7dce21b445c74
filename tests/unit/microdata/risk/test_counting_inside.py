"""Unchanged columns inside whose cells records are counted: against every release of small files."""

import random
from collections import Counter
from itertools import product
from typing import Any

import pytest
from tests.support.intruders import Record, assessed, best_attack_on, best_attacks, laws_of, rows_of
from tests.support.quiet import refused
from tests.support.together import together

from maskwell import ReleasePlan, SeededRandom
from maskwell.core.cells import CellTable
from maskwell.errors import InfeasibleError
from maskwell.microdata.publication import release_table
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.stages.stage import unchanged_columns

COLUMNS = ("sex", "income")
METHODS = [{"method": "sequential"}, *({"method": "method1", "theta": theta} for theta in ("0.2", "0.9"))]


def cells_of(rng: random.Random) -> dict[Record, int]:
    counts = {(sex, income): rng.choice([0, 1, 1, 2, 3]) for sex in "fmx" for income in ("low", "high")}
    return {cell: n for cell, n in counts.items() if n}


def plan_of(protect: dict[str, object], **more: object) -> ReleasePlan:
    return ReleasePlan.of([protect], keys=["sex"], order="kept", accept=["record-order"], demonstration=True, **more)


@together(("seed", "method"), product(range(8), METHODS))
def test_no_row_of_a_small_file_is_found_more_easily(seed: int, method: dict[str, str]) -> None:
    """Whoever sees the column within which is randomized: one kind of row counted, and all of them."""
    rows = rows_of(cells_of(random.Random(seed)))[:8]
    plan = plan_of({"variables": ["sex"], "within": ["income"], **method})
    release = assessed(rows, COLUMNS, plan)
    laws, keys = laws_of(rows, COLUMNS, release.stages), [row[:1] for row in rows]
    one, _ = best_attacks(laws, keys)
    assert float(one.chance) <= release.risk.after.max_risk_any_release + 1e-12
    table = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    done = release_table(table, plan, random=SeededRandom(seed))
    exact = best_attack_on(laws, keys, [*zip(*done.data.values(), strict=True)])
    told = done.release.risk.after.max_risk_released_counts
    assert told is None or float(exact.chance) <= max(told, done.release.risk.worst) + 1e-12


def test_what_is_seen_of_unchanged_columns_counts_in_the_headline() -> None:
    rows = rows_of({("f", "rich"): 3, ("f", "mid"): 3, ("m", "mid"): 1})
    protect = {"variables": ["sex"], "within": ["income"], "method": "method1", "theta": "0.9"}
    seen, hidden = (assessed(rows, COLUMNS, plan_of(protect, **more)).risk for more in ({}, {"drop": ["income"]}))
    assert seen.after.max_risk_any_release == pytest.approx(9 / 16)
    assert hidden.after.max_risk_any_release < 0.4
    rows = rows_of({("f", "low"): 2, ("m", "low"): 2, ("f", "high"): 3, ("m", "high"): 2})
    both = [{"variables": [a], "within": [b], "method": "sequential"} for a, b in (COLUMNS, COLUMNS[::-1])]
    kept = {"order": "kept", "accept": ["record-order"]}
    stages = assessed(rows, COLUMNS, ReleasePlan.of(both, keys=["sex"], demonstration=True, **kept)).stages
    assert unchanged_columns(stages, ["sex"]) == () and unchanged_columns(stages[:1], ["sex"]) == ("income",)
    assert unchanged_columns(stages[:1], COLUMNS) == ()
    rows = rows_of(FOLLOWS)
    release = assessed(rows, ("region", "country"), plan_of_regions({"method": "method1", "theta": "0.6"}))
    assert release.file.seen == ("country",)
    alone = assess_risk(CellTable.of(["region"], Counter(row[:1] for row in rows)), ["region"], release.stages)
    assert release.risk.after.max_risk > alone.after.max_risk + 0.1


FOLLOWS = {("a1", "A"): 1, ("a2", "A"): 9, ("b1", "B"): 9, ("b2", "B"): 9}


def plan_of_regions(method: dict[str, str], **more: Any) -> ReleasePlan:
    protect = {"variables": ["region"], **method}
    accept = [*more.pop("accept", ()), "record-order"]
    return ReleasePlan.of([protect], keys=["region"], order="kept", accept=accept, demonstration=True, **more)


@together("more", [{}, {"accept": ["country"]}, {"drop": ["country"]}])
def test_a_plan_that_such_a_column_breaks_is_refused(more: dict[str, list[str]]) -> None:
    plan = plan_of_regions({"method": "inverse-frequency"}, match="0.5", **more)
    if more:
        assert assessed(rows_of(FOLLOWS), ("region", "country"), plan).file.seen == ()
        return
    raised = refused(
        InfeasibleError,
        "keep a probability of a correct match above",
        assessed,
        rows_of(FOLLOWS),
        ("region", "country"),
        plan,
    )
    assert 'add drop = ["country"] or use linked' in raised.hint
