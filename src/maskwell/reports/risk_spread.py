"""RiskSpread: how risk is spread over the records of a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.errors import ParameterError

MOST_STEPS = 300
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class RiskSpread:
    """How risk is spread over the records of a file.

    Attributes
    ----------
    risk
        Distinct risks, ascending, shape (r,).
    records
        Records that have each of them, shape (r,).
    """

    risk: Real
    records: Array

    @classmethod
    def of(cls, risk: Real, records: Array) -> RiskSpread:
        """From the risk of a record of each cell, and the number of its records.

        >>> RiskSpread.of(np.array([0.5, 1.0, 0.5]), np.array([2, 1, 2])).at_least(0.5)   # five records in all
        5
        """
        if len(risk) == 0:
            raise ParameterError("there is no record whose risk could be drawn", hint="give a file with records")
        levels, places = np.unique(np.asarray(risk, dtype=np.float64), return_inverse=True)
        return cls(levels, np.bincount(places, weights=records, minlength=len(levels)).astype(np.int64))

    @property
    def n(self) -> int:
        """Records in all."""
        return int(self.records.sum())

    @property
    def most(self) -> float:
        """The greatest risk."""
        return float(self.risk[-1])

    def at_least(self, risk: float) -> int:
        """Records with at least this risk."""
        return int(self.records[self.risk >= risk - SLACK].sum())

    def above(self, risk: float) -> int:
        """Records with more than this risk."""
        return int(self.records[self.risk > risk + SLACK].sum())

    def steps(self) -> tuple[Real, Real]:
        """The curve of records with at least each risk, at not too many places."""
        falling = np.cumsum(self.records[::-1])[::-1].astype(np.float64)
        if len(self.risk) > MOST_STEPS:  # a curve that would not look different
            places = np.unique(np.searchsorted(self.risk, np.linspace(0, self.most, MOST_STEPS)))
            return self.risk[places], falling[places]
        return self.risk, falling
