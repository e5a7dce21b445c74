"""The designs that are weighed against each other for k categories and a demand, each with its estimator.

The gamma-diagonal design and subset selection of the best size are admissible. The unary encodings are here because
they are in use: they are never admissible, and are shown with each of three estimators, so that none of them is called
wasteful because of a poor one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.categories import Categories
from maskwell.designs.base import Design
from maskwell.designs.bit_estimators import ESTIMATORS, Estimator
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.designs.unary import Unary
from maskwell.planning.demanded import builder_parameters, gamma_of, remembering
from maskwell.planning.optimal import matching_l, minimax_size
from maskwell.privacy.criteria import Demand
from maskwell.procedures.registry import make_design

UNARY = {"rappor": "basic RAPPOR", "oue": "optimised unary"}


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A design and the estimator that is used with it.

    Attributes
    ----------
    name, label
        For programs and for people.
    family
        What ``maskwell design`` calls it.
    """

    name: str
    label: str
    family: str
    design: Design

    @property
    def estimator(self) -> Estimator | None:
        """Which of several estimators, where there are several."""
        return None

    def added_variance(self, pi: Real | None = None) -> float:
        """V_R of the estimator, at equal shares by default."""
        return self.design.added_variance(pi)

    def share_variance(self, pi: Real) -> Real:
        """``n Var(pi_hat_j)`` for each category."""
        return self.design.share_variance(pi)

    @property
    def spoken(self) -> str:
        """The label as part of a sentence."""
        return "the gamma-diagonal design" if self.family == "k-ary" else self.label

    @property
    def wire_bits(self) -> int:
        """Bits of a report as it is stored and sent: whole bytes."""
        return 8 * int(np.asarray(self.design.empty_reports(1)).nbytes)

    def __repr__(self) -> str:
        return f"Candidate({self.label!r}, {self.design!r})"


@dataclass(frozen=True, eq=False, repr=False)
class UnaryCandidate(Candidate):
    """A unary encoding with one of its three estimators."""

    bits: Unary
    used: Estimator

    @property
    def estimator(self) -> Estimator | None:
        """The one that is used."""
        return self.used

    def added_variance(self, pi: Real | None = None) -> float:
        """V_R of the estimator, whatever the shares."""
        return self.bits.added_variance_of(self.used)

    def share_variance(self, pi: Real) -> Real:
        """``n Var(pi_hat_j)`` for each category."""
        return self.bits.share_variance_of(self.used, pi)


def gamma_diagonal(categories: Categories, demand: Demand) -> Candidate:
    """One category is reported."""
    return Candidate("k-ary", "gamma-diagonal", "k-ary", _make("k-ary", categories, demand))


def minimax_subset(categories: Categories, demand: Demand) -> Candidate:
    """A set of the size that adds least variance."""
    size = minimax_size(len(categories), gamma_of(demand))
    design = _make("subset", categories, demand, size=size)
    return Candidate("subset", f"subset selection of size {size:,}", "subset", design)


def unary_encodings(categories: Categories, demand: Demand) -> list[Candidate]:
    """Basic RAPPOR and optimised unary, each with three estimators."""
    found: list[Candidate] = []
    for family, label in UNARY.items():
        design = _make(family, categories, demand)
        assert isinstance(design, Unary)
        found += [
            UnaryCandidate(f"{family}, {used}", f"{label}, {used.replace('-', ' ')}", family, design, design, used)
            for used in ESTIMATORS
        ]
    return found


def matching_diversity(categories: Categories, demand: Demand) -> Candidate | None:
    """Local l-diversity at the l that is just as accurate as the best subset design; None where there is none.

    Its parity is infinite: it meets no demand.
    """
    l = matching_l(len(categories), gamma_of(demand)).floor  # noqa: E741 (the literature's name)
    if not 2 <= l <= len(categories) - 1:
        return None
    return Candidate("l-diverse", f"local l-diversity, l = {l:,}", "l-diverse", LocalDiversity.of(l, categories))


def _make(family: str, categories: Categories, demand: Demand, **parameters: Any) -> Design:
    everything: dict[str, Any] = {**parameters, **builder_parameters(demand)}
    return remembering(make_design(family, categories=categories, **everything), demand)
