"""What a released value tells, against all rules of guessing."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.designs import Dense, Sparse, coded
from maskwell.errors import MatrixError, ParameterError, TooLargeError, WrongTypeError
from maskwell.microdata.risk import best_guess, repeated_guess, repeated_releases
from maskwell.microdata.risk.attribute_disclosure import binary_guess, check_prior, guess_probability, posterior_matrix

EXCHANGE = [["5/6", "1/8", "1/3"], ["1/12", "3/4", "1/3"], ["1/12", "1/8", "1/3"]]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_rule_beats_all_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    m, k = random.integers(2, 5, size=2)
    P, pi = random.dirichlet(np.ones(m), size=k).T, random.dirichlet(np.ones(k))
    chances = {rule: sum(P[i, j] * pi[j] for i, j in enumerate(rule)) for rule in product(range(k), repeat=m)}
    found = best_guess(P, pi)
    assert found.probability == pytest.approx(max(chances.values()))
    assert chances[tuple(found.rule.tolist())] == pytest.approx(found.probability)
    assert found.floor == pytest.approx(pi.max())
    assert found.probability >= found.floor - 1e-12
    np.testing.assert_allclose(found.posterior, posterior_matrix(P, pi).max(axis=1))
    if m == k:
        assert found.agreement == pytest.approx(float(np.diag(P) @ pi))
        assert found.probability >= found.agreement - 1e-12
    else:
        assert found.agreement is None


def test_sparse_and_dense_designs_tell_the_same() -> None:
    dense, sparse = Dense.of(EXCHANGE), Sparse.of_matrix(EXCHANGE)
    one, other = best_guess(dense, [12, 8, 3]), best_guess(sparse, [12, 8, 3])
    assert one.probability == pytest.approx(other.probability)
    np.testing.assert_allclose(one.posterior, other.posterior)
    assert one.to_dict().keys() == other.to_dict().keys()
    assert one.rule.tolist() == other.rule.tolist() == [0, 1, 0]  # three as likely: the first


def test_the_first_of_several_is_taken_also_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "ENTRY_WORK", 1)
    assert best_guess(Dense.of([["1/2"] * 3, ["1/2"] * 3]), [1, 1, 1]).rule.tolist() == [0, 0]


def test_a_large_sparse_design_needs_no_matrix() -> None:
    k = 20_000
    design = Sparse.of_columns([{j: 3, j ^ 1: 1} for j in range(k)], Categories.numbered(k))
    found = best_guess(design, np.ones(k))
    assert found.probability == pytest.approx(0.75)
    assert found.greatest == pytest.approx(0.75)


def test_a_value_that_cannot_come_has_no_posterior() -> None:
    P = [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    found = posterior_matrix(P, [0.25, 0.25, 0.5])
    assert np.isnan(found[1]).all()
    guess = best_guess(P, [1, 1, 2])
    assert np.isnan(guess.posterior[1])
    assert guess.greatest == 1


def test_one_large_category_is_said() -> None:
    assert any("95%" in note for note in best_guess([[1, 0], [0, 1]], [95, 5]).notes)
    assert best_guess([[1, 0], [0, 1]], [5, 5]).notes == ()


def test_shares_and_counts() -> None:
    assert check_prior([0.5, 0.5 + 5e-9], 2).sum() == pytest.approx(1, abs=1e-15)
    assert check_prior([3, 1], 2).tolist() == [0.75, 0.25]
    for wrong in ([0.5, 0.4], [1, 2, 3], [-1, 2], [0, 0], ["a", "b"], [np.nan, 1]):
        with pytest.raises(ParameterError, match="pi"):
            check_prior(wrong, 2)


@pytest.mark.parametrize("large", ["1/2", "0.6", "0.75", "0.9", "1"])
def test_two_categories_on_a_grid(large: str) -> None:
    pi_1 = Fraction(large)
    pi_2 = 1 - pi_1
    for step in range(101):
        theta = Fraction(step, 100)
        P = [[1 - theta * pi_2 / pi_1, theta], [theta * pi_2 / pi_1, 1 - theta]]
        found = binary_guess(theta, pi_1)
        assert float(found.probability) == pytest.approx(guess_probability(P, [float(pi_1), float(pi_2)]))
        low, high = found.minimax_range
        assert found.minimax is (low <= theta <= high) or pi_2 == 0
        assert found.determinant == P[0][0] * P[1][1] - P[0][1] * P[1][0]


def test_two_categories_bad_input() -> None:
    with pytest.raises(ParameterError, match="the larger one"):
        binary_guess(0.6, 0.3)
    with pytest.raises(ParameterError, match="theta"):
        binary_guess(1.2, 0.6)


def test_releases_together_tell_what_all_combinations_tell() -> None:
    P, pi = np.array([[0.8, 0.3], [0.2, 0.7]]), np.array([0.6, 0.4])
    found = repeated_guess([P, P, P], pi)
    for m in (1, 2, 3):
        total = sum(max(pi * np.prod(P[list(z)], axis=0)) for z in product(range(2), repeat=m))
        assert found[m - 1] == pytest.approx(total)


def test_releases_of_the_example() -> None:
    np.testing.assert_allclose(
        repeated_guess([EXCHANGE] * 8, [12, 8, 3])[[0, 1, 2, 4, 7]], [0.739, 0.783, 0.839, 0.891, 0.929], atol=5e-4
    )


def test_releases_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="no release"):
        repeated_guess([], [1, 2])
    with pytest.raises(MatrixError, match="different"):
        repeated_guess([[[1, 0], [0, 1]], EXCHANGE], [1, 2])
    monkeypatch.setattr(repeated_releases, "LIMIT", 50)
    with pytest.raises(TooLargeError, match="combinations"):
        repeated_guess([EXCHANGE] * 4, [12, 8, 3])


def test_sets_are_no_released_values() -> None:
    from maskwell.designs import Subset

    with pytest.raises(WrongTypeError, match="sets"):
        best_guess(Subset.from_gamma(3, Categories.numbered(6), size=2), [1] * 6)
