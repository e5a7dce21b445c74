"""The designs that are weighed against each other for k categories and a demand; unary ones with three estimators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Array, Real, as_list
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, log_of, to_float
from maskwell.designs.design import Design
from maskwell.designs.subset import LocalDiversity
from maskwell.designs.unary import ESTIMATORS, Estimator, Unary
from maskwell.errors import ParameterError
from maskwell.planning.sample_size import check_n
from maskwell.planning.set_sizes import builder_parameters, check_k, gamma_of, matching_l, minimax_size, remembering
from maskwell.privacy.criteria import Demand
from maskwell.procedures.registry import make_design

UNARY = {"rappor": "basic RAPPOR", "oue": "optimised unary"}


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """A design and the estimator that is used with it."""

    name: str  # name, label: for programs and for people
    label: str
    family: str  # what ``maskwell design`` calls it
    design: Design
    estimator: Estimator | None = None  # of a unary encoding, which of its three

    def added_variance(self, pi: Real | None = None) -> float:
        """V_R of the estimator, at equal shares by default."""
        if self.estimator is None:
            return self.design.added_variance(pi)
        return cast(Unary, self.design).added_variance_of(self.estimator)

    def share_variance(self, pi: Real) -> Real:
        """``n Var(pi_hat_j)`` for each category."""
        if self.estimator is None:
            return self.design.share_variance(pi)
        return cast(Unary, self.design).share_variance_of(self.estimator, pi)

    @property
    def wire_bits(self) -> int:
        """Bits of a report as it is stored and sent: whole bytes."""
        return 8 * int(np.asarray(self.design.empty_reports(1)).nbytes)

    def __repr__(self) -> str:
        return f"Candidate({self.label!r}, {self.design!r})"


def k_ary(categories: Categories, demand: Demand) -> Candidate:
    """One category is reported."""
    return Candidate("k-ary", "k-ary randomized response", "k-ary", _make("k-ary", categories, demand))


def minimax_subset(categories: Categories, demand: Demand) -> Candidate:
    """A set of the size that adds least variance."""
    size = minimax_size(len(categories), gamma_of(demand))
    design = _make("subset", categories, demand, size=size)
    return Candidate("subset", f"subset selection of size {size:,}", "subset", design)


def unary_encodings(categories: Categories, demand: Demand) -> list[Candidate]:
    """Basic RAPPOR and optimised unary, each with three estimators."""
    return [
        Candidate(f"{family}, {used}", f"{label}, {used.replace('-', ' ')}", family, design, used)
        for family, label in UNARY.items()
        for design in [_make(family, categories, demand)]
        for used in ESTIMATORS
    ]


def matching_diversity(categories: Categories, demand: Demand) -> Candidate | None:
    """Local l-diversity, which meets no demand, at the l as accurate as the best subset design; None without one."""
    l = matching_l(len(categories), gamma_of(demand)).floor  # noqa: E741 (the literature's name)
    if not 2 <= l <= len(categories) - 1:
        return None
    return Candidate("l-diverse", f"local l-diversity, l = {l:,}", "l-diverse", LocalDiversity.of(l, categories))


def _make(family: str, categories: Categories, demand: Demand, **parameters: Any) -> Design:
    everything: dict[str, Any] = {**parameters, **builder_parameters(demand)}
    return remembering(make_design(family, categories=categories, **everything), demand)


@dataclass(frozen=True, eq=False)
class FrontierLine:
    """One design with one estimator over all demands."""

    name: str  # name, label, estimator: as in :class:`maskwell.planning.candidates.Candidate`
    label: str
    estimator: str | None
    admissible: bool  # whether no design of the same parity tells more
    dominated_by: str | None  # for those that are not: the line that adds less variance at every parity
    # added_variance, guess_probability, rms_error: one number for each demand, at equal shares; the error of one share
    # is None without a number of respondents
    added_variance: Real
    guess_probability: Real
    rms_error: Real | None


@dataclass(frozen=True, eq=False)
class Diversity:
    """Local l-diversity for every l: no point of the frontier, because its parity is infinite."""

    l: Array  # noqa: E741 (the literature's name)
    added_variance: Real
    guess_probability: Real
    rms_error: Real | None


@dataclass(frozen=True, eq=False)
class Frontier:
    """All designs for k categories, as lines over gamma."""

    k: int
    n: int | None
    gamma: Real  # gamma, epsilon: the demands, rising
    epsilon: Real
    size: Array  # the minimax size of subset selection at each of them
    lines: tuple[FrontierLine, ...]  # the minimax design first
    diversity: Diversity | None  # local l-diversity beside them; None below three categories


def frontier(
    k: int,
    gammas: Iterable[Demand | Number] | None = None,
    *,
    epsilons: Iterable[Number] | None = None,
    n: Number | None = None,
) -> Frontier:
    """Added variance, guesses and errors of all designs over a range of gammas or epsilons, at equal shares."""
    gammas = None if gammas is None else as_list(gammas, "gammas")
    epsilons = None if epsilons is None else as_list(epsilons, "epsilons")
    k, respondents = check_k(k), None if n is None else check_n(n)
    if (gammas is None) == (epsilons is None):
        raise ParameterError("a-frontier-needs-either-gammas")
    given = [one if isinstance(one, Demand) else Demand.from_gamma(one) for one in gammas or ()]
    demands = sorted(given or [Demand.from_epsilon(one) for one in epsilons or ()], key=gamma_of)
    if not demands:
        raise ParameterError("no-demand-was-given")
    labels = Categories.numbered(k)
    columns = [(minimax_subset(labels, one), k_ary(labels, one), *unary_encodings(labels, one)) for one in demands]
    lines = tuple(_line(list(column), k, respondents) for column in zip(*columns, strict=True))
    exact = [gamma_of(demand) for demand in demands]
    sizes = np.array([minimax_size(k, gamma) for gamma in exact])
    gamma, epsilon = np.array([to_float(g) for g in exact]), np.array([log_of(g) for g in exact])
    return Frontier(k, respondents, gamma, epsilon, sizes, lines, _diversity(k, respondents))


def _line(column: Sequence[Candidate], k: int, n: int | None) -> FrontierLine:
    first = column[0]
    variances = np.array([candidate.added_variance() for candidate in column])
    admissible = first.design.is_admissible()
    return FrontierLine(
        name=first.name,
        label="minimax subset selection" if first.name == "subset" else first.label,
        estimator=first.estimator,
        admissible=admissible,
        dominated_by=None if admissible else "subset",
        added_variance=variances,
        guess_probability=np.array([candidate.design.guess_probability() for candidate in column]),
        rms_error=_error(variances, k, n),
    )


def _error(added_variance: Real, k: int, n: int | None) -> Real | None:
    """The root mean square error of one share at equal shares."""
    return None if n is None else np.sqrt((added_variance + 1 - 1 / k) / (k * n))


def _diversity(k: int, n: int | None) -> Diversity | None:
    if k < 3:
        return None
    steps = min(k - 2, 200)
    sizes = sorted({2 + math.floor(i * (k - 3) / max(1, steps - 1)) for i in range(steps)})
    designs = [LocalDiversity.of(size, Categories.numbered(k)) for size in sizes]
    variances = np.array([design.added_variance() for design in designs])
    guesses = np.array([design.guess_probability() for design in designs])
    return Diversity(np.array(sizes), variances, guesses, _error(variances, k, n))
