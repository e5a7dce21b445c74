"""Scores: unbiased whatever they are, best where they claim to be."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense, Subset, Uniform
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation import Sample, estimate_by_moments, mean_scores, score_left_inverse
from maskwell.estimation.left_inverse import optimal_scores, optimal_scores_for_weights, score_recovery

KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=3)
CHOW = make_design("chow", red=5, blue=3, draws=2)


@pytest.mark.parametrize("design", [KUK, CHOW], ids=["kuk", "chow"])
def test_no_scores_beat_the_optimal_ones(design: Dense) -> None:
    random = np.random.default_rng(1)
    for pi in (0.05, 0.3, 0.9):
        best = score_recovery(design, optimal_scores(design, pi_0=pi)).variance(pi)
        P, lam = design.matrix(), design.apply(np.array([pi, 1 - pi]))
        assert best == pytest.approx(1 / ((P[:, 0] - P[:, 1]) ** 2 / lam).sum())
        others = [score_recovery(design, random.normal(size=design.m)).variance(pi) for _ in range(300)]
        assert min(others) >= best - 1e-12


def test_recoveries_have_the_mean_of_the_truth_in_both_categories() -> None:
    for scores in (optimal_scores(KUK, pi_0=0.1), mean_scores(KUK), [3, 1, 4, 1]):
        U = score_recovery(KUK, scores)
        np.testing.assert_allclose(U.values @ KUK.matrix(), [1, 0], atol=1e-12)
        square = U.values**2 @ KUK.matrix()
        np.testing.assert_allclose([U.inside, U.outside], [square[0] - 1, square[1]], atol=1e-12)


def test_shifted_and_scaled_scores_are_the_same() -> None:
    one, other = score_recovery(KUK, [0, 1, 2, 3]), score_recovery(KUK, [7, 5, 3, 1])
    np.testing.assert_allclose(one.values, other.values)


def test_only_the_ratio_of_the_weights_matters() -> None:
    once, thrice = (optimal_scores_for_weights(KUK, inside=t * 2, outside=t * 5) for t in (1, 3))
    np.testing.assert_allclose(once, thrice)


def test_two_reports_leave_no_choice() -> None:
    """For m = 2 the guess does not matter: (1 - b) / (a - b) and -b / (a - b)."""
    forced = make_design("forced", truth="3/4", yes="1/6", no="1/12")
    for guess in (0.01, 0.5):
        np.testing.assert_allclose(optimal_scores(forced, pi_0=guess), [(5 / 6) / 0.75, -(1 / 6) / 0.75])


def test_the_mean_estimator_of_kuk() -> None:
    counts = Sample.of([120, 130, 90, 60], KUK)
    found = estimate_by_moments(counts.counts, KUK, inverse=score_left_inverse(KUK, mean_scores(KUK)))
    mean = (130 + 2 * 90 + 3 * 60) / 400
    assert found.pi_hat[0] == pytest.approx((mean / 3 - 0.2) / 0.5)


def test_a_guess_at_the_end_is_allowed_where_every_report_keeps_a_chance() -> None:
    assert np.isfinite(optimal_scores(KUK, pi_0=0)).all()
    triangular = make_design("triangular", q="1/4")
    np.testing.assert_allclose(optimal_scores(triangular, pi_0=0), [1, -1 / 3])
    with pytest.raises(ParameterError, match="no chance"):
        optimal_scores(triangular, pi_0=1)


def test_reports_that_never_come_count_nothing() -> None:
    design = Dense.of([["0.7", "0.3"], [0, 0], ["0.3", "0.7"]])
    np.testing.assert_allclose(optimal_scores(design, pi_0=0.2), [1.75, 0, -0.75])


def test_refusals() -> None:
    three = Uniform.from_gamma(3, Categories.numbered(3))
    with pytest.raises(ParameterError, match="two categories"):
        optimal_scores(three, pi_0=0.2)
    with pytest.raises(ParameterError, match="two categories"):
        mean_scores(Subset.from_gamma(3, Categories.numbered(4), size=2))
    with pytest.raises(ParameterError, match=r"pi_0 = 1\.2"):
        optimal_scores(KUK, pi_0=1.2)
    with pytest.raises(ParameterError, match="inside = -1"):
        optimal_scores_for_weights(KUK, inside=-1, outside=2)
    with pytest.raises(NotIdentifiableError, match="tell nothing"):
        score_recovery(KUK, [1, 1, 1, 1])
    with pytest.raises(ParameterError, match="4 reports"):
        score_recovery(KUK, [1, 2])
    flat = Dense.of([["1/2", "1/2"], ["1/2", "1/2"]])
    with pytest.raises(NotIdentifiableError):
        optimal_scores(flat, pi_0=0.2)
    symmetric = Dense.of([["0.2", "0.3"], ["0.6", "0.4"], ["0.2", "0.3"]])
    with pytest.raises(NotIdentifiableError, match="tell nothing"):
        score_recovery(symmetric, mean_scores(symmetric))
