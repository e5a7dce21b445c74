"""What of a release may be public: which matrices, and under whose responsibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwell.errors import PublishError
from maskwell.release.matrices.invariance import check_publishable, is_invariant
from maskwell.release.stages import Stage

if TYPE_CHECKING:
    from maskwell.release.plan import ReleasePlan
    from maskwell.release.protection import Protection

INCLUDED = "included"
WITHHELD = "withheld"


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
    if _keeps(stage):
        check_publishable(stage.design, stage.mass, clearance)
    if stage.derived and not clearance:
        raise PublishError(
            f"the matrix of {', '.join(stage.variables)} was worked out from the file and tells its counts",
            hint="withhold it, or say why the counts may be known (clearance)",
        )


def _keeps(stage: Stage) -> bool:
    """Whether the matrix keeps what it should, as far as that can be asked: released states are the true ones."""
    same = stage.design.m == stage.design.k and list(stage.states) == list(stage.outputs)
    return same and bool(stage.mass.sum()) and is_invariant(stage.design, stage.mass)


def check_randomness(*, private: bool, demonstration: bool) -> None:
    """Raise for draws that somebody could repeat, unless the release is marked as a demonstration.

    >>> check_randomness(private=True, demonstration=False)
    """
    if not private and not demonstration:
        raise PublishError(
            "the draws come from a seed: whoever tries seeds can undo the protection",
            hint="release without a seed, or mark the plan: [release] demonstration = true",
        )
