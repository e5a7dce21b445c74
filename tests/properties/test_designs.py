"""Properties that hold for every design, on designs that nobody chose."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.twin import Twin, row_parity

from maskwell import Categories, Design
from maskwell.designs import Composed, Dense, Kronecker, Mixture, Subset, Unary, Uniform

often = settings(deadline=None, derandomize=True, max_examples=30)
Columns = list[list[Fraction]]


@st.composite
def columns(draw: st.DrawFn, m: int | None = None, k: int | None = None, least: int = 0) -> Columns:
    """Exact columns that sum to one, of m reports by k truths."""
    m = draw(st.integers(1, 5)) if m is None else m
    k = draw(st.integers(1, 5)) if k is None else k
    weights = st.lists(st.integers(least, 50), min_size=m, max_size=m).filter(any)
    made = draw(st.lists(weights, min_size=k, max_size=k))
    return [[Fraction(n, sum(column)) for n in column] for column in made]


def rows_of(given_columns: Columns) -> list[list[Fraction]]:
    return [list(row) for row in zip(*given_columns, strict=True)]


positive_gamma = st.fractions(min_value=Fraction(21, 20), max_value=50, max_denominator=40)


@st.composite
def structured(draw: st.DrawFn) -> Design:
    """Any structured design of a few categories."""
    k = draw(st.integers(2, 5))
    categories, gamma = Categories.numbered(k), draw(positive_gamma)
    weights = draw(st.lists(st.integers(0, 9), min_size=k + 1, max_size=k + 1).filter(lambda w: w[0] > 0))
    fixed = [Fraction(w, sum(weights)) for w in weights]
    return draw(
        st.sampled_from(
            [
                Uniform.from_gamma(gamma, categories),
                Mixture.of(fixed[0], fixed[1:], categories),
                Subset.from_gamma(gamma, categories, size=draw(st.integers(1, k - 1))),
                Unary.oue_from_gamma(gamma, categories),
                Unary.rappor_from_gamma(gamma, categories),
            ]
        )
    )


@often
@given(columns())
def test_exact_matrices_and_their_floats_are_read_exactly(given_columns: Columns) -> None:
    rows = rows_of(given_columns)
    for form in (rows, [[str(p) for p in row] for row in rows], np.array(rows, dtype=object)):
        assert Dense.of(form).exact_matrix() == rows
    assert Dense.from_rows(given_columns).exact_matrix() == rows
    floats = [[float(p) for p in row] for row in rows]
    assert Dense.of(floats).exact_matrix() == rows
    assert Dense.of(np.array(floats)) == Dense.of(floats)


@often
@given(st.lists(st.lists(st.floats(1e-12, 1), min_size=3, max_size=3), min_size=2, max_size=4))
def test_any_floats_are_read_within_rounding(weights: list[list[float]]) -> None:
    P = np.array([np.array(column) / sum(column) for column in weights]).T
    design = Dense.of(P)
    assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))
    np.testing.assert_allclose(design.matrix(), P, rtol=0, atol=1e-9)
    assert ((design.matrix() > 0) == (P > 0)).all()


@often
@given(structured(), st.data())
def test_structured_designs_equal_their_dense_twin(design: Design, data: Any) -> None:
    twin = Twin.of(design)
    weights = np.array(data.draw(st.lists(st.integers(0, 20), min_size=design.k, max_size=design.k).filter(any)))
    pi = weights / weights.sum()
    assert all(sum(column) == 1 for column in zip(*twin.rows, strict=True))
    assert design.parity_exact() == twin.parity()
    assert design.is_admissible() == twin.is_admissible()
    np.testing.assert_allclose(design.apply(pi), twin.apply(pi), atol=1e-12)
    np.testing.assert_allclose(design.solve(design.apply(pi)), pi, atol=1e-8)
    np.testing.assert_allclose(design.guess_probability(pi), twin.guess(pi), atol=1e-12)
    np.testing.assert_allclose(design.total_variation(), twin.total_variation(), atol=1e-12)
    np.testing.assert_allclose(design.condition(), np.linalg.cond(twin.P), rtol=1e-6)
    expected = twin.second_moment(pi)
    scale = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(design.second_moment(design.apply(pi)), expected, rtol=1e-7, atol=scale)


@often
@given(columns(), columns())
def test_parity_of_a_product_is_the_product(first: Columns, second: Columns) -> None:
    a, b = Dense.of(rows_of(first)), Dense.of(rows_of(second))
    both = Kronecker.of([a, b])
    expected = max(row_parity(row) for row in both.exact_matrix())
    assert both.parity_exact() == expected
    if math.inf not in (a.parity_exact(), b.parity_exact()):
        assert expected == a.parity_exact() * b.parity_exact()


@often
@given(columns(m=3), columns(k=3))
def test_a_composition_is_the_product_of_the_matrices(first: Columns, second: Columns) -> None:
    P, C = Dense.of(rows_of(first)), Dense.of(rows_of(second))
    P = P.with_labels(P.inputs, Categories.numbered(3))
    whole = Composed.of(P, C)
    rows = [[sum(c * p for c, p in zip(row, column, strict=True)) for column in first] for row in C.exact_matrix()]
    assert whole.exact_matrix() == rows
    assert whole.parity_exact() <= P.parity_exact()


@often
@given(structured())
def test_guessing_and_total_variation_are_bounded_by_parity(design: Design) -> None:
    """Uniform prior and parity gamma: the best guess is right with probability at most gamma / (gamma + k - 1)."""
    parity = design.parity()
    bound = 1.0 if math.isinf(parity) else parity / (parity + design.k - 1)
    assert 1 / design.k - 1e-12 <= design.guess_probability() <= bound + 1e-12
    bound = 2.0 if math.isinf(parity) else 2 * (parity - 1) / (parity + 1)
    assert design.total_variation() <= bound + 1e-12


@often
@given(st.data())
def test_no_composition_exceeds_its_bound(data: st.DataObject) -> None:
    m = data.draw(st.integers(2, 4))
    first = Dense.of(rows_of(data.draw(columns(m=m, k=3, least=1))))
    then = Dense.of(rows_of(data.draw(columns(m=3, k=m, least=1))), first.outputs)
    both = Composed.of(first, then)
    assert both.parity_exact() <= both.parity_bound() <= min(first.parity_exact(), then.parity_exact())
