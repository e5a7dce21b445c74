"""Designs are compared at equal protection, or not by variance at all."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import numbered

from maskwell import Design
from maskwell.designs import Dense, LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import ParameterError
from maskwell.estimation.maximum_likelihood import fisher_information, mutual_information
from maskwell.planning.comparison import compare, default_grid, efficiency_of
from maskwell.planning.order import sufficiency
from maskwell.planning.tuning import at_level, at_parity, diluted
from maskwell.privacy.measures import MEASURES, Measure
from maskwell.procedures.counted_draws import chow, christofides
from maskwell.procedures.nonrandomized import triangular
from maskwell.procedures.statement_cards import mangat, warner
from maskwell.procedures.unrelated_questions import simmons
from maskwell.reports.text.order_report import compare_report


@st.composite
def dense_designs(draw: st.DrawFn) -> Dense:
    m = draw(st.integers(2, 4))
    columns = [draw(st.lists(st.integers(0, 12), min_size=m, max_size=m)) for _ in range(3)]
    for j, column in enumerate(columns):
        column[j % m] += 1
    return Dense.from_integers(columns)


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


def test_variances_are_not_ranked_at_unequal_protection_which_may_not_be_had() -> None:
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
    found = compare(Uniform.from_gamma(3, numbered(4)), Subset.from_gamma(3, numbered(4), size=2))
    assert found.changed is None and found.equalised is found.given
    assert found.given.order.verdict == "incomparable" and found.given.winner_by_variance == "first"
    assert found.to_dict()["equalised"]["less_variance"] == "first"
    truth, l_diverse = Uniform.of(1, numbered(4)), LocalDiversity.of(2, numbered(4))
    found = compare(truth, l_diverse)
    assert found.equalised is None and "neither design has a bound" in found.to_dict()["not_equalised_because"]
    silent = Dense.of([["1/2"] * 4, ["1/2"] * 4])
    assert "reveals nothing" in compare(Uniform.from_gamma(3, numbered(4)), silent).to_dict()["not_equalised_because"]
    with pytest.raises(ParameterError, match="reveals nothing"):
        at_parity(truth, Fraction(1))


def test_large_designs_and_parities_that_no_float_holds() -> None:
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
    one, two = (Uniform.from_gamma(10**n, numbered(3)) for n in (400, 399))
    found = compare(one, two)
    assert found.changed == "first"
    shown = compare_report(found, "one.json", "two.json")
    assert shown[0].startswith("At equal protection (parity 1e+399) one.json and two.json are equally informative")


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


PRIOR = (Fraction(1, 5), Fraction(1, 2), Fraction(3, 10))


def measures() -> st.SearchStrategy[Measure]:
    made = [
        Measure.of("parity"),
        Measure.of("ratio"),
        Measure.of("ratio", sensitive=[2]),
        Measure.of("sensitive", sensitive=[0, 2]),
        Measure.of("hazard", sensitive=[1], prior=PRIOR),
        Measure.of("hazard", sensitive=[0, 2], prior=PRIOR),
    ]
    return st.sampled_from(made)


@given(dense_designs(), measures(), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_a_diluted_design_has_the_value_asked_for_and_tells_no_more(
    design: Dense, measure: Measure, part: Fraction
) -> None:
    now = measure.value(design)
    top = Fraction(20) if isinstance(now, float) else now
    value = measure.blank + part * (top - measure.blank)
    if not measure.blank < value < now:
        return
    found = at_level(design, measure, value).design
    assert measure.value(found) == value
    assert sufficiency(design, found).holds


@given(dense_designs(), measures(), st.fractions(Fraction(1, 10), Fraction(10), max_denominator=20))
def test_excess_says_whether_a_row_keeps_to_a_value(design: Dense, measure: Measure, value: Fraction) -> None:
    keeps = all(measure.excess(row, value) <= 0 for row in design.exact_matrix())
    assert keeps == (measure.value(design) <= value)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.01, 0.99))
@settings(max_examples=50)
def test_at_equal_ratio_warner_beats_simmons_exactly_when_beta_is_below_one_half(
    p: float, beta: float, pi: float
) -> None:
    other = simmons(round(p, 6), round(beta, 6))
    found = compare(other, warner("0.8"), measure="ratio", at="first", pi=np.array([pi, 1 - pi]))
    assert found.equalised is not None and found.equalised.equally_private
    pair = found.equalised.first, found.equalised.second
    variances = [float(d.share_variance(np.array([pi, 1 - pi]))[0]) for d in pair]
    beta = round(beta, 6)
    assert beta == 0.5 or (variances[1] < variances[0]) == (beta < 0.5)


def test_both_may_be_changed_the_mirror_image_is_not_taken_and_a_ratio_may_be_had_without_a_parity() -> None:
    found = compare(warner("0.8"), simmons("0.8", "0.1"), measure="ratio", at=9)
    assert found.changed == "both" and found.how == "warner with p = 9/10 and simmons with p = 4/9, beta = 1/10"
    assert found.to_dict()["equalised"]["measure"]["first"] == 9
    found = compare(simmons("0.8", "0.1"), warner("0.2"), measure="ratio", at="first")
    assert found.equalised is not None
    assert found.equalised.second.provenance["parameters"] == {"p": "1/42"}
    assert compare(mangat("0.7"), triangular("0.25")).equalised is None
    fair = compare(mangat("0.7"), triangular("0.25"), measure="ratio").equalised
    assert fair is not None
    assert fair.order.verdict == "equivalent" and fair.protections == (Fraction(10, 3), Fraction(10, 3))


@pytest.mark.parametrize("name", MEASURES)
def test_no_information_and_no_bound(name: str) -> None:
    prior = ["0.1", "0.9"] if name == "hazard" else None
    measure = Measure.of(name, sensitive=None if name == "parity" else [0], prior=prior)
    coin = warner("1/2", allow_unidentifiable=True)
    found = compare(coin, warner("0.7"), measure=measure)
    assert found.equalised is None and found.why == "one of the designs reveals nothing"
    assert found.given.efficiency is not None and found.given.efficiency.better == "second"
    open_ = compare(warner(1), simmons("0.5", 0), measure=measure)
    assert open_.equalised is None and "neither design has a bound" in str(open_.why)
    asked = compare(warner(1), warner("0.7"), measure=measure, at="first")
    assert "has no bound" in str(asked.why)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Measure.of("privacy"), "is not a known measure"),
        (lambda: Measure.of("ratio", sensitive=[0, 1]), "one sensitive category, not 2"),
        (lambda: Measure.of("hazard"), "needs a prior"),
        (lambda: Measure.of("hazard", prior=["0", "1"]), "positive shares"),
        (lambda: compare(warner("0.8"), warner("0.7"), measure=Measure.of("hazard", prior=PRIOR)), ""),
        (lambda: compare(warner("0.8"), warner("0.7"), measure=Measure.of("ratio", sensitive=[5])), ""),
        (lambda: compare(warner("0.8"), warner("0.7"), at=1), "cannot be the protection"),
        (lambda: compare(warner("0.8"), warner("0.7"), at="0.5"), "cannot be the protection"),
        (lambda: at_level(chow(5, 3, 2), Measure.of("ratio"), Fraction(5)), "are possible"),
    ],
)
def test_measures_and_protections_that_cannot_be(call: Any, said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert said in str(caught.value)


def test_relative_efficiency_is_a_ratio_of_variances_and_follows_the_order() -> None:
    one, two = warner("41/42"), simmons("0.8", "0.1")
    found = efficiency_of(one, two)
    assert found is not None and found.better == "first" and found.information is not None
    for pi, (low, high) in zip(default_grid(2), found.relative, strict=True):
        assert low == high == pytest.approx(two.share_variance(pi)[0] / one.share_variance(pi)[0])
    better = christofides(["0.38", "0.19", "0.05", "0.1", "0.02", "0.26"])
    worse = diluted(better, Fraction(2)).design
    found = efficiency_of(better, worse)
    assert found is not None and found.better == "first" and found.relative.min() >= 1
    assert efficiency_of(better, better).better == "equal"  # type: ignore[union-attr]


@given(dense_designs(), dense_designs())
@settings(max_examples=30)
def test_the_extremes_bound_every_direction(one: Dense, two: Dense) -> None:
    found = efficiency_of(one, two)
    assert found is not None
    random = np.random.default_rng(0)
    for pi, (low, high) in zip(found.grid, found.relative, strict=True):
        if np.isnan(low):
            continue
        x = random.normal(size=(20, 2))
        a, b = (np.einsum("ij,jk,ik->i", x, fisher_information(d, pi), x) for d in (one, two))
        assert (a / b >= low * (1 - 1e-7) - 1e-9).all() and (a / b <= high * (1 + 1e-7) + 1e-9).all()
