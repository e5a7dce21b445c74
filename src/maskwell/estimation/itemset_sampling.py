"""Supports of itemsets where the baskets were sampled with weights, strata, clusters or replicate weights.

    sigma_hat(S) = sum_i d_i f_i / sum_i d_i,    f_i = prod_{a in S} w_a(y_ia),    d_i the sampling weights

has the variance of the total of ``d_i (f_i - sigma_hat) / D`` under the sampling; of a finite population f_i^2 - f_i,
unbiased for the variance of f_i given the basket, adds what differences between draws leave out. A confidence is a
ratio of two supports. Source: derived from the variance of a ratio and [NayakZhangAdeshiyan2016, section 4].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import above
from maskwell.estimation.itemset_supports import DEFINED, ReportedBaskets
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.sampling.replicate_weights import ReplicateRule


@dataclass(frozen=True, eq=False)
class BasketSampling:
    """How the rows of baskets were drawn."""

    rows: RowSampling
    weights: Real | None = None  # As they were given, shape (n,)
    replicates: Real | None = None  # Replicate weights, shape (n, R), which the rule makes a variance of
    rule: ReplicateRule | None = None

    @classmethod
    def of(cls, n: int, plan: Mapping[str, Any], *, lonely: str, rule: ReplicateRule | None) -> BasketSampling:
        """From what was read of the sampling of n rows."""
        return cls(RowSampling.from_columns(n, plan, lonely=lonely), plan.get("weight"), plan.get("replicates"), rule)

    def in_words(self) -> str:
        """What standard errors take into account."""
        if self.replicates is None or self.rule is None:
            return self.rows.in_words()
        return f"{self.replicates.shape[1]:,} replicate weights ({self.rule.method})"


class SampledBaskets(ReportedBaskets):
    """Reported baskets that stand for others; every estimate reads the rows, not counts of them."""

    def __init__(self, baskets: ReportedBaskets, sampling: BasketSampling) -> None:
        super().__init__(baskets.columns, baskets.n, baskets.names, baskets.w0, baskets.w1)
        self.sampling = sampling
        rows = sampling.rows
        weights = np.ones(self.n) if rows.weights is None else rows.weights
        self._weights_of_rows = weights / weights.sum()
        self._left_out = rows.left_out()[rows.row_strata()] * self._weights_of_rows**2
        self._last: tuple[list[int], Real] = ([], np.ones(self.n))

    def estimates(self, sets: Sequence[Sequence[int]]) -> tuple[Real, Real]:
        """Supports of sets, given by the places of their items, and their standard errors."""
        found = np.array([self._estimate(self._products(places)) for places in sets])
        return found[:, 0], found[:, 1]

    def confidences(self, sets: Sequence[Sequence[int]], before: Array) -> tuple[Real, Real, Array]:
        """Confidences of rules, standard errors, and which are defined; ``before`` marks the items of the condition."""
        found = [self._confidence(places, [*compress(places, before)]) for places in sets]
        ratio, error, defined = zip(*found, strict=True)
        return np.array(ratio), np.array(error), np.array(defined)

    def pair_supports(self) -> tuple[Real, Real]:
        """Supports of all pairs of items, shape (M, M), and their standard errors; single items on the diagonal."""
        items = len(self.names)
        one, two = np.triu_indices(items)
        pairs = [[a] if a == b else [a, b] for a, b in zip(one.tolist(), two.tolist(), strict=True)]
        found = np.array(self.estimates(pairs))
        tables = np.zeros((2, items, items))
        tables[:, one, two] = tables[:, two, one] = found
        return tables[0], tables[1]

    def _estimate(self, f: Real) -> tuple[float, float]:
        mean = float(self._weights_of_rows @ f)
        return mean, self._error(f, f - mean, f)

    def _confidence(self, whole: Sequence[int], part: Sequence[int]) -> tuple[float, float, bool]:
        u, v = self._products(whole), self._products(part)
        below, error = self._estimate(v)
        if not above(below, DEFINED * error):
            return 0.0, 0.0, False
        ratio = float(self._weights_of_rows @ u) / below
        away = (u - ratio * v) / below
        return ratio, self._error(away, away, ((1 - 2 * ratio) * u + ratio**2 * v) / below**2), True

    def _error(self, values: Real, centred: Real, square_of_truth: Real) -> float:
        """The standard error of a mean of values; ``square_of_truth`` is unbiased for the squared truth."""
        sampling, rest = self.sampling, values**2 - square_of_truth
        if sampling.replicates is None or sampling.rule is None:
            scores = (self._weights_of_rows * centred)[:, None]
            variance = float(sampling.rows.variance_of_total(scores)[0, 0] + self._left_out @ rest)
        else:
            means = (sampling.replicates.T @ centred / sampling.replicates.sum(axis=0))[:, None]
            variance = float(sampling.rule.spread(means, np.zeros(1), full=False)[0])
            if sampling.rule.finite:  # a row of weight w was drawn with the chance 1 / w
                weights = np.ones(self.n) if sampling.weights is None else sampling.weights
                variance += float(weights @ rest) / float(weights.sum()) ** 2
        return float(np.sqrt(max(variance, 0.0)))

    def _products(self, places: Sequence[int]) -> Real:
        """f_i of every row; sets that share all items but the last are best given one after the other."""
        if not places:
            return np.ones(self.n)
        prefix, shared = self._last
        if prefix != [*places[:-1]]:
            shared = np.ones(self.n)
            for place in places[:-1]:
                shared = shared * self._factor(place)
            self._last = [*places[:-1]], shared
        return np.asarray(shared * self._factor(places[-1]))

    def _factor(self, place: int) -> Real:
        held: Any = np.unpackbits(self.columns[place].view(np.uint8), count=self.n, bitorder="little")
        return np.asarray(np.array([self.w0[place], self.w1[place]])[held])
