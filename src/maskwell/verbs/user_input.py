"""What users give to a verb: a design or its file, a demand in any language, categories or their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from maskwell.core.arguments import as_count, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.design import Design, too_few
from maskwell.designs.wire import load_design
from maskwell.errors import DesignFileError, ParameterError
from maskwell.privacy.criteria import DEMANDS, Demand

DesignOrPath: TypeAlias = Design | str | Path
"""A design, or the path of a design file."""

LANGUAGES = (*DEMANDS, "curves")
"""The words in which a demand is stated; ``rho`` takes two numbers, ``curves`` the path of a table."""

DEMAND_WORDS = (*LANGUAGES, "between", "closed")
"""These, and the words that go with them."""


def read_design(design: DesignOrPath, name: str = "design") -> Design:
    """The design, read from its file where a path is given; the path is in the error.

    >>> from maskwell.designs import Dense
    >>> read_design(Dense.of([[1, 0], [0, 1]])).k
    2
    """
    if not isinstance(design, str | os.PathLike):
        check_kind(Design, **{name: design})
        return design
    try:
        return load_design(design)
    except DesignFileError as error:
        if str(design) in error.message:
            raise
        raise DesignFileError(f"{design}: {error.message}", hint=error.hint, path=design) from error


def read_demand(demand: Demand | None, words: Mapping[str, Any]) -> Demand | None:
    """The demand, or the one that words such as ``epsilon=1`` state; None without either.

    >>> read_demand(None, {"rho": ("0.1", "0.5")}).gamma_exact
    Fraction(9, 1)
    """
    stated = check_words(words)
    if demand is not None and stated:
        raise ParameterError(f"demand and {', '.join(stated)} are two demands", hint="give one of them")
    closed = bool(words.get("closed"))
    for name, value in stated.items():
        if name == "curves":
            return _curves_demand(value, between=words.get("between") or "steps", closed=closed)
        return DEMANDS[name](*_two(value), closed=closed) if name == "rho" else DEMANDS[name](value)
    return demand


def check_words(words: Mapping[str, Any], *, spell: Callable[[str], str] = str) -> dict[str, Any]:
    """The word that states a demand, if any, with its value; an error where words do not go together.

    Parameters
    ----------
    words
        At most one of :data:`LANGUAGES`, with ``closed`` and ``between`` where they apply; None is none.
    spell
        How a word is written in the error.
    """
    unknown = [name for name in words if name not in DEMAND_WORDS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    stated = {name: words[name] for name in LANGUAGES if words.get(name) is not None}
    if len(stated) > 1:
        names = " and ".join(map(spell, stated))
        raise ParameterError(f"{names} are two demands", hint="give one; maskwell convert turns one into another")
    if words.get("closed") and not stated.keys() & {"rho", "curves"}:
        raise ParameterError(
            f"{spell('closed')} without {spell('rho')} or {spell('curves')}",
            hint="the other demands have no closed form",
        )
    if words.get("between") and "curves" not in stated:
        raise ParameterError(
            f"{spell('between')} without {spell('curves')}",
            hint="it says how the rows of a table of curves are joined",
        )
    return stated


def _two(rho: Any) -> tuple[Number, Number]:
    if not isinstance(rho, tuple | list) or len(rho) != 2:
        raise ParameterError("rho takes two numbers", hint="for instance rho=(0.1, 0.5)", rho=rho)
    return rho[0], rho[1]


def _curves_demand(path: str, *, between: str, closed: bool) -> Demand:
    from maskwell.engines.handwritten_files import read_curves

    lower, upper = read_curves(path, between=between)
    try:
        return Demand.from_curves(lower=lower, upper=upper, closed=closed, text=f"curves of {path}")
    except ParameterError as error:
        steps = "; if rows are points: --between lines" if between == "steps" else ""
        raise ParameterError(f"{path}: {error.message}", hint=f"{error.hint}{steps}", path=path) from error


def needed_demand(demand: Demand | None, words: Mapping[str, Any], what: str) -> Demand:
    """The demand, or an error that says how to state one."""
    stated = read_demand(demand, words)
    if stated is None:
        raise no_demand(what)
    return stated


def no_demand(what: str) -> ParameterError:
    """The error for a verb or a command that needs a demand."""
    return ParameterError(
        f"{what} needs a privacy demand, such as --epsilon 1",
        hint="give one of --gamma, --epsilon, --beta, --bayes-factor, --rho, --curves",
    )


def read_categories(categories: Categories | Iterable[Hashable] | None, k: Number | None = None) -> Categories | None:
    """Categories from their labels, or numbered ones from how many there are; None without either.

    >>> read_categories(["never", "once"]).labels, list(read_categories(None, 2).labels)
    (('never', 'once'), [0, 1])
    """
    if categories is None:
        if k is None:
            return None
        if (count := as_count(k, "k")) < 2:
            raise too_few(count)
        return Categories.numbered(count)
    labels = categories if isinstance(categories, Categories) else Categories.of(categories)
    if k is not None and as_count(k, "k") != len(labels):
        raise ParameterError(f"k = {k} and {len(labels)} categories", hint="leave out k where categories are named")
    return labels
