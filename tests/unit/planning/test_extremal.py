"""Extremal designs: exact, optimal against an enumeration of all corners, and honest about what they cannot tell."""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.together import together

from maskwell import Categories, Demand
from maskwell.designs import Subset, Uniform
from maskwell.designs.rational import Frame, product
from maskwell.planning import extremal_design, minimax_size
from maskwell.planning.extremal import UTILITIES

SHARES = {
    2: [["1/2", "1/2"], ["0.9", "0.1"], [1, 0]],
    3: [["1/3", "1/3", "1/3"], ["0.5", "0.3", "0.2"], ["0.8", "0.1", "0.1"]],
    4: [["1/4"] * 4, ["0.4", "0.3", "0.2", "0.1"], ["0.4", "0.4", "0.1", "0.1"], ["0.97", "0.01", "0.01", "0.01"]],
}
CASES = [(pi, gamma) for k in SHARES for pi in SHARES[k] for gamma in ("1.05", "2", "3", "30")]


@lru_cache
def corners(k, gamma):
    """Every corner of the region of weights, in fractions: independent patterns that can sum to one."""
    rows = {mask: [gamma if mask >> j & 1 else Fraction(1) for j in range(k)] for mask in range(1, 2**k - 1)}
    ones, found = [[Fraction(1)] * k], []
    for count in range(1, k + 1):
        for masks in combinations(rows, count):
            chosen = [rows[mask] for mask in masks]
            frame = Frame.of(chosen)
            if frame.rank == count:
                thetas = frame.coefficients(ones)
                if min(thetas[0]) > 0 and product(thetas, chosen) == ones:
                    found.append((chosen, thetas[0]))
    return found


@together("utility", UTILITIES)
@together(("pi", "gamma"), CASES)
def test_no_corner_is_better(pi, gamma, utility):
    k, shares = len(pi), np.array([float(Fraction(p)) for p in pi])
    worth = UTILITIES[utility]
    best = max(
        float(worth(np.array(rows, dtype=float), shares) @ np.array(thetas, dtype=float))
        for rows, thetas in corners(k, Fraction(gamma))
    )
    found = extremal_design(pi, gamma, utility=utility)
    assert found.value == pytest.approx(best, rel=1e-9)
    assert found.bound == pytest.approx(best, rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(
    weights=st.lists(st.integers(0, 50), min_size=2, max_size=7).filter(any),
    gamma=st.fractions(Fraction(101, 100), 1000),
    utility=st.sampled_from(sorted(UTILITIES)),
    average=st.booleans(),
)
def test_every_design_is_exact_admissible_and_optimal(weights, gamma, utility, average):
    pi = [Fraction(w, sum(weights)) for w in weights]
    found = extremal_design(pi, gamma, utility=utility, average=average)
    P = found.design.exact_matrix()
    assert all(sum(column) == 1 for column in zip(*P, strict=True))
    assert found.design.parity_exact() == found.gamma <= gamma
    assert found.design.is_admissible()
    worth = UTILITIES[utility](found.design.matrix(), np.array([float(p) for p in pi])).sum()
    assert worth == pytest.approx(found.value, rel=1e-9)
    assert found.value <= found.bound * (1 + 1e-12)
    assert found.value == pytest.approx(found.bound, rel=1e-8, abs=1e-15)
    assert average or found.design.m <= len(pi)


@together("gamma", [2, 3, 30])
@together("k", [2, 3, 4, 5, 6])
def test_at_equal_shares_chi_square_gives_the_minimax_design(k, gamma):
    found = extremal_design([Fraction(1, k)] * k, gamma, utility="chi-square", average=True)
    size = minimax_size(k, gamma)
    categories = Categories.numbered(k)
    expected = Uniform.from_gamma(gamma, categories) if size == 1 else Subset.from_gamma(gamma, categories, size=size)
    assert found.design == expected
    assert found.identifiable


def test_averaging_exchanges_categories_of_equal_share_at_no_cost():
    corner = extremal_design(["1/4"] * 4, 2)
    mean = extremal_design(["1/4"] * 4, 2, average=True)
    assert (corner.rank, corner.identifiable, corner.design.m) == (2, False, 2)
    assert (mean.rank, mean.identifiable) == (4, True)
    assert mean.design == Subset.from_gamma(2, Categories.numbered(4), size=2)
    assert mean.value == pytest.approx(corner.value, rel=1e-12)
    assert "averaged" in corner.design.provenance["warning"]
    found = extremal_design(["0.4", "0.2", "0.2", "0.2"], 2, average=True)
    held = {frozenset(chosen): weight for chosen, weight in zip(found.design.sets, found.design.weights, strict=True)}
    for chosen, weight in held.items():
        for a, b in ((1, 2), (2, 3), (1, 3)):
            swapped = frozenset({a: b, b: a}.get(j, j) for j in chosen)
            assert held[swapped] == weight
    plain, mean = (extremal_design(["0.4", "0.3", "0.2", "0.1"], 2, average=average) for average in (False, True))
    assert plain.design == mean.design
    if not plain.identifiable:
        assert "averaged" not in plain.design.provenance["warning"]


@together("epsilon", ["0.000001", "0.1", "5", "20"])
def test_irrational_demands_keep_their_numbers_short(epsilon):
    demand = Demand.from_epsilon(epsilon)
    found = extremal_design(["0.4", "0.3", "0.2", "0.1"], demand)
    assert found.gamma <= demand.gamma_exact
    assert float((demand.gamma_exact - found.gamma) / (demand.gamma_exact - 1)) < 1e-9
    assert found.gamma.denominator < 2**64
