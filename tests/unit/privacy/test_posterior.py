"""Beliefs after a report, how far reports speak for sensitive categories, and jeopardy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import numbered

from maskwell import Categories, Demand
from maskwell.designs import Dense, Uniform
from maskwell.errors import NotIdentifiableError, ParameterError, UnknownCategoryError
from maskwell.privacy import AverageSecurity, hazard, jeopardy, posterior
from maskwell.privacy.criteria import average_security_bound, posterior_range
from maskwell.privacy.design_audit import audit, average_security, wear_out

WEIGHTS = st.lists(st.integers(1, 50), min_size=3, max_size=3)


@st.composite
def dense_designs(draw: st.DrawFn) -> Dense:
    m = draw(st.integers(2, 5))
    return Dense.from_integers([draw(st.lists(st.integers(1, 30), min_size=m, max_size=m)) for _ in range(3)])


@given(dense_designs(), WEIGHTS, st.sets(st.integers(0, 2), min_size=1, max_size=2))
def test_beliefs_stay_between_the_boundaries_and_bayes_factors_reach_them(
    design: Dense, weights: list[int], chosen: set[int]
) -> None:
    prior = np.array(weights) / sum(weights)
    after, parity = posterior(design, prior), design.parity_exact()
    assert not isinstance(parity, float)
    exact = Fraction(sum(weights[j] for j in chosen), sum(weights))
    low, high = posterior_range(parity, exact)
    of_set = after[:, sorted(chosen)].sum(axis=1)
    assert np.allclose(after.sum(axis=1), 1)
    assert (of_set >= float(low) * (1 - 1e-12)).all() and (of_set <= float(high) * (1 + 1e-12)).all()


@given(dense_designs())
def test_the_largest_bayes_factor_is_the_parity(design: Dense) -> None:
    """Reached by a prior on two truths."""
    found = 0.0
    for j in range(design.k):
        for l in range(design.k):  # noqa: E741
            if j != l:
                prior = np.zeros(design.k)
                prior[[j, l]] = 0.5
                with np.errstate(divide="ignore"):
                    after = posterior(design, prior)[:, j]
                found = max(found, float((after / (1 - after)).max()))
    assert found == pytest.approx(design.parity(), rel=1e-9)


def test_reports_that_cannot_occur_and_the_hazard_of_a_set() -> None:
    tiny = Dense.from_integers([[1, 2, 10**300], [3, 2, 10**300]])
    assert posterior(tiny)[0].tolist() == pytest.approx([0.25, 0.75])
    identity = Uniform.of(1, numbered(2))
    after = posterior(identity, np.array([1.0, 0.0]))
    assert after[0].tolist() == [1, 0] and np.isnan(after[1]).all()
    with pytest.raises(ValueError, match="distribution"):
        posterior(identity, np.array([0.5, 0.6]))
    liu_chow = Dense.of([["0.8", "0.2", "0.2"], ["0.1", "0.7", "0.1"], ["0.1", "0.1", "0.7"]])
    prior = np.array([0.2, 0.5, 0.3])
    found = hazard(liu_chow, [0], prior)
    assert found.ratio == 4 and liu_chow.parity() == pytest.approx(7)
    assert found.greatest <= found.bound * (1 + 1e-12)
    assert found.by_report == pytest.approx(posterior(liu_chow, prior)[:, 0])
    assert found.to_dict()["relative"] == pytest.approx(found.greatest / 0.2)
    assert hazard(Uniform.of(1, numbered(3)), [0]).bound == 1
    for bad in ([], [0, 1, 2], [3]):
        with pytest.raises((ParameterError, UnknownCategoryError), match="sensitive"):
            hazard(liu_chow, bad)


@given(dense_designs(), WEIGHTS)
def test_the_ratio_bounds_the_hazard_for_every_prior(design: Dense, weights: list[int]) -> None:
    found = hazard(design, [0], np.array(weights) / sum(weights))
    assert found.greatest <= found.bound * (1 + 1e-9)


@given(dense_designs())
def test_parity_bounds_average_security_and_not_the_reverse(design: Dense) -> None:
    assert average_security(design) <= average_security_bound(design.parity_exact()) * (1 + 1e-12)
    assert AverageSecurity.of("1.9999").met_by(design)


def test_average_security_is_a_demand_with_a_warning_among_what_an_auditor_asks_for() -> None:
    revealing = Dense.of([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    fair = Dense.of([["0.7", "0.2"], ["0.3", "0.8"]])
    demand = AverageSecurity.of("1.5")
    assert demand.met_by(revealing) and demand.met_by(fair) and not AverageSecurity.of("1.49").met_by(fair)
    assert revealing.parity() == math.inf and fair.parity() == 3.5
    found = audit(revealing, demand).to_dict()
    assert found["meets"] is True and "not recommended" in found["demand"]["note"]
    for bad in (1, 2, 0.5, "3"):
        with pytest.raises(ParameterError, match="between 1 and 2"):
            AverageSecurity.of(bad)
    design = Dense.of([["0.6", "0.2", "0.2"], ["0.2", "0.6", "0.3"], ["0.2", "0.2", "0.5"]])
    found = audit(design, Demand.from_rho("0.1", "0.5"), np.array([0.5, 0.3, 0.2]), sensitive=[0]).to_dict()
    assert found["posteriors"][1] == {"prior": 0.1, "lowest": pytest.approx(1 / 28), "highest": 0.25}
    assert np.array(found["posterior"]).shape == (3, 3) and found["hazard"]["ratio"] == 3
    assert found["l1"] == pytest.approx(0.8) and found["average_security"] == pytest.approx(1.4)
    assert not found["admissible"] and "C2" in found["inadmissible_because"]
    assert [w["parity"] for w in found["wear_out"]] == [9, 27, 243, 59049]
    assert wear_out(math.inf, [2])[0]["parity"] == math.inf


def test_a_design_that_says_little_is_not_admissible_for_being_close_to_silent() -> None:
    """Tolerances are measured against what a row says, so that parity close to 1 does not hide a wasted report."""
    tiny = Fraction(1, 10**7)
    third = Fraction(1, 3)
    wasteful = Dense.of([[third + tiny, third, third - tiny], [third] * 3, [third - tiny, third, third + tiny]])
    assert wasteful.parity() < 1 + 1e-6 and not wasteful.is_admissible()
    fine = Uniform.from_gamma(1 + Fraction(1, 10**6), numbered(3))
    assert Dense.of(fine.exact_matrix()).is_admissible()


YES_NO = Categories.of(["yes", "no"])
PROBABILITIES = st.fractions(0, 1, max_denominator=40)


@given(PROBABILITIES, PROBABILITIES, st.floats(0, 1))
def test_there_and_back(a: Fraction, b: Fraction, pi: float) -> None:
    if a == b:
        return
    design = Dense.of([[a, b], [1 - a, 1 - b]], YES_NO)
    found = jeopardy(design)
    high, low = (a, b) if a > b else (1 - a, 1 - b)
    assert found.design(YES_NO).exact_matrix()[0] == [high, low]
    assert found.u == hazard(design, ["yes"]).ratio and max(found.u, found.v) == design.parity_exact()
    assert found.variance(pi) == pytest.approx(float(design.share_variance(np.array([pi, 1 - pi]))[0]), abs=1e-9)
    if not isinstance(found.u, float) and not isinstance(found.v, float):
        u, v = float(found.u), float(found.v)
        assert (u * pi + 1 - pi) * (pi + v * (1 - pi)) / ((u - 1) * (v - 1)) == pytest.approx(found.variance(pi))


def test_the_ends_and_bad_input() -> None:
    with pytest.raises(ParameterError, match="two categories and two reports"):
        jeopardy(Dense.of([["0.2", "0.5"], ["0.3", "0.3"], ["0.5", "0.2"]]))
    with pytest.raises(NotIdentifiableError, match="no information"):
        jeopardy(Dense.of([["0.2", "0.2"], ["0.8", "0.8"]]))
