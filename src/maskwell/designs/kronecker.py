"""Kronecker product: several variables, each randomized by a design of its own, independently.

The code of (x, y) is ``x * k_y + y``. The matrix is never written out: each linear operator works on one axis of a
table at a time, neighbouring short axes together. Parity is the product of the parities.

Source: [Adeshiyan2011, Example 3.2 and section 3.3]; parity in closed form and the order of work are derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Codes, Real, Words, list_of
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader
from maskwell.core.exact import Parity
from maskwell.designs.coded import CodedDesign
from maskwell.designs.column_arrays import Transitions
from maskwell.designs.design import MATRIX_LIMIT, Design, big
from maskwell.errors import ParameterError, TooLargeError

Operator = Callable[[Real], Real]  # a matrix applied to the last axis: shape (..., size) to (..., other size)

TOGETHER = 16  # axes are worked on together while their product of sizes, in and out, is at most this


def along_axes(x: Real, shape: Sequence[int], operators: Sequence[Operator]) -> Real:
    """Operators along the axes of tables that are written out in the last axis of ``x``, first axis slowest."""
    batch = x.shape[:-1]
    table = x.reshape(*batch, -1)
    for size, operate in _merged(shape, operators):
        table = operate(np.swapaxes(table.reshape(*batch, size, -1), -1, -2)).reshape(*batch, -1)
    return table


def _merged(shape: Sequence[int], operators: Sequence[Operator]) -> Iterator[tuple[int, Operator]]:
    """The axes with their operators, short neighbours as one: a small matrix A', shape (size, other size)."""
    waiting: Real | None = None
    for size, operate in zip(shape, operators, strict=True):
        small = operate(np.eye(size)) if size <= TOGETHER else None
        if waiting is not None and (
            small is None or any(a * b > TOGETHER for a, b in zip(waiting.shape, small.shape, strict=True))
        ):
            yield len(waiting), partial(_times, waiting)
            waiting = None
        if small is None:
            yield size, operate
        else:
            waiting = small if waiting is None else np.asarray(np.kron(waiting, small), dtype=np.float64)
    if waiting is not None:
        yield len(waiting), partial(_times, waiting)


def _times(written: Real, x: Real) -> Real:
    return np.asarray(x @ written)


