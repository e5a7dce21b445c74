"""A survey file is read once, checked whole, and becomes a document that cannot be changed unseen."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.collecting import SURVEY

from maskwell.collection.desk import read_survey
from maskwell.collection.survey import Survey
from maskwell.designs import Dense, wire
from maskwell.errors import PlanError


def test_the_document_gives_the_same_survey_back() -> None:
    survey = Survey.from_toml(SURVEY)
    assert Survey.from_dict(survey.to_dict()) == survey


def test_the_joint_promise_is_the_product_of_all_designs() -> None:
    survey = Survey.from_toml(SURVEY)
    product = Fraction(1)
    for question in survey.sensitive:
        assert question.design is not None
        product *= Fraction(question.design.parity_exact())
    assert survey.parity == product


@pytest.mark.parametrize(
    "path", [("title", "en"), ("questions", 1, "ask", "en"), ("questions", 1, "design", "exact", "truth"), ("access",)]
)
def test_a_changed_document_is_refused(path: tuple[str | int, ...]) -> None:
    content = copy.deepcopy(Survey.from_toml(SURVEY).to_dict())
    place = content
    for key in path[:-1]:
        place = place[key]  # type: ignore[index]
    place[path[-1]] = "1"  # type: ignore[index]
    with pytest.raises(Exception, match="changed after it was made"):
        Survey.from_dict(content)


def test_a_survey_beyond_its_demand_is_refused() -> None:
    with pytest.raises(PlanError, match="all questions together have parity 19"):
        Survey.from_toml(SURVEY.replace("epsilon = 4", "epsilon = 2"))


REFUSED = {
    "no demand": (lambda text: text.replace("demand = { epsilon = 4 }\n", ""), "has no demand"),
    "a sensitive question decides what is asked": (
        lambda text: text.replace('show_if = { region = "north" }', "").replace(
            'name = "tax"', 'name = "tax"\nshow_if = { cash = "never" }'
        ),
        "is randomized, and its true answer must not decide",
    ),
    "neither open nor a design": (lambda text: text.replace("open = true\n", ""), "neither open nor has a design"),
    "open and a design": (
        lambda text: text.replace("open = true", "open = true\ndesign = { gamma = 2 }"),
        "open and has a design",
    ),
    "a design that rules an answer out": (
        lambda text: text.replace('family = "warner", p = "0.7"', 'family = "mangat", p = "0.5"'),
        "rules an answer out",
    ),
    "one answer": (lambda text: text.replace('answers = ["yes", "no"]', 'answers = ["yes"]'), "tax"),
    "a name twice": (lambda text: text.replace('name = "tax"', 'name = "cash"'), "stands twice"),
    "an answer twice": (lambda text: text.replace('"never", "once"', '"never", "never"'), "answers"),
    "an unknown key": (lambda text: text.replace("open = true", "opne = true"), "opne"),
    "an unknown table": (lambda text: text + "\n[extra]\n", "extra"),
    "a later question in show_if": (
        lambda text: text.replace('show_if = { region = "north" }', 'show_if = { tax = "yes" }'),
        "no earlier question is named",
    ),
    "an unknown answer in show_if": (lambda text: text.replace('{ region = "north" }', '{ region = "west" }'), "west"),
    "a missing translation": (lambda text: text.replace('title = "Arbeitsleben"', ""), "lacks 'title'"),
    "too few translated answers": (lambda text: text.replace('"nie", "einmal", ', '"nie", '), "lacks the answer"),
    "not TOML": (lambda text: text + "\n]", "not TOML"),
    "no question": (lambda text: text.split("[[question]]")[0].replace('"en", "de"', '"en"'), "0 questions"),
    "a demand that is none": (lambda text: text.replace("epsilon = 4", "epsilon = -4"), "demand"),
    "an unknown family": (lambda text: text.replace('"warner"', '"warmer"'), "warmer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said(case: str) -> None:
    change, message = REFUSED[case]
    changed = change(SURVEY)
    assert changed != SURVEY
    with pytest.raises(PlanError, match=message) as caught:
        Survey.from_toml(changed)
    assert caught.value.hint


def test_a_design_file_is_taken_as_it_is(tmp_path: Path) -> None:
    design = wire.design_from_dict(Survey.from_toml(SURVEY).questions[2].design.to_dict())  # type: ignore[union-attr]
    design.save(tmp_path / "tax.json")
    (tmp_path / "survey.toml").write_text(SURVEY.replace('{ family = "warner", p = "0.7" }', '"tax.json"'))
    survey = read_survey(tmp_path / "survey.toml")[0]
    assert survey.by_name["tax"].design == design


def test_a_design_of_other_answers_is_refused(tmp_path: Path) -> None:
    Dense.of([["3/4", "1/4"], ["1/4", "3/4"]]).save(tmp_path / "tax.json")
    (tmp_path / "survey.toml").write_text(SURVEY.replace('{ family = "warner", p = "0.7" }', '"tax.json"'))
    with pytest.raises(PlanError, match="not those of the design file"):
        read_survey(tmp_path / "survey.toml")[0]


def test_questions_follow_open_answers() -> None:
    survey = Survey.from_toml(SURVEY)
    assert [question.name for question in survey.asked({"region": 1})] == ["region", "tax", "sources"]
    assert [question.name for question in survey.asked({"region": 0})] == ["region", "cash", "tax", "sources"]
    assert [question.name for question in survey.asked({})] == ["region", "tax", "sources"]
