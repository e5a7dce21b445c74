"""Designs whose parameters stand in columns: each row tells how its answer was randomized."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.regression import plain_newton
from tests.support.together import together

import maskwell as mw
from maskwell.engines.rows import Rows
from maskwell.errors import InputError, MissingValueError, ParameterError
from maskwell.verbs.row_designs import MOST_DESIGNS, designs_by_group, read_row_design

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    """800 rows with one of three chances of Warner's device, and answers to match."""
    rng = np.random.default_rng(11)
    made = pd.DataFrame({"x": rng.normal(size=800).round(3), "p": rng.choice([0.7, 0.85, 0.9], 800)})
    true = rng.random(800) < 1 / (1 + np.exp(-(made.x - 0.4)))
    made["y"] = np.where((rng.random(800) < made.p) == true, "yes", "no")
    return made


def by_hand(table):
    """Newton's method with two rows of P for each of the chances."""
    P = np.array([row for p in np.unique(table.p) for row in ([p, 1 - p], [1 - p, p])])
    codes = 2 * np.searchsorted(np.unique(table.p), table.p) + (table.y == "no")
    return plain_newton(np.column_stack([np.ones(len(table)), table.x]), codes.to_numpy(), P)


def test_each_row_counts_with_its_own_chance_whatever_kind_of_number_it_is(table):
    beta, errors = by_hand(table)
    for one in (table, table.assign(p=[str(Fraction(str(p))) for p in table.p])):
        fitted = mw.regress(one, "y ~ x", {"y": "warner(p=p)"})
        np.testing.assert_allclose(fitted.estimates, beta, atol=1e-6)
        np.testing.assert_allclose(fitted.standard_error, errors, atol=1e-6)
        assert len(fitted.fingerprints) == 3
    constant = mw.regress(table, "y ~ x", {"y": "warner(p=0.85)"})
    assert abs(constant.estimates - beta).max() > 1e-3


@together(
    ("text", "choice"),
    [
        ("warner(p = p)", lambda p: ("warner", {"p": p})),
        ("warner(p=1-(1-p))", lambda p: ("warner", {"p": p})),
        ("forced(truth=2*p-1, yes=1-p, no=1-p)", lambda p: ("forced", {"truth": 2 * p - 1, "yes": 1 - p, "no": 1 - p})),
        ("simmons(p=p, beta=1/3)", lambda p: ("simmons", {"p": p, "beta": "1/3"})),
        ("crosswise(q=1-`p`, reports=[yes, 'no'])", lambda p: ("crosswise", {"q": 1 - p})),
    ],
)
def test_arithmetic_is_exact_and_a_list_of_designs_gives_the_same(table, text, choice):
    def made(p):
        family, parameters = choice(Fraction(str(p)))
        reports = mw.Categories.of(["yes", "no"]) if family == "crosswise" else None
        return mw.design(family, reports=reports, **parameters)

    groups = [mw.When({"p": p}, made(p)) for p in (0.7, 0.85, 0.9)]
    by_columns = mw.regress(table, "y ~ x", {"y": text})
    assert {*by_columns.fingerprints} == {one.design.fingerprint for one in groups}
    by_list = mw.regress(table, "y ~ x", {"y": groups})
    np.testing.assert_allclose(by_columns.estimates, by_list.estimates, atol=1e-8)


def test_devices_and_parameters_by_groups_of_rows(table, tmp_path):
    """Half of the rows were asked directly; a path, a design and columns can stand side by side."""
    mixed = table.assign(how=np.where(np.arange(800) % 2, "direct", "warner"), spare=0)
    direct = mw.design("warner", p=1)
    direct.save(tmp_path / "direct.json")
    by_p = {p: mw.design("warner", p=str(p)) for p in (0.7, 0.85, 0.9)}
    every = [mw.When({"how": "direct", "p": p}, direct) for p in by_p]
    every += [mw.When({"how": "warner", "p": p}, design) for p, design in by_p.items()]
    expected = mw.regress(mixed, "y ~ x", {"y": every})
    for open_design in (direct, str(tmp_path / "direct.json"), "warner(p=1+spare)"):
        choices = [mw.When({"how": "direct"}, open_design), mw.When({"how": "warner"}, "warner(p=p)")]
        fitted = mw.regress(mixed, "y ~ x", {"y": choices})
        np.testing.assert_allclose(fitted.estimates, expected.estimates, atol=1e-8)
    shares = mw.estimate(mixed, {"y": [mw.When({"how": "direct"}, direct), mw.When({"how": "warner"}, "warner(p=p)")]})
    for one, other in zip(
        shares.to_dict()["estimates"], mw.estimate(mixed, {"y": every}).to_dict()["estimates"], strict=True
    ):
        assert (one["estimate"], one["standard_error"]) == pytest.approx((other["estimate"], other["standard_error"]))


