import numpy as np
import pytest
from tests.support.regression import THREE, WARNER, draw, gradient_of, logistic_data

from maskwell.errors import InputError
from maskwell.estimation.regression import fit_logistic, fit_multinomial


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 2, 900)])
    z = draw(THREE.matrix(), rng.integers(0, 3, 900), rng)
    return X, fit_multinomial(X, z, THREE, names=["a", "b"], weights=rng.uniform(1, 3, 900), codes=True)


def chances(found, X, beta):
    return found.margins.at(beta, np.column_stack([np.ones(len(X)), X])).reshape(len(X), -1)


@pytest.mark.parametrize("dummy", [False, True])
def test_effects_of_several_categories_are_mean_derivatives(several, dummy):
    X, found = several
    weights = found.margins.weights / found.margins.weights.sum()

    def effects(beta):
        step, out = 1e-6, []
        for j in range(2):
            up, down = X.copy(), X.copy()
            up[:, j], down[:, j] = (1.0, 0.0) if dummy and j == 1 else (up[:, j] + step, down[:, j] - step)
            width = 1.0 if dummy and j == 1 else 2 * step
            out.append(weights @ (chances(found, up, beta) - chances(found, down, beta)) / width)
        return np.array(out).T.ravel()

    effect = found.marginal_effects(dummy=dummy)
    assert effect.terms == ("never: a", "never: b", "once: a", "once: b", "often: a", "often: b")
    np.testing.assert_allclose(effect.estimates, effects(found.estimates), atol=1e-8)
    J = gradient_of(effects, found.estimates, 1e-4).T
    np.testing.assert_allclose(effect.covariance, J @ found.covariance @ J.T, rtol=1e-3, atol=1e-9)
    assert np.allclose(effect.estimates.reshape(3, 2).sum(axis=0), 0)


def test_new_rows_must_have_the_columns_of_the_fit():
    X, z = logistic_data(300, [0.1, 0.4, 0.2])
    found = fit_logistic(X, z, WARNER, codes=True)
    with pytest.raises(InputError, match="a model with 2 columns"):
        found.predict(np.ones((3, 5)))
