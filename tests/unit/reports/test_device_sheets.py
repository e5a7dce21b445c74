"""What the sheets of a device say besides the rule itself."""

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from typing import Any

import pytest

from maskwell import Categories, Design
from maskwell.procedures.realisation import make_device
from maskwell.procedures.registry import make_design
from maskwell.reports import SheetOptions
from maskwell.reports.device.device_sheets import device_page, device_texts, sheet_notes

THREE = Categories.of(["never", "once", "often"])
REVEALING = [
    ("triangular", {"q": "1/4"}, "A person who says “neither” has the true answer “no” for sure."),
    ("mangat", {"p": "0.7"}, "A person who says “no” has the true answer “no” for sure."),
    ("forced", {"truth": "3/4", "yes": 0, "no": "1/4"}, "A person who says “yes” has the true answer “yes” for sure."),
    ("simmons-twice", {"p1": "0.6", "p2": "0.7"}, "A person who says “no, no” cannot have the true answer “yes, yes”."),
]


def words(design: Design, *, question: str = "Did you?", design_file: str | None = "d.json", **how: Any) -> str:
    page = device_page(make_device(design, **how), SheetOptions(question=question, design_file=design_file))
    body = re.sub(r"<svg.*?</svg>", "", page[page.index("<body>") :], flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_word_for_each_truth_is_told_where_it_is_another() -> None:
    evaded = Categories.of(["evaded", "honest"])
    forced = {"truth": "3/4", "yes": "1/6", "no": "1/12"}
    text = words(make_design("forced", **forced, categories=evaded), medium="dice")
    assert "Say the truth: “yes” for “evaded”, “no” for “honest”." in text
    assert "Give your true answer" not in text
    assert "Give your true answer." in words(make_design("forced", **forced), medium="dice")
    assert "Say “yes” for “evaded”, “no” for “honest”." in words(
        make_design("simmons", p="0.7", beta="1/4", categories=evaded)
    )


@pytest.mark.parametrize(("family", "parameters", "saying"), REVEALING)
def test_nobody_is_told_to_be_safe_where_a_report_reveals(family: str, parameters: dict[str, Any], saying: str) -> None:
    text = words(make_design(family, **parameters))
    assert saying in text
    assert "We cannot know who." not in text and "someone could learn your answer for sure" in text


BY_STRENGTH = {
    "4": ("We cannot know who.", "keeps your answer uncertain", "nobody but you knows what chance said."),
    "4.01": ("We cannot be sure who.", "keeps your answer uncertain", "It is a hint about your answer, not proof."),
    "21": ("is a strong hint about your true answer",),
    "101": ("can show what your true answer is", "Take part only if you would also answer openly."),
}
REASSURING = ("cannot know who", "cannot be sure who", "nobody but you", "uncertain", "not proof")


@pytest.mark.parametrize("gamma", BY_STRENGTH)
@pytest.mark.parametrize("how", [{}, {"medium": "dice"}, {"medium": "spinner"}])
def test_sheets_reassure_as_far_as_the_design_protects(gamma: str, how: dict[str, Any]) -> None:
    text = words(make_design("k-ary", categories=THREE, gamma=gamma), most=2000, **how)
    assert all(sentence in text for sentence in BY_STRENGTH[gamma])
    if Fraction(gamma) > 20:
        assert not any(sentence in text for sentence in REASSURING)


def test_sheets_know_of_the_other_questions_of_a_survey() -> None:
    device = make_device(make_design("warner", p="0.7"))
    alone, together = (device_page(device, SheetOptions(all_reports=one)) for one in (Fraction(1), Fraction(101)))
    assert "We cannot know who." in alone
    assert "We cannot know who." not in together and "Take part only if" in together


@pytest.mark.parametrize("how", [{}, {"medium": "dice"}, {"medium": "spinner"}])
def test_interviewers_write_down_the_answer_and_nothing_else(how: dict[str, Any]) -> None:
    text = words(make_design("k-ary", categories=THREE, gamma=3), **how)
    assert "Turn away. Never look" in text and "never mention or write down what you saw" in text
    assert "make a note" not in text and "Nothing else." in text


def test_nothing_betrays_which_deck_was_used() -> None:
    text = words(make_design("kuk", theta1="0.8", theta2="0.2", draws=1))
    assert "Draw a card: look, put it back, mix." in text and "Leave both decks as you found them." in text
    assert "Bring a screen." in text
    assert "The person draws one" not in words(make_design("chow", red=6, blue=4, draws=2))


def test_a_rounded_device_states_its_parity_and_is_not_confused_with_the_one_asked_for() -> None:
    design = make_design("k-ary", categories=THREE, epsilon=1)
    text = words(design, most=20, design_file="r.json")
    assert "Parity 11/4" in text and "Parity asked for 2.71828" in text
    assert "at most a factor of 2.75" in text and "between 26.6 % and 73.4 %" in text.replace("\u00a0", " ")
    assert "--design answer=r.json" in text
    text = words(make_design("k-ary", categories=THREE, epsilon=1), most=20, design_file=None)
    assert "not saved yet: make these sheets again with --realised realised.json" in text
    assert "--design answer=realised.json" in text


@pytest.mark.parametrize("how", [{"general": True}, {"medium": "dice"}, {"most": 50}])
def test_both_questions_are_printed_wherever_a_truth_is_a_pair(how: dict[str, Any]) -> None:
    design = make_design("simmons", p="0.7")
    text = words(design, **how)
    assert "Question A Did you?" in text and "Question B" in text
    assert "your true answers to all questions" in text
    assert any("--innocuous" in note for note in sheet_notes(make_device(design, **how), SheetOptions()))


def test_forms_have_a_box_for_every_report_and_for_a_refusal() -> None:
    device = make_device(make_design("warner", p="0.7"))
    plain = device_page(device, SheetOptions(question="Did you?"))
    page = device_page(device, SheetOptions(question="Did you?", study="Taxes & more", forms=True))
    assert "Practice first" not in plain and 'class="box"' not in plain
    assert page.count('class="box"') == 20 * 3 + 3
    assert page.count("<span>Taxes &amp; more</span>") == page.count('<section class="page') - 1  # not on the cards
    assert page.count("Pretend that your true answer is:") == 2
    many = device_page(
        make_device(make_design("k-ary", categories=Categories.numbered(14), gamma=6)), SheetOptions(forms=True)
    )
    assert many.count('class="box"') == 20 + 1  # what was said is written


def test_every_sentence_can_be_edited_in_one_file() -> None:
    device, options = make_device(make_design("crosswise", q="1/6")), SheetOptions(question="Did you?", forms=True)
    texts = device_texts(device, options)
    assert all(key == value for key, value in texts.items())
    turned = {key: f"«{number}»" for number, key in enumerate(texts)}
    page = device_page(device, replace(options, texts=turned))
    assert device_texts(device, replace(options, texts=turned)) == turned
    assert '<html lang="«' in page
    shown = unescape(page[page.index("<body>") : page.index('<section class="page record')])
    left = [key for key in texts if len(key) > 12 and key in shown]
    assert not left


def test_a_report_that_gives_the_answer_away_needs_no_other_knowledge():
    """Whoever says no under Mangat's rule has the answer no: nothing else must be known for that."""
    page = " ".join(unescape(device_page(make_device(make_design("mangat", p="7/10")))).split())
    assert "A person who says “no” has the true answer “no” for sure." in page
    assert "with enough other knowledge" not in page and "alone or with other knowledge" in page
