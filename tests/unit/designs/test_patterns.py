"""Admissible designs as sets with weights."""

from fractions import Fraction
from typing import Any

import pytest
from tests.support.examples import ABC, YES_NO, numbered
from tests.support.quiet import told

from maskwell.core.categories import Categories
from maskwell.designs.patterns import Patterns, set_labels
from maskwell.errors import LabelError, MaskwellError, MatrixError, ParameterError, TooLargeError, WrongTypeError


def test_weights_and_sets_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MatrixError, match=r"sum to 1.33333333333, which is 1 \+0.333") as raised:
        Patterns.of(3, [[0], [1]], ["1/3", "1/3"], YES_NO)
    assert "exactly" in raised.value.hint
    with pytest.raises(
        MatrixError, match=r"the sets with category 1 have 0\.5 times the weight of those with category 0"
    ):
        Patterns.of(3, [[0], [1]], ["1/3", "1/6"], YES_NO)
    with pytest.raises(MatrixError, match=r"which is 1 -1e-17"):
        Patterns.of(3, [[0], [1]], [Fraction(1, 4) * (1 - Fraction(1, 10**17))] * 2, YES_NO)
    with pytest.raises(ParameterError, match="k must be at least 2, not 1"):
        Patterns.of(3, [[0]], [1], Categories.of(["a"]))
    with pytest.raises(TooLargeError, match="2,001 sets of 2,001"):
        Patterns.from_integers(Fraction(3), [1 << j for j in range(2001)], [1] * 2001, numbered(2001))


@pytest.mark.parametrize(
    ("gamma", "sets", "weights", "error", "saying"),
    [
        (1, [[0], [1]], ["1/2", "1/2"], ParameterError, "gamma = 1"),
        (3, [], [], MatrixError, "0 sets"),
        (3, [[0], [1]], ["1/4"], MatrixError, "2 sets and 1 weights"),
        (3, [[0], [1], []], ["1/4"] * 3, MatrixError, "0 of 2"),
        (3, [[0], [1], [0, 1]], ["1/4"] * 3, MatrixError, "2 of 2"),
        (3, [[0], [0]], ["1/4"] * 2, MatrixError, "twice"),
        (3, [[0], [1]], ["1/4", 0], MatrixError, "every weight must be positive"),
        (3, [[0], [2]], ["1/4", "1/4"], ParameterError, "category code 2"),
        (3, [[0], [0.5]], ["1/4", "1/4"], ParameterError, "0.5"),
        (3, [[0], [1]], ["1/4", None], WrongTypeError, "None"),
    ],
)
def test_bad_input(gamma: Any, sets: Any, weights: Any, error: type[MaskwellError], saying: str) -> None:
    with told(error, match=saying):
        Patterns.of(gamma, sets, weights, YES_NO)


def test_labels_and_distinct_names_of_sets() -> None:
    design = Patterns.of(3, [[0], [1]], ["1/4", "1/4"], YES_NO)
    renamed = design.with_labels(Categories.of(["x", "y"]))
    assert renamed.outputs.labels == ("{x}", "{y}")
    named = design.with_labels(YES_NO, Categories.of(["red", "blue"]))
    assert named.with_labels(Categories.of(["x", "y"])).outputs.labels == ("red", "blue")
    for inputs, outputs in ((ABC, None), (YES_NO, ABC)):
        with told(LabelError):
            design.with_labels(inputs, outputs)
    with pytest.raises(LabelError, match="there are 3 report labels for 2 sets"):
        Patterns.of(3, [[0], [1]], ["1/4", "1/4"], YES_NO, ABC)
    labels = Categories.of([1, "1", "1, 1", "}, {"])
    masks = range(1, 15)
    assert len(set(set_labels(masks, labels).labels)) == 14
