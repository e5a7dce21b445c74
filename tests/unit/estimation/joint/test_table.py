"""Tables against the Kronecker product written out, and their margins against single variables."""

from dataclasses import replace

import numpy as np
import pytest

import maskwell as mw
from maskwell.errors import LabelError, ParameterError, ReportError, TooLargeError, WrongTypeError
from maskwell.estimation.joint.cross_tables import table_of
from maskwell.estimation.joint.variables import Layout, direct
from maskwell.estimation.summed_shares import OWN_MARGIN
from maskwell.reports.text.crosstab_report import crosstab_report

WARNER = mw.design("warner", p="4/5")
THREE = mw.designs.Dense.of(
    [["4/5", "1/5", "1/5"], ["1/10", "7/10", "1/10"], ["1/10", "1/10", "7/10"]], mw.Categories.of(["a", "b", "c"])
)
KUK = mw.design("kuk", theta1="7/10", theta2="1/5", draws=3)
SEX = direct(mw.Categories.of(["f", "m"]))


def _counts(shape, seed=1):
    return np.random.default_rng(seed).integers(5, 90, size=shape)


def _left_inverse(design):
    return design.backward(np.eye(design.m)).T


@pytest.mark.parametrize("designs", [(WARNER, THREE), (KUK, THREE), (THREE, SEX, WARNER)])
def test_estimates_and_covariance_are_those_of_the_product_written_out(designs):
    x = _counts([d.m for d in designs])
    table = mw.estimation.cross_tabulate_counts(x, {f"x{i}": d for i, d in enumerate(designs)})
    L = np.ones((1, 1))
    for design in designs:
        L = np.kron(L, _left_inverse(design))
    n, share = x.sum(), x.ravel() / x.sum()
    pi = L @ share
    assert np.allclose(table.pi_hat.ravel(), pi)
    assert np.allclose(table.estimate.covariance, ((L * share) @ L.T - np.outer(pi, pi)) / (n - 1))
    assert np.allclose(table.standard_error.ravel() ** 2, np.diag(table.estimate.covariance))


def test_a_margin_is_the_estimate_of_that_variable_alone():
    x = _counts((2, 3, 4))
    table = mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": THREE, "c": KUK})
    for axis, (name, design) in enumerate({"a": WARNER, "b": THREE, "c": KUK}.items()):
        own = x.sum(axis=tuple(other for other in range(3) if other != axis))
        alone = mw.estimation.estimate_by_moments(mw.Counts(own, int(own.sum()), design.fingerprint), design)
        margin = table.margin(name)
        assert np.array_equal(margin.pi_hat, alone.pi_hat)
        assert np.array_equal(margin.covariance, alone.covariance)
        summed = table.pi_hat.sum(axis=tuple(other for other in range(3) if other != axis))
        assert np.allclose(summed, alone.pi_hat)


def test_variables_may_be_taken_in_any_order():
    x = _counts((2, 3, 2))
    table = mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": THREE, "sex": SEX})
    turned = table.collapse_to("sex", "a")
    assert turned.names == ("sex", "a")
    assert np.allclose(turned.pi_hat, table.pi_hat.sum(axis=1).T)
    sums = np.einsum("abcdef->cafd", table.estimate.covariance.reshape(2, 3, 2, 2, 3, 2)).reshape(4, 4)
    assert np.allclose(turned.estimate.covariance, sums)


def test_margins_of_sums_of_cells_carry_their_covariance():
    """Without the counts behind it an estimate is summed cell by cell; the parts of its variance are then not known."""
    table = mw.estimation.cross_tabulate_counts(_counts((2, 3)), {"a": WARNER, "b": THREE})
    without = mw.estimation.Table(replace(table.estimate, samples=()), table.layout)
    got, known = without.margin("b"), table.margin("b")
    assert np.allclose(got.pi_hat, known.pi_hat) and np.allclose(got.covariance, known.covariance)
    assert np.isnan(got.randomization_variance).all()
    assert any("not told apart" in flag for flag in got.flags)
    assert list(got.categories) == list(known.categories)


def test_a_direct_variable_costs_nothing():
    """With all variables asked directly the table holds the plain shares and their multinomial errors."""
    x = _counts((2, 3))
    table = mw.estimation.cross_tabulate_counts(x, {"a": None, "b": None})
    p, n = x / x.sum(), x.sum()
    assert np.allclose(table.pi_hat, p)
    assert np.allclose(table.standard_error**2, p * (1 - p) / (n - 1))
    assert np.allclose(table.estimate.randomization_variance, 0)


def test_columns_of_every_library():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"smokes": ["yes", "no", "no", "yes", "no"], "sex": ["m", "f", "f", "m", "m"]}
    designs = {"smokes": WARNER, "sex": None}
    expected = mw.estimation.cross_tabulate(columns, designs)
    assert expected.labels == (("yes", "no"), ("f", "m"))
    assert expected.observed.tolist() == [[0, 2], [2, 1]]
    for other in (pandas.DataFrame(columns), polars.DataFrame(columns), arrow.table(columns)):
        assert np.array_equal(mw.estimation.cross_tabulate(other, designs).pi_hat, expected.pi_hat)
    categorical = pandas.DataFrame(columns).astype({"sex": "category"})
    assert mw.estimation.cross_tabulate(categorical, designs).labels == expected.labels


