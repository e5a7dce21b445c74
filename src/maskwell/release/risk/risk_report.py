"""Who looks for a record: the intruders that a bound on the chance of a correct match can speak of.

All of them know the keys of a person, that the person is in the file, the matrices and the true counts. They differ in
where they look and in what else they use:

``any-look``
    looks at the released value under which the person is found most easily, whatever number of records has it.
``own-key``
    looks only at the records released with the person's own keys, whatever their number.
``own-key-95``
    the same, for the numbers of records that 95 % of the releases have.
``released-counts``
    as ``any-look``, and also compares all released counts with the true ones. What this tells is known only once the
    file is drawn, so the bound is for the very file that is released.

>>> chosen("own-key", {"strict": np.array([0.5]), "any_release": np.array([0.6])}).tolist()
[0.5]

FileRisk: what the risks of all records come to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import check_option
from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable

ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS = "any-look", "own-key", "own-key-95", "released-counts"
INTRUDERS = (ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS)
_MEASURES = {
    ANY_LOOK: ("any_release",),
    OWN_KEY: ("strict",),
    OWN_KEY_95: ("in_range",),
    RELEASED_COUNTS: ("any_release", "released_counts"),
}


def chosen(intruder: str, risks: Mapping[str, Real]) -> Real:
    """The risk of each cell against one of the intruders, of risks by their measure: the largest that is known."""
    check_option("intruder", intruder, _MEASURES)
    known = [risks[name] for name in _MEASURES[intruder] if name in risks]
    return np.asarray(np.max(known, axis=0))


SIZES = (2, 3, 5)
"""Cells smaller than these are counted."""

SLACK = 1e-9
"""A risk is above a threshold when it is more than this above it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FileRisk:
    """What somebody who knows the key of a person can do with a file.

    Attributes
    ----------
    records, cells
        Records of the file, and cells of the key that occur.
    smallest, violations
        The smallest cell, and the records in cells of fewer than 2, 3 and 5; of the released file as it came out, and
        ``None`` where it is not yet drawn.
    uniques
        Records that are alone in their cell; ``None`` as before.
    expected_matches
        Correct matches that are expected if every record is looked for.
    guess_probability
        Chance that the best guess of a record's true key from its released key is right.
    expected_uniques, expected_true_uniques
        Expected released uniques, and how many of them are true uniques in their own cell.
    max_risk
        The largest chance of a correct match of any record, against the intruder that the report speaks of.
    max_risk_in_range, max_risk_strict, max_risk_any_release
        The same for somebody who looks only at records with the person's own key, over the numbers of them that are
        likely and over all that are possible; and for somebody who looks at the released value that is best for them,
        over all possible numbers.
    max_risk_released_counts
        The same of the file as it came out, for somebody who also compares all released counts with the true ones;
        ``None`` where it is not drawn yet, or too large to tell.
    percentile_95
        The chance that 95 % of the records do not exceed.
    records_above
        Records whose chance is above the threshold; ``None`` without one.
    expected_reidentifications
        With weights, correct matches if it is not known who is in the sample; else ``None``.
    """

    records: int
    cells: int
    smallest: int | None
    violations: Mapping[int, int] | None
    uniques: int | None
    expected_matches: float
    guess_probability: float
    expected_uniques: float
    expected_true_uniques: float
    max_risk: float
    max_risk_in_range: float
    max_risk_strict: float
    max_risk_any_release: float
    percentile_95: float
    max_risk_released_counts: float | None = None
    records_above: int | None = None
    expected_reidentifications: float | None = None

    @property
    def k_anonymity(self) -> dict[str, Any]:
        """The smallest cell, and the records in cells smaller than 2, 3 and 5."""
        found = None if self.violations is None else {str(k): n for k, n in self.violations.items()}
        return {"smallest": self.smallest, "violations": found}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "records": self.records,
            "cells": self.cells,
            "k_anonymity": self.k_anonymity,
            "uniques": self.uniques,
            "expected_matches": self.expected_matches,
            "guess_probability": self.guess_probability,
            "expected_uniques": self.expected_uniques,
            "expected_true_uniques": self.expected_true_uniques,
            "max_risk": self.max_risk,
            "max_risk_in_range": self.max_risk_in_range,
            "max_risk_strict": self.max_risk_strict,
            "max_risk_any_release": self.max_risk_any_release,
            "max_risk_released_counts": self.max_risk_released_counts,
            "percentile_95": self.percentile_95,
            "records_above": self.records_above,
            "expected_reidentifications": self.expected_reidentifications,
        }


def violations(own: CellTable) -> dict[int, int]:
    """Records in cells of fewer than 2, 3 and 5."""
    return {size: int(own.counts[own.counts < size].sum()) for size in SIZES}


def count_above(risk: Real, counts: Array, threshold: float | None) -> int | None:
    """Records whose risk is above a threshold, if there is one."""
    return None if threshold is None else int(counts[risk > float(threshold) + SLACK].sum())


def percentile(risk: Real, counts: Array, share: float) -> float:
    """The smallest risk that at least this share of the records do not exceed.

    >>> percentile(np.array([0.5, 0.1]), np.array([1, 99]), 0.95)
    0.1
    """
    order = np.argsort(risk, kind="stable")
    reached = np.cumsum(counts[order])
    return float(risk[order][np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))])
