"""Counts: what an estimate needs to know of the reports, small and mergeable."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, shown_short
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
        n: Any = self.n
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
            raise ReportError(f"n = {shown_short(n)} reports", hint="give a whole number of 0 or more", n=n)
        values = _whole_numbers(as_array(self.values, "counts"))
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "n", int(n))

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


def _whole_numbers(values: Array) -> Array:
    """A copy as int64, or an error."""
    fits = values.ndim == 1 and values.dtype.kind in "iuf"
    if not fits or not np.isfinite(values).all() or (values != np.floor(values)).any() or (values >= 2**63).any():
        raise ReportError(
            f"counts must be one column of whole numbers, not {values.dtype} of shape {values.shape}",
            hint="count the reports; do not weight them",
            values=np.array2string(values, threshold=8),
        )
    if (values < 0).any():
        raise ReportError(f"negative counts: {values[values < 0][:5].tolist()}", hint="counts are 0 or more")
    return values.astype(np.int64)
