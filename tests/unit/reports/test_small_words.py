"""Numbers, labels and names as people read them: the small functions that every report is written with."""

from fractions import Fraction
from math import inf, nan

import numpy as np

import maskwell as mw
from maskwell.designs import Subset
from maskwell.procedures.unrelated_questions import simmons, simmons_twice
from maskwell.reports import plain_words as words
from maskwell.reports.demand_words import explain, in_symbols
from maskwell.reports.device import legend_sheets, paper_cards
from maskwell.reports.device.device_report import assigned
from maskwell.reports.device.device_sheets import _count_as_said, _said, months
from maskwell.reports.pages import paper_tables
from maskwell.reports.pages.paper_tables import Table
from maskwell.reports.pictures import canvas, choice_picture, marks, palette
from maskwell.reports.pictures.risk_curves import RiskSpread
from maskwell.reports.report import Facts, Notes, Report, left_lines, table_lines
from maskwell.reports.text import design_report, planning_report, privacy_report, regression_report, release_words
from maskwell.reports.text.estimate_report import _which


def test_numbers() -> None:
    assert [words.number(x) for x in (2.718281828, inf, 3.0, None)] == ["2.71828", "infinite", "3", "none"]
    assert [words.decimals(x, 3) for x in (0.25, nan, -1e-17)] == ["0.250", "-", "0.000"]
    assert (words.count(12345), words.count(2**100)) == ("12,345", "1.27e+30")
    assert [words.digits_for(x) for x in ([0.25, 0.0123], [0.0], [0.25, 1e-9])] == [3, 4, 3]
    assert (words.decimals_for([0.009, 0.011]), words.decimals_for([0.0004])) == (1, 2)
    assert [release_words.factor_text(x) for x in (1.0, 1.386, 1234.5)] == ["1.00", "1.39", "1,235"]
    assert planning_report._figures([29.104, 3397.6]) == ["29.1", "3,398"]
    assert planning_report._figures([0.00019, 2]) == ["1.90e-04", "2.00e+00"]
    assert planning_report._figures([1_532_234_613, 12], decimals=1) == ["1.5e+09", "1.2e+01"]
    assert planning_report._sizes([3.3219, 10]) + planning_report._sizes([811268, 19.9]) == ["3.3", "10", "811k", "20"]
    errors = (0.25, 0.00018, 1e-12, None)
    assert [regression_report._decimals({"standard_error": error}) for error in errors] == [4, 5, None, 4]
    numbers = [(0.12345,), (None,), (0.00018, 6), (1e-12, None), (1e9,), (-1e-9,)]
    written = ["0.1235", "—", "0.000180", "1.0e-12", "1.0e+09", "0.0000"]
    assert [regression_report._number(*number) for number in numbers] == written


def test_scales() -> None:
    assert marks.round_numbers(1.5, 60) == [2, 5, 10, 20, 50]
    assert marks.round_numbers(0.02, 3000) == [0.1, 1, 10, 100, 1000]
    assert marks.round_numbers(2, 1e30)[:2] == [10000, 100000000]
    assert [marks.scale_number(x) for x in (0.05, 20, 200000, 1e-5)] == ["0.05", "20", "2·10⁵", "10⁻⁵"]
    assert marks.spread([10, 11, 50], apart=14, low=0, high=100) == [3.5, 17.5, 50]
    assert choice_picture._ticks(0.25, 5, most=8) == [1, 2, 3, 4, 5]
    assert choice_picture._ticks(0.25, 900, most=5) == [200, 400, 600, 800]
    assert [choice_picture._gamma(x) for x in (1, 20, 2000)] == ["2.7", "5·10⁸", "10⁸⁶⁹"]
    assert palette.levels(3) == ["level1", "level3", "level5"]
    assert palette.levels(6) == ["level1", "level2", "level3", "level3", "level4", "level5"]
    assert palette.with_variables("fill: #0b4f8f") == "fill: var(--truth)"
    assert RiskSpread.of(np.array([0.5, 1.0, 0.5]), np.array([2, 1, 2])).at_least(0.5) == 5


