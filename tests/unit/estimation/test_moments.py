"""Moment estimates: unbiased by enumeration, honest flags, the fit of the design; and left inverses, certified."""

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.support.arrays import Real
from tests.support.estimates import JAR, KUK, WARNER, estimate_of

from maskwell import Categories, Counts
from maskwell import design as make_design
from maskwell.designs import Dense, Kronecker, LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import NotIdentifiableError
from maskwell.estimation import LeftInverse, Sample, estimate_by_moments, goodness_of_fit
from maskwell.estimation.moments import GoodnessOfFit

KARY = Uniform.from_gamma(5, Categories.of([0, 1, 5]))


def _statistic(design: Any, report: Any) -> Any:
    if design.reports_are_sets:
        return np.unpackbits(report, count=design.k, bitorder="little").astype(int)
    return np.eye(design.m, dtype=int)[report]


@pytest.mark.parametrize(
    "design",
    [
        JAR,
        Dense.of([["0.5", "0.25"], ["0.25", "0.25"], ["0.25", "0.5"]]),
        Uniform.from_gamma(3, Categories.numbered(3)),
        Subset.from_gamma(2, Categories.numbered(4), size=2),
        LocalDiversity.of(2, Categories.numbered(3)),
        Unary.oue_from_gamma(3, Categories.numbered(2)),
    ],
    ids=lambda d: f"{d.kind}-{d.m}x{d.k}",
)
def test_estimates_and_variances_are_unbiased_over_all_samples_of_three(design: Any) -> None:
    pi = np.arange(1, design.k + 1) / np.arange(1, design.k + 1).sum()
    lam, space, n = design.matrix() @ pi, design.report_space(), 3
    mean, total, randomization = np.zeros(design.k), np.zeros((design.k, design.k)), np.zeros(design.k)
    for sample in product(range(design.m), repeat=n):
        chance = lam[list(sample)].prod()
        counts = sum(_statistic(design, space[i]) for i in sample)
        result = estimate_by_moments(Counts(counts, n, design.fingerprint), design)
        mean += chance * result.pi_hat
        total += chance * result.covariance
        randomization += chance * result.randomization_variance
        assert np.allclose(result.variance, np.diag(result.covariance))
        assert np.allclose(result.sampling_variance + result.randomization_variance, result.variance)
    whole = design.covariance(pi) / n
    assert np.allclose(mean, pi, atol=1e-12) and np.allclose(total, whole, atol=1e-12)
    assert np.allclose(randomization, np.diag(whole) - pi * (1 - pi) / n, atol=1e-12)


def test_flags_only_where_there_is_something_to_say() -> None:
    """Warner with p = 0.7 and not one yes in three hundred: the yes rate cannot be below 0.3; of three reports it can.

    Small variances of very many reports are not zero.
    """
    misfit, zero = "do not fit the design", "standard error is zero"
    sets = Subset.from_gamma(9, Categories.numbered(4), size=1)
    alike = estimate_by_moments(Counts(np.array([2000, 0, 0, 0]), 2000, sets.fingerprint), sets)
    open_ = estimate_of([10**3, 10**8, 10**8], Uniform.of(1, Categories.numbered(3)))
    assert 0 < open_.variance[0] < 1e-12
    cases = [
        (estimate_of([120, 180], WARNER), []),
        (open_, []),
        (estimate_of([0, 300], WARNER), [misfit, zero]),
        (estimate_of([0, 3], WARNER), [zero, "do not truncate"]),
        (alike, [misfit]),
    ]
    for found, said in cases:
        assert all(any(words in flag for flag in found.flags) for words in said), found.flags
        assert said or found.flags == ()
        assert any(misfit in flag for flag in found.flags) is (misfit in said)
        assert any("do not truncate" in flag for flag in found.flags) is ("do not truncate" in said)


def test_contrasts_and_means_use_the_whole_covariance() -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    c = np.array([1.0, -1.0, 0.5])
    found = estimate.contrast(c)
    assert found.value == pytest.approx(float(c @ estimate.pi_hat))
    assert found.standard_error == pytest.approx(float(np.sqrt(c @ estimate.covariance @ c)))
    assert estimate.contrast([1, 1, 1]) == pytest.approx((1, 0), abs=1e-8)
    assert estimate.mean() == estimate.contrast([0, 1, 5]) == estimate.mean([0, 1, 5])
    assert estimate_of([120, 180], WARNER).mean([1, 0]).value == pytest.approx(0.25)


def fit(counts: Sequence[int], design: Dense, **options: int) -> GoodnessOfFit:
    return goodness_of_fit(Sample.of(counts, design).counts, design, **options)


