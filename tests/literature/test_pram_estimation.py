"""Worked-out numbers about estimates from released files, what these tell, and what they are good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.released import known_matrix, moved

import maskwell as mw
from maskwell.errors import MaskwellError, NotIdentifiableError, OrientationError
from maskwell.estimation import Sample
from maskwell.estimation.direct_estimate import Released, estimate_unknown
from maskwell.microdata.matrices import is_invariant
from maskwell.microdata.utility.utility_measures import cramers_v, table_distance

Cases = dict[str, list[dict[str, Any]]]


def close(value: Any, expected: Any, tol: float) -> None:
    np.testing.assert_allclose(np.asarray(value, dtype=float), np.asarray(expected, dtype=float), rtol=tol, atol=tol)


def case(cases: Cases, kind: str, number: int) -> list[dict[str, Any]]:
    assert len(cases[kind]) == number
    return cases[kind]


def test_posteriors_and_guesses(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "guess_and_posterior", 3):
        design, pi, out = mw.designs.Dense.of(v["input"]["P"]), np.array(v["input"]["pi"], dtype=float), v["expected"]
        pi = pi / pi.sum()
        close(design.largest_in_rows(pi)[0].sum(), out["guess"], v["tol"])
        close(pi.max(), out["floor"], v["tol"])
        close(mw.privacy.posterior(design, pi), out["posterior_rows"], v["tol"])


def test_conditional_covariance(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "conditional_covariance", 3):
        P, counts, out = v["input"]["P"], v["input"]["counts"], v["expected"]
        design, p = mw.designs.Dense.of(P), np.array(counts) / sum(counts)
        C = moved(design.matrix(), counts) / sum(counts) ** 2
        close(C, out["cov"], v["tol"])
        close(design.apply(p), out["mean"], v["tol"])
        assert is_invariant(design, counts) is out["invariant"]
        if out["invariant"]:
            close(1 + sum(counts) * np.diag(C) / (p * (1 - p)), out["vif_conditional"], v["tol"])


def test_weighted_covariance(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "weighted_covariance", 1):
        given, out = v["input"], v["expected"]
        codes, w = np.array(given["record_categories"]), np.array(given["weights"])
        weights, squares = np.bincount(codes, w), np.bincount(codes, w**2)
        design = mw.designs.Dense.of(given["P"])
        close(moved(design.matrix(), squares) / weights.sum() ** 2, out["cov"], v["tol"])
        close(design.apply(weights / weights.sum()), out["mean"], v["tol"])
        close(design.forward(np.array(given["counts"], dtype=float)), out["expected_unweighted_counts"], v["tol"])
        assert is_invariant(design, weights) is out["weighted_invariant"]


def test_variance_estimated_with_the_matrix(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "invariant_variance_estimate", 1):
        released, P = v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]).matrix()
        found, file = (known_matrix(released, P, target) for target in ("population", "file"))
        close(found.covariance, v["expected"]["V"], v["tol"])
        close(found.randomization_variance, np.diag(v["expected"]["W"]), v["tol"])
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
        whole = estimate_unknown(Released.of(counts))
        close(whole.contrast(a), (out["estimate"], out["upper_conservative"] ** 0.5), v["tol"])
        half = whole.critical_value(0.975) * whole.contrast(a).standard_error
        close((out["estimate"] - half, out["estimate"] + half), out["ci95"], v["tol"])
        close(whole.effective, [out["n_effective_floor"]] * 3, v["tol"])


def test_distances_and_association(pram_vectors: Cases) -> None:
    for v in case(pram_vectors, "utility", 1):
        before, after = v["input"]["original_table"], v["input"]["released_table"]
        found = table_distance(before, after)
        close(found.total_variation, v["expected"]["total_variation"], v["tol"])
        close(found.hellinger, v["expected"]["hellinger"], v["tol"])
        close(cramers_v(before), v["expected"]["cramers_v_original"], v["tol"])
        close(cramers_v(after), v["expected"]["cramers_v_released"], v["tol"])


def test_bad_matrices_and_counts_are_refused(pram_vectors: Cases) -> None:
    seen = 0
    for v in pram_vectors["bad_input"]:
        given = v["input"]
        if "P" not in given or "counts" not in given or "publish_P" in given:
            continue
        P = [[float(x) for x in row] for row in given["P"]]
        if given.get("require_invariant"):
            assert not is_invariant(mw.designs.Dense.of(P), given["counts"])
        else:
            wrong_way = "convention" in v["expected"]["must"]
            with pytest.raises(OrientationError if wrong_way else MaskwellError):
                Sample.of(given["counts"], mw.designs.Dense.of(P))
        seen += 1
    assert seen == 6


def test_a_singular_matrix_is_refused_for_moment_estimates(pram_vectors: Cases) -> None:
    (v,) = [v for v in pram_vectors["bad_input"] if "released_counts" in v["input"]]
    sample = Sample.of(v["input"]["released_counts"], mw.designs.Dense.of(v["input"]["P"]))
    with pytest.raises(NotIdentifiableError):
        mw.estimation.estimate_by_moments(sample.counts, sample.design)
