"""Truth-or-fixed mixture: with probability p report the truth, otherwise report i with probability q_i.

    P = p I + q 1',      L = P^-1 = (I - q 1') / p

Source: [Adeshiyan2011, Example 3.1] (jar of red and labelled white balls). All of it costs O(k).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_list
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, interval
from maskwell.core.exact import (
    Number,
    Parity,
    all_from_digits,
    all_to_digits,
    check_probability,
    common_denominator,
    from_digits,
    sum_of,
    to_digits,
    to_float,
)
from maskwell.designs.coded import CodedDesign
from maskwell.designs.column_arrays import ThresholdTable
from maskwell.designs.design import check_two
from maskwell.designs.own_labels import OwnCategories
from maskwell.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TruthOrFixed(OwnCategories, CodedDesign):
    """P = p I + q 1'. Subclasses define q; a single number means k equal ones."""

    truth: Fraction

    @property
    def outputs(self) -> Categories:
        """The same categories."""
        return self.categories

    @property
    @abstractmethod
    def _q(self) -> Any:
        """Q as a float (all equal) or an array of shape (k,)."""

    def forward(self, x: Real) -> Real:
        """``p x + q sum(x)`` along the last axis."""
        return np.asarray(float(self.truth) * x + self._q * x.sum(axis=-1, keepdims=True))

    def forward_adjoint(self, x: Real) -> Real:
        """``p x + sum(q x)`` along the last axis."""
        return np.asarray(float(self.truth) * x + (self._q * x).sum(axis=-1, keepdims=True))

    def entries(self, reports: Array, truths: Array) -> Real:
        """``p [i = j] + q_i``."""
        q = np.broadcast_to(self._q, self.k)[reports][:, None]
        return np.asarray(q + float(self.truth) * (np.asarray(reports)[:, None] == truths))

    def backward(self, x: Real) -> Real:
        """``(x - q sum(x)) / p`` along the last axis."""
        return np.asarray((x - self._q * x.sum(axis=-1, keepdims=True)) / float(self.truth))

    def backward_squared(self, x: Real) -> Real:
        """``((1 - 2 q) x + q^2 sum(x)) / p^2`` along the last axis."""
        total = x.sum(axis=-1, keepdims=True)
        return np.asarray(((1 - 2 * self._q) * x + self._q**2 * total) / float(self.truth) ** 2)

    def second_moment(self, share: Real) -> Real:
        """``(diag(s) - s q' - q s' + q q') / p^2`` for shares s that sum to one."""
        self.check_identifiable()
        s = self._check_share(share)
        q = np.broadcast_to(self._q, s.shape)
        crossed = np.outer(s, q)
        return np.asarray((np.diag(s) - crossed - crossed.T + s.sum() * np.outer(q, q)) / float(self.truth) ** 2)

    def second_moment_of_truth(self) -> Real:
        """``((1 - 2 q) (p + q) + q^2) / p^2``, shape (k,)."""
        self.check_identifiable()
        p, q = float(self.truth), np.broadcast_to(self._q, self.k)
        return np.asarray(((1 - 2 * q) * (p + q) + q**2) / p**2)

    def count_chances(self) -> tuple[Real, Real]:
        """A share follows from how often its category is reported: ``p + q`` and ``q``."""
        q = np.broadcast_to(self._q, self.k)
        return np.broadcast_to(float(self.truth) + self._q, self.k), q

    def contrast_scale(self) -> float:
        """p: the fixed reports cancel."""
        return float(self.truth)

    def rank(self) -> int:
        """k, unless the truth is never reported."""
        return self.k if self.truth > 0 else 1

    def guess_probability(self, prior: Real | None = None) -> float:
        """``sum_i max(a_i (p + q_i), q_i max(a))`` for a prior a; ``p + (1 - p) / k`` for the uniform one."""
        p = float(self.truth)
        if prior is None:
            return p + (1 - p) / self.k
        a = self.check_distribution(prior, "prior")
        return float(np.maximum(a * (p + self._q), self._q * a.max()).sum())

    def total_variation(self) -> float:
        """Twice the chance of reporting the truth because it is the truth."""
        return float(self.total_variation_exact())

    def total_variation_exact(self) -> Fraction:
        """The same as a fraction."""
        return 2 * self.truth if self.k > 1 else Fraction(0)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Mixture(TruthOrFixed):
    """P = p I + q 1' with any q.

    >>> design = Mixture.of("3/5", ["1/5", "1/10", "1/10"], Categories.of(["a", "b", "c"]))
    >>> design.parity_exact()
    Fraction(7, 1)
    """

    fixed: tuple[Fraction, ...]
    kind: ClassVar[str] = "mixture"

    @classmethod
    def of(cls, truth: Number, fixed: Sequence[Number], categories: Categories) -> Self:
        """Checked: k probabilities q_i that sum, with p, to one."""
        fixed = as_list(fixed, "fixed")
        check_two(categories)
        p = check_probability(truth, "truth")
        q = tuple(check_probability(value, f"fixed[{i}]") for i, value in enumerate(fixed))
        if len(q) != len(categories):
            raise ParameterError(
                "fixed-report-probabilities-for-categories", q_count=len(q), categories_count=len(categories)
            )
        total = sum_of([p, *q])
        if total != 1:
            raise ParameterError("truth-and-fixed-sum-to-which", total=to_float(total), total_sub=to_float(total - 1))
        return cls(categories=categories, truth=p, fixed=q).noting_decimals(p, *q)

    @cached_property
    def _q(self) -> Array:
        return np.array([q.numerator / q.denominator for q in self.fixed])

    @cached_property
    def _smallest(self) -> Fraction:
        """Rounding to floats keeps the order, so that only those of the smallest float are compared."""
        return min(self._different(np.flatnonzero(self._q == self._q.min())))

    @cached_property
    def _equal(self) -> bool:
        """Whether all q are the same, exactly."""
        return bool((self._q == self._q[0]).all()) and len(self._different(range(self.k))) == 1

    def _different(self, places: Iterable[int]) -> set[Fraction]:
        """The different q of some places; numerators and denominators are compared faster than fractions."""
        pairs = {(self.fixed[i].numerator, self.fixed[i].denominator) for i in places}
        return {Fraction(*pair) for pair in pairs}

    @cached_property
    def _spread(self) -> float:
        """How far q lies from its mean."""
        return float(np.linalg.norm(self._q - (1 - float(self.truth)) / self.k))

    def parity_exact(self) -> Parity:
        """``1 + p / min(q)``, infinite when some report can only be the truth."""
        if self.truth == 0 or self.k == 1:
            return Fraction(1)
        return 1 + self.truth / self._smallest if self._smallest else math.inf

    def added_variance(self, pi: Real | None = None) -> float:
        """``(1 - 2 p sum(q pi) - sum(q^2)) / p^2 - 1``, at uniform ``pi`` by default."""
        p, q = float(self.truth), self._q
        shared = (1 - p) / self.k if pi is None else float(q @ self.check_distribution(pi))
        self.check_identifiable()
        return (1 - 2 * p * shared - float(q @ q)) / p**2 - 1

    def is_admissible(self) -> bool:
        """Only when all q are equal: then every row has the same parity."""
        return self.truth > 0 and self._equal and (self.fixed[0] > 0 or self.truth == 1) and self.k > 1

    def singular_range(self) -> tuple[float, float]:
        """From a 2 x 2 matrix: P acts as p times the identity outside the span of 1 and q."""
        p = float(self.truth)
        inner = np.linalg.svd(np.array([[1.0, 0.0], [math.sqrt(self.k) * self._spread, p]]), compute_uv=False).tolist()
        values = [*inner, p] if self.k > 2 else inner
        return float(max(values)), float(min(values))

    def _exact_matrix(self) -> list[list[Fraction]]:
        return [[q + self.truth * (i == j) for j in range(self.k)] for i, q in enumerate(self.fixed)]

    def _matrix(self) -> Real:
        return self.forward(np.eye(self.k)).T

    # One number U decides: below p the truth, above it the report whose share of (p, 1) holds U.

    words_per_row = 2  # one number of 64 bits

    @cached_property
    def _denominator(self) -> int:
        return common_denominator([self.truth, *self.fixed])

    @cached_property
    def _numerators(self) -> list[int]:
        """The probabilities p and q as integers over the denominator."""
        d = self._denominator
        return [p.numerator * (d // p.denominator) for p in (self.truth, *self.fixed)]

    @cached_property
    def _thresholds(self) -> list[int]:
        return list(accumulate(self._numerators))[:-1]

    @cached_property
    def _table(self) -> ThresholdTable:
        return ThresholdTable.of([self._thresholds], [self._denominator])

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        outcome = interval(self._thresholds, self._denominator, words.part(self.words_per_row))
        return truth if outcome == 0 else outcome - 1

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        outcome = np.empty(len(codes), dtype=np.uint32)
        unsettled = self._table.draw_rows(np.zeros(len(codes), dtype=np.uint32), words, outcome)
        np.copyto(out, np.where(outcome == 0, codes, outcome - 1), casting="unsafe")
        return unsettled

    def exact_form(self) -> Mapping[str, Any]:
        """Integers over one denominator."""
        truth, *fixed = all_to_digits(self._numerators)
        return {"denominator": to_digits(self._denominator), "truth": truth, "fixed": fixed}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        d = from_digits(exact["denominator"])
        fixed = [Fraction(q, d) for q in all_from_digits(exact["fixed"])]
        return cls.of(Fraction(from_digits(exact["truth"]), d), fixed, inputs)
