"""Devices for several categories, and for sets of items."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.designs import Mixture
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.procedures.category_cards import bourke_dalenius
from maskwell.procedures.category_encodings import bits, kary
from maskwell.procedures.design_builders import NO_PROTECTION
from maskwell.procedures.forced_answers import REVEALING_BALL, liu_chow

TWO, THREE, FOUR = (Categories.numbered(k) for k in (2, 3, 4))
weights = st.lists(st.integers(1, 50), min_size=2, max_size=7)
gammas = st.fractions(min_value=Fraction(11, 10), max_value=100, max_denominator=50)


def shares(counts: list[int]) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


@given(weights, st.integers(1, 50))
def test_the_jar(white: list[int], red: int) -> None:
    p, *q = shares([red, *white])
    design = liu_chow(Categories.numbered(len(q)), p, q)
    assert isinstance(design, Mixture)
    k = range(len(q))
    assert design.exact_matrix() == [[q[i] + p * (i == j) for j in k] for i in k]
    assert design.parity_exact() == 1 + p / min(q)


def test_jars_and_decks_that_reveal_or_tell_nothing_say_so() -> None:
    assert "warning" not in liu_chow(THREE, "0.6", ["0.2", "0.1", "0.1"]).provenance
    assert liu_chow(THREE, "0.6", ["0.2", "0.2", 0]).provenance["warning"] == REVEALING_BALL
    assert liu_chow(THREE, 1, [0, 0, 0]).provenance["warning"] == NO_PROTECTION
    with pytest.raises(NotIdentifiableError, match="liu-chow with p = 0, q = 1/2,1/2"):
        liu_chow(TWO, 0, ["0.5", "0.5"])
    assert liu_chow(TWO, 0, ["0.5", "0.5"], allow_unidentifiable=True).rank() == 1
    for w in (["0.25"] * 4, ["0.4", "0.2", "0.1", "0.3"]):
        with pytest.raises(NotIdentifiableError, match="bourke-dalenius"):
            bourke_dalenius(FOUR, w)
        assert bourke_dalenius(FOUR, w, allow_unidentifiable=True).rank() < 4
    assert bourke_dalenius(THREE, [0, 1, 0]).provenance["warning"] == NO_PROTECTION


@given(weights)
def test_the_cyclic_deck_is_a_circulant_matrix(cards: list[int]) -> None:
    w, k = shares(cards), len(cards)
    P = bourke_dalenius(Categories.numbered(k), w, allow_unidentifiable=True)
    assert P.exact_matrix() == [[w[(i - j) % k] for j in range(k)] for i in range(k)]
    assert P.parity_exact() == max(w) / min(w)
    singular = np.linalg.svd(P.matrix(), compute_uv=False)
    assert np.allclose(np.sort(singular), np.sort(np.abs(np.fft.fft([float(x) for x in w]))), atol=1e-12)


@pytest.mark.parametrize(
    "build",
    [
        lambda: liu_chow(THREE, "0.6", ["0.2", "0.2"]),
        lambda: liu_chow(THREE, "0.6", ["0.2", "0.2", "0.1"]),
        lambda: liu_chow(Categories.numbered(1), "0.6", ["0.4"]),
        lambda: bourke_dalenius(THREE, ["0.6", "0.4"]),
        lambda: bourke_dalenius(THREE, ["0.6", "0.3", "0.2"]),
        lambda: kary(Categories.numbered(1), gamma=3),
        lambda: kary(Categories.numbered(1), keep=1),
        lambda: kary(FOUR, keep="0.25"),
        lambda: kary(FOUR, keep="0.7", gamma=3),
    ],
)
def test_parameters_out_of_range_are_refused(build: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        build()


ITEMS = ["bread", "milk", "eggs"]


@given(st.lists(st.fractions(min_value=Fraction(51, 100), max_value=Fraction(99, 100)), min_size=1, max_size=4))
def test_bits_multiply_parity(keep: list[Fraction]) -> None:
    design = bits([f"item {i}" for i in range(len(keep))], probabilities=keep)
    assert design.parity_exact() == math.prod(p / (1 - p) for p in keep)
    assert design.provenance["item_parities"] == [str(p / (1 - p)) for p in keep]
    assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))


def test_the_published_keep_probabilities() -> None:
    ten = [str(i) for i in range(10)]
    shared = bits(ten, gamma=19)
    assert float(shared.factors[0].exact_matrix()[0][0]) == pytest.approx(0.57308, abs=5e-6)
    assert Fraction(19) * (1 - Fraction(1, 10**15)) < shared.parity_exact() <= 19
    assert bits(ten, p="0.9").parity_exact() == 9**10


@given(st.integers(1, 20), gammas)
def test_a_total_demand_is_never_exceeded_and_nearly_met(M: int, gamma: Fraction) -> None:
    parity = bits([str(i) for i in range(M)], gamma=gamma).parity_exact()
    assert gamma * (1 - Fraction(1, 10**12)) < parity <= gamma


@pytest.mark.parametrize(
    "build",
    [
        lambda: bits(ITEMS),
        lambda: bits(ITEMS, p="0.8", gamma=3),
        lambda: bits(ITEMS, p="0.8", probabilities=["0.8"] * 3),
        lambda: bits(ITEMS, gamma=3, epsilon=1),
        lambda: bits(ITEMS, p="1/2"),
        lambda: bits(ITEMS, probabilities=["0.8", "0.8"]),
        lambda: bits(ITEMS, probabilities=["0.8", "0.8", "0.4"]),
        lambda: bits(ITEMS, gamma=1 + Fraction(1, 10**30)),
    ],
)
def test_bad_bits_are_refused(build: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError):
        build()
