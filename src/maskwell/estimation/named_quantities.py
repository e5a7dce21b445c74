"""Quantities that people publish: sums of categories, contrasts, ratios, and differences between groups.

With shares pi_hat and their covariance V, which holds sampling and randomization,

    sum        C pi_hat,            C V C'                             C has a row of 0 and 1
    contrast   c' pi_hat,           c' V c                             c has any factors
    ratio      r = a' pi_hat / b' pi_hat,   g' V g / (b' pi_hat)^2     g = a - r b
    groups     sum_d c_d pi_hat_d,  the covariance of that sum under the sampling plan

Sums are shares, and have the intervals of shares; the others have Wald intervals, with t where the plan says so.
Source: standard; for randomized reports [Adeshiyan2011, eq. (3.5)] is the covariance.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.display import Result, number_or_none, plain_label
from maskwell.estimation.joint.collapse import covariance_of, summed_shares
from maskwell.estimation.joint.conditionals import UNSTABLE, Ratios
from maskwell.estimation.share_estimate import Estimate

Kind: TypeAlias = Literal["combination", "contrast", "ratio", "groups"]
CERTAIN = "certain"
NOISE = 1e-12
"""Of what a variance is summed from: one that is smaller is zero but for rounding."""


class Terms(NamedTuple):
    """What is asked for, by the codes of the categories.

    ``factors`` of a combination or a contrast, shape (k,); of a ratio those of its numerator, and ``below`` those of
    its denominator. For groups, ``groups`` has the factor of each.
    """

    name: str
    kind: Kind
    of: str
    factors: Real | None = None
    below: Real | None = None
    groups: Mapping[Hashable, float] | None = None


@dataclass(frozen=True, eq=False)
class Quantity(Result):
    """A named quantity with its error.

    Attributes
    ----------
    name, kind, of
        Its name; combination, contrast, ratio or groups; and what it is made of, in words.
    value, standard_error, low, high
        The estimate, its standard error and the ends of its interval; NaN where there is none.
    interval_method, level
        Of the interval.
    p_value
        Two-sided, for a contrast of zero or a ratio of one; NaN for sums.
    deff
        The design effect, where rows have a sampling plan; NaN elsewhere.
    domain
        The group that it is about; None for everyone.
    category
        For groups: the category or combination that is compared.
    flags
        What a reader should know, in words.
    """

    name: str
    kind: Kind
    of: str
    value: float
    standard_error: float
    low: float
    high: float
    interval_method: str
    level: float
    p_value: float = math.nan
    deff: float = math.nan
    domain: Hashable | None = None
    category: Hashable | None = None
    flags: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        optional = {"p_value": self.p_value, "deff": self.deff}
        where = {"domain": self.domain, "category": self.category}
        return {
            "name": self.name,
            "kind": self.kind,
            "of": self.of,
            **{name: plain_label(label) for name, label in where.items() if label is not None},
            "estimate": number_or_none(self.value),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(self.low), number_or_none(self.high)],
            "interval_method": self.interval_method,
            **{name: value for name, value in optional.items() if not math.isnan(value)},
            "flags": list(self.flags),
        }


def combined(estimate: Estimate, terms: Sequence[Terms]) -> Estimate:
    """The shares of the combinations, as an estimate of its own."""
    C = np.array([term.factors for term in terms])
    return summed_shares(estimate, C, tuple(term.name for term in terms))


def combinations_of(
    estimate: Estimate, terms: Sequence[Terms], level: float, interval: str | None, domain: Hashable | None = None
) -> list[Quantity]:
    """Sums of shares with their intervals."""
    if not terms:
        return []
    sums = combined(estimate, terms)
    intervals, effects = sums.intervals(level, _of_sums(sums, interval)), sums.design_effects
    rows = zip(terms, sums.pi_hat, sums.standard_error, intervals.low, intervals.high, effects, strict=True)
    return [
        _certain(term, level, domain)
        if term.factors is not None and (term.factors == 1).all()
        else Quantity(
            *(term.name, "combination", term.of, float(value), float(error), float(low), float(high)),
            *(intervals.method, level, math.nan, float(effect), domain, None, intervals.flags),
        )
        for term, value, error, low, high, effect in rows
    ]


def _of_sums(sums: Estimate, interval: str | None) -> str | None:
    """The method that was asked for where sums have it, else the default."""
    if interval in ("wald", "logit", "bonferroni", "scheffe"):
        return interval
    return interval if interval in ("score", "matched") and sums.binomial_counts is not None else None


def _certain(term: Terms, level: float, domain: Hashable | None) -> Quantity:
    """All categories together: one, whatever the reports."""
    return Quantity(term.name, "combination", term.of, 1.0, 0.0, 1.0, 1.0, CERTAIN, level, domain=domain)


def contrast_of(estimate: Estimate, term: Terms, level: float, domain: Hashable | None = None) -> Quantity:
    """A sum of shares with factors."""
    assert term.factors is not None
    c = term.factors
    made = _wald(estimate, float(c @ estimate.pi_hat), _variance(c, covariance_of(estimate)), level)
    return Quantity(term.name, "contrast", term.of, *made, "wald", level, _p(estimate, *made[:2]), domain=domain)


def ratio_of(estimate: Estimate, term: Terms, level: float, domain: Hashable | None = None) -> Quantity:
    """One sum of shares over another; Fieller's interval where the second may be zero."""
    assert term.factors is not None and term.below is not None
    a, b, V = term.factors, term.below, covariance_of(estimate)
    parts = (float(a @ estimate.pi_hat), float(b @ estimate.pi_hat), _variance(a, V), float(a @ V @ b), _variance(b, V))
    ratio, z = Ratios(*map(np.asarray, parts)), estimate.critical_value((1 + level) / 2)
    value, error = float(ratio.value), float(np.sqrt(max(_variance(a - float(ratio.value) * b, V), 0))) / abs(parts[1])
    unstable = bool(ratio.unstable)
    low, high = (ratio.fieller(z) if unstable else np.array([value - z * error, value + z * error])).tolist()
    said = (f"unstable: what it is divided by is within {UNSTABLE} standard errors of zero",) if unstable else ()
    method, p = "fieller" if unstable else "wald", _p(estimate, value - 1, error)
    return Quantity(term.name, "ratio", term.of, value, error, low, high, method, level, p, domain=domain, flags=said)


