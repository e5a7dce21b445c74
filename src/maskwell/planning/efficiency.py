"""How much more one design tells about the shares than another, at many true shares.

    relative efficiency in a direction x:  (x' I_1 x) / (x' I_2 x)

with Fisher's information I of one report. For two categories that is one number; for more its least and its greatest
value over all directions are the extreme roots of ``det(I_1 - r I_2) = 0``. The first design is at least as good in
every direction where ``I_1 - I_2`` has no negative eigenvalue (the order of Loewner).

It is a statement about the shares that were looked at. The order of Blackwell implies it for all shares; not the other
way round. Source: [Adeshiyan2011, section 2.7 and Theorem 3.3].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from maskwell.core.arguments import as_list, check_kind
from maskwell.core.arrays import Real
from maskwell.designs.base import Design
from maskwell.estimation.maximum_likelihood import fisher_information

ENTRIES = 100_000
"""Matrices with more entries than this are not looked at for many shares."""

MOST_CATEGORIES = 50
TOLERANCE = 1e-10
_SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)

Better = Literal["first", "second", "equal", "neither"]


@dataclass(frozen=True, eq=False)
class Efficiency:
    """Two designs at many true shares.

    Attributes
    ----------
    grid
        The shares, shape (g, k).
    information
        For two categories that of both at each of them, shape (2, g); else None.
    relative
        The least and the greatest relative efficiency of the first, over all directions, shape (g, 2); NaN where the
        second tells nothing in some direction.
    better
        Which one is at least as good in every direction at all of these shares.
    """

    grid: Real
    information: Real | None
    relative: Real
    better: Better

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        one, two = (None, None) if self.information is None else self.information.tolist()
        return {
            "grid": self.grid.tolist(),
            "information": None if one is None else {"first": one, "second": two},
            "relative": [[None if np.isnan(x) else x for x in row] for row in self.relative.tolist()],
            "loewner": self.better,
        }


def efficiency_of(first: Design, second: Design, *, grid: Real | None = None) -> Efficiency | None:
    """Compare what two designs tell at many true shares; None where they are too large for that.

    Parameters
    ----------
    grid
        True shares, shape (g, k), all above 0; by default some from rare to common, and even ones.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["41/42", "1/42"], ["1/42", "41/42"]])
    >>> simmons = Dense.of([["0.82", "0.02"], ["0.18", "0.98"]])
    >>> found = efficiency_of(warner, simmons, grid=np.array([[0.05, 0.95]]))
    >>> found.better, round(float(found.relative[0, 0]), 3)   # at equal protection Warner's device is a fifth better
    ('first', 1.205)
    """
    check_kind(Design, first=first, second=second)
    if first.k > MOST_CATEGORIES or not all(design.has_entries_up_to(ENTRIES) for design in (first, second)):
        return None
    points = (
        default_grid(first.k)
        if grid is None
        else np.array([first.check_distribution(pi) for pi in as_list(grid, "grid")])
    )
    pairs = [(fisher_information(first, pi), fisher_information(second, pi)) for pi in points]
    binary = np.array([[one[0, 0], two[0, 0]] for one, two in pairs]).T if first.k == 2 else None
    return Efficiency(points, binary, np.array([_relative(*pair) for pair in pairs]), _better(pairs))


def default_grid(k: int) -> Real:
    """Even shares, and each category in turn rare or common; for two categories a finer row of shares.

    >>> default_grid(3).shape
    (7, 3)
    """
    if k == 2:
        return np.array([[share, 1 - share] for share in _SHARES])
    even = np.full((1, k), 1 / k)
    mixed = [mix * np.eye(k) + (1 - mix) / k for mix in (0.5, 0.9)]
    return np.vstack([even, *mixed])


def _relative(one: Real, two: Real) -> tuple[float, float]:
    from scipy.linalg import eigh

    if np.linalg.eigvalsh(two)[0] <= TOLERANCE * np.abs(two).max() or not np.isfinite(one).all():
        return (np.nan, np.nan)
    roots = eigh(one, two, eigvals_only=True)
    return float(roots[0]), float(roots[-1])


def _better(pairs: list[tuple[Real, Real]]) -> Better:
    forth = all(_at_least(one, two) for one, two in pairs)
    back = all(_at_least(two, one) for one, two in pairs)
    return "equal" if forth and back else "first" if forth else "second" if back else "neither"


def _at_least(one: Real, two: Real) -> bool:
    scale = max(float(np.linalg.norm(one)), float(np.linalg.norm(two)))
    return bool(np.linalg.eigvalsh(one - two)[0] >= -TOLERANCE * scale)
