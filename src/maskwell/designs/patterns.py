"""Patterns: an admissible design as a list of sets of categories with weights.

Report i represents a set S_i, and every truth in the set gives it gamma times as often as every truth outside:

    P[i, j] = theta_i (gamma if j in S_i else 1),      sum_i theta_i (1 + (gamma - 1) [j in S_i]) = 1 for every j

Every admissible design of parity gamma, zero and proportional rows merged away, has this form, and the reverse.
Source: [ChaiNayak2018, Theorems 4.2 and 4.3]; the form is read off their conditions C1 and C2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, as_count, as_list, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, Parity, as_fraction, common_denominator, from_digits, to_digits, to_float
from maskwell.designs.asked_parity import asked_gamma
from maskwell.designs.coded import WrittenOut
from maskwell.designs.design import check_two
from maskwell.designs.matrix_reading import DENSE_LIMIT
from maskwell.errors import LabelError, MatrixError, ParameterError, TooLargeError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Patterns(WrittenOut):
    """A design whose reports are sets of categories with weights, each gamma times likelier for the truths it holds.

    ``masks[i]`` is the set of report i as the bits of a number: bit j is category j. The chance of report i is
    ``shares[i] * inside / total`` for a truth in the set and ``shares[i] * outside / total`` for another one, where
    ``inside / outside`` is gamma in lowest terms.

    >>> a, b, c = 0, 1, 2
    >>> design = Patterns.of(3, [[a], [b, c]], ["1/4", "1/4"], Categories.of(["a", "b", "c"]))
    >>> design.outputs.labels   # does the report hold the truth? three times in four
    ('{a}', '{b, c}')
    >>> design.matrix().tolist(), design.parity_exact()
    ([[0.75, 0.25, 0.25], [0.25, 0.75, 0.75]], Fraction(3, 1))
    """

    categories: Categories
    reports: Categories
    inside: int
    outside: int
    masks: tuple[int, ...]
    shares: tuple[int, ...]
    total: int
    kind: ClassVar[str] = "patterns"

    @classmethod
    def of(
        cls,
        gamma: Number,
        sets: Iterable[Iterable[int]],
        weights: Iterable[Number],
        categories: Categories,
        outputs: Categories | None = None,
    ) -> Self:
        """From distinct sets of category codes and their weights theta, which must satisfy the equations exactly."""
        sets, weights = as_list(sets, "sets"), as_list(weights, "weights")
        check_kind(Categories | None, outputs=outputs)
        check_two(categories)
        masks = [mask_of(chosen, len(categories)) for chosen in sets]
        thetas = [as_fraction(theta, f"weights[{i}]") for i, theta in enumerate(weights)]
        denominator = common_denominator(thetas)
        integers = [int(theta * denominator) for theta in thetas]
        design = cls.from_integers(asked_gamma(gamma).exact, masks, integers, categories, outputs)
        total = sum(thetas, Fraction(0)) * design.total / (sum(design.shares) * design.outside)
        if total != 1:
            off = to_float(total - 1)
            raise MatrixError("the-probabilities-of-all-reports-sum", total=to_float(total), off=off)
        return design

    @classmethod
    def from_integers(
        cls,
        gamma: Fraction,
        masks: Sequence[int],
        shares: Sequence[int],
        categories: Categories,
        outputs: Categories | None = None,
    ) -> Self:
        """From sets as bits of numbers and integers in the ratio of the weights; reports are named after their sets."""
        _check_masks(masks, shares, categories)
        inside, outside = gamma.numerator, gamma.denominator
        divisor = math.gcd(*shares)
        reduced = tuple(share // divisor for share in shares)
        held = _held(masks, reduced, len(categories))
        if len(set(held)) > 1:
            least, most = (held.index(end(held)) for end in (min, max))
            raise MatrixError(
                "the-sets-with-category-weigh-times",
                least=least,
                held=to_float(Fraction(held[least], held[most])),
                most=most,
            )
        outputs = set_labels(masks, categories) if outputs is None else _check_outputs(outputs, len(masks))
        return cls(
            categories=categories,
            reports=outputs,
            inside=inside,
            outside=outside,
            masks=tuple(masks),
            shares=reduced,
            total=sum(reduced) * outside + held[0] * (inside - outside),
        )

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.categories

    @property
    def outputs(self) -> Categories:
        """The possible reports."""
        return self.reports

    @property
    def gamma(self) -> Fraction:
        """How many times likelier a report is for the truths of its set."""
        return Fraction(self.inside, self.outside)

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The category codes of each set."""
        return tuple(codes_of(mask) for mask in self.masks)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """Theta of each set: the chance of the report for a truth outside the set."""
        return tuple(Fraction(share * self.outside, self.total) for share in self.shares)

    def parity_exact(self) -> Parity:
        """Gamma: every report holds a truth and leaves one out."""
        return self.gamma

    def is_admissible(self) -> bool:
        """Always: every row takes two values in the ratio of the parity, and no two rows are proportional."""
        return True

    @cached_property
    def _holds(self) -> Array:
        """Whether set i holds category j, shape (m, k)."""
        size = -(-self.k // 8)
        packed = np.frombuffer(b"".join(mask.to_bytes(size, "little") for mask in self.masks), dtype=np.uint8)
        return np.unpackbits(packed.reshape(self.m, size), axis=1, count=self.k, bitorder="little").astype(bool)

    def _floats(self) -> Real:
        inside, outside = (
            np.array([share * factor / self.total for share in self.shares]) for factor in (self.inside, self.outside)
        )
        return np.where(self._holds, inside[:, None], outside[:, None])

    def _exact_matrix(self) -> list[list[Fraction]]:
        return [
            [Fraction(share * (self.inside if held else self.outside), self.total) for held in row]
            for share, row in zip(self.shares, self._holds.tolist(), strict=True)
        ]

    def _cumulative(self) -> tuple[list[list[int]], Sequence[int]]:
        pairs = [(share * self.outside, share * self.inside) for share in self.shares]
        columns = (zip(pairs, column, strict=True) for column in self._holds.T.tolist())
        return [list(accumulate(pair[held] for pair, held in column))[:-1] for column in columns], [self.total] * self.k

    def exact_form(self) -> Mapping[str, Any]:
        """Integers in the ratio of the weights, the two factors, what they sum to, and the sets as 0/1 texts."""
        return {
            "denominator": to_digits(self.total),
            "inside": to_digits(self.inside),
            "outside": to_digits(self.outside),
            "weights": [to_digits(share) for share in self.shares],
            "sets": [f"{mask:0{self.k}b}"[::-1] for mask in self.masks],
        }

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories, outputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        check_two(inputs)
        gamma = Fraction(from_digits(exact["inside"]), from_digits(exact["outside"]))
        if gamma <= 1:
            raise MatrixError("inside-is-not-above-outside")
        for text in exact["sets"]:
            if not (isinstance(text, str) and len(text) == len(inputs) and set(text) <= {"0", "1"}):
                raise ValueError(f"{text!r:.50} is not a set of {len(inputs)} categories as a text of 0 and 1")
        masks = [int(text[::-1], 2) for text in exact["sets"]]
        return cls.from_integers(gamma, masks, [from_digits(share) for share in exact["weights"]], inputs, outputs)

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels; reports named after their sets are named anew."""
        if len(inputs) != self.k:
            raise LabelError("labels-for-categories", inputs_count=len(inputs), k=self.k)
        if outputs is None:
            named = self.reports == set_labels(self.masks, self.categories)
            outputs = set_labels(self.masks, inputs) if named else self.reports
        return replace(self, categories=inputs, reports=_check_outputs(outputs, self.m))


def mask_of(codes: Iterable[int], k: int) -> int:
    """The number whose bits are these category codes."""
    mask = 0
    for code in as_list(codes, "a set"):
        at = as_count(code, "category code")
        if not 0 <= at < k:
            raise ParameterError("category-code-of-categories", code=code, k=k, k_sub=k - 1)
        mask |= 1 << at
    return mask


def codes_of(mask: int) -> tuple[int, ...]:
    """The category codes that are the bits of a number."""
    return tuple(j for j in range(mask.bit_length()) if mask >> j & 1)


def set_labels(masks: Iterable[int], categories: Categories) -> Categories:
    """Names of sets by the labels of their categories; by their codes where labels would make two names the same."""
    sets = [codes_of(mask) for mask in masks]
    texts = [str(label) for label in categories.labels]
    named = ["{" + ", ".join(texts[j] for j in codes) + "}" for codes in sets]
    if len(set(named)) < len(named):
        named = ["{" + ", ".join(map(str, codes)) + "}" for codes in sets]
    return Categories.of(named)


def _check_masks(masks: Sequence[int], shares: Sequence[int], categories: Categories) -> None:
    k = len(categories)
    if len(masks) != len(shares) or not masks:
        raise MatrixError("sets-and-weights", masks_count=len(masks), shares_count=len(shares))
    if len(masks) * k > DENSE_LIMIT:
        raise TooLargeError("sets-of-categories-at-most-entries", masks_count=len(masks), k=k, dense_limit=DENSE_LIMIT)
    whole = (1 << k) - 1
    wrong = next((mask for mask in masks if not 0 < mask < whole), None)
    if wrong is not None:
        raise MatrixError("a-set-of-of-categories", bit_count=wrong.bit_count(), k=k)
    if len(set(masks)) < len(masks):
        raise MatrixError("a-set-occurs-twice")
    if min(shares) <= 0:
        raise MatrixError("a-weight-is-not-positive")


def _held(masks: Sequence[int], shares: Sequence[int], k: int) -> list[int]:
    """For each category, the shares of all sets that hold it."""
    held = [0] * k
    for mask, share in zip(masks, shares, strict=True):
        for j in codes_of(mask):
            held[j] += share
    return held


def _check_outputs(outputs: Categories, m: int) -> Categories:
    if len(outputs) != m:
        raise LabelError("report-labels-for-sets", outputs_count=len(outputs), m=m)
    return outputs
