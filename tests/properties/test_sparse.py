"""A sparse design is the dense one without its zeros, for any matrix: entries, parity, algebra, draws and file."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.designs import Dense, Sparse, wire

often = settings(deadline=None, derandomize=True, max_examples=30)
integers = st.one_of(st.just(0), st.just(0), st.integers(1, 9), st.integers(1, 2**66))


@st.composite
def weights(draw: st.DrawFn) -> list[list[int]]:
    """Integers in the ratio of the chances, one list for each truth, with many zeros."""
    m, k = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return draw(st.lists(st.lists(integers, min_size=m, max_size=m).filter(any), min_size=k, max_size=k))


def pair(columns: list[list[int]]) -> tuple[Sparse, Dense]:
    inputs, outputs = (Categories.numbered(count) for count in (len(columns), len(columns[0])))
    sparse = Sparse.of_columns([dict(enumerate(column)) for column in columns], inputs, outputs)
    return sparse, Dense.from_integers(columns, inputs, outputs)


@often
@given(weights())
def test_entries_privacy_and_algebra_are_those_of_the_dense_twin(columns: list[list[int]]) -> None:
    sparse, dense = pair(columns)
    assert sparse.exact_matrix() == dense.exact_matrix()
    assert (sparse.matrix() == dense.matrix()).all()
    assert sparse.parity_exact() == dense.parity_exact()
    assert sparse.is_admissible() == dense.is_admissible()
    np.testing.assert_allclose(sparse.guess_probability(), dense.guess_probability(), rtol=1e-12)
    np.testing.assert_allclose(sparse.total_variation(), dense.total_variation(), rtol=1e-12)
    x = np.linspace(-1, 2, 3 * dense.k).reshape(3, dense.k)
    np.testing.assert_allclose(sparse.forward(x), dense.forward(x), rtol=1e-9, atol=1e-12)
    labels = sparse.components()
    P = dense.matrix()
    for i in range(dense.m):
        assert len(set(labels[P[i] > 0].tolist())) <= 1, "a report comes from one component only"
    if dense.condition() < 1e6:
        assert sparse.rank() == dense.k
        np.testing.assert_allclose(sparse.solve(sparse.apply(sparse.uniform_prior())), 1 / dense.k, atol=1e-8)
        np.testing.assert_allclose(sparse.condition(), dense.condition(), rtol=1e-6)


@often
@given(weights(), st.integers(2, 10**20))
def test_a_common_factor_changes_nothing_and_files_keep_everything(columns: list[list[int]], factor: int) -> None:
    sparse, _ = pair(columns)
    assert pair([[n * factor for n in column] for column in columns])[0] == sparse
    shares = [{i: Fraction(n, sum(column)) for i, n in enumerate(column)} for column in columns]
    assert Sparse.of_columns(shares, sparse.inputs, sparse.outputs) == sparse
    again = wire.design_from_dict(sparse.to_dict())
    assert again == sparse
    assert again.exact_matrix() == sparse.exact_matrix()
