import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet, refused
from tests.support.regression import THREE, WARNER, logistic_data
from tests.support.releases import COLUMNS, ROWS, plan_of, release_of, stage_within
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw
from maskwell import Categories
from maskwell.designs import Uniform
from maskwell.errors import DataFileError, InputError, MissingValueError, ParameterError, WrongTypeError
from maskwell.microdata import Receipt
from maskwell.microdata.folder.receipt import receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt
from maskwell.microdata.stages.stage import Stage
from maskwell.reports.text.regression_report import regression_table

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X, z = logistic_data(600, [-0.3, 0.8])
    found = pd.DataFrame({"x": X[:, 0], "region": rng.choice(["north", "south", "west"], 600)})
    found["y"] = np.where(z == 0, "yes", "no")
    found["weight"], found["psu"] = rng.uniform(1, 2, 600), rng.integers(0, 30, 600)
    found["group"] = np.where(np.arange(600) % 2 == 0, "a", "b")
    found["asked"] = np.where(rng.random(600) < 0.5, "no", "yes")
    found["r"] = WARNER.randomize(found.asked.tolist(), random=mw.SeededRandom(1))
    return found


def fit(data, formula="y ~ x", **options):
    return regress_with(data, formula, {"y": WARNER}, **options)


def test_a_formula_may_come_first_or_be_that_of_a_file(table, tmp_path):
    found = fit(table, "y ~ x + region")
    assert found.terms == ("Intercept", "x", "region[T.south]", "region[T.west]")
    table.to_csv(tmp_path / "t.csv", index=False)
    for other in (table, str(tmp_path / "t.csv")):
        again = mw.regress("y ~ x + region", other, {"y": WARNER})
        np.testing.assert_allclose(again.estimates, found.estimates, atol=1e-9)
    refused(WrongTypeError, "formula must be a text", mw.regress, table, 3, {"y": WARNER})


def test_a_formula_is_the_same_as_arrays(table):
    z, plan = WARNER.outputs.encode(table.y).codes, mw.Sampling(weights=table.weight, clusters=table.psu)
    arrays = mw.estimation.regression.fit_logistic(table.x, z, WARNER, codes=True, plan=plan)
    found = fit(table, weights="weight", clusters="psu")
    by_array = fit(table, weights=table.weight.to_numpy(), clusters=table.psu)
    np.testing.assert_allclose(found.estimates, arrays.estimates, atol=1e-10)
    for one in (found, by_array):
        np.testing.assert_allclose(one.covariance, arrays.covariance, rtol=1e-8)
        assert one.degrees_of_freedom == arrays.degrees_of_freedom == table.psu.nunique() - 1


def test_chances_of_inclusion_in_place_of_weights(table):
    weight, chances = table.weight.to_numpy(), table.assign(chance=1 / table.weight)
    by_weights = fit(table, weights="weight")
    for given in ("chance", chances.chance.to_numpy()):
        np.testing.assert_allclose(fit(chances, inclusion=given).covariance, by_weights.covariance, rtol=1e-9)
    for weights in ("weight", weight):
        refused(
            ParameterError, "state the same thing", fit, chances, weights=weights, inclusion=chances.chance.to_numpy()
        )
    refused(ParameterError, "inclusion: the value in row 1 is not above 0", fit, chances, inclusion=weight)


def test_names_as_in_statsmodels(table):
    found = mw.regress(table, "y ~ x", {"y": WARNER})
    assert found.params["x"] == found.estimates[1] and found.bse["x"] == found.standard_error[1]
    assert list(found.conf_int().loc["x"]) == pytest.approx(found.confidence_interval()[1].tolist())
    assert found.cov_params().loc["x", "Intercept"] == found.covariance[1, 0]
    assert found.pvalues["x"] == found.p_values[1] and found.tvalues["x"] == found.z[1]
    assert (found.nobs, found.df_model, found.df_resid) == (600, 1, 598)
    assert found.aic == pytest.approx(4 - 2 * found.llf)
    assert "x" in found.summary() and max(map(len, found.summary().splitlines())) <= 100
    assert repr(found) == found.summary()
    frame = found.to_frame()
    assert list(frame.columns) == ["estimate", "standard_error", "low", "high", "p_value"]


