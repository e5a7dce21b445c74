"""Invariance, and what an invariant matrix tells."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.designs import Dense, Sparse
from maskwell.errors import NotInvariantError, ParameterError, PublishError
from maskwell.microdata.matrices import check_publishable, inverse_frequency, matrix_checks, method1, sequential_uniform
from maskwell.microdata.matrices.matrix_checks import check_invariant, recover_counts

COUNTS = [512, 301, 87, 14, 1]


def test_the_category_that_moves_most_is_named() -> None:
    with pytest.raises(NotInvariantError) as caught:
        check_invariant(Dense.of([[0.9, 0.3], [0.1, 0.7]]), [5, 5])
    assert "the share of category 1 changes by +0.1" in caught.value.message
    check_invariant(Dense.of([[0.8, 0.3], [0.2, 0.7]]), [6, 4])


@pytest.mark.parametrize(("places", "exact"), [(4, True), (2, False)])
def test_a_rounded_matrix_still_tells_the_counts(places: int, exact: bool) -> None:
    rounded = sequential_uniform(COUNTS).matrix().round(places)
    rounded[np.diag_indices(5)] += 1 - rounded.sum(axis=0)
    found = recover_counts(Sparse.of_matrix(rounded), sum(COUNTS))
    assert (found.round() == COUNTS).all() == exact


def test_blocks_need_their_totals() -> None:
    counts = [5, 3, 2, 7, 1]
    design = inverse_frequency(counts, 1, blocks=[0, 0, 1, 1, 2])
    with pytest.raises(ParameterError, match="3 groups"):
        recover_counts(design, 18)
    released = [4, 4, 6, 3, 1]  # of one release: totals of blocks are as they were
    np.testing.assert_allclose(recover_counts(design, released), counts)


def test_an_invariant_matrix_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PublishError) as caught:
        check_publishable(method1(COUNTS, 0.5), COUNTS, None)
    assert "5 of 5 counts follow from it" in caught.value.message
    np.testing.assert_allclose(caught.value.objects["recovered"], COUNTS)  # type: ignore[call-overload]
    with pytest.raises(PublishError):
        check_publishable(method1(COUNTS, 0.5), COUNTS, "  ")
    check_publishable(method1(COUNTS, 0.5), COUNTS, "table 3 of the yearbook")
    design = inverse_frequency([5, 3, 9], 1, blocks=[0, 0, 1])
    with pytest.raises(PublishError, match="2 of 3 counts"):
        check_publishable(design, [5, 3, 9], None)
    monkeypatch.setattr(matrix_checks, "DENSE_STATES", 2)
    with pytest.raises(PublishError) as caught:
        check_publishable(method1(COUNTS, 0.5), COUNTS, None)
    assert caught.value.objects["recovered"] is None
