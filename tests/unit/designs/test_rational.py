"""Linear algebra in fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from maskwell.designs.rational import Frame, Matrix, independent_rows, inverse, product, solve_sparse

PRIME = 2**61 - 1


def some_matrix(rng: random.Random, m: int, k: int) -> Matrix:
    return [[Fraction(rng.randint(-9, 9), rng.randint(1, 9)) for _ in range(k)] for _ in range(m)]


def of_rank(rng: random.Random, m: int, k: int, rank: int) -> Matrix:
    return product(some_matrix(rng, m, rank), some_matrix(rng, rank, k))


@pytest.mark.parametrize("seed", range(20))
def test_inverse_and_product(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(1, 7)
    X = some_matrix(rng, n, n)
    if len(independent_rows(X)) == n:
        assert product(X, inverse(X)) == product(inverse(X), X) == np.eye(n, dtype=int).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_ranks_agree_with_singular_values(seed: int) -> None:
    rng = random.Random(seed)
    m, k = rng.randint(1, 7), rng.randint(1, 7)
    P = of_rank(rng, m, k, rng.randint(1, min(m, k)))
    rank = int(np.linalg.matrix_rank(np.array(P, dtype=float)))
    order = rng.sample(range(m), m)
    assert len(independent_rows(P)) == len(independent_rows(P, order)) == rank
    assert independent_rows(P, order, PRIME) == independent_rows(P, order)
    if rank:
        frame = Frame.of(P, order)
        assert frame.rank == rank and frame.spans(P)
        assert product(frame.coefficients(P), [P[u] for u in frame.rows]) == P
        null = list(frame.null_vectors(P))
        assert len(null) == k - rank
        assert all(product(P, [[v] for v in x]) == [[0]] * m for x in null)


def test_sparse_equations_and_those_with_many_solutions() -> None:
    P = [[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1 + PRIME)]]
    assert len(independent_rows(P, None, PRIME)) == 1
    assert Frame.of(P).rank == 2
    three = [[*row, Fraction(0)] for row in P] + [[Fraction(0), Fraction(0), Fraction(PRIME)]]
    assert Frame.of(three).rank == 3
    one = Fraction(1)
    assert solve_sparse([({0: one, 1: one}, one)]) is None
    assert solve_sparse([({0: one}, one), ({}, Fraction(0))]) == {0: 1}
    assert solve_sparse([({0: one}, one), ({}, one)]) is None


@pytest.mark.parametrize("seed", range(20))
def test_sparse_equations(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(1, 8)
    X, x = some_matrix(rng, n + 2, n), [Fraction(rng.randint(-5, 5)) for _ in range(n)]
    values = [row[0] for row in product(X, [[v] for v in x])]
    terms = [{j: a for j, a in enumerate(row) if a} for row in X]
    if len(independent_rows(X)) == n:
        assert solve_sparse(zip(terms, values, strict=True)) == dict(enumerate(x))
        assert solve_sparse(zip(terms, [*values[:-1], values[-1] + 1], strict=True)) is None
