"""Baskets: sets of items, each item a bit that is kept or flipped on its own; the 2^M cells are never numbered.

    s_a = Pr(report 1 | truth 1),   t_a = Pr(report 0 | truth 0)

A report is at most ``max(s_a / (1 - t_a), t_a / (1 - s_a))`` times likelier with item a than without it, and a report
of the whole basket at most the product of these times likelier from one basket than from another.

Source: [NayakZhangAdeshiyan2016, section 4], after Rizvi and Haritsa (2002); parity of unequal bits derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Bits, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, log_of, rounded, to_float
from maskwell.core.keyed import KeyedRandom
from maskwell.core.labels import are_bits
from maskwell.core.phrases import listed, shorten
from maskwell.core.randomness import RandomSource
from maskwell.core.report_data import Reports
from maskwell.designs.design import Design
from maskwell.designs.kronecker import product_of
from maskwell.designs.sampler import sampler_of
from maskwell.errors import LabelError, ParameterError


@dataclass(frozen=True, eq=False)
class ItemBits:
    """What a product of designs says about each of its items; made by :func:`item_bits`.

    >>> from maskwell.designs import Kronecker, Uniform
    >>> coin = Uniform.of("4/5", Categories.of((1, 0)))
    >>> bits = item_bits(Kronecker.of([coin, coin]).with_provenance(items=["bread", "milk"]))
    >>> bits.present[0], bits.item_parity, bits.basket_parity   # one item, and the whole basket
    (Fraction(9, 10), Fraction(9, 1), Fraction(81, 1))
    """

    design: Design  # the product
    names: tuple[str, ...]  # of the items, in the order of the factors; empty where the design does not name them
    # present, absent: s and t of each item: chances that a 1 is reported as 1, and a 0 as 0
    present: tuple[Fraction, ...]
    absent: tuple[Fraction, ...]

    def __len__(self) -> int:
        return len(self.present)

    @property
    def item_parity(self) -> Parity:
        """The largest parity of one item."""
        return max(leaf.parity_exact() for leaf in self.design.leaves)

    @cached_property
    def basket_parity(self) -> Parity:
        """The parity of a whole basket: the product over its items."""
        return product_of(leaf.parity_exact() for leaf in self.design.leaves)

    def both_parities(self) -> dict[str, float]:
        """Both as plain numbers, with their logarithms, which no number of items makes infinite."""
        return {
            "basket_parity": to_float(self.basket_parity),
            "basket_epsilon": log_of(self.basket_parity),
            "item_parity": to_float(self.item_parity),
            "item_epsilon": log_of(self.item_parity),
        }

    def parities_in_words(self) -> str:
        """Both parities, the worse one first."""
        basket, item = (rounded(one, 4, up=True) for one in (self.basket_parity, self.item_parity))
        return f"parity {basket} for a whole basket of {len(self):,} items, {item} for one item"

    def check_named(self) -> None:
        """Raise unless the design names its items, and each name can be part of a list of items."""
        if not self.names:
            raise LabelError("the-design-does-not-name", self_count=len(self))
        unclear = next((name for name in self.names if len(name) == len(self) and not {*name} - {"0", "1"}), None)
        if unclear is not None:
            raise LabelError("the-item-reads-like-a-report", unclear=shorten(repr(unclear), 24), self_count=len(self))

    def sampler(self, random: RandomSource | KeyedRandom | None = None, column: str = "") -> BasketSampler:
        """A sampler of baskets that goes on row after row; with a key every item of the column is a variable."""
        return BasketSampler(self, random, column)

    def variables(self, column: str) -> list[tuple[str, str]]:
        """The names under which the items of a column keep their draws; items without names go by their number."""
        return [(column, name) for name in self.names or map(str, range(1, len(self) + 1))]


def item_bits(design: Design) -> ItemBits:
    """The bits of a design for baskets, or an error for a design of another kind."""
    check_kind(Design, design=design)
    bits = find_item_bits(design)
    if bits is None:
        kind = shorten(str(design.provenance.get("family", design.kind)), 24)
        raise ParameterError("a-design-of-the-kind", kind=kind)
    flat = [place for place, (s, t) in enumerate(zip(bits.present, bits.absent, strict=True)) if s + t <= 1]
    sure = [place for place, leaf in enumerate(design.leaves) if leaf.parity_exact() == math.inf]
    if flat or sure:
        places = flat or sure
        named = listed((repr(bits.names[i]) if bits.names else str(i + 1) for i in places), len(places), 30)
        wrong = "a 1 is reported no more often when it is true" if flat else "some report is the truth for certain"
        raise ParameterError("items-named-wrong", named=named, wrong=wrong)
    return bits


def find_item_bits(design: Design) -> ItemBits | None:
    """The same, None where the factors are not all about 1 and 0, or there is only one that names no item."""
    leaves = design.leaves
    if not all(
        leaf.k == 2 and isinstance(leaf.outputs, Categories) and all(map(are_bits, _labels(leaf))) for leaf in leaves
    ):
        return None
    names = _names(design, len(leaves))
    if len(leaves) == 1 and not names:
        return None
    chances = [_kept(leaf) for leaf in leaves]
    return ItemBits(design, names, tuple(s for s, _ in chances), tuple(t for _, t in chances))


def _labels(leaf: Design) -> list[list[object]]:
    assert isinstance(leaf.outputs, Categories)
    return [[*leaf.inputs.labels], [*leaf.outputs.labels]]


def _names(design: Design, count: int) -> tuple[str, ...]:
    """The names of the items as the design notes them; a note is not checked by the fingerprint, so it is here."""
    names = design.provenance.get("items")
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        return ()
    return tuple(names) if len({*names}) == len(names) == count else ()


def _kept(leaf: Design) -> tuple[Fraction, Fraction]:
    P, (truths, reports) = leaf.exact_matrix(), _labels(leaf)
    return P[reports.index(1)][truths.index(1)], P[reports.index(0)][truths.index(0)]


class BasketSampler:
    """Randomizes baskets, in batches; item a is bit ``a % 8`` (least significant first) of byte ``a // 8`` of a row."""

    def __init__(self, bits: ItemBits, random: RandomSource | KeyedRandom | None = None, column: str = "") -> None:
        self._bits = bits
        leaves = zip(bits.design.leaves, bits.variables(column), strict=True)
        self._samplers = [sampler_of(leaf, random, variable) for leaf, variable in leaves]
        self._codes = [[[*labels].index(1) for labels in _labels(leaf)] for leaf in bits.design.leaves]
        self.private = all(sampler.private for sampler in self._samplers)

    def sample(self, baskets: Bits, names: Array | None = None) -> Reports:
        """Reports of the next baskets, shape (n, ceil(M / 8)); ``names`` of their records where draws are kept."""
        items = len(self._bits)
        truth = np.ascontiguousarray(np.unpackbits(baskets, axis=1, count=items, bitorder="little").T)
        reported = np.empty_like(truth)
        for item, (sampler, (true_code, report_code)) in enumerate(zip(self._samplers, self._codes, strict=True)):
            codes: Array = truth[item] ^ (1 - true_code)  # of two codes, that of 1 is true_code
            reported[item] = sampler.sample_named(codes, names).data ^ (1 - report_code)
        packed = np.packbits(np.ascontiguousarray(reported.T), axis=1, bitorder="little")
        return Reports(self._bits.design.fingerprint, items, "bits", packed, self.private)
