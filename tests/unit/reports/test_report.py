"""A report is one value, written for a terminal, for a notebook and for a page; numbers and labels in it."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core.exact import parity_text, rounded
from maskwell.reports.report import GAP, Facts, Grid, Notes, Paragraph, Report, line, table_lines

positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(positive, st.integers(2, 12))
def test_bounds_enclose_a_number_closely(value: Fraction, digits: int) -> None:
    low, high = (Fraction(rounded(value, digits, up=up)) for up in (False, True))
    assert low <= value <= high
    assert high - low <= value * Fraction(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(9), "9"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1200000), "1200000"),
        (Fraction(1, 10**4), "0.0001"),
        (Fraction(1, 10**9), "1e-09"),
        (Fraction(10**400), "1e+400"),
        (math.inf, "infinite"),
    ],
)
def test_exact_numbers_are_shown_as_they_are(value: Fraction | float, shown: str) -> None:
    assert rounded(value, 6, up=False) == rounded(value, 6, up=True) == shown


def test_a_finite_parity_is_never_called_infinite() -> None:
    assert parity_text(Fraction(10**400) / 3, 4) == "3.334e+399"
    assert parity_text(math.inf) == "infinite"


def test_a_label_with_a_line_break_stays_on_its_line() -> None:
    lines = table_lines(["label", "n", "of"], [["on two\nlines", "1", "a\tb"]])
    assert lines == ["  label         n   of", "  on two lines  1  a b"]


REPORT = Report(
    "a < b, for <people>.",
    [
        Facts([("parity", "3"), ("made | as", "k-ary")]),
        GAP,
        Grid(
            ["answer", "share"], [["yes", "0.25"], ["no | never", "10.5"]], marks=["", "best"], more="  ... and 2 more"
        ),
        Notes(["few *reports*"]),
        line("  (standard errors in brackets)"),
    ],
    next_step="maskwell audit d.json",
)


def test_a_terminal_shows_the_answer_first_and_the_next_step_last() -> None:
    assert list(REPORT) == [
        "a < b, for <people>.",
        "  parity     3",
        "  made | as  k-ary",
        "",
        "  answer      share",
        "  yes          0.25",
        "  no | never  10.5   best",
        "  ... and 2 more",
        "note: few *reports*",
        "  (standard errors in brackets)",
        "Next: maskwell audit d.json",
    ]
    assert REPORT[0] == REPORT.to_text()[0]
    assert len(REPORT) == 11


def test_what_is_added_stands_before_the_next_step() -> None:
    more = REPORT.with_line("Picture: a.svg").with_notes(["seen"])
    assert more[-3:] == ["Picture: a.svg", "note: seen", "Next: maskwell audit d.json"]
    assert len(REPORT) == 11


def test_markdown_and_html_say_the_same_and_escape_every_label() -> None:
    markdown = REPORT._repr_markdown_()
    assert "| no \\| never |" in markdown
    assert markdown.endswith("Next: `maskwell audit d.json`")
    html = REPORT._repr_html_()
    assert "<p>a &lt; b, for &lt;people&gt;.</p>" in html
    assert '<tr><th scope="row">yes</th><td>0.25</td><td></td></tr>' in html
    assert "<dt>parity</dt><dd>3</dd>" in html
    assert '<p class="notice">Note: few *reports*</p>' in html


def test_numbers_stay_with_their_units_where_asked_for() -> None:
    text = "word " * 18 + "it is 46.3\u00a0% now"
    assert Paragraph(text, keeps_units=True).to_text()[1] == "  46.3 % now"
    assert Paragraph(text).to_text()[1] == "  46.3\u00a0% now"
