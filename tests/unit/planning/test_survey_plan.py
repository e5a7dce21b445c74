"""One call plans a survey with chosen designs; it asks the planner that fits what was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskwell.errors import DataFileError, ParameterError
from maskwell.planning import Stratum, allocate_samples, allocate_strata, plan_sample, plan_survey, plan_test
from maskwell.procedures.statement_cards import warner

CARD, OTHER, PI = warner("0.7"), warner("0.8"), ["0.1", "0.9"]


def test_one_design_for_a_margin() -> None:
    planned = plan_sample(CARD, pi=[0.1, 0.9], margin="0.05", level="0.95")
    assert plan_survey(CARD, margin="0.05", pi=PI).to_dict() == planned.to_dict()
    assert plan_survey([CARD], n=500, category="no").to_dict()["category"] == "no"


def test_one_design_for_a_test() -> None:
    planned = plan_test(CARD, pi=[0.1, 0.9], against="0.15", power="0.8")
    assert plan_survey(CARD, power="0.8", against="0.15", pi=PI).to_dict() == planned.to_dict()


def test_several_designs_divide_respondents_among_samples() -> None:
    divided = allocate_samples([CARD, OTHER], [0.1, 0.9], wanted=0, n=1000, names=["a", "b"])
    assert plan_survey([CARD, OTHER], n=1000, pi=PI, names=["a", "b"]).to_dict() == divided.to_dict()


def test_strata_are_read_from_a_file(tmp_path: Path) -> None:
    CARD.save(tmp_path / "w.json")
    path = tmp_path / "strata.csv"
    path.write_text("stratum,share,pi,design\nnorth,0.4,0.1,w.json\nsouth,0.6,0.2 0.8,w.json\n")
    strata = [Stratum("north", "0.4", CARD, [0.1, 0.9]), Stratum("south", "0.6", CARD, [0.2, 0.8])]
    assert plan_survey(strata=path, n=400).to_dict() == allocate_strata(strata, n=400).to_dict()
    path.write_text("stratum,share,pi\nnorth,0.4,0.1\nsouth,0.6,0.2\n")
    with pytest.raises(DataFileError, match="line 2: stratum north has no design"):
        plan_survey(strata=path, n=400)


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({}, "plan needs to know how large the survey is, or how exact", "give n, margin, or power and against"),
        ({"n": 100, "alpha": "0.1"}, "alpha has no meaning here", "it is for a test: give power or against"),
        ({"power": "0.8", "against": "0.2"}, "a test needs the shares", "give them: pi=[0.1, 0.9], against=0.15"),
        ({"n": 100, "pi": ["0.1", "0.8"]}, "pi 0.1,0.8 sums to 0.9, not 1", "these shares must sum to 1"),
        ({"n": 100, "pi": ["0.1"]}, "pi has 1 share for 2 categories", "give one share for each category"),
    ],
)
def test_errors_speak_of_parameters(asked: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as error:
        plan_survey(CARD, **asked)  # type: ignore[arg-type]
    assert error.value.message.startswith(message)
    assert error.value.hint.startswith(hint)


def test_a_survey_needs_a_design() -> None:
    with pytest.raises(ParameterError, match="no design to plan with"):
        plan_survey(n=100)
