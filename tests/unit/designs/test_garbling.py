"""Garblings by their positive entries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.support.examples import ABC, YES_NO
from tests.support.quiet import told

from maskwell.designs import Dense, Unary, Uniform
from maskwell.designs.garbling import Garbling
from maskwell.errors import TooLargeError


def test_entries_matrix_and_text_are_the_same_unless_huge() -> None:
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
