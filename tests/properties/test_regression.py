"""What must hold for every regression: names, order and units of the data do not matter."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.regression import logistic_data

from maskwell import Categories
from maskwell.designs import Dense
from maskwell.estimation.regression import fit_logistic, fit_multinomial
from maskwell.estimation.regression.row_likelihoods import expit_pair, softmax

designs = st.tuples(st.integers(11, 19), st.integers(1, 9)).map(
    lambda ab: Dense.of([[f"{ab[0]}/20", f"{ab[1]}/20"], [f"{20 - ab[0]}/20", f"{20 - ab[1]}/20"]])
)


@settings(max_examples=25)
@given(designs, st.integers(0, 10**6))
def test_neither_order_of_rows_nor_of_categories_matters(design, seed):
    X, z = logistic_data(400, [-0.2, 0.6], design, seed)
    order = np.random.default_rng(seed).permutation(400)
    one, other = fit_logistic(X, z, design, codes=True), fit_logistic(X[order], z[order], design, codes=True)
    np.testing.assert_allclose(one.estimates, other.estimates, rtol=1e-6, atol=1e-7)
    X, z = logistic_data(800, [-0.2, 0.6], design, seed)
    swapped = Dense.of([row[::-1] for row in design.exact_matrix()])
    one, other = fit_logistic(X, z, design, codes=True), fit_logistic(X, z, swapped, codes=True)
    assert one.converged == other.converged
    if one.converged:
        np.testing.assert_allclose(one.estimates, -other.estimates, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-5)


@settings(max_examples=25)
@given(designs, st.integers(0, 10**6), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(design, seed, shift, stretch):
    X, z = logistic_data(800, [-0.2, 0.6], design, seed)
    one, other = fit_logistic(X, z, design, codes=True), fit_logistic(X * stretch + shift, z, design, codes=True)
    if one.converged:
        np.testing.assert_allclose(other.estimates[1] * stretch, one.estimates[1], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(other.p_values[1], one.p_values[1], rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(other.predict(), one.predict(), atol=1e-7)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_a_multinomial_predicts_shares(seed, k):
    rng = np.random.default_rng(seed)
    design = Dense.of((np.eye(k) * 0.7 + 0.3 / k), Categories.numbered(k))
    x, z = rng.normal(size=300), rng.integers(0, k, 300)
    shares = fit_multinomial(x, z, design, codes=True).predict()
    shares = np.column_stack([shares, 1 - shares]) if k == 2 else shares
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=5))
def test_chances_never_overflow(eta):
    first, second = expit_pair(np.array(eta))
    assert np.isfinite(first).all() and np.isfinite(second).all()
    np.testing.assert_allclose(first + second, 1)
    np.testing.assert_allclose(softmax([np.array(eta), np.zeros(len(eta))]).sum(axis=0), 1)
