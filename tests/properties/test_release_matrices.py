"""What holds for the matrices of every release: columns sum to one, counts stay on average, zeros stay zeros."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import SeededRandom
from maskwell.designs import Sparse
from maskwell.microdata.matrices import expected_changed, method1, method2, sequential_uniform
from maskwell.microdata.matrices.matrix_algebra import chained, mixed
from maskwell.microdata.matrices.matrix_checks import flows
from maskwell.microdata.matrices.matrix_patterns import inverse_frequency_by_block, thetas_for_blocks
from maskwell.microdata.matrices.swap_flows import whole_flows

COUNTS = st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any)
SHARES = st.fractions(0, 1, max_denominator=50)


def keeps_exactly(design: Sparse, counts: list[int]) -> bool:
    """Whether ``P N = N`` in fractions, and a count of zero is neither left nor reached."""
    released = [Fraction(0)] * len(counts)
    for j, n in enumerate(counts):
        column = design.columns_exact(j)
        assert sum(column.values()) == 1
        assert n or column == {j: 1}
        for i, p in column.items():
            released[i] += p * n
    return released == counts


@given(COUNTS, SHARES)
def test_closed_forms_are_invariant_and_change_the_stated_share(counts: list[int], theta: Fraction) -> None:
    first, second = method1(counts, theta), sequential_uniform(counts)
    for design in (first, second, mixed(second, theta), chained(first, second)):
        assert keeps_exactly(design, counts)
    present = [n for n in counts if n]
    stated = len(present) * theta * min(present) / sum(counts) if len(present) > 1 else 0
    assert expected_changed(method1(counts, theta), counts) == pytest.approx(float(stated))


@given(COUNTS, st.data())
def test_method_2_is_invariant_and_symmetric(counts: list[int], data: st.DataObject) -> None:
    columns = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)
    drawn = [data.draw(columns) for _ in counts]
    R = [[Fraction(column[a], sum(column)) for column in drawn] for a in range(3)]
    design = method2(counts, R)
    assert keeps_exactly(design, counts)
    F = flows(design, counts).toarray()
    np.testing.assert_allclose(F, F.T, atol=1e-12)
    assert np.linalg.eigvalsh(F).min() > -1e-9


@given(COUNTS)
def test_sequential_uniformity_is_minimax(counts: list[int]) -> None:
    design, share = sequential_uniform(counts), max(counts) / sum(counts)
    assert design.guess_probability(np.array(counts) / sum(counts)) == pytest.approx(share)
    assert 1 - expected_changed(design, counts) == pytest.approx(share)
    present = [n for n in counts if n]
    assert (design.rank() < design.k) == (len(set(present)) < len(present))


@given(COUNTS, st.lists(st.integers(0, 2), min_size=8, max_size=8), st.fractions("1/4", 1, max_denominator=20))
def test_inverse_frequency_is_invariant_and_stays_in_blocks(counts: list[int], blocks: list[int], xi: Fraction) -> None:
    own = np.array(blocks[: len(counts)])
    design = inverse_frequency_by_block(counts, thetas_for_blocks(counts, own, xi))
    assert keeps_exactly(design, counts)
    assert (own[design.rows] == np.repeat(own, np.diff(design.starts))).all()


@given(COUNTS, SHARES, st.integers(0, 99))
def test_drawn_flows_keep_every_count(counts: list[int], theta: Fraction, seed: int) -> None:
    design = mixed(sequential_uniform(counts), theta)
    found = whole_flows(design, counts, SeededRandom(seed))
    assert found.counts.tolist() == counts
    assert np.bincount(found.rows, found.amounts, len(counts)).tolist() == counts
    for j in range(len(counts)):
        own = slice(found.starts[j], found.starts[j + 1])
        for i, n in zip(found.rows[own].tolist(), found.amounts[own].tolist(), strict=True):
            assert abs(n - design.columns_exact(j)[i] * counts[j]) < 1
