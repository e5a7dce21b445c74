"""Best sizes and matching levels, against scans over all sizes."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Categories, LocalDiversity, Subset
from maskwell.errors import ParameterError
from maskwell.planning.optimal import added_variance, matching_gamma, matching_l, minimax_size


@given(k=st.integers(2, 60), gamma=st.fractions(Fraction(101, 100), 100))
def test_minimax_size_beats_all_sizes(k, gamma):
    best = min((added_variance(k, float(gamma), q), q) for q in range(1, k))[0]
    assert added_variance(k, float(gamma), minimax_size(k, gamma)) == pytest.approx(best, rel=1e-9)


def test_ties_take_the_smaller_size():
    assert minimax_size(10, 6) == 1 and minimax_size(10, "5.999") == 2
    assert added_variance(10, 6, 1) == pytest.approx(added_variance(10, 6, 2), rel=1e-14)


@given(k=st.integers(2, 30), gamma=st.fractions(Fraction(11, 10), 50), data=st.data())
def test_added_variance_is_that_of_the_design(k, gamma, data):
    q = data.draw(st.integers(1, k - 1))
    design = Subset.from_gamma(gamma, Categories.numbered(k), size=q)
    assert added_variance(k, float(gamma), q) == pytest.approx(design.added_variance(), rel=1e-8)


@given(k=st.integers(3, 200), data=st.data())
def test_matching_levels_agree_with_the_designs(k, data):
    size = data.draw(st.integers(2, k - 1))
    match = matching_gamma(k, size)
    diverse = LocalDiversity.of(size, Categories.numbered(k))
    assert match.added_variance == pytest.approx(diverse.added_variance(), rel=1e-9)
    assert min(added_variance(k, match.gamma, q) for q in range(1, k)) == pytest.approx(match.added_variance, rel=1e-8)
    assert matching_l(k, match.gamma)[0] == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("call", [lambda: minimax_size(1, 3), lambda: minimax_size(5, 1), lambda: matching_gamma(5, 5),
                                  lambda: matching_gamma(5, 1), lambda: minimax_size(2.5, 3)])  # fmt: skip
def test_refusals(call):
    with pytest.raises(ParameterError):
        call()
