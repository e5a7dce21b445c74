"""Making the design of a named family, from its parameters or from a privacy demand in their place."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from maskwell.core.arguments import Flag, as_list, check_kind, pairs_of
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, to_text
from maskwell.core.phrases import option
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.errors import ParameterError
from maskwell.planning.set_sizes import builder_parameters, gamma_of, minimax_size, remembering
from maskwell.planning.tuning import TUNABLE, Tunable, tuned
from maskwell.privacy.criteria import Demand
from maskwell.procedures.procedure import Procedure
from maskwell.procedures.registry import procedure_named
from maskwell.verbs.inputs import DEMAND_WORDS, LANGUAGES, DesignOrPath, needed_demand, read_categories, read_demand


def design(
    family: str,
    *,
    categories: Categories | Iterable[Hashable] | None = None,
    k: Number | None = None,
    reports: Categories | Iterable[Hashable] | None = None,
    demand: Demand | None = None,
    max_ratio: Number | None = None,
    allow_unidentifiable: bool = False,
    **parameters: Any,
) -> Design:
    """The design of a named family, as ``maskwell design FAMILY`` makes it; parameters bear the same names.

    Parameters
    ----------
    family
        A name of :data:`maskwell.procedures.registry.PROCEDURES`, such as ``warner`` or ``k-ary``. Or ``matrix`` with a
        ``matrix`` or the path of its file (``rows=True`` where its lines are truths); ``extremal`` with assumed shares
        ``pi`` (and ``utility``, ``average``); ``kronecker`` or ``repeated`` with ``designs``; ``shared`` with
        ``outcomes``, pairs of a chance and the designs of all questions. Designs may be given by the paths of files.
    categories, k
        Labels of the true categories, or how many there are.
    reports
        Labels of the reports, where the family lets them be named.
    demand
        What the design shall meet, in place of the parameter that decides about protection; or, as a keyword,
        ``gamma``, ``epsilon``, ``beta``, ``bayes_factor``, ``rho`` (two numbers) or ``curves`` (a table), unless the
        family has a parameter of that name.
    max_ratio
        In place of a demand: how many times likelier a report may be from the sensitive category.
    allow_unidentifiable
        Make it even if shares cannot be estimated from its reports.

    >>> warner = design("warner", p="0.7")
    >>> warner.parity_exact(), warner.outputs.labels   # "yes" is 7/3 times likelier from those concerned
    (Fraction(7, 3), ('yes', 'no'))
    >>> design("warner", gamma=3).provenance["parameters"]   # the cards that a demand allows
    {'p': '3/4'}
    >>> design("subset", k=10, rho=("0.1", "0.5")).size   # the size that adds least variance
    1
    >>> design("kronecker", designs=[warner, warner]).k   # two questions, each with cards of its own
    4
    """
    check_kind(str, family=family)
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    if family in ASSEMBLED:
        shared = {"categories": categories, "k": k, "reports": reports, "demand": demand, "max_ratio": max_ratio}
        said = {name: value for name, value in shared.items() if value is not None}
        flag = {"allow_unidentifiable": True} if allow_unidentifiable else {}
        return _assembled(family, {**said, **flag, **parameters})
    procedure, labels = procedure_named(family), read_categories(categories, k)
    values, words = split_words(procedure, parameters)
    asked = stated_protection(procedure, demand, max_ratio, words)
    if asked is not None:
        values = _tuned(procedure, asked, values)
        stated = None
    else:
        stated = read_demand(demand, words)
        values = _for_demand(procedure, values, stated, words, labels)
    made = procedure.design(
        values, categories=labels, reports=read_categories(reports), allow_unidentifiable=allow_unidentifiable
    )
    if asked is not None:
        return made.with_provenance(demand=asked[0])
    return made if stated is None else remembering(made, stated)


def split_words(procedure: Procedure, parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the family calls a parameter, and the words that state a demand."""
    own = {parameter.name for parameter in procedure.parameters}
    words = {name: value for name, value in parameters.items() if name in DEMAND_WORDS and name not in own}
    return {name: value for name, value in parameters.items() if name not in words}, words


def tunable(procedure: Procedure) -> Tunable | None:
    """How the family is tuned; None where it has no parameter to solve for, or takes demands already."""
    way = TUNABLE.get(procedure.name)
    names = {parameter.name for parameter in procedure.parameters}
    return way if way is not None and set(way.kept) <= names else None


def solved(procedure: Procedure) -> set[str]:
    """Parameters that may be left out where a demand is given: the free one and those that follow from it."""
    way = tunable(procedure)
    return set() if way is None else {p.name for p in procedure.parameters} - set(way.kept)


def stated_protection(
    procedure: Procedure, demand: Demand | None, ratio: Number | None, words: Mapping[str, Any]
) -> tuple[str, str, Any] | None:
    """What is asked of a family that is tuned: in words, the measure and its value; None where nothing is."""
    if tunable(procedure) is None:
        return None
    check_kind(Demand | None, demand=demand)
    stated = read_demand(demand, words)
    if stated is not None and ratio is not None:
        raise ParameterError("max-ratio-and-a-demand-are-two")
    if stated is not None:
        name = next((name for name in LANGUAGES if words.get(name) is not None), None)
        text = stated.text if name is None else f"{name.replace('_', '-')} {_typed(words[name])}"
        return text, "parity", gamma_of(stated)
    return None if ratio is None else (f"ratio {ratio}", "ratio", ratio)


