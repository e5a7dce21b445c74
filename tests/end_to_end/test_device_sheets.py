"""Sheets of devices as a printer gives them: pages, paper, text and cards that hold their text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.browser import boxes_of, measured, pages_of, printed, text_of
from tests.support.command_line import run

QUESTION = "Have you ever left out income in your tax declaration?"
THREE = ["--categories", "never,once,often"]
LONG = '"no, not that I remember","yes, once or twice in the last year","yes, more often than that"'
DESIGNS = {
    "warner": ["warner", "--p", "0.7"],
    "forced": ["forced", "--truth", "3/4", "--yes", "1/6", "--no", "1/12"],
    "crosswise": ["crosswise", "--q", "1/6"],
    "simmons": ["simmons", "--p", "0.7", "--beta", "1/4"],
    "kuk": ["kuk", "--theta1", "0.8", "--theta2", "0.2", "--draws", "2"],
    "christofides": ["christofides", "--probabilities", "1/2,1/3,1/6"],
    "lists": ["bourke-dalenius", *THREE, "--weights", "0.7,0.2,0.1"],
    "kary": ["k-ary", *THREE, "--gamma", "3"],
    "words": ["k-ary", "--categories", LONG, "--gamma", "3"],
    "many": ["k-ary", "--k", "14", "--gamma", "6"],
}
SHEETS = {  # the options, and how many pages they make
    "warner": ([], 4),
    "forced": (["--dice"], 3),
    "crosswise": ([], 3),
    "simmons": ([], 4),
    "kuk": ([], 5),
    "christofides": ([], 4),
    "lists": ([], 4),
    "kary": (["--spinner"], 4),
    "words": (["--general"], 4),
    "many": (["--general"], None),
}


def sheets(name: str, *options: str) -> Path:
    run("design", *DESIGNS[name], "-o", f"{name}.json")
    run("device", f"{name}.json", *options, "--question", QUESTION, "-o", f"{name}.html")
    return Path(f"{name}.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHEETS)
def test_sheets_are_printed_whole(name: str) -> None:
    options, pages = SHEETS[name]
    page = sheets(name, *options)
    pdf = printed(page, to=Path("sheets.pdf"))
    sections = page.read_text(encoding="utf-8").count('<section class="page')
    assert pages_of(pdf) == (sections if pages is None else pages)
    found = measured(page)
    assert found["overflowing"] == 0
    assert found["width"] <= 1
    texts = text_of(Path("sheets.pdf"))
    assert len(texts) == pages_of(pdf)
    assert "How to answer" in texts[0]
    assert QUESTION in " ".join(texts[0].split())
    assert "What we learn" in texts[0]
    assert any("For the interviewer" in text for text in texts)
    assert sum("Record of the device" in text for text in texts) == 1
    assert all(text.strip() for text in texts), "an empty page"


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "box"), [("a4", (210, 297)), ("letter", (216, 279))])
def test_both_papers(paper: str, box: tuple[int, int]) -> None:
    page = sheets("warner", "--paper", paper)
    pdf = printed(page, to=Path("sheets.pdf"))
    assert boxes_of(pdf) == {box}
    assert pages_of(pdf) == 4


@pytest.mark.slow
def test_every_card_is_printed() -> None:
    page = sheets("warner")
    assert measured(page)["cards"] == 10
    printed(page, to=Path("sheets.pdf"))
    cards = " ".join(text_of(Path("sheets.pdf"))[-1].split())
    assert cards.count("Is this right for you?") == 10 or cards.count("right") >= 10
    assert "Cut along the dashed lines" in cards


@pytest.mark.slow
def test_a_card_that_is_too_small_would_be_noticed() -> None:
    page = sheets("warner")
    text = page.read_text(encoding="utf-8").replace("Is this right for you?", "Is this right for you? " * 40)
    page.write_text(text, encoding="utf-8")
    assert measured(page)["overflowing"] == 10