def groups_of(
    estimates: Mapping[Hashable, Estimate],
    covariance: Real,
    term: Terms,
    level: float,
    combinations: Sequence[Terms] = (),
) -> list[Quantity]:
    """A sum of the shares of groups with factors: for every category, and for every combination.

    ``covariance`` is that of the sum, shape (k, k).
    """
    assert term.groups is not None
    first = next(estimates[label] for label in term.groups)
    theta = np.asarray(sum(factor * estimates[label].pi_hat for label, factor in term.groups.items()))
    rows = [(label, np.eye(len(theta))[j]) for j, label in enumerate(first.categories)]
    rows += [(one.name, one.factors) for one in combinations if one.factors is not None]
    quantities = []
    for label, c in rows:
        made = _wald(first, float(c @ theta), _variance(c, covariance), level)
        p = _p(first, *made[:2])
        quantities.append(Quantity(term.name, "groups", term.of, *made, "wald", level, p, category=label))
    return quantities


def _variance(c: Real, V: Real) -> float:
    """``c' V c``, zero where it is rounding alone."""
    variance, scale = float(c @ V @ c), float(np.abs(c) @ np.abs(V) @ np.abs(c))
    return 0.0 if abs(variance) <= NOISE * scale else variance


def _wald(estimate: Estimate, value: float, variance: float, level: float) -> tuple[float, float, float, float]:
    """Value, standard error and ends; no ends without a standard error above zero."""
    error = math.sqrt(variance) if variance >= 0 else math.nan
    half = estimate.critical_value((1 + level) / 2) * error if error > 0 else math.nan
    return value, error, value - half, value + half


def _p(estimate: Estimate, distance: float, error: float) -> float:
    """Two-sided; NaN without a standard error above zero."""
    from scipy.special import ndtr, stdtr

    if not error > 0:
        return math.nan
    freedom, t = getattr(estimate, "degrees_of_freedom", None), -abs(distance / error)
    return float(2 * (ndtr(t) if freedom is None else stdtr(freedom, t)))
