"""Several samples in one estimate: exact solutions, weights, margins, pooling."""

import numpy as np
import pytest
from tests.support.estimates import JAR, WARNER, estimate_of, likeliest

from maskwell import design as make_design
from maskwell.core import Categories, SeededRandom
from maskwell.designs import Dense, Subset, Uniform
from maskwell.errors import ReportError
from maskwell.estimation import Sample, estimate_by_moments, estimate_samples
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.stacked_samples import chance_of_stack

SHARP = make_design("warner", p="0.9")
PAIRS = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])


def unrelated(p: str) -> Dense:
    share = float(p)
    return Dense.of([[1, share, round(1 - share, 9), 0], [0, round(1 - share, 9), share, 1]], PAIRS)


def test_weights_are_those_of_the_most_likely_proportions() -> None:
    designs, counts = (WARNER, SHARP), (np.array([34, 66]), np.array([9, 191]))
    guess = (300 * maximise(designs, counts).pi + 1) / 302
    M, right = np.zeros((2, 2)), np.zeros(2)
    for design, x in zip(designs, counts, strict=True):
        P = design.matrix()
        weighted = P.T / (P @ guess)
        M, right = M + x.sum() * weighted @ P, right + weighted @ x
    found = estimate_samples([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)])
    np.testing.assert_allclose(found.pi_hat, np.linalg.solve(M, right), rtol=1e-9)
    assert any("two steps" in flag for flag in found.flags)
    sharper = estimate_samples([Sample.of([50, 50], WARNER), Sample.of([20, 80], SHARP)])
    assert 0.125 < sharper.pi_hat[0] < (0.5 + 0.125) / 2 - 0.1


def test_margins_are_named_after_the_variables() -> None:
    designs = [unrelated(p).with_provenance(variables=["own", "other"]) for p in ("0.75", "0.25")]
    found = estimate_samples([Sample.of([200, 400], designs[0]), Sample.of([140, 260], designs[1])])
    assert found.categories == (("own", "yes"), ("own", "no"), ("other", "yes"), ("other", "no"))
    np.testing.assert_allclose(found.pi_hat, [0.325, 0.675, 0.3583333333, 0.6416666667], atol=1e-9)
    parts = (0.75**2 * (1 / 3) * (2 / 3) / 599 + 0.25**2 * 0.35 * 0.65 / 399) / 0.5**2
    np.testing.assert_allclose(found.variance[0], parts, rtol=1e-12)
    assert "own and other" in found.flags[0]


def test_margins_by_likelihood_stay_inside() -> None:
    samples = [Sample.of([30, 570], unrelated("0.75")), Sample.of([100, 300], unrelated("0.25"))]
    raw, found = estimate_samples(samples), estimate_samples(samples, method="ml")
    assert raw.pi_hat[0] < 0 and found.pi_hat[0] <= 1e-12 and np.isnan(found.standard_error[0])
    assert found.standard_error[2] > 0
    np.testing.assert_allclose(found.raw, raw.pi_hat)
    beside = estimate_samples(
        [Sample.of([0, 5], unrelated("0.75")), Sample.of([0, 5], unrelated("0.25"))], method="ml"
    )  # where the search stops beside the bound
    assert beside.pi_hat.tolist() == [0, 1, 0, 1] and np.isnan(beside.standard_error).all()
    for one in (found, beside):
        assert any("no standard error" in flag for flag in one.flags)


def test_large_or_set_samples_are_pooled() -> None:
    labels = Categories.numbered(6)
    sets, plain = Subset.from_gamma(5, labels, size=2), Uniform.from_gamma(3, labels)
    codes = np.repeat(np.arange(6), 400)
    samples = [Sample(d.tally(d.sample(codes, random=SeededRandom(1))), d) for d in (sets, plain)]
    found = estimate_samples(samples)
    alone = [estimate_by_moments(s.counts, s.design) for s in samples]
    assert (found.variance < np.minimum(alone[0].variance, alone[1].variance)).all()
    np.testing.assert_allclose(found.pi_hat, 1 / 6, atol=4 * found.standard_error.max())
    weights = np.array([1 / (d.added_variance() + 5 / 6) for d in (sets, plain)])
    np.testing.assert_allclose(found.pi_hat, weights @ [one.pi_hat for one in alone] / weights.sum(), rtol=1e-12)
    assert "pooled" in found.flags[0]
    with pytest.raises(ReportError, match="no maximum likelihood"):
        estimate_samples(samples, method="ml")


def test_one_sample_is_its_own_estimate_and_0_and_1_are_not_outside() -> None:
    for method, alone in (("moments", estimate_of), ("ml", likeliest)):
        found = estimate_samples([Sample.of([30, 50, 20], JAR)], method=method)
        np.testing.assert_array_equal(found.pi_hat, alone([30, 50, 20], JAR).pi_hat)
    L, counts, error = [np.linalg.inv(WARNER.matrix())], [np.array([30, 70])], np.full(2, 1e-4)
    assert chance_of_stack([WARNER], counts, np.array([-1e-16, 1 + 2e-16]), error, L) == 1
    assert chance_of_stack([WARNER], counts, np.array([-1e-6, 1 + 1e-6]), error, L) < 1
