"""Sets of one size: subset selection, and local l-diversity as its limit.

**Subset selection** names q categories: with probability ``p = q gamma / (q gamma + k - q)`` the truth and q - 1 random
others, else q random others.

**Local l-diversity** names the truth and l - 1 random others, so that **parity is infinite**. Repeated reports
intersect to the truth: keep one answer for each respondent.

Source: [NayakZhai2019, sections 3.2 and 4], after Chai and Nayak 2019.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_count, check_kind
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, coin, others
from maskwell.core.exact import Number, Parity, check_probability, from_digits, to_digits
from maskwell.core.report_data import SetReports
from maskwell.designs import kernels
from maskwell.designs.asked_parity import Asked, asked_epsilon, asked_gamma
from maskwell.designs.column_arrays import threshold64
from maskwell.designs.design import check_two
from maskwell.designs.set_reports import SetDesign, leading_weights
from maskwell.errors import ParameterError

DIRECT = 10_000  # up to so many factors the plain product is as fast
SIEVE = 10**8  # beyond this a list of all primes would take too much memory


def binomial(n: int, q: int) -> int:
    """C(n, q), exactly."""
    if min(q, n - q) <= DIRECT or n > SIEVE:
        return math.comb(n, q)
    primes = _primes(n)
    exponents, power = np.zeros(len(primes), dtype=np.int64), primes.copy()
    while len(live := np.flatnonzero(power <= n)):
        exponents[live] += n // power[live] - q // power[live] - (n - q) // power[live]
        power[live] *= primes[live]
    used = exponents > 0
    return _product([p**e for p, e in zip(primes[used].tolist(), exponents[used].tolist(), strict=True)])


def _primes(n: int) -> Array:
    """All primes up to n."""
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(n) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    return np.flatnonzero(sieve)


def _product(factors: list[int]) -> int:
    """The product, halves first, so that numbers of the same length meet."""
    if len(factors) <= 16:
        return math.prod(factors)
    middle = len(factors) // 2
    return _product(factors[:middle]) * _product(factors[middle:])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FixedSizeSets(SetDesign):
    """Sets of one size: subset selection, and local l-diversity as the case where the truth is always named."""

    size: int

    @property
    def outputs(self) -> SetReports:
        """Sets of ``size`` categories."""
        return SetReports(self.k, self.size)

    @cached_property
    def m(self) -> int:
        """The number of such sets."""
        return binomial(self.k, self.size)

    def report_bits(self) -> float:
        """``log2 C(k, q)``, from the logarithm of factorials where the number itself would be long."""
        few = min(self.size, self.k - self.size)
        if few <= 1000:
            return math.log2(self.m)
        factorials = math.lgamma(self.k + 1) - math.lgamma(few + 1) - math.lgamma(self.k - few + 1)
        return factorials / math.log(2)

    @property
    def other(self) -> Fraction:
        """``r = (q - p) / (k - 1)``."""
        return (self.size - self.include) / (self.k - 1)

    def pair_probabilities(self) -> tuple[Fraction, Fraction]:
        """A and b of the module :mod:`maskwell.designs.set_reports`."""
        k, q, p = self.k, self.size, self.include
        a = p * Fraction(q - 1, k - 1)
        b = (p * (q - 1) * (q - 2) + (1 - p) * q * (q - 1)) / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
        return a, b

    def set_probability(self, chosen: frozenset[int], truth: int) -> Fraction:
        """Chance of reporting exactly this set."""
        if truth in chosen:
            return self.include / math.comb(self.k - 1, self.size - 1)
        return (1 - self.include) / math.comb(self.k - 1, self.size)

    def sets(self) -> Iterable[tuple[int, ...]]:
        """All sets of the size, in lexicographic order."""
        return combinations(range(self.k), self.size)

    def guess_probability(self, prior: Real | None = None) -> float:
        """``p / q`` for the uniform prior; otherwise a sum over which category of the set the prior likes best."""
        p = float(self.include)
        if prior is None:
            return p / self.size
        a = np.sort(self.check_distribution(prior, "prior"))[::-1]
        miss = float((1 - self.include) * self.size / (self.k - self.size))
        best = np.maximum(p * a, miss * a[0])[: self.k - self.size + 1]
        return float((leading_weights(self.k, self.size) * best).sum())

    @property
    def further_words(self) -> float:
        """A choice among b categories is rejected with a chance below ``b / 2**32``."""
        return self.size * self.k / 2**32

    def _draw_set(self, truth: int, words: WordReader, *, includes: bool) -> frozenset[int]:
        drawn = others(self.size - includes, self.k - 1, words)
        return frozenset({c + (c >= truth) for c in drawn} | ({truth} if includes else set()))

    def _draw_rows(self, codes: Array, words: Words, threshold: int | None, out: Array) -> Array:
        unsettled = np.empty(len(codes), dtype=np.int64)
        coin_needed, at = threshold is not None, threshold or 0
        count = kernels.active.subset(codes, words, self.k, self.size, coin_needed, at, out, unsettled)
        return unsettled[:count]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Subset(FixedSizeSets):
    """Subset selection with parity gamma.

    >>> design = Subset.from_gamma(3, Categories.numbered(4), size=2)
    >>> design.include, design.parity_exact(), design.m
    (Fraction(3, 4), Fraction(3, 1), 6)
    """

    chance: Fraction
    kind: ClassVar[str] = "subset"

    @classmethod
    def of(cls, include: Number, size: int, categories: Categories) -> Self:
        """From the chance that the truth is in the set; it must make naming the truth an advantage."""
        k, q = len(categories), check_set_size(size, categories)
        p = check_probability(include, "include", open_=True)
        if p * (k - q) <= (1 - p) * q:
            raise ParameterError("include-the-truth-would-be-no", include=include, q=Fraction(q, k))
        return cls(categories=categories, size=q, chance=p).noting_decimals(p)

    @classmethod
    def from_gamma(cls, gamma: Number, categories: Categories, *, size: int) -> Self:
        """The design whose parity is gamma: exactly for integers and fractions, never more for floats."""
        check_kind(Categories, categories=categories)
        return cls._asked(asked_gamma(gamma), categories, size)

    @classmethod
    def from_epsilon(cls, epsilon: Number, categories: Categories, *, size: int) -> Self:
        """The closest exact design whose parity does not exceed e**epsilon."""
        return cls._asked(asked_epsilon(epsilon), categories, size)

    @classmethod
    def _asked(cls, asked: Asked, categories: Categories, size: int) -> Self:
        k, q = len(categories), check_set_size(size, categories)
        design = cls.of(asked.down(q * asked.exact / (q * asked.exact + k - q), k), q, categories)
        return design.with_provenance(**asked.note(design.parity_exact()))

    @property
    def include(self) -> Fraction:
        """p: chance that the truth is in the set."""
        return self.chance

    def parity_exact(self) -> Parity:
        """``p (k - q) / ((1 - p) q)``."""
        return self.chance * (self.k - self.size) / ((1 - self.chance) * self.size)

    def is_admissible(self) -> bool:
        """Always: every row takes two values in the ratio of the parity."""
        return True

    def separation(self) -> float:
        """``(gamma - 1)^2 / ((k - 1) (gamma^2 / (k - q) + 1 / q))``."""
        gamma, k, q = self.parity_exact(), self.k, self.size
        return float((gamma - 1) ** 2 / ((k - 1) * (gamma * gamma / (k - q) + Fraction(1, q))))

    @property
    def words_per_row(self) -> int:
        """Two words for the coin, one for each category drawn."""
        return 2 + self.size

    def draw(self, truth: int, words: WordReader) -> frozenset[int]:
        """One report by the definition."""
        words = words.part(self.words_per_row)
        return self._draw_set(truth, words, includes=coin(self.chance, words))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._draw_rows(codes, words, threshold64(self.chance.numerator, self.chance.denominator), out)

    def exact_form(self) -> Mapping[str, Any]:
        """The chance to name the truth as an integer over a denominator; sets are chosen uniformly."""
        chance = {"denominator": to_digits(self.chance.denominator), "include": to_digits(self.chance.numerator)}
        return {**chance, "size": self.size}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        return cls.of(Fraction(from_digits(exact["include"]), from_digits(exact["denominator"])), exact["size"], inputs)


def check_set_size(size: int, categories: Categories) -> int:
    """A size from 1 to k - 1, or an error."""
    check_two(categories)
    k, q = len(categories), as_count(size, "size")
    if not 1 <= q <= k - 1:
        raise wrong_size("size", size, k)
    return q


def wrong_size(name: str, size: object, k: int) -> ParameterError:
    """The error for a size that no set of categories has."""
    allowed = "give 1" if k == 2 else f"give a size from 1 to {k - 1}"
    return ParameterError(
        "is-not-possible-for-categories",
        hint=allowed,
        shown_name=name,
        shown_size=size,
        shown_k=k,
        **{name: size, "k": k},
    )


def sizes_allowed(k: int) -> str:
    """The hint for an l that is not possible."""
    if k < 3:
        return "use at least 3 categories"
    return "give l = 2" if k == 3 else f"give l from 2 to {k - 1}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocalDiversity(FixedSizeSets):
    """The truth and l - 1 random others.

    >>> design = LocalDiversity.of(2, Categories.numbered(5))
    >>> design.parity(), design.guess_probability()
    (inf, 0.5)
    """

    kind: ClassVar[str] = "l-diverse"

    @classmethod
    def of(cls, l: int, categories: Categories) -> Self:  # noqa: E741 (the literature's name)
        """Checked: l = 1 would be the truth, l = k would say nothing."""
        check_kind(Categories, categories=categories)
        size, k = as_count(l, "l"), len(categories)
        if not 2 <= size <= k - 1:
            raise ParameterError("l-is-not-possible-for-categories", hint=sizes_allowed(k), l=l, k=k)
        check_two(categories)
        return cls(categories=categories, size=size)

    @property
    def include(self) -> Fraction:
        """One: the truth is always named."""
        return Fraction(1)

    def parity_exact(self) -> Parity:
        """Infinite."""
        return math.inf

    def is_admissible(self) -> bool:
        """No: without a bound on parity, reporting the truth is more informative."""
        return False

    def separation(self) -> float:
        """``(k - l) / (k - 1)``."""
        return (self.k - self.size) / (self.k - 1)

    @property
    def words_per_row(self) -> int:
        """One word for each other category drawn."""
        return self.size - 1

    def draw(self, truth: int, words: WordReader) -> frozenset[int]:
        """One report by the definition."""
        return self._draw_set(truth, words.part(self.words_per_row), includes=True)

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._draw_rows(codes, words, None, out)

    def exact_form(self) -> Mapping[str, Any]:
        """The size; sets are chosen uniformly."""
        return {"size": self.size}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        return cls.of(exact["size"], inputs)