def test_tests_of_coefficients(table):
    found = mw.regress(table, "y ~ x + region", {"y": WARNER}, interval="wald")
    one = found.wald_test("x")
    assert one.statistic == pytest.approx(found.z[1] ** 2) and one.p_value == pytest.approx(found.p_values[1])
    both = found.wald_test(["region[T.south]", "region[T.west]"])
    assert both.df == 2 and 0 < both.p_value < 1 and "chi2(2)" in repr(both)
    same = found.wald_test(np.array([[0, 0, 1, -1]]))
    assert same.df == 1
    clustered = mw.regress(table, "y ~ x", {"y": WARNER}, sampling=mw.Sampling(clusters="psu")).wald_test("x")
    assert clustered.df_denominator == table.psu.nunique() - 1 and "F(1," in repr(clustered)
    refused(InputError, "the model has no term 'z'", found.wald_test, "z")
    refused(InputError, "the tested combinations are linearly dependent", found.wald_test, ["x", "x"])
    refused(InputError, "the combinations have shape 2, but there are 4 coefficients", found.wald_test, [[1.0, 0.0]])


def test_groups_of_rows_with_their_own_designs(table):
    other = mw.design("warner", p="0.3", allow_unidentifiable=False)
    a, b, c = (mw.When({"group": name}, design) for name, design in (("a", WARNER), ("b", other), ("c", other)))
    found = mw.regress(table, "y ~ x", {"y": [a, b]})
    how = {"groups": (table.group == "b").astype(int), "codes": True}
    z = WARNER.outputs.encode(table.y).codes
    arrays = mw.estimation.regression.fit_logistic(table.x, z, [WARNER, other], **how)
    np.testing.assert_allclose(found.estimates, arrays.estimates, atol=1e-10)
    with quiet(mw.MaskwellError, match="have no design, the first in data row", values="'b'"):
        mw.regress(table, "y ~ x", {"y": [a]})
    said = "no row with a report has group = c, which has a design"
    refused(mw.MaskwellError, said, mw.regress, table, "y ~ x", {"y": [a, b, c]})


def test_a_randomized_predictor_by_name(table):
    found = mw.regress(table, "asked ~ r + x", {"r": WARNER}, latent="~ 1")
    predictor = mw.estimation.regression.RandomizedPredictor(WARNER.outputs.encode(table.r).codes, WARNER, codes=True)
    arrays = mw.estimation.regression.fit_predictor((table.asked == "yes").astype(int), predictor, table.x)
    assert dict(found.params) == pytest.approx(dict(zip(["Intercept", "r[T.yes]", "x"], arrays.shown, strict=True)))
    assert found.latent.terms == ("r=yes: Intercept",)
    interaction = mw.regress(table, "asked ~ r*x", {"r": WARNER})
    assert "r[T.yes]:x" in interaction.terms and interaction.latent.terms == ("r=yes: Intercept", "r=yes: x")
    chances, b = interaction.predict({"r": ["yes", "no"], "x": [0.0, 0.0]}), interaction.params
    np.testing.assert_allclose(np.log(chances / (1 - chances)), [b["Intercept"] + b["r[T.yes]"], b["Intercept"]])


def test_numbers_give_a_linear_and_texts_a_multinomial_regression(table):
    linear = mw.regress(table, "x ~ r + weight", {"r": WARNER})
    assert linear.family == "linear" and np.isnan(linear.llf) and linear.latent is None
    several = mw.regress(table, "region ~ r", {"r": WARNER})
    assert several.family == "multinomial" and several.categories == ("south", "west", "north")
    both = mw.regress(table, "y ~ r", {"y": WARNER, "r": WARNER})
    assert both.family == "logistic" and len(both.fingerprints) == 2


def test_missing_values_need_a_word(table):
    holes, right = table.copy(), "y ~ x + region"
    holes.loc[3, "x"], holes.loc[5, "y"], holes.loc[7, "region"] = np.nan, None, None
    refused(MissingValueError, "1 of 600 values", fit, holes, right)
    said = r"column 'x': 1 of 600 values are missing \(and 1 more columns\)"
    refused(MissingValueError, said, fit, holes.assign(y=table.y), right)
    found, without = fit(holes, right, missing="drop"), fit(holes.drop(index=[3, 5, 7]), right)
    assert found.dropped == 3 and found.n == 597
    np.testing.assert_allclose(found.estimates, without.estimates, atol=1e-10)
    some = np.where(np.isin(np.arange(600), [3, 5, 7]), 90.0, 1.0)  # arrays follow: rows left out take theirs along
    weighted = fit(holes, right, weights=some, missing="drop")
    np.testing.assert_allclose(weighted.estimates, without.estimates, atol=1e-6)


