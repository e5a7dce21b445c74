"""Devices tuned to a given protection."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.core.exact import to_float
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.planning.tuning import TUNABLE, retuned, tuned
from maskwell.privacy.measures import Measure
from maskwell.procedures.counted_draws import kuk
from maskwell.procedures.nonrandomized import crosswise
from maskwell.procedures.registry import make_design
from maskwell.procedures.statement_cards import warner

KEPT: dict[str, dict[str, Any]] = {
    "warner": {},
    "crosswise": {},
    "mangat-singh": {"t": "0.2"},
    "simmons": {"beta": "0.3"},
    "forced": {"yes": "0.1"},
    "mangat": {},
    "triangular": {},
    "kuk": {"theta2": "0.2", "draws": 3},
    "liu-chow": {"weights": ["0.2", "0.3", "0.5"], "categories": Categories.numbered(3)},
}
ONE_SIDED = ("mangat", "triangular")


def test_every_family_is_tried_here() -> None:
    assert set(KEPT) == set(TUNABLE)


@pytest.mark.parametrize("family", KEPT)
@given(value=st.fractions(Fraction(11, 10), Fraction(9), max_denominator=50))
@settings(max_examples=20)
def test_the_ratio_is_what_was_asked(family: str, value: Fraction) -> None:
    made = tuned(family, value=value, **KEPT[family])
    reached = Measure.of("ratio").value(made)
    assert reached == value or (family == "kuk" and 0 <= value - reached < Fraction(1, 10**15))
    assert made.identifiable


@pytest.mark.parametrize("family", [name for name in KEPT if name not in ONE_SIDED])
@given(value=st.fractions(Fraction(11, 10), Fraction(9), max_denominator=50))
@settings(max_examples=20)
def test_the_parity_is_what_was_asked(family: str, value: Fraction) -> None:
    reached = tuned(family, value=value, measure="parity", **KEPT[family]).parity_exact()
    assert reached == value or (family == "kuk" and 0 <= value - Fraction(reached) < Fraction(1, 10**15))


@pytest.mark.parametrize("family", [name for name in KEPT if name != "liu-chow"])
def test_the_posterior_is_what_was_asked(family: str) -> None:
    measure = Measure.of("hazard", prior=["0.1", "0.9"])
    made = tuned(family, value="0.3", measure=measure, **KEPT[family])
    assert to_float(measure.value(made)) == pytest.approx(0.3, rel=1e-12) and measure.value(made) <= Fraction(3, 10)


@pytest.mark.parametrize(
    "measure", [Measure.of("sensitive", sensitive=[1, 2]), Measure.of("hazard", prior=[0.2, 0.3, 0.5])]
)
def test_where_there_is_no_formula_the_value_is_searched(measure: Measure) -> None:
    made = tuned("liu-chow", value="0.6" if measure.name == "hazard" else 5, measure=measure, **KEPT["liu-chow"])
    wanted = 0.6 if measure.name == "hazard" else 5
    assert to_float(measure.value(made)) == pytest.approx(wanted, rel=1e-12)
    assert measure.value(made) <= Fraction(str(wanted))


@pytest.mark.parametrize(
    ("family", "given", "said"),
    [
        ("warner", {"value": 3, "measure": "privacy"}, "measures: parity, ratio"),
        ("kuk", {"value": 200, "theta2": "0.2", "draws": 3}, "range from 1 to 125"),
        ("mangat-singh", {"value": 2, "t": "0.8"}, "range from 4 to no bound"),
        ("mangat-singh", {"value": 2, "t": 1}, "t must be strictly between 0 and 1, not 1"),
        ("mangat", {"value": 3, "measure": "parity"}, "have no bound; a bound on the ratio is possible"),
        ("simmons", {"value": 3, "beta": 0}, "all informative designs have no bound"),
        ("simmons", {"value": 3}, "give beta"),
        ("warner", {"value": 3, "p": "0.7"}, "leave out p"),
        ("chow", {"value": 3}, "chow has no parameter that can be tuned"),
    ],
)
def test_what_cannot_be_reached(family: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        tuned(family, **given)
    assert said in str(caught.value)


@pytest.mark.parametrize("family", KEPT)
def test_a_design_is_tuned_within_its_family(family: str) -> None:
    measure = Measure.of("ratio")
    first = tuned(family, value=3, **KEPT[family])
    found = retuned(first, measure, Fraction(5))
    assert found is not None
    assert found.exact_matrix() == tuned(family, value=5, **KEPT[family]).exact_matrix()
    back = retuned(found, measure, Fraction(3))
    assert back is not None
    assert [to_float(p) for p in back.exact_matrix()[0]] == pytest.approx(
        [to_float(p) for p in first.exact_matrix()[0]]
    )


def test_mirror_images_stay_on_their_side_and_what_a_design_says_of_itself_is_checked() -> None:
    measure = Measure.of("ratio")
    for design in (warner("0.3"), crosswise("0.3")):
        found = retuned(design, measure, Fraction(4))
        assert found is not None and found.exact_matrix()[0] == [Fraction(1, 5), Fraction(4, 5)]
    found = retuned(kuk("0.1", "0.4", 2), measure, Fraction(25, 16))
    assert found is not None and found.provenance["parameters"]["theta1"] == "1/4"  # (1 - 1/4) / (1 - 0.4) = 5/4
    false = Dense.of([["0.9", "0.1"], ["0.1", "0.9"]]).with_provenance(family="warner", parameters={"p": "7/10"})
    assert retuned(false, Measure(), Fraction(3)) is None
    for family, parameters in (("warner", {}), ("warner", {"p": "x"}), ("matrix", {}), ("simmons", {"p": "1/2"})):
        odd = warner("0.7").with_provenance(family=family, parameters=parameters)
        assert retuned(odd, Measure(), Fraction(3)) is None
    assert retuned(make_design("simmons", p="3/4"), Measure(), Fraction(3)) is None
    assert retuned(make_design("chow", red=5, blue=3, draws=2), Measure(), Fraction(3)) is None


@pytest.mark.parametrize(("family", "kept"), [("forced", {"yes": "0.6"}), ("simmons", {"beta": "0.7"})])
def test_the_other_answer_may_be_the_more_telling_one(family: str, kept: dict[str, str]) -> None:
    assert tuned(family, value=4, measure="parity", **kept).parity_exact() == 4


@pytest.mark.parametrize("family", ["triangular", "mangat", "warner"])
def test_a_float_is_never_exceeded_and_long_values_are_rounded_towards_privacy(family: str) -> None:
    for value in (3.3, 2.7182818284590455, 1.1):
        assert Measure.of("ratio").value(tuned(family, value=value)) <= Fraction(*value.as_integer_ratio())
    value = Fraction(2**100 + 1, 3**60)
    made = tuned(family, value=value)
    reached = Measure.of("ratio").value(made)
    assert reached <= value and to_float(reached) == pytest.approx(to_float(value), rel=1e-9)
    assert all(p.denominator <= 2**64 for row in made.exact_matrix() for p in row)
