"""Predictors of a regression as columns of numbers or of categories, and the model matrix of a plain formula.

Formulaic codes whatever a formula may say, and loads pandas and SciPy for it, which takes longer than most fits.
Columns of numbers, functions of them, and categories that are compared with their first one are coded here, with the
same result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import VALUES, listed
from maskwell.errors import UnknownCategoryError


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category for each row, by its place in a list; all rows have one.

    >>> CategoryColumn.of(np.array([3, 1, 3])).categories
    [1, 3]
    """

    codes: Array
    categories: Sequence[Any]

    @classmethod
    def of(cls, numbers: Array) -> CategoryColumn:
        """Numbers as categories, sorted."""
        categories, codes = np.unique(numbers, return_inverse=True)
        return cls(codes.reshape(-1), categories.tolist())

    def __len__(self) -> int:
        return len(self.codes)

    def codes_among(self, categories: Sequence[Any]) -> Array:
        """The places of the same categories in another list."""
        place = {label: code for code, label in enumerate(categories)}
        codes = np.array([place.get(label, -1) for label in self.categories], dtype=np.intp)[self.codes]
        if (codes < 0).any():
            unknown = [self.categories[code] for code in np.unique(self.codes[codes < 0])]
            raise UnknownCategoryError(
                "new rows hold a category that the fit did not",
                hint="predict only for categories of the fit",
                values=listed([*map(str, unknown)], len(unknown), VALUES),
            )
        return codes

    def to_pandas(self) -> Any:
        """The same as pandas has it."""
        import pandas as pd

        return pd.Categorical.from_codes(self.codes, categories=self.categories)


@dataclass(frozen=True, eq=False)
class Predictors:
    """A table of predictors by name: arrays of numbers, of True and False, or categories."""

    columns: Mapping[str, Any]
    rows: int

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return self.rows

    def categories(self, name: str) -> CategoryColumn:
        """A column as categories, whatever it holds."""
        column = self.columns[name]
        return column if isinstance(column, CategoryColumn) else CategoryColumn.of(column)

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        import pandas as pd

        columns = {
            name: column.to_pandas() if isinstance(column, CategoryColumn) else column
            for name, column in self.columns.items()
        }
        return pd.DataFrame(columns, index=range(self.rows))


@dataclass(frozen=True)
class _Part:
    """A factor of a term: its text, and the categories that have a column each; None for a column of numbers."""

    text: str
    categories: tuple[Any, ...] | None
    reduced: bool

    def names(self) -> list[str]:
        if self.categories is None:
            return [self.text]
        mark = "T." if self.reduced else ""
        return [f"{self.text}[{mark}{label}]" for label in self.categories[self.reduced :]]

    def times(self, block: Real, value: Any) -> Real:
        """The columns of a product so far with each column of this factor; those of the first factor change fastest."""
        if self.categories is None:
            return np.asarray(block * np.asarray(value, dtype=np.float64)[:, None])
        if not isinstance(value, CategoryColumn):
            raise TypeError("numbers where the fit had categories")
        held = value.codes_among(self.categories)[:, None] == np.arange(self.reduced, len(self.categories))
        return np.asarray((held[:, :, None] * block[:, None, :]).reshape(len(block), -1))


@dataclass(frozen=True, eq=False)
class PlainCoding:
    """How columns become a model matrix: the factors of each term, none for the intercept."""

    terms: tuple[tuple[_Part, ...], ...]

    @classmethod
    def of(cls, terms: Iterable[Sequence[str]], values: Mapping[str, Any]) -> PlainCoding | None:
        """From terms by the texts of their factors, in the order of their columns; None where formulaic is needed.

        A categorical factor leaves out its first category, unless the model has no term that this one would repeat: the
        columns of a term span one space for each subset of its categorical factors, and what an earlier term with the
        same numbers spans already is left out. Where one choice for each factor cannot do that, formulaic splits the
        term.
        """
        spanned: set[tuple[frozenset[str], frozenset[str]]] = set()
        coded = []
        for term in terms:
            labelled = [text for text in term if isinstance(values[text], CategoryColumn)]
            numbers = frozenset(term) - {*labelled}
            subsets = {(numbers, frozenset(some)) for some in _subsets(labelled)}
            new = [some for _, some in subsets - spanned]
            reduced = frozenset[str]().union(*new[:1]).intersection(*new)  # in all of the spaces that are new
            if len(new) != 2 ** (len(labelled) - len(reduced)):
                return None
            spanned |= subsets
            coded.append(tuple(_part(text, values[text], text in reduced) for text in term))
        coding = cls(tuple(coded))
        return coding if len({*coding.names}) == len(coding.names) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the model matrix."""
        return tuple(name for term in self.terms for name in _names(term))

    def matrix(self, values: Mapping[str, Any], rows: int) -> Real:
        """The model matrix of rows, from the values of each factor by its text; shape (n, p)."""
        blocks = [np.empty((rows, 0))]
        for term in self.terms:
            block: Real = np.ones((rows, 1))
            for part in sorted(term, key=lambda one: one.categories is not None):  # numbers first: products in order
                block = part.times(block, values[part.text])
            blocks.append(block)
        return np.concatenate(blocks, axis=1)


def _part(text: str, value: Any, reduced: bool) -> _Part:  # noqa: FBT001 - of a factor, which leaves out a category
    return _Part(text, tuple(value.categories) if isinstance(value, CategoryColumn) else None, reduced)


def _names(term: Sequence[_Part]) -> list[str]:
    """Names of the columns of a term, those of the first factor changing fastest."""
    products = itertools.product(*(part.names() for part in reversed(term)))
    return [":".join(reversed(product)) or "Intercept" for product in products]


def _subsets(texts: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(texts, size) for size in range(len(texts) + 1))
