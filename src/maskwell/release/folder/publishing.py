"""What of a release may be public: which matrices, and under whose responsibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import PublishError
from maskwell.release.matrices.invariance import check_publishable, recover_counts
from maskwell.release.stages.stage import Stage

if TYPE_CHECKING:
    from maskwell.release.plans.plan import ReleasePlan
    from maskwell.release.plans.protection import Protection

INCLUDED = "included"
WITHHELD = "withheld"
MOST_STATES = 500
"""Larger matrices that were rounded are not turned back into counts."""


def protection_of(plan: ReleasePlan, stage: Stage) -> Protection:
    """The protection of the plan that a stage carries out; a column is protected once."""
    return next(one for one in plan.protections if one.variables == stage.variables)


def is_included(plan: ReleasePlan, stage: Stage) -> bool:
    """Whether the public receipt holds the matrix, as the plan says."""
    return protection_of(plan, stage).publish == INCLUDED


def check_matrix(plan: ReleasePlan, stage: Stage) -> None:
    """Raise where the public receipt would hold a matrix that tells the counts of the file, without a clearance.

    A matrix that keeps the counts of the file tells them, wherever it came from: somebody may have worked it out
    elsewhere and given it as a fixed one.
    """
    if not is_included(plan, stage):
        return
    clearance = (protection_of(plan, stage).clearance or "").strip()
    for mass in _masses(stage):
        check_publishable(stage.design, mass, clearance)
        if not clearance and tells_counts(stage.design, mass, int(stage.counts.sum())):
            raise PublishError(
                f"the matrix of {', '.join(stage.variables)} tells the true counts: rounding it hides nothing",
                hint="withhold it, or say why the counts may be known (clearance)",
            )
    if stage.derived and not clearance:
        raise PublishError(
            f"the matrix of {', '.join(stage.variables)} was worked out from the file and tells its counts",
            hint="withhold it, or say why the counts may be known (clearance)",
        )


def _masses(stage: Stage) -> list[Real]:
    """Counts and sums of weights that a matrix may keep; none where released states are not the true ones."""
    if stage.design.m != stage.design.k or list(stage.states) != list(stage.outputs):
        return []
    return [np.asarray(own, dtype=np.float64) for own in (stage.counts, stage.weights) if own is not None and own.sum()]


def tells_counts(design: CodedDesign, mass: Real, n: int) -> bool:
    """Whether the counts that a matrix keeps, worked out from it and rounded, are those of the file.

    A few digits of a matrix that was made from the counts are enough for that: rounding it hides nothing. ``mass`` may
    be sums of weights of ``n`` records. Source: [Adeshiyan2011, section 4.6]; for rounded matrices derived.

    >>> from maskwell.designs.dense import Dense
    >>> rounded = Dense.of([["0.92", "0.25"], ["0.08", "0.75"]])   # once made from 758 and 242
    >>> tells_counts(rounded, np.array([758, 242]), 1000), tells_counts(rounded, np.array([700, 300]), 1000)
    (True, False)
    """
    if design.k > MOST_STATES or np.array_equal(design.matrix(), np.eye(design.k)):
        return False  # where nobody moves, the released file itself tells the counts
    return bool(np.abs(recover_counts(design, mass) - mass).max() < mass.sum() / (2 * n))


def check_randomness(*, private: bool, demonstration: bool) -> None:
    """Raise for draws that somebody could repeat, unless the release is marked as a demonstration.

    >>> check_randomness(private=True, demonstration=False)
    """
    if not private and not demonstration:
        raise PublishError(
            "the draws come from a seed: whoever tries seeds can undo the protection",
            hint="release without a seed, or mark the plan: [release] demonstration = true",
        )
