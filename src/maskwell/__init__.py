"""maskwell: randomized response, from a privacy demand to an honest estimate.

>>> import maskwell as mw
>>> answers = mw.Categories.of(["never", "once", "often"])
>>> design = mw.Uniform.from_epsilon(1, answers)
>>> reports = design.randomize(["never", "often", "never", "once"])
>>> counts = design.tally(reports)
>>> counts.n
4

Names are loaded from their rooms on first use, so that ``import maskwell`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import maskwell.engines.containers as _containers

if TYPE_CHECKING:
    from maskwell.core.categories import Categories as Categories
    from maskwell.core.cells import Cells as Cells
    from maskwell.core.cells import CellTable as CellTable
    from maskwell.core.keyed import KeyedRandom as KeyedRandom
    from maskwell.core.keyed import new_key_file as new_key_file
    from maskwell.core.randomness import SecureRandom as SecureRandom
    from maskwell.core.randomness import SeededRandom as SeededRandom
    from maskwell.core.report_data import Reports as Reports
    from maskwell.designs.blocks import Blocks as Blocks
    from maskwell.designs.composed import Composed as Composed
    from maskwell.designs.dense import Dense as Dense
    from maskwell.designs.design import Design as Design
    from maskwell.designs.kronecker import Kronecker as Kronecker
    from maskwell.designs.mixture import Mixture as Mixture
    from maskwell.designs.patterns import Patterns as Patterns
    from maskwell.designs.row_reduction import Canonical as Canonical
    from maskwell.designs.row_reduction import canonical_order as canonical_order
    from maskwell.designs.row_reduction import reduction_of as reduction_of
    from maskwell.designs.sampler import KeyedSampler as KeyedSampler
    from maskwell.designs.sparse import Sparse as Sparse
    from maskwell.designs.subset import LocalDiversity as LocalDiversity
    from maskwell.designs.subset import Subset as Subset
    from maskwell.designs.unary import Unary as Unary
    from maskwell.designs.uniform import Uniform as Uniform
    from maskwell.designs.wire import design_from_dict as design_from_dict
    from maskwell.designs.wire import load_design as load_design
    from maskwell.designs.wire import save_design as save_design
    from maskwell.engines.cell_counts import count_tables as count_tables
    from maskwell.errors import MaskwellError as MaskwellError
    from maskwell.estimation.direct_estimate import DirectEstimate as DirectEstimate
    from maskwell.estimation.goodness import GoodnessOfFit as GoodnessOfFit
    from maskwell.estimation.goodness import goodness_of_fit as goodness_of_fit
    from maskwell.estimation.goodness import goodness_of_samples as goodness_of_samples
    from maskwell.estimation.intervals.interval_ends import Intervals as Intervals
    from maskwell.estimation.invariant_shares import bound_for as bound_for
    from maskwell.estimation.invariant_shares import estimate_invariant as estimate_invariant
    from maskwell.estimation.invariant_shares import estimate_unknown as estimate_unknown
    from maskwell.estimation.joint.conditionals import Conditional as Conditional
    from maskwell.estimation.joint.conditionals import Difference as Difference
    from maskwell.estimation.joint.cross_tables import cross_tabulate as cross_tabulate
    from maskwell.estimation.joint.cross_tables import cross_tabulate_counts as cross_tabulate_counts
    from maskwell.estimation.joint.cross_tables import table_of as table_of
    from maskwell.estimation.joint.joint_table import Table as Table
    from maskwell.estimation.joint.odds import OddsRatio as OddsRatio
    from maskwell.estimation.joint.report_independence import IndependenceTest as IndependenceTest
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
    from maskwell.estimation.regression.anchor_models import AnchoredEstimate as AnchoredEstimate
    from maskwell.estimation.regression.anchor_models import estimate_with_anchor as estimate_with_anchor
    from maskwell.estimation.regression.anchor_models import fit_with_anchor as fit_with_anchor
    from maskwell.estimation.regression.logit_models import fit_logistic as fit_logistic
    from maskwell.estimation.regression.logit_models import fit_multinomial as fit_multinomial
    from maskwell.estimation.regression.predictor_models import fit_predictor as fit_predictor
    from maskwell.estimation.regression.regression_result import Regression as Regression
    from maskwell.estimation.release_variance import conditional_covariance as conditional_covariance
    from maskwell.estimation.release_variance import conditional_variance as conditional_variance
    from maskwell.estimation.release_variance import contrast_inflation as contrast_inflation
    from maskwell.estimation.release_variance import variance_inflation as variance_inflation
    from maskwell.estimation.release_variance import weighted_covariance as weighted_covariance
    from maskwell.estimation.release_variance import weighted_variance as weighted_variance
    from maskwell.estimation.sampling.calibration import calibrate as calibrate
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule as ReplicateRule
    from maskwell.estimation.sampling.sampling_plan import SamplingPlan as SamplingPlan
    from maskwell.estimation.sampling.sampling_plan import Scheme as Scheme
    from maskwell.estimation.sampling.survey_estimate import SurveyEstimate as SurveyEstimate
    from maskwell.estimation.sampling.weighted_survey import estimate_cells as estimate_cells
    from maskwell.estimation.sampling.weighted_survey import estimate_survey as estimate_survey
    from maskwell.estimation.share_estimate import Estimate as Estimate
    from maskwell.estimation.share_estimate import Sample as Sample
    from maskwell.estimation.stacked_samples import cheating_range as cheating_range
    from maskwell.estimation.stacked_samples import estimate_samples as estimate_samples
    from maskwell.estimation.stacked_samples import group_samples as group_samples
    from maskwell.planning.candidates import frontier as frontier
    from maskwell.planning.comparison import efficiency_of as efficiency_of
    from maskwell.planning.design_choice import Choice as Choice
    from maskwell.planning.extremal import Extremal as Extremal
    from maskwell.planning.extremal import extremal_design as extremal_design
    from maskwell.planning.improvement import Improvement as Improvement
    from maskwell.planning.one_sided import best_one_sided as best_one_sided
    from maskwell.planning.one_sided import improve_one_sided as improve_one_sided
    from maskwell.planning.one_sided import ratio_for as ratio_for
    from maskwell.planning.order import Order as Order
    from maskwell.planning.order import order_of as order_of
    from maskwell.planning.order import sufficiency as sufficiency
    from maskwell.planning.power import PowerPlan as PowerPlan
    from maskwell.planning.power import plan_test as plan_test
    from maskwell.planning.sample_allocation import allocate_samples as allocate_samples
    from maskwell.planning.sample_size import SamplePlan as SamplePlan
    from maskwell.planning.sample_size import plan_sample as plan_sample
    from maskwell.planning.set_sizes import matching_gamma as matching_gamma
    from maskwell.planning.set_sizes import matching_l as matching_l
    from maskwell.planning.set_sizes import minimax_size as minimax_size
    from maskwell.planning.set_sizes import variance_table as variance_table
    from maskwell.planning.stratum_allocation import Allocation as Allocation
    from maskwell.planning.stratum_allocation import Stratum as Stratum
    from maskwell.planning.stratum_allocation import allocate_strata as allocate_strata
    from maskwell.planning.tuning import tuned as tuned
    from maskwell.planning.unit_variance import unit_variance as unit_variance
    from maskwell.planning.unit_variance import worst_shares as worst_shares
    from maskwell.privacy.certificate import Certificate as Certificate
    from maskwell.privacy.certificate_check import load_certificate as load_certificate
    from maskwell.privacy.certificate_check import verify_certificate as verify_certificate
    from maskwell.privacy.criteria import Demand as Demand
    from maskwell.privacy.curves import Lines as Lines
    from maskwell.privacy.curves import Steps as Steps
    from maskwell.privacy.design_audit import Audit as Audit
    from maskwell.privacy.design_audit import AverageSecurity as AverageSecurity
    from maskwell.privacy.measures import Measure as Measure
    from maskwell.privacy.posterior import from_jeopardy as from_jeopardy
    from maskwell.privacy.posterior import hazard as hazard
    from maskwell.privacy.posterior import jeopardy as jeopardy
    from maskwell.privacy.posterior import posterior as posterior
    from maskwell.privacy.posterior import posterior_of as posterior_of
    from maskwell.privacy.smooth_curves import Smooth as Smooth
    from maskwell.procedures.category_cards import permutation_deck as permutation_deck
    from maskwell.procedures.decks import Deck as Deck
    from maskwell.procedures.decks import make_deck as make_deck
    from maskwell.procedures.dice_spinner import DiceTable as DiceTable
    from maskwell.procedures.dice_spinner import Spinner as Spinner
    from maskwell.procedures.dice_spinner import dice_table as dice_table
    from maskwell.procedures.dice_spinner import make_spinner as make_spinner
    from maskwell.procedures.joint_answers import repeated as repeated
    from maskwell.procedures.joint_answers import shared as shared
    from maskwell.procedures.nonrandomized import Sensitivity as Sensitivity
    from maskwell.procedures.nonrandomized import sensitivity_to_q as sensitivity_to_q
    from maskwell.procedures.realisation import Device as Device
    from maskwell.procedures.realisation import make_device as make_device
    from maskwell.procedures.small_decks import bounded_deck as bounded_deck
    from maskwell.procedures.statement_cards import kim_warde_strata as kim_warde_strata
    from maskwell.release.analysis.release_estimates import Analysis as Analysis
    from maskwell.release.analysis.release_estimates import estimate_released as estimate_released
    from maskwell.release.assessment import assess_file as assess_file
    from maskwell.release.folder.receipt import Receipt as Receipt
    from maskwell.release.folder.receipt import load_receipt as load_receipt
    from maskwell.release.matrices.bounds import Bounds as Bounds
    from maskwell.release.matrices.cell_blocks import BlockThetas as BlockThetas
    from maskwell.release.matrices.cell_blocks import blocks_for_xi as blocks_for_xi
    from maskwell.release.matrices.cell_blocks import blocks_of_cells as blocks_of_cells
    from maskwell.release.matrices.cell_blocks import theta_for_block as theta_for_block
    from maskwell.release.matrices.cell_blocks import thetas_for_blocks as thetas_for_blocks
    from maskwell.release.matrices.closed_forms import binary_theta as binary_theta
    from maskwell.release.matrices.closed_forms import inverse_frequency as inverse_frequency
    from maskwell.release.matrices.closed_forms import inverse_frequency_by_block as inverse_frequency_by_block
    from maskwell.release.matrices.closed_forms import method1 as method1
    from maskwell.release.matrices.closed_forms import method2 as method2
    from maskwell.release.matrices.closed_forms import sequential_uniform as sequential_uniform
    from maskwell.release.matrices.closed_forms import theta_for_xi as theta_for_xi
    from maskwell.release.matrices.match_caps import Lowered as Lowered
    from maskwell.release.matrices.match_caps import lower_until as lower_until
    from maskwell.release.matrices.match_caps import method1_for_match as method1_for_match
    from maskwell.release.matrices.matrix_algebra import TwoStage as TwoStage
    from maskwell.release.matrices.matrix_algebra import blockwise as blockwise
    from maskwell.release.matrices.matrix_algebra import chained as chained
    from maskwell.release.matrices.matrix_algebra import conditional_matrix as conditional_matrix
    from maskwell.release.matrices.matrix_algebra import mixed as mixed
    from maskwell.release.matrices.matrix_algebra import two_stage as two_stage
    from maskwell.release.matrices.matrix_checks import check_invariant as check_invariant
    from maskwell.release.matrices.matrix_checks import check_never_creates as check_never_creates
    from maskwell.release.matrices.matrix_checks import check_no_forbidden as check_no_forbidden
    from maskwell.release.matrices.matrix_checks import check_publishable as check_publishable
    from maskwell.release.matrices.matrix_checks import expected_changed as expected_changed
    from maskwell.release.matrices.matrix_checks import expected_failures as expected_failures
    from maskwell.release.matrices.matrix_checks import invariance_error as invariance_error
    from maskwell.release.matrices.matrix_checks import is_invariant as is_invariant
    from maskwell.release.matrices.matrix_checks import recover_counts as recover_counts
    from maskwell.release.matrices.optimal_flows import OptimalMatrix as OptimalMatrix
    from maskwell.release.matrices.optimal_flows import optimal_matrix as optimal_matrix
    from maskwell.release.matrices.swap_flows import IntegerFlows as IntegerFlows
    from maskwell.release.matrices.swap_flows import SwapSampler as SwapSampler
    from maskwell.release.matrices.swap_flows import whole_flows as whole_flows
    from maskwell.release.plans.plan_drafts import design_from_sdcmicro as design_from_sdcmicro
    from maskwell.release.plans.plan_drafts import plan_from_sdcmicro as plan_from_sdcmicro
    from maskwell.release.plans.plan_drafts import starting_plan as starting_plan
    from maskwell.release.plans.protection import Protection as Protection
    from maskwell.release.plans.release_plan import ReleasePlan as ReleasePlan
    from maskwell.release.plans.release_plan import load_plan as load_plan
    from maskwell.release.publication import ReleasedTable as ReleasedTable
    from maskwell.release.publication import release_table as release_table
    from maskwell.release.release_result import Release as Release
    from maskwell.release.risk.attribute_disclosure import conditional_proportion as conditional_proportion
    from maskwell.release.risk.file_risk import assess_risk as assess_risk
    from maskwell.release.risk.file_risk import variable_contributions as variable_contributions
    from maskwell.release.risk.identity_disclosure import CellRisks as CellRisks
    from maskwell.release.risk.identity_disclosure import cell_risks as cell_risks
    from maskwell.release.risk.identity_disclosure import individual_risk as individual_risk
    from maskwell.release.risk.match_chances import MatchRisk as MatchRisk
    from maskwell.release.risk.match_chances import match_risk as match_risk
    from maskwell.release.risk.match_chances import match_risk_row as match_risk_row
    from maskwell.release.risk.repeated_releases import TwoReleases as TwoReleases
    from maskwell.release.risk.repeated_releases import repeated_guess as repeated_guess
    from maskwell.release.risk.risk_report import FileRisk as FileRisk
    from maskwell.release.risk.risk_report import RiskReport as RiskReport
    from maskwell.release.risk.risk_report import level_contributions as level_contributions
    from maskwell.release.risk.risk_report import record_risks as record_risks
    from maskwell.release.risk_utility import RiskUtilityPoint as RiskUtilityPoint
    from maskwell.release.risk_utility import risk_utility_map as risk_utility_map
    from maskwell.release.utility.utility_measures import compare_regressions as compare_regressions
    from maskwell.release.utility.utility_measures import cramers_v as cramers_v
    from maskwell.release.utility.utility_measures import table_distance as table_distance
    from maskwell.release.utility.utility_report import UtilityReport as UtilityReport
    from maskwell.release.utility.utility_report import assess_utility as assess_utility
    from maskwell.release.utility.utility_report import utility_tables as utility_tables
    from maskwell.reports.device.device_sheets import SheetOptions as SheetOptions
    from maskwell.reports.device.device_sheets import device_page as device_page
    from maskwell.reports.pages.release_page import release_page as release_page
    from maskwell.verbs.audit import audit as audit
    from maskwell.verbs.certify import certify as certify
    from maskwell.verbs.certify import verify as verify
    from maskwell.verbs.choose import choose as choose
    from maskwell.verbs.compare import compare as compare
    from maskwell.verbs.convert import convert as convert
    from maskwell.verbs.device import device as device
    from maskwell.verbs.improve import improve as improve
    from maskwell.verbs.make_design import make_design as make_design
    from maskwell.verbs.publish import release_file as release_file

__version__ = "0.1.0"

_HOMES = {
    "maskwell.core.categories": ["Categories"],
    "maskwell.core.cells": ["CellTable"],
    "maskwell.core.cells": ["Cells"],
    "maskwell.core.report_data": ["Counts"],
    "maskwell.core.keyed": ["new_key_file"],
    "maskwell.core.keyed": ["KeyedRandom"],
    "maskwell.core.randomness": ["SecureRandom", "SeededRandom"],
    "maskwell.core.report_data": ["Reports"],
    "maskwell.designs.blocks": ["Blocks"],
    "maskwell.designs.composed": ["Composed"],
    "maskwell.designs.dense": ["Dense"],
    "maskwell.designs.design": ["Design"],
    "maskwell.designs.kronecker": ["Kronecker"],
    "maskwell.designs.mixture": ["Mixture"],
    "maskwell.designs.patterns": ["Patterns"],
    "maskwell.designs.row_reduction": ["Canonical", "canonical_order", "reduction_of"],
    "maskwell.designs.sampler": ["KeyedSampler"],
    "maskwell.designs.sparse": ["Sparse"],
    "maskwell.designs.subset": ["LocalDiversity", "Subset"],
    "maskwell.designs.unary": ["Unary"],
    "maskwell.designs.uniform": ["Uniform"],
    "maskwell.designs.wire": ["design_from_dict", "load_design", "save_design"],
    "maskwell.engines.cell_counts": ["count_tables"],
    "maskwell.errors": ["MaskwellError"],
    "maskwell.estimation.direct_estimate": ["DirectEstimate"],
    "maskwell.estimation.goodness": ["GoodnessOfFit", "goodness_of_fit", "goodness_of_samples"],
    "maskwell.estimation.maximum_likelihood": ["fisher_information", "observed_information"],
    "maskwell.estimation.intervals.interval_ends": ["Intervals"],
    "maskwell.estimation.invariant_shares": ["bound_for", "estimate_invariant", "estimate_unknown"],
    "maskwell.estimation.joint.conditionals": ["Conditional"],
    "maskwell.estimation.joint.cross_tables": ["cross_tabulate", "cross_tabulate_counts", "table_of"],
    "maskwell.estimation.joint.conditionals": ["Difference"],
    "maskwell.estimation.joint.odds": ["OddsRatio"],
    "maskwell.estimation.joint.report_independence": ["IndependenceTest"],
    "maskwell.estimation.joint.joint_table": ["Table"],
    "maskwell.estimation.left_inverse": [
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
    "maskwell.estimation.maximum_likelihood": ["estimate_by_likelihood"],
    "maskwell.estimation.sampling.enumerated_plan": ["ListedSamples"],
    "maskwell.estimation.joint.collapse": ["margin_of", "wanted_margin"],
    "maskwell.estimation.maximisation.maximum": ["Maximum", "maximise"],
    "maskwell.estimation.moments": ["estimate_by_moments"],
    "maskwell.estimation.regression.anchor_models": ["AnchoredEstimate", "estimate_with_anchor"],
    "maskwell.estimation.regression.anchor_models": ["fit_with_anchor"],
    "maskwell.estimation.regression.by_formula": ["regress"],
    "maskwell.estimation.regression.logit_models": ["fit_logistic"],
    "maskwell.estimation.regression.logit_models": ["fit_multinomial"],
    "maskwell.estimation.regression.predictor_models": ["fit_predictor"],
    "maskwell.estimation.regression.regression_result": ["Regression"],
    "maskwell.estimation.release_variance": [
        "conditional_covariance",
        "conditional_variance",
        "contrast_inflation",
        "variance_inflation",
        "weighted_covariance",
        "weighted_variance",
    ],
    "maskwell.estimation.share_estimate": ["Estimate"],
    "maskwell.estimation.share_estimate": ["Sample"],
    "maskwell.estimation.sampling.calibration": ["calibrate"],
    "maskwell.estimation.sampling.sampling_plan": ["SamplingPlan"],
    "maskwell.estimation.sampling.replicate_weights": ["ReplicateRule"],
    "maskwell.estimation.sampling.survey_estimate": ["SurveyEstimate"],
    "maskwell.estimation.sampling.sampling_plan": ["Scheme"],
    "maskwell.estimation.sampling.weighted_survey": ["estimate_cells", "estimate_survey"],
    "maskwell.estimation.left_inverse": [
        "ScoreRecovery",
        "mean_scores",
        "optimal_scores",
        "optimal_scores_for_weights",
        "score_left_inverse",
        "score_recovery",
    ],
    "maskwell.estimation.stacked_samples": ["cheating_range", "estimate_samples", "group_samples"],
    "maskwell.planning.candidates": ["frontier"],
    "maskwell.planning.comparison": ["efficiency_of"],
    "maskwell.planning.design_choice": ["Choice"],
    "maskwell.planning.extremal": ["Extremal", "extremal_design"],
    "maskwell.planning.improvement": ["Improvement"],
    "maskwell.planning.one_sided": ["best_one_sided", "improve_one_sided", "ratio_for"],
    "maskwell.planning.order": ["Order", "order_of", "sufficiency"],
    "maskwell.planning.power": ["PowerPlan", "plan_test"],
    "maskwell.planning.sample_allocation": ["allocate_samples"],
    "maskwell.planning.sample_size": ["SamplePlan", "plan_sample"],
    "maskwell.planning.set_sizes": ["matching_gamma", "matching_l", "minimax_size", "variance_table"],
    "maskwell.planning.stratum_allocation": ["Allocation", "Stratum", "allocate_strata"],
    "maskwell.planning.tuning": ["tuned"],
    "maskwell.planning.unit_variance": ["unit_variance", "worst_shares"],
    "maskwell.privacy.certificate": ["Certificate"],
    "maskwell.privacy.certificate_check": ["load_certificate", "verify_certificate"],
    "maskwell.privacy.criteria": ["Demand"],
    "maskwell.privacy.curves": ["Lines", "Steps"],
    "maskwell.privacy.design_audit": ["Audit", "AverageSecurity"],
    "maskwell.privacy.measures": ["Measure"],
    "maskwell.privacy.posterior": ["from_jeopardy", "hazard", "jeopardy", "posterior", "posterior_of"],
    "maskwell.privacy.smooth_curves": ["Smooth"],
    "maskwell.procedures.category_cards": ["permutation_deck"],
    "maskwell.procedures.decks": ["Deck", "make_deck"],
    "maskwell.procedures.dice_spinner": ["DiceTable", "Spinner", "dice_table", "make_spinner"],
    "maskwell.procedures.joint_answers": ["repeated", "shared"],
    "maskwell.procedures.nonrandomized": ["Sensitivity", "sensitivity_to_q"],
    "maskwell.procedures.realisation": ["Device", "make_device"],
    "maskwell.procedures.small_decks": ["bounded_deck"],
    "maskwell.procedures.statement_cards": ["kim_warde_strata"],
    "maskwell.release.analysis.release_estimates": ["Analysis", "estimate_released"],
    "maskwell.release.assessment": ["assess_file"],
    "maskwell.release.folder.receipt": ["Receipt", "load_receipt"],
    "maskwell.release.publication": ["ReleasedTable", "release_table"],
    "maskwell.release.risk_utility": ["risk_utility_map"],
    "maskwell.release.matrices.cell_blocks": ["blocks_for_xi", "blocks_of_cells"],
    "maskwell.release.matrices.cell_blocks": ["BlockThetas", "theta_for_block", "thetas_for_blocks"],
    "maskwell.release.matrices.matrix_algebra": ["blockwise", "conditional_matrix"],
    "maskwell.release.matrices.bounds": ["Bounds"],
    "maskwell.release.matrices.matrix_checks": ["check_never_creates", "check_no_forbidden", "expected_failures"],
    "maskwell.release.matrices.matrix_checks": ["expected_changed"],
    "maskwell.release.matrices.swap_flows": ["IntegerFlows"],
    "maskwell.release.matrices.matrix_checks": [
        "check_invariant",
        "check_publishable",
        "invariance_error",
        "is_invariant",
        "recover_counts",
    ],
    "maskwell.release.matrices.closed_forms": ["inverse_frequency", "inverse_frequency_by_block", "theta_for_xi"],
    "maskwell.release.matrices.match_caps": ["Lowered", "lower_until", "method1_for_match"],
    "maskwell.release.matrices.closed_forms": ["binary_theta", "method1"],
    "maskwell.release.matrices.closed_forms": ["method2"],
    "maskwell.release.matrices.matrix_algebra": ["chained", "mixed"],
    "maskwell.release.matrices.optimal_flows": ["OptimalMatrix", "optimal_matrix"],
    "maskwell.release.matrices.closed_forms": ["sequential_uniform"],
    "maskwell.release.matrices.swap_flows": ["SwapSampler"],
    "maskwell.release.matrices.matrix_algebra": ["TwoStage", "two_stage"],
    "maskwell.release.matrices.swap_flows": ["whole_flows"],
    "maskwell.release.plans.release_plan": ["ReleasePlan"],
    "maskwell.release.plans.release_plan": ["load_plan"],
    "maskwell.release.plans.protection": ["Protection"],
    "maskwell.release.plans.plan_drafts": ["design_from_sdcmicro", "plan_from_sdcmicro"],
    "maskwell.release.plans.plan_drafts": ["starting_plan"],
    "maskwell.release.release_result": ["Release"],
    "maskwell.release.risk.identity_disclosure": ["CellRisks", "cell_risks"],
    "maskwell.release.risk.attribute_disclosure": ["conditional_proportion"],
    "maskwell.release.risk.contributions": ["level_contributions", "record_risks", "variable_contributions"],
    "maskwell.release.risk.file_risk": ["RiskReport", "assess_risk"],
    "maskwell.release.risk.identity_disclosure": ["individual_risk"],
    "maskwell.release.risk.match_chances": ["MatchRisk", "match_risk", "match_risk_row"],
    "maskwell.release.risk.attribute_disclosure": [
        "best_guess",
        "binary_guess",
        "guess_probability",
        "posterior_matrix",
    ],
    "maskwell.release.risk.attribute_disclosure": ["predictive_disclosure"],
    "maskwell.release.risk.repeated_releases": ["TwoReleases", "repeated_guess"],
    "maskwell.release.risk.risk_report": ["FileRisk"],
    "maskwell.release.risk_utility": ["RiskUtilityPoint"],
    "maskwell.release.utility.utility_report": ["assess_utility", "utility_tables"],
    "maskwell.release.utility.utility_measures": ["cramers_v"],
    "maskwell.release.utility.utility_measures": ["table_distance"],
    "maskwell.release.utility.utility_measures": ["compare_regressions"],
    "maskwell.release.utility.utility_report": ["UtilityReport"],
    "maskwell.reports.device.device_sheets": ["SheetOptions", "device_page"],
    "maskwell.plots": [
        "Picture",
        "plot_associations",
        "plot_canonical",
        "plot_choice",
        "plot_coefficients",
        "plot_demand",
        "plot_demands",
        "plot_family",
        "plot_flows",
        "plot_frontier",
        "plot_inflation",
        "plot_learned",
        "plot_margins",
        "plot_matrix",
        "plot_release_risk",
        "plot_revealed",
        "plot_risk_utility",
        "plot_variance",
    ],
    "maskwell.reports.pages.release_page": ["release_page"],
    "maskwell.verbs.publish": ["release_file"],
    "maskwell.verbs.audit": ["audit"],
    "maskwell.verbs.certify": ["certify", "verify"],
    "maskwell.verbs.choose": ["choose"],
    "maskwell.verbs.compare": ["compare"],
    "maskwell.verbs.convert": ["convert"],
    "maskwell.verbs.device": ["device"],
    "maskwell.verbs.improve": ["improve"],
    "maskwell.verbs.make_design": ["make_design"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


_containers.register_libraries()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'maskwell' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _renderers() -> Mapping[str, Callable[..., Any]]:
    """What draws and prints results: known here, above all rooms, and loaded when a result is to be shown."""
    import maskwell.reports.renderers as renderers

    return renderers.RENDERERS


_display.register(_renderers)
