"""How many baskets hold a set of items, from baskets whose bits were kept or flipped.

    w_a(y) = (y - (1 - t_a)) / (s_a + t_a - 1),    sigma_hat(S) = mean over baskets of prod_{a in S} w_a(y_a)
with s_a = Pr(1 | 1) and t_a = Pr(0 | 0), needs only how many reports have a 1 for every item of T, for all T within S.
With f_i the product of a basket, f_i^2 - f_i is unbiased for its variance given the basket. A confidence is not defined
where sigma_hat(S) is within two errors of zero. Source: after [NayakZhangAdeshiyan2016, section 4]; derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Bits, Real, as_list
from maskwell.core.phrases import HINT, listed, shorten
from maskwell.core.verdicts import above
from maskwell.designs.basket_bits import ItemBits
from maskwell.errors import InputError, LabelError, ReportError, TooLargeError, UnknownCategoryError
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.sampling.replicate_weights import ReplicateRule

MOST_ITEMS = 12  # items of a set whose support is asked for: 2 to this power counts are taken
BLOCK_ROWS = 1 << 16  # baskets that are turned from rows into columns at once
BLOCK_WORDS = 1 << 12  # words of each column at once: those of a few hundred columns stay in the cache
DEFINED = 2.0  # standard errors that a support must be away from zero to be divided by


@dataclass(frozen=True)
class Itemset:
    """A set of items with its estimated support; the estimate is unbiased, and may be negative or above one."""

    items: tuple[str, ...]
    support: float
    standard_error: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"items": [*self.items], "support": self.support, "standard_error": self.standard_error}


@dataclass(frozen=True)
class Rule:
    """Baskets that hold ``given`` also hold ``then``: how many of them, and how many baskets hold all."""

    given: tuple[str, ...]
    then: tuple[str, ...]
    confidence: float
    standard_error: float
    support: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        values = {"confidence": self.confidence, "standard_error": self.standard_error, "support": self.support}
        return {"if": [*self.given], "then": [*self.then], **values}


def mean_of_products(shares: Any, low: Any, high: Any) -> Any:
    """``sum_T share(T) prod_{a in T} (high_a - low_a) prod_{a not in T} low_a``, the mean of ``prod_a f_a(y_a)``.

    ``shares[..., T]`` is the share of reports with a 1 for all of T, whose highest bit is the first item.
    """
    table = shares
    for item in range(low.shape[-1]):
        half = table.shape[-1] // 2
        step = (high - low)[..., item, None]
        table = low[..., item, None] * table[..., :half] + step * table[..., half:]
    return table[..., 0]


class ReportedBaskets:
    """Reported baskets, item by item, and estimates about the true ones."""

    def __init__(self, columns: Array, n: int, names: Sequence[str], w0: Real, w1: Real) -> None:
        self.n, self.names = n, tuple(names)
        self.columns, self.w0, self.w1 = columns, w0, w1
        self._place = {name: place for place, name in enumerate(self.names)}

    @classmethod
    def of(cls, bits: Bits, design: ItemBits, names: Sequence[str] | None = None) -> ReportedBaskets:
        """From rows of bits, shape (n, ceil(M / 8)), and the design that made them; ``names`` in place of its own."""
        if len(bits) < 2:
            raise InputError("basket-standard-errors-need-at-least", bits_count=len(bits))
        items = len(design)
        fits = bits.ndim == 2 and bits.shape[1] == (items + 7) // 8 and bits.dtype == np.uint8
        if not fits or (items % 8 and (bits[:, -1] >> (items % 8)).any()):
            width = (items + 7) // 8
            raise ReportError(
                "bits-of-shape-and-for-baskets", shape=bits.shape, dtype=bits.dtype, items=items, items_add=width
            )
        called = names or design.names or [str(place + 1) for place in range(items)]
        chances = [*zip(design.present, design.absent, strict=True)]
        w0 = np.array([float((t - 1) / (s + t - 1)) for s, t in chances])
        w1 = np.array([float(t / (s + t - 1)) for s, t in chances])
        return cls(_by_item(bits, items), len(bits), called, w0, w1)

    def support(self, items: Iterable[Hashable]) -> Itemset:
        """The estimated share of baskets that hold all of these items, with its standard error."""
        places = self._places(items)
        support, error = self.estimates([places])
        return Itemset(tuple(self.names[place] for place in places), float(support[0]), float(error[0]))

    def confidence(self, given: Iterable[Hashable], then: Iterable[Hashable]) -> Rule:
        """The share of the baskets with the items ``given`` that also hold ``then``, with its standard error."""
        first = self._places(given)
        places = self._places([*(self.names[place] for place in first), *as_list(then, "then")])
        ratio, error, defined = self.confidences([places], np.arange(len(places)) < len(first))
        if not defined[0]:
            named = shorten(", ".join(self.names[place] for place in first), 30)
            raise InputError("the-support-of-is-within-standard", named=named, defined=DEFINED)
        then_names = tuple(self.names[place] for place in places[len(first) :])
        whole = float(self.estimates([places])[0][0])
        return Rule(tuple(self.names[place] for place in first), then_names, float(ratio[0]), float(error[0]), whole)

    def estimates(self, sets: Sequence[Sequence[int]]) -> tuple[Real, Real]:
        """Supports of sets of one size, given by the places of their items, and their standard errors."""
        places = np.asarray(sets, dtype=np.intp)
        return estimate_of(np.array([self._shares(one) for one in sets]), self.w0[places], self.w1[places], self.n)

    def confidences(self, sets: Sequence[Sequence[int]], before: Array) -> tuple[Real, Real, Array]:
        """Confidences of rules, standard errors, and which are defined; ``before`` marks the items of the condition."""
        places = np.asarray(sets, dtype=np.intp)
        shares = np.array([self._shares(one) for one in sets])
        return confidence_of(shares, self.w0[places], self.w1[places], before, self.n)

    def _places(self, items: Iterable[Hashable]) -> list[int]:
        named = [items] if isinstance(items, str) else as_list(items, "items")
        unknown = next((item for item in named if str(item) not in self._place), None)
        if unknown is not None:
            raise UnknownCategoryError(
                "no-item-is-called",
                unknown=shorten(repr(unknown), 30),
                names=listed(map(repr, self.names), len(self.names), HINT - 7),
                item=unknown,
            )
        places = [self._place[str(item)] for item in named]
        if len({*places}) < len(places):
            raise LabelError("an-item-is-named-twice", items=named)
        if len(places) > MOST_ITEMS:
            raise TooLargeError("a-set-of-items-its-error", places_count=len(places), most_items=MOST_ITEMS)
        return places

    def _shares(self, places: Sequence[int]) -> Real:
        """Inclusion shares of all subsets, the first item as the highest bit."""
        shares = np.ones(1 << len(places))
        for subset in range(1, len(shares)):
            held = [p for i, p in enumerate(places) if subset >> (len(places) - 1 - i) & 1]
            shares[subset] = self.inclusion_counts([held])[0] / self.n
        return shares

    def inclusion_counts(self, sets: Sequence[Sequence[int]]) -> Array:
        """How many reports have a 1 for all items of each set, given by the places of the items; all of one size."""
        counts = np.zeros(len(sets), dtype=np.int64)
        for prefix, first, last in _runs(sets):
            ends = [sets[i][-1] for i in range(first, last)]
            counts[first:last] = self._with_prefix(prefix, ends)
        return counts

    def _with_prefix(self, prefix: Sequence[int], ends: Sequence[int]) -> Array:
        counts = np.zeros(len(ends), dtype=np.int64)
        for start in range(0, self.columns.shape[1], BLOCK_WORDS):
            block = self.columns[:, start : start + BLOCK_WORDS]
            words = block[ends]
            if prefix:
                words &= reduce(np.bitwise_and, (block[place] for place in prefix))
            if hasattr(np, "bitwise_count"):  # NumPy 2
                counts += np.bitwise_count(words).sum(axis=-1, dtype=np.int64)
            else:
                counts += _BITS_OF_BYTE[words.view(np.uint8)].sum(axis=-1, dtype=np.int64)
        return counts

    def pair_supports(self) -> tuple[Real, Real]:
        """Supports of all pairs of items, shape (M, M), and their standard errors; single items on the diagonal."""
        items = len(self.names)
        both = np.zeros((items, items))
        for place in range(items):
            both[place, place:] = self._with_prefix([place], [*range(place, items)])
        both = np.maximum(both, both.T) / self.n
        alone, tables = np.diagonal(both), []
        for low, high in ((self.w0, self.w1), (self.w0**2, self.w1**2)):
            step = high - low
            one, other = np.outer(step * alone, low), np.outer(low, step * alone)
            table = np.asarray(np.outer(step, step) * both + one + other + np.outer(low, low))
            np.fill_diagonal(table, low + step * alone)
            tables.append(table)
        support, squares = tables
        return support, _standard_error(support, squares, self.n)


def estimate_of(shares: Real, w0: Real, w1: Real, n: int) -> tuple[Real, Real]:
    """Supports and standard errors from inclusion shares, shape (..., 2^items), and weights, shape (..., items)."""
    support = mean_of_products(shares, w0, w1)
    return support, _standard_error(support, mean_of_products(shares, w0**2, w1**2), n)


def confidence_of(shares: Real, w0: Real, w1: Real, before: Array, n: int) -> tuple[Real, Real, Array]:
    """Confidence of a rule, its error, and whether it is defined; ``before`` marks the items of the condition."""
    ones = np.ones_like(w0)
    whole = mean_of_products(shares, w0, w1)
    part, squares = (
        mean_of_products(shares, np.where(before, low, ones), np.where(before, high, ones))
        for low, high in ((w0, w1), (w0**2, w1**2))
    )
    cross = mean_of_products(shares, np.where(before, w0**2, w0), np.where(before, w1**2, w1))
    whole_squares = mean_of_products(shares, w0**2, w1**2)
    defined = above(part, DEFINED * _standard_error(part, squares, n))
    divisor = np.where(defined, part, 1.0)
    ratio = whole / divisor
    spread = whole_squares - 2 * ratio * cross + ratio**2 * squares
    return ratio, np.sqrt(np.maximum(spread, 0) / (n - 1)) / divisor, np.asarray(defined)


def _standard_error(mean: Real, squares: Real, n: int) -> Real:
    return np.asarray(np.sqrt(np.maximum(squares - mean**2, 0) / (n - 1)))


def _by_item(bits: Bits, items: int) -> Array:
    """Rows of bits as one column of words for each item, shape (M, ceil(n / 64))."""
    columns = np.zeros((items, 8 * -(-len(bits) // 64)), dtype=np.uint8)
    for start in range(0, len(bits), BLOCK_ROWS):
        block = np.unpackbits(bits[start : start + BLOCK_ROWS], axis=1, count=items, bitorder="little")
        packed = np.packbits(np.ascontiguousarray(block.T), axis=1, bitorder="little")
        columns[:, start // 8 : start // 8 + packed.shape[1]] = packed
    return columns.view(np.uint64)


_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint8)


def _runs(sets: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], int, int]]:
    """Stretches of sets that share all items but the last: the items they share, the first of them, and the end."""
    first = 0
    for i in range(1, len(sets) + 1):
        if i == len(sets) or list(sets[i][:-1]) != list(sets[first][:-1]):
            yield list(sets[first][:-1]), first, i
            first = i


@dataclass(frozen=True, eq=False)
class BasketSampling:
    """How the rows of baskets were drawn."""

    rows: RowSampling
    weights: Real | None = None  # As they were given, shape (n,)
    replicates: Real | None = None  # Replicate weights, shape (n, R), which the rule makes a variance of
    rule: ReplicateRule | None = None

    @classmethod
    def of(cls, n: int, plan: Mapping[str, Any], *, lonely: str, rule: ReplicateRule | None) -> BasketSampling:
        """From what was read of the sampling of n rows."""
        return cls(RowSampling.from_columns(n, plan, lonely=lonely), plan.get("weight"), plan.get("replicates"), rule)

    def in_words(self) -> str:
        """What standard errors take into account."""
        if self.replicates is None or self.rule is None:
            return self.rows.in_words()
        return f"{self.replicates.shape[1]:,} replicate weights ({self.rule.method})"


class SampledBaskets(ReportedBaskets):
    """Reported baskets that represent others; every estimate reads the rows, not counts of them."""

    def __init__(self, baskets: ReportedBaskets, sampling: BasketSampling) -> None:
        super().__init__(baskets.columns, baskets.n, baskets.names, baskets.w0, baskets.w1)
        self.sampling = sampling
        rows = sampling.rows
        weights = np.ones(self.n) if rows.weights is None else rows.weights
        self._weights_of_rows = weights / weights.sum()
        self._left_out = rows.left_out()[rows.row_strata()] * self._weights_of_rows**2
        self._last: tuple[list[int], Real] = ([], np.ones(self.n))

    def estimates(self, sets: Sequence[Sequence[int]]) -> tuple[Real, Real]:
        """Supports of sets, given by the places of their items, and their standard errors."""
        found = np.array([self._estimate(self._products(places)) for places in sets])
        return found[:, 0], found[:, 1]

    def confidences(self, sets: Sequence[Sequence[int]], before: Array) -> tuple[Real, Real, Array]:
        """Confidences of rules, standard errors, and which are defined; ``before`` marks the items of the condition."""
        found = np.zeros((len(sets), 3))
        for one, places in enumerate(sets):
            u, v = self._products(places), self._products([*compress(places, before)])
            below, error = self._estimate(v)
            if above(below, DEFINED * error):
                ratio = float(self._weights_of_rows @ u) / below
                away, square = (u - ratio * v) / below, ((1 - 2 * ratio) * u + ratio**2 * v) / below**2
                found[one] = ratio, self._error(away, away, square), 1
        return found[:, 0], found[:, 1], found[:, 2] == 1

    def pair_supports(self) -> tuple[Real, Real]:
        """Supports of all pairs of items, shape (M, M), and their standard errors; single items on the diagonal."""
        items = len(self.names)
        one, two = np.triu_indices(items)
        pairs = [[a] if a == b else [a, b] for a, b in zip(one.tolist(), two.tolist(), strict=True)]
        found = np.array(self.estimates(pairs))
        tables = np.zeros((2, items, items))
        tables[:, one, two] = tables[:, two, one] = found
        return tables[0], tables[1]

    def _estimate(self, f: Real) -> tuple[float, float]:
        mean = float(self._weights_of_rows @ f)
        return mean, self._error(f, f - mean, f)

    def _error(self, values: Real, centred: Real, square_of_truth: Real) -> float:
        """The standard error of a mean of values; ``square_of_truth`` is unbiased for the squared truth."""
        sampling, rest = self.sampling, values**2 - square_of_truth
        if sampling.replicates is None or sampling.rule is None:
            scores = (self._weights_of_rows * centred)[:, None]
            variance = float(sampling.rows.variance_of_total(scores)[0, 0] + self._left_out @ rest)
        else:
            means = (sampling.replicates.T @ centred / sampling.replicates.sum(axis=0))[:, None]
            variance = float(sampling.rule.spread(means, np.zeros(1), full=False)[0])
            if sampling.rule.finite:  # a row of weight w was drawn with the chance 1 / w
                weights = np.ones(self.n) if sampling.weights is None else sampling.weights
                variance += float(weights @ rest) / float(weights.sum()) ** 2
        return float(np.sqrt(max(variance, 0.0)))

    def _products(self, places: Sequence[int]) -> Real:
        """f_i of every row; sets that share all items but the last are best given one after the other."""
        if not places:
            return np.ones(self.n)
        prefix, shared = self._last
        if prefix != [*places[:-1]]:
            shared = np.ones(self.n)
            for place in places[:-1]:
                shared = shared * self._factor(place)
            self._last = [*places[:-1]], shared
        return np.asarray(shared * self._factor(places[-1]))

    def _factor(self, place: int) -> Real:
        held: Any = np.unpackbits(self.columns[place].view(np.uint8), count=self.n, bitorder="little")
        return np.asarray(np.array([self.w0[place], self.w1[place]])[held])
