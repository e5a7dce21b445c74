"""Unary encodings: one bit for each category, each bit randomized on its own.

The bit of the true category is 1 with probability p, every other bit with r < p. Reports with no bit or all bits set
reveal nothing, so these designs are never admissible; they are here for comparison and for data collected with them.

    parity = p (1 - r) / (r (1 - p))

Source: after [Erlingsson2014] (basic RAPPOR) and [Wang2017] (optimised unary); formulas derived from the parity.

**Three unbiased estimators** of shares: ``per-bit`` is ``(V_i / n - r) / (p - r)``; ``centred`` shifts it so that the
shares sum to one; ``best-linear`` weighs each report by its size s, best among linear estimators at equal shares:

    U_i = 1/k + (x_i - 1) / mu,    x_i = k gamma / D_s for categories in the report, k / D_s for the others
    n Var(pi_hat_i) = pi_i T + (1 - pi_i) O - pi_i^2,      V_R = T + (k - 1) O - 1

where ``D_s = s gamma + k - s``, mu is the eigenvalue of ``P' D^-1 P`` at equal shares that belongs to contrasts, and T
and O are the mean of U_i^2 when the truth is i and when it is not. Source: derived, the last estimator from
[NayakZhai2019, eqs. (3.3) and (6.3)].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, settle
from maskwell.core.exact import (
    Number,
    Parity,
    check_probability,
    common_denominator,
    from_digits,
    resolution,
    root_below,
    to_digits,
    to_float,
)
from maskwell.core.report_data import SetReports
from maskwell.designs import kernels
from maskwell.designs.asked_parity import Asked, asked_epsilon, asked_gamma
from maskwell.designs.design import check_two
from maskwell.designs.set_reports import SetDesign
from maskwell.errors import ParameterError

Estimator = Literal["per-bit", "centred", "best-linear"]
ESTIMATORS: tuple[Estimator, ...] = ("per-bit", "centred", "best-linear")


def square_means(estimator: Estimator, k: int, p: Fraction, r: Fraction) -> tuple[float, float]:
    """T and O: the mean of U_i^2 when the truth is category i, and when it is another one."""
    if estimator == "best-linear":
        return _best_linear_means(k, p, r)
    own, other = (q * (1 - q) / (p - r) ** 2 for q in (p, r))
    if estimator == "centred":
        shared = (own + (k - 1) * other) / k**2
        own, other = (v * Fraction(k - 2, k) + shared for v in (own, other))
    return to_float(1 + own), to_float(other)


def _told(k: int, p: Fraction, r: Fraction) -> float:
    """``F - k``: the mean of ``k s (k - s) (gamma - 1)^2 / D_s^2`` over the size s of a report."""
    inverse = r * (1 - p) / (p * (1 - r))
    others, chances = binomial_bulk(k - 1, float(r))  # how many other bits are one

    def told_by(s: Real) -> Real:
        inside, outside = _deviations(s, k, inverse)
        return np.asarray(-k * inside * outside)

    mean = float(p) * told_by(others + 1) + float(1 - p) * told_by(others)
    return float((chances * mean).sum())


def _deviations(s: Real, k: int, inverse: Fraction) -> tuple[Real, Real]:
    """``x_i - 1`` inside and outside of a report of size s: ``(k - s) (gamma - 1) / D_s``, ``-s (gamma - 1) / D_s``."""
    size = np.maximum(s, 1)  # the empty report tells nothing; where 1 / gamma underflows it would read 0 / 0
    apart = float(1 - inverse) / (size + (k - size) * float(inverse))
    return (k - size) * apart, -s * apart


def _best_linear_means(k: int, p: Fraction, r: Fraction) -> tuple[float, float]:
    keep, flip, inverse = float(p), float(r), r * (1 - p) / (p * (1 - r))
    mu = _told(k, p, r) / (k - 1)

    def squared(s: Real) -> tuple[Real, Real]:
        inside, outside = _deviations(s, k, inverse)
        return (1 / k + inside / mu) ** 2, (1 / k + outside / mu) ** 2

    others, chances = binomial_bulk(k - 1, flip)
    own = chances @ (keep * squared(others + 1)[0] + (1 - keep) * squared(others)[1])
    rest, chances = binomial_bulk(k - 2, flip)  # without the bit of category i and that of the truth
    (_, none), (one_in, one_out), (both, _) = (squared(rest + i) for i in range(3))
    named, left_out = keep * both + (1 - keep) * one_in, keep * one_out + (1 - keep) * none
    return float(own), float(chances @ (flip * named + (1 - flip) * left_out))


def binomial_bulk(n: int, p: float) -> tuple[Real, Real]:
    """Numbers of successes in n trials and their probabilities; what is left out weighs less than 1e-30.

    Bernstein: a deviation t from the mean has a chance below ``2 exp(-t^2 / (2 n p (1-p) + 2 t / 3))``.
    """
    exponent = 72.0  # 2 exp(-72) is below 1e-30
    reach = exponent / 3 + math.sqrt((exponent / 3) ** 2 + 2 * exponent * n * p * (1 - p))
    first, last = max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach))
    s = np.arange(first, last + 1, dtype=np.float64)
    odds = math.log(p) - math.log1p(-p) if p else -math.inf  # a chance may be too small for a float
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - s[:-1]) / s[1:]) + odds)])
    weights = np.exp(logs - logs.max())
    return s, weights / weights.sum()


def _ends(chance: Fraction) -> bool:
    """Whether a probability ends within 16 bits, so that a half that equals it settles the bit."""
    return (chance.numerator << 16) % chance.denominator == 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Unary(SetDesign):
    """Independent bits; ``keep`` = p, ``flip`` = r.

    >>> Unary.rappor_from_gamma(4, Categories.numbered(3)).keep
    Fraction(2, 3)
    >>> Unary.oue_from_gamma(4, Categories.numbered(3)).flip
    Fraction(1, 5)
    """

    keep: Fraction
    flip: Fraction
    kind: ClassVar[str] = "unary"

    @classmethod
    def of(cls, keep: Number, flip: Number, categories: Categories) -> Self:
        """From the two bit probabilities."""
        check_two(categories)
        p, r = check_probability(keep, "keep", open_=True), check_probability(flip, "flip", open_=True)
        if r >= p:
            raise ParameterError("flip-is-not-below-keep", flip=flip, keep=keep)
        return cls(categories=categories, keep=p, flip=r).noting_decimals(p, r)

    @classmethod
    def rappor_from_gamma(cls, gamma: Number, categories: Categories) -> Self:
        """Basic RAPPOR: ``p = sqrt(gamma) / (1 + sqrt(gamma))`` and ``r = 1 - p``."""
        return cls._rappor(asked_gamma(gamma), categories)

    @classmethod
    def rappor_from_epsilon(cls, epsilon: Number, categories: Categories) -> Self:
        """Basic RAPPOR with parity just below e**epsilon."""
        return cls._rappor(asked_epsilon(epsilon), categories)

    @classmethod
    def oue_from_gamma(cls, gamma: Number, categories: Categories) -> Self:
        """Optimised unary: ``p = 1/2`` and ``r = 1 / (gamma + 1)``."""
        return cls._oue(asked_gamma(gamma), categories)

    @classmethod
    def oue_from_epsilon(cls, epsilon: Number, categories: Categories) -> Self:
        """Optimised unary with parity just below e**epsilon."""
        return cls._oue(asked_epsilon(epsilon), categories)

    @classmethod
    def _rappor(cls, asked: Asked, categories: Categories) -> Self:
        check_two(categories)
        root = root_below(asked.exact, 2, resolution(asked.exact, len(categories)))
        if root <= 1:
            raise asked.too_tight()
        return cls._noted(root / (1 + root), 1 / (1 + root), asked, categories)

    @classmethod
    def _oue(cls, asked: Asked, categories: Categories) -> Self:
        check_two(categories)
        flip = 1 - asked.down(asked.exact / (asked.exact + 1), len(categories))
        if flip >= Fraction(1, 2):
            raise asked.too_tight()
        return cls._noted(Fraction(1, 2), flip, asked, categories)

    @classmethod
    def _noted(cls, keep: Fraction, flip: Fraction, asked: Asked, categories: Categories) -> Self:
        design = cls.of(keep, flip, categories)
        return design.with_provenance(**asked.note(design.parity_exact()))

    @property
    def outputs(self) -> SetReports:
        """Sets of any size."""
        return SetReports(self.k, None)

    @property
    def m(self) -> int:
        """All subsets: ``2**k``."""
        return 1 << self.k

    def report_bits(self) -> float:
        """One for each category."""
        return float(self.k)

    @property
    def include(self) -> Fraction:
        """P."""
        return self.keep

    @property
    def other(self) -> Fraction:
        """R."""
        return self.flip

    def pair_probabilities(self) -> tuple[Fraction, Fraction]:
        """``p r`` and ``r^2``: bits are independent."""
        return self.keep * self.flip, self.flip * self.flip

    def separation(self) -> float:
        """``(p - r)^2 / ((p^2 + (1 - p)^2) (r^2 + (1 - r)^2))``."""
        p, r = self.keep, self.flip
        return float((p - r) ** 2 / ((p * p + (1 - p) ** 2) * (r * r + (1 - r) ** 2)))

    def set_probability(self, chosen: frozenset[int], truth: int) -> Fraction:
        """Chance of reporting exactly this set."""
        ones = len(chosen - {truth})
        truth_bit = self.keep if truth in chosen else 1 - self.keep
        return truth_bit * self.flip**ones * (1 - self.flip) ** (self.k - 1 - ones)

    def sets(self) -> Iterable[tuple[int, ...]]:
        """All subsets, as the binary numbers whose first digit is the first category."""
        return (tuple(j for j, bit in enumerate(bits) if bit) for bits in product((0, 1), repeat=self.k))

    def parity_exact(self) -> Parity:
        """``p (1 - r) / (r (1 - p))``."""
        return self.keep * (1 - self.flip) / (self.flip * (1 - self.keep))

    def is_admissible(self) -> bool:
        """Never: the empty and the full report are wasted."""
        return False

    def guess_probability(self, prior: Real | None = None) -> float:
        """``(1 - p) [sum_i r (1 - r)^(i-2) max(gamma a_i, a_1) + (1 - r)^(k-1) a_1]`` for a decreasing prior a.

        For the uniform one: ``[p / r (1 - (1 - r)^k) + (1 - p) (1 - r)^(k-1)] / k``.
        """
        p, r, gamma = float(self.keep), float(self.flip), self.parity()
        if prior is None:
            empty = (self.k - 1) * math.log1p(-r)
            some = -math.expm1(empty + math.log1p(-r)) / r if r else self.k  # its limit where no float holds r
            return (p * some + (1 - p) * math.exp(empty)) / self.k
        a = np.sort(self.check_distribution(prior, "prior"))[::-1]
        best = np.maximum(gamma * a, a[0])
        nothing = (1 - r) ** (self.k - 1) * a[0]
        return float((1 - p) * ((r * (1 - r) ** np.arange(-1, self.k - 1) * best).sum() + nothing))

    def details(self) -> dict[str, Any]:
        """The added variance of three estimators."""
        return {"added_variance_by_estimator": {e: self.added_variance_of(e) for e in ESTIMATORS}}

    def least_added_variance(self, pi: Real | None = None) -> float:
        """Of the best linear estimator, whatever the true proportions."""
        return self.added_variance_of("best-linear")

    def added_variance_of(self, estimator: Estimator) -> float:
        """Added variance of one estimator of :mod:`maskwell.designs.unary`; :meth:`solve` is per-bit."""
        if estimator == "per-bit":
            return self.added_variance()
        if estimator == "centred":
            return self.added_variance() * (self.k - 1) / self.k
        return float((self.k - 1) ** 2 / _told(self.k, self.keep, self.flip) + 1 / self.k - 1)

    def share_variance_of(self, estimator: Estimator, pi: Real) -> Real:
        """``n Var(pi_hat_i)`` of one of these estimators at true proportions ``pi``, shape (k,)."""
        pi = self.check_distribution(pi)
        own, other = square_means(estimator, self.k, self.keep, self.flip)
        return np.asarray(pi * own + (1 - pi) * other - pi**2)

    # Each bit has one 16-bit half of a word, low half first; a tie with a threshold reads further words, bit by bit.

    @property
    def words_per_row(self) -> int:
        """Half a word for each category, and one word for a tie."""
        return (self.k + 1) // 2 + 1

    @property
    def further_words(self) -> float:
        """One for each half that ties: one in ``2**16``, unless the probability ends there."""
        return 0.0 if _ends(self.flip) else self.k / 2**16

    def draw(self, truth: int, words: WordReader) -> frozenset[int]:
        """One report by the definition."""
        words = words.part(self.words_per_row)
        half = words.bits // 2
        read = words.take((self.k + 1) // 2)
        leading = [part for word in read for part in (word & ((1 << half) - 1), word >> half)][: self.k]
        likely, unlikely = ((q.numerator << half) // q.denominator for q in (self.keep, self.flip))

        def is_one(j: int, digit: int, chance: Fraction) -> bool:
            return leading[j] < digit or (leading[j] == digit and settle(digit, half, chance, words))

        ones = [is_one(j, unlikely, self.flip) if j != truth else is_one(j, likely, self.keep) for j in range(self.k)]
        return frozenset(j for j, one in enumerate(ones) if one)

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        unsettled = np.empty(len(codes), dtype=np.int64)
        keep, flip = ((q.numerator << 48) // q.denominator for q in (self.keep, self.flip))
        ends = _ends(self.keep), _ends(self.flip)
        count = kernels.active.unary(codes, words, self.k, keep, ends[0], flip, ends[1], out, unsettled)
        return unsettled[:count]

    def exact_form(self) -> Mapping[str, Any]:
        """The two bit probabilities as integers over one denominator."""
        d = common_denominator([self.keep, self.flip])
        bits = {"keep": to_digits(int(self.keep * d)), "flip": to_digits(int(self.flip * d))}
        return {"denominator": to_digits(d), **bits}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        d = from_digits(exact["denominator"])
        return cls.of(Fraction(from_digits(exact["keep"]), d), Fraction(from_digits(exact["flip"]), d), inputs)
