"""Survey estimates against formulas of textbooks and at their edges; samples that tell the shares only together."""

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.estimates import JAR, estimate_of, likeliest

from maskwell import Categories, Sampling, SeededRandom
from maskwell import design as make_design
from maskwell.core.groups import Factor
from maskwell.core.report_data import Reports
from maskwell.core.row_sums import Cells
from maskwell.designs import Dense, Kronecker, Subset, Unary
from maskwell.errors import InputError, MaskwellError, NotIdentifiableError, ParameterError
from maskwell.estimation import ReplicateRule, Sample, estimate_samples, estimate_survey
from maskwell.estimation.sampling import recovery
from maskwell.estimation.sampling.report_shares import estimate_simple
from maskwell.estimation.sampling.weighted_survey import estimate_cells

WARNER = make_design("warner", p="7/10")
YES, NO = WARNER.outputs.labels
P = [[0.7, 0.1, 0.15], [0.2, 0.8, 0.15], [0.1, 0.1, 0.7]]
TWO = (np.repeat([0, 1], 6), np.arange(12) // 3)
PAIRS_OF_FOUR = Subset.from_gamma(3, Categories.numbered(4), size=2)


def answers(n: int, seed: int, share: float = 0.4) -> list[Any]:
    return [YES if x < share else NO for x in np.random.default_rng(seed).random(n)]


def recovered(reports: list[Any], p: float = 0.7) -> Real:
    return np.array([((z == YES) - (1 - p)) / (2 * p - 1) for z in reports])


def test_variances_alone_where_covariances_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of large tables must give the diagonal of the other one, for every kind of plan."""
    pair = Kronecker.of([Dense.of(P), Dense.of(P)])
    codes = np.random.default_rng(13).integers(0, 9, 80)
    strata, clusters = np.arange(80) % 2, np.arange(80) // 5
    weights, chances = np.random.default_rng(14).uniform(1, 3, 80), np.random.default_rng(15).uniform(0.1, 1, 80)
    plans = [
        Sampling(population=200),
        Sampling(weights=weights, strata=strata, clusters=clusters),
        Sampling(inclusion=chances, poisson=True),
        Sampling(inclusion=chances, method="hajek-deville"),
        Sampling(weights=weights, replicates=np.random.default_rng(16).uniform(0, 2, (80, 4)), replicate_method="brr"),
    ]
    reports = Reports(pair.fingerprint, pair.k, "codes", codes.astype(np.uint8))
    domain = np.arange(80) % 3
    full = [estimate_survey(reports, pair, plan, domains=domain) for plan in plans]
    monkeypatch.setattr(recovery, "COVARIANCE_LIMIT", 3)
    monkeypatch.setattr(recovery, "BLOCK", 64)
    for plan, one in zip(plans, full, strict=True):
        found = estimate_survey(reports, pair, plan, domains=domain)
        assert found.covariance is None and any("covariances are not computed" in flag for flag in found.flags)
        for a, b in ((found, one), (found.domains[1], one.domains[1])):
            assert a.pi_hat == pytest.approx(b.pi_hat, rel=1e-10)
            assert a.variance == pytest.approx(b.variance, rel=1e-9), plan
            assert a.total_variance == pytest.approx(b.total_variance, rel=1e-9)
            assert a.randomization_variance == pytest.approx(b.randomization_variance, rel=1e-9)


def test_sets_and_their_codes_agree() -> None:
    """A set of one category is a code: the same totals and cluster variances by either road."""
    sets = Unary.of("0.75", "0.25", Categories.numbered(3))
    truth = np.random.default_rng(18).integers(0, 3, 60)
    reports = sets.sample(truth, random=SeededRandom(1))
    weights, clusters = np.random.default_rng(19).uniform(1, 4, 60), np.arange(60) // 5
    found = estimate_survey(reports, sets, Sampling(weights=weights, clusters=clusters), domains=truth % 2)
    held = np.unpackbits(reports.data, axis=1, count=3, bitorder="little")
    u = (held - 0.25) / 0.5
    assert found.total == pytest.approx(weights @ u)
    share = (weights @ u) / weights.sum()
    e = weights[:, None] * (u - share) / weights.sum()
    t = np.array([e[clusters == c].sum(axis=0) for c in range(12)])
    assert found.covariance == pytest.approx(12 / 11 * (t - t.mean(axis=0)).T @ (t - t.mean(axis=0)))
    assert found.n == 60 and sum(one.n for one in found.domains.values()) == 60


STRATA = ["a"] * 5 + ["b"]


@pytest.mark.parametrize("more", [{}, {"clusters": [1, 2, 3, 4, 5, 6]}, {"population": {"a": 10, "b": 4}}])
def test_a_single_unit_is_refused_unless_an_option_says_what_to_do(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"only one (row|cluster) was drawn in a stratum") as raised:
        estimate_survey(answers(6, 24), WARNER, Sampling(strata=STRATA, **more))
    assert "certainty" in raised.value.hint
    certain = estimate_survey(answers(6, 24), WARNER, Sampling(strata=STRATA, lonely="certainty", **more))
    centred = estimate_survey(answers(6, 24), WARNER, Sampling(strata=STRATA, lonely="centre", **more))
    assert np.isfinite(certain.variance).all() and np.isfinite(centred.variance).all()


def test_single_units_few_clusters_and_functions_of_totals() -> None:
    reports = [YES, NO, YES, NO, YES, NO]
    u = recovered(reports)
    found = estimate_survey(reports, WARNER, Sampling(strata=STRATA, lonely="centre"))
    expected = 5 / 4 * ((u[:5] - u[:5].mean()) ** 2).sum() + (u[5] - u.mean()) ** 2
    assert found.total_variance[0] == pytest.approx(expected)
    kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])  # the middle report counts for a half
    found = estimate_survey([1, 1, 1, 1], kuk, Sampling(population=4))
    assert (found.variance < 0).all() and np.isnan(found.standard_error).all()
    assert any("with-replacement" in flag for flag in found.flags)
    safe = estimate_survey([1, 1, 1, 1], kuk, Sampling(population=4, method="with-replacement"))
    assert (safe.variance >= 0).all()
    found = estimate_survey(answers(60, 25), WARNER, Sampling(population=300))
    ratio = found.function(lambda t: t[0] / t.sum())
    assert ratio.value == pytest.approx(found.pi_hat[0])
    assert ratio.standard_error == pytest.approx(found.standard_error[0], rel=1e-6)
    exact = found.function(lambda t: float(t[0] - t[1]), lambda _: np.array([1.0, -1.0]))
    assert exact.standard_error == pytest.approx(2 * found.total_standard_error[0])
    found = estimate_survey(answers(40, 26), WARNER, Sampling(clusters=np.arange(40) // 10))
    low, high = found.confidence_interval(method="wald")[0]
    assert (high - low) / 2 == pytest.approx(3.182446 * found.standard_error[0], rel=1e-6)
    assert found.default_interval == "score"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate_survey([0, 1], Dense.of([["0.5", "0.5"]] * 2), Sampling()), "cannot be estimated"),
        (
            lambda: estimate_survey([0, 1, 2], Dense.of([["0.7", "0.3"], ["0.3", "0.7"], [0, 0]]), Sampling()),
            "impossible",
        ),
        (lambda: estimate_survey(["1100", "1110"], PAIRS_OF_FOUR, Sampling()), "exactly 2"),
        (lambda: estimate_survey([YES, "perhaps"], WARNER, Sampling()), "perhaps|1 of 2"),
        (lambda: estimate_cells(Cells.of([0, 2]), WARNER), r"report code 2 is not within 0\.\.1"),
        (
            lambda: estimate_cells(Cells.of(np.zeros(0, dtype=int)), WARNER),
            "at least one report is needed for an estimate",
        ),
        (
            lambda: estimate_survey(answers(12, 31), WARNER, Sampling(clusters=TWO, population=10)),
            "the weights cannot be computed: the population of stage 2 is missing",
        ),
    ],
)
def test_reports_and_designs_that_cannot_be(call: Any, words: str) -> None:
    with pytest.raises(MaskwellError, match=words):
        call()


def test_a_second_stage_of_unknown_population_is_taken_as_drawn_with_replacement() -> None:
    reports = answers(12, 31)
    found = estimate_survey(reports, WARNER, Sampling(weights=[5] * 12, clusters=TWO, population=10))
    t1, t2 = (np.array([5 * recovered(reports)[level == c].sum() for c in np.unique(level)]) for level in TWO)
    between = (1 - 2 / 10) * 2 / 1 * ((t1 - t1.mean()) ** 2).sum()
    within = 2 / 10 * sum(2 / 1 * ((pair - pair.mean()) ** 2).sum() for pair in (t2[:2], t2[2:]))
    assert found.total_variance[0] == pytest.approx(between + within)


def test_hajek_and_deville_also_with_units_that_were_sure_to_be_drawn() -> None:
    reports, chances = answers(30, 5), np.random.default_rng(5).uniform(0.1, 0.9, 30)
    u, w = recovered(reports), 1 / chances
    c = (1 - chances) * 30 / 29
    middle = (c * w * u).sum() / c.sum()
    expected = (c * (w * u - middle) ** 2).sum() + (w * (u**2 - u)).sum()
    found = estimate_survey(reports, WARNER, Sampling(inclusion=chances, method="hajek-deville"))
    assert found.total_variance[0] == pytest.approx(expected, rel=1e-12)
    same = estimate_survey(reports, WARNER, Sampling(inclusion=np.full(30, 0.25), method="hajek-deville"))
    simple = estimate_survey(reports, WARNER, Sampling(population=120))
    assert same.total_covariance == pytest.approx(simple.total_covariance, rel=1e-12)
    # Hajek and Deville: a stratum of certain units has no spread, only its randomization.
    reports, chances = [YES, NO, YES, NO, YES], [0.5, 0.25, 0.5, 1.0, 1.0]
    plan = Sampling(inclusion=chances, strata=["a", "a", "a", "b", "b"], method="hajek-deville")
    u = recovered(reports)
    own = estimate_survey(reports[:3], WARNER, Sampling(inclusion=chances[:3], method="hajek-deville"))
    found = estimate_survey(reports, WARNER, plan)
    assert found.total_variance[0] == pytest.approx(own.total_variance[0] + (u[3:] ** 2 - u[3:]).sum())
    lone = Sampling(inclusion=chances[:4], strata=["a", "a", "a", "b"], method="hajek-deville")
    assert np.isfinite(estimate_survey(reports[:4], WARNER, lone).variance).all()


def test_domains_are_counted_by_their_rows_and_may_be_empty() -> None:
    found = estimate_survey(answers(10, 30), WARNER, Sampling(), domains=[0] * 10)
    assert list(found.domains) == [0] and not estimate_survey(answers(10, 30), WARNER, Sampling()).domains
    strata, clusters = [0] * 6 + [1] * 6, [0, 0, 1, 1, 2, 2] * 2
    north = ["n"] * 6 + ["s", "n"] * 3
    found = estimate_survey([YES, NO] * 6, WARNER, Sampling(strata=strata, clusters=clusters), domains=north)
    assert found.degrees_of_freedom == 4
    assert [found.domains[label].degrees_of_freedom for label in "ns"] == [4, 2]  # "s": three clusters of one stratum
    domain = Factor.from_codes(np.zeros(20, dtype=int), ["here", "nowhere"])
    codes = WARNER.outputs.encode(answers(20, 22)).codes
    found = estimate_cells(Cells.of(codes, domain=domain), WARNER).domains["nowhere"]
    assert np.isnan(found.pi_hat).all() and found.n == 0 and "this domain has no rows" in found.flags[0]
    assert json.dumps(found.to_dict()) and "NaN" not in json.dumps(found.to_dict())


PAIRS = {1: make_design("simmons", p="3/4"), 2: make_design("simmons", p="1/4")}
COUNTS = ([200, 400], [140, 260])
REPORTS = ["yes"] * 200 + ["no"] * 400 + ["yes"] * 140 + ["no"] * 260
GROUP = np.repeat([1, 2], [600, 400])


def plainly() -> Any:
    return estimate_samples([Sample.of(n, design) for n, design in zip(COUNTS, PAIRS.values(), strict=True)])


def surveyed(plan: Sampling, **more: Any) -> Any:
    return estimate_survey(REPORTS, PAIRS, plan, samples=GROUP, **more)


def test_the_estimate_is_unbiased_over_all_reports() -> None:
    truth = [("yes", "yes"), ("no", "yes"), ("no", "no")] * 2  # the same in both samples
    w, group = [1.0, 2.0, 1.5] * 2, ["a"] * 3 + ["b"] * 3
    designs = dict(zip("ab", PAIRS.values(), strict=True))
    chance = [designs[g].matrix()[:, designs[g].inputs.code(t)] for g, t in zip(group, truth, strict=True)]
    mean = np.zeros(4)
    for codes in product([0, 1], repeat=6):
        labels = [designs["a"].outputs.labels[code] for code in codes]
        found = estimate_survey(labels, designs, Sampling(weights=w), samples=group)
        mean += float(np.prod([p[code] for p, code in zip(chance, codes, strict=True)])) * found.pi_hat
    assert mean == pytest.approx([1 / 4.5, 3.5 / 4.5, 3 / 4.5, 1.5 / 4.5])


def test_strata_a_jackknife_and_spare_reports_agree_with_counts() -> None:
    found, counts = surveyed(Sampling(strata=GROUP, weights=np.full(1000, 3.0))), plainly()
    assert found.categories == counts.categories and found.pi_hat == pytest.approx(counts.pi_hat)
    assert found.covariance == pytest.approx(counts.covariance)
    assert found.total == pytest.approx(3000 * counts.pi_hat)
    assert found.total_covariance == pytest.approx(3000**2 * counts.covariance)  # strata fix the sum of the weights
    rows = [0, 1, 0, 1, 1, 0, 0, 1, 1, 1]
    group = np.repeat(["a", "b"], 5)
    designs = dict(zip("ab", PAIRS.values(), strict=True))
    labels = ["yes" if row == 0 else "no" for row in rows]
    left = np.ones((10, 10)) + (group[:, None] == group) / 4
    np.fill_diagonal(left, 0)
    rule = ReplicateRule("jkn", strata=tuple(group))
    jackknife = estimate_survey(labels, designs, Sampling(replicates=left, replicate_method=rule), samples=group)
    strata = estimate_survey(labels, designs, Sampling(strata=group), samples=group)
    assert jackknife.covariance == pytest.approx(strata.covariance) and jackknife.degrees_of_freedom == 8
    columns = [[["0.6", "0.2", "0.2"], ["0.4", "0.8", "0.8"]], [["0.1", "0.7", "0.2"], ["0.9", "0.3", "0.8"]]]
    columns.append([["0.3", "0.3", "0.9"], ["0.7", "0.7", "0.1"]])
    designs = {g: Dense.of(one) for g, one in enumerate(columns)}
    counts = [[150, 350], [250, 350], [230, 170]]
    plain = estimate_samples([Sample.of(n, d) for n, d in zip(counts, designs.values(), strict=True)])
    codes = [code for pair in counts for code, n in enumerate(pair) for _ in range(n)]
    group = np.repeat([0, 1, 2], [500, 600, 400])
    found = estimate_survey(codes, designs, Sampling(strata=group), samples=group)
    assert found.pi_hat == pytest.approx(plain.pi_hat) and found.covariance == pytest.approx(plain.covariance)
    assert "two steps" in found.flags[0]


@pytest.mark.parametrize(
    "plan",
    [
        Sampling(population=5000),
        Sampling(inclusion=np.full(1000, 0.5), poisson=True),
        Sampling(strata=[0] + [1] * 999, lonely="certainty"),
    ],
)
def test_plans_that_need_the_randomization_correction_are_refused(plan: Sampling) -> None:
    with pytest.raises(ParameterError, match="never too small"):
        surveyed(plan)


COIN, OTHER = (Dense.of([[p, 1 - p], [1 - p, p]]) for p in (Fraction(7, 10), Fraction(4, 5)))


def test_whole_and_domains_are_plain_estimates_with_their_totals() -> None:
    cells = Cells.of([0, 1, 0, 1], count=[60, 90, 30, 120], domain=["f", "f", "m", "m"])
    for method, alone in (("moments", estimate_of), ("ml", likeliest)):
        found = estimate_simple(cells, [COIN], method=method)
        for one, counts in ((found, [90, 210]), (found.domains["f"], [60, 90]), (found.domains["m"], [30, 120])):
            plain = alone(counts, COIN)
            assert one.pi_hat == pytest.approx(plain.pi_hat)
            assert one.standard_error == pytest.approx(plain.standard_error, nan_ok=True)
            assert one.default_interval == plain.default_interval
            for interval in ("exact", "score", None):
                ends = plain.confidence_interval(0.9, interval)
                assert one.confidence_interval(0.9, interval) == pytest.approx(ends, nan_ok=True)
    rng = np.random.default_rng(5)
    cells = Cells.of(rng.integers(0, 3, 400), domain=rng.integers(0, 3, 400).tolist())
    found, survey = estimate_simple(cells, [JAR]), estimate_cells(cells, JAR)
    assert found.total_covariance == pytest.approx(survey.total_covariance)
    for label, one in found.domains.items():
        assert one.total == pytest.approx(survey.domains[label].total)
        assert one.total_covariance == pytest.approx(survey.domains[label].total_covariance)


def test_domains_samples_and_denominators_that_tell_too_little_say_so() -> None:
    with pytest.raises(ParameterError, match="leave it out"):
        surveyed(Sampling(weights=np.ones(1000)), denominator=2000)
    with pytest.raises(NotIdentifiableError):
        estimate_survey(REPORTS, {1: PAIRS[1], 2: PAIRS[1]}, Sampling(), samples=GROUP)
    found = surveyed(Sampling(), domains=np.where(np.arange(1000) < 300, "first", "rest"))
    assert (
        np.isnan(found.domains["first"].pi_hat).all()
        and "an estimate is not available" in found.domains["first"].flags[0]
    )
    assert np.isfinite(found.domains["rest"].pi_hat).all()
    labels, group = ["yes"] * 3 + ["no"] * 3, [1] * 3 + [2] * 3
    found = estimate_survey(labels, PAIRS, Sampling(), samples=group)
    assert found.pi_hat[0] == pytest.approx(1.5) and any("do not truncate them" in flag for flag in found.flags)
    assert not any("do not fit" in flag for flag in found.flags)
    found = estimate_simple(Cells.of([0, 1, 0], domain=["f", "f", "m"]), [COIN])
    assert np.isnan(found.domains["m"].pi_hat).all() and "too few" in found.domains["m"].flags[0]
    assert found.domains["m"].n == 1
