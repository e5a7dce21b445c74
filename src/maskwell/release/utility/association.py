"""Association of two variables: Cramér's V, before and after a release.

    V = sqrt(chi^2 / (n (min(r, c) - 1)))

with empty rows and columns left out. Randomizing variables one by one weakens their association: for two categories
each and matrices that keep the shares, V is multiplied by ``det P_X det P_Y``. Source: standard; the factor derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.errors import CountsError, MatrixError

WEAKENED = 0.9
"""An association that keeps less than this part is flagged."""
WEAK = 0.02
"""Associations below this are noise, and not flagged."""


def cramers_v(table: Any) -> float | None:
    """Cramér's V of a table of counts, shape (r, c); None with fewer than two rows or columns that are not empty.

    >>> round(cramers_v([[40, 10], [20, 30]]), 4), cramers_v([[40, 10], [0, 0]])
    (0.4082, None)
    """
    J = as_floats(table, "table", finite=False)
    if J.ndim != 2:
        raise MatrixError(f"a table of {J.ndim} dimensions", hint="Cramér's V is for tables of two variables")
    if not np.isfinite(J).all() or (J < 0).any() or not J.sum() > 0:
        raise CountsError("a table needs finite counts of 0 or more, not all 0", hint="count the records of the file")
    J = J[J.sum(axis=1) > 0][:, J.sum(axis=0) > 0]
    if min(J.shape) < 2:
        return None
    n = J.sum()
    expected = np.outer(J.sum(axis=1), J.sum(axis=0)) / n
    return math.sqrt(max(0.0, float(((J - expected) ** 2 / expected).sum())) / (n * (min(J.shape) - 1)))


@dataclass(frozen=True)
class Association:
    """How strongly two columns go together.

    Attributes
    ----------
    columns
        Their names.
    before, expected, after
        Cramér's V in the file, of the table that is expected after the release, and in the released file; None where it
        is not defined or not known.
    """

    columns: tuple[str, str]
    before: float | None
    expected: float | None = None
    after: float | None = None

    @property
    def kept(self) -> float | None:
        """The part of the association that is expected to be left; what is left in the released file otherwise."""
        now = self.after if self.expected is None else self.expected
        return None if not self.before or now is None else now / self.before

    @property
    def weakened(self) -> bool:
        """Whether a reader must be told: less than 0.9 of an association that is there."""
        return self.kept is not None and (self.before or 0) >= WEAK and self.kept < WEAKENED

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "columns": list(self.columns),
            "before": self.before,
            "expected": self.expected,
            "after": self.after,
            "kept": self.kept,
        }
