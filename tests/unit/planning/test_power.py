"""Respondents, margins, power and detectable differences with a given design."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories, Design
from maskwell.core.exact import Number
from maskwell.designs import Dense, Uniform
from maskwell.errors import MatrixError, NotIdentifiableError, ParameterError, TooLargeError
from maskwell.planning import unit_variance
from maskwell.planning.power import plan_test
from maskwell.planning.respondent_variance import Sampling, worst_shares
from maskwell.planning.sample_size import plan_sample

WARNER = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], Categories.of(["yes", "no"]))
THREE = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
LEAN = Dense.of([["0.95", "0.02"], ["0.05", "0.98"]])  # worst where the answers, not the truths, are balanced


def shares(k: int) -> Any:
    return st.lists(st.floats(0.01, 1), min_size=k, max_size=k).map(lambda x: np.array(x) / np.sum(x))


@given(shares(3), st.floats(0.5, 4), st.floats(0, 2), st.integers(0, 2))
@settings(max_examples=25)
def test_no_shares_are_worse_than_the_worst(pi: Any, deff: float, cv: float, category: int) -> None:
    sampling = Sampling(deff, cv)
    worst = worst_shares(THREE, category=category, sampling=sampling)
    here = unit_variance(THREE, pi, category=category, sampling=sampling)
    assert here.total <= worst.variance.total * (1 + 1e-12)
    there = unit_variance(THREE, worst.pi, category=category, sampling=sampling)
    assert there.total == pytest.approx(worst.variance.total, rel=1e-12)


def test_without_shares_or_a_category_the_worst_is_planned_for() -> None:
    assert (LEAN.matrix() @ worst_shares(LEAN).pi)[0] == pytest.approx(0.5)
    never_half = Dense.of([["0.4", "0.1"], ["0.6", "0.9"]])
    assert worst_shares(never_half).pi.tolist() == [1, 0]
    totals = [worst_shares(THREE, category=j).variance.total for j in range(3)]
    assert worst_shares(THREE).variance.total == max(totals)
    pi = np.array([0.2, 0.5, 0.3])
    assert plan_sample(THREE, pi=pi, n=100).category == int(THREE.share_variance(pi).argmax())
    plan = plan_sample(WARNER, margin=0.05)
    assert plan.worst_case and plan.n == plan.worst_n == 2401
    assert plan_sample(WARNER, pi=[0.1, 0.9], margin=0.05).worst_n == 2401


@pytest.mark.parametrize("pi", [[0.1, 0.8], [-0.1, 1.1], [1.0], [float("nan"), 1.0]])
def test_shares_that_are_none(pi: list[float]) -> None:
    with pytest.raises(MatrixError, match="must be a distribution over"):
        plan_sample(WARNER, pi=pi, n=100)
    with pytest.raises(MatrixError, match="must be a distribution over"):
        plan_test(WARNER, pi=pi, n=100, power=0.8)


@pytest.mark.parametrize("design", [WARNER, LEAN])
@pytest.mark.parametrize("against", [0.15, 0.05, 0.6])
@pytest.mark.parametrize("power", [0.3, 0.8, 0.99])
def test_the_three_numbers_of_a_test_fit_together(design: Design, against: float, power: float) -> None:
    pi = [0.1, 0.9]
    n = plan_test(design, pi=pi, against=against, power=power).n
    assert plan_test(design, pi=pi, against=against, n=n).power >= power
    assert n == 1 or plan_test(design, pi=pi, against=against, n=n - 1).power < power
    below, above = plan_test(design, pi=pi, against=against, n=n).detectable
    found = above if against > 0.1 else below
    exact = plan_test(design, pi=pi, against=against, n=n).power
    assert found is not None and plan_test(design, pi=pi, against=found, n=n).power == pytest.approx(exact, rel=1e-9)


def test_a_difference_to_be_found_is_never_none_and_may_be_of_three_categories() -> None:
    plan = plan_test(WARNER, pi=[0.05, 0.95], n=2000, power=0.8)
    assert plan.detectable == (None, plan.against)  # nothing below 5 % is far enough away
    assert plan_test(WARNER, pi=[0.99, 0.01], n=2000, power=0.8).against < 0.99
    with pytest.raises(ParameterError, match="no share is far enough from"):
        plan_test(WARNER, pi=[0.5, 0.5], n=3, power=0.8)
    open_question = Dense.of([[1, 0], [0, 1]])
    plan = plan_test(open_question, pi=[1, 0], n=500, power=0.8)
    assert plan.against < 1
    assert plan.detectable == (plan.against, None)
    plan = plan_test(THREE, pi=[0.2, 0.5, 0.3], against=0.25, power=0.8, category=0)
    moved = np.array([0.25, 0.75 * 5 / 8, 0.75 * 3 / 8])
    assert plan.variance_against.total == pytest.approx(THREE.share_variance(moved)[0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"against": 0.1, "power": 0.8}, "equals the share under the hypothesis, so no difference can be detected"),
        ({"against": 1.5, "power": 0.8}, "against must be a share, not"),
        ({"against": 0.2, "power": 1}, "power must be strictly between 0 and 1, not 1"),
        ({"against": 0.2, "power": 0.02}, "power must be above alpha / 2 ="),
        ({"against": 0.2, "power": 0.8, "alpha": 0}, "alpha must be strictly between 0 and 1, not 0"),
        ({"against": 0.2}, "exactly two of against, power and n must be given, not only one"),
        ({}, "exactly two of against, power and n must be given, not none"),
        ({"against": 0.2, "power": 0.8, "n": 100}, "exactly two of against, power and n must be given, not all"),
    ],
)
def test_bad_tests(given: dict[str, Number], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        plan_test(WARNER, pi=[0.1, 0.9], **given)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_the_normal_power_is_what_simulated_surveys_find() -> None:
    """2,000 surveys: the share that alarms has an error of 0.9 points; five times that happens once in a million."""
    plan = plan_test(WARNER, pi=[0.1, 0.9], against=0.2, n=1500)
    random = np.random.default_rng(1)
    lam = 0.3 + 0.4 * 0.2
    estimates = (random.binomial(1500, lam, 2000) / 1500 - 0.3) / 0.4
    z = 1.959964
    alarms = (estimates - 0.1) > z * np.sqrt(plan.variance_null.total / 1500)
    assert alarms.mean() == pytest.approx(plan.power, abs=0.045)


def test_what_cannot_be_planned_is_refused() -> None:
    large = Uniform.from_gamma(3, Categories.numbered(3000))
    coin = Dense.of([["0.5", "0.5"], ["0.5", "0.5"]])
    alpha = "1/1000000000000000000"
    for error, said, ask in (
        (
            TooLargeError,
            "the worst shares are searched for up to 2,000 categories, not for 3,000",
            lambda: plan_sample(large, n=100),
        ),
        (NotIdentifiableError, "", lambda: plan_sample(coin, n=10)),
        (NotIdentifiableError, "", lambda: plan_test(coin, pi=[0.1, 0.9], n=10, power=0.8)),
        (
            ParameterError,
            "at least 1e-12",
            lambda: plan_test(WARNER, pi=[0.1, 0.9], against=0.15, power=0.8, alpha=alpha),
        ),
        (ParameterError, "too close to 1", lambda: plan_sample(WARNER, margin=0.05, level=1 - 2**-53)),
        (ParameterError, "label 'maybe'", lambda: plan_sample(WARNER, margin=0.05, category="maybe")),
        (ParameterError, "needs a category", lambda: plan_test(THREE, pi=[0.2, 0.5, 0.3], against=0.25, power=0.8)),
    ):
        with pytest.raises(error, match=said or None):
            ask()
    assert plan_sample(large, n=100, pi=np.full(3000, 1 / 3000)).worst_n is None
