"""What released shares tell about a unit, against all outcomes of small files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.support.released import outcomes

from maskwell.designs import Dense, Sparse
from maskwell.errors import CountsError, MatrixError, NotInvariantError, ParameterError
from maskwell.microdata.risk.attribute_disclosure import conditional_proportion, predictive_disclosure

EXAMPLE = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]


def test_the_example() -> None:
    found = predictive_disclosure(EXAMPLE, [12, 8, 3])
    assert found.in_file[0] == pytest.approx(0.1027, abs=5e-5)
    np.testing.assert_allclose(found.interval(found.in_file)[0], [0.320, 0.723], atol=5e-4)
    assert found.stays_first == pytest.approx(0.788, abs=0.005)
    assert found.simulation_error < 0.001
    assert found.overlap
    np.testing.assert_allclose(found.after**2, found.before**2 + found.in_file**2)
    assert found.to_dict()["first"] == 0


def test_the_chance_to_stay_first_is_that_of_all_outcomes() -> None:
    """Fails by accident once in a million: five standard errors."""
    design = Dense.of([["2/3", "1/4", "1/2"], ["1/6", "3/4", "0"], ["1/6", "0", "1/2"]])
    counts = [3, 2, 1]
    exact = sum(p for m, p in outcomes(design, counts) if m[0] > max(m[1:]))
    found = predictive_disclosure(design, counts, seed=3)
    assert found.stays_first == pytest.approx(float(exact), abs=5 * found.simulation_error)


def test_a_category_far_ahead_needs_no_simulation() -> None:
    found = predictive_disclosure([[1, 0], [0, 1]], [50, 20])
    assert (found.stays_first, found.simulation_error, found.overlap) == (1.0, 0.0, False)
    alone = predictive_disclosure([[1]], [50])
    assert (alone.stays_first, alone.overlap) == (1.0, False)


def test_ties_are_not_first() -> None:
    assert predictive_disclosure([[1, 0], [0, 1]], [5, 5]).stays_first == 0


@pytest.mark.parametrize("seed", range(8))
def test_the_expected_share_is_that_of_all_outcomes(seed: int) -> None:
    random = np.random.default_rng(seed)
    whole = random.integers(0, 6, size=(4, 4))
    P = [[Fraction(int(a), int(sum(column))) for a in column] for column in whole + np.eye(4, dtype=int)]
    design, counts = Dense.of([list(row) for row in zip(*P, strict=True)]), [2, 1, 2, 1]
    part, all_ = [0], [0, 2]
    total = empty = Fraction(0)
    for m, p in outcomes(design, counts):
        b = sum(m[i] for i in all_)
        empty += p * (b == 0)
        total += p * Fraction(sum(m[i] for i in part), b) if b else 0
    found = conditional_proportion(design, counts, part, all_)
    assert found.undefined == pytest.approx(float(empty), abs=1e-14)
    assert found.mean == pytest.approx(float(total / (1 - empty)), abs=1e-12)


def test_large_files_agree_with_the_delta_method() -> None:
    k, n = 4, 500_000
    design = Sparse.of_columns([{j: 9, (j + 1) % k: 1} for j in range(k)])
    found = conditional_proportion(design, [n] * k, [0], [0, 1])
    assert found.bias == pytest.approx(found.delta_bias, abs=1e-9)
    assert found.to_dict()["unbiased"] is (abs(found.bias) <= 1e-10)
    assert 0 < found.delta_error < 0.001


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: predictive_disclosure([["0.9", "0.3"], ["0.1", "0.7"]], [5, 5]), NotInvariantError, "keep"),
        (lambda: predictive_disclosure(EXAMPLE, [12, 8, 3], level=2), ParameterError, "level"),
        (lambda: predictive_disclosure(EXAMPLE, [12, 8]), MatrixError, "2 counts"),
        (lambda: conditional_proportion(EXAMPLE, [12, 8, 3], [0], [1]), ParameterError, "numerator"),
        (lambda: conditional_proportion(EXAMPLE, [12, 8, 3], [7], [7]), ParameterError, "from 0 to 2"),
        (lambda: conditional_proportion(EXAMPLE, [12, 8, 0], [2], [2]), CountsError, "denominator"),
        (lambda: conditional_proportion(EXAMPLE, [12, 8, 3], [], [2]), ParameterError, "places"),
    ],
)
def test_bad_input_gets_one_clear_error(call: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()  # type: ignore[operator]
