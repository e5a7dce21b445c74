"""Decks of a bounded number of cards: the nearest design that few cards can realise, which is then the design."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np

from maskwell.core.arguments import Flag, Real, as_count, check_kind
from maskwell.core.exact import common_denominator, to_text
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.rational import independent_rows
from maskwell.errors import ParameterError
from maskwell.notes import Note
from maskwell.privacy.criteria import verdict
from maskwell.procedures.decks import Columns, Deck, columns_of, lay_out, make_deck, ruled_out

LARGEST = 10**5
ABOUT_TRUTHS = ("variables", "wanted", "samples", "items")  # what is noted of truths, which rounding does not change
_NEAR = 1e-9  # errors of floats closer than this are compared as fractions
_TOP_UP = 1e-10


def bounded_deck(
    design: Design, most: int, *, not_less_private: bool = False, sizes: Iterable[int] | None = None
) -> Deck:
    """The deck of at most so many cards that comes closest to a design; exact where that is possible.

        C = columns of d P rounded by largest remainder,   d = 1..most;   the smallest max abs(C / d - P)

    where ties go to the smaller deck, and decks are passed over from which fewer shares could be estimated than from
    the design. The deck keeps the design that it realises, C / d: with the one that was asked for, estimates would be
    biased. For one binary probability this is ``limit_denominator``. ``not_less_private`` takes only decks of at most
    the parity of the design in which no report rules out a further truth; ``sizes`` only these numbers of cards.
    Source: derived.
    """
    check_kind(Design, design=design)
    check_kind(Flag, not_less_private=not_less_private)
    allowed = _sizes(most, sizes)
    columns = columns_of(design)
    if common_denominator(chain.from_iterable(columns)) in allowed:
        return make_deck(design, most=as_count(most, "most"))
    wish = _Wish.of(design, columns)
    for size, counts in wish.nearest(allowed):
        if not (not_less_private and wish.is_exceeded_by(counts)) and (
            _rank([[Fraction(n) for n in column] for column in counts]) == wish.rank
        ):
            return Deck(realised=_realised(design, counts, size), wish=design, cards=lay_out(counts))
    limit = " at its parity or less" if not_less_private else ""
    raise ParameterError("no-deck-of-at-most-cards", limit=limit, design=design, most=most)


def _sizes(most: int, sizes: Iterable[int] | None) -> list[int]:
    count = as_count(most, "most")
    if not 1 <= count <= LARGEST:
        raise ParameterError("a-deck-of-at-most-cards-allow", count=count, largest=LARGEST, most=most)
    return sorted({size for size in sizes if 1 <= size <= count}) if sizes is not None else list(range(1, count + 1))


@dataclass(frozen=True, eq=False)
class _Wish:
    """The design that was asked for, with what decks are compared with."""

    columns: list[list[int]]  # over one denominator: sums of fractions would take their time
    denominator: int
    rank: int
    parity: Fraction | float
    decimals: bool

    @classmethod
    def of(cls, design: Design, columns: Columns) -> _Wish:
        common = common_denominator(chain.from_iterable(columns))
        numbers = [[p.numerator * (common // p.denominator) for p in column] for column in columns]
        return cls(numbers, common, _rank(columns), design.parity_exact(), design.decimals)

    def nearest(self, sizes: Sequence[int]) -> Iterator[tuple[int, list[list[int]]]]:
        """Sizes with their counts, the nearest first, ties by size; floats sort them, fractions decide what is near."""
        distinct = np.array(
            [[n / self.denominator for n in column] for column in sorted({tuple(sorted(c)) for c in self.columns})]
        )
        errors = np.array([_float_error(distinct, size) for size in sizes])
        order = np.argsort(errors, kind="stable")
        while len(order):
            near = errors[order] <= errors[order[0]] + _NEAR
            rounded = [(sizes[i], self._rounded(sizes[i])) for i in order[near]]
            yield from sorted(rounded, key=lambda sized: (Fraction(self._error(*sized), sized[0]), sized[0]))
            order = order[~near]

    def _rounded(self, size: int) -> list[list[int]]:
        return [_largest_remainder(column, self.denominator, size) for column in self.columns]

    def _error(self, size: int, counts: list[list[int]]) -> int:
        """The largest distance from the wish, times the size and the denominator."""
        pairs = zip(chain.from_iterable(counts), chain.from_iterable(self.columns), strict=True)
        return max(abs(n * self.denominator - p * size) for n, p in pairs)

    def is_exceeded_by(self, counts: list[list[int]]) -> bool:
        """Whether the deck reveals more than the design: by its parity or, where that is infinite, row by row."""
        rows = list(zip(*counts, strict=True))
        if isinstance(self.parity, float):
            return not ruled_out(rows) <= ruled_out(list(zip(*self.columns, strict=True)))
        most = max((Fraction(max(row), min(row)) if min(row) else math.inf for row in rows if any(row)), default=1)
        return not verdict(most, self.parity, decimals=self.decimals).meets


def _rank(columns: Columns) -> int:
    return len(independent_rows(columns))


def _float_error(columns: Real, size: int) -> float:
    """The largest error of rounding, where the remainders that are rounded up are the largest ones of each column."""
    scaled = columns * size
    part = np.sort(scaled - np.floor(scaled + _TOP_UP), axis=1)
    up = np.rint(part.sum(axis=1)).astype(int)
    raised = np.arange(part.shape[1]) >= (part.shape[1] - up)[:, None]
    return float(np.abs(np.where(raised, part - 1, part)).max()) / size


def _largest_remainder(column: Sequence[int], denominator: int, size: int) -> list[int]:
    """Counts that sum to the size: all rounded down, then those with the largest remainders up, the first on ties."""
    parts = [divmod(n * size, denominator) for n in column]
    counts = [whole for whole, _ in parts]
    for i in sorted(range(len(column)), key=lambda i: (-parts[i][1], i))[: size - sum(counts)]:
        counts[i] += 1
    return counts


def _realised(design: Design, counts: list[list[int]], size: int) -> Dense:
    """The design of the deck, with a note of what it represents."""
    made = Dense.from_integers(counts, design.inputs, design.written_reports())
    wished = {key: design.provenance[key] for key in ("family", "parameters", "demand") if key in design.provenance}
    kept = {key: design.provenance[key] for key in ABOUT_TRUTHS if key in design.provenance}
    return made.with_provenance(
        **kept,
        family="deck",
        parameters={"cards": str(size)},
        realises={"fingerprint": design.fingerprint, "parity": to_text(design.parity_exact()), **wished},
        note=Note("the-deck-realises-this-design-estimate"),
    )
