"""Facts that hold for every file and every matrix that keeps its counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell.designs import Dense
from maskwell.estimation import estimate_invariant, estimate_unknown, variance_inflation
from maskwell.estimation.release_variance import conditional_covariance
from maskwell.microdata.risk import best_guess, repeated_guess

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(lambda counts: sum(counts) >= 2)


@st.composite
def kept_counts(draw: st.DrawFn) -> tuple[list[int], Dense]:
    """Counts, and a matrix that keeps them: the posterior after a random first release, ``P = Q R``."""
    counts = draw(COUNTS)
    k = len(counts)
    whole = st.lists(st.integers(0, 5), min_size=k, max_size=k)
    R = [[Fraction(x + (i == j)) for j, x in enumerate(draw(whole))] for i in range(k)]
    totals = [sum(R[i][j] for i in range(k)) for j in range(k)]
    R = [[R[i][j] / totals[j] for j in range(k)] for i in range(k)]
    lam = [sum(R[a][j] * counts[j] for j in range(k)) for a in range(k)]
    P = [
        [sum((R[a][i] * R[a][j] * counts[i] / lam[a] for a in range(k) if lam[a]), Fraction(0)) for j in range(k)]
        for i in range(k)
    ]
    for j, n in enumerate(counts):
        if not n:
            for i in range(k):
                P[i][j] = Fraction(i == j)
    return counts, Dense.of(P)


@given(kept_counts())
def test_randomizing_at_most_doubles_a_variance(case: tuple[list[int], Dense]) -> None:
    counts, P = case
    n = sum(counts)
    p = np.array(counts) / n
    C = conditional_covariance(P, counts)
    assert np.linalg.eigvalsh(C)[0] >= -1e-12
    assert np.linalg.eigvalsh((np.diag(p) - np.outer(p, p)) / n - C)[0] >= -1e-12
    np.testing.assert_allclose(C.sum(axis=1), 0, atol=1e-12)
    factors = variance_inflation(P, counts)
    assert (factors >= 1 - 1e-9).all()
    assert (factors <= 2 + 1e-9).all()


@given(kept_counts())
def test_the_best_guess_lies_between_its_floor_and_one(case: tuple[list[int], Dense]) -> None:
    counts, P = case
    found = best_guess(P, counts)
    assert max(counts) / sum(counts) - 1e-12 <= found.probability <= 1 + 1e-12
    assert found.agreement is not None
    assert found.agreement <= found.probability + 1e-12


@settings(max_examples=25)
@given(kept_counts())
def test_every_further_release_tells_no_less(case: tuple[list[int], Dense]) -> None:
    counts, P = case
    found = repeated_guess([P] * 4, counts)
    assert (np.diff(found) >= -1e-9).all()
    assert found[-1] <= 1 + 1e-9


@given(kept_counts(), st.data())
def test_estimates_know_what_they_rest_on(case: tuple[list[int], Dense], data: st.DataObject) -> None:
    counts, P = case
    k = len(counts)
    blocks = data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
    whole, apart = estimate_unknown(counts), estimate_unknown(counts, blocks=blocks)
    assert (apart.sampling_variance == whole.sampling_variance).all()
    assert (apart.randomization_variance <= whole.randomization_variance * sum(counts) + 1e-12).all()
    for found in (whole, apart, estimate_invariant(counts, P, counts=counts)):
        low, high = found.confidence_interval().T
        assert (low <= found.pi_hat + 1e-12).all()
        assert (found.pi_hat <= high + 1e-12).all()
        assert (low >= 0).all()
        assert (high <= 1 + 1e-12).all()
        np.testing.assert_allclose(found.pi_hat.sum(), 1)
