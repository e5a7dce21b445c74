"""A survey file is read once and checked whole; forms of the builder stand for it, and what follows is told."""

import copy
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.support.collecting import SURVEY, new_store, opened, submission
from tests.support.together import together

from maskwell import Counts
from maskwell import design as make_design
from maskwell.collection.desk import read_survey
from maskwell.collection.drafts import consequences, form_of, survey_text, unit_variance
from maskwell.collection.results import (
    card_of,
    fit_of,
    notes_of,
    question_result,
    read_margin,
)
from maskwell.collection.store import Store
from maskwell.collection.survey import Survey
from maskwell.designs import Dense, wire
from maskwell.errors import PlanError
from maskwell.estimation import estimate_by_moments
from maskwell.estimation.outside_estimates import Flag
from maskwell.notes import Note
from maskwell.planning.sample_size import plan_sample

FORM: dict[str, Any] = {
    "title": "Work",
    "introduction": "Two questions.",
    "thanks": "Thank you.",
    "contact": "survey@example.org",
    "access": "invitations",
    "demand": {"word": "gamma", "value": "4"},
    "questions": [
        {"name": "Sector", "ask": "Where?", "help": "", "answers": ["here", "there"], "sensitive": False},
        {"ask": "Paid in cash?", "help": "Ever.", "answers": ["yes", "no"], "sensitive": True, "declined": True},
        {"ask": "Paid in cash?", "answers": ['a "b"', "c\\d"], "sensitive": True},
    ],
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Of one kind: what the page says of results does not depend on it."""
    return new_store(tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('design = { gamma = "2" }', 'design = { family = "warner", p = "2/3" }'),
        ('title = "Work"', 'title = "Work"\npractice = false'),
        ('design = { gamma = "2" }', 'design = { gamma = "1.5" }'),
        ("[survey]", "survey"),
    ],
)
def test_a_file_that_says_more_than_a_form_is_no_form(before: str, after: str) -> None:
    text = survey_text(FORM)
    assert before in text and form_of(text.replace(before, after)) is None and form_of(SURVEY) is None


TRANSLATED: dict[str, Any] = {
    **FORM,
    "languages": ["en", "de"],
    "questions": [*FORM["questions"][:2], {**FORM["questions"][2], "after": {"question": 0, "answers": ["here"]}}],
    "wording": {
        "de": {
            "title": "Arbeit",
            "introduction": "Zwei Fragen.",
            "thanks": "Danke.",
            "questions": [
                {"ask": "Wo?", "answers": ["hier", "dort"]},
                {"ask": "Bar?", "help": "Je.", "answers": ["ja", "nein", "keine Angabe"]},
                {"ask": "Bar?", "answers": ["x", "y"]},
            ],
        }
    },
}


def test_a_form_comes_back_from_its_file_and_all_questions_keep_the_demand() -> None:
    text = survey_text(FORM)
    form = form_of(text)
    assert survey_text(form) == text
    assert [one["name"] for one in form["questions"]] == ["Sector", "paid_in_cash", "paid_in_cash_2"]
    assert form["questions"][1]["answers"] == ["yes", "no"] and form["questions"][1]["declined"]
    assert form["thanks"] == "Thank you."
    text = survey_text(TRANSLATED)
    survey = Survey.from_toml(text)
    assert survey.questions[2].show_if == {"Sector": ("here",)}
    assert survey.questions[1].answers["prefer not to say"] == {"en": "prefer not to say", "de": "keine Angabe"}
    form = form_of(text)
    assert survey_text(form) == text
    for value in ("1.1", "2", "7", "19.3"):
        survey = Survey.from_toml(survey_text({**FORM, "demand": {"word": "gamma", "value": value}}))
        assert survey.parity <= float(value) and survey.parity > 0.999 * float(value)
    text = survey_text({**FORM, "questions": FORM["questions"][2:], "demand": {"word": "gamma", "value": "20.13"}})
    answer = consequences(text)
    assert (answer["factor"], answer["questions"][0]["factor"]) == ("20.2", "20.2")


def test_margins_are_those_of_a_plan_for_the_worst_answer() -> None:
    text = survey_text({**FORM, "demand": {"word": "gamma", "value": "9"}})
    design = Survey.from_toml(text).questions[2].design
    at_worst = consequences(text, 400)["questions"][2]
    assert at_worst["margin"] == pytest.approx(plan_sample(design, n=400).margin)
    for share in (0.05, 0.3):
        here = consequences(text, 400, share, 0.02)["questions"][2]
        plan = plan_sample(design, pi=[share, 1 - share], n=400)
        assert here["margin"] == pytest.approx(plan.margin)
        assert here["directly"] == pytest.approx(plan.direct_margin)
        assert here["needed"] == plan_sample(design, pi=[share, 1 - share], margin="0.02").n
        assert here["margin"] < at_worst["margin"]
    first = survey_text({**FORM, "questions": FORM["questions"][:1], "demand": {"word": "gamma", "value": "9"}})
    forced = 'design = { family = "forced", truth = "0.6", yes = "0.1", no = "0.3" }\n'
    survey = Survey.from_toml(f'{first}\n[[question]]\nname = "x"\nask = "X?"\n{forced}')
    question = survey.questions[1]
    assert unit_variance(question) == pytest.approx(plan_sample(question.design, n=1).variance.total)


@pytest.mark.parametrize("odd", [None, 0, -1, "12", 1.5, True, 10**12, math.nan])
def test_odd_numbers_fall_back(odd: Any) -> None:
    answer = consequences(survey_text(FORM), odd, odd, odd)
    assert answer["n"] in (1000, 1) and answer["share"] is None and answer["margin"] == 0.05


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ({"word": "gamma", "value": "1e400"}, ""),
        ({"word": "gamma", "value": "1e31"}, ""),
        ({"word": "gamma", "value": "123456789012345678901234567890123"}, ""),
        ({"word": "gamma", "value": "1e900"}, "demand: this privacy requirement gives practically no protection"),
        ({"word": "zebra", "value": "1"}, "unknown kind 'zebra'"),
    ],
)
def test_odd_demands_are_no_fault(demand: dict[str, str], words: str) -> None:
    if words:
        with pytest.raises(PlanError, match=words):
            survey_text({**FORM, "demand": demand})
    else:
        assert consequences(survey_text({**FORM, "demand": demand, "accept": True}))["gamma"] <= 1.8e308


def test_what_a_form_lacks_or_has_too_much_of_is_named() -> None:
    wording = {"de": {**TRANSLATED["wording"]["de"], "questions": []}}
    assert (
        "[wording.de] needs 'Sector.ask'"
        in consequences(survey_text({**TRANSLATED, "wording": wording}))["error"]["message"]
    )
    for after in ({"question": 0, "answers": []}, {"question": 2, "answers": ["yes"]}, {"question": "x"}):
        questions = [*FORM["questions"][:2], {**FORM["questions"][2], "after": after}]
        with pytest.raises(PlanError, match="its condition does not name any answer"):
            survey_text({**FORM, "questions": questions})
    with pytest.raises(PlanError, match="a demand has no 'family'"):
        Survey.from_toml(survey_text(FORM).replace("demand = { gamma", "demand = { family"))
    answer = consequences("[survey]\ntitle = 1")
    assert set(answer["error"]) == {"message", "hint"}
    # Names of questions are compared with all before them.
    with pytest.raises(PlanError, match="4500 questions"):
        survey_text({**FORM, "questions": FORM["questions"] * 1500})


def test_fit_and_flags_are_told_in_words() -> None:
    question = Survey.from_toml(survey_text(FORM)).questions[1]
    misfit = Flag("words that may change", "misfit")
    two, more, tiny = (Flag("others", "boundary", chance=p) for p in (0.0024, 0.72, 3e-7))
    states = [fit_of(question, flags, 9)["state"] for flags in ([misfit, tiny], [two], [tiny], [more], [])]
    assert states == ["misfit", "doubt", "doubt", "fits", "fits"]
    assert "p = 0.72" in fit_of(question, [more], 9)["words"] and fit_of(question, [], 1)["words"] == ""
    told = [misfit, more, Flag("a", "outside"), Flag("b", "no-error"), Flag("c", "no-interval")]
    assert notes_of(told, has_intervals=True) == [] and notes_of(told, has_intervals=False) == [Note("no-interval-yet")]
    other = ["something else", Flag("d", "small-sampling")]
    assert notes_of(other, has_intervals=True) == ["something else", Note("sampling-part-is-too-small")]
    design = make_design("warner", p="0.8")
    far, near, none = (
        estimate_by_moments(Counts(np.array(counts), sum(counts), design.fingerprint), design).flags
        for counts in ([10, 990], [190, 810], [500, 500])
    )
    kinds = [[flag.kind for flag in flags if isinstance(flag, Flag)] for flags in (far, near, none)]
    assert kinds[0][0] == "misfit" and kinds[1][0] == "outside"
    assert all("boundary" in some for some in kinds[:2]) and "boundary" not in kinds[2]
    (tested,) = [flag for flag in near if isinstance(flag, Flag) and flag.kind == "boundary"]
    assert 0.05 < (tested.chance or 0) < 1
    assert (copy.copy(tested), pickle.loads(pickle.dumps(tested)).chance) == (tested, tested.chance)


def test_reports_that_are_all_alike_make_intervals_too(store: Store) -> None:
    stored = opened(store)
    store.accept([submission(stored) for _ in range(30)])
    cards = [card_of(question_result(store, stored, one.name), "en") for one in stored.survey.questions]
    assert [card["margin"] is None for card in cards] == [False] * 4
    assert not any(Note("no-interval-yet") in card["notes"] for card in cards)
    assert all(row["low"] < row["high"] for card in cards for row in card["rows"])


class Reached:
    """Shares with an interval of a given half width."""

    def __init__(self, margin: float) -> None:
        self.standard_error, self.ends = np.array([margin / 2]), (0.5 - margin, 0.5 + margin)

    def confidence_interval(self) -> Any:
        return np.array([self.ends])

    def to_dict(self) -> dict[str, Any]:
        estimate = {"category": "yes", "estimate": 0.5, "standard_error": 0.1, "interval": self.ends}
        told = {"method": "moments", "level": 0.95, "flags": [], "randomization_variance": [0.0]}
        return {"estimates": [estimate], **told}


@together("hundredths", range(6, 13))
def test_as_many_more_respondents_are_asked_for_as_are_needed(store: Store, hundredths: int) -> None:
    """25 reports within 7 % are 49 within 5 %: in floats 25 * 1.4 ** 2 is above 49."""
    stored = opened(store)
    result = question_result(store, stored, stored.survey.questions[0].name)
    result = replace(result, n=25, shares=cast(Any, Reached(hundredths / 100)))
    card = card_of(result, "en")
    assert result.to_dict()["needed"] == card["needed"] == hundredths**2 - 25
    assert card["shrinking"]["needed"] == hundredths**2 and not card["outside"]


@pytest.mark.parametrize(
    ("typed", "margin"),
    [("3", 0.03), ("2,5", 0.025), ("", 0.05), ("x", 0.05), ("-1", 0.05), ("nan", 0.05), ("90", 0.05)],
)
def test_a_margin_is_read_as_people_write_it(typed: str, margin: float) -> None:
    assert read_margin(typed) == pytest.approx(margin)


@pytest.mark.parametrize(
    "path", [("title", "en"), ("questions", 1, "ask", "en"), ("questions", 1, "design", "exact", "truth"), ("access",)]
)
def test_a_changed_document_is_refused(path: tuple[str | int, ...]) -> None:
    content = copy.deepcopy(Survey.from_toml(SURVEY).to_dict())
    place = content
    for key in path[:-1]:
        place = place[key]  # type: ignore[index]
    place[path[-1]] = "1"  # type: ignore[index]
    with pytest.raises(Exception, match="changed"):
        Survey.from_dict(content)


REFUSED = {
    "demand must be a privacy requirement, not": (
        lambda text: text.replace("demand = { epsilon = 4 }\n", ""),
        r"\[survey\] needs a privacy requirement, demand",
    ),
    "a sensitive question decides what is asked": (
        lambda text: text.replace('show_if = { region = "north" }', "").replace(
            'name = "tax"', 'name = "tax"\nshow_if = { cash = "never" }'
        ),
        "is randomized; its true answer must not decide what is asked",
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
    "a name twice": (lambda text: text.replace('name = "tax"', 'name = "cash"'), "occurs twice"),
    "an answer twice": (lambda text: text.replace('"never", "once"', '"never", "never"'), "answers"),
    "an unknown key": (lambda text: text.replace("open = true", "opne = true"), "opne"),
    "an unknown table": (lambda text: text + "\n[extra]\n", "extra"),
    "a later question in show_if": (
        lambda text: text.replace('show_if = { region = "north" }', 'show_if = { tax = "yes" }'),
        "no earlier question is named",
    ),
    "an unknown answer in show_if": (lambda text: text.replace('{ region = "north" }', '{ region = "west" }'), "west"),
    "a missing translation": (
        lambda text: text.replace('title = "Arbeitsleben"', ""),
        r"\[wording\.de\] needs 'title'",
    ),
    "too few translated answers": (lambda text: text.replace('"nie", "einmal", ', '"nie", '), r"\] needs the answer"),
    "the survey is not valid TOML": (lambda text: text + "\n]", "the survey is not valid TOML"),
    "no question": (lambda text: text.split("[[question]]")[0].replace('"en", "de"', '"en"'), "0 questions"),
    "a demand that is none": (lambda text: text.replace("epsilon = 4", "epsilon = -4"), "demand"),
    "beyond its demand": (
        lambda text: text.replace("epsilon = 4", "epsilon = 2"),
        "all questions together have parity 19",
    ),
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


def test_a_survey_is_its_document_and_takes_a_design_file_for_its_own_answers(tmp_path: Path) -> None:
    design = wire.design_from_dict(Survey.from_toml(SURVEY).questions[2].design.to_dict())  # type: ignore[union-attr]
    design.save(tmp_path / "tax.json")
    (tmp_path / "survey.toml").write_text(SURVEY.replace('{ family = "warner", p = "0.7" }', '"tax.json"'))
    survey = read_survey(tmp_path / "survey.toml")[0]
    assert survey.by_name["tax"].design == design
    Dense.of([["3/4", "1/4"], ["1/4", "3/4"]]).save(tmp_path / "tax.json", overwrite=True)
    (tmp_path / "survey.toml").write_text(SURVEY.replace('{ family = "warner", p = "0.7" }', '"tax.json"'))
    with pytest.raises(PlanError, match="the answers differ from those of the design file"):
        read_survey(tmp_path / "survey.toml")[0]
    survey = Survey.from_toml(SURVEY)
    assert Survey.from_dict(survey.to_dict()) == survey
    survey = Survey.from_toml(SURVEY)
    product = Fraction(1)
    for question in survey.sensitive:
        product *= Fraction(question.design.parity_exact())
    assert survey.parity == product
    survey = Survey.from_toml(SURVEY)
    assert [question.name for question in survey.asked({"region": 1})] == ["region", "tax", "sources"]
    assert [question.name for question in survey.asked({"region": 0})] == ["region", "cash", "tax", "sources"]
    assert [question.name for question in survey.asked({})] == ["region", "tax", "sources"]
