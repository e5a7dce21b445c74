"""Tables of several variables against worked cases, through the public names."""

import numpy as np
import pytest

import maskwell as mw


def _cases(rr_vectors, kind):
    found = [case for case in rr_vectors.values() if case["kind"] == kind]
    assert found
    return found


def _close(got, expected, tol):
    expected = np.asarray(expected, dtype=float)
    assert np.max(np.abs(np.asarray(got) - expected)) <= tol * max(1, np.max(np.abs(expected)))


def _table(case, **options):
    designs = {f"x{t}": mw.designs.Dense.of(P) for t, P in enumerate(case["input"]["P"])}
    return mw.estimation.cross_tabulate_counts(np.array(case["input"]["counts"]), designs, **options)


def test_products_of_designs(rr_vectors):
    for case in _cases(rr_vectors, "kronecker"):
        design = mw.designs.Kronecker.of([mw.designs.Dense.of(P) for P in case["input"]["P"]])
        _close(design.matrix(), case["expected"]["P"], case["tol"])


def test_joint_tables(rr_vectors):
    for case in _cases(rr_vectors, "joint"):
        table, expected, tol = _table(case), case["expected"], case["tol"]
        _close(table.pi_hat, expected["pi"], tol)
        _close(table.estimate.covariance, expected["cov"], tol)
        _close(table.standard_error, expected["se"], tol)
        _close(table.conditional(given="x0").share, expected["conditional_given_first"], tol)


def test_independence(rr_vectors):
    for case in _cases(rr_vectors, "independence_chi2"):
        found, expected = _table(case).independence(), case["expected"]
        assert found.method == "pearson"
        _close(found.statistic, expected["X2"], case["tol"])
        assert found.degrees_of_freedom == expected["df"]
        _close(found.p_value, expected["p"], case["tol"])


def test_odds_ratios(rr_vectors):
    for case in _cases(rr_vectors, "odds_ratio"):
        table, expected, tol = _table(case), case["expected"], case["tol"]
        found = table.odds_ratio()
        _close(table.pi_hat, expected["pi"], tol)
        _close(found.log_odds_ratio, expected["log_or"], tol)
        _close(found.standard_error, expected["se_log_or"], tol)
        assert found.value == pytest.approx(np.exp(expected["log_or"]))
