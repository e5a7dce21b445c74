"""Counts: what an estimate needs to know of the reports, small and mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array
from maskwell.errors import ReportError


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each report, or each category in a set report, was seen.

    Attributes
    ----------
    values
        Shape (m,) for coded reports, (k,) for set reports.
    n
        Number of reports.
    fingerprint
        Of the design that made them.

    >>> a = Counts(np.array([3, 1]), 4, "f")
    >>> (a + a).values.tolist()
    [6, 2]
    """

    values: Array
    n: int
    fingerprint: str

    def __post_init__(self) -> None:
        values = np.asarray(self.values)
        if values.dtype.kind not in "iu":
            if not (np.isfinite(values).all() and (values == np.floor(values)).all()):
                raise ReportError(
                    f"counts must be whole numbers, got {values!r}", hint="count the reports; do not weight them"
                )
            values = values.astype(np.int64)
        if (values < 0).any():
            raise ReportError(f"negative counts: {values[values < 0][:5].tolist()}", hint="counts are 0 or more")
        values = values.astype(np.int64)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def share(self) -> Array:
        """Counts as shares of the number of reports."""
        if self.n == 0:
            raise ReportError("there are no reports", hint="an estimate needs at least one report")
        return self.values / self.n

    def __add__(self, other: Counts) -> Counts:
        if self.fingerprint != other.fingerprint:
            raise ReportError(
                "these counts come from two different designs",
                hint="estimate each part on its own, or randomize all with one design",
                fingerprints=(self.fingerprint, other.fingerprint),
            )
        return Counts(self.values + other.values, self.n + other.n, self.fingerprint)