def test_which_law_the_fit_refers_to_also_at_the_boundary() -> None:
    found = fit([5, 60, 35], JAR)
    assert np.isnan(found.p_likelihood_ratio) and "give a seed" in found.flags[0]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["p_pearson"] is None
    assert "no p value" in repr(found)
    drawn, again = (fit([5, 60, 35], JAR, seed=1, replicates=400) for _ in range(2))
    assert (drawn.reference, drawn.replicates) == ("parametric bootstrap", 400)
    assert 1 / 401 <= drawn.p_likelihood_ratio < 0.05 and again.p_likelihood_ratio == drawn.p_likelihood_ratio
    found = fit([120, 180], WARNER)
    assert (found.likelihood_ratio, found.p_likelihood_ratio, found.degrees_of_freedom) == (0, 1, 0)
    assert (
        "one sample with as many reports as categories reveals cheating only if an estimate leaves its range"
        in found.flags[0]
    )
    low, high = fit([80, 320], WARNER), fit([320, 80], WARNER)
    assert low.reference == "half chi-square at the boundary"
    np.testing.assert_allclose(low.likelihood_ratio, high.likelihood_ratio)
    np.testing.assert_allclose(low.likelihood_ratio, 2 * (80 * np.log(0.2 / 0.3) + 320 * np.log(0.8 / 0.7)))
    one_side = NormalDist().cdf(-np.sqrt(low.likelihood_ratio))
    np.testing.assert_allclose(low.p_likelihood_ratio, one_side, rtol=1e-9)
    holes = Dense.of([["1/2", "1/8"], [0, 0], ["1/4", "1/4"], ["1/4", "5/8"]], outputs=Categories.numbered(4))
    assert fit([30, 0, 30, 40], holes).degrees_of_freedom == 1


def test_outside_estimates_are_kept_flagged_and_tested() -> None:
    result = estimate_of([5, 60, 35], JAR)
    assert result.pi_hat[0] == pytest.approx(-0.1180555555555)
    assert any("outside" in flag for flag in result.flags)
    assert any("estimate is negative" in flag for flag in result.flags)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "note:" in repr(result)
    doubtful, harmless = estimate_of([12, 620, 368], JAR), estimate_of([28, 72], WARNER)
    assert any("boundary test: p is at most" in f and "not followed" in f for f in doubtful.flags)
    assert harmless.pi_hat[0] < 0
    (said,) = [flag for flag in harmless.flags if "boundary test" in flag]
    assert "not followed" not in said
    assert not any("boundary" in flag for flag in estimate_of([120, 180], WARNER).flags)


def test_sparse_reports_have_no_chi_square_law() -> None:
    """With 200 kinds of reports and 30 of them, right reports had p below 0.05 in 17 of 100 cases."""
    generator = np.random.default_rng(2)
    weights = generator.integers(1, 30, (200, 2))
    totals = [int(total) for total in weights.sum(axis=0)]
    design = Dense.of([[Fraction(int(x), n) for x, n in zip(row, totals, strict=True)] for row in weights])
    counts = generator.multinomial(30, design.apply(np.array([0.5, 0.5])))
    found = fit(counts, design)
    assert np.isnan(found.p_pearson)
    assert any("too few of some reports are expected" in flag for flag in found.flags)
    by_bootstrap = fit(counts, design, seed=1, replicates=60)
    assert by_bootstrap.reference == "parametric bootstrap" and by_bootstrap.p_pearson > 0.01
    many = generator.multinomial(20_000, design.apply(np.array([0.5, 0.5])))
    assert fit(many, design).reference == "chi-square"


def test_many_rare_categories_are_no_misfit_and_five_expected_reports_are_not_sparse() -> None:
    """Among a thousand categories some are seen twice where ten reports are expected by chance alone."""
    design = Uniform.from_gamma(20, Categories.numbered(1000))
    counts = np.random.default_rng(1).multinomial(10_000, design.apply(np.r_[np.full(100, 0.01), np.zeros(900)]))
    result = estimate_of(counts, design)
    assert (result.pi_hat < -4 * result.standard_error).any()
    assert not any("do not fit the design" in flag for flag in result.flags)
    # Both categories are as frequent, so that each of five reports is expected five times; floats are off by a bit.
    steps = [Fraction(i, 20) for i in range(1, 8)]
    rows = [(*four, 1 - sum(four)) for four in combinations_with_replacement(steps, 4)]
    rows = [one for one in rows if Fraction(1, 20) <= one[-1] <= Fraction(7, 20) and len(set(one)) > 1]
    assert len(rows) > 50
    for row in rows:
        design = Dense.of([[p, Fraction(2, 5) - p] for p in row])
        found = fit([5] * 5, design)
        assert (found.reference, round(found.p_pearson, 9)) == ("chi-square", 1), row
    assert np.isnan(fit([4] * 5, design).p_pearson)


