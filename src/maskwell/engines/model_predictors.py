"""The predictors of a fit as columns, with their reference categories: what moving one does, what predictions need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind, kind_of
from maskwell.core.categories import Categories
from maskwell.core.phrases import HINT, VALUES, in_language, listed, option, shorten
from maskwell.engines.formula import check_columns
from maskwell.engines.formula_coding import CategoryColumn, Coding, Predictors, Term
from maskwell.engines.formula_functions import Call, columns_of
from maskwell.errors import InputError, ParameterError, WrongTypeError

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
    """The categories of a predictor, in their order; none for numbers, unless they are used in ``C`` only."""
    if not isinstance(column, np.ndarray):
        return list(column.categories)
    return np.unique(column).tolist() if uses.get(name) == {"C"} else ()


@dataclass(frozen=True)
class References:
    """Reference categories: by the names of their columns, or alone where only one column has such a category."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[Any, ...] = ()

    @classmethod
    def of(cls, reference: Any) -> References:
        """From what is given in Python: nothing, one category, or a mapping from columns to categories."""
        if reference is None or isinstance(reference, cls):
            return reference or cls()
        if isinstance(reference, Mapping):
            check_kind(str, **{f"the column {shorten(str(name), 20)!r} of reference": name for name in reference})
            return cls(dict(reference))
        if isinstance(reference, str | int | float):
            return cls(labels=(reference,))
        raise WrongTypeError("reference-must-be-a-category-not", reference_kind=kind_of(reference))

    @classmethod
    def typed(cls, texts: Iterable[str]) -> References:
        """From texts such as ``never`` or ``region=north``."""
        columns, labels = dict[str, Any](), list[Any]()
        for text in texts:
            name, sign, label = text.partition("=")
            if not sign:
                labels.append(text)
            elif name in columns:
                raise ParameterError("two-references-for-the-column", name=shorten(name))
            else:
                columns[name] = label
        return cls(columns, tuple(labels))

    def __bool__(self) -> bool:
        return bool(self.columns or self.labels)

    def places(self, known: Mapping[str, Sequence[Any]], terms: Iterable[Term]) -> dict[str, int]:
        """The place of the reference among the ``known`` categories of each column that has one, found by its text."""
        columns = {**self.columns}
        for label in self.labels:
            name = _only_column(label, known)
            if name in columns:
                raise ParameterError("two-references-for-the-column", name=shorten(name))
            columns[name] = label
        _check_left_open(columns, terms)
        return {name: _place_of_reference(name, label, known) for name, label in columns.items()}


def _only_column(label: Any, known: Mapping[str, Sequence[Any]]) -> str:
    names = [name for name, labels in known.items() if str(label) in map(str, labels)]
    if len(names) == 1:
        return names[0]
    said = shorten(repr(str(label)), 30)
    if not names:
        raise InputError("reference-no-column-of-the-formula", said=said)
    first, named = shorten(names[0], 16), shorten(", ".join(names), 30)
    typed = in_language(f"--reference {first}=...", f"reference={{{first!r}: ...}}")
    told = {"names_count": len(names), "names": named, "in_language": typed}
    raise InputError("reference-columns-have-such-a-category", said=said, **told)


def _place_of_reference(name: str, label: Any, known: Mapping[str, Sequence[Any]]) -> int:
    said = shorten(repr(name), 24)
    if name not in known:
        raise InputError("reference-the-formula-does-not-name", said=said, known=shorten(", ".join(known), 70))
    texts = [*map(str, known[name])]
    if not texts:
        raise InputError("reference-the-column-holds-numbers-which", said=said)
    if str(label) not in texts:
        wrong, known_texts = shorten(repr(str(label)), 24), listed(texts, len(texts), VALUES)
        raise InputError("reference-the-column-has-no-category", said=said, label=wrong, values=known_texts)
    return texts.index(str(label))


def _check_left_open(columns: Iterable[str], terms: Iterable[Term]) -> None:
    """Raise where the formula itself says how a column is coded."""
    coded = {
        name: factor.text
        for term in terms
        for factor in term
        if isinstance(factor.expression, Call) and {"contrasts", "levels"} & {*factor.expression.arguments}
        for name in columns_of(factor.expression)
    }
    for name in columns:
        if name in coded:
            raise InputError(
                "reference-the-formula-codes-itself", name=shorten(repr(name), 24), coded=shorten(coded[name], 36)
            )
