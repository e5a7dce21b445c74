"""Average marginal effects of the variables of a formula, against differences of predictions."""

import numpy as np
import pytest
from tests.support.regression import THREE, WARNER
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(21)
    made = pd.DataFrame({"age": rng.uniform(20, 60, 700), "region": rng.choice(["east", "north", "west"], 700)})
    made["code"], made["flag"], made["w"] = rng.integers(1, 4, 700), rng.integers(0, 2, 700), rng.uniform(1, 3, 700)
    chance = 1 / (1 + np.exp(-(0.04 * (made.age - 40) + 0.8 * (made.region == "west") - 0.5)))
    made["y"] = WARNER.randomize(np.where(rng.random(700) < chance, "yes", "no").tolist(), random=mw.SeededRandom(1))
    often = rng.choice(THREE.inputs.labels, 700, p=[0.5, 0.3, 0.2]).tolist()
    made["often"] = THREE.randomize(often, random=mw.SeededRandom(4))
    return made


FORMULAS = [
    "age", "age + region", "age * region + I(age**2)", "log(age) + C(code)", "poly(age, 2) * C(region, Sum)",
    "bs(age, df=4) + flag",
]  # fmt: skip


def by_hand(fitted, table, name, dummy):
    """The effects of one variable from predictions for changed tables, by their names."""
    weights = np.ones(len(table)) if "weights" not in fitted.variance else table.w
    share = weights / weights.sum()

    def mean(values):
        return share @ np.atleast_2d(fitted.predict(table.assign(**{name: values})).T).T

    if name in ("region", "code"):
        levels = sorted(set(table[name]))
        return {f"{name}[{one} vs {levels[0]}]": mean(one) - mean(levels[0]) for one in levels[1:]}
    if name == "flag" and dummy:
        return {name: mean(1) - mean(0)}
    inside = table[name].clip(table[name].min() + 1e-4, table[name].max() - 1e-4)
    return {name: (mean(inside + 1e-4) - mean(inside - 1e-4)) / 2e-4}


@together(
    ("right", "outcome", "dummy", "weights"),
    [(right, outcome, True, weights) for right in FORMULAS for outcome in ("y", "often") for weights in (None, "w")],
)
def test_effects_are_differences_of_predictions(table, right, outcome, dummy, weights):
    design = WARNER if outcome == "y" else THREE
    fitted = mw.regress(table, f"{outcome} ~ {right}", {outcome: design}, sampling=mw.Sampling(weights=weights))
    effects = fitted.marginal_effects(dummy=dummy)
    expected = {}
    for name in ("age", "region", "code", "flag"):
        if name in right:
            expected |= by_hand(fitted, table, name, dummy)
    labels = [""] if outcome == "y" else [f"{label}: " for label in THREE.inputs.labels]
    flat = {f"{label}{name}": value[place] for place, label in enumerate(labels) for name, value in expected.items()}
    assert dict(zip(effects.terms, effects.estimates, strict=True)) == pytest.approx(flat, abs=2e-4)


@together("right", ["age * region + I(age**2)", "flag + C(code)"])
def test_errors_follow_the_coefficients(table, right):
    """The delta method, with the derivatives by differences."""
    from dataclasses import replace

    fitted = mw.regress(table, f"y ~ {right}", {"y": WARNER})
    effects = fitted.marginal_effects()
    scale = fitted.standard_error * 1e-3
    J = []
    for j, step in enumerate(scale):
        moved = [replace(fitted, estimates=fitted.estimates + side * step * np.eye(len(scale))[j]) for side in (1, -1)]
        high, low = (one.marginal_effects().estimates for one in moved)
        J.append((high - low) / (2 * step))
    J = np.array(J).T
    np.testing.assert_allclose(effects.covariance, J @ fitted.covariance @ J.T, rtol=1e-4, atol=1e-12)


def test_effects_have_the_reference_of_the_fit_and_no_slope_of_a_category(table):
    fitted = mw.regress(table, "y ~ region", {"y": WARNER}, reference="west")
    assert fitted.marginal_effects().terms == ("region[east vs west]", "region[north vs west]")
    shares = fitted.predict({"region": ["east", "west"]})
    assert fitted.marginal_effects().estimates[0] == pytest.approx(shares[0] - shares[1])
    with pytest.raises(InputError, match="a number and a category"):
        mw.regress(table, "y ~ code + C(code, Sum):age", {"y": WARNER}).marginal_effects()