def test_rows_without_a_parameter(table):
    some = table.assign(p=np.where(np.arange(800) < 5, np.nan, table.p))
    refused(MissingValueError, "", mw.regress, some, "y ~ x", {"y": "warner(p=p)"})
    left = mw.regress(some, "y ~ x", {"y": "warner(p=p)"}, missing="drop")
    assert (left.n, left.dropped) == (795, 5)
    np.testing.assert_allclose(left.estimates, by_hand(table[5:])[0], atol=1e-6)
    two = some.assign(how=np.where(np.arange(800) < 5, "direct", "warner"))
    choices = [mw.When({"how": "direct"}, mw.design("warner", p=1)), mw.When({"how": "warner"}, "warner(p=p)")]
    with pytest.raises(MissingValueError, match="has missing values in rows whose design does not use it"):
        mw.regress(two, "y ~ x", {"y": choices}, missing="drop")
    with pytest.raises(MissingValueError, match="no row has all parameters"):
        mw.regress(some.assign(p=np.nan), "y ~ x", {"y": "warner(p=p)"})


@together(
    ("text", "saying"),
    [
        ("warner(p)", "each parameter needs its name"),
        ("warner(p=)", "not an expression"),
        ("warner(p=p, p=p)", "occurs twice"),
        ("warner(q=p)", "warner has no q and needs p"),
        ("warner(p=p.real)", "'p.real'"),
        ("warner(p=p**2)", "only columns, numbers"),
        ("warner(p=p[0])", "not an expression"),
        ("warner(p=open('f'))", "only columns, numbers"),
        ("warner(p=__import__('os').system('touch ran'))", ""),
        ("warner(p=(lambda: p)())", ""),
        ("warner(p=[a for a in p])", "not an expression"),
        ("warner(p=p if p else p)", ""),
        ("warner(p=1e999)", "only columns, numbers"),
        ("warner(p=1e300)", "only columns, numbers"),
        ("warner(p=1e-300)", "only columns, numbers"),
        ("warner(p=" + "*".join(["1e20"] * 90) + ")", "must be "),
        ("warner(p=p/0)", "the parameters of some rows do not define a design"),
        ("warner(p=1/0)", "these parameters do not define a design"),
        ("warner(p=9)", ""),
        ("warner(p=1/(p-p))", "the parameters of some rows do not define a design"),
        ("warner(p=2*p)", "the parameters of some rows do not define a design"),
        ("warner(p=y)", "column 'y' has a value that is not a number"),
        ("warner(p=p, reports=yes)", "categories and reports must be lists"),
        ("warner(p=p, reports=[1+1, 0])", "a label must be a string or a number"),
        ("werner(p=p)", "'werner' is not a known procedure"),
        ("warner(p=" + "(" * 31 + "p" + ")" * 31 + ")", "nested too deeply"),
        ("warner(p=" + "-" * 300 + "p)", "too long"),
        ("warner(p=p\0)", "U+0000"),
        ("warner(p=`p)", "without a name"),
    ],
)
def test_what_is_no_such_design_is_refused_in_one_line(table, text, saying, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    caught = refused((InputError, ParameterError, mw.errors.MaskwellError), "", mw.regress, table, "y ~ x", {"y": text})
    assert saying in caught.message, caught.message
    assert "\n" not in caught.message and len(caught.message) <= 100 and caught.hint
    assert not [*tmp_path.iterdir()]
    assert "0.85" not in caught.message + caught.hint


@together("choices", [[({"how": 1}, "warner(p=p)"), 5], [(5, "warner(p=p)")], [({"p": 0.7}, "warner(p=p)"), ({}, 5)]])
def test_lists_that_hold_something_else(table, choices):
    refused(mw.errors.MaskwellError, "", mw.regress, table, "y ~ x", {"y": choices})


def test_too_many_different_parameters_and_none_in_columns(table):
    many = pd.concat([table, table]).assign(p=0.6 + np.arange(1600) / 5000)
    refused(ParameterError, "more than 1,000 different parameters", mw.regress, many, "y ~ x", {"y": "warner(p=p)"})
    assert MOST_DESIGNS == 1000
    assert read_row_design("warner(p=4/5)").columns == ()
    [(when, design)] = designs_by_group([((), "warner(p=4/5)")], Rows.of("-"))
    assert when == () and design.fingerprint == mw.design("warner", p="0.8").fingerprint
    refused(ParameterError, "two passes over the rows", designs_by_group, [((), "warner(p=c)")], Rows.of("-"))
    rows = {"c": ["0.8"], "g": [1], "y": ["yes"]}
    with pytest.raises(ParameterError, match="two designs were given for the same rows"):
        mw.estimate(rows, {"y": [mw.When({"g": 1}, "warner(p=c)"), mw.When({"c": 0.8}, "warner(p=0.9)")]})
