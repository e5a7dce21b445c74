"""Admissible designs as sets with weights."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.support.examples import ABC, YES_NO, numbered
from tests.support.quiet import told

from maskwell.core import Categories
from maskwell.designs import Dense, Subset, Uniform
from maskwell.designs.patterns import Patterns, mask_of, set_labels
from maskwell.errors import LabelError, MaskwellError, MatrixError, ParameterError, TooLargeError, WrongTypeError


def test_single_categories_are_the_uniform_design() -> None:
    design = Patterns.of(4, [[0], [1], [2]], ["1/6"] * 3, ABC)
    uniform = Uniform.from_gamma(4, ABC)
    assert design.exact_matrix() == uniform.exact_matrix()
    assert design.added_variance() == pytest.approx(uniform.added_variance(), rel=1e-12)


@pytest.mark.parametrize(("k", "q", "gamma"), [(4, 2, Fraction(3)), (5, 3, Fraction(7, 2)), (6, 1, Fraction(101, 100))])
def test_sets_of_one_size_are_subset_selection(k: int, q: int, gamma: Fraction) -> None:
    subset = Subset.from_gamma(gamma, numbered(k), size=q)
    sets = list(combinations(range(k), q))
    design = Patterns.of(gamma, sets, [subset.set_probability(frozenset(s), _outside(s, k)) for s in sets], numbered(k))
    assert design.exact_matrix() == subset.exact_matrix()
    assert design.added_variance() == pytest.approx(subset.added_variance(), rel=1e-9)  # both are best at equal shares


def _outside(chosen: tuple[int, ...], k: int) -> int:
    return next(j for j in range(k) if j not in chosen)


def test_what_it_says_of_itself() -> None:
    weights = [Fraction(n, 24) for n in (3, 1, 2, 1, 3, 2)]
    sets = ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1))
    design = Patterns.of(3, sets, weights, ABC)
    assert design.sets == sets
    assert list(design.weights) == weights
    assert (design.gamma, design.parity_exact()) == (3, 3)
    assert design.is_admissible()
    assert Dense.of(design.exact_matrix()).is_admissible()
    assert design.outputs.labels == ("{a}", "{b}", "{c}", "{a, c}", "{b, c}", "{a, b}")


def test_weights_that_do_not_fit_exactly_are_refused() -> None:
    with pytest.raises(MatrixError, match=r"sum to 1.33333333333, which is 1 \+0.333") as raised:
        Patterns.of(3, [[0], [1]], ["1/3", "1/3"], YES_NO)
    assert "exactly" in raised.value.hint
    with pytest.raises(MatrixError, match=r"category 1 weigh 0.5 times those with category 0"):
        Patterns.of(3, [[0], [1]], ["1/3", "1/6"], YES_NO)
    with pytest.raises(MatrixError, match=r"which is 1 -1e-17"):
        Patterns.of(3, [[0], [1]], [Fraction(1, 4) * (1 - Fraction(1, 10**17))] * 2, YES_NO)


@pytest.mark.parametrize(
    ("gamma", "sets", "weights", "error", "saying"),
    [
        (1, [[0], [1]], ["1/2", "1/2"], ParameterError, "gamma = 1"),
        ("1/2", [[0], [1]], ["1/2", "1/2"], ParameterError, "gamma = 1/2"),
        (3, [], [], MatrixError, "0 sets"),
        (3, [[0], [1]], ["1/4"], MatrixError, "2 sets and 1 weights"),
        (3, [[0], [1], []], ["1/4"] * 3, MatrixError, "0 of 2"),
        (3, [[0], [1], [0, 1]], ["1/4"] * 3, MatrixError, "2 of 2"),
        (3, [[0], [0]], ["1/4"] * 2, MatrixError, "twice"),
        (3, [[0], [1]], ["1/4", 0], MatrixError, "not positive"),
        (3, [[0], [1]], ["1/4", "-1/4"], MatrixError, "not positive"),
        (3, [[0], [2]], ["1/4", "1/4"], ParameterError, "category code 2"),
        (3, [[0], [-1]], ["1/4", "1/4"], ParameterError, "category code -1"),
        (3, [[0], [0.5]], ["1/4", "1/4"], ParameterError, "0.5"),
        (3, [[0], [1]], ["1/4", None], WrongTypeError, "None"),
        (3, [[0], [1]], ["1/4", float("nan")], ParameterError, "nan"),
    ],
)
def test_bad_input(gamma: Any, sets: Any, weights: Any, error: type[MaskwellError], saying: str) -> None:
    with told(error, match=saying):
        Patterns.of(gamma, sets, weights, YES_NO)


def test_too_few_categories_and_too_many_sets() -> None:
    with pytest.raises(ParameterError, match="k = 1"):
        Patterns.of(3, [[0]], [1], Categories.of(["a"]))
    with pytest.raises(TooLargeError, match="2,001 sets of 2,001"):
        Patterns.from_integers(Fraction(3), [1 << j for j in range(2001)], [1] * 2001, numbered(2001))


def test_labels() -> None:
    design = Patterns.of(3, [[0], [1]], ["1/4", "1/4"], YES_NO)
    renamed = design.with_labels(Categories.of(["x", "y"]))
    assert renamed.outputs.labels == ("{x}", "{y}")
    named = design.with_labels(YES_NO, Categories.of(["red", "blue"]))
    assert named.with_labels(Categories.of(["x", "y"])).outputs.labels == ("red", "blue")
    for inputs, outputs in ((ABC, None), (YES_NO, ABC)):
        with told(LabelError):
            design.with_labels(inputs, outputs)
    with pytest.raises(LabelError, match="3 report labels for 2 sets"):
        Patterns.of(3, [[0], [1]], ["1/4", "1/4"], YES_NO, ABC)


def test_names_of_sets_are_distinct_whatever_the_labels() -> None:
    labels = Categories.of([1, "1", "1, 1", "}, {"])
    masks = range(1, 15)
    assert len(set(set_labels(masks, labels).labels)) == 14


def test_a_long_list_is_made_and_drawn_quickly() -> None:
    k = 30
    rng = np.random.default_rng(1)
    sets = sorted({tuple(np.flatnonzero(rng.random(k) < 0.5).tolist()) for _ in range(2000)} - {()})
    held = np.array([[j in s for j in range(k)] for s in sets]).sum(axis=0)
    needed = [(1 << j, int(held.max() + 1 - held[j])) for j in range(k)]
    masks = [mask_of(s, k) for s in sets]
    assert not set(masks) & {mask for mask, _ in needed}
    design = Patterns.from_integers(
        Fraction(3), [*masks, *(m for m, _ in needed)], [1] * len(masks) + [n for _, n in needed], numbered(k)
    )
    assert [sum(column) for column in zip(*design.exact_matrix(), strict=True)] == [1] * k
    assert design.tally(design.sample(np.arange(3000) % k)).n == 3000
