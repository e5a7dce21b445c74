"""Facts that hold for every file and every matrix that keeps its counts."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.released import known_matrix, moved

from maskwell.designs import Dense
from maskwell.estimation.direct_estimate import Released, estimate_unknown

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
def test_randomizing_at_most_doubles_a_variance_and_guesses_have_a_floor(case: tuple[list[int], Dense]) -> None:
    counts, P = case
    n = sum(counts)
    p = np.array(counts) / n
    C = moved(P.matrix(), counts) / n**2
    assert np.linalg.eigvalsh(C)[0] >= -1e-12
    assert np.linalg.eigvalsh((np.diag(p) - np.outer(p, p)) / n - C)[0] >= -1e-12
    np.testing.assert_allclose(C.sum(axis=1), 0, atol=1e-12)
    pi = np.array(counts) / sum(counts)
    found = P.largest_in_rows(pi)[0].sum()
    assert max(pi.max(), np.diag(P.matrix()) @ pi) - 1e-12 <= found <= 1 + 1e-12


@given(kept_counts(), st.data())
def test_estimates_know_what_they_rest_on(case: tuple[list[int], Dense], data: st.DataObject) -> None:
    counts, P = case
    k = len(counts)
    blocks = data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
    whole, apart = estimate_unknown(Released.of(counts)), estimate_unknown(Released.of(counts), blocks=blocks)
    assert (apart.sampling_variance == whole.sampling_variance).all()
    assert (apart.randomization_variance <= whole.randomization_variance * sum(counts) + 1e-12).all()
    for found in (whole, apart, known_matrix(counts, P.matrix())):
        low, high = found.confidence_interval().T
        assert (low <= found.pi_hat + 1e-12).all()
        assert (found.pi_hat <= high + 1e-12).all()
        assert (low >= 0).all()
        assert (high <= 1 + 1e-12).all()
        np.testing.assert_allclose(found.pi_hat.sum(), 1)
