"""RiskUtilityPoint: what one bound would cost and what it would give, so that several can be laid on one map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maskwell.core.arguments import check_kind


@dataclass(frozen=True, kw_only=True)
class RiskUtilityPoint:
    """A release as it would be under one bound.

    Attributes
    ----------
    label
        What was asked, as people would say it: ``"match 0.5"``.
    risk
        The greatest chance of a correct match that any record keeps; NaN where there is no such release.
    changed
        Share of the records that are expected to change in at least one column.
    matches
        Expected correct matches, if every record of the file is looked for.
    above
        Records whose risk is above the bound of the plan.
    inflation
        Factor by which the variances of shares grow, the largest of all categories; None where it is not known.
    chosen
        Whether it is what the plan asks for.
    note
        Why there is no such release, or what else must be said.

    >>> strict = RiskUtilityPoint(label="match 0.4", risk=0.4, changed=0.05, matches=80.0, above=0)
    >>> strict.beats(RiskUtilityPoint(label="method 1", risk=0.6, changed=0.09, matches=90.0, above=3))
    True
    """

    label: str
    risk: float
    changed: float
    matches: float
    above: int
    inflation: float | None = None
    chosen: bool = False
    note: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether there is such a release; else the note says why not."""
        return math.isfinite(self.risk) and math.isfinite(self.changed)

    def beats(self, other: RiskUtilityPoint) -> bool:
        """Whether it has no more risk and changes no more, and less of one of them.

        Risk is the greatest of all records, how many are above the bound of the plan, and the matches to be expected.
        """
        check_kind(RiskUtilityPoint, other=other)
        mine, theirs = self._costs, other._costs
        no_worse = all(a <= b for a, b in zip(mine, theirs, strict=True))
        return no_worse and (self.risk < other.risk or self.changed < other.changed)

    @property
    def _costs(self) -> tuple[float, ...]:
        return (self.risk, self.changed, self.matches, self.above)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def beaten_by(points: Sequence[RiskUtilityPoint]) -> list[int | None]:
    """For each point the place of one that beats it, with the least risk of those; None where nothing does.

    >>> a, b = ("a", 0.5, 0.02), ("b", 0.6, 0.05)
    >>> make = lambda p: RiskUtilityPoint(label=p[0], risk=p[1], changed=p[2], matches=1.0, above=0)
    >>> beaten_by([make(a), make(b)])   # b has more risk than a and changes more
    [None, 0]
    """
    return [_best_against(point, points) for point in points]


def _best_against(point: RiskUtilityPoint, points: Sequence[RiskUtilityPoint]) -> int | None:
    better = [i for i, other in enumerate(points) if other.beats(point)]
    return min(better, key=lambda i: (points[i].risk, points[i].changed)) if better else None
