"""Tables of several variables as text, JSON and for a paper."""

import re

import numpy as np
import pytest

import maskwell as mw
from maskwell.reports.report import WIDTH
from maskwell.reports.text.crosstab_report import (
    crosstab_content,
    crosstab_report,
    crosstab_table,
    odds_sentence,
    table_in,
)

WARNER = mw.design("warner", p="4/5")
FORCED = mw.design("forced", truth="3/4", yes="1/6", no="1/12")
LONG = mw.designs.Uniform.from_gamma(60, mw.Categories.of([f"a long answer, number {i}" for i in range(12)]))


def _table(x, designs):
    return mw.estimation.cross_tabulate_counts(np.asarray(x), designs)


def test_rows_by_columns_with_margins():
    lines = crosstab_report(_table([[60, 140], [100, 200]], {"smokes": WARNER, "drinks": FORCED}), 0.95)
    assert lines[0].split() == ["smokes", "\\", "drinks", "yes", "no", "all"]
    assert lines[1].split() == ["yes", "0.050", "(0.025)", "0.283", "(0.038)", "0.333", "(0.037)"]
    assert lines[3].split()[0] == "all" and lines[3].endswith("1")
    assert any(line.startswith("Odds ratio, smokes (yes to no) by drinks (yes to no): 0.5922 (95 %") for line in lines)
    assert any(line.startswith("Independence of smokes and drinks: p = 0.4338 (Pearson") for line in lines)


@pytest.mark.parametrize("designs", [{"a": LONG, "b": LONG}, {"a": LONG, "b": WARNER, "c": LONG}])
def test_every_line_fits(designs):
    x = np.random.default_rng(1).integers(20, 90, [d.m for d in designs.values()])
    lines = crosstab_report(_table(x, designs), 0.95)
    assert max(map(len, lines)) <= WIDTH
    assert any("more cells: to_dict() gives all" in line for line in lines)


def test_what_is_not_available_is_said():
    empty = _table([[120, 90], [55, 235]], {"a": WARNER, "b": FORCED})
    lines = crosstab_report(empty, 0.95)
    assert any("infinite (95 % profile interval" in line and "infinity" in line for line in lines)
    weighted = mw.estimation.Table(mw.estimation.Estimate(**{**vars(empty.estimate), "basis": ()}), empty.layout)
    assert odds_sentence(weighted.odds_ratio(), 0.95).endswith("not available")
    few = _table([[1, 0], [0, 1]], {"a": WARNER, "b": FORCED})
    assert crosstab_content(few, 0.95)["independence"][0]["flags"]


def test_json_has_everything_and_a_shared_device_is_tested_by_what_is_valid():
    rows = [[".7", 0, 0, ".3"], [0, ".7", ".3", 0], [0, ".3", ".7", 0], [".3", 0, 0, ".7"]]
    shared = mw.designs.Dense.of(rows, mw.Categories.of([(a, b) for a in ("yes", "no") for b in ("yes", "no")]))
    content = crosstab_content(_table([[60, 40], [40, 60]], {("a", "b"): shared}), 0.95)
    assert [test["method"] for test in content["independence"]] == ["wald"]
    content = crosstab_content(_table([[60, 140], [100, 200]], {"smokes": WARNER, "drinks": FORCED}), 0.9)
    assert content["not_tested"] == []
    assert [one["given"] for one in content["conditionals"]] == [["smokes"], ["drinks"]]
    assert content["odds_ratios"][0]["level"] == 0.9
    three = crosstab_content(_table(np.full((2, 2, 2), 30), dict.fromkeys(("a", "b", "c"), WARNER)), 0.95)
    assert [test["variables"] for test in three["independence"]] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert "odds_ratios" not in three


def test_the_table_that_an_estimate_holds():
    both = mw.designs.Kronecker.of([WARNER, FORCED])
    found = mw.estimation.estimate_by_moments(mw.Counts(np.array([60, 140, 100, 200]), 500, both.fingerprint), both)
    table = table_in(found, [(WARNER, ("smokes",)), (FORCED, ("drinks",))])
    assert table.names == ("smokes", "drinks")
    assert table_in(found, [(both, ("a", "b"))]).layout.shares_devices()
    one = mw.estimation.estimate_by_moments(mw.Counts(np.array([60, 140]), 200, WARNER.fingerprint), WARNER)
    assert table_in(one, [(WARNER, ("smokes",))]) is None
    twice = mw.designs.Dense.of(
        [["0.6", "0.1"], ["0.2", "0.3"], ["0.2", "0.6"]], WARNER.inputs, mw.Categories.of([(1, 1), (1, 2), (2, 2)])
    )
    again = mw.estimation.estimate_by_moments(mw.Counts(np.array([60, 140, 90]), 290, twice.fingerprint), twice)
    assert table_in(again, [(twice, ("first", "second"))]) is None


def test_odds_ratios_that_say_nothing_are_left_out():
    """The last category is rare: nothing is told against it, but against the largest one."""
    three = mw.designs.Uniform.from_gamma(4, mw.Categories.of(["farm", "office", "astronaut"]))
    table = _table([[300, 520, 160], [340, 610, 172]], {"sex": WARNER, "job": three})
    assert min(table.margin("job").pi_hat) == table.margin("job").pi_hat[-1] < 0.03
    text = " ".join(line.strip() for line in crosstab_report(table, 0.95))
    assert "job (farm to office)" in text and "to astronaut)" not in text
    assert "1 odds ratio left out: an interval from below 1/100 to above 100 is uninformative" in text
    assert "to astronaut)" not in " ".join(crosstab_table(table, 0.95).notes)
    assert len(crosstab_content(table, 0.95)["odds_ratios"]) == 2


def test_odds_ratios_whose_interval_takes_a_search_are_counted_and_none_prints_nan():
    draw = np.random.default_rng(3)
    designs = {
        name: mw.design("k-ary", categories=[f"{name}{i}" for i in range(k)], gamma=9)
        for name, k in {"a": 6, "b": 15}.items()
    }
    joint = _table(draw.multinomial(300, np.full(90, 1 / 90)).reshape(6, 15), designs)
    text = " ".join("\n".join(crosstab_report(joint, 0.95)).split())
    shown, left_out = text.count("Odds ratio, a"), re.findall(r"(-?[\d,]+) odds ratios? left out", text)
    assert shown + sum(map(int, left_out)) == 70 and all(int(one) > 0 for one in left_out)
    assert "nan" not in text
    assert odds_sentence(joint.odds_ratios()[0], 0.95).endswith("(no interval)")
