"""``mine`` from Python: every kind of table, what a result answers, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell import SeededRandom
from maskwell.errors import DataFileError, MaskwellError, ParameterError, UnknownCategoryError, WrongTypeError

ITEMS = ["bread", "milk", "soap", "salt"]
DESIGN = mw.design("bits", items=ITEMS, p="0.9")


def made_up(n: int = 600) -> list[list[str]]:
    random = np.random.default_rng(1)
    held = random.random((n, 4)) < [0.5, 0.3, 0.3, 0.05]
    held[:, 2] |= held[:, 1] & (random.random(n) < 0.8)
    return [[item for item, there in zip(ITEMS, row, strict=True) if there] for row in held]


REPORTS = mw.randomize({"items": made_up()}, {"items": DESIGN}, random=SeededRandom(1), sets="texts")["items"]
TABLE = {item: [int(report[place]) for report in REPORTS] for place, item in enumerate(ITEMS)}
FOUND = mw.mine({"items": REPORTS}, DESIGN, min_support=0.1)


def test_bits_lists_and_files_tell_the_same_as_a_column_of_baskets(tmp_path) -> None:
    lists = [[item for item, bit in zip(ITEMS, report, strict=True) if bit == "1"] for report in REPORTS]
    DESIGN.save(tmp_path / "bits.json")
    pd.DataFrame(TABLE).to_csv(tmp_path / "flags.csv", index=False)
    pl.DataFrame({"items": lists}).write_parquet(tmp_path / "lists.parquet")
    logical = {name: [bool(bit) for bit in column] for name, column in TABLE.items()}
    given = [(one, DESIGN) for one in (TABLE, pd.DataFrame(TABLE), pa.table(TABLE), logical, lists)]
    given += [(TABLE, {",".join(ITEMS): DESIGN}), ({"bought": REPORTS}, {"bought": DESIGN})]
    given += [(one, tmp_path / "bits.json") for one in (str(tmp_path / "flags.csv"), tmp_path / "lists.parquet")]
    for data, design in given:
        assert mw.mine(data, design, min_support=0.1).to_dict() == FOUND.to_dict()
    renamed = {f"c{place}": TABLE[item] for place, item in enumerate(ITEMS)}
    found = mw.mine(renamed, {",".join(renamed): DESIGN}, min_support=0.1)
    assert {item for one in found.itemsets for item in one.items} <= {*renamed}
    assert [one.support for one in found.itemsets] == [one.support for one in FOUND.itemsets]


def test_a_result_answers_further_questions_and_has_a_picture() -> None:
    assert FOUND.support([]).support == 1
    both = FOUND.support(["milk", "soap"])
    pairs, errors = FOUND.pair_supports()
    assert (both.support, both.standard_error) == pytest.approx((pairs[1, 2], errors[1, 2]))
    assert FOUND.confidence(["milk"], ["soap"]).confidence == pytest.approx(
        both.support / FOUND.support(["milk"]).support
    )
    frame = FOUND.to_frame()
    assert list(frame.columns) == ["items", "support", "standard_error"] and len(frame) == len(FOUND.itemsets)
    assert "itemset" in repr(FOUND) and "<table " in FOUND._repr_html_()
    picture = mw.plot(FOUND)
    assert "bread + soap" in picture.text and "600 baskets" in picture.text
    assert (picture.data["low"] < picture.data["estimate"]).all() and "<svg" in picture.svg()
    nothing = mw.mine({"items": REPORTS}, DESIGN, min_support=1)
    refused(MaskwellError, "no itemset is above the threshold, so nothing can be drawn", nothing.plot)
    assert nothing.to_report()[0].startswith("0 itemsets are in at least 100 % of baskets")


def test_rows_without_a_basket_are_left_out_where_asked_of_a_survey_too() -> None:
    data = {"items": [*REPORTS, None]}
    refused(MaskwellError, "1 of 601 values is missing", mw.mine, data, DESIGN)
    found = mw.mine(data, DESIGN, missing="drop", min_support=0.1)
    assert (found.n, found.rows, found.dropped) == (600, 601, 1)
    assert "note: 1 of 601 rows had no basket and was left out" in list(found.to_report())
    lost = {**SAMPLED, "items": [None, *REPORTS[1:]]}
    survey = mw.Survey(lost, {"items": DESIGN}, mw.Sampling(weights="w"), missing="drop")
    found = survey.itemsets(min_support=0.1)
    rest = {name: column[1:] for name, column in SAMPLED.items()}
    assert found.dropped == 1
    assert found.itemsets == mw.mine(rest, DESIGN, mw.Sampling(weights="w"), min_support=0.1).itemsets


KARY = mw.design("k-ary", categories=mw.Categories.of(["a", "b"]), epsilon=1)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"min_support": 0}, ParameterError, "min_support = 0 is out of range"),
        ({"min_support": "1.5"}, ParameterError, "min_support = 1.5 is out of range"),
        ({"min_support": "often"}, MaskwellError, "min_support"),
        ({"min_confidence": -0.1}, ParameterError, "min_confidence = -0.1 is out of range"),
        ({"max_items": 0}, ParameterError, "max_items must be a whole number from 1 to 12, not 0"),
        ({"max_items": 2.5}, ParameterError, "max_items must be a whole number, not 2.5"),
        ({"max_items": 13}, ParameterError, "max_items must be a whole number from 1 to 12, not 13"),
        ({"slack": -1}, ParameterError, "slack = -1"),
        ({"missing": "category"}, ParameterError, "missing"),
        ({"progress": 7}, WrongTypeError, "progress"),
        ({"design": KARY}, ParameterError, "a design of kind k-ary is not available for baskets"),
        ({"design": {"items": KARY}}, ParameterError, "k-ary"),
        ({"design": {}}, ParameterError, "no design"),
        ({"design": {"items": DESIGN, "more": DESIGN}}, ParameterError, "2 designs"),
        ({"design": {"items": mw.When({"g": 1}, DESIGN)}}, ParameterError, "some rows only"),
        ({"design": 7}, MaskwellError, ""),
        ({"data": {"items": []}}, DataFileError, "no rows"),
        ({"data": {"items": ["bread"]}}, MaskwellError, "at least two baskets, not 1"),
        ({"data": {"other": ["bread"]}}, ParameterError, "neither a column 'items'"),
        ({"data": {"items": ["bread", "beer"]}}, UnknownCategoryError, "1 of 2 baskets names an unknown item"),
        ({"data": {"items": ["bread bread", ""]}}, UnknownCategoryError, "an item twice"),
        ({"data": {**TABLE, "salt": [2] * 600}}, UnknownCategoryError, "600 of 600 values are not bits"),
        ({"data": 7}, WrongTypeError, "table"),
    ],
)
def test_wrong_input_is_one_clear_error(change, kind, said) -> None:
    options = {"data": {"items": REPORTS}, "design": DESIGN, **change}
    raised = refused(kind, "", mw.mine, options.pop("data"), options.pop("design"), **options)
    assert said in raised.message and raised.hint
    assert len(raised.message) <= 93 and len(raised.hint) <= 94


# ---- baskets that were sampled

DRAWN = np.random.default_rng(7)
PLAN = {
    "w": DRAWN.choice([1.0, 2.0, 5.0], len(REPORTS)).tolist(),
    "h": np.repeat(["north", "south", "west"], len(REPORTS) // 3).tolist(),
    "c": (np.arange(len(REPORTS)) // 10).tolist(),
    "N": np.repeat([1000, 900, 1200], len(REPORTS) // 3).tolist(),
}
SAMPLED = {"items": REPORTS, **PLAN}
HELD = np.array([[int(bit) for bit in report] for report in REPORTS])
ROWS = HELD * (1 / 0.8) - 0.1 / 0.8
"""What each bit tells about the true one, with bits that are kept with 90 %."""


def estimated_by_hand(values: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    mean = float(weights @ values / weights.sum())
    return mean, weights * (values - mean) / weights.sum()


def spread(scores: np.ndarray, strata: np.ndarray, units: np.ndarray) -> float:
    """n / (n - 1) times the sum of squares of the totals of units around their mean, stratum by stratum."""
    total = 0.0
    for stratum in np.unique(strata):
        inside = strata == stratum
        totals = np.array([scores[inside & (units == unit)].sum() for unit in np.unique(units[inside])])
        total += len(totals) / (len(totals) - 1) * float(((totals - totals.mean()) ** 2).sum())
    return total


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pa.table])
def test_weights_strata_and_clusters_by_hand(kind) -> None:
    found = mw.mine(kind(SAMPLED), DESIGN, mw.Sampling(weights="w", strata="h", clusters="c"), min_support=0.1)
    weights = np.array(PLAN["w"])
    for items in (["bread"], ["milk", "soap"], ["bread", "milk", "soap"]):
        values = ROWS[:, [ITEMS.index(item) for item in items]].prod(axis=1)
        mean, scores = estimated_by_hand(values, weights)
        one = found.support(items)
        variance = spread(scores, np.array(PLAN["h"]), np.array(PLAN["c"]))
        assert (one.support, one.standard_error) == pytest.approx((mean, variance**0.5))
        assert next((x for x in found.itemsets if {*x.items} == {*items}), one) == one
    u, v = ROWS[:, 1] * ROWS[:, 2], ROWS[:, 1]
    ratio = float(weights @ u / (weights @ v))
    scores = weights * (u - ratio * v) / float(weights @ v)
    rule = found.confidence(["milk"], ["soap"])
    variance = spread(scores, np.array(PLAN["h"]), np.array(PLAN["c"]))
    assert (rule.confidence, rule.standard_error) == pytest.approx((ratio, variance**0.5))
    assert rule in found.rules
    assert found.to_dict()["sampling"] == "weights, 3 strata, 60 clusters"
    assert "weights, 3 strata, 60 clusters" in repr(found)


def test_a_finite_population_keeps_the_randomization() -> None:
    """(1 - f) of what differs between rows, and f of what randomization adds: f^2 - f of each row."""
    found = mw.mine(SAMPLED, DESIGN, mw.Sampling(strata="h", population="N"), min_support=0.1)
    fraction = 200 / np.array(PLAN["N"], dtype=float)
    weights, strata = 1 / fraction, np.array(PLAN["h"])
    values = ROWS[:, 1] * ROWS[:, 2]
    mean, scores = estimated_by_hand(values, weights)
    variance = 0.0
    for stratum in np.unique(strata):
        inside = strata == stratum
        f = fraction[inside][0]
        variance += (1 - f) * spread(scores[inside], strata[inside], np.arange(inside.sum()))
        variance += f * float(((weights[inside] / weights.sum()) ** 2 * (values[inside] ** 2 - values[inside])).sum())
    one = found.support(["milk", "soap"])
    assert (one.support, one.standard_error) == pytest.approx((mean, variance**0.5))


def test_single_items_are_estimated_as_a_column_of_bits_is() -> None:
    """The same figures as ``estimate`` gives for the column of one item, under every kind of sampling."""
    replicates = {f"r{i}": (np.array(PLAN["w"]) * DRAWN.poisson(1, len(REPORTS))).tolist() for i in range(20)}
    bit = mw.design("warner", p="0.9", categories=[1, 0], reports=[1, 0])
    for sampling in (
        mw.Sampling(weights="w"),
        mw.Sampling(weights="w", strata="h", clusters="c"),
        mw.Sampling(strata="h", population="N"),
        mw.Sampling(strata="h", clusters="c", population="N"),
        mw.Sampling(weights="w", replicates="r", replicate_method="bootstrap"),
        mw.Sampling(weights=PLAN["w"], strata=PLAN["h"]),
    ):
        single = mw.mine({**SAMPLED, **replicates}, DESIGN, sampling).support(["milk"])
        shares = mw.estimate({**TABLE, **PLAN, **replicates}, {"milk": bit}, sampling)
        assert single.support == pytest.approx(float(shares.pi_hat[0]))
        assert single.standard_error == pytest.approx(float(shares.standard_error[0]))


def test_equal_weights_change_nothing() -> None:
    plain, weighted = (
        mw.mine(SAMPLED, DESIGN, sampling, min_support=0.1) for sampling in (None, mw.Sampling(weights=[2] * 600))
    )
    for one, other in zip(plain.itemsets, weighted.itemsets, strict=True):
        assert other.items == one.items
        assert (other.support, other.standard_error) == pytest.approx((one.support, one.standard_error))
    assert [(one.given, one.then) for one in weighted.rules] == [(one.given, one.then) for one in plain.rules]
    for one, other in zip(plain.pair_supports(), weighted.pair_supports(), strict=True):
        assert other == pytest.approx(one)


@pytest.mark.parametrize(
    ("sampling", "wrong"),
    [
        (mw.Sampling(weights="w", poisson=True), "mine cannot use independent draws"),
        (mw.Sampling(weights="w", denominator=5000), "mine cannot use denominator"),
        (mw.Sampling(weights="v"), "no column 'v'"),
        (mw.Sampling(strata="items"), "column 'items' holds randomized reports"),
        ("w", "sampling must be"),
    ],
)
def test_samplings_that_are_refused(sampling, wrong: str) -> None:
    refused(MaskwellError, wrong, mw.mine, SAMPLED, DESIGN, sampling)
