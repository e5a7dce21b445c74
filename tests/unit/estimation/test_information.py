"""Information: by differences of the log-likelihood, and the covariance along every path."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.arrays import Real

from maskwell.core import Categories, Counts
from maskwell.designs import Dense, Kronecker, Mixture, Uniform
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ReportError
from maskwell.estimation import Sample, maximum_likelihood
from maskwell.estimation.maximum_likelihood import fisher_information, observed_information, unit_covariance

THREE = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
KUK = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
PI = np.array([0.2, 0.5, 0.3])


def full(pi: Real) -> Real:
    return np.append(pi, 1 - pi.sum())


def curvature(design: Dense, weights: Real, pi: Real, step: float = 1e-4) -> Real:
    """Minus the second differences of ``sum weights ln(P pi)``."""

    def height(free: Real) -> float:
        return float(weights @ np.log(design.matrix() @ full(free)))

    k = len(pi) - 1
    e = step * np.eye(k)
    at = pi[:-1]
    return np.array(
        [
            [
                -(height(at + a + b) - height(at + a - b) - height(at - a + b) + height(at - a - b)) / (4 * step**2)
                for b in e
            ]
            for a in e
        ]
    )


@pytest.mark.parametrize(("design", "pi"), [(THREE, PI), (KUK, np.array([0.3, 0.7]))])
def test_information_is_the_curvature(design: Dense, pi: Real) -> None:
    np.testing.assert_allclose(fisher_information(design, pi), curvature(design, design.matrix() @ pi, pi), rtol=1e-5)
    counts = np.arange(1, design.m + 1) * 7
    sample = Sample.of(counts, design)
    np.testing.assert_allclose(
        observed_information(sample.counts, design, pi), curvature(design, counts.astype(float), pi), rtol=1e-5
    )


def test_observed_information_is_found_at_the_estimate() -> None:
    sample = Sample.of([30, 50, 20], THREE)
    at = THREE.solve(sample.counts.share())
    np.testing.assert_allclose(
        observed_information(sample.counts, THREE), 100 * fisher_information(THREE, at), rtol=1e-9
    )


def test_bad_input() -> None:
    with pytest.raises(ReportError, match="another design"):
        observed_information(Counts(np.array([1, 2, 3]), 6, ""), THREE)
    with pytest.raises(ReportError, match="counts of 0 reports"):
        observed_information(Counts(np.zeros(3), 0, THREE.fingerprint), THREE)


def by_inverse(designs: list[CodedDesign], weights: list[float], pi: Real) -> Real:
    """``J' I^-1 J`` from the Fisher information of the samples."""
    total = sum(w * fisher_information(d, pi) for d, w in zip(designs, weights, strict=True))
    J = np.column_stack([np.eye(len(pi) - 1), -np.ones(len(pi) - 1)])
    return np.asarray(J.T @ np.linalg.inv(total) @ J)


LABELS = Categories.numbered(3)
STACKS: dict[str, tuple[list[CodedDesign], list[float]]] = {
    "square": ([THREE], [1.0]),
    "rows": (
        [THREE, Dense.of([["1/2", "1/3", "1/4"], ["1/2", "2/3", "3/4"]], LABELS, Categories.numbered(2))],
        [0.4, 0.6],
    ),
    "contrasts": ([Uniform.from_gamma(4, LABELS), Mixture.of("1/2", ["1/4", "1/8", "1/8"], LABELS)], [0.3, 0.7]),
}


@pytest.mark.parametrize("name", list(STACKS))
def test_covariance_by_every_path(name: str) -> None:
    designs, weights = STACKS[name]
    found = unit_covariance(designs, weights, PI)
    np.testing.assert_allclose(found.covariance, by_inverse(designs, weights, PI), rtol=1e-9)
    np.testing.assert_allclose(found.variance, np.diagonal(found.covariance), rtol=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["square", "contrasts"])
def test_without_room_for_the_matrix_variances_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    designs, weights = STACKS[name]
    whole = unit_covariance(designs, weights, PI)
    monkeypatch.setattr(maximum_likelihood, "COVARIANCE_LIMIT", 2)
    found = unit_covariance(designs, weights, PI)
    assert found.covariance is None
    np.testing.assert_allclose(found.variance, whole.variance, rtol=1e-12)


def test_too_large_to_work_out_is_an_upper_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tall = Kronecker.of([KUK, KUK])
    pi = np.outer([0.3, 0.7], [0.6, 0.4]).ravel()
    whole = unit_covariance([tall], [1.0], pi)
    monkeypatch.setattr(maximum_likelihood, "COVARIANCE_LIMIT", 2)
    found = unit_covariance([tall], [1.0], pi)
    assert (found.variance >= whole.variance - 1e-12).all()
    assert "moment estimates" in found.flags[0]


def test_a_report_that_does_not_occur_fixes_what_it_depends_on() -> None:
    mangat = Dense.of([["1", "0.3", "0"], ["0", "0.5", "0"], ["0", "0.2", "0.4"], ["0", "0", "0.6"]])
    found = unit_covariance([mangat], [1.0], np.array([0.6, 0.4, 0.0]))
    assert found.covariance is not None
    assert found.covariance[2].tolist() == [0, 0, 0]
    two = Dense.of([["1", "0.3"], ["0", "0.5"], ["0", "0.2"]])
    alone = unit_covariance([two], [1.0], np.array([0.6, 0.4]))
    np.testing.assert_allclose(found.covariance[:2, :2], alone.covariance, rtol=1e-9)


def test_information_where_a_seen_report_cannot_occur_is_refused() -> None:
    open_question = Dense.of([[1, 0], [0, 1]])
    with pytest.raises(ReportError, match="cannot occur at these proportions"):
        observed_information(Sample.of([3, 4], open_question).counts, open_question, np.array([1.0, 0.0]))
