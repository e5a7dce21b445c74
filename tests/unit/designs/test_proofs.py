"""Proofs that one design is made from another, checked in fractions, and the garblings that they hold."""

import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from tests.support.examples import ABC, YES_NO
from tests.support.quiet import told

from maskwell.designs import Dense, Unary, Uniform
from maskwell.designs.garbling import Garbling
from maskwell.designs.proofs import gain_margin, garbling_residual, is_transition, verify_gain, verify_garbling
from maskwell.designs.rational import Matrix, product
from maskwell.errors import TooLargeError


def transition(rng: random.Random, m: int, k: int) -> Matrix:
    columns = [[rng.randint(0, 9) for _ in range(m - 1)] + [1] for _ in range(k)]
    return [list(row) for row in zip(*([Fraction(n, sum(c)) for n in c] for c in columns), strict=True)]


@pytest.fixture
def yes() -> tuple[Matrix, Matrix, Matrix]:
    rng = random.Random(3)
    C, P = transition(rng, 3, 4), transition(rng, 4, 3)
    return C, P, product(C, P)


def test_a_garbling_is_verified_and_moved_weight_or_a_wrong_shape_noticed(yes: tuple[Matrix, Matrix, Matrix]) -> None:
    C, P, A = yes
    assert verify_garbling(C, P, A)
    assert garbling_residual(C, P, A) == 0
    C = [list(row) for row in C]
    C[0][0], C[1][0] = C[0][0] + Fraction(1, 10**30), C[1][0] - Fraction(1, 10**30)
    assert is_transition(C)
    assert not verify_garbling(C, P, A)
    assert 0 < garbling_residual(C, P, A) < Fraction(1, 10**30)
    C, P, A = yes
    assert not verify_garbling([], P, A)
    assert not verify_garbling([row[:-1] for row in C], P, A)
    assert not verify_garbling([*C[:-1], C[-1][:-1]], P, A)
    assert not verify_garbling(C[:-1], P, A)
    assert not verify_gain([row[:-1] for row in A], P, A)
    assert not verify_gain([[Fraction(1)] * 3], P, A)


@pytest.mark.parametrize("part", range(3))
def test_every_single_change_of_a_garbling_or_a_design_is_noticed(
    yes: tuple[Matrix, Matrix, Matrix], part: int
) -> None:
    for i, row in enumerate(yes[part]):
        for j in range(len(row)):
            for step in (Fraction(1, 10**30), Fraction(-1, 10**30), Fraction(1)):
                changed = [[list(r) for r in matrix] for matrix in yes]
                changed[part][i][j] += step
                assert not verify_garbling(*changed)


def test_a_gain_is_verified_and_negative_entries_are_no_garbling() -> None:
    truth = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    coin = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    unmix = [[Fraction(3, 2), Fraction(-1, 2)], [Fraction(-1, 2), Fraction(3, 2)]]
    assert product(unmix, coin) == truth
    assert not verify_garbling(unmix, coin, truth)
    assert verify_gain(truth, coin, truth)
    assert gain_margin(truth, coin, truth) == Fraction(1, 2)
    assert not verify_gain([[2 * g for g in row] for row in truth], coin, truth)
    assert not verify_gain(truth, truth, coin)
    assert not verify_gain([[Fraction(0)] * 2] * 2, coin, truth)
    flipped = [row[::-1] for row in truth]
    assert not verify_gain(flipped, coin, truth)


@pytest.mark.parametrize("seed", range(50))
def test_no_gain_speaks_against_a_garbling(seed: int) -> None:
    rng = random.Random(seed)
    C, P = transition(rng, 3, 4), transition(rng, 4, 3)
    G = [[Fraction(rng.randint(-5, 5), 5) for _ in range(3)] for _ in range(3)]
    assert gain_margin(G, P, product(C, P)) <= 0


def test_entries_matrix_and_text_are_the_same_and_need_no_other_library() -> None:
    probe = "import sys, maskwell.designs.proofs; print([n for n in ('numpy', 'scipy') if n in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"
    garbling = Garbling.of(3, [{1: 2, 0: 1}, {2: 7}])
    assert garbling.shape == (3, 2)
    assert list(garbling.entries()) == [(0, 0, Fraction(1, 3)), (1, 0, Fraction(2, 3)), (2, 1, 1)]
    assert garbling.exact() == [[Fraction(1, 3), 0], [Fraction(2, 3), 0], [0, 1]]
    np.testing.assert_allclose(garbling.matrix(), [[1 / 3, 0], [2 / 3, 0], [0, 1]])
    assert garbling.to_dict() == {"rows": 3, "columns": [[[0, "1"], [1, "2"]], [[2, "7"]]]}
    assert repr(garbling) == "Garbling(3 x 2, 3 positive)"
    for form in (Garbling.identity(5000).exact, Garbling.identity(5000).matrix):
        with told(TooLargeError, match="5,000 by 5,000"):
            form()


def test_two_steps_as_one_design_and_sets_become_texts() -> None:
    original = Dense.of([["0.3", "0.1"], ["0.3", "0.1"], ["0.4", "0.8"]], YES_NO, ABC)
    merged = Dense.of([["0.6", "0.2"], ["0.4", "0.8"]], YES_NO)
    whole = Garbling.of(3, [{0: 1, 1: 1}, {2: 1}]).after(merged, original)
    assert whole.exact_matrix() == original.exact_matrix()
    assert whole.outputs.labels == ("a", "b", "c")
    rappor = Unary.rappor_from_gamma(4, YES_NO)
    whole = Garbling.of_matrix(rappor.exact_matrix()).after(Uniform.of(1, YES_NO), rappor)
    assert whole.exact_matrix() == rappor.exact_matrix()
    assert whole.outputs.labels == ("00", "01", "10", "11")
    assert whole.exact_matrix()[2][0] > whole.exact_matrix()[2][1], "the text 10 names the first category"
