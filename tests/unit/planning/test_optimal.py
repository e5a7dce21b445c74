"""Best sizes and matching levels, against scans over all sizes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Categories, Demand
from maskwell.designs import LocalDiversity, Subset
from maskwell.errors import ParameterError
from maskwell.planning import matching_gamma, minimax_size
from maskwell.planning.set_sizes import added_variance, matching_l, minimax_sizes, switch_k


def exact_variance(k, gamma, q):
    """V_R in fractions, so that ties are ties."""
    D = q * gamma + k - q
    return Fraction(k - 1, k) * ((k - 1) * D**2 / (q * (k - q) * (gamma - 1) ** 2) - 1)


@given(k=st.integers(2, 60), gamma=st.fractions(Fraction(101, 100), 100))
def test_minimax_sizes_are_the_best_of_all_sizes(k, gamma):
    variances = {q: exact_variance(k, gamma, q) for q in range(1, k)}
    best = min(variances.values())
    assert list(minimax_sizes(k, gamma)) == [q for q, variance in variances.items() if variance == best]


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 10, 20, 33])
def test_sizes_at_and_beside_every_switch_point(k):
    """Where gamma^2 is the square of a fraction there are exact ties; beside a switch the size changes."""
    for q in range(1, k - 1):
        square = 1 + Fraction(k * (k - 2 * q - 1), q * (q + 1))
        if square <= 1:
            continue
        above, below = (Fraction(str(float(square) ** 0.5 * factor)) for factor in (1 + 1e-9, 1 - 1e-9))
        assert minimax_size(k, above) == q
        assert below <= 1 or minimax_size(k, below) == q + 1


def test_closed_and_exact_demands_are_kept_exactly():
    """At k = 10 two sizes tie at gamma = 6; strictly below it only the larger one is best."""
    closed = Demand.from_rho("1/7", "1/2", closed=True)
    assert closed.gamma_exact == 6
    assert minimax_sizes(10, closed) == (2,)
    # A hair below 5 is not 5, unless a float says so.
    hair = Fraction(1, 10**15)
    assert matching_l(10, 6) == (5.0, 5, 5)
    assert matching_l(10, 6 + hair)[1:] == (4, 5)
    assert matching_l(10, 6 - hair)[1:] == (5, 6)
    assert matching_l(10, 6.000000000000001)[1:] == (5, 5)


@given(k=st.integers(2, 30), gamma=st.fractions(Fraction(11, 10), 50), data=st.data())
def test_added_variance_is_that_of_the_design(k, gamma, data):
    q = data.draw(st.integers(1, k - 1))
    design = Subset.from_gamma(gamma, Categories.numbered(k), size=q)
    assert added_variance(k, gamma, q) == design.added_variance() == float(exact_variance(k, gamma, q))


@given(k=st.integers(3, 200), data=st.data())
def test_matching_levels_agree_with_the_designs(k, data):
    size = data.draw(st.integers(2, k - 1))
    match = matching_gamma(k, size)
    diverse = LocalDiversity.of(size, Categories.numbered(k))
    assert match.added_variance == pytest.approx(diverse.added_variance(), rel=1e-9)
    assert min(added_variance(k, match.gamma, q) for q in range(1, k)) == pytest.approx(match.added_variance, rel=1e-8)
    assert matching_l(k, match.gamma) == (size, size, size)


@given(k=st.integers(3, 100), gamma=st.fractions(Fraction(101, 100), 200))
def test_floor_adds_less_variance_and_ceiling_hides_more(k, gamma):
    best = added_variance(k, gamma, minimax_size(k, gamma))
    match = matching_l(k, gamma)
    assert match.floor <= match.real <= match.ceiling <= match.floor + 1
    if 2 <= match.floor < k:
        assert LocalDiversity.of(match.floor, Categories.numbered(k)).added_variance() <= best * (1 + 1e-12)
    if 2 <= match.ceiling < k:
        assert LocalDiversity.of(match.ceiling, Categories.numbered(k)).added_variance() >= best * (1 - 1e-12)


@pytest.mark.parametrize("call", [lambda: minimax_size(1, 3), lambda: minimax_size(5, 1), lambda: matching_gamma(5, 5),
                                  lambda: matching_gamma(5, 1), lambda: minimax_size(2.5, 3),
                                  lambda: minimax_size(5, Demand.from_gamma(1)), lambda: matching_gamma(2, 2),
                                  lambda: minimax_size(5, Demand.from_curves()), lambda: added_variance(5, 3, 5),
                                  lambda: added_variance(5, 3, 0), lambda: matching_l(5, 1)])  # fmt: skip
def test_refusals(call):
    with pytest.raises(ParameterError):
        call()


@given(st.fractions(Fraction(11, 10), 60, max_denominator=100), st.integers(1, 8))
def test_the_least_k_is_the_first(gamma: Fraction, q: int) -> None:
    k = switch_k(gamma, q)
    assert minimax_size(k, gamma) >= q + 1
    assert k - 1 < 2 or minimax_size(k - 1, gamma) <= q
