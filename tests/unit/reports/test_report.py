"""A report is one value, written for a terminal, for a notebook and for a page; numbers and labels in it."""

from maskwell.reports.report import GAP, Facts, Grid, Notes, Paragraph, Report, line, table_lines


def test_a_label_with_a_line_break_and_a_number_with_its_unit_stay_on_their_line() -> None:
    lines = table_lines(["label", "n", "of"], [["on two\nlines", "1", "a\tb"]])
    assert lines == ["  label         n   of", "  on two lines  1  a b"]
    text = "word " * 18 + "it is 46.3\u00a0% now"
    assert Paragraph(text, keeps_units=True).to_text()[1] == "  46.3 % now"
    assert Paragraph(text).to_text()[1] == "  46.3\u00a0% now"


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


def test_a_terminal_shows_the_answer_first_and_the_next_step_last_whatever_is_added() -> None:
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
    assert REPORT[0] == REPORT.to_text()[0] and len(REPORT) == 11
    more = REPORT.with_line("Picture: a.svg").with_notes(["seen"])
    assert more[-3:] == ["Picture: a.svg", "note: seen", "Next: maskwell audit d.json"]
    assert len(REPORT) == 11


def test_markdown_and_html_say_the_same_and_escape_every_label() -> None:
    markdown = REPORT._repr_markdown_()
    assert "| no \\| never |" in markdown and markdown.endswith("Next: `maskwell audit d.json`")
    html = REPORT._repr_html_()
    assert "<p>a &lt; b, for &lt;people&gt;.</p>" in html
    assert '<tr><th scope="row">yes</th><td>0.25</td><td></td></tr>' in html
    assert "<dt>parity</dt><dd>3</dd>" in html and '<p class="notice">Note: few *reports*</p>' in html
