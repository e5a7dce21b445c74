"""Key variables and sensitive columns that hold randomized reports."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from tests.support.together import together

import maskwell as mw
from maskwell.core import CellTable
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.microdata.risk import assess_risk


def best_match(P: np.ndarray, truths: list[int], towns: list[int], reports: list[int], person: int) -> np.ndarray:
    """By enumeration: the probability that each record is the person's, for an intruder who knows all true keys."""
    n = len(truths)
    chance = np.zeros(n)
    for owner in permutations(range(n)):
        if all(towns[owner[r]] == towns[r] for r in range(n)):
            chance[owner.index(person)] += np.prod([P[reports[r], truths[owner[r]]] for r in range(n)])
    return chance / chance.sum()


@together("seed", range(4))
def test_the_bound_holds_against_an_intruder_who_knows_the_true_keys_of_everybody(seed: int) -> None:
    random = np.random.default_rng(seed)
    raw = random.integers(1, 9, (3, 3))
    design = Dense.of([[f"{a}/{b}" for a, b in zip(row, raw.sum(axis=0), strict=True)] for row in raw])
    P = design.matrix()
    truths, towns = random.integers(0, 3, 4).tolist(), sorted(random.integers(0, 2, 4).tolist())
    for reports in product(range(3), repeat=4):
        keys = list(zip(towns, reports, strict=True))
        table = CellTable.of(["town", "job"], {key: keys.count(key) for key in dict.fromkeys(keys)})
        report = assess_risk(table, ["town", "job"], parities={"job": design.parity_exact()})
        held = [tuple(report.table.levels[i][c] for i, c in enumerate(row)) for row in report.table.codes]
        bound = dict(zip(held, report.per_cell["before"], strict=True))
        for person in range(4):
            found = best_match(P, truths, towns, list(reports), person)
            assert all(found[r] <= bound[keys[r]] + 1e-12 for r in range(4))


def test_a_missing_report_hides_nobody() -> None:
    """Randomization does not make one missing: the only person without a report was said to be found with 21 %."""
    table = CellTable.of(["town", "job"], {("A", None): 1, ("A", "a"): 3, ("A", "b"): 3, ("B", None): 2})
    report = assess_risk(table, ["town", "job"], parities={"job": 4})
    near = 1 / (3 + 3 / 16)
    assert report.per_cell["before"] == pytest.approx([near, near, 1, 1 / 2])
    alone = assess_risk(table, ["job"], parities={"job": 4})
    assert alone.per_cell["before"] == pytest.approx([near, near, 1 / 3])
    table = CellTable.of(["job"], {("a",): 2, ("b",): 6})
    assert assess_risk(table, ["job"], parities={"job": 1}).before.max_risk == pytest.approx(1 / 8)
    assert assess_risk(table, ["job"], parities={"job": float("inf")}).before.max_risk == pytest.approx(1 / 2)
    # Warner's design, one true yes among true nos: reports swapped are gamma squared less likely.
    P = np.array([[0.8, 0.2], [0.2, 0.8]])
    found = best_match(P, [0, 1, 1], [0, 0, 0], [0, 1, 1], 0)
    table = CellTable.of(["job"], {(0,): 1, (1,): 2})
    report = assess_risk(table, ["job"], parities={"job": 4})
    assert found[0] == pytest.approx(1 / (1 + 2 / 16))
    assert report.before.max_risk == pytest.approx(found[0])
    assert report.before.guess_probability is report.before.expected_true_uniques is None  # true keys are not known


DRUGS = {"town": ["A"] * 50 + ["B"] * 50, "drugs": ["yes"] * 16 + ["no"] * 34 + ["yes"] * 16 + ["no"] * 34}
WARNER = mw.design("warner", p="0.8")


def test_a_sensitive_column_of_reports_is_judged_by_its_design() -> None:
    plain = mw.risk(DRUGS, "town", sensitive_columns="drugs")
    assert any("taken as true" in flag for flag in plain.flags)
    judged = mw.risk(DRUGS, "town", sensitive_columns="drugs", designs={"drugs": WARNER})
    assert judged.attributes == ()
    (learned,) = judged.reported
    assert learned.max_posterior == pytest.approx(0.8 * 0.8 / (0.8 * 0.8 + 0.2 * 0.2))  # pi(no) = 0.8 by moments
    assert learned.guess_without_report == pytest.approx(0.8)
    assert "who knows the keys knows it" not in str(judged.to_report())
    assert judged.to_dict()["randomized"][0]["parity_exact"] == "4"
    design = mw.design("subset", categories=["a", "b", "c", "d"], gamma=3, size=1)
    reports = mw.randomize({"x": ["a", "b", "c", "d"] * 25}, {"x": design}, random=mw.SeededRandom(1))
    table = {"town": ["A"] * 100, "x": reports["x"]}
    (learned,) = mw.risk(table, "town", sensitive_columns="x", designs={"x": design}).reported
    share = learned.guess_without_report
    assert learned.bound
    assert learned.max_posterior == pytest.approx(3 * share / (1 + 2 * share))


@together(
    ("options", "what"),
    [
        ({"designs": {"other": WARNER}}, "neither a key variable nor a sensitive column"),
        (
            {"designs": {"drugs": WARNER}, "sensitive_columns": "drugs", "released": DRUGS},
            "released cannot be combined",
        ),
        ({"designs": {"town": WARNER}, "suda": True}, "suda cannot be combined"),
        ({"designs": {"town": WARNER}, "sensitive_columns": "drugs"}, "sensitive_columns without a design"),
        (
            {"designs": {"drugs": mw.When({"town": "A"}, WARNER)}, "sensitive_columns": "drugs"},
            "one design for each column",
        ),
        ({"designs": {"town": WARNER}}, "not"),  # A and B are not reports of the design
    ],
)
def test_designs_that_do_not_fit_are_refused(options: dict[str, object], what: str) -> None:
    with pytest.raises(ParameterError if what != "not" else mw.MaskwellError, match=what):
        mw.risk(DRUGS, "town", **options)
