"""A wrong share of the innocuous trait."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.errors import InputError, NotIdentifiableError
from maskwell.procedures import sensitivity_to_q
from maskwell.procedures.registry import make_design

shares = st.floats(0.02, 0.45)


@pytest.mark.parametrize("family", ["crosswise", "triangular"])
@given(q=shares, lam_hat=st.floats(0.05, 0.95))
def test_the_estimate_is_the_design_s_and_the_derivative_its_slope(family: str, q: float, lam_hat: float) -> None:
    sensitivity = sensitivity_to_q(family, q=q, lam_hat=lam_hat)
    design = make_design(family, q=q)
    assert sensitivity.pi_hat == pytest.approx(design.solve(np.array([lam_hat, 1 - lam_hat]))[0], abs=1e-9)
    step = 1e-6
    slope = (sensitivity.estimate_at(q + step) - sensitivity.estimate_at(q - step)) / (2 * step)
    assert sensitivity.derivative == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("family", "pi"), [("crosswise", 0.3), ("triangular", 0.3)])
def test_the_variance_of_an_estimated_share_is_that_of_simulated_ones(family: str, pi: float) -> None:
    """100,000 shares q, each from 2,000 people: the spread of the estimates is the derivative times that of q.

    A wrong derivative by 5 % is found; the spread of a simulated standard deviation is 0.2 %.
    """
    q, size = 0.25, 2000
    lam = float(make_design(family, q=q).apply(np.array([pi, 1 - pi]))[0])
    sensitivity = sensitivity_to_q(family, q=q, lam_hat=lam)
    drawn = np.random.default_rng(5).binomial(size, q, 100_000) / size
    values, place = np.unique(drawn, return_inverse=True)
    spread = np.std(np.array([sensitivity.estimate_at(one) for one in values])[place])
    q_error = math.sqrt(q * (1 - q) / size)
    assert math.sqrt(sensitivity.variance_added(q_error)) == pytest.approx(spread, rel=0.02)
    assert sensitivity.standard_error(0.03, q_error=q_error) == pytest.approx(math.hypot(0.03, spread), rel=0.01)


def test_bad_input() -> None:
    for family, q in (("crosswise", 0.5), ("triangular", 1)):
        with pytest.raises(NotIdentifiableError):
            sensitivity_to_q(family, q=q, lam_hat=0.4)
    for given_ in ({"q": 25, "lam_hat": 0.4}, {"q": 0.25, "lam_hat": 40}, {"q": math.nan, "lam_hat": 0.4}):
        with pytest.raises(InputError):
            sensitivity_to_q("crosswise", **given_)
    with pytest.raises(InputError, match="warner"):
        sensitivity_to_q("warner", q=0.25, lam_hat=0.4)
    sensitivity = sensitivity_to_q("crosswise", q=0.25, lam_hat=0.4)
    for error in (-1, math.nan, math.inf):
        with pytest.raises(InputError):
            sensitivity.variance_added(error)
