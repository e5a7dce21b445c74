"""The risk of keys and sensitive columns, also of those that hold randomized reports."""

import math
import random
from collections import Counter
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell import Categories
from maskwell.core.cells import CellTable
from maskwell.designs import Dense, Sparse
from maskwell.errors import CountsError, ParameterError
from maskwell.estimation import Sample
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.microdata.risk.attribute_disclosure import attribute_risk, reported_attribute
from maskwell.microdata.risk.file_risk import assess_risk


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


def test_a_bound_is_reached_and_what_cannot_be_reported_has_no_posterior() -> None:
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
    still = Dense.of([[1, 0], [0, 0], [0, 1]])
    assert reported_attribute("x", Sample.of([2, 0, 2], still).counts, still).max_posterior == pytest.approx(1)
    k = 20_000
    design = Sparse.of_columns([{j: 3, j ^ 1: 1} for j in range(k)], Categories.numbered(k))
    assert reported_attribute("x", Sample.of(np.ones(k, dtype=int), design).counts, design).guess == pytest.approx(0.75)


DRUGS = {"town": ["A"] * 50 + ["B"] * 50, "drugs": ["yes"] * 16 + ["no"] * 34 + ["yes"] * 16 + ["no"] * 34}
WARNER = mw.design("warner", p="0.8")


def test_a_sensitive_column_of_reports_or_sets_is_judged_by_its_design() -> None:
    plain = mw.risk(DRUGS, "town", sensitive_columns="drugs")
    assert any("taken as true" in flag for flag in plain.flags)
    judged = mw.risk(DRUGS, "town", sensitive_columns="drugs", designs={"drugs": WARNER})
    assert judged.attributes == ()
    (learned,) = judged.reported
    assert learned.max_posterior == pytest.approx(0.8 * 0.8 / (0.8 * 0.8 + 0.2 * 0.2))  # pi(no) = 0.8 by moments
    assert learned.guess_without_report == pytest.approx(0.8)
    assert "the key variables reveal it" not in str(judged.to_report())
    assert judged.to_dict()["randomized"][0]["parity_exact"] == "4"
    design = mw.design("subset", categories=["a", "b", "c", "d"], gamma=3, size=1)
    reports = mw.randomize({"x": ["a", "b", "c", "d"] * 25}, {"x": design}, random=mw.SeededRandom(1))
    table = {"town": ["A"] * 100, "x": reports["x"]}
    (learned,) = mw.risk(table, "town", sensitive_columns="x", designs={"x": design}).reported
    share = learned.guess_without_report
    assert learned.bound and learned.max_posterior == pytest.approx(3 * share / (1 + 2 * share))


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
    refused(ParameterError if what != "not" else mw.MaskwellError, what, mw.risk, DRUGS, "town", **options)


def records(number: int) -> list[tuple[Any, ...]]:
    draw = random.Random(number)
    towns, jobs = "ABCDE"[: draw.randint(1, 5)], "xyz"[: draw.randint(1, 3)]
    values = [None, *range(draw.randint(1, 6))]
    rare = [draw.random() ** 3 + 0.01 for _ in values]
    people = [
        (draw.choice(towns), draw.choice(jobs), draw.choices(values, rare)[0]) for _ in range(draw.randint(5, 80))
    ]
    return [*people, ("A", "x", 0)]


def spread_of(group: Counter[Any]) -> float:
    shares = [times / group.total() for times in group.values()]
    return math.exp(-sum(p * math.log(p) for p in shares))


def recursive(group: Counter[Any]) -> int:
    falling = sorted(group.values(), reverse=True)
    ranks = range(2, len(falling) + 1)
    return max([1, *(rank for rank in ranks if falling[0] < 2 * sum(falling[rank - 1 :]))])


def over_records(values: list[float]) -> dict[str, Any]:
    low, first, middle, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])  # type 7 of R
    names = ("minimum", "first_quartile", "median", "mean", "third_quartile", "maximum")
    figures = zip(names, (low, first, middle, float(np.mean(values)), third, high), strict=True)
    below = {str(level): sum(value < level - 1e-9 for value in values) for level in (2, 3, 5)}
    return {name: pytest.approx(float(value)) for name, value in figures} | {"below": below}


