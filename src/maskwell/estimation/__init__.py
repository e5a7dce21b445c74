"""From counts of reports to statements about the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.estimation import regression as regression
    from maskwell.estimation.goodness import goodness_of_fit as goodness_of_fit
    from maskwell.estimation.invariant_shares import bound_for as bound_for
    from maskwell.estimation.invariant_shares import estimate_changed as estimate_changed
    from maskwell.estimation.invariant_shares import estimate_invariant as estimate_invariant
    from maskwell.estimation.invariant_shares import estimate_unknown as estimate_unknown
    from maskwell.estimation.joint.cross_tables import cross_tabulate as cross_tabulate
    from maskwell.estimation.joint.cross_tables import cross_tabulate_counts as cross_tabulate_counts
    from maskwell.estimation.joint.joint_table import Table as Table
    from maskwell.estimation.left_inverse import best_left_inverse as best_left_inverse
    from maskwell.estimation.left_inverse import mean_scores as mean_scores
    from maskwell.estimation.left_inverse import minimax_left_inverse as minimax_left_inverse
    from maskwell.estimation.left_inverse import score_left_inverse as score_left_inverse
    from maskwell.estimation.maximum_likelihood import estimate_by_likelihood as estimate_by_likelihood
    from maskwell.estimation.moments import estimate_by_moments as estimate_by_moments
    from maskwell.estimation.release_variance import variance_inflation as variance_inflation
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule as ReplicateRule
    from maskwell.estimation.sampling.sampling_description import Sampling as Sampling
    from maskwell.estimation.sampling.weighted_survey import estimate_cells as estimate_cells
    from maskwell.estimation.sampling.weighted_survey import estimate_survey as estimate_survey
    from maskwell.estimation.share_estimate import Estimate as Estimate
    from maskwell.estimation.share_estimate import Sample as Sample
    from maskwell.estimation.stacked_samples import cheating_range as cheating_range
    from maskwell.estimation.stacked_samples import estimate_samples as estimate_samples
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        ["regression"],
        submod_attrs={
            "goodness": ["goodness_of_fit"],
            "invariant_shares": ["bound_for", "estimate_changed", "estimate_invariant", "estimate_unknown"],
            "joint.cross_tables": ["cross_tabulate", "cross_tabulate_counts"],
            "joint.joint_table": ["Table"],
            "left_inverse": ["best_left_inverse", "mean_scores", "minimax_left_inverse", "score_left_inverse"],
            "maximum_likelihood": ["estimate_by_likelihood"],
            "moments": ["estimate_by_moments"],
            "release_variance": ["variance_inflation"],
            "sampling.replicate_weights": ["ReplicateRule"],
            "sampling.sampling_description": ["Sampling"],
            "sampling.weighted_survey": ["estimate_cells", "estimate_survey"],
            "share_estimate": ["Estimate", "Sample"],
            "stacked_samples": ["cheating_range", "estimate_samples"],
        },
    )
