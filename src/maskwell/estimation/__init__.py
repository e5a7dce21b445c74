"""From counts of reports to statements about the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.estimation import regression as regression
    from maskwell.estimation.direct_estimate import DirectEstimate as DirectEstimate
    from maskwell.estimation.goodness import GoodnessOfFit as GoodnessOfFit
    from maskwell.estimation.goodness import goodness_of_fit as goodness_of_fit
    from maskwell.estimation.goodness import goodness_of_samples as goodness_of_samples
    from maskwell.estimation.invariant_shares import bound_for as bound_for
    from maskwell.estimation.invariant_shares import estimate_changed as estimate_changed
    from maskwell.estimation.invariant_shares import estimate_invariant as estimate_invariant
    from maskwell.estimation.invariant_shares import estimate_unknown as estimate_unknown
    from maskwell.estimation.itemset_mining import Mined as Mined
    from maskwell.estimation.itemset_supports import Itemset as Itemset
    from maskwell.estimation.itemset_supports import Rule as Rule
    from maskwell.estimation.joint.conditionals import Conditional as Conditional
    from maskwell.estimation.joint.conditionals import Difference as Difference
    from maskwell.estimation.joint.cross_tables import cross_tabulate as cross_tabulate
    from maskwell.estimation.joint.cross_tables import cross_tabulate_counts as cross_tabulate_counts
    from maskwell.estimation.joint.cross_tables import table_of as table_of
    from maskwell.estimation.joint.independence import IndependenceTest as IndependenceTest
    from maskwell.estimation.joint.joint_table import Table as Table
    from maskwell.estimation.joint.odds import OddsRatio as OddsRatio
    from maskwell.estimation.left_inverse import LeftInverse as LeftInverse
    from maskwell.estimation.left_inverse import ScoreRecovery as ScoreRecovery
    from maskwell.estimation.left_inverse import best_left_inverse as best_left_inverse
    from maskwell.estimation.left_inverse import mean_scores as mean_scores
    from maskwell.estimation.left_inverse import minimax_left_inverse as minimax_left_inverse
    from maskwell.estimation.left_inverse import optimal_scores as optimal_scores
    from maskwell.estimation.left_inverse import optimal_scores_for_weights as optimal_scores_for_weights
    from maskwell.estimation.left_inverse import score_left_inverse as score_left_inverse
    from maskwell.estimation.left_inverse import score_recovery as score_recovery
    from maskwell.estimation.left_inverse import two_step_left_inverse as two_step_left_inverse
    from maskwell.estimation.maximisation.maximum import Maximum as Maximum
    from maskwell.estimation.maximisation.maximum import maximise as maximise
    from maskwell.estimation.maximum_likelihood import estimate_by_likelihood as estimate_by_likelihood
    from maskwell.estimation.maximum_likelihood import fisher_information as fisher_information
    from maskwell.estimation.maximum_likelihood import observed_information as observed_information
    from maskwell.estimation.moments import estimate_by_moments as estimate_by_moments
    from maskwell.estimation.named_quantities import Quantity as Quantity
    from maskwell.estimation.release_variance import conditional_covariance as conditional_covariance
    from maskwell.estimation.release_variance import conditional_variance as conditional_variance
    from maskwell.estimation.release_variance import contrast_inflation as contrast_inflation
    from maskwell.estimation.release_variance import variance_inflation as variance_inflation
    from maskwell.estimation.release_variance import weighted_covariance as weighted_covariance
    from maskwell.estimation.release_variance import weighted_variance as weighted_variance
    from maskwell.estimation.sampling.calibration import calibrate as calibrate
    from maskwell.estimation.sampling.enumerated_plan import ListedSamples as ListedSamples
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule as ReplicateRule
    from maskwell.estimation.sampling.sample_stages import Scheme as Scheme
    from maskwell.estimation.sampling.sampling_description import Sampling as Sampling
    from maskwell.estimation.sampling.survey_estimate import SurveyEstimate as SurveyEstimate
    from maskwell.estimation.sampling.weighted_survey import estimate_cells as estimate_cells
    from maskwell.estimation.sampling.weighted_survey import estimate_survey as estimate_survey
    from maskwell.estimation.share_estimate import Estimate as Estimate
    from maskwell.estimation.share_estimate import Intervals as Intervals
    from maskwell.estimation.share_estimate import Sample as Sample
    from maskwell.estimation.stacked_samples import cheating_range as cheating_range
    from maskwell.estimation.stacked_samples import estimate_samples as estimate_samples
    from maskwell.estimation.stacked_samples import group_samples as group_samples
    from maskwell.estimation.summed_shares import margin_of as margin_of
    from maskwell.estimation.summed_shares import wanted_margin as wanted_margin
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        ["regression"],
        submod_attrs={
            "direct_estimate": ["DirectEstimate"],
            "goodness": ["GoodnessOfFit", "goodness_of_fit", "goodness_of_samples"],
            "invariant_shares": ["bound_for", "estimate_changed", "estimate_invariant", "estimate_unknown"],
            "itemset_mining": ["Mined"],
            "itemset_supports": ["Itemset", "Rule"],
            "summed_shares": ["margin_of", "wanted_margin"],
            "joint.conditionals": ["Conditional", "Difference"],
            "joint.cross_tables": ["cross_tabulate", "cross_tabulate_counts", "table_of"],
            "joint.joint_table": ["Table"],
            "joint.odds": ["OddsRatio"],
            "joint.independence": ["IndependenceTest"],
            "left_inverse": [
                "LeftInverse",
                "ScoreRecovery",
                "best_left_inverse",
                "mean_scores",
                "minimax_left_inverse",
                "optimal_scores",
                "optimal_scores_for_weights",
                "score_left_inverse",
                "score_recovery",
                "two_step_left_inverse",
            ],
            "maximisation.maximum": ["Maximum", "maximise"],
            "maximum_likelihood": ["estimate_by_likelihood", "fisher_information", "observed_information"],
            "moments": ["estimate_by_moments"],
            "named_quantities": ["Quantity"],
            "release_variance": [
                "conditional_covariance",
                "conditional_variance",
                "contrast_inflation",
                "variance_inflation",
                "weighted_covariance",
                "weighted_variance",
            ],
            "sampling.calibration": ["calibrate"],
            "sampling.enumerated_plan": ["ListedSamples"],
            "sampling.replicate_weights": ["ReplicateRule"],
            "sampling.sample_stages": ["Scheme"],
            "sampling.sampling_description": ["Sampling"],
            "sampling.survey_estimate": ["SurveyEstimate"],
            "sampling.weighted_survey": ["estimate_cells", "estimate_survey"],
            "share_estimate": ["Estimate", "Intervals", "Sample"],
            "stacked_samples": ["cheating_range", "estimate_samples", "group_samples"],
        },
    )
