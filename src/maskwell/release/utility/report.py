"""UtilityReport: what a released file is still good for, before and after it is made."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwell.core.arrays import Real
from maskwell.core.documents import json_form
from maskwell.release.utility.association import Association
from maskwell.release.utility.distances import TableDistance
from maskwell.release.utility.inflation import Inflation

if TYPE_CHECKING:
    from maskwell.release.utility.regressions import RegressionComparison


@dataclass(frozen=True, eq=False, kw_only=True)
class VariableUtility:
    """What a release does to one variable.

    Attributes
    ----------
    name, invariance
        The column, and what its matrix keeps on average.
    expected_changed, realised_changed
        Share of the records with another value: expected, and in the released file where that is known.
    categories, before, after
        Labels, and their shares in the file and in the released file (``None`` before there is one), shape (k,).
    distance
        Of these shares.
    expected_variation, most_variation
        Total variation that is to be expected, and a bound on its expectation; ``None`` where it cannot be told.
    inflation
        Of the variances of its shares; ``None`` where it cannot be told.
    """

    name: str
    invariance: str
    expected_changed: float
    realised_changed: float | None
    categories: tuple[Hashable, ...]
    before: Real
    after: Real | None
    distance: TableDistance | None
    expected_variation: float | None
    most_variation: float | None
    inflation: Inflation | None

    @property
    def changed_most(self) -> Hashable | None:
        """The category whose share changed most."""
        return None if self.distance is None else self.categories[self.distance.changed_most]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "invariance": self.invariance,
            "expected_changed": self.expected_changed,
            "realised_changed": self.realised_changed,
            "expected_total_variation": self.expected_variation,
            "most_total_variation": self.most_variation,
            **({} if self.distance is None else self.distance.to_dict()),
            "changed_most": self.changed_most,
            **_inflated(self.inflation),
        }


def _inflated(told: Inflation | None) -> dict[str, Any]:
    if told is None:
        return {"vif": None, "n_eff": None, "vif_by_category": None}
    rows = [
        {"category": category, "vif": factor, "n_eff": size}
        for category, factor, size in zip(told.categories, told.factors, told.effective, strict=True)
    ]
    return {"vif": told.worst, "n_eff": float(told.effective.min()), "vif_by_category": rows}


@dataclass(frozen=True, eq=False)
class UtilityReport:
    """What a release does to variables, to pairs of them, and to regressions.

    Attributes
    ----------
    variables
        By name: the randomized and the linked ones.
    pairs
        Associations of all pairs of columns that were counted together and of which one is randomized.
    regressions
        Fitted to both files.
    flags
        What a reader should know, in words.
    """

    variables: Mapping[str, VariableUtility]
    pairs: tuple[Association, ...] = ()
    regressions: tuple[RegressionComparison, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def worst_inflation(self) -> float | None:
        """The largest factor by which the variance of a share grows; None where it is not known for some variable."""
        told = [one.inflation for one in self.variables.values()]
        return None if not told or None in told else max(one.worst for one in told if one is not None)

    def with_regressions(self, regressions: Iterable[RegressionComparison]) -> UtilityReport:
        """The same with regressions that were fitted to both files."""
        added = tuple(regressions)
        flags = tuple(dict.fromkeys([*self.flags, *(flag for one in added for flag in one.flags)]))
        return replace(self, regressions=(*self.regressions, *added), flags=flags)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        found: dict[str, Any] = json_form(
            {
                "variables": {name: one.to_dict() for name, one in self.variables.items()},
                "pairs": [pair.to_dict() for pair in self.pairs],
                "regressions": [one.to_dict() for one in self.regressions],
                "flags": list(self.flags),
            }
        )
        return found
