import json
import math
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.drawings import check_drawing, words_in
from tests.support.quiet import refused

from maskwell import Demand
from maskwell.core.percentages import SPACE
from maskwell.errors import ParameterError
from maskwell.plots import Picture, plot_canonical, plot_family
from maskwell.privacy import Smooth, Steps
from maskwell.privacy.criteria import area_between, largest_shift
from maskwell.reports.pictures.demand_regions import plot_demand, plot_demands
from maskwell.reports.pictures.revelation import plot_revealed

RHO, BETA = Demand.from_rho("0.1", "0.5"), Demand.from_beta(4)
STEPS = Demand.from_curves(
    upper=Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1], closed_right=[False, True]), text="the curves of demand.csv"
)


@cache
def pictures() -> list[Picture]:
    nothing = Demand.from_curves()
    falling = Demand.from_curves(upper=Smooth.of(lambda p: min(1, p + 0.1 + 0.05 * math.sin(30 * p))))
    return [
        *(
            plot_demand(demand)
            for demand in (RHO, BETA, STEPS, nothing, falling, Demand.from_rho(0.1, 0.5, closed=True))
        ),
        *(plot_canonical(demand) for demand in (RHO, BETA, STEPS, nothing, Demand.from_gamma(5))),
        plot_demands([RHO, BETA]),
        plot_family(),
        plot_family([1.1, 1.2, 1.3, 2, 3, 4, 5, 6, 7, 10**6], demand=STEPS),
        plot_family(demand=nothing),
        plot_revealed(Fraction(5), demand=RHO),
        plot_revealed(math.inf, demand=BETA),
        plot_revealed(Fraction(8, 3), demand=STEPS, name="a-rather-long-name-of-a-file-that-holds-a-design.json"),
        plot_revealed(Fraction(8, 3), name="a-rather-long-name-of-a-file-that-holds-a-design.json"),
    ]


def cell(text: str) -> str:
    return text.replace(SPACE, " ")


def test_a_demand_is_drawn_as_its_curves_with_filled_and_open_ends() -> None:
    data = plot_demand(RHO).data
    prior = data["prior"]
    assert len(prior) >= 400 and {0.0, 0.1, 0.5, 1.0} <= set(prior.tolist())
    np.testing.assert_array_equal(data["upper"], np.where(prior < 0.1, 0.5, 1.0))
    np.testing.assert_array_equal(data["lower"], np.where(prior > 0.5, 0.1, 0.0))
    axes = plot_demand(STEPS).figure().axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    filled = next(line for line in dots if line.get_markerfacecolor() == line.get_markeredgecolor())
    rings = next(line for line in dots if line.get_markerfacecolor() != line.get_markeredgecolor())
    assert list(zip(filled.get_xdata(), filled.get_ydata(), strict=True)) == [(0.2, 0.8), (0.5, 0.8)]
    assert list(zip(rings.get_xdata(), rings.get_ydata(), strict=True)) == [(0.2, 0.4), (0.5, 1.0)]


def test_two_demands_are_compared_by_their_bounds_alone() -> None:
    assert plot_demands([RHO, BETA]).text.endswith("β = 4 asks for more protection: parity up to 4, against 9.")
    assert plot_demands([BETA, Demand.from_gamma(4)]).text.endswith("Both ask for the same protection.")
    refused(ParameterError, "the figure needs two privacy requirements, not 3", plot_demands, [RHO, RHO, BETA])


def test_the_canonical_picture_holds_three_pairs_of_curves() -> None:
    data = plot_canonical(RHO).data
    prior, high = data["prior"], data["canonical_upper"]
    np.testing.assert_array_equal(high, np.select([prior < 0.1, prior < 0.5], [0.5, 0.9], 1.0))
    np.testing.assert_allclose(data["implied_upper"], 9 * prior / (1 + 8 * prior))
    np.testing.assert_allclose(data["implied_lower"], prior / (9 - 8 * prior))
    touching = np.abs(high - data["implied_upper"])[(prior > 0.05) & (prior < 0.95)].min()
    assert touching == pytest.approx(0, abs=1e-9)


def test_the_words_give_the_bound_and_the_table_and_say_when_both_halves_say_the_same() -> None:
    assert "say the same" in plot_canonical(Demand.from_gamma(5)).text
    assert "say the same" in plot_canonical(Demand.from_rho("0.2", "0.8")).text
    assert "more is forbidden than stated" in plot_canonical(RHO).text
    text = plot_demand(RHO).text
    assert "at most B = 9, that is γ = 9 (ε = 2.197)" in text
    assert [cell(row[0]) for row in plot_demand(RHO).rows] == ["1 %", "10 %", "50 %", "90 %"]
    assert [cell(x) for x in plot_demand(RHO).rows[0]] == ["1 %", "0 %", "50 %", "0.11 %", "8.4 %"]
    assert (
        cell(plot_demand(Demand.from_rho("0.2", "0.8")).rows[0][2]) == "80 %"
    )  # not 80.1, for all that 0.8 is a float
    assert "parity is below B = 9" in plot_demand(Demand.from_rho("0.1", "0.5", closed=True)).text
    assert "every design: B is infinite" in plot_demand(Demand.from_curves()).text
    closed = Demand.from_rho("0.1", "0.5", closed=True)
    assert "Not met: by less than can be drawn" in plot_revealed(Fraction(9), demand=closed).text


