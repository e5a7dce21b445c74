"""The one rule: exact for fractions, a slack of 1e-9 for decimals, none for bounds that must not be reached."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.support.examples import ABC, YES_NO, numbered

from maskwell import Demand
from maskwell.core.exact import is_decimal, parity_text, told_apart
from maskwell.designs import Blocks, Composed, Dense, Kronecker, Mixture, Subset, Unary, Uniform
from maskwell.errors import MatrixError
from maskwell.planning.improvement import improve
from maskwell.privacy import AverageSecurity, Lines, Smooth, Steps
from maskwell.privacy.criteria import SLACK, Verdict, alike, stands_for, verdict
from maskwell.procedures.category_encodings import bits
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.registry import make_design
from maskwell.procedures.small_decks import bounded_deck
from maskwell.procedures.statement_cards import warner
from maskwell.procedures.unrelated_questions import simmons
from maskwell.reports.plain_words import factor_down, factor_up
from maskwell.reports.text.design_report import parity_of

TWO = Fraction(2)
NEAR_TWO = Dense.of([["0.6666666666666667", "0.3333333333333333"], ["0.3333333333333333", "0.6666666666666667"]])


def test_decimals_are_told_from_fractions_and_have_slack_up_to_the_edge() -> None:
    decimals = [0.5, 3.0, np.float64(2), np.float32(0.5), "0.5", "2.0", "1e-3", "1E3", Decimal("0.1")]
    exact = [1, np.int64(3), Fraction(1, 3), "1/3", "2", " 2 ", "+2", "1_000", Decimal(2)]
    assert all(map(is_decimal, decimals)) and not any(map(is_decimal, exact))
    edge = TWO * (1 + SLACK)
    assert verdict(TWO, TWO, decimals=False) == Verdict(meets=True)
    assert verdict(edge, TWO, decimals=True) == Verdict(meets=True, slack_used=True)
    assert not verdict(edge + Fraction(1, 10**40), TWO, decimals=True).meets
    assert not verdict(TWO + Fraction(1, 10**40), TWO, decimals=False).meets
    for decimals in (False, True):
        assert not verdict(TWO, TWO, decimals=decimals, strict=True).meets
        assert not verdict(math.inf, TWO, decimals=decimals).meets
        assert verdict(math.inf, math.inf, decimals=decimals) == Verdict(meets=True)
        assert alike(math.inf, math.inf, decimals=decimals)
        assert not alike(TWO, math.inf, decimals=decimals)
    assert not alike(TWO, edge, decimals=False)


DESIGNS = {
    "a matrix of floats": (Dense.of([[0.7, 0.2], [0.3, 0.8]]), Dense.of([["7/10", "1/5"], ["3/10", "4/5"]])),
    "one decimal": (Dense.of([["0.5", "1/3"], ["1/2", "2/3"]]), Dense.of([["1/2", "1/3"], ["1/2", "2/3"]])),
    "rows": (Dense.from_rows([[0.7, 0.3], [0.2, 0.8]]), Dense.from_rows([["7/10", "3/10"], ["1/5", "4/5"]])),
    "uniform": (Uniform.of(0.5, ABC), Uniform.of("1/2", ABC)),
    "mixture": (Mixture.of("0.5", ["1/4", "1/4", 0], ABC), Mixture.of("1/2", ["1/4", "1/4", 0], ABC)),
    "fixed part": (Mixture.of("1/2", ["0.25", "1/4", 0], ABC), Mixture.of("1/2", ["1/4", "1/4", 0], ABC)),
    "subset": (Subset.of("0.75", 1, ABC), Subset.of("3/4", 1, ABC)),
    "unary": (Unary.of("1/2", "0.25", ABC), Unary.of("1/2", "1/4", ABC)),
    "warner": (warner(0.7), warner("7/10")),
    "simmons": (simmons("3/4", "0.2"), simmons("3/4", "1/5")),
    "forced": (forced(0.75, 1 / 6, 1 / 12), forced("3/4", "1/6", "1/12")),
    "by its name": (make_design("warner", p="0.7"), make_design("warner", p="7/10")),
    "bits": (bits(["a", "b"], p="0.75"), bits(["a", "b"], p="3/4")),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_remembers_decimals_and_its_fingerprint_does_not(name: str) -> None:
    decimals, fractions = DESIGNS[name]
    assert decimals.decimals
    assert not fractions.decimals
    assert "given" not in fractions.provenance
    assert decimals.fingerprint == fractions.fingerprint


def test_designs_and_demands_inherit_decimals_and_fractions_must_sum_to_one() -> None:
    typed, coin = Dense.of([[0.7, 0.2], [0.3, 0.8]], YES_NO), Uniform.from_gamma(3, YES_NO)
    assert all(design.decimals for design in (Kronecker.of([coin, typed]), Composed.of(coin, typed)))
    assert Blocks.of({"a": coin, "b": typed}).decimals
    assert improve(typed, gamma=4).design.decimals
    assert typed.with_labels(ABC.__class__.of(["x", "y"])).decimals
    assert not any(design.decimals for design in (Kronecker.of([coin, coin]), Composed.of(coin, coin)))
    steps, lines = Steps.of(["0.2"], ["1/2", 1]), Lines.of([(0, 0), ("1/4", 1), (1, 1)])
    given = [Demand.from_epsilon("0.5"), Demand.from_rho("1/10", 0.5), Demand.from_beta(2.0)]
    given.append(Demand.from_curves(upper=steps))
    exact = [Demand.from_epsilon(1), Demand.from_rho("1/10", "1/2"), Demand.from_beta("2")]
    exact.append(Demand.from_curves(upper=lines))
    assert all(demand.decimals and demand.to_dict()["decimals"] for demand in given)
    assert not any(demand.decimals for demand in exact)
    assert not Demand.from_curves(upper=Smooth.of(lambda p: p**0.5)).decimals, "its lower bound is certain already"
    thirds = [["333333333/1000000000", "1/2"], ["333333333/500000000", "1/2"]]
    with pytest.raises(MatrixError, match="fractions of column 0"):
        Dense.of(thirds)
    settled = Dense.of([["0.333333333", "1/2"], ["0.666666666", "1/2"]])
    assert settled.provenance["settled"] == pytest.approx(1e-9)


def test_average_security_and_decks_follow_the_rule() -> None:
    third = Dense.of([["2/3", "1/3"], ["1/3", "2/3"]])
    near = third.exact_matrix()
    near[0][0] += Fraction(1, 10**15)
    near[1][0] -= Fraction(1, 10**15)
    beyond = Dense.of(near)
    assert AverageSecurity.of("4/3").verdict(third) == Verdict(meets=True)
    assert not AverageSecurity.of("4/3").met_by(beyond), "a float would not see it"
    assert AverageSecurity.of("4/3").verdict(beyond.with_provenance(given="decimals")) == Verdict(True, True)
    assert AverageSecurity.of(1.3333333333333333).verdict(third).meets
    large = Uniform.of("1/2", numbered(10**6))
    assert AverageSecurity.of("3/2").met_by(large)
    assert not AverageSecurity.of("1499999999999/1000000000000").met_by(large)
    below = Dense.of([["0.6666666666666666", "0.3333333333333334"], ["0.3333333333333334", "0.6666666666666666"]])
    assert below.parity_exact() < 2
    deck = bounded_deck(below, 3, not_less_private=True)
    assert (deck.size, deck.less_private) == (3, False)
    exact = bounded_deck(Dense.of(below.exact_matrix()), 3)
    assert exact.less_private


def test_numbers_do_not_turn_the_meaning_around() -> None:
    assert parity_of(NEAR_TWO) == "2 (within 1e-9; given as decimals)"
    assert stands_for(NEAR_TWO) == 2
    assert factor_up(stands_for(NEAR_TWO)) == "2"
    assert factor_up(2 + Fraction(1, 10**15)) == "2.000000000000001"
    assert factor_up(Fraction(8, 3)) == "2.667"
    assert factor_down(2 - Fraction(1, 10**9)) == "1.999999999"
    assert parity_text(1 + Fraction(1, 10**6)) == "1.000001"
    assert parity_text(1 + Fraction(1, 10**30)) == "1.0000000000000001"
    assert repr(Dense.of([["500001/1000000", "1/2"], ["499999/1000000", "1/2"]])).endswith("parity=1.000002)")
    exact = Dense.of(NEAR_TWO.exact_matrix())
    assert stands_for(exact) == exact.parity_exact() != 2


@pytest.mark.parametrize("power", [3, 8, 13, 18, 40])
@pytest.mark.parametrize("base", [Fraction(1), Fraction(5, 2), Fraction(8, 3), Fraction(10**9)])
def test_two_numbers_are_told_apart(base: Fraction, power: int) -> None:
    more = base * (1 + Fraction(1, 10**power))
    for pair in ((base, more), (more, base)):
        one, two = told_apart(*pair)
        assert one != two
    assert Fraction(factor_up(more)) >= more if more < 10**6 else factor_up(more)