def one_by_one(people: list[tuple[Any, ...]]) -> dict[str, Any]:
    known = [person for person in people if person[2] is not None]
    groups = {key: Counter(p[2] for p in known if p[:2] == key) for key in {p[:2] for p in known}}
    total = Counter(p[2] for p in known)
    n, sizes = len(known), {key: sum(group.values()) for key, group in groups.items()}

    def far(key: Any) -> float:
        return sum(abs(groups[key][v] / sizes[key] - total[v] / n) for v in total) / 2

    def spread(key: Any) -> float:
        return spread_of(groups[key])

    one = [key for key, group in groups.items() if len(group) == 1]
    skewed = [key for key, group in groups.items() if len(group) > 1 and far(key) > 0.5 + 1e-12]
    return {
        "values": len(total),
        "records": n,
        "cells": len(groups),
        "homogeneous_cells": len(one),
        "homogeneous_records": sum(sizes[key] for key in one),
        "alone": sum(size == 1 for size in sizes.values()),
        "skewed_cells": len(skewed),
        "skewed_records": sum(sizes[key] for key in skewed),
        "fewest_values": min(map(len, groups.values())),
        "violations": {str(few): sum(sizes[k] for k, g in groups.items() if len(g) < few) for few in (2, 3, 5)},
        "least_entropy": pytest.approx(min(map(spread, groups))),
        "l_diversity": {
            name: over_records([kind(groups[key]) for key in groups for _ in range(sizes[key])])
            for name, kind in (("distinct", len), ("entropy", spread_of), ("recursive", recursive))
        },
        "greatest_distance": pytest.approx(max(map(far, groups))),
        "guess": pytest.approx(sum(max(group.values()) for group in groups.values()) / n),
        "guess_without_keys": pytest.approx(max(total.values()) / n),
    }


@together("number", range(40))
def test_as_counted_one_by_one(number: int) -> None:
    people = records(number)
    table = CellTable.of(["town", "job", "value"], dict(Counter(people)))
    told = attribute_risk(table, ["town", "job"], "value").to_dict()
    assert told == {"sensitive": "value", **one_by_one(people)}
    coarse = attribute_risk(table, ["town"], "value")
    assert coarse.greatest_distance <= told["greatest_distance"] + 1e-12, "a coarser cell is a mixture of finer ones"
    assert coarse.guess <= told["guess"] + 1e-12 and coarse.fewest_values >= told["fewest_values"]


HEALTH = """Urban,Female,Secondary incomplete,Employed,yes
Urban,Female,Secondary incomplete,Employed,yes
Urban,Female,Primary incomplete,Non-LF,yes
Urban,Male,Secondary complete,Employed,yes
Rural,Female,Secondary complete,Unemployed,yes
Urban,Male,Secondary complete,Employed,no
Urban,Female,Primary complete,Non-LF,no
Urban,Male,Post-secondary,Unemployed,yes
Urban,Female,Secondary incomplete,Non-LF,no
Urban,Female,Secondary incomplete,Non-LF,yes"""
"""The example of [Benschop2018], whose diversity is printed there: 1 1 1 2 1 2 1 1 2 2, with mean 1.4."""


def test_diversity_as_the_practice_guide_prints_it() -> None:
    rows = [tuple(line.split(",")) for line in HEALTH.splitlines()]
    keys = ["residence", "gender", "education", "labour"]
    told = attribute_risk(CellTable.of([*keys, "health"], dict(Counter(rows))), keys, "health").diversity.distinct
    quartiles = told.minimum, told.first_quartile, told.median, told.third_quartile, told.maximum
    assert quartiles == (1, 1, 1, 2, 2) and told.mean == pytest.approx(1.4)
    assert told.below == {"2": 6, "3": 10, "5": 10}


def test_the_verb_tells_before_and_after_or_refuses() -> None:
    true = {"town": [*"AABBBB"], "health": ["ill", "ill", "well", "well", "ill", "well"]}
    released = {"town": [*"ABABBB"], "health": true["health"]}
    result = mw.risk(true, "town", sensitive_columns=["health"], released=released)
    assert [one[0].homogeneous.records for one in (result.attributes, result.attributes_released)] == [2, 0]
    content = result.to_dict()["sensitive"]
    assert content["before"][0]["violations"] == {"2": 2, "3": 6, "5": 6}
    text = "\n".join(result.to_report())
    assert "health, released" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "sensitive" not in mw.risk(true, "town").to_dict()
    with pytest.raises(CountsError, match="no record has a value"):
        attribute_risk(CellTable.of(["town", "health"], {("A", None): 2}), ["town"], "health")
    refused(ParameterError, "names a key", mw.risk, {"town": [*"AB"]}, "town", sensitive_columns="town")


# ---- what a report tells


@together("seed", range(20))
def test_the_best_guess_from_a_report_beats_all_other_rules(seed: int) -> None:
    random = np.random.default_rng(seed)
    k, m = sorted(random.integers(2, 5, size=2).tolist())
    P = random.dirichlet(np.ones(m), size=k).T
    design = Dense.of(P)
    counts = Sample.of(random.integers(1, 50, m), design).counts
    pi = estimate_by_likelihood(counts, design).pi_hat
    chances = [sum(P[i, j] * pi[j] for i, j in enumerate(rule)) for rule in product(range(k), repeat=m)]
    found = reported_attribute("x", counts, design)
    assert found.guess == pytest.approx(max(chances)) and found.guess_without_report == pytest.approx(pi.max())
    assert found.guess >= found.guess_without_report - 1e-12
    assert found.max_posterior == pytest.approx((P * pi / (P @ pi)[:, None]).max())
