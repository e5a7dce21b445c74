"""Random intercepts: ``y ~ x + (1 | firm)`` against plain sums over many nodes."""

import numpy as np
import pytest
from scipy import optimize, stats
from tests.support.quiet import refused
from tests.support.regression import gradient_of, hessian_of, mixed_log_likelihood
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError, MaskwellError, ParameterError

pytest.importorskip("pandas")

DESIGNS = {"y": [mw.When({"half": 1}, mw.design("warner", p="0.85")), mw.When({"half": 2}, mw.design("warner", p="1"))]}


def table_of(seed, groups, size, spread):
    """Rows in firms; the first half was asked by Warner's device, the second directly."""
    rng = np.random.default_rng(seed)
    firm = np.repeat(np.arange(groups), size)
    n = len(firm)
    x = rng.normal(size=n)
    yes = rng.random(n) < 1 / (1 + np.exp(-(-0.7 + 0.6 * x + spread * rng.normal(size=groups)[firm])))
    half = np.where(np.arange(n) < n // 2, 1, 2)
    yes ^= (half == 1) & (rng.random(n) < 0.15)
    order = rng.permutation(n)  # rows of a firm need not stand together
    made = {"y": np.where(yes, "yes", "no"), "x": x, "firm": firm, "half": half}
    return {name: column[order] for name, column in made.items()}


def twin(table):
    """The log-likelihood by the plain sum, from the same table."""
    keep = np.where(table["half"] == 1, 0.85, 1.0)
    a = np.where(table["y"] == "yes", keep, 1 - keep)
    X = np.column_stack([np.ones(len(a)), table["x"]])
    return lambda theta: mixed_log_likelihood(np.asarray(theta), X, a, 1 - a, table["firm"])


TABLE = table_of(4, 40, 6, 1.2)
MODEL = mw.regress(TABLE, "y ~ x + (1 | firm)", DESIGNS)
THETA = np.append(MODEL.estimates, MODEL.random.deviation)


def test_estimates_and_errors_are_those_of_the_plain_sum():
    likelihood = twin(TABLE)
    assert MODEL.log_likelihood == pytest.approx(likelihood(THETA), abs=1e-6)
    assert np.abs(gradient_of(likelihood, THETA, 1e-4)).max() < 1e-4
    covariance = np.linalg.inv(-hessian_of(likelihood, THETA))
    assert MODEL.random.covariance == pytest.approx(covariance, rel=1e-3, abs=1e-6) and MODEL.converged
    assert (MODEL.family, MODEL.random.groups) == ("mixed logistic", 40)
    assert MODEL.aic == pytest.approx(2 * 3 - 2 * MODEL.log_likelihood)


def test_the_interval_of_the_variance_is_the_profile():
    likelihood, variance = twin(TABLE), MODEL.parameters[0]
    low, high = variance.confidence_interval(0.9)
    assert variance.estimate == pytest.approx(THETA[-1] ** 2)
    for end in (low, high):
        best = optimize.minimize(lambda b, s=end**0.5: -likelihood([*b, s]), THETA[:2], method="BFGS", tol=1e-4)
        assert 2 * (MODEL.log_likelihood + best.fun) == pytest.approx(stats.chi2.ppf(0.9, 1), abs=1e-3)
    shares = MODEL.parameters[1].confidence_interval(0.9)
    assert shares == pytest.approx([v / (v + np.pi**2 / 3) for v in (low, high)])


def test_where_groups_do_not_differ_it_is_the_fit_without_them():
    table = table_of(1, 30, 8, 0.0)
    mixed, plain = (mw.regress(table, f"y ~ x{end}", DESIGNS) for end in (" + (1 | firm)", ""))
    assert mixed.random.deviation == 0 and mixed.estimates == pytest.approx(plain.estimates)
    assert mixed.standard_error == pytest.approx(plain.standard_error)
    low, high = mixed.parameters[0].confidence_interval()
    assert low == 0 < high < 2
    assert mixed.checks[0].p_value == 1 and "differ no more than chance" in mixed.flags[-1]
    assert mixed.predict({"x": [0.5]}) == pytest.approx(plain.predict({"x": [0.5]}))


def test_the_test_of_no_variance_has_half_of_a_chi_square():
    plain = mw.regress(TABLE, "y ~ x", DESIGNS)
    test = MODEL.checks[0]
    assert test.statistic == pytest.approx(2 * (MODEL.log_likelihood - plain.log_likelihood))
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 1) / 2)
    assert MODEL.compare(plain).p_value == pytest.approx(test.p_value)
    empty = MODEL.compare(mw.regress(TABLE, "y ~ 1", DESIGNS))
    tails = stats.chi2.sf(empty.statistic, 1) + stats.chi2.sf(empty.statistic, 2)
    assert empty.p_value == pytest.approx(tails / 2)
    smaller = MODEL.compare(mw.regress(TABLE, "y ~ (1 | firm)", DESIGNS))
    assert (smaller.df, smaller.halves) == (1, False)
    wald = MODEL.compare(mw.regress(TABLE, "y ~ (1 | firm)", DESIGNS), method="wald")
    assert wald.p_value == pytest.approx(MODEL.p_values[1])


