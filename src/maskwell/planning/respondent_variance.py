"""What one respondent contributes to the variance of an estimated share, in two parts: docs/theory/costs.md.

Source: [Adeshiyan2011, eq. (3.5)], [NayakZhangAdeshiyan2016, eq. (1.3)] for the two parts; the form for complex samples
is derived, and an approximation.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_real, check_kind
from maskwell.core.exact import Number, as_fraction
from maskwell.core.phrases import option
from maskwell.core.verdicts import largest
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, TooLargeError

WORST_LIMIT = 2000  # with more categories than this the worst shares are not looked for


@dataclass(frozen=True)
class Sampling:
    """How the sample differs from a simple random one.

    Attributes
    ----------
    deff
        Design effect of the open question: how many times its variance is that of a simple random sample.
    cv_weights
        Standard deviation of the weights over their mean.
    icc, cluster_size
        Where the design effect follows from clusters: their intraclass correlation rho for the open question, and how
        many respondents each has. Then ``deff = (1 + cv^2) (1 + (size - 1) rho)``. Source: standard (Kish).

    >>> Sampling.of(deff=1.5, cv_weights=0.4).weighting
    1.1600000000000001
    >>> Sampling.of(icc=0.05, cluster_size=21).deff
    2.0
    """

    deff: float = 1.0
    cv_weights: float = 0.0
    icc: float | None = None
    cluster_size: float | None = None

    @classmethod
    def of(
        cls,
        deff: Number | None = None,
        cv_weights: Number | None = None,
        icc: Number | None = None,
        cluster_size: Number | None = None,
    ) -> Sampling:
        """From numbers as they were typed; None for what was not."""
        variation = as_fraction(0 if cv_weights is None else cv_weights, "cv_weights")
        clusters: tuple[float | None, float | None] = None, None
        if icc is not None or cluster_size is not None:
            _check_alone(deff, icc, cluster_size)
            assert icc is not None and cluster_size is not None
            rho, size = as_fraction(icc, "icc"), as_fraction(cluster_size, "cluster_size")
            if not 0 <= rho <= 1:
                raise ParameterError("icc-is-not-between-0", icc=icc)
            if size < 1:
                raise ParameterError("cluster-size-is-below-1", cluster_size=cluster_size)
            effect, clusters = (1 + variation**2) * (1 + (size - 1) * rho), (float(rho), float(size))
        else:
            effect = as_fraction(1 if deff is None else deff, "deff")
        if effect <= 0:
            raise ParameterError("deff-is-not-above-0", deff=deff)
        if variation < 0:
            raise ParameterError("cv-weights-is-below-0", cv_weights=cv_weights)
        return cls(as_real(effect, "deff", high=1e6), as_real(variation, "cv_weights", high=1e6), *clusters)

    @property
    def weighting(self) -> float:
        """``1 + cv^2``: by how much unequal weights alone raise a variance."""
        return 1 + self.cv_weights**2

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        clusters = {} if self.icc is None else {"icc": self.icc, "cluster_size": self.cluster_size}
        return {"deff": self.deff, "cv_weights": self.cv_weights, **clusters}

    @property
    def simple(self) -> bool:
        """Whether it is a simple random sample."""
        return self.deff == 1 and self.cv_weights == 0


SIMPLE = Sampling()


def _check_alone(deff: Number | None, icc: Number | None, cluster_size: Number | None) -> None:
    """Raise unless the two numbers about clusters come together, and without a design effect."""
    if icc is None or cluster_size is None:
        given, missing, example = ("cluster_size", "icc", "0.05") if icc is None else ("icc", "cluster_size", "20")
        words = {"given_option": option(given), "missing_option": option(missing), "example": option(missing, example)}
        raise ParameterError("given-option-without-missing-option", **words)
    if deff is not None:
        raise ParameterError("deff-and-icc-are-both-given", deff=deff)


@dataclass(frozen=True)
class UnitVariance:
    """``n Var(pi_hat_j)`` in its two parts.

    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> variance = unit_variance(warner, np.array([0.1, 0.9]))
    >>> round(variance.sampling, 4), round(variance.randomization, 4)   # the device costs far more than the sample
    (0.09, 1.3125)
    """

    sampling: float
    randomization: float

    @property
    def total(self) -> float:
        """Both parts."""
        return self.sampling + self.randomization

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"total": self.total, "sampling": self.sampling, "randomization": self.randomization}


def unit_variance(
    design: Design, pi: Real, *, category: Hashable | None = None, sampling: Sampling = SIMPLE
) -> UnitVariance:
    """``n Var(pi_hat_j)`` of one category at true shares ``pi``, shape (k,).

    The category is named by its label (default: the first).
    """
    check_kind(Design, design=design)
    check_kind(Sampling, sampling=sampling)
    code = 0 if category is None else design.inputs.find(category)
    open_, added = unit_variances(design, pi, sampling=sampling)
    return UnitVariance(float(open_[code]), float(added[code]))


def unit_variances(design: Design, pi: Real, *, sampling: Sampling = SIMPLE) -> tuple[Real, Real]:
    """The sampling and the randomization part for every category, each of shape (k,)."""
    pi = design.check_distribution(pi)
    design.check_identifiable()
    open_ = pi * (1 - pi)
    return sampling.deff * open_, sampling.weighting * (design.share_variance(pi) - open_)


@dataclass(frozen=True, eq=False)
class Line:
    """``n Var(pi_hat_j)`` along a line on which share j is t and the others keep their proportions.

        v(t) = deff t (1 - t) + (1 + cv^2) (t member + (1 - t) other - t)

    where ``member`` and ``other`` are E[U_j^2] when the truth is j and, on average, when it is not.
    """

    member: float
    other: float
    sampling: Sampling

    def at(self, share: float) -> UnitVariance:
        """Both parts where share j is ``share``."""
        added = share * self.member + (1 - share) * self.other - share
        return UnitVariance(self.sampling.deff * share * (1 - share), self.sampling.weighting * added)

    def coefficients(self, start: float) -> tuple[float, float, float]:
        """``v(start + d) = a + b d + c d^2``."""
        deff, slope = self.sampling.deff, self.sampling.weighting * (self.member - self.other - 1)
        return self.at(start).total, deff * (1 - 2 * start) + slope, -deff

    @property
    def worst(self) -> float:
        """The share at which the variance is largest: the top of the parabola, or the nearest end."""
        deff, slope = self.sampling.deff, self.sampling.weighting * (self.member - self.other - 1)
        return min(1.0, max(0.0, (deff + slope) / (2 * deff)))


def line_through(design: Design, pi: Real, *, category: int = 0, sampling: Sampling = SIMPLE) -> Line:
    """The line through ``pi`` to the vertex of the category; from equal other shares where ``pi`` is that vertex."""
    pi = design.check_distribution(pi)
    rest = np.where(np.arange(design.k) == category, 0.0, pi)
    rest = rest if rest.any() else np.where(np.arange(design.k) == category, 0.0, 1.0)
    member = _squared(design, np.eye(1, design.k, category)[0], category)
    return Line(member, _squared(design, rest / rest.sum(), category), sampling)


def _squared(design: Design, pi: Real, category: int) -> float:
    """E[U_j^2] at true shares ``pi``."""
    return float(design.share_variance(pi)[category] + pi[category] ** 2)


@dataclass(frozen=True, eq=False)
class WorstShares:
    """The true shares at which the variance of one estimated share is largest."""

    pi: Real  # the shares, shape (k,)
    category: int  # the code of the category
    variance: UnitVariance  # its variance there


def worst_shares(design: Design, *, category: Hashable | None = None, sampling: Sampling = SIMPLE) -> WorstShares:
    """Where ``n Var(pi_hat_j)`` is largest over all true shares; over all categories too where none is named.

    The variance is linear in the other shares, so they are all in the category l with the largest ``E[U_j^2 | l]``, and
    concave in share j: no search is needed. Source: derived.
    """
    check_kind(Design, design=design)
    check_kind(Sampling, sampling=sampling)
    design.check_identifiable()
    if design.k > WORST_LIMIT:
        raise TooLargeError("the-worst-shares-of-categories", k=design.k, worst_limit=WORST_LIMIT, design=design)
    corners = np.array([design.share_variance(corner) + corner for corner in np.eye(design.k)])
    codes = range(design.k) if category is None else [design.inputs.find(category)]
    by_category = [_worst_of(corners, j, sampling) for j in codes]
    return by_category[largest(np.array([worst.variance.total for worst in by_category]))]


def _worst_of(corners: Real, j: int, sampling: Sampling) -> WorstShares:
    """From E[U_j^2 | l] in ``corners[l, j]``."""
    others = corners[:, j].copy()
    others[j] = -np.inf
    other = largest(others)
    line = Line(float(corners[j, j]), float(others[other]), sampling)
    pi = np.zeros(len(corners))
    pi[j], pi[other] = line.worst, 1 - line.worst
    return WorstShares(pi, j, line.at(line.worst))
