"""Texts that people read, by example: parts of messages, shares in percent, numbers and labels as they are typed."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell import Categories
from maskwell.core import exact, labels, percentages, phrases
from maskwell.core.keyed import read_ids
from maskwell.core.randomness import _tied

PERCENT_MEANT = "numbers are typed without a percent sign: 0.7 for 70 %"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (phrases.shows_values(), "error.values lists"),
        (phrases.named_encoding("utf-16"), "csv_file(path, encoding='utf-16')"),
        (phrases.design_of("y[wave=1]"), '{"y[wave=1]": design}'),
        ([phrases.file_name(path) for path in ("design.json", "-")], ["design.json", "standard input"]),
        (phrases.option("lonely", "centre"), 'lonely="centre"'),
        (phrases.option("categories", "a,b", '["a", "b"]'), 'categories=["a", "b"]'),
        (phrases.together(phrases.option("interval", "bootstrap"), "seed=1"), 'interval="bootstrap", seed=1'),
        (phrases.shorten("abcdefghij", 7), "abc…hij"),
        ([phrases.short_repr([1, 2]), phrases.short_repr([*range(100)])], ["[1, 2]", "..."]),
        (phrases.listed((str(i) for i in range(1000)), 1000, 30), "0, 1, 2, 3, ... (1,000 in all)"),
        (phrases.listed(["'a very long label' (9,718 times)"], 1, 24), "'a ver…abel' (9,718 times)"),
        (phrases.shown_values({"maybe": 12, "?": 1}), "'maybe' (12 times), '?' (1 time)"),
        (phrases.fault_of(ValueError("Magic bytes not found. Is this a file?")), "Magic bytes not found"),
        ([phrases.p_text(p) for p in (0.04321, 0.00018, 1e-9, None)], ["0.0432", "0.0002", "<0.0001", "n/a"]),
        ([phrases.p_equals(p) for p in (0.04321, 1e-9)], ["p = 0.0432", "p < 0.0001"]),
        (phrases.in_ascii("x ≤ 1… né"), "x <= 1... n\\xe9"),
        (phrases.visible_lines("a\nb\x07"), "a\nb\\x07"),
        (phrases.one_line("north\nof the river\t"), "north of the river"),
        (phrases.in_json('{"label": "no\x9b2J"}'), '{"label": "no\\u009b2J"}'),
        (phrases.in_toml('a "b"\u202e'), '"a \\"b\\"\\U0000202e"'),
        (phrases.in_markdown("<b>a_b</b> *now*"), "\\<b>a_b\\</b> \\*now\\*"),
        ([phrases.start_of_line(x) for x in ("# of", "1. floor", "-0.5")], ["\\# of", "1\\. floor", "-0.5"]),
        ([phrases.in_spreadsheet(x) for x in ("=1+1", "-0.5", "- none")], ["'=1+1", "-0.5", "'- none"]),
        ([phrases.is_formula(x) for x in ("@SUM(A1)", "+3", "a=b")], [True, False, False]),
        ([phrases.expected_number(x) for x in (1234.56, 0.25, 1e-5, 0.0)], ["1,234.6", "0.25", "under 0.0001", "0"]),
        ([phrases.in_words(x.split()) for x in ("a", "a b", "a b c")], ["a", "a and b", "a, b and c"]),
        (phrases.masked("x://ann:two words@db/x?password=two words&user=a"), "x://ann:***@db/x?password=***&user=a"),
        ([percentages.in_percent(x) for x in (0.1234, -0.01, None)], ["12.3\xa0%", "−1.0\xa0%", "–"]),
        (percentages.bound_in_percent(0.1, up=True), "10\xa0%"),
        (percentages.bound_in_percent(Fraction(1, 300), up=False), "0.33\xa0%"),
        (percentages.bound_in_percent(Fraction(9999, 10000), up=True), "99.99\xa0%"),
        ([percentages.tenths(x, up=True) for x in (0.9991, 0.28, 0.0001)], ["100 %", "28 %", "0.1 %"]),
        (percentages.tenths(Fraction(1, 3), up=False), "33.3 %"),
        ([percentages.percent_exact(Fraction(1, n)) for n in (3, 300000, 10**12)], ["33.3", "0.00033", "1e-10"]),
        ([percentages.percent_exact(1 - Fraction(1, 10**n)) for n in (0, 12)], ["0.0", "nearly 100"]),
        (exact.percent_meant(10, 50), " (10 50 for 10 % and 50 %? write 0.1 0.5)"),
        (exact.percent_meant("1.2"), ""),
        ([exact.to_decimal(Fraction(n)) for n in ("3/10", "1/3", "-5")], ["0.3", "1/3", "-5"]),
        (exact.rounded(Fraction(2, 3 * 10**9), 3, up=True), "6.67e-10"),
        (exact.parity_text(2 + Fraction(1, 10**15)), "2.000000000000001"),
        (exact.told_apart(2 + Fraction(1, 10**20), Fraction(2)), ("2 plus 1e-20", "2")),
    ],
)
def test_what_is_said(said: Any, expected: Any) -> None:
    assert said == expected


def test_numbers_options_labels_and_ids_as_they_were_typed() -> None:
    with phrases.as_typed():
        assert phrases.together(phrases.option("replicate_method"), "--seed 1") == "--replicate-method --seed 1"
        assert phrases.design_of("y[wave=1]", "D.json") == "--design 'y[wave=1]=D.json'"
    with pytest.raises(exact.ParameterError, match=PERCENT_MEANT):
        exact.as_fraction("70%")
    assert exact.safe_above(0.1) > Fraction(1, 10) and exact.safe_above(0.3) == Fraction(3, 10)
    assert [exact.is_decimal(exact.as_given(Fraction(1, 2), text)) for text in ("0.5", "1/2")] == [True, False]
    assert exact.sum_of([Fraction(1, 4), Fraction(1, 6), Fraction(1, 4)]) == Fraction(2, 3)
    columns = ["1", "2"], [1.0, 2.0], ["1.0", "2.5"], ["01", "2"], [datetime(2024, 5, 1)], ["a", "nan"], ["1", "1.0"]
    typed = [1, 2], [1, 2], [1.0, 2.5], ["01", "2"], [date(2024, 5, 1)], ["a", "nan"], ["1", "1.0"]
    assert [labels.in_one_type(column) for column in columns] == [*typed]
    assert labels.sorted_levels(["10", "9", "N", None]) == ["9", "10", "N", None]
    assert labels.sorted_levels(["10-14", "65 or more", "5-9"]) == ["5-9", "10-14", "65 or more"]
    given = labels.sorted_levels(["high", "low", "unknown", "middle"], given=["low", "middle", "high"])
    assert given == ["low", "middle", "high", "unknown"]
    assert [labels.are_bits(pair) for pair in ((1, 0), range(2), ("1", "0"))] == [True, True, False]
    assert Categories.of(["never", 1]).typed_codes(["1"], "category") == [1]
    read = read_ids(["12", 7, 3.0, "07", "b-1"])
    assert (read.numbers.tolist(), read.rows, read.texts) == ([12, 7, 3, 0, 0], [3, 4], ["07", "b-1"])
    assert _tied(np.array([1, 2, 2, 3, 5, 5, 5])) == [(1, 3), (4, 7)]
