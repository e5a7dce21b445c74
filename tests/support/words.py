"""Random words made by hand: every word of a small width, all leading bits, and the words at the edge of a decision."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from tests.support.arrays import Array

from maskwell import Design
from maskwell.core.draws import WordReader
from maskwell.core.exact import common_denominator

Drawn = dict[Hashable, Fraction]


def reader(words: Sequence[int], words_per_row: int, bits: int = 32) -> WordReader:
    """A reader over hand-made words, the first of them the row's own; it raises EOFError when they are used up."""

    def more(refill: int) -> Sequence[int]:
        if refill or len(words) <= words_per_row:
            raise EOFError
        return words[words_per_row:]

    return WordReader(words[:words_per_row], more=more, bits=bits)


def law_of_draws(
    draw: Callable[[WordReader], Hashable], *, bits: int, words_per_row: int, unit: Fraction, most: int = 200_000
) -> tuple[Drawn, Fraction]:
    """Probability of every outcome, by trying every word of ``bits`` bits, and the mass left open (below ``unit``).

    The tree of words is walked level by level: a run of words that does not settle the draw is continued by every word.
    """
    law: Drawn = defaultdict(Fraction)
    open_runs: list[tuple[int, ...]] = list(itertools.product(range(1 << bits), repeat=words_per_row))
    length, tried = words_per_row, 0
    while True:
        mass, unsettled = Fraction(1, 1 << bits * length), []
        tried += len(open_runs)
        assert tried < most, "the tree of words grows too large: choose another width"
        settled = Counter[Hashable]()
        for run in open_runs:
            try:
                settled[draw(reader(run, words_per_row, bits))] += 1
            except EOFError:
                unsettled.append(run)
        for outcome, runs in settled.items():
            law[outcome] += runs * mass
        rest = len(unsettled) * mass
        if rest < unit:
            return dict(law), rest
        open_runs = [(*run, word) for run in unsettled for word in range(1 << bits)]
        length += 1


def law_of_reports(design: Design, truth: int, *, bits: int, unit: Fraction) -> tuple[Drawn, Fraction]:
    """As :func:`law_of_draws`, for the bytes of a report as it is emitted."""
    kind = design.empty_reports(0).dtype

    def emitted(words: WordReader) -> bytes:
        return np.asarray(design.encode_report(design.draw(truth, words)), dtype=kind).tobytes()

    return law_of_draws(emitted, bits=bits, words_per_row=design.words_per_row, unit=unit)


def unit_of(column: Sequence[Fraction]) -> Fraction:
    """One unit of the common denominator of a column."""
    return Fraction(1, common_denominator(column))


def leading_patterns(leading: Sequence[Sequence[int]], fill: int) -> Array:
    """Rows of words with every pattern of the leading bits of both halves; the bits below are those of ``fill``."""
    halves = [bits for pair in leading for bits in pair]
    patterns = np.indices([1 << bits for bits in halves], dtype=np.uint32).reshape(len(halves), -1)
    parts = [p << 16 - bits | fill & (1 << 16 - bits) - 1 for p, bits in zip(patterns, halves, strict=True)]
    words = [low | high << 16 for low, high in zip(parts[::2], parts[1::2], strict=True)]
    return np.ascontiguousarray(np.stack(words, axis=1), dtype=np.uint32)


def edge_words(design: Design, rows: int, seed: int) -> Array:
    """Words at the edge of a decision: beside thresholds, at the rejection edge of a choice, all zeros, all ones.

    Each pair of words is taken from the edges of 64-bit thresholds, each word from the edges of choices and halves, and
    some are random, so that edges meet in all combinations.
    """
    rng = np.random.default_rng(seed)
    singles, pairs = _edges(design)
    words = rng.choice(singles, size=(rows, design.words_per_row))
    random = rng.integers(0, 1 << 32, size=words.shape, dtype=np.uint64)
    words = np.where(rng.random(words.shape) < 0.3, random, words)
    for at in range(design.words_per_row - 1):
        here = np.flatnonzero(rng.random(rows) < 0.5)
        chosen = rng.choice(pairs, size=len(here))
        words[here, at], words[here, at + 1] = chosen & 0xFFFFFFFF, chosen >> np.uint64(32)
    words[0], words[1] = 0, 0xFFFFFFFF
    return words.astype(np.uint32)


def _edges(design: Design) -> tuple[Array, Array]:
    thresholds = sorted(_thresholds(design))
    near64 = [(t.numerator << 64) // t.denominator + d for t in thresholds for d in (-1, 0, 1)]
    pairs = np.array([x for x in near64 if 0 <= x < 1 << 64] + [0, (1 << 64) - 1], dtype=np.uint64)
    halves = [
        h for t in thresholds for d in (-1, 0, 1) if 0 <= (h := (t.numerator << 16) // t.denominator + d) < 1 << 16
    ]
    next32 = [(t.numerator << 48) // t.denominator & 0xFFFFFFFF for t in thresholds]
    singles = {0, (1 << 32) - 1, *(a | b << 16 for a in halves[:12] for b in halves[:12])}
    singles |= {(x + d) % (1 << 32) for x in next32 for d in (-1, 0, 1)}
    for bound in {*range(1, min(design.k, 12) + 1), design.k}:
        for j in {0, 1, bound // 2, bound - 1}:
            first = -(-(j << 32) // bound)  # the first word that chooses j
            singles |= {(first + d) % (1 << 32) for d in (-1, 0, 1)}
    return np.array(sorted(singles), dtype=np.uint64), pairs


def _thresholds(design: Design) -> set[Fraction]:
    """Every probability that a coin or a table of the design compares with."""
    found: set[Fraction] = set()
    for name in ("truth", "chance", "keep", "flip"):
        value = getattr(design, name, None)
        if isinstance(value, Fraction):
            found.add(value)
    for part in _parts(design):
        found |= _thresholds(part)
    if design.kind == "dense":
        pairs = zip(design.numerators, design.denominators, strict=True)
        found |= {Fraction(n, d) for column, d in pairs for n in itertools.accumulate(column)}
    if design.kind in ("patterns", "sparse"):
        found |= {t for column in zip(*design.exact_matrix(), strict=True) for t in itertools.accumulate(column)}
    if hasattr(design, "fixed"):
        found |= set(itertools.accumulate((design.truth, *design.fixed)))
    return set(sorted(found)[:40]) or {Fraction(1, 2)}


def _parts(design: Design) -> Iterator[Any]:
    for name in ("factors", "parts"):
        yield from getattr(design, name, ())
    if design.kind == "composed":
        yield from (design.first, design.then)  # type: ignore[attr-defined]


@dataclass
class HandmadeStream:
    """Stands in for a stream: given main words, and spill words that depend on the row."""

    main: Array

    def words(self, first_row: int, rows: int, words_per_row: int) -> Array:
        assert words_per_row == self.main.shape[1]
        return self.main[first_row : first_row + rows].copy()

    def twin(self) -> HandmadeStream:
        return HandmadeStream(self.main)

    def spill(self, row: int, refill: int) -> list[int]:
        rng = np.random.default_rng([row, refill])
        return rng.integers(0, 1 << 32, size=4, dtype=np.uint64).tolist()

    def further(self, rows: Array, refills: int) -> Array:
        words = [[word for refill in range(refills) for word in self.spill(row, refill)] for row in rows.tolist()]
        return np.array(words, dtype=np.uint32)


@dataclass
class HandmadeRandom:
    """A source of one hand-made stream."""

    main: Array
    private: bool = False

    def stream(self) -> Any:
        return HandmadeStream(self.main)
