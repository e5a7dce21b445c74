"""DirectEstimate: shares read off a released file, and Released: the counts and weights they are read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_floats, check_counts
from maskwell.errors import CountsError, ParameterError
from maskwell.estimation.share_estimate import Combination, Estimate

ROUNDING = 1e-13
"""A variance below this part of its terms is zero but for rounding."""


class Ratio(NamedTuple):
    """A share within others, its standard error, and about how far its expectation lies from the truth."""

    value: float
    standard_error: float
    bias: float


@dataclass(frozen=True, eq=False)
class Released:
    """Released records, the sums of their weights and of their squared weights by category, each of shape (k,).

    Without weights all three are the counts.
    """

    counts: Real
    weights: Real
    squares: Real

    @classmethod
    def of(cls, counts: Any, weights: Any = None, squares: Any = None) -> Released:
        """Checked: at least two records, weights and squares given together."""
        records = check_counts(counts, name="released")
        if records.sum() < 2:
            raise CountsError("one-released-record-a-standard-error")
        if (weights is None) != (squares is None):
            raise CountsError("sums-of-weights-without-sums")
        if weights is None:
            return cls(records, records, records)
        sums, second = (
            check_counts(v, weighted=True, name=name) for v, name in ((weights, "weights"), (squares, "squares"))
        )
        if not len(sums) == len(second) == len(records):
            raise CountsError(
                "counts-sums-of-weights", records_count=len(records), sums_count=len(sums), second_count=len(second)
            )
        return cls(records, sums, second)

    @property
    def weighted(self) -> bool:
        """Whether there are weights."""
        return self.weights is not self.counts

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @cached_property
    def p(self) -> Real:
        """Released shares."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def size(self) -> float:
        """``W^2 / S``: the number of records that would tell as much if all had the same weight."""
        return float(self.weights.sum() ** 2 / self.squares.sum())


@dataclass(frozen=True, eq=False, repr=False)
class DirectEstimate(Estimate):
    """Shares of a released file that kept its counts on average, with their errors."""

    target: str = "population"  # "population", or "file" where the shares of the original file itself are wanted
    # Shape (k,): the number of records of an open file that would tell each share as well, at least
    effective: Real = field(default_factory=lambda: np.zeros(0))

    @property
    def default_interval(self) -> str:
        """Wilson's, with the effective number of records."""
        return "wilson"

    def contrast(self, coefficients: Any) -> Combination:
        """``sum_j c_j p_j`` with its standard error; totals of blocks are known exactly, so that it may be zero."""
        combination = super().contrast(coefficients)
        c, C = as_floats(coefficients, "coefficients", finite=False), np.asarray(self.covariance)
        noise = ROUNDING * float(np.abs(c) @ np.abs(C) @ np.abs(c))
        return Combination(combination.value, 0.0) if abs(float(c @ C @ c)) <= noise else combination

    def share_within(self, part: Any, whole: Any) -> Ratio:
        """The share of some categories within others: of a part A in a whole B that holds it, ``R = p_A / p_B``.

        Where records move in and out of the whole, R is a ratio of two random numbers:

            bias = (R V_B - C_AB) / p_B^2,     variance = (V_A - 2 R C_AB + R^2 V_B) / p_B^2

        to the first order. Source: standard (delta method); for released files after [Adeshiyan2011, eq. (4.25)].
        """
        a, b = _indicator(part, len(self.pi_hat)), _indicator(whole, len(self.pi_hat))
        if (a > b).any():
            raise ParameterError("the-part-has-categories")
        size = float(b @ self.pi_hat)
        if not size > 0:
            raise CountsError("no-released-record")
        ratio = float(a @ self.pi_hat) / size
        error = self.contrast(a - ratio * b).standard_error
        moved = float((ratio * b - a) @ np.asarray(self.covariance) @ b)
        return Ratio(ratio, error / size, moved / size**2)

    def _subject(self) -> str:
        whose = " of the original file" if self.target == "file" else ""
        return f"Shares{whose} from n = {self.n:,} released records"

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        sizes = [float(x) if np.isfinite(x) else "inf" for x in self.effective]
        return {**super().to_dict(level, interval), "target": self.target, "effective": sizes}


def _indicator(places: Any, k: int) -> Real:
    chosen: Array = as_array(places, "categories")
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or (len(chosen) and not 0 <= chosen.min() <= chosen.max() < k):
        raise ParameterError("places-of-categories-must-be-whole", k_sub=k - 1)
    indicator = np.zeros(k)
    indicator[chosen] = 1
    return indicator