def test_predictions_are_means_over_all_groups():
    """By a plain sum over normal intercepts, with errors by differences."""
    v = np.linspace(-9, 9, 4001)
    weight = stats.norm.pdf(v) * (v[1] - v[0])

    def chance(theta, x):
        return float(weight @ (1 / (1 + np.exp(-(theta[0] + theta[1] * x + theta[2] * v)))))

    assert MODEL.predict({"x": [-1.0, 2.0]}) == pytest.approx([chance(THETA, -1.0), chance(THETA, 2.0)])

    def effect(theta):
        return float(np.mean([(chance(theta, x + 1e-4) - chance(theta, x - 1e-4)) / 2e-4 for x in TABLE["x"]]))

    effects, slope = MODEL.marginal_effects(), gradient_of(effect, THETA, 1e-4)
    assert effects.estimates == pytest.approx([effect(THETA)], rel=1e-5)
    assert effects.standard_error == pytest.approx([np.sqrt(slope @ MODEL.random.covariance @ slope)], rel=1e-4)


def test_the_sandwich_adds_up_the_scores_of_the_firms():
    robust = regress_with(TABLE, "y ~ x + (1 | firm)", DESIGNS, variance="sandwich")
    scores = []
    for firm in range(40):
        rows = {name: column[TABLE["firm"] == firm] for name, column in TABLE.items()}
        rows["firm"] = rows["firm"] * 0
        scores.append(gradient_of(twin(rows), THETA, 1e-4))
    middle = np.transpose(scores) @ np.array(scores) * 40 / 39
    covariance = MODEL.random.covariance @ middle @ MODEL.random.covariance
    assert robust.covariance == pytest.approx(covariance[:2, :2], rel=1e-3)
    assert robust.variance == "sandwich (40 groups)"


@together(
    ("formula", "more", "kind", "said"),
    [
        ("y ~ x + (x | firm)", {}, InputError, "one random intercept"),
        ("y ~ x + (1 | firm) + (1 | half)", {}, InputError, "one random intercept"),
        ("y ~ x + (1 | firm:half)", {}, InputError, "one random intercept"),
        ("y ~ x - (1 | firm)", {}, InputError, "added with a +"),
        ("y ~ x + (1 | nothing)", {}, InputError, "'nothing'"),
        ("y ~ x + (1 | y)", {}, InputError, "both sides"),
        ("y ~ x + (1 | x)", {}, InputError, "another value in each row"),
        (
            "y ~ x + (1 | firm)",
            {"weights": np.ones(240)},
            ParameterError,
            "a random intercept cannot be combined with weights",
        ),
        ("y ~ x + (1 | firm)", {"variance": "expected"}, ParameterError, "expected"),
    ],
)
def test_what_is_refused(formula, more, kind, said):
    refused(kind, said.replace("+", r"\+"), regress_with, TABLE, formula, DESIGNS, **more)


def test_a_formula_of_a_release_has_no_random_intercept():
    from maskwell.engines.formula import read_formula

    refused(MaskwellError, "random intercept", read_formula, "y ~ x + (1 | firm)")
    read = read_formula("y ~ (1|`my firm`) + x", random=True)
    assert (read.group, read.columns) == ("my firm", ("x",))
    assert "firm" in MODEL.summary()
