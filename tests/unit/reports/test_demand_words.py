"""What respondents are told is literally true of the design."""

from fractions import Fraction

from tests.support.examples import numbered

from maskwell import Demand
from maskwell.core.percentages import SPACE
from maskwell.designs import Subset, Unary, Uniform
from maskwell.privacy import Smooth, Steps
from maskwell.reports.demand_words import explain


def told(*args: object) -> list[str]:
    return [sentence.replace(SPACE, " ") for sentence in explain(*args)]  # type: ignore[arg-type]


def test_how_an_answer_is_drawn_with_bounds_for_chances_that_are_rounded() -> None:
    two, three = (Uniform.from_gamma(3, numbered(k)) for k in (2, 3))
    assert told(two)[0] == "Your true answer is reported with chance 75 %; otherwise the other answer is."
    assert "one of the other 2 answers is drawn at random" in told(three)[0]
    assert told(Subset.from_gamma(3, numbered(4), size=1))[0].endswith("50 % it is your true one.")
    uniform = told(Uniform.from_gamma(9, numbered(3)))[0]
    assert uniform.startswith("Your true answer is reported with chance at most 81.9 %;")
    chances = [told(Subset.from_gamma(gamma, numbered(4), size=2))[0] for gamma in ("3", "2.34")]
    assert "; with chance 75 % your true answer is among them" in chances[0]
    assert "; with chance at most 70.1 % your true answer is among them" in chances[1]
    unary = told(Unary.rappor_from_gamma(3, numbered(3)))[0]
    assert "your true answer with chance at most 63.4 %, any other with chance at least 36.6 %" in unary


def test_limits_are_kept_for_every_belief_only_where_that_is_certain_and_forbid_something() -> None:
    design = Uniform.from_gamma(2, numbered(3))
    steps = Demand.from_curves(upper=Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1]))
    assert "This keeps the limits agreed on for every belief, which amount to a factor of 2.667 on odds." in told(
        design, steps
    )
    for curve in (Smooth(lambda p: p ** (1 / 3)), Smooth(lambda p: 0.9 if p < 0.3 else 0.85 if p < 0.5 else 1.0)):
        said = " ".join(told(design, Demand.from_curves(upper=curve)))
        assert "As far as could be checked" in said and "for every belief" not in said
    assert "infinity" not in " ".join(told(Uniform.from_gamma(2, numbered(3)), Demand.from_curves()))


def test_a_demand_in_floats_is_told_as_it_was_agreed_on() -> None:
    nine = Uniform.from_gamma(9, numbered(3))
    assert any("less than a 10 % chance" in one and "50 %, and" in one for one in told(nine, Demand.from_rho(0.1, 0.5)))
    beyond = Uniform.from_gamma(9 + Fraction(4, 10**9), numbered(3))
    assert any("more than 50.1 %" in one for one in told(beyond, Demand.from_rho(0.1, 0.5)))
