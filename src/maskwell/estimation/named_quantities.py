"""Quantities that people publish, of shares pi_hat with the covariance V: sums, contrasts, ratios, differences.

    sum  C pi_hat, C V C';    contrast  c' pi_hat, c' V c;    ratio  r = a' pi_hat / b' pi_hat, g' V g / (b' pi_hat)^2
with ``g = a - r b``; groups by the covariance of ``sum_d c_d pi_hat_d`` under the sampling plan. Sums have the
intervals of shares, the others Wald's, with t where the plan says so. Source: standard.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.display import Inside, Result, entries, number_or_none, plain_label
from maskwell.estimation.asked_quantities import Asked, Kind, QuantityTerms, Terms
from maskwell.estimation.joint.conditionals import UNSTABLE, Ratios
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate, variance_of_sum
from maskwell.estimation.summed_shares import SUMMED, covariance_of, summed_shares
from maskwell.notes import Note


@dataclass(frozen=True, eq=False)
class Quantity(Result):
    """A named quantity with its error."""

    term: Terms  # What was asked for
    # The estimate, its standard error and the ends of its interval; NaN where there is none
    value: float
    standard_error: float
    low: float
    high: float
    # Of the interval
    interval_method: str
    level: float
    # Two-sided, for a contrast of zero or a ratio of one (its two parts are equal); NaN for sums
    p_value: float = math.nan
    deff: float = math.nan  # The design effect, where rows have a sampling plan; NaN elsewhere
    domain: Hashable | None = None  # The group that it is about; None for everyone
    category: Hashable | None = None  # For groups: the category or combination that is compared
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    name = Inside[str]("term.name", "Its name.")
    kind = Inside[Kind]("term.kind", "Combination, contrast, ratio or groups.")
    of = Inside[str]("term.of", "What it is made of, in words.")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        optional = {"p_value": self.p_value, "deff": self.deff}
        where = {"domain": self.domain, "category": self.category}
        return {
            **entries(self, "name kind of"),
            **{name: plain_label(label) for name, label in where.items() if label is not None},
            "estimate": number_or_none(self.value),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(self.low), number_or_none(self.high)],
            "interval_method": self.interval_method,
            **{name: value for name, value in optional.items() if not math.isnan(value)},
            "flags": list(self.flags),
        }


def quantities_of(
    base: Estimate, between: Sequence[Real], asked: Sequence[Asked], level: float, interval: str | None
) -> tuple[Quantity, ...]:
    """The quantities that were asked for, of everyone and of each domain."""
    domains = base.domains if isinstance(base, SurveyEstimate) else {}
    terms = QuantityTerms.of(asked, base.categories, [*domains])
    whole: list[tuple[Hashable | None, Estimate]] = [(None, base), *domains.items()]
    quantities: list[Quantity] = []
    for label, one in whole:
        if np.isnan(one.pi_hat).any():
            continue
        made = combinations_of(one, terms.combinations, level, interval)
        for t in terms.others:
            if t.kind == "ratio":
                made.append(ratio_of(one, t, level))
            else:
                spread = variance_of_sum(t.factors, covariance_of(one))
                made.append(_wald(one, t, float(t.factors @ one.pi_hat), spread, level))
        quantities += [replace(quantity, domain=label) for quantity in made]
    for term, V in zip(terms.groups, between, strict=True):
        summed = V if base.sums_of is None else base.sums_of.C @ V @ base.sums_of.C.T
        first = next(domains[label] for label in term.groups)
        theta = np.asarray(sum(factor * domains[label].pi_hat for label, factor in term.groups.items()))
        rows = [*zip(first.categories, np.eye(len(theta)), strict=True)]
        for label, c in [*rows, *((one.name, one.factors) for one in terms.combinations)]:
            found = _wald(first, term, float(c @ theta), variance_of_sum(c, summed), level)
            quantities.append(replace(found, category=label))
    return tuple(quantities)


def combined(estimate: Estimate, terms: Sequence[Terms]) -> Estimate:
    """The shares of the combinations, as an estimate of its own."""
    return summed_shares(estimate, np.array([term.factors for term in terms]), tuple(term.name for term in terms))


def combinations_of(estimate: Estimate, terms: Sequence[Terms], level: float, interval: str | None) -> list[Quantity]:
    """Sums of shares with their intervals, of the method that was asked for where sums have it, else the default."""
    if not terms:
        return []
    sums = combined(estimate, terms)
    counted = interval in ("score", "matched") and sums.binomial_counts is not None
    intervals = sums.intervals(level, interval if interval in SUMMED or counted else None)
    rows = zip(terms, sums.pi_hat, sums.standard_error, intervals.low, intervals.high, sums.design_effects, strict=True)
    quantities = []
    for term, value, error, low, high, effect in rows:
        if (term.factors == 1).all():  # all categories together: one, whatever the reports
            quantities.append(Quantity(term, 1.0, 0.0, 1.0, 1.0, "certain", level))
            continue
        ends = float(low), float(high)
        one = Quantity(term, float(value), float(error), *ends, intervals.method, level, deff=float(effect))
        one = replace(one, flags=intervals.flags)
        quantities.append(_at_the_edge(estimate, one) if math.isnan(one.low) else one)
    return quantities


def _at_the_edge(estimate: Estimate, one: Quantity) -> Quantity:
    """A sum without an interval of its own: that of its one category, or of the one that it lacks; else the reason."""
    held, lacking = np.flatnonzero(one.term.factors), np.flatnonzero(one.term.factors == 0)
    if min(len(held), len(lacking)) == 1:
        intervals = estimate.intervals(one.level)
        j = int(held[0] if len(held) == 1 else lacking[0])
        low, high = float(intervals.low[j]), float(intervals.high[j])
        low, high = (low, high) if len(held) == 1 else (1 - high, 1 - low)
        if math.isfinite(low):
            return replace(one, low=low, high=high, interval_method=intervals.method, flags=intervals.flags)
    return replace(one, flags=(*one.flags, Note("no-interval-a-share-is-estimated")))


def ratio_of(estimate: Estimate, term: Terms, level: float) -> Quantity:
    """One sum of shares over another; Fieller's interval where the second may be zero."""
    a, b, V = term.factors, term.below, covariance_of(estimate)
    above, below = float(a @ estimate.pi_hat), float(b @ estimate.pi_hat)
    if below == 0:
        undefined = (Note("not-defined-what-it-is-divided"),)
        return Quantity(term, math.nan, math.nan, math.nan, math.nan, "fieller", level, flags=undefined)
    spread = variance_of_sum(a, V), float(a @ V @ b), variance_of_sum(b, V)
    ratio, z = Ratios(*map(np.asarray, (above, below, *spread))), estimate.critical_value((1 + level) / 2)
    value = float(ratio.value)
    error = float(np.sqrt(max(variance_of_sum(a - value * b, V), 0))) / abs(below)
    unstable = bool(ratio.unstable)
    low, high = (ratio.fieller(z) if unstable else np.array([value - z * error, value + z * error])).tolist()
    said = (f"unstable: what it is divided by is within {UNSTABLE} standard errors of zero",) if unstable else ()
    said = (Note("no-interval-a-share-is-estimated"),) if math.isnan(low) else said
    apart = variance_of_sum(a - b, V)  # the ratio is one where the difference is zero
    p = estimate.p_value(above - below, math.sqrt(apart) if apart > 0 else 0.0)
    return Quantity(term, value, error, low, high, "fieller" if unstable else "wald", level, p, flags=said)


def _wald(estimate: Estimate, term: Terms, value: float, variance: float, level: float) -> Quantity:
    """With a Wald interval; no ends without a standard error above zero."""
    error = math.sqrt(variance) if variance >= 0 else math.nan
    half = estimate.critical_value((1 + level) / 2) * error if error > 0 else math.nan
    p = estimate.p_value(value, error)
    return Quantity(term, value, error, value - half, value + half, "wald", level, p)
