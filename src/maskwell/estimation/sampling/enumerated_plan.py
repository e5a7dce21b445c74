"""Totals of a finite population from a sampling plan whose samples can be listed, with scores.

For a linear unbiased estimator ``e = w_s0 + sum_(i in s) w_si Y_i`` of the number of people in the first category,
recoveries U_i take the place of the unknown Y_i, and

    t = g_0 + sum_s d_si U_i + sum_(i != j in s) d_sij U_i U_j + sum_s w_si^2 (v_0i + (v_1i - v_0i) U_i)

is an unbiased estimate of the variance, over sampling and randomization together. Here v_1i and v_0i are the variances
of U_i inside and outside the category, and with inclusion probabilities pi_i and pi_ij

    g_0 = E w_s0^2,   d_si = (E[w_si^2 + 2 w_s0 w_si] - 1) / pi_i,   d_sij = (E[w_si w_sj] - 1) / pi_ij

each expectation over the samples that hold the units named (E w_s0^2 over all). The squares of U are never used: Y is
its own square, U is not. Any plan, any weights, another device for each person.

Source: [Adeshiyan2011, Theorems 2.1 and 2.2, Remark 2.5], with d_2 for d_i2 where all use one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from maskwell.core.arguments import Real, as_floats, as_list, as_whole, list_of
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.left_inverse import ScoreRecovery

MOST_UNITS = 10**6
UNBIASED = 1e-9


class Total(NamedTuple):
    """An estimated number of people, and the estimated variance of it; that may be negative, by chance."""

    value: float
    variance: float


@dataclass(frozen=True, eq=False)
class ListedSamples:
    """A sampling plan and a linear estimator, written out sample by sample."""

    probability: Real  # Of each sample, shape (S,)
    weights: Real  # w_si, shape (S, N); zero for units outside the sample
    held: Real  # Which units each sample holds, shape (S, N)
    constant: Real  # w_s0, shape (S,)

    @classmethod
    def of(
        cls,
        size: int,
        samples: Sequence[Sequence[int]],
        probability: Any,
        *,
        weights: Sequence[Any] | None = None,
        constant: Any = 0.0,
    ) -> Self:
        """From the units 0..size-1 of each sample and its probability.

        ``weights`` are one list a sample, in the order of its units; one over the inclusion probability by default.
        """
        size = as_whole(size, "size", low=1, high=MOST_UNITS)
        samples = [
            [as_whole(unit, "unit") for unit in as_list(units, "samples")] for units in as_list(samples, "samples")
        ]
        p = as_floats(probability, "probability", finite=False)
        if p.shape != (len(samples),) or not (p >= 0).all() or not abs(p.sum() - 1) <= UNBIASED:
            raise ParameterError("probabilities-of-samples-that-do-not")
        _check_units(samples, size)
        held = np.zeros((len(samples), size))
        for row, units in zip(held, samples, strict=True):
            row[list(units)] = 1
        w = held / np.maximum(p @ held, 1e-300) if weights is None else _spread(held, samples, weights)
        made = cls(p, w, held, _constants(constant, p.shape))
        made._check_unbiased()
        return made

    @cached_property
    def inclusion(self) -> Real:
        """The chance of each unit to be sampled, shape (N,)."""
        return np.asarray(self.probability @ self.held)

    @cached_property
    def squared_weights(self) -> Real:
        """``E w_si^2`` of each unit, shape (N,).

        Summed over a category, what :func:`optimal_scores_for_weights` asks for.
        """
        return np.asarray(self.probability @ self.weights**2)

    def total(self, sample: int, reports: Sequence[int], recoveries: Sequence[ScoreRecovery]) -> Total:
        """The estimate from one sample, named by its place in the list.

        ``reports`` are the codes reported by its units, lowest unit first; ``recoveries`` has one entry for each unit
        of the population.
        """
        sample = as_whole(sample, "sample")
        reports = [as_whole(z, "report") for z in as_list(reports, "reports")]
        recoveries = list_of(ScoreRecovery, recoveries, "recoveries")
        if not 0 <= sample < len(self.held):
            raise ParameterError("no-sample-has-the-number", sample=sample, held_count_sub=len(self.held) - 1)
        units = np.flatnonzero(self.held[sample]).tolist()
        if len(reports) != len(units):
            raise ParameterError("reports-for-units", reports_count=len(reports), units_count=len(units))
        if len(recoveries) != self.held.shape[1]:
            raise ParameterError("recoveries-for-units", recoveries_count=len(recoveries), shape=self.held.shape[1])
        unit_recoveries = [recoveries[i] for i in units]
        if not all(0 <= z < len(one.values) for one, z in zip(unit_recoveries, reports, strict=True)):
            raise ReportError("a-code-among-is-no-report", reports=list(reports))
        U = np.array([one.values[z] for one, z in zip(unit_recoveries, reports, strict=True)])
        w = self.weights[sample, units]
        v_1, v_0 = np.array([(one.inside, one.outside) for one in unit_recoveries]).T
        single, pairs = self._single[units], self._pairs[np.ix_(units, units)]
        g_0 = float(self.probability @ self.constant**2)
        variance = g_0 + single @ U + U @ pairs @ U + w**2 @ (v_0 + (v_1 - v_0) * U)
        return Total(float(self.constant[sample] + w @ U), float(variance))

    @cached_property
    def _single(self) -> Real:
        square = self.squared_weights + 2 * (self.probability * self.constant) @ self.weights
        return np.asarray((square - 1) / self.inclusion)

    @cached_property
    def _pairs(self) -> Real:
        """d_ij with zeros on the diagonal."""
        joint = self.held.T @ (self.held * self.probability[:, None])
        if (joint <= 0).any():
            raise ParameterError("some-two-units-are-never-sampled")
        pairs = (self.weights.T @ (self.weights * self.probability[:, None]) - 1) / joint
        np.fill_diagonal(pairs, 0)
        return np.asarray(pairs)

    def _check_unbiased(self) -> None:
        off = np.abs(self.probability @ self.weights - 1)
        if not off.max() <= UNBIASED or not abs(float(self.probability @ self.constant)) <= UNBIASED:
            raise ParameterError("the-weights-do-not-make")


def _constants(constant: Any, shape: tuple[int, ...]) -> Real:
    constants = as_floats(constant, "constant")
    if constants.shape not in ((), shape):
        raise ParameterError("constant-has-shape", shape=constants.shape)
    return np.broadcast_to(constants, shape)


def _check_units(samples: Sequence[Sequence[int]], size: int) -> None:
    wrong = next((units for units in samples if not all(0 <= i < size for i in units)), None)
    if wrong is not None:
        raise ParameterError("the-sample-of-a-population", wrong=tuple(wrong), size=size, size_sub=size - 1)


def _spread(held: Real, samples: Sequence[Sequence[int]], weights: Sequence[Any]) -> Real:
    weights = [
        as_floats(as_list(sample_weights, "weights"), "weights", finite=False)
        for sample_weights in as_list(weights, "weights")
    ]
    if [sample_weights.shape for sample_weights in weights] != [(len(units),) for units in samples]:
        raise ParameterError("weights-that-do-not-match")
    spread = np.zeros_like(held)
    for row, units, sample_weights in zip(spread, samples, weights, strict=True):
        row[list(units)] = sample_weights
    return spread
