"""Tests of independence and odds ratios of released tables whose matrices are withheld."""

import json
import math

import numpy as np
import pytest

import maskwell as mw
from maskwell.core.randomness import SeededRandom
from maskwell.errors import ParameterError
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.folder.receipt import Group, Receipt, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import dumps, public_receipt
from maskwell.microdata.publication import release_table

PLAN = mw.ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.05"}], demonstration=True)


def released(shares: np.ndarray, n: int, run: int) -> mw.Survey:
    """A sample from a table of sex and job, released."""
    place = np.random.default_rng(run).choice(shares.size, size=n, p=shares.ravel())
    sex, job = np.unravel_index(place, shares.shape)
    data = {"sex": np.array(["f", "m"])[sex].tolist(), "job": np.array(["a", "b", "c"])[job].tolist()}
    made = release_table(data, PLAN, random=mw.SeededRandom(run))
    return mw.Survey.from_release(made.data, made.receipt())


DEPENDENT = np.array([[0.10, 0.20, 0.10], [0.30, 0.10, 0.20]])


def test_the_statistic_and_the_odds_ratio_by_hand() -> None:
    table = released(DEPENDENT, 4000, 1).table("sex", "job")
    p, n = table.pi_hat, 4000
    b = float(np.max(table.estimate.bias))  # type: ignore[arg-type]
    r, c = p.sum(axis=1)[:, None], p.sum(axis=0)[None, :]
    off = math.sqrt(n * float((b**2 / (r * c)).sum()))
    pearson = n * float(((p - r * c) ** 2 / (r * c)).sum())
    test = table.independence()
    assert test.statistic == pytest.approx((math.sqrt(pearson) - off) ** 2 / (2 - 1 / n))
    assert (test.degrees_of_freedom, test.p_value < 1e-9) == (2, True)
    odds = table.odds_ratio(columns=("a", "b"))
    four = p[:, :2]
    assert odds.value == pytest.approx(four[0, 0] * four[1, 1] / four[0, 1] / four[1, 0])
    low, high = odds.confidence_interval()
    half = 1.959964 * math.sqrt((2 - 1 / n) * (1 / four).sum() / n) + b * (1 / four).sum()
    assert np.log([low, high]) == pytest.approx(odds.log_odds_ratio + half * np.array([-1, 1]), rel=1e-5)
    assert low < 0.10 * 0.10 / (0.20 * 0.30) < high
    assert [one.columns for one in table.odds_ratios()] == [("a", "c"), ("b", "c")]
    assert table.to_frame().shape == (6, 4)
    assert table.margin("job").pi_hat == pytest.approx(p.sum(axis=0)) and "is not tested" not in str(table.summary())


def test_what_a_released_table_does_not_have_is_said() -> None:
    survey = released(DEPENDENT, 800, 2)
    table = survey.table("sex", "job")
    for wrong in (lambda: table.collapse_to("sex"), lambda: table.independence(method="bootstrap")):
        with pytest.raises(ParameterError, match="not available for tables of a released file"):
            wrong()
    with pytest.raises(ParameterError, match="larger than two by two"):
        table.odds_ratio()


@pytest.mark.statistical
def test_a_true_independence_is_rejected_in_at_most_one_of_twenty() -> None:
    """400 releases; more than 0.05 + 4.9 standard errors is a false alarm once in two million. The control is power."""
    runs, shares = 400, np.outer([0.4, 0.6], [0.5, 0.3, 0.2])
    rejected = sum(released(shares, 1000, run).table("sex", "job").independence().p_value < 0.05 for run in range(runs))
    assert rejected / runs <= 0.05 + 4.9 * (0.05 * 0.95 / runs) ** 0.5
    found = sum(released(DEPENDENT, 1000, run).table("sex", "job").independence().p_value < 0.05 for run in range(20))
    assert found == 20


def test_what_is_stated_of_whole_tables_is_not_used_where_records_are_left_out() -> None:
    """A town in which everybody with a value has the same one: sums of cells are further off than any single cell."""

    def town(name: str, *values: tuple[str | None, float]) -> list[tuple[str | None, str]]:
        return [(value, name) for value, share in values for _ in range(int(share * 4000))]

    rows = [*town("A", ("c", 0.6), ("x", 0.2), ("y", 0.2)), *town("B", ("c", 0.8), (None, 0.2))]
    people = {"v": [value for value, _ in rows], "town": [name for _, name in rows]}
    protect = [{"variables": ["v"], "method": "method1", "theta": "0.24"}]
    plan = mw.ReleasePlan.of(protect, keys=["town"], missing="category", demonstration=True)
    done = release_table(people, plan, random=SeededRandom(1))
    receipt = receipt_from_dict(json.loads(dumps(public_receipt(done.release))))
    by_town = estimate_released(done.data, receipt, ["v"], by=["town"], missing="drop").domains
    low, high = by_town[("B",)].confidence_interval()[0]
    assert low <= 1.0 <= high


@pytest.mark.parametrize("order", [["a", "b", "c", "d"], ["d", "c", "b", "a"]])
def test_a_category_of_the_codebook_that_no_record_has_counts(order: list[str]) -> None:
    """Its cells may hold true records: they are in the table, in the bounds of margins, and in the degrees of freedom.

    A margin is off by the bound of each of its cells, so the bound of the shares of sex is that of four cells, not of
    three.
    """
    place = np.random.default_rng(1).choice(6, size=800, p=DEPENDENT.ravel())
    sex, job = np.unravel_index(place, DEPENDENT.shape)
    data = {"sex": np.array(["f", "m"])[sex].tolist(), "job": np.array(["a", "b", "c"])[job].tolist()}
    tables = []
    for codebook in ({}, {"job": order}):
        protect = [{"variables": ["job"], "method": "method1", "theta": "0.05"}]
        plan = mw.ReleasePlan.of(protect, keys=["sex"], codebook=codebook, demonstration=True)
        made = release_table(data, plan, random=mw.SeededRandom(1))
        receipt = receipt_from_dict(json.loads(dumps(public_receipt(made.release))))
        hidden = Receipt(**{**vars(receipt), "groups": tuple(_one_way(group) for group in receipt.groups)})
        tables.append(mw.Survey.from_release(made.data, hidden).table("sex", "job"))
    without, listed = tables
    assert [*listed.labels[1]] == order and listed.to_frame().shape[0] == 8
    assert listed.independence().degrees_of_freedom == 3 and without.independence().degrees_of_freedom == 2
    assert listed.independence().p_value >= without.independence().p_value
    assert listed.margins[0] == pytest.approx(4 / 3 * without.margins[0])  # type: ignore[attr-defined]


def _one_way(group: Group) -> Group:
    """A group that keeps nothing, so that margins have bounds, too."""
    return Group(**{**vars(group), "invariance": "none"})
