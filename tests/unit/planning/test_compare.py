"""Designs are compared at equal protection, or not by variance at all."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import numbered

from maskwell.designs import Dense, Design, LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import ParameterError
from maskwell.estimation.maximum_likelihood import fisher_information, mutual_information
from maskwell.planning.comparison import compare
from maskwell.planning.order import sufficiency
from maskwell.planning.tuning import at_parity, diluted
from maskwell.reports.text.order_report import compare_report


@st.composite
def dense_designs(draw: st.DrawFn) -> Dense:
    m = draw(st.integers(2, 4))
    columns = [draw(st.lists(st.integers(0, 12), min_size=m, max_size=m)) for _ in range(3)]
    for j, column in enumerate(columns):
        column[j % m] += 1
    return Dense.from_integers(columns)


@given(dense_designs(), st.fractions(min_value=Fraction(11, 10), max_value=20, max_denominator=30))
def test_a_diluted_design_has_the_parity_asked_for_and_tells_no_more(design: Dense, gamma: Fraction) -> None:
    found = at_parity(design, gamma).design
    if design.parity_exact() <= gamma:
        assert found is design
    else:
        assert found.parity_exact() == gamma
        assert sufficiency(design, found).holds


@pytest.mark.parametrize(
    "design",
    [
        Uniform.from_gamma(9, numbered(4)),
        Subset.from_gamma(9, numbered(5), size=2),
        LocalDiversity.of(2, numbered(4)),
        Unary.rappor_from_gamma(9, numbered(3)),
        Unary.oue_from_gamma(9, numbered(3)),
        Unary.of("0.6", "0.1", numbered(3)),
    ],
)
def test_families_stay_in_the_family(design: Design) -> None:
    found = at_parity(design, Fraction(4)).design
    assert found.parity() == pytest.approx(4) and found.parity_exact() <= 4
    if not isinstance(design, Unary):
        np.testing.assert_allclose(found.matrix(), diluted(design, Fraction(4)).design.matrix(), atol=1e-12)


def test_variances_are_not_ranked_at_unequal_protection() -> None:
    """The published comparison of Warner's and Simmons's devices turns round at equal protection."""
    warner = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])
    simmons = Dense.of([["0.82", "0.02"], ["0.18", "0.98"]])
    found = compare(warner, simmons, pi=np.array([0.05, 0.95]))
    one, two = found.given.added_variances
    assert one is not None and two is not None
    assert one > two and found.given.winner_by_variance is None
    shown = found.to_dict()
    assert shown["less_variance"] is None and "do not protect equally" in shown["less_variance_because"]
    assert shown["equalised"]["less_variance"] == "first" and shown["equalised"]["changed"] == "second"
    assert shown["equalised"]["parity"]["first"] == pytest.approx(shown["equalised"]["parity"]["second"])
    other_way = compare(simmons, warner, pi=np.array([0.05, 0.95])).to_dict()
    assert other_way["order"] == "first" and other_way["equalised"]["order"] == "second"


def test_equal_protection_needs_no_change() -> None:
    found = compare(Uniform.from_gamma(3, numbered(4)), Subset.from_gamma(3, numbered(4), size=2))
    assert found.changed is None and found.equalised is found.given
    assert found.given.order.verdict == "incomparable" and found.given.winner_by_variance == "first"
    assert found.to_dict()["equalised"]["less_variance"] == "first"


def test_nothing_to_equalise() -> None:
    truth, l_diverse = Uniform.of(1, numbered(4)), LocalDiversity.of(2, numbered(4))
    found = compare(truth, l_diverse)
    assert found.equalised is None and "neither design has a bound" in found.to_dict()["not_equalised_because"]
    silent = Dense.of([["1/2"] * 4, ["1/2"] * 4])
    assert "tells nothing" in compare(Uniform.from_gamma(3, numbered(4)), silent).to_dict()["not_equalised_because"]
    with pytest.raises(ParameterError, match="tells nothing"):
        at_parity(truth, Fraction(1))


def test_large_designs_are_compared_by_formula() -> None:
    k = 10**5
    found = compare(Uniform.from_gamma(3, numbered(k)), Subset.from_gamma(3, numbered(k), size=k // 4)).to_dict()
    assert found["equally_private"] and found["less_variance"] == "second" and found["order"] == "incomparable"
    nearly = compare(Uniform.from_epsilon(1, numbered(k)), Subset.from_epsilon(1, numbered(k), size=k // 4)).to_dict()
    assert nearly["order"] == "undecided" and nearly["equally_private"]
    reasons = [nearly["proof"][name]["reason"] for name in ("first_for_second", "second_for_first")]
    assert all("too large to compare" in reason for reason in reasons), "parities that differ by rounding say nothing"
    assert found["information"] == {"first": None, "second": None}
    larger = compare(Uniform.from_gamma(9, numbered(k)), Uniform.from_gamma(3, numbered(k)))
    assert larger.given.order.verdict == "first"
    assert larger.equalised is not None and larger.equalised.order.verdict == "equivalent"


def test_unary_designs_are_shown_at_their_best() -> None:
    found = compare(Unary.rappor_from_gamma(4, numbered(3)), Subset.from_gamma(4, numbered(3), size=1))
    assert found.given.added_variances == (pytest.approx(3.8333333), pytest.approx(2))


@given(dense_designs(), st.lists(st.integers(1, 20), min_size=3, max_size=3))
def test_information_is_what_a_garbling_cannot_raise(design: Dense, weights: list[int]) -> None:
    pi = np.array(weights) / sum(weights)
    coarser = diluted(design, Fraction(2)).design if design.parity_exact() > 2 else design
    gain = fisher_information(design, pi) - fisher_information(coarser, pi)
    assert np.linalg.eigvalsh(gain).min() >= -1e-9
    assert mutual_information(coarser, pi) <= mutual_information(design, pi) + 1e-12


def test_information_against_numbers_worked_by_hand() -> None:
    """Chow's device with 5 red, 3 blue, 2 draws at pi = 0.2, and the best binary design of its protection."""
    chow = Dense.of([["10/28", "3/28"], ["15/28", "15/28"], ["3/28", "10/28"]])
    best = Dense.of([[1, "3/10"], [0, "7/10"]])
    pi = np.array([0.2, 0.8])
    assert fisher_information(chow, pi)[0, 0] == pytest.approx(0.601216, abs=5e-7)
    assert fisher_information(best, pi)[0, 0] == pytest.approx(1.988636, abs=5e-7)
    assert mutual_information(Uniform.of(1, numbered(2)), np.array([1.0, 0.0])) == 0
    assert fisher_information(best, np.array([0.0, 1.0]))[0, 0] == pytest.approx(0.7**2 / 0.3 + 0.7)
    truth = Uniform.of(1, numbered(3))
    at_the_edge = fisher_information(truth, np.array([0.0, 0.5, 0.5]))
    assert at_the_edge[0, 0] == math.inf and at_the_edge[1, 1] == pytest.approx(4)
    assert mutual_information(Uniform.of(1, numbered(2))) == pytest.approx(math.log(2))


def test_parities_that_no_float_holds() -> None:
    one, two = (Uniform.from_gamma(10**n, numbered(3)) for n in (400, 399))
    found = compare(one, two)
    assert found.changed == "first"
    shown = compare_report(found, "one.json", "two.json")
    assert shown[0].startswith("At equal protection (parity 1e+399) one.json and two.json are equally informative")