TALL = Dense.of(
    [["0.5", "0.1", "0.1"], ["0.2", "0.4", "0.1"], ["0.1", "0.2", "0.2"], ["0.1", "0.2", "0.1"], ["0.1", "0.1", "0.5"]]
)
TABLE = Kronecker.of([KUK, Uniform.from_gamma(3, Categories.numbered(2))])


@pytest.mark.parametrize("design", [KUK, TALL, TABLE], ids=["kuk", "tall", "table"])
def test_all_are_left_inverses_that_keep_the_sum(design: Dense) -> None:
    total = LeftInverse.minimax(design, criterion="total")
    for inverse in (LeftInverse.best(design), LeftInverse.minimax(design), total):
        np.testing.assert_allclose(inverse.L @ design.matrix(), np.eye(design.k), atol=1e-9)
        np.testing.assert_allclose(inverse.L.sum(axis=0), 1, atol=1e-9)


def test_the_best_reaches_the_information_bound_at_its_guess_and_no_other_does() -> None:
    pi = np.array([0.6, 0.3, 0.1])
    bound = np.linalg.inv(TALL.matrix().T @ np.diag(1 / TALL.apply(pi)) @ TALL.matrix())
    best = LeftInverse.best(TALL, pi).covariance(pi, TALL)
    np.testing.assert_allclose(best, bound - np.outer(pi, pi), atol=1e-12)
    other = LeftInverse.best(TALL, [0.1, 0.1, 0.8]).covariance(pi, TALL)
    assert np.linalg.eigvalsh(other - best).min() > -1e-12 and np.trace(other) > np.trace(best)


def _worst(L: Real, P: Real, criterion: str) -> float:
    """The largest summed variance over all shares, by corners or by a fine grid."""
    tau = P.T @ (L**2).sum(axis=0)
    if criterion == "randomization":
        return float(tau.max() - 1)
    grid = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    return float((grid @ tau - (grid**2).sum(axis=1)).max())


@pytest.mark.parametrize("criterion", ["randomization", "total"])
def test_no_other_left_inverse_does_better_in_its_worst_case(criterion: str) -> None:
    """A direct search over all left inverses, L + W N with N P = 0, agrees with the saddle point."""
    P, found = TALL.matrix(), LeftInverse.minimax(TALL, criterion=criterion)
    assert found.value == pytest.approx(_worst(found.L, P, criterion), abs=2e-4)
    null = np.linalg.svd(P.T)[2][3:]
    search = minimize(
        lambda w: _worst(found.L + w.reshape(3, 2) @ null, P, criterion), np.full(6, 0.05), method="Nelder-Mead"
    )
    assert search.fun >= found.value - 2e-4


def test_scores_recover_the_truth_and_estimates_say_which_inverse_made_them() -> None:
    for scores in ([0, 1, 2, 3], [3, 1, 4, 1]):
        L = LeftInverse.of_scores(KUK, scores).L
        np.testing.assert_allclose(L @ KUK.matrix(), np.eye(2), atol=1e-12)
        np.testing.assert_allclose(LeftInverse.of_scores(KUK, 7 - 2 * np.array(scores)).L, L)
    sure = Dense.of([["1/2", 0], ["1/2", "1/2"], [0, "1/2"]])
    np.testing.assert_allclose(LeftInverse.best(sure, [1, 0]).L @ sure.matrix(), np.eye(2), atol=1e-12)
    never = Dense.of([["0.7", "0.3"], [0, 0], ["0.3", "0.7"]])
    np.testing.assert_allclose(LeftInverse.best(never, [0.2, 0.8]).L[0], [1.75, 0, -0.75], atol=1e-12)
    with pytest.raises(
        NotIdentifiableError, match="the reports that can occur at these shares do not identify all shares"
    ):
        LeftInverse.best(Dense.of([["1/2", 0], ["1/2", 0], [0, 1]]), [1, 0])
    by_mean = LeftInverse.of_scores(KUK, range(4))
    names = {"": None, "-gls": LeftInverse.best(KUK), "-minimax": LeftInverse.minimax(KUK), "-scores": by_mean}
    for name, inverse in names.items():
        found = estimate_of([120, 130, 90, 60], KUK, inverse=inverse)
        assert (found.method, found.samples[0].inverse) == (f"moments{name}", inverse)
        assert found.pi_hat.sum() == pytest.approx(1, abs=1e-12)
    assert found.pi_hat[0] == pytest.approx(((130 + 2 * 90 + 3 * 60) / 400 / 3 - 0.2) / 0.5)  # Kuk's own estimate
    assert repr(names["-minimax"]).startswith("LeftInverse(minimax, 2 categories from 4 reports, value=0.4589")
    weak, fair = (make_design("warner", p=p) for p in ("0.5004", "0.51"))
    said = "smallest singular value of the design is 8.0e-04"
    assert any(said in flag for flag in estimate_of([499, 501], weak).flags)
    assert not any("singular" in flag for flag in estimate_of([500, 500], fair).flags)
