"""Bounds: read exactly, checked once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.errors import CountsError, ParameterError, WrongTypeError
from maskwell.microdata.matrices import Bounds
from maskwell.microdata.matrices.bounds import labels_for, read_amounts


def test_numbers_are_read_exactly() -> None:
    bounds = Bounds.of(posterior=0.1, odds="1/3", match=None, caps={4: 0.3})
    assert bounds.asked() == {"posterior": Fraction(1, 10), "odds": Fraction(1, 3)}
    assert bounds.caps == {4: Fraction(3, 10)}
    assert bounds.to_dict() == {"posterior": "0.1", "odds": "1/3", "caps": {"4": "0.3"}}
    bounds = Bounds.of(posterior="0.9", posterior_own="0.8", odds=3, caps={1: 0.5, 2: 1})
    assert [bounds.own(i) for i in range(3)] == [Fraction(3, 4), Fraction(1, 2), Fraction(9, 10)]


OUTSIDE = {"posterior": 0, "posterior_own": -1, "odds": 0, "guess": 2, "factor": "0.99", "parity": 0.5}
OUTSIDE |= {"least_kept": "1.5", "changed_at_most": 70, "changed_at_least": -0.1, "match": 0}


@pytest.mark.parametrize(("name", "value"), OUTSIDE.items())
def test_out_of_range_names_the_bound(name: str, value: float | str) -> None:
    with pytest.raises(ParameterError, match=name) as caught:
        Bounds.of(**{name: value})
    assert "give a number" in caught.value.hint


def test_unknown_bound_lists_those_that_exist() -> None:
    with pytest.raises(ParameterError, match="beta") as caught:
        Bounds.of(beta=0.5)
    assert all(name in caught.value.hint for name in Bounds.names())
    with pytest.raises(ParameterError, match="state 3"):
        Bounds.of(caps={3: 1.5})
    with pytest.raises(ParameterError, match="posterior"):
        Bounds.of(posterior="high")
    with pytest.raises(WrongTypeError, match="posterior"):
        Bounds.of(posterior=True)
    with pytest.raises(ParameterError, match="changed_at_least"):
        Bounds.of(changed_at_least=0.5, changed_at_most=0.4)


def test_whole_numbers_of_any_kind() -> None:
    for given in ([12, 0, 3], (12.0, 0.0, 3.0), np.array([12, 0, 3], dtype=np.uint8), iter([12, 0, 3])):
        found = read_amounts(given)
        assert found.integers.tolist() == [12, 0, 3]
        assert found.whole
    found = read_amounts([0.1, Fraction(1, 3), 2], weighted=True)
    assert found.scale == 30
    assert found.integers.tolist() == [3, 10, 60]
    np.testing.assert_allclose(found.floats, [0.1, 1 / 3, 2])
    found = read_amounts([10**30, 1])
    assert found.integers.tolist() == [10**30, 1]
    with pytest.raises(CountsError, match="2 counts for 3 categories"):
        labels_for(read_amounts([1, 2]), Categories.of(["a", "b", "c"]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([5, -1], "state 1 has -1"),
        ([0, 0], "all counts are zero"),
        ([1.5, 2], "state 0 is 1.5, not a whole number"),
        ([1, float("nan")], "state 1 is nan"),
        ([1, float("inf")], "state 1 is inf"),
        ([1, "many"], "'many'"),
        ([1, None], "None"),
        ([True, 2], "True"),
        ([], "one column"),
        ([[1, 2]], "one column"),
        (7, "one column"),
    ],
)
def test_what_cannot_be_counts(given: Any, said: str) -> None:
    with pytest.raises(CountsError) as caught:
        read_amounts(given)
    assert said in caught.value.message
    assert caught.value.hint
