"""Sheets of devices as a printer gives them: pages, paper, text and cards that hold their text."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import boxes_of, measured, opened, printed, text_of
from tests.support.command_line import run

QUESTION = "In the last three years, did you leave income out of your tax return?"
LENGTHY = (
    "Thinking of the last three years, and of all that you earned in money or in kind, at home or abroad: was there "
    "any income which you should have put into your tax return and which you left out, be it only once?"
)
THREE = ["--categories", "never,once,often"]
LONG = '"no, not that I remember","yes, once or twice in the last year","yes, more often than that"'
SHEETS = {  # the design, the options, and how many pages they make
    "warner": (["warner", "--p", "0.7"], [], 4),
    "forced": (["forced", "--truth", "3/4", "--yes", "1/6", "--no", "1/12"], ["--dice"], 3),
    "simmons": (["simmons", "--p", "0.7", "--beta", "1/4"], [], 4),
    "kary": (["k-ary", *THREE, "--gamma", "3"], ["--spinner"], 4),
    "words": (["k-ary", "--categories", LONG, "--gamma", "3"], ["--general"], 4),
    "many": (["k-ary", "--k", "14", "--gamma", "6"], ["--general"], None),
    "evaded": (
        ["forced", "--truth", "3/4", "--yes", "1/6", "--no", "1/12", "--categories", "evaded,honest"],
        ["--dice", "--forms", "--study", "Tax survey of 2027"],
        6,
    ),
    "agree": (["crosswise", "--q", "1/6", "--categories", "evaded,honest"], [], 3),
    "mangat": (["mangat", "--p", "0.7"], [], 4),
    "twice": (["simmons-twice", "--p1", "0.6", "--p2", "0.7"], [], 5),
    "wide": (
        ["k-ary", "--categories", "从来没有过这样的事情,只有一次或者两次,经常这样做", "--gamma", "3"],
        ["--general"],
        4,
    ),
}


def sheets(name: str, *options: str, question: str = QUESTION) -> Path:
    run("design", *SHEETS[name][0], "-o", f"{name}.json", "--force")
    run("device", f"{name}.json", *options, "--question", question, "-o", f"{name}.html", "--force")
    return Path(f"{name}.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHEETS)
def test_sheets_are_printed_whole(browser: Any, name: str) -> None:
    _, options, pages = SHEETS[name]
    file = sheets(name, *options, "--paper", "letter")  # the shorter of the two
    with opened(browser, file) as page:
        pdf = printed(page)
        found = measured(page)
    sections = file.read_text(encoding="utf-8").count('<section class="page')
    assert len(pdf.pages) == (sections if pages is None else pages)
    assert found["overflowing"] == 0 and found["width"] <= 1
    texts = text_of(pdf)
    assert "How to answer" in texts[0]
    assert QUESTION in texts[0]
    assert "What we learn" in texts[0]
    assert any("For the interviewer" in text for text in texts)
    assert sum("Record of the device" in text for text in texts) == 1
    assert all(texts), "an empty page"


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "box"), [("a4", (210, 297)), ("letter", (216, 279))])
def test_both_papers_with_and_without_what_browsers_add(browser: Any, paper: str, box: tuple[int, int]) -> None:
    for name, options, pages in (("forced", ["--dice"], 3), ("warner", [], 4)):
        with opened(browser, sheets(name, *options, "--paper", paper)) as page:
            for headers in (False, True):
                pdf = printed(page, headers=headers)
                assert boxes_of(pdf) == {box}
                assert len(pdf.pages) == pages


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forced", "agree", "twice", "kary"])
def test_a_lengthy_question_still_fits(browser: Any, name: str) -> None:
    _, options, pages = SHEETS[name]
    with opened(browser, sheets(name, *options, "--paper", "letter", question=LENGTHY)) as page:
        assert len(printed(page).pages) == pages


@pytest.mark.slow
def test_a_card_that_is_too_small_would_be_noticed(browser: Any) -> None:
    file = sheets("warner")
    text = file.read_text(encoding="utf-8").replace("if it is right for you", "if it is right for you " * 40)
    file.write_text(text, encoding="utf-8")
    with opened(browser, file) as page:
        assert measured(page)["overflowing"] == 10
