"""Draws from words: every word of a small width is tried, and the outcomes counted."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.words import law_of_draws

from maskwell.core.draws import WordReader, choice, coin, interval, others, settle

thorough = settings(deadline=None, derandomize=True, max_examples=40)


def test_words_are_read_in_order_and_parts_share_the_further_ones() -> None:
    refills = []

    def more(refill: int) -> list[int]:
        refills.append(refill)
        return [100 + 2 * refill, 101 + 2 * refill]

    words = WordReader([1, 2, 3], more=more)
    assert words.take(3) == [1, 2, 3]
    assert refills == []
    assert words.take(3) == [100, 101, 102]
    assert refills == [0, 1]
    words = WordReader([1, 2, 3, 4], more=lambda refill: [10 + refill])
    first, second = words.part(2), words.part(2)
    assert second.take(2) == [3, 4]
    assert first.take(3) == [1, 2, 10]
    assert second.next() == 11
    assert words.part(1).next() == 12


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("p", ["0", "1", "1/2", "1/3", "2/3", "5/7", "1/64", "63/64", "1/100", "99/100", "3/8"])
def test_a_coin_falls_with_exactly_its_probability(p: str, bits: int) -> None:
    probability, unit = Fraction(p), Fraction(1, 10**6)
    law, rest = law_of_draws(lambda words: coin(probability, words), bits=bits, words_per_row=2, unit=unit)
    heads = law.get(True, Fraction(0))
    assert heads <= probability <= heads + rest < heads + unit
    if probability.denominator & (probability.denominator - 1) == 0:
        assert (heads, rest) == (probability, 0)


@thorough
@given(st.fractions(0, 1, max_denominator=500), st.lists(st.integers(0, 15), min_size=30, max_size=30))
def test_settle_compares_with_the_number_that_the_words_spell(p: Fraction, run: list[int]) -> None:
    leading, bits = run[0] << 4 | run[1], 8
    number = sum((Fraction(word, 16**i) for i, word in enumerate(run, start=1)), Fraction(0))
    assert settle(leading, bits, p, WordReader(run[2:], bits=4)) == (number < p)


@pytest.mark.parametrize("bits", [3, 4, 5])
@pytest.mark.parametrize("count", range(1, 9))
def test_a_choice_is_exactly_uniform(count: int, bits: int) -> None:
    """Each value has the same number of accepted words; the rejected ones are fewer than the values."""
    accepted: Counter[int] = Counter()
    for word in range(1 << bits):
        try:
            accepted[choice(count, WordReader([word], bits=bits))] += 1
        except EOFError:
            continue
    assert sorted(accepted) == list(range(count))
    assert set(accepted.values()) == {(1 << bits) // count}


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize(
    ("numerators", "denominator"),
    [([1, 3], 4), ([0, 1, 1, 3], 3), ([2, 5], 7), ([], 5), ([0, 0, 5, 5], 5), ([1], 1000), ([333, 334], 1000)],
)
def test_an_interval_is_hit_with_exactly_its_length(numerators: list[int], denominator: int, bits: int) -> None:
    unit = Fraction(1, 10**5)
    law, rest = law_of_draws(
        lambda words: interval(numerators, denominator, words), bits=bits, words_per_row=2, unit=unit
    )
    ends = [0, *numerators, denominator]
    for i, (low, high) in enumerate(pairwise(ends)):
        mass, length = law.get(i, Fraction(0)), Fraction(high - low, denominator)
        assert mass <= length <= mass + rest < mass + unit


@thorough
@given(st.lists(st.integers(0, 60), max_size=6).map(sorted), st.lists(st.integers(0, 15), min_size=40, max_size=40))
def test_an_interval_counts_the_thresholds_at_or_below_the_number(numerators: list[int], run: list[int]) -> None:
    """The pair is read with the low word first; further words follow as they come."""
    digits = [run[1], run[0], *run[2:]]
    number = sum((Fraction(word, 16**i) for i, word in enumerate(digits, start=1)), Fraction(0))
    drawn = interval(numerators, 60, WordReader(run, bits=4))
    assert drawn == sum(Fraction(n, 60) <= number for n in numerators)


@pytest.mark.parametrize(("count", "total"), [(0, 3), (1, 3), (2, 3), (3, 3), (2, 4), (2, 5), (3, 4)])
def test_every_set_of_others_is_equally_likely(count: int, total: int) -> None:
    unit = Fraction(1, 2000)
    law, rest = law_of_draws(
        lambda words: frozenset(others(count, total, words)), bits=4, words_per_row=max(count, 1), unit=unit, most=10**6
    )
    sets = [frozenset(s) for s in combinations(range(total), count)]
    assert set(law) == set(sets)
    for chosen in sets:
        assert law[chosen] <= Fraction(1, len(sets)) <= law[chosen] + rest < law[chosen] + unit


def test_the_walk_over_words_counts_right() -> None:
    """The helper itself: a draw that takes one word, and a second one after a 0."""

    def draw(words: WordReader) -> int:
        return words.next() or -words.next()

    law, rest = law_of_draws(draw, bits=2, words_per_row=1, unit=Fraction(1, 100))
    assert rest == 0
    assert law == {**{w: Fraction(1, 4) for w in (1, 2, 3)}, **{-w: Fraction(1, 16) for w in range(4)}}
