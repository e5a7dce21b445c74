"""Procedure: what a program needs to know to offer a named device to a person."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, cast

from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import LabelError, ParameterError

Share = tuple[Fraction, tuple[int, ...], str]
"""The share of a kind of card in a deck, the code of its report for each truth, and what is printed on it."""

DEMAND_WORDS = ("gamma", "epsilon")  # the words in which a builder takes a demand: a bound on parity, or its logarithm


class Kind(Enum):
    """What a parameter holds."""

    PROBABILITY = "probability"  # one number from 0 to 1
    PROBABILITIES = "probabilities"  # a list of them
    COUNT = "count"  # a whole number
    LABELS = "labels"  # a list of names
    FLAG = "flag"  # yes or no, no by default
    DEMAND = "demand"  # a bound on parity, for designs made to meet one; the builder takes it as gamma or as epsilon


@dataclass(frozen=True)
class Parameter:
    """One parameter of a procedure."""

    name: str  # as the builder spells it; ``option`` is the spelling of the command line
    kind: Kind
    help: str
    # false when it may be left out: a flag, or one of several ways to say the same thing (the builder checks)
    required: bool = True
    planned: bool = False  # true when planning can choose it for someone who leaves it out; the builder itself needs it

    @property
    def option(self) -> str:
        """The spelling of the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords by which the builder takes it."""
        return DEMAND_WORDS if self.kind is Kind.DEMAND else (self.name,)


Cards = Callable[[Mapping[str, Any], int], list[Share]]
"""The cards by which a procedure is known, from its parameters and the number of truths."""


@dataclass(frozen=True)
class Procedure:
    """A named device and how to build its design; ``procedures.toml`` says all but its functions."""

    name: str  # the family, as typed on the command line and kept in the provenance of the design
    # parameters in, design out. Builders of free categories take them first, as ``categories``
    build: Callable[..., Design]
    summary: str
    source: str
    example: str  # options that make a design, as typed on the command line; shown in the help and run by the tests
    parameters: tuple[Parameter, ...]
    # labels of the true categories, or None when the caller names them. For sets of items: of each item. Where a
    # parameter that was left out makes the truths pairs (an unrelated answer beside the own one): of the own one
    truths: tuple[Hashable, ...] | None = ("yes", "no")
    # labels of the reports, or None when they depend on the parameters, are the categories, or are sets of them
    reports: tuple[Hashable, ...] | None = ("yes", "no")
    # which of "truths" and "reports" the caller may not give other labels; of reports that are tuples single answers
    # may be named, too
    fixed: tuple[str, ...] = ()
    # whether some allowed parameters leave the proportions beyond estimation; ``build`` then takes
    # ``allow_unidentifiable``
    may_fail: bool = True
    cards: Cards | None = None  # None where cards that ask for the truth or say what to report will do
    # whether it is carried out with other things than cards that tell what to say: questions, decks, urns
    without_cards: bool = False

    def design(
        self,
        parameters: Mapping[str, Any],
        *,
        categories: Categories | None = None,
        reports: Categories | None = None,
        allow_unidentifiable: bool = False,
    ) -> Design:
        """Build the design from parameters by name, with labels for the truths and, where possible, the reports."""
        self.check_names(parameters)
        if self.needs_categories and categories is None:
            raise ParameterError("needs-the-categories-of-the-truth-name", name=self.name)
        for labels, what in ((categories, "truths"), (reports, "reports")):
            if labels is not None and what in self.fixed:
                raise LabelError("the-of-take-no-names", what=what, name=self.name)
        if self.truths is not None and categories is not None and len(categories) != len(self.truths):
            raise LabelError(
                "categories-for-which", categories_count=len(categories), name=self.name, truths_count=len(self.truths)
            )
        arguments = dict(parameters)
        if self.may_fail:
            arguments["allow_unidentifiable"] = allow_unidentifiable
        if self.needs_categories:
            return self._relabelled(self.build(categories=categories, **arguments), None, reports)
        return self._relabelled(self.build(**arguments), categories, reports)

    @property
    def needs_categories(self) -> bool:
        """Whether the caller must name the true categories."""
        return self.truths is None

    def check_names(self, parameters: Mapping[str, Any]) -> None:
        """Raise unless these are parameters of the procedure and none is missing."""
        known = [word for parameter in self.parameters for word in parameter.keywords]
        unknown = [name for name in parameters if name not in known]
        missing = [p.name for p in self.parameters if p.required and not any(word in parameters for word in p.keywords)]
        if unknown or missing:
            wrong = [f"has no {', '.join(unknown)}"] * bool(unknown) + [f"needs {', '.join(missing)}"] * bool(missing)
            raise ParameterError(
                "name-wrong",
                name=self.name,
                wrong=" and ".join(wrong),
                known=", ".join(known),
                parameters=dict(parameters),
            )

    def _relabelled(self, design: Design, inputs: Categories | None, reports: Categories | None) -> Design:
        if inputs is None and reports is None:
            return design
        old = cast(Categories, design.outputs)
        outputs = old if reports is None else self._reports_renamed(old, reports)
        return design.with_labels(design.inputs if inputs is None else self._renamed(design.inputs, inputs), outputs)

    def _reports_renamed(self, old: Categories, new: Categories) -> Categories:
        """The new names, or tuples of them where reports are tuples and the names are those of single answers."""
        if len(new) == len(old):
            return new
        answers = single_answers(old)
        if len(new) == len(answers):
            names = dict(zip(answers, new.labels, strict=True))
            return Categories.of(tuple(names[one] for one in cast(Sequence[Hashable], label)) for label in old.labels)
        either = f"{len(answers)} for the single answers, or {len(old)}" if answers else f"{len(old)}"
        raise LabelError("names-for-the-reports", new_count=len(new), old_count=len(old), name=self.name, one_of=either)

    def _renamed(self, old: Categories, new: Categories) -> Categories:
        """The new names, or pairs that begin with them where the truths are pairs."""
        names = dict(zip(self.truths or (), new.labels, strict=True))
        if len(old) == len(new):
            return new
        pairs = cast(Sequence[tuple[Hashable, ...]], old.labels)
        return Categories.of((names[pair[0]], *pair[1:]) for pair in pairs)


def single_answers(reports: Categories) -> list[Hashable]:
    """The answers that occur in reports that are tuples, in the order in which they first come; else none."""
    if not all(isinstance(label, tuple) for label in reports.labels):
        return []
    return [*dict.fromkeys(one for label in reports.labels for one in cast(Sequence[Hashable], label))]
