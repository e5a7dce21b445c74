"""Replicate weights in a regression, against the same sums by hand and against clusters."""

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.regression import WARNER, logistic_data
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw

pd = pytest.importorskip("pandas")
CLUSTERS = 24


@pytest.fixture(scope="module")
def table():
    """24 clusters of 25 rows in two strata, with weights and the replicates of a jackknife."""
    X, codes = logistic_data(600, [-0.3, 0.8])
    made = pd.DataFrame({"x": X[:, 0], "y": np.where(codes == 0, "yes", "no"), "psu": np.arange(600) // 25})
    made["h"], made["w"] = made.psu // 12, 1.0 + np.arange(600) % 3
    for r in range(CLUSTERS):
        same = (made.h == r // 12) & (made.psu != r)
        made[f"rep{r}"] = made.w * np.where(made.psu == r, 0, np.where(same, 12 / 11, 1))
    return made


def fit(table, **options):
    return regress_with(table, "y ~ x", {"y": WARNER}, **options)


def away_from(fitted, table, replicates):
    """How far the fits with each of some weights are from that of all."""
    runs = [fit(table[w > 0], weights=w[w > 0].to_numpy()).estimates for w in (table[name] for name in replicates)]
    return np.array(runs) - fitted.estimates


def test_the_variance_is_the_spread_of_the_replicates(table):
    fitted = fit(table, weights="w", strata="h", replicates="rep", replicate_method="jkn")
    away = away_from(fitted, table, [f"rep{r}" for r in range(CLUSTERS)])
    np.testing.assert_allclose(fitted.covariance, 11 / 12 * away.T @ away, rtol=1e-4)
    assert fitted.degrees_of_freedom == 22 and fitted.variance == "24 replicates (jkn)"
    whole = fit(table, weights="w", strata="h", clusters="psu")
    np.testing.assert_allclose(fitted.estimates, whole.estimates, atol=1e-8)
    np.testing.assert_allclose(fitted.standard_error, whole.standard_error, rtol=0.1)
    told = fit(table, weights="w", replicates="rep", replicate_method="jkn")
    np.testing.assert_allclose(told.covariance, fitted.covariance, rtol=1e-6)  # strata are seen in the weights


def test_bootstrap_weights_count_alike(table):
    rng = np.random.default_rng(1)
    drawn = {f"b{r}": table.w * rng.multinomial(24, [1 / 24] * 24)[table.psu] for r in range(20)}
    some = table.assign(**drawn)
    fitted = fit(some, weights="w", replicates="b", replicate_method="bootstrap")
    away = away_from(fitted, some, drawn)
    np.testing.assert_allclose(fitted.covariance, away.T @ away / 20, rtol=1e-4)


def test_a_randomized_predictor_has_replicates_too(table):
    both = table.assign(z=WARNER.randomize(["yes", "no"] * 300, random=mw.SeededRandom(1)))
    how = {"weights": "w", "strata": "h", "replicates": "rep", "replicate_method": "jkn", "latent": "~ 1"}
    fitted = regress_with(both, "y ~ x + z", {"y": WARNER, "z": WARNER}, **how)
    assert fitted.latent.degrees_of_freedom == 22 and np.isfinite(fitted.latent.standard_error).all()


WRONG = [
    ({"replicate_method": None}, "replicates needs replicate_method"),
    ({"clusters": "psu"}, "replicate weights cannot be combined with clusters or a population"),
    ({"variance": "observed"}, "with replicate weights"),
    ({"replicates": "none"}, "no columns whose names start"),
]


@together(("more", "said"), WRONG)
def test_what_does_not_go_with_replicates(table, more, said):
    how = {"weights": "w", "replicates": "rep", "replicate_method": "jkn", **more}
    refused(mw.MaskwellError, said, fit, table, **{name: value for name, value in how.items() if value})
