"""Bootstrap intervals: repeatable, close to what theory says, and refused where they would mislead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from maskwell import Categories, Design
from maskwell import design as make_design
from maskwell.designs import Uniform
from maskwell.errors import ParameterError
from maskwell.estimation import Estimate, Sample, best_left_inverse, estimate_by_moments, likelihood_intervals

WARNER = make_design("warner", p="0.7")
KARY = Uniform.from_gamma(5, Categories.of(["a", "b", "c"]))
KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=2)


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_moments(Sample.of(counts, design).counts, design)


def test_the_same_seed_gives_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    one, again, other = (estimate.confidence_interval(0.95, "bootstrap", seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    monkeypatch.setattr(likelihood_intervals, "CHUNK", 100)  # in small batches, and still the same
    np.testing.assert_array_equal(estimate.confidence_interval(0.95, "bootstrap", seed=7), one)


@pytest.mark.parametrize("source", ["reports", "model"])
@pytest.mark.parametrize("ends", ["percentile", "bca"])
def test_large_samples_give_wald_intervals(source: str, ends: str) -> None:
    estimate = estimate_of([5000, 3000, 2000], KARY)
    found = estimate.intervals(0.95, "bootstrap", seed=1, replicates=20_000, source=source, ends=ends)
    off = (found.to_array() - estimate.confidence_interval(0.95, "wald")) / estimate.standard_error[:, None]
    assert np.abs(off).max() < 0.08


def test_bca_ends_are_those_of_scipy() -> None:
    """scipy bootstraps the same statistic from rows: the mean of the recoveries of 400 reports."""
    from scipy.stats import bootstrap as reference

    counts = [330, 60, 10]  # skew, so that the correction matters
    estimate = estimate_of(counts, KUK)
    U = np.repeat(best_left_inverse(estimate.samples[0].design).L[0], counts)
    wanted = reference((U,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1), batch=500)
    found = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=20_000, ends="bca")[0]
    plain = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=20_000)[0]
    error = estimate.standard_error[0]
    assert np.abs(found - [*wanted.confidence_interval]).max() < 0.05 * error
    assert np.abs(found - plain).max() > 0.08 * error


def test_bca_moves_the_tails_as_the_formula_says() -> None:
    """Six replicates in ten below the estimate: z0 is the normal quantile at 0.6."""
    estimate = estimate_of([330, 60, 10], KUK)
    values = estimate.pi_hat + np.repeat([-0.1, 0.1], [600, 400])[:, None] * [1, -1]
    found = likelihood_intervals._bca(estimate, values, np.array([0.025, 0.975]))[0]
    d = np.repeat(KUK.left_inverse()[0], [330, 60, 10]) - estimate.pi_hat[0]
    a, z0 = (d**3).sum() / (6 * (d**2).sum() ** 1.5), norm.ppf(0.6)
    z = z0 + norm.ppf([0.025, 0.975])
    np.testing.assert_allclose(found, norm.cdf(z0 + z / (1 - a * z)))


def test_a_chosen_left_inverse_is_used_again() -> None:
    inverse = best_left_inverse(KUK, np.array([0.01, 0.99]))
    estimate = estimate_by_moments(Sample.of([150, 150, 100], KUK).counts, KUK, inverse=inverse)
    found = estimate.intervals(0.95, "bootstrap", seed=1, replicates=4000)
    assert ((found.low < estimate.pi_hat) & (estimate.pi_hat < found.high)).all()
    np.testing.assert_allclose(found.half_width, 1.96 * estimate.standard_error, rtol=0.08)


def test_reports_that_do_not_vary() -> None:
    estimate = estimate_of([0, 50], WARNER)
    flat = estimate.intervals(0.95, "bootstrap", seed=1)
    np.testing.assert_allclose(flat.low, flat.high)
    none = estimate.intervals(0.95, "bootstrap", seed=1, ends="bca")
    assert np.isnan(none.low).all()
    assert none.flags == ("no bca interval where the reports do not vary",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs a seed"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 1, "replicates": 10}, "replicates = 10"),
        ({"seed": 1, "source": "rows"}, "source = 'rows'"),
        ({"seed": 1, "ends": "basic"}, "ends = 'basic'"),
        ({"seed": 1, "B": 2000}, "B is no option"),
    ],
)
def test_refusals(options: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        estimate_of([120, 180], WARNER).intervals(0.95, "bootstrap", **options)