def test_missing_reports():
    columns = {"smokes": ["yes", None, "no", "no"], "sex": [1.0, 2.0, float("nan"), 2.0]}
    with pytest.raises(mw.MaskwellError, match="missing"):
        mw.estimation.cross_tabulate(columns, {"smokes": WARNER, "sex": None})
    table = mw.estimation.cross_tabulate(columns, {"smokes": WARNER, "sex": None}, missing="drop")
    assert table.n == 2 and table.labels[1] == (1.0, 2.0)
    assert any("2 rows without a report" in flag for flag in table.flags)


def test_a_cell_by_its_labels():
    table = mw.estimation.cross_tabulate_counts([[60, 140], [100, 200]], {"smokes": WARNER, "drinks": WARNER})
    share, error = table.cell(smokes="no", drinks="yes")
    assert (share, error) == (table.pi_hat[1, 0], table.standard_error[1, 0])
    with pytest.raises(ParameterError, match="each of smokes, drinks"):
        table.cell(smokes="no")


def test_a_million_cells():
    """Twenty yes-or-no questions: moments with standard errors, margins and conditional shares, no covariances."""
    x = np.random.default_rng(5).poisson(1.0, size=(2,) * 20)
    table = mw.estimation.cross_tabulate_counts(x, {f"q{i}": WARNER for i in range(20)})
    assert table.estimate.covariance is None
    assert np.isfinite(table.standard_error).all()
    pair = table.collapse_to("q3", "q17")
    assert np.allclose(pair.pi_hat, table.pi_hat.sum(axis=tuple(i for i in range(20) if i not in (3, 17))))
    with pytest.raises(TooLargeError, match="left out"):
        table.difference({f"q{i}": "yes" for i in range(1, 20)}, given="q0", between=("yes", "no"))
    assert "more cells" in repr(table)


def test_results_for_people_and_programs():
    pytest.importorskip("pandas")
    table = mw.estimation.cross_tabulate_counts([[60, 140], [100, 200]], {"smokes": WARNER, "drinks": WARNER})
    content = table.to_dict()
    assert content["variables"] == ["smokes", "drinks"] and content["shape"] == [2, 2]
    assert content["estimates"][1]["category"] == ["yes", "no"]
    frame = table.to_frame()
    assert frame.index.names == ["smokes", "drinks"]
    assert frame.loc[("yes", "no"), "estimate"] == pytest.approx(table.pi_hat[0, 1])
    assert repr(table).splitlines()[0].startswith("Table of smokes x drinks by moments from n = 500 reports")


SHARED = mw.designs.Dense.of(
    [[".7", 0, 0, ".3"], [0, ".7", ".3", 0], [0, ".3", ".7", 0], [".3", 0, 0, ".7"]],
    mw.Categories.of([(a, b) for a in ("yes", "no") for b in ("yes", "no")]),
)


def test_variables_that_share_a_device():
    table = mw.estimation.cross_tabulate_counts(_counts((2, 2, 2)), {("smokes", "drinks"): SHARED, "sex": SEX})
    assert table.names == ("smokes", "drinks", "sex")
    both = table.collapse_to("smokes", "drinks")
    assert np.allclose(both.pi_hat, table.pi_hat.sum(axis=2)) and both.observed is not None
    assert np.allclose(table.margin("smokes").pi_hat, table.pi_hat.sum(axis=(1, 2)))
    assert table.collapse_to("drinks", "sex").observed is None


def test_what_is_given_is_checked():
    with pytest.raises(ReportError, match=r"shape \(2, 2\)"):
        mw.estimation.cross_tabulate_counts(np.ones((2, 2), dtype=int), {"a": WARNER, "b": THREE})
    with pytest.raises(ReportError, match="whole numbers"):
        mw.estimation.cross_tabulate_counts(np.full((2, 2), 0.5), {"a": WARNER, "b": WARNER})
    with pytest.raises(ParameterError, match="no column 'b'"):
        mw.estimation.cross_tabulate({"a": ["yes"]}, {"a": WARNER, "b": WARNER})
    with pytest.raises(ReportError, match="different lengths"):
        mw.estimation.cross_tabulate({"a": ["yes"], "b": ["yes", "no"]}, {"a": WARNER, "b": WARNER})
    with pytest.raises(ParameterError, match="must name a design"):
        mw.estimation.cross_tabulate({"a": ["yes"]}, [WARNER])
    with pytest.raises(WrongTypeError, match="not the name"):
        mw.estimation.cross_tabulate_counts([1, 2], {(1,): WARNER})
    with pytest.raises(LabelError, match="all their combinations"):
        mw.estimation.cross_tabulate_counts(np.ones((2, 2), dtype=int), {("a", "b"): THREE})
    with pytest.raises(ParameterError, match="is one of moments, ml"):
        mw.estimation.cross_tabulate_counts([[1, 2], [3, 4]], {"a": WARNER, "b": WARNER}, method="magic")
    with pytest.raises(WrongTypeError, match="needs an Estimate"):
        mw.estimation.Table(np.ones(4), Layout.of({"a": WARNER, "b": WARNER}))
    with pytest.raises(ParameterError, match="share a device and be asked directly"):
        mw.estimation.cross_tabulate({"a": ["x"], "b": ["y"]}, {("a", "b"): None})
    table = mw.estimation.cross_tabulate_counts([[1, 2], [3, 4]], {"a": WARNER, "b": WARNER})
    with pytest.raises(ParameterError, match="no variable 'c'"):
        table.margin("c")
    with pytest.raises(ParameterError, match="named twice"):
        table.collapse_to("a", "a")
    with pytest.raises(ParameterError, match="no variable was named"):
        table.collapse_to()


