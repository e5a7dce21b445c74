"""The two numbers of Leysieffer and Warner."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core import Categories
from maskwell.designs import Dense
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.privacy import hazard, jeopardy
from maskwell.privacy.posterior_probabilities import from_jeopardy

YES_NO = Categories.of(["yes", "no"])
PROBABILITIES = st.fractions(0, 1, max_denominator=40)


@given(PROBABILITIES, PROBABILITIES, st.floats(0, 1))
def test_there_and_back(a: Fraction, b: Fraction, pi: float) -> None:
    if a == b:
        return
    design = Dense.of([[a, b], [1 - a, 1 - b]], YES_NO)
    found = jeopardy(design)
    high, low = (a, b) if a > b else (1 - a, 1 - b)
    assert found.design(YES_NO).exact_matrix()[0] == [high, low]
    assert found.u == hazard(design, ["yes"]).ratio and max(found.u, found.v) == design.parity_exact()
    assert found.variance(pi) == pytest.approx(float(design.share_variance(np.array([pi, 1 - pi]))[0]), abs=1e-9)
    if not isinstance(found.u, float) and not isinstance(found.v, float):
        u, v = float(found.u), float(found.v)
        assert (u * pi + 1 - pi) * (pi + v * (1 - pi)) / ((u - 1) * (v - 1)) == pytest.approx(found.variance(pi))


def test_the_ends() -> None:
    assert from_jeopardy(math.inf, math.inf, YES_NO).exact_matrix() == [[1, 0], [0, 1]]
    assert from_jeopardy(math.inf, 4, YES_NO).exact_matrix()[0] == [Fraction(3, 4), 0]


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="u = 1 is not above 1"):
        from_jeopardy(1, 2, YES_NO)
    with pytest.raises(ParameterError, match="two categories and two reports"):
        jeopardy(Dense.of([["0.2", "0.5"], ["0.3", "0.3"], ["0.5", "0.2"]]))
    with pytest.raises(NotIdentifiableError, match="no information"):
        jeopardy(Dense.of([["0.2", "0.2"], ["0.8", "0.8"]]))
