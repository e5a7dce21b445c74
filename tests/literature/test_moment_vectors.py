"""Moment estimates and their covariance parts against worked cases (with-replacement sampling)."""

import json

import numpy as np
import pytest

from maskwell import Counts
from maskwell.designs import Dense
from maskwell.estimation import estimate_by_moments

KUK = [["27/1000", "64/125"], ["189/1000", "48/125"], ["441/1000", "12/125"], ["343/1000", "1/125"]]


def _cases(vector_folder, kinds):
    cases = json.loads((vector_folder / "rr_vectors.json").read_text())["cases"]
    return [case for case in cases if case["kind"] in kinds]


def _close(got, expected, tol):
    expected = np.asarray(expected, dtype=float)
    assert np.max(np.abs(np.asarray(got) - expected)) <= tol * max(1, np.max(np.abs(expected)))


def test_all_moment_vectors(vector_folder):
    cases = _cases(vector_folder, ("moment",))
    assert len(cases) >= 5
    for case in cases:
        design = Dense.of(case["input"]["P"])
        counts = np.array(case["input"]["counts"])
        result = estimate_by_moments(Counts(counts, int(counts.sum()), design.fingerprint), design)
        expected, tol = case["expected"], case["tol"]
        _close(result.pi_hat, expected["pi"], tol)
        _close(result.covariance, expected["cov"], tol)
        _close(result.standard_error, expected["se"], tol)
        _close(result.randomization_variance, np.diag(expected["cov_randomization"]), tol)
        _close(result.sampling_variance, np.diag(expected["cov_sampling"]), tol)


def test_left_inverse_at_a_guess(vector_folder):
    for case in _cases(vector_folder, ("moment_gls",)):
        design, given, expected = Dense.of(case["input"]["P"]), case["input"], case["expected"]
        L = design.left_inverse(np.array(given["pi0"]))
        _close(L, expected["L"], case["tol"])
        _close(L @ np.array(given["counts"]) / sum(given["counts"]), expected["pi"], case["tol"])


def test_true_covariance_vector(vector_folder):
    for case in _cases(vector_folder, ("cov_true",)):
        design, pi, n = Dense.of(case["input"]["P"]), np.array(case["input"]["pi"]), case["input"]["n"]
        sampling = (np.diag(pi) - np.outer(pi, pi)) / n
        _close(sampling, case["expected"]["sampling"], case["tol"])
        _close(design.covariance(pi) / n - sampling, case["expected"]["randomization"], case["tol"])


def test_warner_quarter():
    """Warner with p = 0.7, 120 yes of 300: a quarter, standard error .070829."""
    design = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    result = estimate_by_moments(Counts(np.array([120, 180]), 300, design.fingerprint), design)
    assert result.pi_hat[0] == pytest.approx(0.25, abs=1e-12)
    assert result.standard_error[0] == pytest.approx(0.0708288247, abs=1e-9)


def test_left_inverse_keeps_the_sum_for_more_reports_than_categories():
    """Kuk with three draws: L P = I, and the estimate sums to one whatever the counts and the guess."""
    design = Dense.of(KUK)
    result = estimate_by_moments(Counts(np.array([120, 130, 90, 60]), 400, design.fingerprint), design)
    assert result.pi_hat.sum() == pytest.approx(1, abs=1e-12)
    for guess in (None, np.array([0.3, 0.7])):
        L = design.left_inverse(guess)
        assert np.allclose(L @ design.matrix(), np.eye(2)) and np.allclose(L.sum(axis=0), 1)
