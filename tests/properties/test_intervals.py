"""What holds for every interval, whatever the design and the counts."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from maskwell.designs import Dense
from maskwell.estimation import Estimate, LeftInverse, Sample, estimate_by_moments


@st.composite
def two_to_two(draw: st.DrawFn) -> Estimate:
    a, b = (draw(st.integers(0, 20)) for _ in range(2))
    assume(a != b)
    design = Dense.of([[f"{a}/20", f"{b}/20"], [f"{20 - a}/20", f"{20 - b}/20"]])
    possible = [(a + b) > 0, (40 - a - b) > 0]
    counts = [draw(st.integers(0, 300)) if p else 0 for p in possible]
    assume(sum(counts) >= 2)
    return estimate_by_moments(Sample.of(counts, design).counts, design)


@given(two_to_two(), st.sampled_from([0.5, 0.9, 0.99]))
def test_score_and_exact_intervals_lie_in_the_unit_interval_and_nest(estimate: Estimate, level: float) -> None:
    for method in ("score", "exact"):
        inner, outer = (estimate.confidence_interval(c, method) for c in (level, (1 + level) / 2))
        assert ((inner >= 0) & (inner <= 1)).all()
        assert (inner[:, 0] < inner[:, 1]).all()
        assert (outer[:, 0] <= inner[:, 0] + 1e-12).all()
        assert (outer[:, 1] >= inner[:, 1] - 1e-12).all()
        np.testing.assert_allclose(inner[1], 1 - inner[0, ::-1], atol=1e-12)


@given(two_to_two())
def test_score_and_profile_intervals_hold_the_share(estimate: Estimate) -> None:
    low, high = estimate.confidence_interval(0.95, "score")[0]
    assert low - 1e-12 <= np.clip(estimate.pi_hat[0], 0, 1) <= high + 1e-12
    low, high = estimate.confidence_interval(0.95, "profile")[0]
    assert 0 <= low - 0.0 <= np.clip(estimate.pi_hat[0], 0, 1) + 1e-9
    assert np.clip(estimate.pi_hat[0], 0, 1) - 1e-9 <= high <= 1


@given(st.lists(st.lists(st.integers(1, 9), min_size=4, max_size=4), min_size=3, max_size=3))
def test_minimax_is_certified_and_no_worse_than_the_uniform_guess(columns: list[list[int]]) -> None:
    design = Dense.from_integers(columns)
    assume(design.identifiable)
    assume(design.singular_range()[1] > 0.02)
    found = LeftInverse.minimax(design)
    P = design.matrix()
    worst = [float((P.T @ (L**2).sum(axis=0)).max() - 1) for L in (found.L, design.left_inverse())]
    assert found.gap is not None
    assert found.value is not None
    assert worst[0] <= worst[1] + 1e-6 * (1 + worst[1])
    assert worst[0] <= found.value + found.gap + 1e-9
