"""Predictors of a regression: columns of numbers or of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.phrases import VALUES, listed
from maskwell.engines.formula_bases import Contrast
from maskwell.errors import UnknownCategoryError


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category for each row, by its place in a list; -1 where it is not known; and what ``C`` says of its coding."""

    codes: Array
    categories: Sequence[Any]
    contrast: Contrast | None = None
    levels: Sequence[Any] | None = None
    spans_intercept: bool = True

    @classmethod
    def of(cls, values: Array) -> CategoryColumn:
        """Values as categories, sorted where they can be compared."""
        if values.dtype != object:
            known = values == values
            categories, places = np.unique(values[known], return_inverse=True)
            codes = np.full(len(values), -1, dtype=np.intp)
            codes[known] = places.reshape(-1)
            return cls(codes, categories.tolist())
        labels = [*dict.fromkeys(label for label in values.tolist() if label is not None and label == label)]
        with suppress(TypeError):  # numbers and texts together stay in the order of the rows
            labels.sort()
        place = {label: code for code, label in enumerate(labels)}
        return cls(np.array([place.get(label, -1) for label in values.tolist()], dtype=np.intp), labels)

    def __len__(self) -> int:
        return len(self.codes)

    def labels(self) -> Array:
        """The category of each row itself; None where it is not known."""
        known = np.empty(len(self.categories) + 1, dtype=object)
        known[:-1] = self.categories
        return known[self.codes]

    def codes_among(
        self,
        categories: Sequence[Any],
        problem: str = "new rows hold a category that the fit did not",
        hint: str = "predict only for categories of the fit",
    ) -> Array:
        """The places of the same categories in another list; ``problem`` is said where one is not in it."""
        place = {label: code for code, label in enumerate(categories)}
        codes = np.array([place.get(label, -1) for label in self.categories], dtype=np.intp)[self.codes]
        if (codes < 0).any():
            unknown = [self.categories[code] for code in np.unique(self.codes[codes < 0])]
            raise UnknownCategoryError(problem, hint=hint, values=listed([*map(str, unknown)], len(unknown), VALUES))
        return codes


@dataclass(frozen=True, eq=False)
class Predictors:
    """A table of predictors by name: arrays of numbers, of True and False, or categories."""

    columns: Mapping[str, Any]
    rows: int

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return self.rows
