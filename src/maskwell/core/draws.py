"""Exact draws, one at a time, from a run of random words: the definition that every sampler must reproduce.

A uniform number U in [0, 1) is read word by word, as the digits of a binary expansion, and only as far as needed: a tie
with a threshold is settled by the next word. So any fraction is drawn with exactly its probability. The width of a word
is a parameter (32 bits in production), so that tests can try every word of a small width.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

WORD_BITS = 32


class WordReader:
    """Random words handed out one by one: first those of the row, then as many further ones as are needed."""

    def __init__(
        self, words: Sequence[int], *, more: Callable[[int], Sequence[int]] | None = None, bits: int = WORD_BITS
    ) -> None:
        self.bits = bits
        self._own = iter(words)
        self._further = _further(more)

    def next(self) -> int:
        """The next word."""
        word = next(self._own, None)
        return next(self._further) if word is None else word

    def take(self, count: int) -> list[int]:
        """The next ``count`` words."""
        return [self.next() for _ in range(count)]

    def pair(self) -> int:
        """The next two words as one number; the first holds the low bits."""
        low = self.next()
        return low | self.next() << self.bits

    def part(self, count: int) -> WordReader:
        """A reader over the next ``count`` words of the row, for one of several draws; further words are shared."""
        reader = WordReader(list(itertools.islice(self._own, count)), bits=self.bits)
        reader._further = self._further
        return reader


def _further(more: Callable[[int], Sequence[int]] | None) -> Iterator[int]:
    for refill in itertools.count():
        if more is None:
            raise EOFError("no random words left")
        yield from more(refill)


def settle(leading: int, bits: int, probability: Fraction, words: WordReader) -> bool:
    """Whether U < probability, where the first ``bits`` bits of U are ``leading`` and further words follow."""
    digit, rest = divmod(probability.numerator << bits, probability.denominator)
    while leading == digit and rest:
        leading = words.next()
        digit, rest = divmod(rest << words.bits, probability.denominator)
    return leading < digit


def coin(probability: Fraction, words: WordReader) -> bool:
    """True with exactly the given probability."""
    return settle(words.pair(), 2 * words.bits, probability, words)


def choice(count: int, words: WordReader) -> int:
    """One of 0..count-1, each with exactly the same probability. Source: after [Lemire2019], with rejection."""
    return choice_from(words.next(), count, words)


def choice_from(word: int, count: int, words: WordReader) -> int:
    """As :func:`choice`, where the first word is already at hand."""
    size = 1 << words.bits
    product = word * count
    while product % size < size % count:
        product = words.next() * count
    return product >> words.bits


def interval(numerators: Sequence[int], denominator: int, words: WordReader) -> int:
    """How many of the increasing thresholds ``numerators / denominator`` are at or below U."""
    leading, bits = words.pair(), 2 * words.bits
    while True:
        low = bisect_right(numerators, leading * denominator >> bits)
        high = bisect_left(numerators, -(-(leading + 1) * denominator >> bits))
        if low == high:
            return low
        leading, bits = leading << words.bits | words.next(), bits + words.bits


def others(count: int, total: int, words: WordReader) -> set[int]:
    """A set of ``count`` of 0..total-1, all sets equally likely. Source: Floyd's method, after [Bentley1987]."""
    chosen: set[int] = set()
    for last in range(total - count, total):
        pick = choice(last + 1, words)
        chosen.add(last if pick in chosen else pick)
    return chosen
