"""Several samples in one estimate: exact solutions, weights, margins, pooling, records with designs of their own."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import Categories, Counts, SeededRandom
from maskwell.designs import Dense, Subset, Uniform
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError, WrongTypeError
from maskwell.estimation import Sample, cheating_range, estimate_by_likelihood, estimate_by_moments, estimate_samples
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.moments import sampling_part
from maskwell.estimation.stacked_samples import chance_of_stack, group_samples

WARNER = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
SHARP = Dense.of([["0.9", "0.1"], ["0.1", "0.9"]])
THREE = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
PAIRS = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])


def unrelated(p: str) -> Dense:
    share = float(p)
    return Dense.of([[1, share, round(1 - share, 9), 0], [0, round(1 - share, 9), share, 1]], PAIRS)


def test_the_sampling_part_is_that_of_a_single_sample() -> None:
    alone = estimate_by_moments(Sample.of([30, 50, 20], THREE).counts, THREE)
    np.testing.assert_allclose(sampling_part(alone.pi_hat, alone.variance, 100), alone.sampling_variance, rtol=1e-12)


def test_one_identifiable_sample_is_its_own_estimate() -> None:
    sample = Sample.of([30, 50, 20], THREE)
    for method, alone in (("moments", estimate_by_moments), ("ml", estimate_by_likelihood)):
        found = estimate_samples([sample], method=method)
        np.testing.assert_array_equal(found.pi_hat, alone(sample.counts, THREE).pi_hat)


def test_two_samples_of_one_design_are_their_sum() -> None:
    found = estimate_samples([Sample.of([30, 70], WARNER), Sample.of([90, 110], WARNER)])
    whole = estimate_by_moments(Sample.of([120, 180], WARNER).counts, WARNER)
    np.testing.assert_allclose(found.pi_hat, whole.pi_hat, atol=1e-12)
    np.testing.assert_allclose(found.variance, whole.variance, rtol=0.05)


def test_the_sharper_design_weighs_more() -> None:
    found = estimate_samples([Sample.of([50, 50], WARNER), Sample.of([20, 80], SHARP)])
    assert 0.125 < found.pi_hat[0] < (0.5 + 0.125) / 2 - 0.1
    assert any("two steps" in flag for flag in found.flags)
    np.testing.assert_allclose(found.pi_hat.sum(), 1)
    np.testing.assert_allclose(found.sampling_variance + found.randomization_variance, found.variance)


def test_weights_are_those_of_the_most_likely_proportions() -> None:
    designs, counts = (WARNER, SHARP), (np.array([34, 66]), np.array([9, 191]))
    top = maximise(designs, counts).pi
    guess = (300 * top + 1) / 302
    M, right = np.zeros((2, 2)), np.zeros(2)
    for design, x in zip(designs, counts, strict=True):
        P = design.matrix()
        weighted = P.T / (P @ guess)
        M, right = M + x.sum() * weighted @ P, right + weighted @ x
    found = estimate_samples([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)])
    np.testing.assert_allclose(found.pi_hat, np.linalg.solve(M, right), rtol=1e-9)


def test_least_squares_come_close_to_the_likelihood() -> None:
    samples = [Sample.of([500, 300, 200], THREE), Sample.of([480, 330, 190], THREE)]
    moments, ml = (estimate_samples(samples, method=method) for method in ("moments", "ml"))
    np.testing.assert_allclose(moments.pi_hat, ml.pi_hat, atol=1e-9)
    np.testing.assert_allclose(moments.variance, ml.variance, rtol=0.01)


def test_variances_are_right_in_repeated_samples() -> None:
    """600 repetitions: the mean is right to 4 of its standard errors, the variance to 25 %, which is 4 of its own."""
    generator, pi = np.random.default_rng(4), np.array([0.3, 0.7])
    designs = [WARNER, SHARP]
    found = []
    for _ in range(600):
        counts = [generator.multinomial(n, d.matrix() @ pi) for n, d in zip((200, 100), designs, strict=True)]
        found.append(estimate_samples([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)]))
    values = np.array([one.pi_hat[0] for one in found])
    assert abs(values.mean() - 0.3) < 4 * values.std() / np.sqrt(600)
    assert 0.75 < np.mean([one.variance[0] for one in found]) / values.var() < 1.25


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
    assert raw.pi_hat[0] < 0
    assert found.pi_hat[0] <= 1e-12
    assert np.isnan(found.standard_error[0])
    assert found.standard_error[2] > 0
    assert found.moments is not None
    np.testing.assert_allclose(found.moments, raw.pi_hat)
    assert any("no standard error" in flag for flag in found.flags)


def test_samples_that_tell_nothing_are_refused() -> None:
    with pytest.raises(NotIdentifiableError, match="rank 2 for 4"):
        estimate_samples([Sample.of([3, 4], unrelated("0.75")), Sample.of([5, 4], unrelated("0.75"))])
    flat = Dense.of([["1/2", "1/3", "1/4"], ["1/2", "2/3", "3/4"]])
    with pytest.raises(NotIdentifiableError) as caught:
        estimate_samples([Sample.of([3, 4], flat), Sample.of([5, 5], flat)])
    direction = caught.value.objects["null_direction"]
    np.testing.assert_allclose(flat.matrix() @ direction, 0, atol=1e-12)


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="no samples"):
        estimate_samples([])
    with pytest.raises(ParameterError, match="method = 'best'"):
        estimate_samples([Sample.of([3, 4], WARNER)], method="best")
    with pytest.raises(ReportError, match="sample 2 has 1 reports"):
        estimate_samples([Sample.of([3, 4], WARNER), Sample.of([1, 0], SHARP)])
    named = SHARP.with_labels(Categories.of(["a", "b"]))
    with pytest.raises(ParameterError, match="different categories"):
        estimate_samples([Sample.of([3, 4], WARNER), Sample.of([1, 5], named)])
    with pytest.raises(ParameterError, match="three kinds"):
        cheating_range(estimate_by_moments(Sample.of([3, 4], WARNER).counts, WARNER))


def test_a_sample_knows_what_it_may_hold() -> None:
    with pytest.raises(WrongTypeError, match="must be a Counts"):
        Sample([3, 4], WARNER)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="must be a Design"):
        Sample(Counts(np.array([1, 2]), 3, ""), "warner")  # type: ignore[arg-type]
    with pytest.raises(ReportError, match="another design"):
        Sample(Counts(np.array([1, 2]), 3, SHARP.fingerprint), WARNER)
    with pytest.raises(ReportError, match="3 counts"):
        Sample.of([1, 2, 3], WARNER)
    with pytest.raises(ReportError, match="sum to 3 but n = 5"):
        Sample(Counts(np.array([1, 2]), 5, WARNER.fingerprint), WARNER)
    with pytest.raises(ReportError, match="how many sets"):
        Sample.of([1, 2, 3, 4], Subset.from_gamma(3, Categories.numbered(4), size=2))


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
    expected = weights @ [one.pi_hat for one in alone] / weights.sum()
    np.testing.assert_allclose(found.pi_hat, expected, rtol=1e-12)
    assert "pooled" in found.flags[0]
    with pytest.raises(ReportError, match="no maximum likelihood"):
        estimate_samples(samples, method="ml")


def test_large_samples_by_likelihood() -> None:
    labels = Categories.numbered(3000)
    designs = [Uniform.from_gamma(400, labels), Uniform.from_gamma(900, labels)]
    counts = np.arange(3000) % 7 + 20
    found = estimate_samples([Sample.of(counts, d) for d in designs], method="ml")
    assert found.covariance is None
    np.testing.assert_allclose(found.pi_hat.sum(), 1)
    assert (found.standard_error[found.pi_hat > 0] > 0).all()


def test_records_that_name_their_own_design() -> None:
    reports = [0, 1, 1, 0, 1, 1]
    again = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    samples = group_samples(reports, [WARNER, WARNER, SHARP, SHARP, again, WARNER])
    assert [(s.design.fingerprint, s.counts.values.tolist()) for s in samples] == [
        (WARNER.fingerprint, [1, 3]),
        (SHARP.fingerprint, [1, 1]),
    ]
    with pytest.raises(ReportError, match="6 reports and 1 designs"):
        group_samples(reports, [WARNER])


def test_shares_at_their_bound_have_no_standard_error_even_where_the_search_stops_beside_it() -> None:
    samples = [Sample.of([0, 5], unrelated("0.75")), Sample.of([0, 5], unrelated("0.25"))]
    found = estimate_samples(samples, method="ml")
    assert found.pi_hat.tolist() == [0, 1, 0, 1]
    assert np.isnan(found.standard_error).all()
    assert any("no standard error" in flag for flag in found.flags)


def test_estimates_of_exactly_0_and_1_are_not_judged_as_outside() -> None:
    design = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    L, counts = [np.linalg.inv(design.matrix())], [np.array([30, 70])]
    error = np.full(2, 1e-4)
    assert chance_of_stack([design], counts, np.array([-1e-16, 1 + 2e-16]), error, L) == 1
    assert chance_of_stack([design], counts, np.array([-1e-6, 1 + 1e-6]), error, L) < 1
