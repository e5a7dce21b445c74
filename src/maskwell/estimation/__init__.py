"""From counts of reports to statements about the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.estimation import regression as regression
    from maskwell.estimation.joint.joint_table import Table as Table
    from maskwell.estimation.joint.joint_table import cross_tabulate_counts as cross_tabulate_counts
    from maskwell.estimation.left_inverse import LeftInverse as LeftInverse
    from maskwell.estimation.moments import estimate_by_moments as estimate_by_moments
    from maskwell.estimation.moments import goodness_of_fit as goodness_of_fit
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule as ReplicateRule
    from maskwell.estimation.sampling.weighted_survey import estimate_survey as estimate_survey
    from maskwell.estimation.share_estimate import Estimate as Estimate
    from maskwell.estimation.share_estimate import Sample as Sample
    from maskwell.estimation.stacked_samples import estimate_samples as estimate_samples
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        ["regression"],
        submod_attrs={
            "joint.joint_table": ["Table", "cross_tabulate_counts"],
            "left_inverse": ["LeftInverse"],
            "moments": ["estimate_by_moments", "goodness_of_fit"],
            "sampling.replicate_weights": ["ReplicateRule"],
            "sampling.weighted_survey": ["estimate_survey"],
            "share_estimate": ["Estimate", "Sample"],
            "stacked_samples": ["estimate_samples"],
        },
    )
