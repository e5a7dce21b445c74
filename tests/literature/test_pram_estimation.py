"""Worked-out numbers about estimates from released files, what these tell, and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.errors import MaskwellError, MatrixError, NotIdentifiableError, NotInvariantError, OrientationError
from maskwell.estimation import Sample
from maskwell.estimation.release_variance import (
    conditional_covariance,
    conditional_variance,
    weighted_covariance,
    weighted_variance,
)
from maskwell.microdata.matrices import is_invariant
from maskwell.microdata.risk.attribute_disclosure import conditional_proportion, guess_probability, posterior_matrix
from maskwell.microdata.utility.utility_measures import cramers_v, table_distance

Cases = dict[str, list[dict[str, Any]]]


def close(value: Any, expected: Any, tol: float) -> None:
    np.testing.assert_allclose(np.asarray(value, dtype=float), np.asarray(expected, dtype=float), rtol=tol, atol=tol)


def case(cases: Cases, kind: str, number: int) -> list[dict[str, Any]]:
    assert len(cases[kind]) == number
    return cases[kind]


def test_posteriors_and_guesses(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "guess_and_posterior", 3):
        P, pi, out = v["input"]["P"], v["input"]["pi"], v["expected"]
        found = mw.microdata.risk.best_guess(P, pi)
        close(found.probability, out["guess"], v["tol"])
        close(guess_probability(P, pi), out["guess"], v["tol"])
        close(found.floor, out["floor"], v["tol"])
        close(posterior_matrix(P, pi), out["posterior_rows"], v["tol"])


def test_conditional_covariance(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "conditional_covariance", 3):
        P, counts, out = v["input"]["P"], v["input"]["counts"], v["expected"]
        design = mw.designs.Dense.of(P)
        close(conditional_covariance(P, counts), out["cov"], v["tol"])
        close(conditional_variance(P, counts), np.diag(out["cov"]), v["tol"])
        close(design.apply(np.array(counts) / sum(counts)), out["mean"], v["tol"])
        assert is_invariant(design, counts) is out["invariant"]
        if out["invariant"]:
            close(mw.estimation.variance_inflation(P, counts), out["vif_conditional"], v["tol"])
        else:
            with pytest.raises(NotInvariantError, match="does not keep the counts"):
                mw.estimation.variance_inflation(P, counts)


def test_weighted_covariance(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "weighted_covariance", 1):
        given, out = v["input"], v["expected"]
        codes, w = np.array(given["record_categories"]), np.array(given["weights"])
        weights, squares = np.bincount(codes, w), np.bincount(codes, w**2)
        design = mw.designs.Dense.of(given["P"])
        close(weighted_covariance(design, weights, squares), out["cov"], v["tol"])
        close(weighted_variance(design, weights, squares), np.diag(out["cov"]), v["tol"])
        close(design.apply(weights / weights.sum()), out["mean"], v["tol"])
        close(design.forward(np.array(given["counts"], dtype=float)), out["expected_unweighted_counts"], v["tol"])
        assert is_invariant(design, weights) is out["weighted_invariant"]


def test_variance_estimated_with_the_matrix(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "invariant_variance_estimate", 1):
        found = mw.estimation.estimate_invariant(v["input"]["released_counts"], v["input"]["P"])
        close(found.covariance, v["expected"]["V"], v["tol"])
        close(found.randomization_variance, np.diag(v["expected"]["W"]), v["tol"])
        file = mw.estimation.estimate_invariant(v["input"]["released_counts"], v["input"]["P"], target="file")
        close(file.covariance, v["expected"]["W"], v["tol"])


def test_moment_estimates_of_a_fixed_matrix(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "moment_estimate", 2):
        sample = Sample.of(v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]))
        found = mw.estimation.estimate_by_moments(sample.counts, sample.design)
        close(found.pi_hat, v["expected"]["pi_hat"], v["tol"])
        close(found.covariance, v["expected"]["cov_hat"], v["tol"])
        assert any("outside [0, 1]" in flag for flag in found.flags) is v["expected"]["negative"]


def test_bounds_without_the_matrix(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "invariant_bounds", 2):
        counts, a, out = v["input"]["released_counts"], v["input"]["a"], v["expected"]
        found = mw.estimation.bound_for(a, counts)
        close(found.estimate, out["estimate"], v["tol"])
        close((found.lower, found.upper), (out["plug_in_lower"], out["plug_in_upper"]), v["tol"])
        close(found.conservative, out["upper_conservative"], v["tol"])
        close(found.interval(), out["ci95"], v["tol"])
        close(found.effective, out["n_effective_floor"], v["tol"])
        whole = mw.estimation.estimate_unknown(counts)
        close(whole.contrast(a), (out["estimate"], out["upper_conservative"] ** 0.5), v["tol"])
        close(whole.effective, [out["n_effective_floor"]] * 3, v["tol"])


def test_distances_and_association(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "utility", 1):
        before, after = v["input"]["original_table"], v["input"]["released_table"]
        found = table_distance(before, after)
        close(found.total_variation, v["expected"]["total_variation"], v["tol"])
        close(found.hellinger, v["expected"]["hellinger"], v["tol"])
        close(cramers_v(before), v["expected"]["cramers_v_original"], v["tol"])
        close(cramers_v(after), v["expected"]["cramers_v_released"], v["tol"])


def test_shares_within_others(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "conditional_proportion", 2):
        given, out = v["input"], v["expected"]
        found = conditional_proportion(
            given["P"], given["counts"], given["numerator_cells"], given["denominator_cells"]
        )
        close(found.original, out["original"], v["tol"])
        close(found.mean, out["mean_given_defined"], v["tol"])
        close(found.undefined, out["p_undefined"], v["tol"])
        assert found.unbiased is out["unbiased"]


def test_bad_matrices_and_counts_are_refused(pram_vectors: Cases) -> None:
    seen = 0
    for v in pram_vectors["bad_input"]:
        given = v["input"]
        if "P" not in given or "counts" not in given or "publish_P" in given:
            continue
        P = [[float(x) for x in row] for row in given["P"]]
        if given.get("require_invariant"):
            with pytest.raises(NotInvariantError):
                mw.estimation.variance_inflation(P, given["counts"])
            with pytest.raises(NotInvariantError):
                mw.estimation.estimate_invariant(given["counts"], P, counts=given["counts"])
        else:
            expected = OrientationError if "convention" in v["expected"]["must"] else MatrixError
            for use in (conditional_covariance, mw.estimation.variance_inflation):
                with pytest.raises(expected):
                    use(P, given["counts"])
            with pytest.raises(MaskwellError):
                mw.microdata.risk.best_guess(P, given["counts"])
        seen += 1
    assert seen == 6


def test_a_singular_matrix_is_refused_for_moment_estimates(pram_vectors: Cases) -> None:
    (v,) = [v for v in pram_vectors["bad_input"] if "released_counts" in v["input"]]
    sample = Sample.of(v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]))
    with pytest.raises(NotIdentifiableError):
        mw.estimation.estimate_by_moments(sample.counts, sample.design)
