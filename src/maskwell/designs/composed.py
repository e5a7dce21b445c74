"""Composition ``A = C P``: the report of one design P is randomized again by a second design C.

Parity never exceeds that of P. The matrix is computed exactly when it is small; draws always go through both steps.

Source: [ChaiNayak2018, Lemma 4.1].
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader
from maskwell.core.exact import Parity, common_denominator, to_float
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.kronecker import check_coded
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, TooLargeError

WORK_LIMIT = 10**7  # products of exact matrices with more multiplications than this are not worked out
DIGIT_LIMIT = 10**9  # nor are those that take more multiplications of machine words, as digits grow from step to step


def _of_the_product(name: str) -> Callable[..., Any]:
    """A method that asks the product of both steps."""
    return lambda self, *given, **named: getattr(self.whole(), name)(*given, **named)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Composed(CodedDesign):
    """First one design, then another on its reports.

    >>> labels = Categories.of(["yes", "no"])
    >>> twice = Composed.of(Uniform.from_gamma(3, labels), Uniform.from_gamma(5, labels))
    >>> twice.parity_exact()
    Fraction(2, 1)
    """

    first: CodedDesign
    then: CodedDesign
    kind: ClassVar[str] = "composed"

    @classmethod
    def of(cls, first: Design, then: Design) -> Self:
        """Checked: the second design's categories are the first one's reports."""
        one, two = check_coded([first, then], "a composition")
        if one.outputs.labels != two.inputs.labels:
            raise ParameterError("the-reports-of-the-first-design", m=one.m, k=two.k)
        return cls(first=one, then=two).noting_decimals(one, two)

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.first.inputs

    @property
    def outputs(self) -> Categories:
        """The reports of the second step."""
        return self.then.outputs

    def whole(self) -> CodedDesign:
        """The product as one design: uniform designs stay uniform, others become dense."""
        return self._whole

    @cached_property
    def _whole(self) -> CodedDesign:
        if isinstance(self.first, Uniform) and isinstance(self.then, Uniform):
            return Uniform.of(self.first.truth * self.then.truth, self.first.inputs).noting_decimals(self)
        if self.m * self.then.k * self.k > WORK_LIMIT:
            raise TooLargeError(
                "a-x-times-a-x-matrix",
                m=self.m,
                k=self.then.k,
                self_k=self.k,
                parity_bound=to_float(self.parity_bound()),
            )
        return Dense.from_integers(self._product(), self.inputs, self.outputs).noting_decimals(self)

    def _product(self) -> list[list[int]]:
        """Integers for each truth in the ratio of its chances, from integers for each truth of both steps."""
        C, P = (_integer_columns(step) for step in (self.then, self.first))
        common = math.lcm(*map(sum, C))
        words = _words(common) * _words(max(map(sum, P)))
        if words * self.m * self.then.k * self.k > DIGIT_LIMIT:
            raise TooLargeError("the-chances-of-this-composition")
        scaled = [[n * (common // sum(column)) for n in column] for column in C]
        rows = list(zip(*scaled, strict=True))
        return [[sum(map(operator.mul, row, column)) for row in rows] for column in P]

    # ---- of the product

    parity_exact = _of_the_product("parity_exact")
    is_admissible = _of_the_product("is_admissible")
    guess_probability = _of_the_product("guess_probability")
    total_variation = _of_the_product("total_variation")
    added_variance = _of_the_product("added_variance")
    rank_work = _of_the_product("rank_work")
    rank = _of_the_product("rank")
    singular_range = _of_the_product("singular_range")
    check_identifiable = _of_the_product("check_identifiable")
    backward = _of_the_product("backward")
    backward_squared = _of_the_product("backward_squared")
    second_moment_of_truth = _of_the_product("second_moment_of_truth")
    count_chances = _of_the_product("count_chances")

    def parity_bound(self) -> Parity:
        """What the parity cannot exceed: ``(g1 g2 + 1) / (g1 + g2)`` for steps of parity g1 and g2.

        Derived: with x and y the chances under two truths of the middle reports where C is largest, the ratio is
        ``(1 + (g2 - 1) x) / (1 + (g2 - 1) y)``, largest at ``x = g1 / (g1 + 1), y = 1 / (g1 + 1)``.
        """
        one, two = self.first.parity_exact(), self.then.parity_exact()
        if isinstance(one, float) or isinstance(two, float):
            return min(one, two)
        return (one * two + 1) / (one + two)

    def _matrix(self) -> Real:
        return self._whole.matrix()

    def _exact_matrix(self) -> list[list[Fraction]]:
        return self._whole.exact_matrix()

    def forward(self, x: Real) -> Real:
        """Both steps along the last axis."""
        return self.then.forward(self.first.forward(x))

    def forward_adjoint(self, x: Real) -> Real:
        """Both steps' P' along the last axis, the second first."""
        return self.first.forward_adjoint(self.then.forward_adjoint(x))

    def contrast_scale(self) -> float | None:
        """The product of the steps' numbers: what sums to zero still does after the first step."""
        one, two = self.first.contrast_scale(), self.then.contrast_scale()
        return None if one is None or two is None else one * two

    @property
    def words_per_row(self) -> int:
        """The words of both steps."""
        return self.first.words_per_row + self.then.words_per_row

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition: step after step."""
        middle = self.first.draw(truth, words.part(self.first.words_per_row))
        return int(self.then.draw(middle, words.part(self.then.words_per_row)))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows, step after step."""
        middle, split = self.first.empty_reports(len(codes)), self.first.words_per_row
        one = self.first.draw_rows(codes, words[:, :split], middle)
        two = self.then.draw_rows(middle, words[:, split:], out)
        return np.union1d(one, two)

    def exact_form(self) -> Mapping[str, Any]:
        """Both steps."""
        return {"first": self.first.identity(), "then": self.then.identity()}

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """Not for compositions: relabel the steps."""
        raise ParameterError("the-labels-of-a-composition")


def _integer_columns(design: CodedDesign) -> Sequence[Sequence[int]]:
    """For each truth integers in the ratio of its chances."""
    if isinstance(design, Composed):
        return _integer_columns(design.whole())
    if isinstance(design, Dense):
        return design.numerators
    columns = list(zip(*design.exact_matrix(), strict=True))
    wholes = map(common_denominator, columns)
    return [[int(p * whole) for p in column] for column, whole in zip(columns, wholes, strict=True)]


def _words(number: int) -> int:
    """Machine words of an integer."""
    return number.bit_length() // 64 + 1