WRONG = [
    (InputError, "the formula names 'age', which is not a column", ("y ~ age", {"y": WARNER}), {}),
    (InputError, "a design was given for 'r', which is not in the formula", ("y ~ x", {"y": WARNER, "r": WARNER}), {}),
    (InputError, "at least one design must be given", ("asked ~ x", {}), {}),
    (InputError, "latent = '~ r' names a randomized predictor", ("asked ~ r", {"r": WARNER}), {"latent": "~ r"}),
    (
        DataFileError,
        "the table has no column 'wight'",
        ("y ~ x", {"y": WARNER}),
        {"sampling": mw.Sampling(weights="wight")},
    ),
    (WrongTypeError, "designs must be a dict", ("y ~ x", WARNER), {}),
    (mw.MaskwellError, "are not categories of the design", ("y ~ x", {"y": THREE}), {}),
    (
        ParameterError,
        "missing must be one of 'error', 'drop', 'category', not 'mean'",
        ("y ~ x", {"y": WARNER}),
        {"missing": "mean"},
    ),
]


@together(("error", "said", "given", "options"), WRONG)
def test_what_is_wrong_is_said_before_any_work(table, error, said, given, options):
    found = refused(error, said, mw.regress, table, *given, **options)
    assert "age" not in said or "columns: x, region, y" in found.hint


def test_a_table_is_needed_and_a_randomized_predictor_may_have_any_name(table):
    refused(WrongTypeError, "a table must be given, not a int", mw.regress, 3, "y ~ x", {"y": WARNER})
    plain = mw.regress(table, "y ~ x + r", {"r": WARNER})
    odd = mw.regress(table.rename(columns={"r": "self"}), "y ~ x + self", {"self": WARNER})
    np.testing.assert_array_equal(odd.estimates, plain.estimates)


def test_predictions_without_predictors_have_as_many_rows_as_any_table(table, tmp_path):
    found, seven = fit(table, "y ~ 1"), table.head(7)
    seven.to_csv(tmp_path / "seven.csv", index=False)
    assert [len(found.predict(one)) for one in (seven, seven.to_dict("list"), tmp_path / "seven.csv")] == [7] * 3
    refused(InputError, "", found.predict, {})


def _nearly_flat(**options: Any) -> Any:
    """A maximum inside, but hardly above the limit at infinity."""
    counts = {0: (24, 10), 1: (23, 10), 2: (21, 12)}
    x = [level for level, (yes, no) in counts.items() for _ in range(yes + no)]
    y = [answer for yes, no in counts.values() for answer in ["yes"] * yes + ["no"] * no]
    return regress_with({"y": y, "x": x}, "y ~ x", {"y": mw.design("warner", p="0.3")}, **options)


def test_a_likelihood_flat_to_infinity_gives_no_standard_error_unless_asked_for() -> None:
    """Standard errors of dozens were printed without a note."""
    found = _nearly_flat()
    assert np.isinf(found.confidence_interval(0.95)).any()
    report = "\n".join(found.to_report())
    assert "decreases so little towards infinity" in report.replace("\n  ", " ")
    assert "no finite estimate" not in report
    rows = [line.split() for line in report.splitlines() if line.strip().startswith(("Intercept", "x "))]
    assert [row[2] for row in rows] == ["—", "—"]
    found = _nearly_flat()
    assert found.bse.isna().all() and found.tvalues.isna().all() and found.cov_params().isna().all(axis=None)
    assert found.pvalues.notna().all()  # by the likelihood ratio
    refused(InputError, "has no standard error", found.wald_test, "x")
    found = _nearly_flat(interval="wald")
    rows = found.to_dict()["coefficients"]
    assert all(row["standard_error"] > 1 for row in rows)
    assert not any("decreases so little" in note for note in found.notes())


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_programs_read_the_same_of_a_flat_likelihood_as_people(level: float) -> None:
    """Tables had no standard error, while JSON, data frames and the summary had the number."""
    found = _nearly_flat()
    content = found.to_dict(level)
    assert [row["standard_error"] for row in content["coefficients"]] == [None, None]
    assert all(math.isfinite(row["estimate"]) for row in content["coefficients"])
    assert content["covariance"] == [[None, None], [None, None]]
    assert sum("decreases so little towards infinity" in flag for flag in content["flags"]) == 1
    assert found.to_frame(level)["standard_error"].isna().all()
    assert found.to_frame(level, exponentiate=True)["standard_error"].isna().all()
    lines = str(found.summary(level)).splitlines()
    assert [line.split()[2:4] for line in lines if line.startswith(("Intercept ", "x "))] == [["—", "—"]] * 2
    assert "decreases so little towards infinity" in " ".join(lines)
    assert regression_table(found, level, exact=True).rows[0][2] == ""


