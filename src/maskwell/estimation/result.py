"""Estimate: proportions with their errors, and what makes them reproducible."""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import MissingExtraError, ParameterError

SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated true proportions.

    Attributes
    ----------
    categories
        Labels, shape (k,); tuples for tables.
    pi_hat
        Raw estimates, shape (k,). They sum to one or nearly so, and may lie outside [0, 1].
    variance, sampling_variance, randomization_variance
        Estimated variances, shape (k,): the whole and its two parts. The sampling part is a difference and may be
        negative.
    covariance
        Shape (k, k), or ``None`` when there are too many categories to hold it.
    n
        Number of reports.
    method, fingerprint
        How they were found and with which design.
    flags
        What a reader should know, in words.
    """

    categories: Sequence[Hashable]
    pi_hat: Real
    variance: Real
    sampling_variance: Real
    randomization_variance: Real
    covariance: Real | None
    n: int
    method: str
    fingerprint: str
    flags: tuple[str, ...] = ()

    @property
    def standard_error(self) -> Real:
        """Square roots of the variances; NaN where a variance is negative (it is then flagged)."""
        out = np.full(self.variance.shape, np.nan)
        return np.sqrt(self.variance, out=out, where=self.variance >= 0)

    def confidence_interval(self, level: float = 0.95) -> Real:
        """Wald intervals, shape (k, 2), not cut to [0, 1]. Source: [Adeshiyan2011, section 3.3]; standard.

        Each interval stands for its own category, not for all of them together.
        """
        if not 0 < level < 1:
            raise ParameterError(
                f"level = {level} is not between 0 and 1", hint="give a level such as 0.95", level=level
            )
        from statistics import NormalDist

        half = NormalDist().inv_cdf((1 + level) / 2) * self.standard_error
        return np.column_stack([self.pi_hat - half, self.pi_hat + half])

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        intervals = self.confidence_interval(level)
        rows = [
            {"category": _plain(c), "estimate": p, "standard_error": _number(s), "interval": [_number(x) for x in i]}
            for c, p, s, i in zip(
                self.categories, self.pi_hat.tolist(), self.standard_error.tolist(), intervals.tolist(), strict=True
            )
        ]
        return {
            "n": self.n,
            "method": self.method,
            "level": level,
            "estimates": rows,
            "covariance": None if self.covariance is None else self.covariance.tolist(),
            "sampling_variance": self.sampling_variance.tolist(),
            "randomization_variance": self.randomization_variance.tolist(),
            "flags": list(self.flags),
            "design": self.fingerprint,
        }

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas table with one row for each category."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", hint="pip install 'maskwell[pandas]'") from error
        low, high = self.confidence_interval(level).T
        columns = {"category": list(self.categories), "estimate": self.pi_hat, "standard_error": self.standard_error}
        return pandas.DataFrame({**columns, "low": low, "high": high})

    def __repr__(self) -> str:
        low, high = self.confidence_interval().T
        width = max(8, *(len(str(c)) for c in self.categories[:SHOWN]))
        lines = [f"Estimate by {self.method} from n = {self.n:,} reports (95 % intervals)"]
        for c, p, a, b in list(zip(self.categories, self.pi_hat, low, high, strict=True))[:SHOWN]:
            lines.append(f"  {c!s:<{width}} {p:8.4f}  [{a:.4f}, {b:.4f}]")
        if len(self.categories) > SHOWN:
            lines.append(f"  ... and {len(self.categories) - SHOWN:,} more")
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def _plain(label: Hashable) -> Any:
    if isinstance(label, tuple):
        return [_plain(part) for part in label]
    return label if isinstance(label, str | int | float | bool) else str(label)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