def _typed(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _tuned(procedure: Procedure, asked: tuple[str, str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a demand leads to."""
    way = tunable(procedure)
    assert way is not None
    both = [name for name in solved(procedure) if values.get(name) is not None]
    if both:
        raise ParameterError(
            "and-both-decide-about-protection",
            both_option=option(both[0]),
            asked_option=option(asked[0]),
            free_option=option(way.free),
        )
    kept = {name: values[name] for name in way.kept if values.get(name) is not None}
    made = tuned(procedure.name, measure=asked[1], value=asked[2], **kept)
    return dict(made.provenance["parameters"])


def _for_demand(
    procedure: Procedure,
    values: dict[str, Any],
    demand: Demand | None,
    words: Mapping[str, Any],
    categories: Categories | None,
) -> dict[str, Any]:
    """The parameters with those that follow from a demand, for builders that take one."""
    if demand is None:
        return values
    planned = any(parameter.planned and parameter.name not in values for parameter in procedure.parameters)
    size = {"size": minimax_size(len(categories), demand)} if planned and categories is not None else {}
    if demand.name in ("gamma", "epsilon") and words.get(demand.name) is not None:  # builders know these two words
        return {**values, demand.name: words[demand.name], **size}
    return {
        **values,
        **(builder_parameters(demand) if demand.name == "epsilon" else {"gamma": to_text(demand.reachable)}),
        **size,
    }


# ---- made of something else


def _assembled(family: str, parameters: dict[str, Any]) -> Design:
    """The design that a builder of :data:`ASSEMBLED` makes, after checking the names of its parameters."""
    build = ASSEMBLED[family]
    known = inspect.signature(build).parameters
    words = {name: parameters.pop(name) for name in DEMAND_WORDS if "demand" in known and name in parameters}
    if words:
        parameters["demand"] = read_demand(parameters.get("demand"), words)
    unknown = [name for name in parameters if name not in known]
    missing = [name for name, one in known.items() if one.default is one.empty and name not in parameters]
    if unknown or missing:
        wrong = [f"has no {', '.join(unknown)}"] * bool(unknown) + [f"needs {', '.join(missing)}"] * bool(missing)
        raise ParameterError("family-wrong", family=family, wrong=" and ".join(wrong), known=", ".join(known))
    return build(**parameters)


def _of_matrix(
    matrix: Any,
    *,
    rows: bool = False,
    categories: Categories | Iterable[Hashable] | None = None,
    reports: Categories | Iterable[Hashable] | None = None,
) -> Design:
    """Any matrix: lines are reports, columns are truths and sum to one; with ``rows``, the other way round."""
    from maskwell.designs.dense import Dense
    from maskwell.engines.handwritten_files import MatrixFile, read_matrix

    is_path = isinstance(matrix, str | os.PathLike)
    table = read_matrix(os.fspath(matrix)) if is_path else MatrixFile(matrix)
    truths, labels = (table.row_labels, table.column_labels) if rows else (table.column_labels, table.row_labels)
    truths = truths if categories is None else read_categories(categories)
    labels = labels if reports is None else read_categories(reports)
    make = Dense.from_rows if rows else Dense.of
    return make(table.entries, truths, labels).with_provenance(family="matrix", parameters={"rows": rows})


def _extremal(
    pi: Iterable[Number],
    *,
    demand: Demand | None = None,
    categories: Categories | Iterable[Hashable] | None = None,
    k: Number | None = None,
    utility: str = "mutual-information",
    average: bool = False,
) -> Design:
    """The most useful reports for assumed shares: the design of :func:`maskwell.planning.extremal_design`."""
    from maskwell.planning.extremal import extremal_design

    asked, labels = needed_demand(demand, {}, "extremal"), read_categories(categories, k)
    return extremal_design(pi, asked, labels, utility=utility, average=average).design


def _kronecker(designs: Iterable[DesignOrPath]) -> Design:
    """Several variables, each randomized by its own design; the first is slowest."""
    from maskwell.designs.kronecker import Kronecker

    return Kronecker.of(_read_all(designs)).with_provenance(family="kronecker")


def _repeated(designs: Iterable[DesignOrPath]) -> Design:
    """One question asked several times of the same person, by designs over the same categories."""
    from maskwell.designs.kronecker import check_coded
    from maskwell.procedures.joint_answers import repeated

    return repeated(check_coded(_read_all(designs), "repeated answers"))


def _shared(outcomes: Iterable[tuple[Number, Iterable[DesignOrPath]]], *, allow_unidentifiable: bool = False) -> Design:
    """Several questions answered by one draw from one device, whose outcomes have chances that sum to 1."""
    from maskwell.designs.kronecker import check_coded
    from maskwell.procedures.joint_answers import shared

    pairs = pairs_of(outcomes, "outcomes")
    return shared(
        [weight for weight, _ in pairs],
        [check_coded(_read_all(designs), "a shared device") for _, designs in pairs],
        allow_unidentifiable=allow_unidentifiable,
    )


def _read_all(designs: Iterable[DesignOrPath]) -> list[Design]:
    return [read_design(one, f"designs[{i}]") for i, one in enumerate(as_list(designs, "designs"))]


ASSEMBLED: Mapping[str, Callable[..., Design]] = {
    "matrix": _of_matrix,
    "extremal": _extremal,
    "kronecker": _kronecker,
    "repeated": _repeated,
    "shared": _shared,
}
"""Families outside the registry of procedures, and their constructors."""