LABEL_LIMIT = 10**5  # products with more cells than this are labelled by number instead of by tuples
LARGEST_LOG = 709.0  # of a float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Kronecker(CodedDesign):
    """Independent designs for several variables.

    >>> from maskwell.designs import Uniform
    >>> coin = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> both = Kronecker.of([coin, coin])
    >>> both.k, both.parity_exact(), both.inputs.labels[1]
    (4, Fraction(9, 1), ('yes', 'no'))
    """

    factors: tuple[CodedDesign, ...]
    kind: ClassVar[str] = "kronecker"

    @classmethod
    def of(cls, factors: Iterable[Design]) -> Self:
        """From one design for each variable."""
        parts = check_coded(factors, "a product of designs")
        return cls(factors=parts).noting_decimals(*parts)

    @property
    def leaves(self) -> tuple[Design, ...]:
        """The factors, products within them taken apart."""
        return tuple(leaf for factor in self.factors for leaf in factor.leaves)

    @cached_property
    def inputs(self) -> Categories:
        """Tuples of the factors' categories, or numbers when there are very many."""
        return _product_labels([f.inputs for f in self.factors])

    @cached_property
    def outputs(self) -> Categories:
        """Tuples of the factors' reports, or numbers when there are very many."""
        return _product_labels([f.outputs for f in self.factors])

    @cached_property
    def k(self) -> int:
        """The product of the factors' numbers of categories; no labels are needed for it."""
        return math.prod(f.k for f in self.factors)

    @cached_property
    def m(self) -> int:
        """The product of the factors' numbers of reports."""
        return math.prod(f.m for f in self.factors)

    def parity_exact(self) -> Parity:
        """The product of the parities."""
        return product_of(f.parity_exact() for f in self.factors)

    def is_admissible(self) -> bool:
        """Only when a single factor says anything, since the rows of a product of two take more than two values."""
        if self.parity_exact() == math.inf:
            return all(f.k == 1 or (f.parity_exact() == math.inf and f.is_admissible()) for f in self.factors)
        informative = [f for f in self.factors if f.parity_exact() > 1]
        return len(informative) == 1 and informative[0].noting_decimals(self).is_admissible()

    def guess_probability(self, prior: Real | None = None) -> float:
        """The product over the factors for the uniform prior; another prior needs the matrix."""
        if prior is None:
            return math.prod(f.guess_probability() for f in self.factors)
        return float((self.matrix() * self.check_distribution(prior, "prior")).max(axis=1).sum())

    def added_variance(self, pi: Real | None = None) -> float:
        """``prod(1 + V_f) - 1`` over the factors at equal shares, which are independent; other shares cell by cell."""
        if pi is not None:
            return super().added_variance(pi)
        total = math.fsum(math.log1p(f.added_variance()) for f in self.factors)
        return math.expm1(total) if total < LARGEST_LOG else math.inf

    def rank_work(self) -> int:
        """Of the factors."""
        return sum(f.rank_work() for f in self.factors)

    def rank(self) -> int:
        """The product of the ranks."""
        return math.prod(f.rank() for f in self.factors)

    def singular_range(self) -> tuple[float, float]:
        """The products of the largest, and of the smallest, singular values."""
        ranges = [f.singular_range() for f in self.factors]
        return math.prod(high for high, _ in ranges), math.prod(low for _, low in ranges)

    def transitions(self, *, limit: int = MATRIX_LIMIT) -> Transitions:
        """Products of the factors' transitions, of which there may be ``limit``."""
        try:
            parts = [f.transitions(limit=limit) for f in self.factors]
        except TooLargeError:
            parts = []
        if not parts or math.prod(len(part.p) for part in parts) > limit:
            self._check_size(limit)
        reports, truths, p = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1)
        for factor, part in zip(self.factors, parts, strict=True):
            reports = np.add.outer(reports * factor.m, part.reports).ravel()
            truths = np.add.outer(truths * factor.k, part.truths).ravel()
            p = np.multiply.outer(p, part.p).ravel()
        order = np.lexsort((reports, truths))
        return Transitions(reports[order], truths[order], p[order])

    def _matrix(self) -> Real:
        return reduce(lambda left, right: np.asarray(np.kron(left, right)), [f.matrix() for f in self.factors])

    def _exact_matrix(self) -> list[list[Fraction]]:
        parts = [f.exact_matrix() for f in self.factors]
        return [[math.prod(cells, start=Fraction(1)) for cells in product(*rows)] for rows in product(*parts)]

    def forward(self, x: Real) -> Real:
        """Each factor's P along its own axis."""
        return along_axes(x, [f.k for f in self.factors], [f.forward for f in self.factors])

    def forward_adjoint(self, x: Real) -> Real:
        """Each factor's P' along its own axis."""
        return along_axes(x, [f.m for f in self.factors], [f.forward_adjoint for f in self.factors])

    def entries(self, reports: Array, truths: Array) -> Real:
        """Products of the factors' entries."""
        rows = np.unravel_index(np.asarray(reports), [f.m for f in self.factors])
        columns = np.unravel_index(np.asarray(truths), [f.k for f in self.factors])
        products = np.ones((len(reports), len(truths)))
        for factor, i, j in zip(self.factors, rows, columns, strict=True):
            (some, to_row), (others, to_column) = (np.unique(one, return_inverse=True) for one in (i, j))
            products *= factor.entries(some, others)[to_row][:, to_column]  # those that repeat are worked out once
        return products

    def backward(self, x: Real) -> Real:
        """Each factor's L along its own axis. Source: [Adeshiyan2011, section 3.3]."""
        return along_axes(x, [f.m for f in self.factors], [f.backward for f in self.factors])

    def backward_squared(self, x: Real) -> Real:
        """Each factor's squared L along its own axis."""
        return along_axes(x, [f.m for f in self.factors], [f.backward_squared for f in self.factors])

    def second_moment_of_truth(self) -> Real:
        """Products of the factors' own."""
        self.check_identifiable()
        parts = [f.second_moment_of_truth() for f in self.factors]
        return reduce(lambda left, right: np.asarray(np.kron(left, right)), parts)

    def check_identifiable(self) -> None:
        """Each factor must be."""
        for factor in self.factors:
            factor.check_identifiable()

    def empty_reports(self, n: int) -> Codes:
        """Room for n codes, unless there are more cells than a code can number."""
        if max(self.k, self.m) >= 2**63:
            raise TooLargeError("a-product-of-designs-has-cells", leaves_count=len(self.leaves), k=big(self.k))
        return super().empty_reports(n)

    @property
    def words_per_row(self) -> int:
        """The words of all factors, one after the other."""
        return sum(f.words_per_row for f in self.factors)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition: factor after factor."""
        truths = np.unravel_index(truth, [f.k for f in self.factors])
        drawn = [f.draw(int(t), words.part(f.words_per_row)) for f, t in zip(self.factors, truths, strict=True)]
        return int(np.ravel_multi_index(drawn, [f.m for f in self.factors]))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows, factor after factor."""
        truths = np.unravel_index(codes.astype(np.int64), [f.k for f in self.factors])
        joint, unsettled, used = np.zeros(len(codes), dtype=np.int64), [], 0
        for factor, truth in zip(self.factors, truths, strict=True):
            report = factor.empty_reports(len(codes))
            part = words[:, used : used + factor.words_per_row]
            unsettled.append(factor.draw_rows(truth.astype(np.uint64), part, report))
            joint = joint * factor.m + report.astype(np.int64)
            used += factor.words_per_row
        out[:] = joint
        return np.unique(np.concatenate(unsettled))

    def labels_json(self) -> Mapping[str, Any]:
        """The factors carry the labels."""
        return {"inputs": {"product": len(self.factors)}, "outputs": {"product": len(self.factors)}}

    def exact_form(self) -> Mapping[str, Any]:
        """The factors."""
        return {"factors": [f.identity() for f in self.factors]}

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """Not for products: relabel the factors."""
        raise ParameterError("the-labels-of-a-product")


def product_of(parities: Iterable[Parity]) -> Parity:
    """The product of parities; a fraction that no float holds is not multiplied with infinity, which is a float."""
    factors = list(parities)
    return math.inf if math.inf in factors else math.prod(factors, start=Fraction(1))


def check_coded(designs: Iterable[Design], what: str) -> tuple[CodedDesign, ...]:
    """At least one design, all with coded reports."""
    parts = list_of(Design, designs, "designs")
    if not parts:
        raise ParameterError("needs-at-least-one-design", what=what)
    for part in parts:
        if not isinstance(part, CodedDesign):
            raise ParameterError("cannot-hold-a-design", what=what, kind=part.kind)
    return tuple(part for part in parts if isinstance(part, CodedDesign))


def _product_labels(parts: Sequence[Categories]) -> Categories:
    size = math.prod(len(part) for part in parts)
    if size > LABEL_LIMIT:
        return Categories(range(size))
    return Categories.of(product(*(part.labels for part in parts)))
