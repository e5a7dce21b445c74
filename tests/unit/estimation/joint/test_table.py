"""Tables against the Kronecker product written out, and their margins against single variables."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.estimates import estimate_of

import maskwell as mw
from maskwell.errors import TooLargeError
from maskwell.estimation import Sample, cross_tabulate_counts, estimate_samples, estimate_survey
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.summed_shares import OWN_MARGIN, margin_of, wanted_margin
from maskwell.reports.text.crosstab_report import crosstab_report

WARNER = mw.design("warner", p="4/5")
THREE = mw.designs.Dense.of(
    [["4/5", "1/5", "1/5"], ["1/10", "7/10", "1/10"], ["1/10", "1/10", "7/10"]], mw.Categories.of(["a", "b", "c"])
)
KUK = mw.design("kuk", theta1="7/10", theta2="1/5", draws=3)
SEX = mw.designs.Uniform.of(1, mw.Categories.of(["f", "m"]))
SHARED = mw.designs.Dense.of(
    [[".7", 0, 0, ".3"], [0, ".7", ".3", 0], [0, ".3", ".7", 0], [".3", 0, 0, ".7"]],
    mw.Categories.of([(a, b) for a in ("yes", "no") for b in ("yes", "no")]),
)


def _counts(shape, seed=1):
    return np.random.default_rng(seed).integers(5, 90, size=shape)


def test_margins_are_estimates_alone_and_variables_may_be_taken_in_any_order():
    x, designs = _counts((2, 3, 4)), {"a": WARNER, "b": THREE, "c": KUK}
    table = cross_tabulate_counts(x, designs)
    for axis, (name, design) in enumerate(designs.items()):
        others = tuple(other for other in range(3) if other != axis)
        alone, margin = estimate_of(x.sum(axis=others), design), table.margin(name)
        assert np.array_equal(margin.pi_hat, alone.pi_hat)
        assert np.array_equal(margin.covariance, alone.covariance)
        assert np.allclose(table.pi_hat.sum(axis=others), alone.pi_hat)
    table = cross_tabulate_counts(_counts((2, 3, 2)), {"a": WARNER, "b": THREE, "sex": SEX})
    turned = table.collapse_to("sex", "a")
    assert turned.names == ("sex", "a") and np.allclose(turned.pi_hat, table.pi_hat.sum(axis=1).T)
    sums = np.einsum("abcdef->cafd", table.estimate.covariance.reshape(2, 3, 2, 2, 3, 2)).reshape(4, 4)
    assert np.allclose(turned.estimate.covariance, sums)


def test_results_for_people_and_programs_also_of_a_million_cells():
    """Twenty yes-or-no questions: moments with standard errors, margins and conditional shares, no covariances."""
    x = np.random.default_rng(5).poisson(1.0, size=(2,) * 20)
    table = cross_tabulate_counts(x, {f"q{i}": WARNER for i in range(20)})
    assert table.estimate.covariance is None and np.isfinite(table.standard_error).all()
    pair = table.collapse_to("q3", "q17")
    assert np.allclose(pair.pi_hat, table.pi_hat.sum(axis=tuple(i for i in range(20) if i not in (3, 17))))
    with pytest.raises(TooLargeError, match="cells were not computed"):
        table.difference({f"q{i}": "yes" for i in range(1, 20)}, given="q0", between=("yes", "no"))
    assert "more cells" in repr(table)
    pytest.importorskip("pandas")
    table = cross_tabulate_counts([[60, 140], [100, 200]], {"smokes": WARNER, "drinks": WARNER})
    assert table.cell(smokes="no", drinks="yes") == (table.pi_hat[1, 0], table.standard_error[1, 0])
    content = table.to_dict()
    assert content["variables"] == ["smokes", "drinks"] and content["shape"] == [2, 2]
    assert content["estimates"][1]["category"] == ["yes", "no"]
    frame = table.to_frame()
    assert frame.index.names == ["smokes", "drinks"]
    assert frame.loc[("yes", "no"), "estimate"] == pytest.approx(table.pi_hat[0, 1])
    assert repr(table).splitlines()[0].startswith("Table of smokes x drinks by moments from n = 500 reports")


def test_variables_that_share_a_device():
    table = cross_tabulate_counts(_counts((2, 2, 2)), {("smokes", "drinks"): SHARED, "sex": SEX})
    assert table.names == ("smokes", "drinks", "sex") and table.layout.shares_devices()
    both = table.collapse_to("smokes", "drinks")
    assert np.allclose(both.pi_hat, table.pi_hat.sum(axis=2)) and both.observed is not None
    assert np.allclose(table.margin("smokes").pi_hat, table.pi_hat.sum(axis=(1, 2)))
    assert table.collapse_to("drinks", "sex").observed is None
    assert table.independence("smokes", "sex", method="wald").degrees_of_freedom == 1


def test_a_weighted_table():
    """Equal weights give the shares of the plain table; margins carry totals, and the test is that of Rao and Scott."""
    rng = np.random.default_rng(8)
    columns = {name: rng.choice(["yes", "no"], 600).tolist() for name in ("smokes", "drinks")}
    designs = {"smokes": WARNER, "drinks": WARNER}
    plain = mw.tabulate(columns, designs)
    weighted = mw.tabulate(columns, designs, mw.Sampling(weights=np.full(600, 50.0)))
    assert np.allclose(weighted.pi_hat, plain.pi_hat)
    assert np.allclose(weighted.standard_error, plain.standard_error, rtol=0.01)
    margin = weighted.margin("smokes")
    assert np.allclose(margin.pi_hat, plain.margin("smokes").pi_hat)
    assert margin.total.sum() == pytest.approx(30000)
    assert np.allclose(margin.total_standard_error, 30000 * margin.standard_error, rtol=0.01)
    test, expected = weighted.independence(), plain.independence()
    assert test.method == "rao-scott" and test.p_value == pytest.approx(expected.p_value, abs=0.01)
    clusters = mw.Sampling(weights=rng.uniform(1, 3, 600), clusters=np.repeat(np.arange(30), 20))
    clustered = mw.tabulate(columns, designs, clusters)
    assert clustered.independence().denominator == pytest.approx(29)
    assert clustered.independence(method="wald").denominator == 29
    assert clustered.odds_ratio().interval_method == "wald"


def test_margins_carry_their_covariance_or_say_when_cells_sum_to_others():
    """Without the counts behind it an estimate is summed cell by cell; the parts of its variance are then not known."""
    table = cross_tabulate_counts(_counts((2, 3)), {"a": WARNER, "b": THREE})
    got, known = mw.estimation.Table(replace(table.estimate, basis=()), table.layout).margin("b"), table.margin("b")
    assert np.allclose(got.pi_hat, known.pi_hat) and np.allclose(got.covariance, known.covariance)
    assert np.isnan(got.randomization_variance).all() and any("not separated" in flag for flag in got.flags)
    assert list(got.categories) == list(known.categories)
    designs = {"a": WARNER, "b": WARNER}
    flagged, plain = (cross_tabulate_counts([[4, 1], [1, 9]], designs, method=one) for one in ("ml", "moments"))
    assert abs(flagged.margin("a").pi_hat - flagged.pi_hat.sum(axis=1)).max() > 1e-3
    assert OWN_MARGIN in flagged.margin("a").flags and OWN_MARGIN not in plain.margin("a").flags
    assert any(OWN_MARGIN[:40] in line for line in crosstab_report(flagged, 0.95))
    assert not any(OWN_MARGIN[:40] in line for line in crosstab_report(plain, 0.95))


COIN, DIE = mw.design("warner", p="0.7"), mw.design("warner", p="0.8")
BOTH, TWICE = mw.designs.Kronecker.of([COIN, DIE]), mw.design("simmons-twice", p1="0.6", p2="0.7")
REPORTS = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
COUNTS = np.array([[30, 50], [70, 150]])


@pytest.mark.parametrize(("place", "design"), [(0, COIN), (1, DIE)])
def test_the_margin_of_a_product_is_the_estimate_of_the_margin(place: int, design: mw.Design) -> None:
    found, alone = margin_of(estimate_of(COUNTS.ravel(), BOTH), place), estimate_of(COUNTS.sum(axis=1 - place), design)
    assert found.categories == ("yes", "no")
    for name in ("pi_hat", "variance", "covariance", "sampling_variance", "randomization_variance"):
        assert getattr(found, name) == pytest.approx(getattr(alone, name), abs=1e-14), name


def test_wanted_answers_totals_and_domains_are_summed() -> None:
    p1, p2 = 0.6, 0.7
    codes = np.random.default_rng(5).choice(4, size=200, p=[0.2, 0.1, 0.15, 0.55])
    first, second = (codes < 2).astype(float), (codes % 2 == 0).astype(float)
    score = ((1 - p2) * first - (1 - p1) * second) / (p1 - p2)
    told = wanted_margin(estimate_of(np.bincount(codes, minlength=4), TWICE), TWICE)
    assert told[0] == "own answer" and told[1].pi_hat[0] == pytest.approx(score.mean())
    assert told[1].standard_error[0] == pytest.approx(score.std(ddof=1) / np.sqrt(200))
    assert wanted_margin(estimate_of([30, 70], COIN), COIN) is None
    reports = [REPORTS[code] for code in np.random.default_rng(5).choice(4, size=60)]
    plan = mw.Sampling(weights=np.repeat([2.0, 3.0], 30))
    whole = estimate_survey(reports, TWICE, plan, domains=np.repeat(["a", "b"], 30))
    found = margin_of(whole, 0)
    assert isinstance(found, SurveyEstimate)
    assert found.total == pytest.approx([whole.total[:2].sum(), whole.total[2:].sum()])
    assert found.total_variance[0] == pytest.approx(whole.total_covariance[:2, :2].sum())  # type: ignore[index]
    assert found.domains["a"].pi_hat[0] == pytest.approx(whole.domains["a"].pi_hat[:2].sum())


def test_the_wanted_answer_of_two_samples_is_one_of_the_margins() -> None:
    designs = {1: mw.design("simmons", p="3/4"), 2: mw.design("simmons", p="1/4")}
    counts = ([200, 400], [140, 260])
    plain = estimate_samples([Sample.of(n, d) for n, d in zip(counts, designs.values(), strict=True)])
    told = wanted_margin(plain, designs[1])
    assert (told[0], tuple(told[1].categories)) == ("own answer", ("yes", "no"))
    assert told[1].pi_hat == pytest.approx(plain.pi_hat[:2])
    assert told[1].variance == pytest.approx(plain.variance[:2])
    group, sex = [1, 1, 2, 2] * 10, ["f"] * 20 + ["m"] * 20
    survey = estimate_survey(["yes", "no"] * 20, designs, mw.Sampling(), samples=group, domains=sex)
    told = wanted_margin(survey, designs[1])
    women = told[1].domains["f"]  # type: ignore[attr-defined]
    assert women.pi_hat == pytest.approx(survey.domains["f"].pi_hat[:2])
    assert women.total_variance == pytest.approx(survey.domains["f"].total_variance[:2])


@pytest.mark.parametrize("ulps", [-4, 0, 4])
def test_margins_of_exactly_0_and_1_are_not_called_outside(ulps: int) -> None:
    """Of 300 reports 90 are yes by chance alone."""
    joint = estimate_of([40, 50, 100, 110], BOTH)
    moved = replace(joint, pi_hat=joint.pi_hat + ulps * np.spacing(1.0), basis=())
    margin = margin_of(moved, 0)
    assert sorted(abs(margin.pi_hat.round(12))) == [0, 1] and margin.flags == ()
    farther = margin_of(replace(moved, pi_hat=joint.pi_hat - 1e-6), 0)
    assert any("outside" in flag for flag in farther.flags)
