import re
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.together import together

from maskwell import Demand
from maskwell.core.exact import Parity
from maskwell.privacy import Lines, Steps
from maskwell.privacy.criteria import posterior_range
from maskwell.reports.pictures.belief_square import Region, Worst, find_worst

CASE = re.compile(
    r"from (just below |just above |)([\d.]+) % a report can lead (up|down) to ([\d.]+) %, "
    r"where the demand allows no (?:more|lower) than ([\d.]+) %"
)


def worst_of(parity: Parity, demand: Demand) -> Worst | None:
    stated = Region.of(demand)
    return find_worst(parity, demand, Region.at_parity(parity, like=stated), stated)


APPROACHED = {
    (False, False): "from just below 20 % a report can lead up to 69.3 %, where the demand allows no more than 40 %",
    (False, True): "from 20 % a report can lead up to 69.3 %, where the demand allows no more than 40 %",
    (True, False): "from 80 % a report can lead down to 30.7 %, where the demand allows no lower than 60 %",
    (True, True): "from just above 80 % a report can lead down to 30.7 %, where the demand allows no lower than 60 %",
}


@together(("falls", "closed"), APPROACHED)
def test_a_limit_that_is_only_approached_is_said_to_be_and_falls_have_their_own_words(
    falls: bool, closed: bool
) -> None:
    upper = Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1], closed_right=[closed, False])
    lower = Steps.of(["0.8"], [0, "0.6"], closed_right=[closed])
    demand = Demand.from_curves(lower=lower) if falls else Demand.from_curves(upper=upper)
    assert str(worst_of(Fraction(9), demand)) == APPROACHED[falls, closed]


def test_between_jumps_the_belief_is_easy_to_read_and_what_is_met_has_no_worst_case() -> None:
    found = worst_of(Fraction(9), Demand.from_epsilon(1))
    assert found is not None and found.before.denominator <= 1000
    assert str(worst_of(Fraction(10**400), Demand.from_epsilon(1))) == (
        "from 1 % a report can lead up to 100 %, where the demand allows no more than 2.6 %"
    )
    assert worst_of(Fraction(2), Demand.from_gamma(2)) is None
    assert worst_of(Fraction(9), Demand.from_rho("0.1", "0.5", closed=True)) is None  # reached, not passed


edges = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(1, 2), max_denominator=20)


@settings(deadline=None, max_examples=30)
@given(st.fractions(min_value=2, max_value=40, max_denominator=20), edges, edges, st.booleans(), st.booleans())
def test_what_is_said_is_true(parity: Fraction, edge: Fraction, rise: Fraction, closed: bool, falling: bool) -> None:
    """What can happen lies within its bound, what is allowed is not stretched, and the limit holds on that side."""
    value = min(edge + rise, Fraction(19, 20))
    upper, lower = (
        Steps.of([edge], [value, 1], closed_right=[closed]),
        Lines.of([(0, 0), (1 - edge, 1 - value), (1, 1)]),
    )
    demand = Demand.from_curves(upper=None if falling else upper, lower=lower if falling else None)
    found = worst_of(parity, demand)
    if found is None:
        return
    said = CASE.fullmatch(str(found))
    assert said is not None
    after, limit = Fraction(said[4]) / 100, Fraction(said[5]) / 100
    low, high = posterior_range(parity, found.before)
    if said[3] == "up":
        assert after >= high > limit
        assert (said[1], Fraction(said[2]) / 100 <= edge) == ("" if closed else "just below ", True)
    else:
        assert after <= low < limit
        assert said[1] == ""
