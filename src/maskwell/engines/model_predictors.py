"""The predictors of a fit as columns: what moving one of them does to the model matrix, and what a prediction needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.phrases import HINT, listed, option, shorten
from maskwell.engines.formula import check_columns
from maskwell.engines.formula_coding import Coding
from maskwell.engines.predictor_columns import CategoryColumn, Predictors
from maskwell.errors import InputError

STEP = 1e-5  # of differences that stand for a slope, in standard deviations of a column


@dataclass(frozen=True)
class Hidden:
    """A randomized predictor: its true categories, and the code of the one that the others are compared with."""

    name: str
    categories: Categories
    reference: int

    def column(self, codes: Array) -> Any:
        """A column of true categories; the reference comes first."""
        labels = [str(label) for label in self.categories.labels]
        order = [self.reference, *(code for code in range(len(labels)) if code != self.reference)]
        places = np.argsort(order)
        return CategoryColumn(places[codes], [labels[code] for code in order])


@dataclass(frozen=True, eq=False)
class Variables:
    """The predictors of a fit as columns of a table, and how they become a model matrix."""

    coding: Coding
    frame: dict[str, Any]
    names: tuple[str, ...]
    uses: Mapping[str, set[str]]
    rows: int
    hidden: Sequence[Hidden] = ()

    def changed(self, values: Mapping[str, Any]) -> Real:
        """The model matrix of all rows with one value in each of some columns, among them all randomized ones."""
        randomized = {one.name: one for one in self.hidden}
        check_columns([*values], [*self.names, *randomized])
        lacking = next((name for name in randomized if name not in values), None)
        if lacking is not None:
            typed = option("at", f"{lacking}=LABEL", f"{{{lacking!r}: LABEL}}")
            named = shorten(repr(lacking), 24)
            raise InputError("predictions-need-a-true-category", lacking=named, option_name=typed)
        columns = {name: self._everywhere(name, value, randomized.get(name)) for name, value in values.items()}
        return self.coding.apply(Predictors({**self.frame, **columns}, self.rows))

    def _everywhere(self, name: str, value: Any, hidden: Hidden | None) -> Any:
        if hidden is not None:
            return hidden.column(np.full(self.rows, _place(name, value, hidden.categories.labels)))
        labels = categories_of(name, self.frame[name], self.uses)
        if len(labels):
            levels = _levels_of(self.frame[name])
            codes = np.full(self.rows, _place(name, value, levels))
            return CategoryColumn(codes, levels)
        try:
            return np.full(self.rows, float(value))
        except (TypeError, ValueError):
            raise InputError(
                "for-which-holds-numbers", value=shorten(repr(value), 24), name=shorten(repr(name), 24)
            ) from None

    def moved(self, *, dummy: bool) -> Iterator[tuple[str, Real, Real | None]]:
        """What each variable does, in the order of the formula."""
        for name in self.names:
            column = self.frame[name]
            labels = categories_of(name, column, self.uses)
            if len(labels):
                off = self._everybody(name, labels[0])
                for label in labels[1:]:
                    yield f"{name}[{label} vs {labels[0]}]", self._everybody(name, label), off
            elif dummy and np.isin(column, (0, 1)).all():
                yield name, self._with(name, np.ones(self.rows)), self._with(name, np.zeros(self.rows))
            else:
                yield name, self._slope(name, np.asarray(column, dtype=np.float64)), None

    def _everybody(self, name: str, label: Any) -> Real:
        levels = _levels_of(self.frame[name])
        codes = np.full(self.rows, levels.index(label))
        return self._with(name, CategoryColumn(codes, levels))

    def _slope(self, name: str, column: Real) -> Real:
        """How the model matrix changes with a column of numbers, by differences that stay among its values."""
        if "C" in self.uses.get(name, ()):
            raise InputError("no-marginal-effect-of-which", name=shorten(repr(name), 24))
        step = STEP * max(float(np.std(column)), float(np.abs(column).max()) * STEP)
        low, high = np.maximum(column - step, column.min()), np.minimum(column + step, column.max())
        apart = self._with(name, high) - self._with(name, low)
        return np.asarray(apart / (high - low)[:, None])

    def _with(self, name: str, values: Any) -> Real:
        return self.coding.apply(Predictors({**self.frame, name: values}, self.rows))


def _place(name: str, value: Any, labels: Sequence[Any]) -> int:
    texts = [*map(str, labels)]
    if str(value) not in texts:
        known = listed(texts, len(texts), HINT - len("categories: "))
        wrong = shorten(repr(str(value)), 24)
        raise InputError("is-no-category", value=wrong, name=shorten(repr(name), 24), texts=known)
    return texts.index(str(value))


def _levels_of(column: Any) -> list[Any]:
    return np.unique(column).tolist() if isinstance(column, np.ndarray) else list(column.categories)


def categories_of(name: str, column: Any, uses: Mapping[str, set[str]]) -> Sequence[Any]:
    """The categories of a predictor, in their order; none of numbers, unless they stand in ``C`` only."""
    if not isinstance(column, np.ndarray):
        return list(column.categories)
    return np.unique(column).tolist() if uses.get(name) == {"C"} else ()