def test_names_and_labels() -> None:
    labels = ["never", "yes, once", ("yes", "never"), "{once, never}"]
    assert [words.label(label) for label in labels] == ["never", '"yes, once"', "(yes, never)", "{once, never}"]
    names = ["k-ary", "oue", "l-diverse", "unary"]
    assert [words.with_article(name) for name in names] == ["A k-ary", "An oue", "An l-diverse", "A unary"]
    assert canvas.numbered("out/shares.png", 2) == "out/shares-2.png"
    assert canvas.ordered(["b", "a", "c"], [0.1, 0.3, 0.2], "largest") == [1, 2, 0]
    assert canvas.ordered(["b", "a", "c"], [0.1, 0.3, 0.2], ["c"]) == [2, 0, 1]
    assert (_which([1, 2], "x", 5), _which([1, 2], "x", 2)) == ("x = 1, 2", "every x")
    assert _which([("f", "north")], "sex,region", 4) == "sex,region = (f, north)"
    assert release_words.name_of(("north", None)) == "north · missing"
    assert release_words.names_in_short(["town", "job\nnow"]) == "town, job now"
    assert release_words.names_in_short([f"column {i}" for i in range(20)], 34) == "column 0, ... (20 in all)"
    assert release_words.keys_in_words(["sex", "region", "age"]) == "sex, region and age"
    assert [design_report._heading("(1, 1, 0)", width) for width in (9, 7)] == ["(1, 1, 0)", "(1,1,0)"]
    assert (design_report.typed_labels(["a", "b"]), design_report.typed_labels(["no", "yes, once"])) == (
        "a,b",
        "'no,\"yes, once\"'",
    )
    many = Subset.from_gamma(3, mw.Categories.numbered(10**6), size=10**6 // 2)
    assert design_report.count_of_reports(many) == "about 10 to the power 301,026"


def test_sentences() -> None:
    assert in_symbols(mw.Demand.from_rho("0.1", "0.5")) == "ρ₁ = 0.1 to ρ₂ = 0.5"
    subset = Subset.from_gamma(3, mw.Categories.numbered(4), size=2)
    said = explain(subset)[0].replace("\xa0", " ")
    assert said == "You name 2 answers; with chance 75 % your true answer is among them."
    three = Subset.from_gamma(3, mw.Categories.numbered(10), size=3)
    named = "names 3 of 10 categories, the true one with 56.3 %, each other one with 27.1 %"
    assert design_report.what_it_does(three)[0][1].replace("\xa0", " ") == named
    one = release_words.above_in_words(1, 30162, 1.0, 0.5).replace("\xa0", " ")
    assert one == "1 of 30,162 records keeps a chance of 100 %, the limit is 50 %"
    seven = release_words.above_in_words(7, 900, 0.8, 0.5).replace("\xa0", " ")
    assert seven == "7 of 900 records keep a chance of up to 80 %, the limit is 50 %"
    neither = privacy_report._matching_l({"k": 10, "l_real": 2.06, "l_floor": 2, "l_ceiling": 3})
    assert neither == "2.06: l = 2 adds less variance, l = 3 hides the truth among more answers; neither bounds parity"
    no_l = privacy_report._matching_l({"k": 3, "l_real": 1.4, "l_floor": 1, "l_ceiling": 2})
    assert no_l == "1.4: no l adds so little variance, l = 2 hides the truth among more answers; it bounds no parity"


def test_sheets() -> None:
    assert assigned(simmons_twice("0.6", "0.7"), "answer", "d.json") == "answer1,answer2=d.json"
    assert assigned(simmons("3/4"), "answer", "d.json") == "'answer[group=1]=d.json' --design ..."
    january = "Was your mother born in January"
    asked = [months(Fraction(1, 6)), months(Fraction(1, 12)), months(Fraction(1, 5))]
    assert asked == [january + " or February?", january + "?", None]
    assert _said(["yes", "no"], ["yes", "no"]) == "Say “yes” or “no”."
    assert _said(["evaded", "honest"], ["yes", "no"]) == "Say “yes” for “evaded”, “no” for “honest”."
    assert _count_as_said(["0", "1", "2"]) == ": “0”, “1” or “2”"
    assert _count_as_said(["none", "one"]) == ": “none” for “0”, “one” for “1”"
    assert [legend_sheets._range(*ends) for ends in ((2, 2), (11, 12), (2, 4))] == ["2", "11 or 12", "2 to 4"]
    assert [legend_sheets.tenths(Fraction(x)) for x in (108, Fraction(360, 7))] == ["108", "51.4"]
    assert [paper_cards.letter(i) for i in (0, 25, 26)] == ["A", "Z", "AA"]
    assert (paper_cards.letters("never"), paper_cards.letters("从不")) == (5, 4)
    assert [paper_cards.lines(text, 50) for text in ("", "Say it whatever your true answer is.")] == [0, 2]
    assert paper_cards.grid_for([paper_cards.Face(1, "Say “yes”.")]) == (3, 4)
    assert paper_cards.grid_for([paper_cards.Face(1, rows=(("often", "never"),) * 12)]) == (2, 2)
    assert paper_cards.pages("abcde", [10] * 5, first=25, room=20) == [["a", "b"], ["c", "d"], ["e"]]


def test_tables() -> None:
    assert Facts((("parity", "3"), ("k", "2"))).to_text() == ["  parity  3", "  k       2"]
    report = Report("3 rows.", [Facts([("parity", "3")]), Notes(["few rows"])], next_step="audit")
    assert list(report) == ["3 rows.", "  parity  3", "note: few rows", "Next: audit"]
    assert (report.facts, report.notes) == ([("parity", "3")], ["few rows"])
    assert report.to_markdown() == ["3 rows.", "", "- parity: 3", "", "> note: few rows", "", "Next: `audit`"]
    assert Report("a < b", [Notes(["few"])]).to_html() == '<p>a &lt; b</p>\n<p class="notice">Note: few</p>'
    rows = table_lines(["answer", "share"], [["yes", "0.25"], ["no", "10.5"]])
    assert rows == ["  answer  share", "  yes      0.25", "  no      10.5"]
    assert left_lines(["sum", "instruction"], [["2", "word " * 30]])[2] == " " * 6 + " word" * 12
    table = Table(["a_b", "50 %"], [["x & y", "-0.5"]])
    latex = [r"\begin{tabular}{lr}", r"\toprule", r"a\_b & 50 \% \\", r"\midrule", r"x \& y & $-0.5$ \\"]
    assert paper_tables.to_latex(table) == [*latex, r"\bottomrule", r"\end{tabular}"]
    assert table.lines("md") == ["| a_b   | 50 % |", "|:------|-----:|", "| x & y | -0.5 |"]
    assert 'font-weight:normal">x &amp; y</th>' in paper_tables.to_html(table)[3]
    assert paper_tables.to_csv(Table(["answer", "share"], [["yes, once", "0.25"]]))[1] == '"yes, once",0.25'
    grouped = Table(["group", "answer", "n"], [["a", "yes", "1"], ["a", "no", "2"]], names=2)
    assert grouped.once() == [["a", "yes", "1"], ["", "no", "2"]]
    written = [r"C(x)[T.a\_1] \textless{} 50 \%", "$-1.25$", "{[}20, 30)"]
    assert [paper_tables.in_latex(text) for text in ("C(x)[T.a_1] < 50 %", "-1.25", "[20, 30)")] == written
    assert paper_tables.label_of("Estimated shares: bribe by region") == "tab:estimated-shares-bribe-by-region"
    wide = Table(["answer", "share"], [["a very long answer " * 4, "0.25"]])
    assert paper_tables._wrapped(wide) == {0: r"p{\dimexpr\linewidth-4.0em\relax}"}
