"""Estimates from released files, checked on every outcome of small ones."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.released import known_matrix, moved, outcomes, samples

from maskwell.designs import Dense
from maskwell.estimation import direct_estimate
from maskwell.estimation.direct_estimate import Released, estimate_unknown

PI = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
SHARE = np.array(PI, dtype=float)


def exchange(counts: list[int], theta: Fraction) -> Dense:
    """Each category sends out and receives the same number of records; keeps the counts."""
    some = [j for j, n in enumerate(counts) if n]
    least = min(counts[j] for j in some)
    P = [[Fraction(i == j) for j in range(len(counts))] for i in range(len(counts))]
    for j in some if len(some) > 1 else []:
        for i in some:
            gone = theta * Fraction(least, counts[j])
            P[i][j] = 1 - gone if i == j else gone / (len(some) - 1)
    return Dense.of(P)


def constant(counts: list[int]) -> Dense:
    """Released values that tell nothing: all columns are the shares."""
    return Dense.of([[Fraction(a, sum(counts))] * len(counts) for a in counts])


def test_with_the_matrix_both_parts_are_unbiased_exactly() -> None:
    """Over all samples of a population and all releases of each: P is made from the sample."""
    estimate, square = np.zeros((3, 3)), np.zeros((3, 3))
    for counts, chance in samples(4, PI):
        P, own, exact = exchange(list(counts), Fraction(1, 2)), np.zeros((3, 3)), np.zeros((3, 3))
        for m, p in outcomes(P, list(counts)):
            found = known_matrix(m, P.matrix())
            estimate += float(chance * p) * found.covariance
            square += float(chance * p) * np.outer(found.pi_hat - SHARE, found.pi_hat - SHARE)
            own += float(p) * known_matrix(m, P.matrix(), "file").covariance
            exact += float(p) * np.outer(*(2 * [found.pi_hat - np.array(counts) / 4]))
        np.testing.assert_allclose(own, exact, atol=1e-13)
        np.testing.assert_allclose(own, moved(P.matrix(), counts) / 16, atol=1e-13)
    np.testing.assert_allclose(estimate, square, atol=1e-13)


@pytest.mark.parametrize("make", [constant, lambda counts: exchange(counts, Fraction(1))])
def test_without_the_matrix_the_bound_is_never_too_small_on_average(make: Callable[[list[int]], Dense]) -> None:
    n = 4
    for a in (np.array(a) for a in ([1.0, 0, 0], [1, -1, 0], [0, 1, 2])):
        estimated = true = 0.0
        for counts, chance in samples(n, PI):
            for m, p in outcomes(make(list(counts)), list(counts)):
                estimated += float(chance * p) * estimate_unknown(Released.of(m)).contrast(a).standard_error ** 2
                true += float(chance * p) * float(a @ (np.array(m) / n - SHARE)) ** 2
        most = (2 - 1 / n) * float(a**2 @ SHARE - (a @ SHARE) ** 2) / n
        assert true <= most + 1e-12 and estimated >= most - 1e-12
        if make is constant:  # the bound is reached, and the estimate has just that expectation
            assert (true, estimated) == pytest.approx((most, most), abs=1e-12)


def test_blocks_bound_each_other_apart_and_keep_their_totals() -> None:
    """The bound for the file is reached by the matrix that is constant, as a whole or within blocks."""
    P = Dense.of([["3/5", "3/5", 0, 0], ["2/5", "2/5", 0, 0], [0, 0, "1/3", "1/3"], [0, 0, "2/3", "2/3"]])
    for design, counts, blocks in ((P, [3, 2, 1, 2], [0, 0, 1, 1]), (constant([3, 2, 1]), [3, 2, 1], None)):
        found: Real = np.zeros((len(counts),) * 2)
        for m, p in outcomes(design, counts):
            one = estimate_unknown(Released.of(m), target="file", blocks=blocks)
            found += float(p) * np.asarray(one.covariance)
            assert blocks is None or one.contrast([1, 1, 0, 0]).standard_error == 0
        np.testing.assert_allclose(found, moved(design.matrix(), counts) / sum(counts) ** 2, atol=1e-14)
    whole = estimate_unknown(Released.of([3, 2, 1, 2]), blocks=[5, 5, 7, 7])
    assert whole.contrast([1, 1, 0, 0]).standard_error ** 2 == pytest.approx((8 / 7) ** 2 * (5 / 8 * 3 / 8) / 8)
    alone = estimate_unknown(Released.of([110, 60, 1]), target="file", blocks=[0, 0, 1])
    assert alone.variance[2] == 0 and alone.confidence_interval()[2].tolist() == [1 / 171, 1 / 171]
    assert alone.to_dict()["effective"][2] == "inf"


def test_variances_alone_are_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    weighted = {"weights": [30.0, 15.5, 7.25], "squares": [90.0, 40.5, 20.25]}
    calls = [
        lambda: estimate_unknown(Released.of([11, 9, 3]), blocks=[0, 1, 0]),
        lambda: estimate_unknown(Released.of([11, 9, 3], **weighted), blocks=[0, 0, 1]),  # type: ignore[arg-type]
    ]
    full = [call() for call in calls]
    monkeypatch.setattr(direct_estimate, "COVARIANCE_LIMIT", 2)
    for call, whole in zip(calls, full, strict=True):
        assert call().covariance is None
        np.testing.assert_allclose(call().variance, whole.variance, rtol=1e-12)
        np.testing.assert_allclose(np.diag(np.asarray(whole.covariance)), whole.variance)


def test_intervals_without_the_matrix_are_wilsons_and_parts_below_zero_are_flagged() -> None:
    found = known_matrix([31, 21, 0], exchange([30, 20, 2], Fraction(1)).matrix())
    assert direct_estimate.NEGATIVE in found.flags
    low, high = found.confidence_interval()[2]
    assert (low == 0, 0 < high < 0.2) == (True, True)
    found = estimate_unknown(Released.of([110, 60, 30]), categories=["a", "b", "c"])
    n_e, z, p = 200 / (2 - 1 / 200), 1.959963984540054, 0.55
    centre, half = p + z**2 / (2 * n_e), z * np.sqrt(p * (1 - p) / n_e + z**2 / (4 * n_e**2))
    expected = [(centre - half) / (1 + z**2 / n_e), (centre + half) / (1 + z**2 / n_e)]
    np.testing.assert_allclose(found.confidence_interval()[0], expected, rtol=1e-12)
    shown = found.to_dict()
    assert [shown[name] for name in ("method", "interval_method", "design")] == ["direct", "wilson", "withheld"]
    # no record tells no more than the bound
    assert estimate_unknown(Released.of([10, 0])).effective.tolist() == [10 / 1.9, 10 / 1.9]
    assert estimate_unknown(Released.of([10, 0]), target="file").effective.tolist() == [10, 10]
