"""Privacy against error for all designs over a range of demands: the numbers behind the picture *choosing*."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import as_list
from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, log_of, to_float
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.errors import ParameterError
from maskwell.planning.candidates import Candidate, gamma_diagonal, minimax_subset, unary_encodings
from maskwell.planning.demanded import check_k, gamma_of
from maskwell.planning.optimal import minimax_size
from maskwell.planning.sample_size import check_n
from maskwell.privacy.criteria import Demand


@dataclass(frozen=True, eq=False)
class FrontierLine:
    """One design with one estimator over all demands.

    Attributes
    ----------
    name, label, estimator
        As in :class:`maskwell.planning.candidates.Candidate`.
    admissible
        Whether no design of the same parity tells more.
    dominated_by
        For those that are not: the line that adds less variance at every parity.
    added_variance, guess_probability, rms_error
        One number for each demand, at equal shares; the error of one share is None without a number of respondents.
    """

    name: str
    label: str
    estimator: str | None
    admissible: bool
    dominated_by: str | None
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
    """All designs for k categories, as lines over gamma.

    Attributes
    ----------
    gamma, epsilon
        The demands, rising.
    size
        The minimax size of subset selection at each of them.
    lines
        The minimax design first.
    diversity
        Local l-diversity beside them; None below three categories.

    >>> found = frontier(10, [2, 4, 8])
    >>> found.lines[0].label, found.size.tolist()
    ('minimax subset selection', [3, 2, 1])
    """

    k: int
    n: int | None
    gamma: Real
    epsilon: Real
    size: Array
    lines: tuple[FrontierLine, ...]
    diversity: Diversity | None


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
    demands = sorted(_demands(gammas, epsilons), key=gamma_of)
    columns = [_candidates(Categories.numbered(k), demand) for demand in demands]
    lines = tuple(_line(list(column), k, respondents) for column in zip(*columns, strict=True))
    exact = [gamma_of(demand) for demand in demands]
    sizes = np.array([minimax_size(k, gamma) for gamma in exact])
    gamma, epsilon = np.array([to_float(g) for g in exact]), np.array([log_of(g) for g in exact])
    return Frontier(k, respondents, gamma, epsilon, sizes, lines, _diversity(k, respondents))


def _demands(gammas: Iterable[Demand | Number] | None, epsilons: Iterable[Number] | None) -> list[Demand]:
    if (gammas is None) == (epsilons is None):
        raise ParameterError("a frontier needs either gammas or epsilons", hint="give a list of one of them")
    if epsilons is not None:
        found = [Demand.from_epsilon(epsilon) for epsilon in epsilons]
    else:
        found = [g if isinstance(g, Demand) else Demand.from_gamma(g) for g in gammas or ()]
    if not found:
        raise ParameterError("no demand was given", hint="give at least one gamma or epsilon")
    return found


def _candidates(categories: Categories, demand: Demand) -> list[Candidate]:
    return [
        minimax_subset(categories, demand),
        gamma_diagonal(categories, demand),
        *unary_encodings(categories, demand),
    ]


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
