"""Which category the others are compared with, how categories are coded, and in which order they come."""

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.regression import THREE, WARNER
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw
from maskwell.engines.model_predictors import References
from maskwell.errors import InputError, MaskwellError, ParameterError, WrongTypeError

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")

LEVELS = ["low", "mid", "high"]
KINDS = ["never", "once", "often"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    level = rng.choice(LEVELS, 900, p=[0.5, 0.3, 0.2])
    true = np.where(rng.random(900) < np.where(level == "high", 0.6, 0.3), "yes", "no")
    made = pd.DataFrame({"level": pd.Categorical(level, categories=LEVELS), "cov.age": rng.uniform(20, 60, 900)})
    made["y"] = WARNER.randomize(true.tolist(), random=mw.SeededRandom(2))
    made["x"] = WARNER.randomize(np.where(rng.random(900) < 0.4, "yes", "no").tolist(), random=mw.SeededRandom(3))
    true = rng.choice(THREE.inputs.labels, 900, p=[0.5, 0.3, 0.2])
    made["often"] = THREE.randomize(true.tolist(), random=mw.SeededRandom(4))
    made["code"], made["flag"] = rng.integers(1, 4, 900), rng.random(900) < 0.5
    made["asked"] = rng.choice(["a", "b", "c"], 900)
    return made


def fit(table, formula, **more):
    designs = {name: design for name, design in (("y", WARNER), ("x", WARNER), ("often", THREE)) if name in formula}
    return regress_with(table, formula, designs, **more)


def by_hand(table, contrasts):
    """The regression of y on the level with a row of numbers for each category, from arrays."""
    X = np.array(contrasts, dtype=float)[table.level.cat.codes]
    return mw.estimation.regression.fit_logistic(X, table.y.tolist(), WARNER)


@together(
    ("written", "contrasts"),
    [
        ("level", [[0, 0], [1, 0], [0, 1]]),
        ("C(level, Treatment('mid'))", [[1, 0], [0, 0], [0, 1]]),
        ("C(level, Sum)", [[1, 0], [0, 1], [-1, -1]]),
        ("C(level, Poly)", [[-(0.5**0.5), 6**-0.5], [0, -2 * 6**-0.5], [0.5**0.5, 6**-0.5]]),
        ("C(level, Helmert)", [[-1, -1], [1, -1], [0, 2]]),
    ],
)
def test_codings_follow_the_order_of_the_categories(table, written, contrasts):
    """Low, mid and high is no order of the alphabet: that of pandas is kept."""
    coded, hand = fit(table, f"y ~ {written}"), by_hand(table, contrasts)
    np.testing.assert_allclose(coded.estimates, hand.estimates, atol=1e-8)
    np.testing.assert_allclose(coded.covariance, hand.covariance, atol=1e-8)


def test_the_order_of_categories_by_the_kind_of_table(table):
    enum = pl.from_pandas(table.astype({"level": str})).with_columns(pl.col("level").cast(pl.Enum(LEVELS)))
    ordered = table.assign(level=table.level.cat.as_ordered())
    in_a_dictionary = {"y": table.y.tolist(), "level": pd.Categorical(table.level, categories=LEVELS)}
    for one in (table, ordered, enum, in_a_dictionary):
        assert fit(one, "y ~ level").terms == ("Intercept", "level[T.mid]", "level[T.high]")
    for one in (table.astype({"level": str}), pl.from_pandas(table.astype({"level": str}))):
        assert fit(one, "y ~ level").terms == ("Intercept", "level[T.low]", "level[T.mid]")
    few = table[table.level != "low"]  # categories without a row have no coefficient
    assert fit(few, "y ~ level").terms == ("Intercept", "level[T.high]")


@together(
    ("formula", "reference", "terms"),
    [
        ("y ~ level", "high", ["level[T.low]", "level[T.mid]"]),
        ("y ~ level", {"level": "high"}, ["level[T.low]", "level[T.mid]"]),
        ("y ~ C(level)", "mid", ["C(level)[T.low]", "C(level)[T.high]"]),
        ("y ~ C(code)", 2, ["C(code)[T.1]", "C(code)[T.3]"]),
        ("y ~ C(code) + level", {"code": "3", "level": "mid"}, ["level[T.low]", "level[T.high]", "C(code)[T.1]"]),
        ("y ~ C(flag)", "True", ["C(flag)[T.False]"]),
        ("y ~ x", {"x": "yes"}, ["x[T.no]"]),
        ("y ~ level*C(code)", {"code": 2}, ["level[T.mid]:C(code)[T.1]"]),
    ],
)
def test_a_reference_changes_the_coefficients_and_nothing_else(table, formula, reference, terms):
    plain, chosen = fit(table, formula), fit(table, formula, reference=reference)
    assert {*terms} <= {*chosen.terms}
    assert chosen.llf == pytest.approx(plain.llf, abs=1e-7)
    rows = table.head(20).assign(x="yes")
    if "x" not in formula:
        np.testing.assert_allclose(chosen.predict(rows), plain.predict(rows), atol=1e-6)


def test_a_coefficient_against_the_reference_is_a_difference_and_given_once(table):
    plain, chosen = fit(table, "y ~ level"), fit(table, "y ~ level", reference="high")
    turn = np.array([[1, 0, 1], [0, 0, -1], [0, 1, -1]])  # intercept, low, mid against high
    np.testing.assert_allclose(chosen.estimates, turn @ plain.estimates, atol=1e-8)
    np.testing.assert_allclose(chosen.covariance, turn @ plain.covariance @ turn.T, atol=1e-8)
    refused(
        ParameterError, "two references were given for the column 'level'", References.typed, ["level=low", "level=mid"]
    )
    with pytest.raises(ParameterError, match="two references were given for the column 'level'"):
        fit(table, "y ~ level", reference=References.typed(["low", "mid"]))


def test_the_reference_of_the_outcome(table):
    first, last = THREE.inputs.labels[0], THREE.inputs.labels[-1]
    plain, chosen = fit(table, "often ~ code"), fit(table, "often ~ code", reference=first)
    assert plain.categories[-1] == last and chosen.categories[-1] == first
    by_term = dict(zip(plain.terms, plain.estimates, strict=True)) | {f"{last}: Intercept": 0.0, f"{last}: code": 0.0}
    for term, value in zip(chosen.terms, chosen.estimates, strict=True):
        category, column = term.split(": ")
        assert value == pytest.approx(by_term[f"{category}: {column}"] - by_term[f"{first}: {column}"], abs=1e-6)
    assert chosen.llnull == pytest.approx(plain.llnull) and chosen.llf == pytest.approx(plain.llf)
    mirrored = fit(table, "y ~ level", reference={"y": "yes"})
    np.testing.assert_allclose(mirrored.estimates, -fit(table, "y ~ level").estimates, atol=1e-8)
    asked = mw.regress(table, "asked ~ x", {"x": WARNER}, reference={"asked": "b"})
    assert asked.categories[-1] == "b"


@together(
    ("formula", "reference", "kind", "saying"),
    [
        ("y ~ level", "none", InputError, "no column of the formula has this category"),
        ("y ~ level", {"level": "Low"}, InputError, "the column 'level' has no category 'Low'"),
        ("y ~ level", {"code": 1}, InputError, "the formula does not name 'code'"),
        ("y ~ code", {"code": 1}, InputError, "is numeric"),
        ("y ~ C(code) + I(code)", {"code": 1}, InputError, "is numeric"),
        ("y ~ x", "yes", InputError, "2 columns have this category: y, x"),
        ("y ~ C(level, Sum)", "mid", InputError, "the formula codes 'level' itself: C(level, Sum)"),
        ("y ~ C(level, levels=['mid', 'low', 'high'])", "low", InputError, "codes 'level' itself"),
        ("y ~ level", ["low"], WrongTypeError, "reference must be a category, not a list"),
        ("y ~ level", {1: "low"}, WrongTypeError, "must be a text"),
    ],
)
def test_a_reference_that_does_not_fit(table, formula, reference, kind, saying):
    caught = refused(kind, "", fit, table, formula, reference=reference)
    assert saying in caught.message and caught.hint
    assert len(caught.message) <= 93 and len(caught.hint) <= 94
    assert "mid" not in caught.hint  # categories of the data are told on demand only


@together("written", ["log(cov.age)", "I(cov.age / 10)", "{cov.age**2}", "bs(cov.age, df=4)", "center(cov.age):level"])
def test_columns_with_dots_are_columns(table, written):
    quoted = written.replace("cov.age", "`cov.age`")
    renamed = table.rename(columns={"cov.age": "age"})
    plain, other = fit(table, f"y ~ {written}"), fit(renamed, f"y ~ {written.replace('cov.age', 'age')}")
    np.testing.assert_allclose(plain.estimates, other.estimates, atol=1e-9)
    assert plain.terms == fit(table, f"y ~ {quoted}").terms
    assert plain.terms == tuple(
        term.replace("(age", "(cov.age").replace("age **", "cov.age **") for term in other.terms
    )
    np.testing.assert_allclose(plain.predict(table.head(5)), other.predict(renamed.head(5)), atol=1e-9)


def test_categories_that_count_as_one_are_those_of_a_design_for_two(table):
    """Under a k-ary design "once" and "often" are one report behind forced response, worked out by hand."""
    kary = mw.design("k-ary", categories=["never", "once", "often"], gamma=9)
    named = dict(zip(THREE.inputs.labels, kary.inputs.labels, strict=True))
    paid = pd.Series(kary.randomize(table.often.map(named).tolist(), random=mw.SeededRandom(6)))
    three = table.assign(paid=paid, any=np.where(paid == "never", "no", "yes"))
    two = mw.design("forced", truth="8/11", yes="2/11", no="1/11")
    for plan in ({}, {"clusters": "code"}):
        combined = regress_with(three, "paid ~ flag", {"paid": kary}, combine={"any": ["once", "often"]}, **plan)
        hand = regress_with(three, "any ~ flag", {"any": two}, **plan)
        np.testing.assert_allclose(combined.estimates, hand.estimates, atol=1e-8)
        np.testing.assert_allclose(combined.covariance, hand.covariance, atol=1e-8)
        assert combined.log_likelihood == pytest.approx(hand.log_likelihood)
        assert combined.categories == ("any", "never")
    mixed = mw.regress(three, "paid ~ 1 + (1 | code)", {"paid": kary}, combine="any=once+often", reference="any")
    assert mixed.categories == ("never", "any")
    refused(InputError, "different families", combined.compare, mw.regress(three, "paid ~ 1", {"paid": kary}))
    with pytest.raises(
        ParameterError, match="a random intercept needs an outcome with two categories, not 3"
    ) as caught:
        mw.regress(three, "paid ~ 1 + (1 | code)", {"paid": kary})
    assert 'combine={"any"' in str(caught.value)
    asked = table.assign(asked=table.asked.astype(str))
    open_fit = mw.regress(asked, "asked ~ x", {"x": WARNER}, combine={"ab": ["a", "b"]})
    assert open_fit.categories == ("ab", "c")


@together(
    ("combine", "words"),
    [
        ({"x": ["never", "once", "often"]}, "includes all categories, so nothing is left to explain"),
        ({"x": ["never", "once"], "y": "once"}, "'once' is in two combinations"),
        ({"x": ["once", "twice"]}, "'twice' is not a category"),
        ({"x": ["never", "once"]}, "do not lead to the same reports"),
    ],
)
def test_categories_that_cannot_count_as_one(combine, words):
    """In the last case a report of "once" comes from often, but not from never."""
    leaning = mw.design(
        "matrix", matrix=[["0.8", "0", "0.1"], ["0.1", "0.7", "0.3"], ["0.1", "0.3", "0.6"]], categories=KINDS
    )
    people = {"paid": KINDS * 20, "x": [0, 1] * 30}
    refused(MaskwellError, words, mw.regress, people, "paid ~ x", {"paid": leaning}, combine=combine)
