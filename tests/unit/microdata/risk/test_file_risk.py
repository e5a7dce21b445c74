"""The risk of a whole file."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.releases import stage_of
from tests.support.together import together

from maskwell.core.cells import CellTable
from maskwell.designs import Sparse
from maskwell.errors import CountsError, ParameterError
from maskwell.microdata.risk.file_risk import assess_risk, level_contributions, variable_contributions
from maskwell.microdata.risk.identity_disclosure import individual_risk
from maskwell.microdata.risk.risk_report import RiskReport, percentile
from maskwell.microdata.stages.stage import Stage
from maskwell.reports.text.release_headline import headline

CELLS = {("A", "baker"): 1, ("A", "clerk"): 5, ("B", "clerk"): 3, ("B", "smith"): 2}
TOWNS = CellTable.of(["town", "job"], CELLS)


def stage(P: list[list[Any]], **more: Any) -> Stage:
    return stage_of(["town", "job"], TOWNS.labels(), Sparse.of_matrix(P), TOWNS.counts, **more)


def codes_of(report: RiskReport) -> list[str]:
    return [flag.code for flag in report.flags]  # type: ignore[attr-defined]


EXCHANGE = [
    ["1/5", "4/75", "4/45", "2/15"],
    ["4/15", "21/25", "4/45", "2/15"],
    ["4/15", "4/75", "33/45", "2/15"],
    ["4/15", "4/75", "4/45", "3/5"],
]


def test_before_and_after_a_release() -> None:
    released = CellTable.of(["town", "job"], {("A", "baker"): 2, ("A", "clerk"): 4, ("B", "clerk"): 5})
    report = assess_risk(TOWNS, ["town", "job"], [stage(EXCHANGE)], released=released, threshold=0.5)
    after = report.after
    assert (after.k_anonymity["smallest"], after.uniques, after.cells) == (2, 0, 3) and after.max_risk < 0.5
    assert after.records_above == report.count_above(0.5) == 0 and after.expected_matches < 4
    assert 5 / 11 <= after.guess_probability < 1 and after.expected_true_uniques < after.expected_uniques < 1
    assert after.max_risk_in_range <= after.max_risk_strict <= after.max_risk_any_release == after.max_risk
    assert codes_of(report) == ["released-uniques-are-often-others"]
    measures = {"unconditional", "in_range", "strict", "any_release", "released_counts", "kept"}
    assert set(report.per_cell) == {"before", "after"} | measures
    report = assess_risk(TOWNS, ["job"], [stage(EXCHANGE)])
    assert report.after.uniques is None and report.after.k_anonymity == {"smallest": None, "violations": None}
    content = report.to_dict()
    assert content["uniques"] == content["before"]["uniques"] == 1
    assert content["after"]["expected_matches"] < content["before"]["expected_matches"]
    assert content["keys"] == ["job"]
    other = CellTable.of(["sex", "town", "job"], {("f", *cell): n for cell, n in CELLS.items()})
    report = assess_risk(other, ["sex"], [stage(EXCHANGE)])
    assert codes_of(report) == ["no-key-is-randomized"] and report.after.max_risk == report.before.max_risk


def test_an_exchange_keeps_counts_and_of_a_part_of_the_key_hides_no_more_than_is_known() -> None:
    """Each of six towns takes one of the six records of every town: with the clerk at home there are six clerks."""
    flows = np.array([[0, 1, 0, 0], [1, 3, 0, 1], [0, 0, 2, 1], [0, 1, 1, 0]])
    P = (flows / flows.sum(axis=0)).tolist()
    report = assess_risk(TOWNS, ["town", "job"], [stage(P, method="swap")])
    np.testing.assert_allclose(report.per_cell["strict"], np.diag(flows) / flows.sum(axis=0) ** 2)
    looks = flows / np.outer(flows.sum(axis=1), flows.sum(axis=0))
    np.testing.assert_allclose(report.per_cell["after"], looks.max(axis=0))
    assert report.after.expected_uniques == 1
    assert report.per_cell["any_release"][0] == pytest.approx(1 / 5)  # the baker is one of the five clerks of A
    cells = {("a", "clerk"): 1, ("a", "cook"): 5} | {(town, "clerk"): 6 for town in "bcdef"}
    states = [(town,) for town in "abcdef"]
    exchange = stage_of(["town"], states, Sparse.of_matrix([["1/6"] * 6] * 6), np.full(6, 6), method="swap")
    table = CellTable.of(["town", "job"], cells)
    beyond, inside = (assess_risk(table, keys, [exchange]) for keys in (["town", "job"], ["town"]))
    assert beyond.after.max_risk >= 1 / 6 and beyond.after.max_risk_strict >= 1 / 6
    assert beyond.is_flagged("exchange-beyond-the-keys") and not inside.is_flagged("exchange-beyond-the-keys")
    assert "100" in headline(beyond) and "certainty" not in headline(beyond)  # a bound, and nobody is known to be found
    assert inside.after.max_risk == pytest.approx(1 / 36)


def test_weights_estimate_the_population_and_sums_are_rounded_toward_a_larger_bound() -> None:
    """One of 5,000 weights is a little smaller than the others: sums hardly tell it, and the bound must hold for it."""
    table = CellTable(TOWNS.columns, TOWNS.levels, TOWNS.codes, TOWNS.counts, np.array([17.0, 110, 84.5, 2]))
    report = assess_risk(table, ["town", "job"], [stage(EXCHANGE)], weights=True)
    expected = individual_risk(TOWNS.counts, np.array([17.0, 110, 84.5, 2]))
    assert report.before.expected_reidentifications == pytest.approx((expected * TOWNS.counts).sum())
    assert 0 < report.after.expected_reidentifications < report.before.expected_reidentifications  # type: ignore[operator]
    light = CellTable(TOWNS.columns, TOWNS.levels, TOWNS.codes, TOWNS.counts, np.array([17.0, 110, 84.5, 1]))
    codes = ["risk-of-a-sample", "weights-sum-to-less-than-records"]
    assert codes_of(assess_risk(light, ["town", "job"], weights=True)) == codes
    for less in 10.0 ** np.linspace(-8, -3, 40):
        weights = np.full(5000, 100 / 3)
        weights[0] *= 1 - less
        sums = (np.cumsum(one)[-1:] for one in (weights, weights**2))
        cell = CellTable.of(["job"], {("clerk",): 5000})
        cell = CellTable(cell.columns, cell.levels, cell.codes, cell.counts, *sums)
        bound = assess_risk(cell, ["job"], weights=True).before.max_risk_sampled
        assert 1 / weights[0] <= bound < 1.01 / weights[0]


@together(
    ("f", "p"), [(1, 0.01), (1, 0.9999), (2, 0.01), (2, 0.95), (2, 0.5), (3, 0.9), (1, 1), (2, 1), (3, 1), (9, 1)]
)
def test_individual_risk_is_the_integral(f: int, p: float) -> None:
    u, w = np.polynomial.legendre.leggauss(400)
    u, w = (u + 1) / 2, w / 2
    integral = float((w * p * u ** (f - 1) / (p + (1 - p) * u)).sum())
    tolerance = 1e-9 if f < 3 or p == 1 else 1e-2  # the usual approximation
    assert individual_risk(np.array([f]), np.array([f / p]))[0] == pytest.approx(integral, rel=tolerance)


def test_contributions_of_variables_and_levels_and_percentiles() -> None:
    job, town = variable_contributions(TOWNS, ["town", "job"])
    assert (job.variable, job.matches_without, job.share, town.matches_without) == ("job", 2.0, 0.5, 3.0)
    alone = variable_contributions(TOWNS, ["job"])[0]
    assert alone.matches_without == 1.0
    levels = level_contributions(assess_risk(TOWNS, ["town", "job"]))
    by_level = {one.level: one for one in levels}
    assert by_level["clerk"].mean_risk == pytest.approx(2 / 8)
    assert sum(one.matches for one in levels if one.variable == "job") == pytest.approx(4)
    after = variable_contributions(TOWNS, ["town", "job"], [stage(EXCHANGE)])
    assert {one.variable for one in after} == {"town", "job"}
    assert all(one.matches_without < one.matches for one in after)
    risk, counts = np.array([1.0, 0.5, 0.01]), np.array([5, 10, 85])
    assert percentile(risk, counts, 0.95) == 0.5 and percentile(risk, counts, 0.96) == 1.0


@together(
    ("call", "error", "said"),
    [
        (lambda: assess_risk(TOWNS, ["sex"]), ParameterError, "no column 'sex'"),
        (lambda: assess_risk(TOWNS, ["job"], weights=True), ParameterError, "no weights"),
        (lambda: assess_risk(TOWNS, ["job"], intruder="nobody"), ParameterError, "any-look"),
        (lambda: assess_risk(CellTable.of(["job"], {}), ["job"]), CountsError, "no records"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], error: type[Exception], said: str) -> None:
    refused(error, said, call)


def test_a_bound_that_is_kept_says_what_it_does_not_hold_for() -> None:
    """A baker mostly becomes a smith of B, and only bakers do: there is where to look."""
    P = [["1/4", "1/5", "1/5", 0], [0, "4/5", 0, "1/10"], [0, 0, "4/5", "8/10"], ["3/4", 0, 0, "1/10"]]
    plain = assess_risk(TOWNS, ["town", "job"], [stage(P)]).after
    assert plain.max_risk_in_range < plain.max_risk_any_release == plain.max_risk
    told = assess_risk(TOWNS, ["town", "job"], [stage(P)], threshold=plain.max_risk_in_range, intruder="own-key-95")
    assert told.after.records_above == 0
    assert told.headline["kept"] and told.headline["worst"] == plain.max_risk > told.headline["risk"]
    assert told.is_flagged("best-look-finds-more")
    assert told.is_flagged("rare-releases-find-more") == (plain.max_risk_strict > plain.max_risk_in_range + 1e-9)
    against_all = assess_risk(TOWNS, ["town", "job"], [stage(P)], threshold=plain.max_risk_in_range)
    assert against_all.after.records_above and not against_all.headline["kept"]
    assert len(assess_risk(TOWNS, ["town", "job"], [stage(P)], threshold=plain.max_risk).flags) == 1
