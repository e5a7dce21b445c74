"""Left inverses: unbiased, best where they claim to be, and certified."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.support.arrays import Real

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense, Kronecker, Subset, Uniform
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation import (
    Sample,
    best_left_inverse,
    estimate_by_moments,
    mean_scores,
    minimax_left_inverse,
    score_left_inverse,
)
from maskwell.estimation.left_inverse import two_step_left_inverse

KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=3)
TALL = Dense.of(
    [["0.5", "0.1", "0.1"], ["0.2", "0.4", "0.1"], ["0.1", "0.2", "0.2"], ["0.1", "0.2", "0.1"], ["0.1", "0.1", "0.5"]]
)


@pytest.mark.parametrize("design", [KUK, TALL], ids=["kuk", "tall"])
def test_all_are_left_inverses_that_keep_the_sum(design: Dense) -> None:
    for inverse in (
        best_left_inverse(design),
        minimax_left_inverse(design),
        minimax_left_inverse(design, criterion="total"),
    ):
        np.testing.assert_allclose(inverse.L @ design.matrix(), np.eye(design.k), atol=1e-10)
        np.testing.assert_allclose(inverse.L.sum(axis=0), 1, atol=1e-10)


def test_the_best_reaches_the_information_bound_at_its_guess_and_no_other_does() -> None:
    pi = np.array([0.6, 0.3, 0.1])
    P, bound = TALL.matrix(), np.linalg.inv(TALL.matrix().T @ np.diag(1 / TALL.apply(pi)) @ TALL.matrix())
    best = best_left_inverse(TALL, pi).covariance(pi, TALL)
    np.testing.assert_allclose(best, bound - np.outer(pi, pi), atol=1e-12)
    other = best_left_inverse(TALL, np.array([0.1, 0.1, 0.8])).covariance(pi, TALL)
    assert np.linalg.eigvalsh(other - best).min() > -1e-12
    assert np.trace(other) > np.trace(best)
    assert P.shape == (5, 3)


def _worst(L: Real, P: Real, criterion: str) -> float:
    """The largest summed variance over all shares, by corners or by a fine grid."""
    tau = P.T @ (L**2).sum(axis=0)
    if criterion == "randomization":
        return float(tau.max() - 1)
    steps = 60
    grid = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    return float((grid @ tau - (grid**2).sum(axis=1)).max())


@pytest.mark.parametrize("criterion", ["randomization", "total"])
def test_no_other_left_inverse_does_better_in_its_worst_case(criterion: str) -> None:
    """A direct search over all left inverses, L + W N with N P = 0, agrees with the saddle point."""
    P, found = TALL.matrix(), minimax_left_inverse(TALL, criterion=criterion)
    assert found.value == pytest.approx(_worst(found.L, P, criterion), abs=2e-4)
    null = np.linalg.svd(P.T)[2][3:]
    search = minimize(
        lambda w: _worst(found.L + w.reshape(3, 2) @ null, P, criterion), np.full(6, 0.05), method="Nelder-Mead"
    )
    assert search.fun >= found.value - 2e-4


def test_with_as_many_reports_as_categories_there_is_only_one() -> None:
    warner = make_design("warner", p="0.7")
    for inverse in (best_left_inverse(warner), minimax_left_inverse(warner)):
        np.testing.assert_allclose(inverse.L, [[1.75, -0.75], [-0.75, 1.75]], atol=1e-12)


def test_estimates_say_which_inverse_made_them() -> None:
    counts = Sample.of([120, 130, 90, 60], KUK).counts
    names = {
        "moments": None,
        "moments-gls": best_left_inverse(KUK),
        "moments-minimax": minimax_left_inverse(KUK),
        "moments-scores": score_left_inverse(KUK, mean_scores(KUK)),
        "moments-two-step": two_step_left_inverse(counts, KUK),
    }
    for method, inverse in names.items():
        found = estimate_by_moments(counts, KUK, inverse=inverse)
        assert found.method == method
        assert found.pi_hat.sum() == pytest.approx(1, abs=1e-12)
        assert any("nearly, not exactly" in flag for flag in found.flags) is (method == "moments-two-step")


def test_two_steps_come_close_to_the_likelihood() -> None:
    from maskwell.estimation.maximisation.maximum import maximise

    counts = Sample.of([1200, 1300, 900, 600], KUK).counts
    found = estimate_by_moments(counts, KUK, inverse=two_step_left_inverse(counts, KUK))
    np.testing.assert_allclose(found.pi_hat, maximise([KUK], [counts.values]).pi, atol=2e-3)


def test_a_weak_design_is_flagged() -> None:
    weak = make_design("warner", p="0.5004")
    flags = estimate_by_moments(Sample.of([499, 501], weak).counts, weak).flags
    assert any("smallest singular value of the design is 8.0e-04" in flag for flag in flags)
    fair = make_design("warner", p="0.51")
    assert not any("singular" in flag for flag in estimate_by_moments(Sample.of([500, 500], fair).counts, fair).flags)


def test_tables_can_have_one_too() -> None:
    table = Kronecker.of([KUK, Uniform.from_gamma(3, Categories.numbered(2))])
    inverse = minimax_left_inverse(table)
    np.testing.assert_allclose(inverse.L @ table.matrix(), np.eye(4), atol=1e-9)


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="no criterion 'mean'"):
        minimax_left_inverse(KUK, criterion="mean")
    with pytest.raises(ParameterError, match="reports sets"):
        best_left_inverse(Subset.from_gamma(3, Categories.numbered(4), size=2))
    with pytest.raises(ReportError, match="another design"):
        estimate_by_moments(Sample.of([1] * 5, TALL).counts, TALL, inverse=best_left_inverse(KUK))
    sure = Dense.of([["1/2", 0], ["1/2", "1/2"], [0, "1/2"]])
    np.testing.assert_allclose(best_left_inverse(sure, np.array([1, 0])).L @ sure.matrix(), np.eye(2), atol=1e-12)
    open_ = Dense.of([["1/2", 0], ["1/2", 0], [0, 1]])
    with pytest.raises(NotIdentifiableError, match="do not tell all shares"):
        best_left_inverse(open_, np.array([1, 0]))
    assert repr(minimax_left_inverse(KUK)).startswith("LeftInverse(minimax, 2 categories from 4 reports, value=0.4589")
