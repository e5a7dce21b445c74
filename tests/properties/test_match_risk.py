"""What holds for the chance of a correct match, whatever the counts and the matrix."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.matching import exact_risk, told_risk

from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.match_chances import highest_share

CHANCES = st.one_of(st.floats(0, 1, allow_subnormal=False), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[int], list[float], int]:
    """Counts, the row of a matrix, and a target that occurs."""
    k = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 5), min_size=k, max_size=k))
    x = draw(st.integers(0, k - 1))
    counts[x] = max(1, counts[x])
    return counts, draw(st.lists(CHANCES, min_size=k, max_size=k)), x


@given(rows())
@settings(deadline=None)
def test_no_chance_exceeds_one_over_the_records_or_the_bound(row: tuple[list[int], list[float], int]) -> None:
    counts, p, x = row
    risk = told_risk(counts, p, x)
    for t, given_t in risk.given.items():
        most = (1 + 1e-9) / max(t, counts[x])
        assert risk.pmf[t] < 1e-12 or given_t <= most  # unlikelier ones have lost their digits
    assert risk.unconditional <= risk.strict * (1 + 1e-9) + 1e-300
    assert risk.in_range <= risk.strict * (1 + 1e-9) + 1e-300
    if p[x] > 1e-9:
        bound = highest_share(np.array(counts), np.array(p), p[x])
        assert told_risk(counts, p, x).strict <= bound * (1 + 1e-9)


@given(rows())
@settings(deadline=None)
def test_the_likeliest_to_arrive_loses_share(row: tuple[list[int], list[float], int]) -> None:
    counts, p, x = row
    p[x] = max(q for q, n in zip(p, counts, strict=True) if n)
    given_t = [float(value) for _, value in sorted(exact_risk(counts, p, x).given.items())]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(given_t))


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(deadline=None, max_examples=25)
def test_expected_matches_are_a_mean_of_shares(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    counts, P = rng.integers(1, 6, k), rng.dirichlet(np.ones(k), k).T
    found = cell_risks(counts, P)
    arrivals = np.array([exact_risk(counts.tolist(), P[x].tolist(), x).unconditional for x in range(k)])
    np.testing.assert_allclose(found.unconditional, arrivals, atol=1e-13)
    assert (found.any_release >= found.in_range).all()
    assert (found.strict >= found.in_range).all()
    assert (1 / counts >= found.strict - 1e-12).all()
