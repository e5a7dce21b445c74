"""Distances of two tables of shares, and how far apart a release is expected to bring them.

    total variation  1/2 sum |a - b|        Hellinger  sqrt(1/2 sum (sqrt(a) - sqrt(b))^2)

Source: standard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Real
from maskwell.errors import CountsError, MatrixError


@dataclass(frozen=True)
class TableDistance:
    """How far a table of shares is from another.

    Attributes
    ----------
    total_variation, hellinger
        From 0 (the same shares) to 1 (no cell in common).
    largest_change, changed_most
        The largest absolute difference of a share, and the place of its cell, counted through the table.
    largest_relative
        The largest difference as a part of the first share, over cells that the first table has.
    """

    total_variation: float
    hellinger: float
    largest_change: float
    changed_most: int
    largest_relative: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "total_variation": self.total_variation,
            "hellinger": self.hellinger,
            "largest_change": self.largest_change,
            "largest_relative_change": self.largest_relative,
        }


def table_distance(before: Any, after: Any) -> TableDistance:
    """Distances of two tables of counts, of any shape but the same.

    >>> found = table_distance([[40, 10], [20, 30]], [[37, 14], [22, 27]])
    >>> round(found.total_variation, 3), round(found.hellinger, 4)   # six records in a hundred moved
    (0.06, 0.051)
    """
    a, b = _shares(before), _shares(after)
    if a.shape != b.shape:
        raise MatrixError(f"tables of shapes {a.shape} and {b.shape}", hint="count both files in the same categories")
    change = np.abs(a - b).ravel()
    some = a.ravel() > 0
    return TableDistance(
        float(change.sum() / 2),
        math.sqrt(float(((np.sqrt(a) - np.sqrt(b)) ** 2).sum()) / 2),
        float(change.max()),
        int(change.argmax()),
        float((change[some] / a.ravel()[some]).max()),
    )


def expected_variation(shift: Real, variance: Real) -> tuple[float, float]:
    """Total variation to expect where shares move by ``shift`` on average with this ``variance``, and the most.

        1/2 sum E|e_i|,  e_i normal        at most  1/2 sum sqrt(shift_i^2 + variance_i)

    where a matrix that keeps the counts has no shift. Source: derived; standard.

    >>> import numpy as np
    >>> from maskwell.estimation.released_variance import conditional_variance
    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> [round(x, 4) for x in expected_variation(np.zeros(3), conditional_variance(P, [12, 8, 3]))]
    [0.1078, 0.1351]
    """
    sd = np.sqrt(np.maximum(variance, 0))  # differences of rounding may be below zero
    z = np.divide(shift, sd, out=np.zeros(len(sd)), where=sd > 0)
    erf = np.array([math.erf(x / math.sqrt(2)) for x in z])
    folded = sd * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + shift * np.where(sd > 0, erf, np.sign(shift))
    return float(folded.sum() / 2), float(np.sqrt(shift**2 + sd**2).sum() / 2)


def _shares(table: Any) -> Real:
    try:
        values = as_floats(table, "table", finite=False)
    except (TypeError, ValueError):
        values = np.full(1, np.nan)
    if not np.isfinite(values).all() or (values < 0).any():
        raise CountsError("a table must hold finite numbers of 0 or more", hint="give counts or sums of weights")
    if not values.sum() > 0:
        raise CountsError("a table without any record", hint="there must be at least one record in both tables")
    return np.asarray(values / values.sum())
