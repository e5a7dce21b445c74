"""Estimates from released files, checked on every outcome of small ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.released import outcomes, samples

from maskwell import Categories
from maskwell.designs import Dense, Sparse
from maskwell.errors import CountsError, MatrixError, NotInvariantError, ParameterError, TooLargeError
from maskwell.estimation import bound_for, estimate_invariant, estimate_unknown, invariant_shares, variance_inflation
from maskwell.estimation.release_variance import (
    COVARIANCE_LIMIT,
    conditional_covariance,
    conditional_variance,
    contrast_inflation,
    weighted_covariance,
)

EXAMPLE = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]  # keeps (12, 8, 3)


def exchange(counts: list[int], theta: Fraction) -> Dense:
    """Each category sends out and receives the same number of records; keeps the counts."""
    some = [j for j, n in enumerate(counts) if n]
    least = min(counts[j] for j in some)
    P = [[Fraction(i == j) for j in range(len(counts))] for i in range(len(counts))]
    for j in some if len(some) > 1 else []:
        for i in some:
            moved = theta * Fraction(least, counts[j])
            P[i][j] = 1 - moved if i == j else moved / (len(some) - 1)
    return Dense.of(P)


def constant(counts: list[int]) -> Dense:
    """Released values that tell nothing: all columns are the shares."""
    n = sum(counts)
    return Dense.of([[Fraction(a, n)] * len(counts) for a in counts])


def mean_and_covariance(design: Dense, counts: list[int]) -> tuple[Real, Real]:
    n, size = sum(counts), len(counts)
    mean, second = [Fraction(0)] * size, [[Fraction(0)] * size for _ in range(size)]
    for m, chance in outcomes(design, counts):
        for i in range(size):
            mean[i] += chance * m[i] / n
            for j in range(size):
                second[i][j] += chance * m[i] * m[j] / n**2
    exact = [[second[i][j] - mean[i] * mean[j] for j in range(size)] for i in range(size)]
    return np.array(mean, dtype=float), np.array(exact, dtype=float)


@pytest.mark.parametrize("counts", [[3, 2, 1], [2, 0, 2], [4, 1, 1]])
def test_the_conditional_covariance_is_that_of_all_outcomes(counts: list[int]) -> None:
    for P in (exchange(counts, Fraction(1, 2)), Dense.of([["0.7", "0.2", "0.1"]] + [["0.15", "0.4", "0.45"]] * 2)):
        mean, exact = mean_and_covariance(P, counts)
        np.testing.assert_allclose(P.forward(np.array(counts) / sum(counts)), mean, atol=1e-14)
        np.testing.assert_allclose(conditional_covariance(P, counts), exact, atol=1e-14)
        np.testing.assert_allclose(conditional_variance(P, counts), np.diag(exact), atol=1e-14)


def test_with_weights_too() -> None:
    P = Dense.of([["1/4", "3/8", "3/10"], ["3/8", "1/4", "3/10"], ["3/8", "3/8", "4/10"]])
    codes, w = [0, 0, 1, 1, 2], [Fraction(x) for x in (1, 3, 2, 2, 5)]
    exact = np.zeros((3, 3))
    for code, own in zip(codes, w, strict=True):  # records are independent: covariances add up
        p = np.array([float(row[code]) for row in P.exact_matrix()])
        exact += float(own**2) * (np.diag(p) - np.outer(p, p)) / float(sum(w)) ** 2
    np.testing.assert_allclose(weighted_covariance(P, [4, 4, 5], [10, 8, 25]), exact, atol=1e-14)


def test_with_the_matrix_both_parts_are_unbiased_exactly() -> None:
    """Over all samples of a population and all releases of each: P is made from the sample."""
    n, pi = 4, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    share = np.array(pi, dtype=float)
    estimate, square = np.zeros((3, 3)), np.zeros((3, 3))
    for counts, chance in samples(n, pi):
        P = exchange(list(counts), Fraction(1, 2))
        own = np.zeros((3, 3))
        for m, p in outcomes(P, list(counts)):
            found = estimate_invariant(m, P, counts=counts)
            estimate += float(chance * p) * found.covariance
            square += float(chance * p) * np.outer(found.pi_hat - share, found.pi_hat - share)
            own += float(p) * estimate_invariant(m, P, target="file").covariance
        np.testing.assert_allclose(own, conditional_covariance(P, counts), atol=1e-13)
    np.testing.assert_allclose(estimate, square, atol=1e-13)


@pytest.mark.parametrize("make", [constant, lambda counts: exchange(counts, Fraction(1))])
def test_without_the_matrix_the_bound_is_never_too_small_on_average(make: object) -> None:
    n, pi = 4, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    share = np.array(pi, dtype=float)
    contrasts = [np.array(a) for a in ([1.0, 0, 0], [1, -1, 0], [0, 1, 2])]
    for a in contrasts:
        estimated = true = 0.0
        for counts, chance in samples(n, pi):
            P = make(list(counts))  # type: ignore[operator]
            for m, p in outcomes(P, list(counts)):
                weight = float(chance * p)
                estimated += weight * bound_for(a, m).conservative
                true += weight * float(a @ (np.array(m) / n - share)) ** 2
        most = (2 - 1 / n) * float(a**2 @ share - (a @ share) ** 2) / n
        assert true <= most + 1e-12
        assert estimated >= most - 1e-12
        if make is constant:  # the bound is reached, and the estimate has just that expectation
            assert true == pytest.approx(most, abs=1e-12)
            assert estimated == pytest.approx(most, abs=1e-12)


def test_the_bound_for_the_file_is_reached_by_the_constant_matrix() -> None:
    counts = [3, 2, 1]
    P = constant(counts)
    found = sum(float(p) * estimate_unknown(m, target="file").variance for m, p in outcomes(P, counts))
    np.testing.assert_allclose(found, conditional_variance(P, counts), atol=1e-14)


def test_blocks_bound_each_other_apart_and_keep_their_totals() -> None:
    P = Dense.of([["3/5", "3/5", 0, 0], ["2/5", "2/5", 0, 0], [0, 0, "1/3", "1/3"], [0, 0, "2/3", "2/3"]])
    counts = [3, 2, 1, 2]
    exact = conditional_covariance(P, counts)
    found = np.zeros((4, 4))
    for m, p in outcomes(P, counts):
        one = estimate_unknown(m, target="file", blocks=[0, 0, 1, 1])
        found += float(p) * np.asarray(one.covariance)
        assert one.contrast([1, 1, 0, 0]).standard_error == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(found, exact, atol=1e-14)  # constant within blocks: the bound is reached
    whole = estimate_unknown([3, 2, 1, 2], blocks=[5, 5, 7, 7])
    sampling = (8 / 7) ** 2 * (5 / 8 * 3 / 8) / 8
    assert whole.contrast([1, 1, 0, 0]).standard_error ** 2 == pytest.approx(sampling)


def test_a_category_alone_in_its_block_is_exact() -> None:
    found = estimate_unknown([110, 60, 1], target="file", blocks=[0, 0, 1])
    assert found.variance[2] == 0
    assert found.confidence_interval()[2].tolist() == [1 / 171, 1 / 171]
    assert found.to_dict()["effective"][2] == "inf"


def test_known_matrix_with_weights_is_unbiased_for_the_file() -> None:
    """Each record has its weight; the matrix keeps the sums of weights."""
    P = Dense.of([["1/4", "3/8", "3/10"], ["3/8", "1/4", "3/10"], ["3/8", "3/8", "4/10"]])
    codes, w = np.array([0, 0, 1, 1, 2]), np.array([1.0, 3, 2, 2, 5])
    columns = P.matrix()
    found = np.zeros((3, 3))
    for z in np.ndindex(*(3,) * 5):
        chance = float(np.prod(columns[z, codes]))
        weights, squares = np.bincount(z, w, minlength=3), np.bincount(z, w**2, minlength=3)
        one = estimate_invariant(
            np.bincount(z, minlength=3), P, target="file", weights=weights, squares=squares, counts=[4, 4, 5]
        )
        found += chance * np.asarray(one.covariance)
    np.testing.assert_allclose(found, weighted_covariance(P, [4, 4, 5], [10, 8, 25]), atol=1e-12)


def test_weights_of_one_change_nothing() -> None:
    m = [110, 60, 30]
    for target in ("population", "file"):
        plain, weighted = (
            estimate_unknown(m, target=target, blocks=[0, 0, 1], **extra)  # type: ignore[arg-type]
            for extra in ({}, {"weights": m, "squares": m})
        )
        np.testing.assert_allclose(plain.covariance, weighted.covariance, atol=1e-16)
        np.testing.assert_allclose(plain.effective, weighted.effective)
    assert invariant_shares.WITH_WEIGHTS in estimate_unknown(m, weights=m, squares=m).flags


def test_a_matrix_that_cannot_be_turned_around_gives_a_bound_for_weights() -> None:
    P = [["4/13"] * 3, ["4/13"] * 3, ["5/13"] * 3]
    found = estimate_invariant([2, 2, 1], P, weights=[4, 4, 5], squares=[10, 8, 25], target="file")
    assert invariant_shares.NO_SQUARES in found.flags
    assert (found.variance > 0).all()


def test_inflation_lies_between_one_and_two() -> None:
    counts = [12, 8, 3]
    np.testing.assert_allclose(variance_inflation(constant(counts), counts), [2, 2, 2])
    np.testing.assert_allclose(variance_inflation(Dense.of(np.eye(3)), counts), [1, 1, 1])
    assert variance_inflation([[1, 0], [0, 1]], [5, 0]).tolist() == [1, 1]
    with pytest.raises(NotInvariantError, match="category 0 is expected to change by 1"):
        variance_inflation([["0.9", "0.3"], ["0.1", "0.7"]], [5, 5])
    assert contrast_inflation(constant(counts), counts, [1, -2, 0.5]) == pytest.approx(2)


def test_many_categories_give_the_same_variances_without_covariances() -> None:
    k = COVARIANCE_LIMIT + 2
    counts = np.full(k, 3)
    design = Sparse.of_columns([{j: 2, (j + 1) % k: 1} for j in range(k)], Categories.numbered(k))
    many = estimate_invariant(counts, design)
    assert many.covariance is None
    assert any("covariances are left out" in flag for flag in many.flags)
    n, p = 3 * k, 1 / k
    added = (p - (4 / 9 + 1 / 9) * p) / n
    np.testing.assert_allclose(many.randomization_variance, added)
    np.testing.assert_allclose(many.sampling_variance, (p - p**2 + added) / (n - 1))
    blocks = np.arange(k) // 2
    small = estimate_unknown(counts[:10], blocks=blocks[:10])
    assert estimate_unknown(counts, blocks=blocks).covariance is None
    assert small.covariance is not None
    with pytest.raises(TooLargeError):
        many.share_within([0], [0, 1])


def test_variances_alone_are_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"weights": [30.0, 15.5, 7.25], "squares": [90.0, 40.5, 20.25]}
    calls = [
        lambda: estimate_unknown([11, 9, 3], blocks=[0, 1, 0]),
        lambda: estimate_unknown([11, 9, 3], blocks=[0, 0, 1], **options),  # type: ignore[arg-type]
        lambda: estimate_invariant([11, 9, 3], EXAMPLE),
        lambda: estimate_invariant([11, 9, 3], exchange([12, 8, 3], Fraction(1, 2)), **options),  # type: ignore[arg-type]
    ]
    full = [call() for call in calls]
    monkeypatch.setattr(invariant_shares, "COVARIANCE_LIMIT", 2)
    for call, whole in zip(calls, full, strict=True):
        np.testing.assert_allclose(call().variance, whole.variance, rtol=1e-12)
        np.testing.assert_allclose(np.diag(np.asarray(whole.covariance)), whole.variance)


def test_a_part_below_zero_is_flagged_and_has_an_interval_all_the_same() -> None:
    P = exchange([30, 20, 2], Fraction(1))
    found = estimate_invariant([31, 21, 0], P)
    assert invariant_shares.NEGATIVE in found.flags
    low, high = found.confidence_interval()[2]
    assert low == 0
    assert 0 < high < 0.2


def test_the_interval_without_the_matrix_is_wilsons() -> None:
    found = estimate_unknown([110, 60, 30], categories=["a", "b", "c"])
    n_e, z, p = 200 / (2 - 1 / 200), 1.959963984540054, 0.55
    centre = p + z**2 / (2 * n_e)
    half = z * np.sqrt(p * (1 - p) / n_e + z**2 / (4 * n_e**2))
    expected = [(centre - half) / (1 + z**2 / n_e), (centre + half) / (1 + z**2 / n_e)]
    np.testing.assert_allclose(found.confidence_interval()[0], expected, rtol=1e-12)
    wald = found.confidence_interval(method="wald")[0]
    np.testing.assert_allclose(wald, bound_for([1, 0, 0], [110, 60, 30]).interval(), rtol=1e-12)
    shown = found.to_dict()
    assert shown["method"] == "direct"
    assert shown["interval_method"] == "wilson"
    assert shown["design"] == "withheld"
    assert "a" in repr(found)


def test_a_category_that_no_released_record_has_tells_as_little_as_the_bound() -> None:
    assert estimate_unknown([10, 0]).effective.tolist() == [10 / 1.9, 10 / 1.9]
    assert estimate_unknown([10, 0], target="file").effective.tolist() == [10, 10]


def test_shares_within_others_by_the_delta_method() -> None:
    found = estimate_unknown([30, 10, 20, 40])
    whole = found.share_within([0], [0, 2])
    C = np.asarray(found.covariance)
    a, b = np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 1, 0])
    assert whole.value == pytest.approx(0.6)
    x = (a - 0.6 * b) / 0.5
    assert whole.standard_error == pytest.approx(np.sqrt(x @ C @ x))
    assert whole.bias == pytest.approx((0.6 * (b @ C @ b) - a @ C @ b) / 0.25)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: estimate_unknown([1, 0]), CountsError, "at least two"),
        (lambda: estimate_unknown([3, -1]), CountsError, "negative"),
        (lambda: estimate_unknown([3, 1.5]), CountsError, "no whole number"),
        (lambda: estimate_unknown([3, float("nan")]), CountsError, "no finite number"),
        (lambda: estimate_unknown([0, 0]), CountsError, "all zero"),
        (lambda: estimate_unknown("ab"), CountsError, "one column"),
        (lambda: estimate_unknown([3, 1], categories=["a"]), CountsError, "labels"),
        (lambda: estimate_unknown([3, 1], target="census"), ParameterError, "census"),
        (lambda: estimate_unknown([3, 1], blocks=[0]), ParameterError, "blocks"),
        (lambda: estimate_unknown([3, 1], weights=[3, 1]), CountsError, "squares"),
        (lambda: estimate_unknown([3, 1], weights=[3, 1], squares=[3]), CountsError, "one of each|squares"),
        (lambda: estimate_unknown([3, 1], weights=[3, -1], squares=[3, 1]), CountsError, "negative"),
        (lambda: estimate_invariant([3, 1, 2], [[1, 0], [0, 1]]), MatrixError, "3 counts"),
        (
            lambda: estimate_invariant([3, 1, 2], [["1/2"] * 2, ["1/4"] * 2, ["1/4"] * 2]),
            MatrixError,
            "keeps no counts",
        ),
        (
            lambda: estimate_invariant([3, 1], [["0.9", "0.3"], ["0.1", "0.7"]], counts=[5, 5]),
            NotInvariantError,
            "keep",
        ),
        (lambda: bound_for([1, 0], [3, 1, 2]), ParameterError, "shape"),
        (lambda: estimate_unknown([3, 1]).share_within([0], [1]), ParameterError, "part"),
        (lambda: estimate_unknown([3, 1]).share_within([5], [5]), ParameterError, "from 0 to 1"),
        (lambda: estimate_unknown([3, 0]).share_within([1], [1]), CountsError, "no released record"),
        (lambda: estimate_unknown([3, 1]).intervals(method="profile"), ParameterError, "wald"),
    ],
)
def test_bad_input_gets_one_clear_error(call: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()  # type: ignore[operator]


def test_other_estimates_have_no_wilson_interval() -> None:
    from maskwell.estimation import Sample, estimate_by_moments

    sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    with pytest.raises(ParameterError, match="no effective number"):
        estimate_by_moments(sample.counts, sample.design).intervals(method="wilson")
