"""Local l-diversity: name the true category and l - 1 random others.

Someone who can rule out the others learns the truth, so **parity is infinite**: there is no bound of the epsilon kind.
It is the limit of subset selection with q = l as gamma grows. Repeated reports intersect to the truth: keep one answer
for each respondent.

Source: [NayakZhai2019, section 4].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from maskwell.core.arguments import as_count
from maskwell.core.arrays import Array, Words
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader
from maskwell.core.exact import Parity
from maskwell.designs.base import check_categories, check_two
from maskwell.designs.subset import FixedSizeSets
from maskwell.errors import ParameterError


def sizes_allowed(k: int) -> str:
    """The hint for an l that is not possible.

    >>> sizes_allowed(2), sizes_allowed(3), sizes_allowed(5)
    ('use at least 3 categories', 'give l = 2', 'give l from 2 to 4')
    """
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
        check_categories(categories)
        size, k = as_count(l, "l"), len(categories)
        if not 2 <= size <= k - 1:
            raise ParameterError(f"l = {l} is not possible for {k} categories", hint=sizes_allowed(k), l=l, k=k)
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
        """No: without a bound on parity, telling the truth tells more."""
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