# ---- released files


TABLE = {name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)} | {"w": [1, 2] * 60}
STILL = Uniform.of(1, Categories.of(["f", "m"]))


def receipt_of(*stages: Stage) -> Receipt:
    return receipt_from_dict(public_receipt(release_of(stages, plan_of(stages))))


def test_what_is_kept_is_fitted_as_it_stands() -> None:
    """Variances are those of an open file times 2 - 1/n, and exactly those where values were swapped."""
    plain = mw.regress(TABLE, "sex ~ region", {"sex": STILL})
    stage = stage_within(ROWS, COLUMNS, ["sex"], ["region"])
    for made, factor in ((stage, 2 - 1 / 120), (replace(stage, method="swap"), 1)):
        fit = regress_with(TABLE, "sex ~ region", receipt=receipt_of(made))
        assert fit.estimates == pytest.approx(plain.estimates, abs=1e-6)
        assert fit.covariance == pytest.approx(factor * plain.covariance, rel=1e-4)
        assert bool(fit.incomparable) == (factor > 1)
    untouched = regress_with(
        TABLE, "sex ~ region", receipt=receipt_of(stage_within(ROWS, COLUMNS, ["roof"])), weights="w"
    )
    weighted = mw.regress(TABLE, "sex ~ region", {"sex": STILL}, sampling=mw.Sampling(weights="w"))
    assert untouched.covariance == pytest.approx(weighted.covariance)


def test_a_known_matrix_is_a_design_and_a_part_of_a_released_file_is_said() -> None:
    receipt = receipt_of(stage_within(ROWS, COLUMNS, ["sex"], ["region"]))
    part = {name: values[::2] for name, values in TABLE.items()}
    for table, said in ((TABLE, False), (part, True)):
        flags = regress_with(table, "sex ~ region", receipt=receipt).flags
        assert any("is of 120 records, the file has 60" in flag for flag in flags) == said
    from tests.support.releases import fixed_stage

    design = Uniform.from_gamma(5, Categories.of(["f", "m"]))
    fit = regress_with(TABLE, "sex ~ region", receipt=receipt_of(fixed_stage(ROWS, COLUMNS, "sex", design)))
    expected = mw.regress(TABLE, "sex ~ region", {"sex": design})
    assert np.array_equal(fit.estimates, expected.estimates) and np.array_equal(fit.covariance, expected.covariance)


def test_what_is_refused() -> None:
    apart, within = stage_within(ROWS, COLUMNS, ["sex"]), stage_within(ROWS, COLUMNS, ["sex"], ["region"])
    said = r"region\[T.south\] may be biased by up to 4.4, more than its standard error of 0.54"
    refused(ParameterError, said, regress_with, TABLE, "sex ~ region", receipt=receipt_of(apart))
    weighted = {"receipt": receipt_of(apart), "weights": "w"}
    refused(ParameterError, "matrix of sex is withheld", regress_with, TABLE, "sex ~ region", **weighted)
    with pytest.raises(
        ParameterError, match="cannot be combined with columns whose matrix is withheld or was computed from the file"
    ):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(within), weights="w")
    with pytest.raises(
        ParameterError, match="cannot be combined with columns whose matrix is withheld or was computed from the file"
    ):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(within), weights=np.ones(120))
    roof = stage_within(ROWS, COLUMNS, ["roof"])
    with pytest.raises(ParameterError, match="matrix of roof is withheld"):
        regress_with(TABLE, "sex ~ region", receipt=receipt_of(roof), latent="~ roof")
    once = receipt_of(within)
    each = tuple(replace(group, each="unit") for group in once.groups)
    with pytest.raises(ParameterError, match="one draw for all records of a unit"):
        regress_with(TABLE, "sex ~ region", receipt=replace(once, groups=each))
    with pytest.raises(ParameterError, match="cannot be combined with designs"):
        mw.Survey(TABLE, {"sex": STILL}, receipt=receipt_of(within))
    refused(ParameterError, "design or receipt must be given", mw.regress, TABLE, "sex ~ region")