def test_an_uncertain_bound_is_said_to_be_uncertain() -> None:
    wavy = Demand.from_curves(upper=Smooth.of(lambda p: min(1, p + 0.1 + 0.05 * math.sin(30 * p))))
    picture = plot_demand(wavy)
    assert "not certain" in picture.text
    assert any("Not certain" in words for words in drawn_words(picture))


def drawn_words(picture: Picture) -> list[str]:
    return words_in(picture.svg())


def test_the_family_agrees_with_the_published_vectors(shared: Path) -> None:
    for region in json.loads((shared / "spec/privacy_vectors.json").read_text(encoding="utf-8"))["regions"]:
        data = plot_family([region["gamma"]]).data
        prior, low, high = data["prior"], data["lower"][0], data["upper"][0]
        area = float(np.sum(np.diff(prior) * ((high - low)[1:] + (high - low)[:-1])) / 2)
        assert area == pytest.approx(region["area_between"], abs=2e-3)
        assert float((high - prior).max()) == pytest.approx(region["max_shift"], abs=1e-3)
        assert area_between(Fraction(region["gamma"])) == pytest.approx(region["area_between"], abs=region["tol"])
        assert largest_shift(Fraction(region["gamma"])) == pytest.approx(region["max_shift"], abs=region["tol"])


@pytest.mark.parametrize("gammas", [[], [1, 2], [0.5], list(range(2, 14))])
def test_the_family_refuses_what_it_cannot_draw(gammas: list[float]) -> None:
    refused(ParameterError, "gammas", plot_family, gammas)


def test_only_what_is_drawn_is_explained() -> None:
    nothing, rising = Demand.from_curves(), Demand.from_curves(upper=Steps.of(["0.5"], ["0.6", 1]))
    falling = Demand.from_curves(lower=Steps.of(["0.5"], [0, "0.2"]))
    assert not any("breach" in words for words in drawn_words(plot_demand(nothing)))
    assert not any("breach" in words for words in drawn_words(plot_canonical(nothing)))
    assert not any("breach" in words for words in drawn_words(plot_family(demand=nothing)))
    assert not any("breach" in words for words in drawn_words(plot_revealed(Fraction(5), demand=nothing)))
    assert "no report leads here" not in drawn_words(plot_revealed(math.inf, demand=RHO))
    assert "breach that a report can" not in " ".join(drawn_words(plot_revealed(Fraction(5), demand=RHO)))
    assert "breach of both" in drawn_words(plot_demands([RHO, BETA]))
    assert "breach of both" not in drawn_words(plot_demands([rising, falling]))
    for picture in (plot_demands([RHO, BETA]), plot_family(demand=RHO), plot_revealed(Fraction(5), demand=RHO)):
        assert {"end included", "end not included"} <= set(drawn_words(picture))
    for picture in (plot_demands([BETA, BETA]), plot_revealed(Fraction(5), demand=BETA)):
        assert "end included" not in drawn_words(picture)


@pytest.mark.parametrize("demand", [None, RHO, Demand.from_gamma("1e400")])
def test_parities_that_no_float_holds_are_drawn(demand: Demand | None) -> None:
    for picture in (plot_revealed(Fraction(10**400), demand=demand), plot_family([2, 10**400], demand=demand)):
        assert ET.fromstring(picture.svg()) is not None
        assert "e+400" in picture.text


@settings(deadline=None, max_examples=30)
@given(
    st.fractions(min_value=1, max_value=40, max_denominator=50),
    st.fractions(min_value=1, max_value=40, max_denominator=50),
)
def test_a_region_lies_inside_exactly_when_the_demand_is_met(parity: Fraction, beta: Fraction) -> None:
    demand = Demand.from_beta(beta)
    data = plot_revealed(parity, demand=demand).data
    inside = (data["upper"] <= data["demand_upper"] + 1e-12).all() and (
        data["lower"] >= data["demand_lower"] - 1e-12
    ).all()
    assert bool(inside) == demand.allows(parity) or abs(parity - beta) < Fraction(1, 1000)


def test_regions_are_drawn_and_described() -> None:
    for picture in pictures():
        assert not any("h_" in words for words in words_in(check_drawing(picture))), "every limit is named in words"
