"""Variance of calibrated weights: the residuals of a regression on the auxiliary values take the place of the scores.

    B = (sum d x x')^-1 sum d x e',     e_i - B' x_i     with the weights w = d g

Source: standard; a linearisation, not exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ReportError, TooLargeError
from maskwell.estimation.sampling.recovery import Recovery, Scores


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Auxiliary values x and the factors g by line; the labels of ``cells.auxiliary`` hold both, g last."""

    recovery: Recovery
    values: Real
    g: Real

    @classmethod
    def of(cls, recovery: Recovery) -> Calibrated | None:
        """From cells with auxiliary values; ``None`` where there are none."""
        labels = recovery.cells.auxiliary.labels
        if labels.dtype.kind != "V":
            return None
        if recovery.cells.sets:
            raise ReportError(
                "calibrated weights with set reports have no variance here",
                hint="use replicate weights, or no calibration",
            )
        if not recovery.full:
            raise TooLargeError(
                f"calibrated weights with {recovery.k:,} categories", hint="use fewer categories, or no calibration"
            )
        table = np.frombuffer(labels.tobytes(), dtype=np.float64).reshape(len(labels), -1)
        return cls(recovery, table[:, :-1], table[recovery.cells.auxiliary.codes, -1])

    def residuals(self, scores: Scores) -> Scores:
        """The same scores without what the auxiliary values explain of them."""
        cells, lines = self.recovery.cells, scores.lines
        base = cells.weight / self.g
        x = self.values[cells.auxiliary.codes]
        cross = (x[lines].T * base[lines]) @ scores.of_lines(lines)
        slope = np.linalg.lstsq((x.T * base) @ x, cross, rcond=None)[0]
        inside = np.zeros(len(cells))
        inside[lines] = 1
        return Scores(scores.recovery, np.arange(len(cells)), scores.centre, self.values @ slope, inside)
