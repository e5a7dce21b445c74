"""K-ary randomized response: every wrong report is equally likely, gamma times less than the truth.

    P = ((gamma - 1) I + J) / (gamma + k - 1)

Drawn as a mixture: the truth with probability ``(gamma - 1) / (gamma + k - 1)``, otherwise any category.

Source: [ChaiNayak2018, Theorem 4.4], where it is shown to have the largest trace among k x k designs of its parity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, choice, choice_from, settle
from maskwell.core.exact import Number, Parity, check_probability, from_digits, to_digits, to_float
from maskwell.designs import kernels
from maskwell.designs.asked_parity import Asked, asked_epsilon, asked_gamma
from maskwell.designs.column_arrays import threshold64
from maskwell.designs.design import check_two
from maskwell.designs.mixture import TruthOrFixed
from maskwell.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Uniform(TruthOrFixed):
    """K-ary randomized response (GRR, k-RR).

    >>> design = Uniform.from_gamma(3, Categories.of(["yes", "no"]))   # Warner's device, three cards in four
    >>> design.matrix().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> Uniform.from_epsilon(1, Categories.numbered(4)).parity() <= math.e
    True
    """

    kind: ClassVar[str] = "uniform"

    @classmethod
    def of(cls, truth: Number, categories: Categories) -> Self:
        """From the probability of reporting the truth because it is the truth."""
        check_two(categories)
        p = check_probability(truth, "truth")
        if p == 0:
            raise ParameterError("truth-0-every-report-would")
        return cls(categories=categories, truth=p).noting_decimals(p)

    @classmethod
    def from_gamma(cls, gamma: Number, categories: Categories) -> Self:
        """The design whose parity is gamma: exactly for integers and fractions, never more for floats."""
        return cls._asked(asked_gamma(gamma), categories)

    @classmethod
    def from_epsilon(cls, epsilon: Number, categories: Categories) -> Self:
        """The closest exact design whose parity does not exceed e**epsilon."""
        return cls._asked(asked_epsilon(epsilon), categories)

    @classmethod
    def _asked(cls, asked: Asked, categories: Categories) -> Self:
        check_two(categories)
        k, gamma = len(categories), asked.exact
        design = cls.of(asked.down((gamma - 1) / (gamma - 1 + k), k), categories)
        return design.with_provenance(**asked.note(design.parity_exact()))

    @property
    def _q(self) -> float:
        return float((1 - self.truth) / self.k)

    def parity_exact(self) -> Parity:
        """``1 + k p / (1 - p)`` for truth probability p."""
        return 1 + self.k * self.truth / (1 - self.truth) if self.truth < 1 else math.inf

    def added_variance(self, pi: Real | None = None) -> float:
        """``(k - 1) (1 - p^2) / (k p^2)``, whatever the true proportions; from fractions."""
        if pi is not None:
            self.check_distribution(pi)
        a, b = self.truth.numerator, self.truth.denominator
        return to_float(Fraction((self.k - 1) * (b - a) * (b + a), self.k * a * a))

    def is_admissible(self) -> bool:
        """Always: every row takes two values in the ratio of the parity."""
        return True

    def singular_range(self) -> tuple[float, float]:
        """1 and p."""
        return 1.0, float(self.truth)

    def _exact_matrix(self) -> list[list[Fraction]]:
        q = (1 - self.truth) / self.k
        return [[q + self.truth * (i == j) for j in range(self.k)] for i in range(self.k)]

    def _matrix(self) -> Real:
        P = np.full((self.k, self.k), self._q)
        np.fill_diagonal(P, float((1 - self.truth) / self.k + self.truth))
        return P

    # Words a, b: the number b a (64 bits) below the threshold keeps the truth; else word a chooses the category.
    # When b ties with the leading word of the threshold, a is no longer uniform, and a fresh word chooses.

    words_per_row = 2

    @property
    def further_words(self) -> float:
        """One, when the choice is rejected: with a chance below ``k / 2**32``."""
        return self.k / 2**32

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        words = words.part(self.words_per_row)
        number = words.pair()
        if settle(number, 2 * words.bits, self.truth, words):
            return truth
        tied = number >> words.bits == (self.truth.numerator << words.bits) // self.truth.denominator
        low = number & ((1 << words.bits) - 1)
        return choice(self.k, words) if tied else choice_from(low, self.k, words)

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        unsettled = np.empty(len(codes), dtype=np.int64)
        threshold = threshold64(self.truth.numerator, self.truth.denominator)
        same = codes if codes.dtype == out.dtype else codes.astype(out.dtype)
        return unsettled[: kernels.active.uniform(same, words, self.k, threshold, out, unsettled)]

    def exact_form(self) -> Mapping[str, Any]:
        """The probability of the truth as an integer over a denominator; the rest is shared equally."""
        return {"denominator": to_digits(self.truth.denominator), "truth": to_digits(self.truth.numerator)}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        return cls.of(Fraction(from_digits(exact["truth"]), from_digits(exact["denominator"])), inputs)
