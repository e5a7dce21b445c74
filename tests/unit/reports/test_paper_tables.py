import csv
import io

import pytest
from tests.support.quiet import refused

from maskwell.errors import ParameterError
from maskwell.reports.pages.paper_tables import Table, in_latex

NASTY = ["plain", "a_b & c", "50 %", "{x}^2 ~ $y", "back\\slash", "pipe|bar", 'comma, "quote"', "a < b > c", "#1"]


@pytest.fixture
def nasty():
    return Table(["term", "value"], [[text, "-1.5"] for text in NASTY], caption="All_of it", notes=["n = 3 & more"])


def test_csv_is_read_back_as_it_was_and_holds_no_formula(nasty):
    rows = list(csv.reader(io.StringIO("\n".join(nasty.lines("csv")))))
    assert rows == [["term", "value"], *([text, "-1.5"] for text in NASTY)]
    names = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "＝1", "-0.5", "+3", "a=b", "-"]
    rows = list(csv.reader(io.StringIO("\n".join(Table(["=a", "b"], [[one, "-1.5"] for one in names]).lines("csv")))))
    assert rows[0] == ["'=a", "b"]
    assert [row[0][0] == "'" for row in rows[1:]] == [True] * 7 + [False] * 3 + [True]
    assert {row[1] for row in rows[1:]} == {"-1.5"}


def test_labels_are_no_markup_in_markdown_or_latex(nasty):
    label = "<img src=x onerror=alert(1)> [a](http://b) &lt; \\input{x} \x1b[2J \u202e"
    (md,) = [line for line in Table(["a", "b"], [[label, "1"]]).lines("md") if "img" in line]
    assert "\\<img" in md and "\\[a](" in md and "\\&lt;" in md and "\x1b" not in md and "\u202e" not in md
    (tex,) = [line for line in Table(["a", "b"], [[label, "1"]]).lines("latex") if "img" in line]
    assert "\\textbackslash{}input\\{x\\}" in tex and "\x1b" not in tex
    body = "\n".join(nasty.lines("latex"))
    assert r"a\_b \& c & $-1.5$ \\" in body and r"50 \%" in body and r"\{x\}\textasciicircum{}2" in body
    assert body.startswith("\\begin{table}") and "\\caption{All\\_of it}" in body and "n = 3 \\& more" in body
    lines = [line for line in nasty.lines("md") if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {3}
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.5", "$-0.5$"),
        ("x-1", "x-1"),
        ("-0.5 to -0.1", "$-0.5$ to $-0.1$"),
        ("1e-05", "1e-05"),
        ("l = -19.5.", "l = $-19.5$."),
        ("", ""),
    ],
)
def test_only_a_minus_in_front_of_a_number_is_a_minus(text, shown):
    assert in_latex(text) == shown


def test_unknown_styles_and_ragged_rows_are_refused():
    with pytest.raises(ParameterError, match="format must be one of md, latex, html, csv, not 'pdf'"):
        Table(["a"], []).lines("pdf")
    refused(ParameterError, "a row has 1 cells under 2 headings", Table, ["a", "b"], [["1"]])


def test_wide_and_long_tables_are_parted_and_nothing_is_lost():
    names = [f"a name of a region that has {i} words" for i in range(50)]
    table = Table(
        ["region", *(f"category {j}" for j in range(12))],
        [[name, *(f"0.{i:02}{j:02} (0.01)" for j in range(12))] for i, name in enumerate(names)],
        caption="Shares",
        notes=["n = 3"],
    )
    lines = table.lines("latex")
    text = "\n".join(lines)
    assert text.count("\\begin{table") == text.count("\\end{table") > 2
    assert text.count("\\label{tab:shares}") == 1 and text.count("(continued)") == text.count("\\begin{table") - 1
    assert text.count("n = 3") == 1 and lines[-2].endswith("n = 3")
    for i in range(50):
        assert all(f"0.{i:02}{j:02} (0.01)" in text for j in range(12))
    widest = max(line.count("&") for line in lines)
    assert widest <= 6 and "p{\\dimexpr\\linewidth-" in text


def test_a_group_stands_once_and_a_bracket_is_no_option():
    rows = [["[20, 30)", "yes", "1"], ["[20, 30)", "no", "2"], ["*", "yes", "3"]]
    lines = Table(["age", "answer", "n"], rows, names=2).lines("latex")
    assert lines[4:8] == ["{[}20, 30) & yes & 1 \\\\", " & no & 2 \\\\", "\\addlinespace", "{*} & yes & 3 \\\\"]
    assert [line.count("20, 30") for line in Table(["age", "answer", "n"], rows, names=2).lines("csv")] == [0, 1, 1, 0]