def test_a_table_of_an_estimate():
    """What the command line has: counts of a product, estimated together."""
    both = mw.designs.Kronecker.of([WARNER, mw.designs.Kronecker.of([THREE, SEX])])
    x = _counts(12)
    estimate = mw.estimation.estimate_by_moments(mw.Counts(x, int(x.sum()), both.fingerprint), both)
    table = table_of(estimate, both, ["a", "b", "sex"])
    assert table.shape == (2, 3, 2)
    assert np.allclose(table.margin("b").pi_hat, table.pi_hat.sum(axis=(0, 2)))
    with pytest.raises(ParameterError, match="2 names for a design of 3 variables"):
        table_of(estimate, both, ["a", "b"])


def test_a_weighted_table():
    """Equal weights give the shares of the plain table; margins carry totals, and the test is that of Rao and Scott."""
    rng = np.random.default_rng(8)
    columns = {name: rng.choice(["yes", "no"], 600).tolist() for name in ("smokes", "drinks")}
    designs = {"smokes": WARNER, "drinks": WARNER}
    plain = mw.estimation.cross_tabulate(columns, designs)
    weighted = mw.estimation.cross_tabulate(columns, designs, plan=mw.Sampling(weights=np.full(600, 50.0)))
    assert np.allclose(weighted.pi_hat, plain.pi_hat)
    assert np.allclose(weighted.standard_error, plain.standard_error, rtol=0.01)
    margin = weighted.margin("smokes")
    assert np.allclose(margin.pi_hat, plain.margin("smokes").pi_hat)
    assert margin.total.sum() == pytest.approx(30000)
    assert np.allclose(margin.total_standard_error, 30000 * margin.standard_error, rtol=0.01)
    test, expected = weighted.independence(), plain.independence()
    assert test.method == "rao-scott" and test.p_value == pytest.approx(expected.p_value, abs=0.01)
    clusters = mw.Sampling(weights=rng.uniform(1, 3, 600), clusters=np.repeat(np.arange(30), 20))
    clustered = mw.estimation.cross_tabulate(columns, designs, plan=clusters)
    assert clustered.independence().denominator == pytest.approx(29)
    assert clustered.independence(method="wald").denominator == 29
    assert clustered.odds_ratio().interval_method == "wald"
    with pytest.raises(ParameterError, match="with a sampling plan"):
        mw.estimation.cross_tabulate(columns, designs, plan=clusters, method="ml")
    with pytest.raises(ParameterError, match="a line for each row"):
        mw.estimation.cross_tabulate(
            {**columns, "smokes": [None, *columns["smokes"][1:]]}, designs, plan=clusters, missing="drop"
        )


def test_the_most_likely_table():
    x = [[120, 90], [55, 235]]
    table = mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": WARNER}, method="ml")
    assert (table.pi_hat >= 0).all() and table.pi_hat.sum() == pytest.approx(1)
    own = mw.estimation.cross_tabulate_counts(np.sum(x, axis=1), {"a": WARNER}, method="ml")
    assert np.allclose(table.margin("a").pi_hat, own.pi_hat.ravel())
    assert table.odds_ratio().method == "ml"


def test_designs_that_hold_several_variables():
    both = mw.designs.Kronecker.of([SHARED, SEX])
    x = _counts(8)
    estimate = mw.estimation.estimate_by_moments(mw.Counts(x, int(x.sum()), both.fingerprint), both)
    table = table_of(estimate, both, ["smokes", "drinks", "sex"])
    assert table.shape == (2, 2, 2) and table.layout.shares_devices()
    assert table.independence("smokes", "sex", method="wald").degrees_of_freedom == 1


def test_most_likely_margins_say_when_the_cells_sum_to_others():
    x = np.array([[4, 1], [1, 9]])
    flagged, plain = (
        mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": WARNER}, method=method)
        for method in ("ml", "moments")
    )
    assert abs(flagged.margin("a").pi_hat - flagged.pi_hat.sum(axis=1)).max() > 1e-3
    assert OWN_MARGIN in flagged.margin("a").flags
    assert OWN_MARGIN not in plain.margin("a").flags
    assert any(OWN_MARGIN[:40] in line for line in crosstab_report(flagged, 0.95))
    assert not any(OWN_MARGIN[:40] in line for line in crosstab_report(plain, 0.95))
