"""Which category of a column the others are compared with, where the user chooses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maskwell.core.arguments import check_kind, kind_of
from maskwell.core.phrases import VALUES, in_language, listed, shorten
from maskwell.engines.formula_coding import Term
from maskwell.engines.formula_functions import Call, columns_of
from maskwell.errors import InputError, ParameterError, WrongTypeError


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
        return {name: _place(name, label, known) for name, label in columns.items()}


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


def _place(name: str, label: Any, known: Mapping[str, Sequence[Any]]) -> int:
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
