"""Left inverses: unbiased, best where they claim to be, and certified."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.support.arrays import Real
from tests.support.estimates import KUK, estimate_of

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense, Kronecker, Uniform
from maskwell.errors import NotIdentifiableError
from maskwell.estimation import LeftInverse

TALL = Dense.of(
    [["0.5", "0.1", "0.1"], ["0.2", "0.4", "0.1"], ["0.1", "0.2", "0.2"], ["0.1", "0.2", "0.1"], ["0.1", "0.1", "0.5"]]
)
TABLE = Kronecker.of([KUK, Uniform.from_gamma(3, Categories.numbered(2))])


@pytest.mark.parametrize("design", [KUK, TALL, TABLE], ids=["kuk", "tall", "table"])
def test_all_are_left_inverses_that_keep_the_sum(design: Dense) -> None:
    total = LeftInverse.minimax(design, criterion="total")
    for inverse in (LeftInverse.best(design), LeftInverse.minimax(design), total):
        np.testing.assert_allclose(inverse.L @ design.matrix(), np.eye(design.k), atol=1e-9)
        np.testing.assert_allclose(inverse.L.sum(axis=0), 1, atol=1e-9)


def test_the_best_reaches_the_information_bound_at_its_guess_and_no_other_does() -> None:
    pi = np.array([0.6, 0.3, 0.1])
    bound = np.linalg.inv(TALL.matrix().T @ np.diag(1 / TALL.apply(pi)) @ TALL.matrix())
    best = LeftInverse.best(TALL, pi).covariance(pi, TALL)
    np.testing.assert_allclose(best, bound - np.outer(pi, pi), atol=1e-12)
    other = LeftInverse.best(TALL, [0.1, 0.1, 0.8]).covariance(pi, TALL)
    assert np.linalg.eigvalsh(other - best).min() > -1e-12 and np.trace(other) > np.trace(best)


def _worst(L: Real, P: Real, criterion: str) -> float:
    """The largest summed variance over all shares, by corners or by a fine grid."""
    tau = P.T @ (L**2).sum(axis=0)
    if criterion == "randomization":
        return float(tau.max() - 1)
    grid = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    return float((grid @ tau - (grid**2).sum(axis=1)).max())


@pytest.mark.parametrize("criterion", ["randomization", "total"])
def test_no_other_left_inverse_does_better_in_its_worst_case(criterion: str) -> None:
    """A direct search over all left inverses, L + W N with N P = 0, agrees with the saddle point."""
    P, found = TALL.matrix(), LeftInverse.minimax(TALL, criterion=criterion)
    assert found.value == pytest.approx(_worst(found.L, P, criterion), abs=2e-4)
    null = np.linalg.svd(P.T)[2][3:]
    search = minimize(
        lambda w: _worst(found.L + w.reshape(3, 2) @ null, P, criterion), np.full(6, 0.05), method="Nelder-Mead"
    )
    assert search.fun >= found.value - 2e-4


def test_estimates_say_which_inverse_made_them() -> None:
    by_mean = LeftInverse.of_scores(KUK, range(4))
    names = {"": None, "-gls": LeftInverse.best(KUK), "-minimax": LeftInverse.minimax(KUK), "-scores": by_mean}
    for name, inverse in names.items():
        found = estimate_of([120, 130, 90, 60], KUK, inverse=inverse)
        assert (found.method, found.samples[0].inverse) == (f"moments{name}", inverse)
        assert found.pi_hat.sum() == pytest.approx(1, abs=1e-12)
    assert found.pi_hat[0] == pytest.approx(((130 + 2 * 90 + 3 * 60) / 400 / 3 - 0.2) / 0.5)  # Kuk's own estimate
    assert repr(names["-minimax"]).startswith("LeftInverse(minimax, 2 categories from 4 reports, value=0.4589")


def test_scores_recover_the_truth_and_a_guess_may_leave_reports_out() -> None:
    for scores in ([0, 1, 2, 3], [3, 1, 4, 1]):
        L = LeftInverse.of_scores(KUK, scores).L
        np.testing.assert_allclose(L @ KUK.matrix(), np.eye(2), atol=1e-12)
        np.testing.assert_allclose(LeftInverse.of_scores(KUK, 7 - 2 * np.array(scores)).L, L)
    sure = Dense.of([["1/2", 0], ["1/2", "1/2"], [0, "1/2"]])
    np.testing.assert_allclose(LeftInverse.best(sure, [1, 0]).L @ sure.matrix(), np.eye(2), atol=1e-12)
    never = Dense.of([["0.7", "0.3"], [0, 0], ["0.3", "0.7"]])
    np.testing.assert_allclose(LeftInverse.best(never, [0.2, 0.8]).L[0], [1.75, 0, -0.75], atol=1e-12)
    with pytest.raises(NotIdentifiableError, match="do not tell all shares"):
        LeftInverse.best(Dense.of([["1/2", 0], ["1/2", 0], [0, 1]]), [1, 0])


def test_a_weak_design_is_flagged() -> None:
    weak, fair = (make_design("warner", p=p) for p in ("0.5004", "0.51"))
    said = "smallest singular value of the design is 8.0e-04"
    assert any(said in flag for flag in estimate_of([499, 501], weak).flags)
    assert not any("singular" in flag for flag in estimate_of([500, 500], fair).flags)
