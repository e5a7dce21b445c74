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

import maskwell.core.display as _display

if TYPE_CHECKING:
    from maskwell.core.categories import Categories as Categories
    from maskwell.core.cell_table import CellTable as CellTable
    from maskwell.core.cells import Cells as Cells
    from maskwell.core.counts import Counts as Counts
    from maskwell.core.key_files import new_key_file as new_key_file
    from maskwell.core.keyed import KeyedRandom as KeyedRandom
    from maskwell.core.randomness import SecureRandom as SecureRandom
    from maskwell.core.randomness import SeededRandom as SeededRandom
    from maskwell.core.reported import Reports as Reports
    from maskwell.designs.base import Design as Design
    from maskwell.designs.blocks import Blocks as Blocks
    from maskwell.designs.canonical import Canonical as Canonical
    from maskwell.designs.canonical import canonical_order as canonical_order
    from maskwell.designs.composed import Composed as Composed
    from maskwell.designs.dense import Dense as Dense
    from maskwell.designs.kronecker import Kronecker as Kronecker
    from maskwell.designs.ldiverse import LocalDiversity as LocalDiversity
    from maskwell.designs.mixture import Mixture as Mixture
    from maskwell.designs.patterns import Patterns as Patterns
    from maskwell.designs.rows import reduction_of as reduction_of
    from maskwell.designs.sampler import KeyedSampler as KeyedSampler
    from maskwell.designs.sparse import Sparse as Sparse
    from maskwell.designs.subset import Subset as Subset
    from maskwell.designs.unary import Unary as Unary
    from maskwell.designs.uniform import Uniform as Uniform
    from maskwell.designs.wire import design_from_dict as design_from_dict
    from maskwell.designs.wire import load_design as load_design
    from maskwell.designs.wire import save_design as save_design
    from maskwell.engines.cell_counting import count_tables as count_tables
    from maskwell.errors import MaskwellError as MaskwellError
    from maskwell.estimation.direct_estimate import DirectEstimate as DirectEstimate
    from maskwell.estimation.goodness import GoodnessOfFit as GoodnessOfFit
    from maskwell.estimation.goodness import goodness_of_fit as goodness_of_fit
    from maskwell.estimation.goodness import goodness_of_samples as goodness_of_samples
    from maskwell.estimation.intervals.interval_ends import Intervals as Intervals
    from maskwell.estimation.invariant import bound_for as bound_for
    from maskwell.estimation.invariant import estimate_invariant as estimate_invariant
    from maskwell.estimation.invariant import estimate_unknown as estimate_unknown
    from maskwell.estimation.joint.collapse import margin_of as margin_of
    from maskwell.estimation.joint.collapse import wanted_margin as wanted_margin
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
    from maskwell.estimation.regression.anchor import AnchoredEstimate as AnchoredEstimate
    from maskwell.estimation.regression.anchor import estimate_with_anchor as estimate_with_anchor
    from maskwell.estimation.regression.attention import fit_with_anchor as fit_with_anchor
    from maskwell.estimation.regression.by_formula import regress as regress
    from maskwell.estimation.regression.logistic import fit_logistic as fit_logistic
    from maskwell.estimation.regression.multinomial import fit_multinomial as fit_multinomial
    from maskwell.estimation.regression.predictor import fit_predictor as fit_predictor
    from maskwell.estimation.regression.result import Regression as Regression
    from maskwell.estimation.released_variance import conditional_covariance as conditional_covariance
    from maskwell.estimation.released_variance import conditional_variance as conditional_variance
    from maskwell.estimation.released_variance import contrast_inflation as contrast_inflation
    from maskwell.estimation.released_variance import variance_inflation as variance_inflation
    from maskwell.estimation.released_variance import weighted_covariance as weighted_covariance
    from maskwell.estimation.released_variance import weighted_variance as weighted_variance
    from maskwell.estimation.sampling.calibration import calibrate as calibrate
    from maskwell.estimation.sampling.enumerated_plan import ListedSamples as ListedSamples
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
    from maskwell.planning.allocation import Allocation as Allocation
    from maskwell.planning.choice import Choice as Choice
    from maskwell.planning.choosing import choose as choose
    from maskwell.planning.compare import compare as compare
    from maskwell.planning.efficiency import efficiency_of as efficiency_of
    from maskwell.planning.extremal import Extremal as Extremal
    from maskwell.planning.extremal import extremal_design as extremal_design
    from maskwell.planning.frontier import frontier as frontier
    from maskwell.planning.improve import Improvement as Improvement
    from maskwell.planning.improve import improve as improve
    from maskwell.planning.one_sided import best_one_sided as best_one_sided
    from maskwell.planning.one_sided import improve_one_sided as improve_one_sided
    from maskwell.planning.one_sided import ratio_for as ratio_for
    from maskwell.planning.optimal import matching_gamma as matching_gamma
    from maskwell.planning.optimal import matching_l as matching_l
    from maskwell.planning.optimal import minimax_size as minimax_size
    from maskwell.planning.optimal import variance_table as variance_table
    from maskwell.planning.order import Order as Order
    from maskwell.planning.order import order_of as order_of
    from maskwell.planning.order import sufficiency as sufficiency
    from maskwell.planning.power import PowerPlan as PowerPlan
    from maskwell.planning.power import plan_test as plan_test
    from maskwell.planning.sample_plan import SamplePlan as SamplePlan
    from maskwell.planning.sample_plan import plan_sample as plan_sample
    from maskwell.planning.several_samples import allocate_samples as allocate_samples
    from maskwell.planning.strata import Stratum as Stratum
    from maskwell.planning.strata import allocate_strata as allocate_strata
    from maskwell.planning.tuning import tuned as tuned
    from maskwell.planning.unit_variance import unit_variance as unit_variance
    from maskwell.planning.unit_variance import worst_shares as worst_shares
    from maskwell.privacy.audit import Audit as Audit
    from maskwell.privacy.audit import audit as audit
    from maskwell.privacy.average import AverageSecurity as AverageSecurity
    from maskwell.privacy.certificate import Certificate as Certificate
    from maskwell.privacy.certificate import certify as certify
    from maskwell.privacy.criteria import Demand as Demand
    from maskwell.privacy.curves import Lines as Lines
    from maskwell.privacy.curves import Steps as Steps
    from maskwell.privacy.jeopardy import from_jeopardy as from_jeopardy
    from maskwell.privacy.jeopardy import jeopardy as jeopardy
    from maskwell.privacy.measures import Measure as Measure
    from maskwell.privacy.posterior import hazard as hazard
    from maskwell.privacy.posterior import posterior as posterior
    from maskwell.privacy.posterior import posterior_of as posterior_of
    from maskwell.privacy.smooth import Smooth as Smooth
    from maskwell.privacy.verify import load_certificate as load_certificate
    from maskwell.privacy.verify import verify_certificate as verify_certificate
    from maskwell.procedures.bounded import bounded_deck as bounded_deck
    from maskwell.procedures.bourke_dalenius import permutation_deck as permutation_deck
    from maskwell.procedures.decks import Deck as Deck
    from maskwell.procedures.decks import make_deck as make_deck
    from maskwell.procedures.dice import DiceTable as DiceTable
    from maskwell.procedures.dice import dice_table as dice_table
    from maskwell.procedures.kim_warde import kim_warde_strata as kim_warde_strata
    from maskwell.procedures.realise import Device as Device
    from maskwell.procedures.realise import make_device as make_device
    from maskwell.procedures.registry import make_design as make_design
    from maskwell.procedures.repeated import repeated as repeated
    from maskwell.procedures.sensitivity import Sensitivity as Sensitivity
    from maskwell.procedures.sensitivity import sensitivity_to_q as sensitivity_to_q
    from maskwell.procedures.shared import shared as shared
    from maskwell.procedures.spinner import Spinner as Spinner
    from maskwell.procedures.spinner import make_spinner as make_spinner
    from maskwell.release.analysis.analysis import Analysis as Analysis
    from maskwell.release.analysis.analysis import estimate_released as estimate_released
    from maskwell.release.assessing import assess_file as assess_file
    from maskwell.release.folder.receipt import Receipt as Receipt
    from maskwell.release.folder.receipt import load_receipt as load_receipt
    from maskwell.release.in_memory import ReleasedTable as ReleasedTable
    from maskwell.release.in_memory import release_table as release_table
    from maskwell.release.mapping import risk_utility_map as risk_utility_map
    from maskwell.release.matrices.block_forming import blocks_for_xi as blocks_for_xi
    from maskwell.release.matrices.block_forming import blocks_of_cells as blocks_of_cells
    from maskwell.release.matrices.block_thetas import BlockThetas as BlockThetas
    from maskwell.release.matrices.block_thetas import theta_for_block as theta_for_block
    from maskwell.release.matrices.block_thetas import thetas_for_blocks as thetas_for_blocks
    from maskwell.release.matrices.blockwise import blockwise as blockwise
    from maskwell.release.matrices.blockwise import conditional_matrix as conditional_matrix
    from maskwell.release.matrices.bounds import Bounds as Bounds
    from maskwell.release.matrices.edits import check_never_creates as check_never_creates
    from maskwell.release.matrices.edits import check_no_forbidden as check_no_forbidden
    from maskwell.release.matrices.edits import expected_failures as expected_failures
    from maskwell.release.matrices.flows import expected_changed as expected_changed
    from maskwell.release.matrices.integer_flows import IntegerFlows as IntegerFlows
    from maskwell.release.matrices.invariance import check_invariant as check_invariant
    from maskwell.release.matrices.invariance import check_publishable as check_publishable
    from maskwell.release.matrices.invariance import invariance_error as invariance_error
    from maskwell.release.matrices.invariance import is_invariant as is_invariant
    from maskwell.release.matrices.invariance import recover_counts as recover_counts
    from maskwell.release.matrices.inverse_frequency import inverse_frequency as inverse_frequency
    from maskwell.release.matrices.inverse_frequency import inverse_frequency_by_block as inverse_frequency_by_block
    from maskwell.release.matrices.inverse_frequency import theta_for_xi as theta_for_xi
    from maskwell.release.matrices.lowering import Lowered as Lowered
    from maskwell.release.matrices.lowering import lower_until as lower_until
    from maskwell.release.matrices.lowering import method1_for_match as method1_for_match
    from maskwell.release.matrices.method1 import binary_theta as binary_theta
    from maskwell.release.matrices.method1 import method1 as method1
    from maskwell.release.matrices.method2 import method2 as method2
    from maskwell.release.matrices.mixing import chained as chained
    from maskwell.release.matrices.mixing import mixed as mixed
    from maskwell.release.matrices.optimal import OptimalMatrix as OptimalMatrix
    from maskwell.release.matrices.optimal import optimal_matrix as optimal_matrix
    from maskwell.release.matrices.sequential import sequential_uniform as sequential_uniform
    from maskwell.release.matrices.swapping import SwapSampler as SwapSampler
    from maskwell.release.matrices.two_stage import TwoStage as TwoStage
    from maskwell.release.matrices.two_stage import two_stage as two_stage
    from maskwell.release.matrices.whole_flows import whole_flows as whole_flows
    from maskwell.release.plans.plan import ReleasePlan as ReleasePlan
    from maskwell.release.plans.plan_file import load_plan as load_plan
    from maskwell.release.plans.protection import Protection as Protection
    from maskwell.release.plans.sdcmicro import design_from_sdcmicro as design_from_sdcmicro
    from maskwell.release.plans.sdcmicro import plan_from_sdcmicro as plan_from_sdcmicro
    from maskwell.release.plans.starting_plan import starting_plan as starting_plan
    from maskwell.release.released import Release as Release
    from maskwell.release.risk.cell_risks import CellRisks as CellRisks
    from maskwell.release.risk.cell_risks import cell_risks as cell_risks
    from maskwell.release.risk.conditional import conditional_proportion as conditional_proportion
    from maskwell.release.risk.contributions import level_contributions as level_contributions
    from maskwell.release.risk.contributions import record_risks as record_risks
    from maskwell.release.risk.contributions import variable_contributions as variable_contributions
    from maskwell.release.risk.file_risk import RiskReport as RiskReport
    from maskwell.release.risk.file_risk import assess_risk as assess_risk
    from maskwell.release.risk.individual import individual_risk as individual_risk
    from maskwell.release.risk.matching import MatchRisk as MatchRisk
    from maskwell.release.risk.matching import match_risk as match_risk
    from maskwell.release.risk.matching import match_risk_row as match_risk_row
    from maskwell.release.risk.posteriors import best_guess as best_guess
    from maskwell.release.risk.posteriors import binary_guess as binary_guess
    from maskwell.release.risk.posteriors import guess_probability as guess_probability
    from maskwell.release.risk.posteriors import posterior_matrix as posterior_matrix
    from maskwell.release.risk.predictive import predictive_disclosure as predictive_disclosure
    from maskwell.release.risk.repeated import TwoReleases as TwoReleases
    from maskwell.release.risk.repeated import repeated_guess as repeated_guess
    from maskwell.release.risk.summary import FileRisk as FileRisk
    from maskwell.release.risk_utility import RiskUtilityPoint as RiskUtilityPoint
    from maskwell.release.utility.assessing import assess_utility as assess_utility
    from maskwell.release.utility.assessing import utility_tables as utility_tables
    from maskwell.release.utility.association import cramers_v as cramers_v
    from maskwell.release.utility.distances import table_distance as table_distance
    from maskwell.release.utility.regressions import compare_regressions as compare_regressions
    from maskwell.release.utility.report import UtilityReport as UtilityReport
    from maskwell.reports.device_page import SheetOptions as SheetOptions
    from maskwell.reports.device_page import device_page as device_page
    from maskwell.reports.plots import Picture as Picture
    from maskwell.reports.plots import plot_associations as plot_associations
    from maskwell.reports.plots import plot_canonical as plot_canonical
    from maskwell.reports.plots import plot_choice as plot_choice
    from maskwell.reports.plots import plot_coefficients as plot_coefficients
    from maskwell.reports.plots import plot_demand as plot_demand
    from maskwell.reports.plots import plot_demands as plot_demands
    from maskwell.reports.plots import plot_family as plot_family
    from maskwell.reports.plots import plot_flows as plot_flows
    from maskwell.reports.plots import plot_frontier as plot_frontier
    from maskwell.reports.plots import plot_inflation as plot_inflation
    from maskwell.reports.plots import plot_learned as plot_learned
    from maskwell.reports.plots import plot_margins as plot_margins
    from maskwell.reports.plots import plot_matrix as plot_matrix
    from maskwell.reports.plots import plot_release_risk as plot_release_risk
    from maskwell.reports.plots import plot_revealed as plot_revealed
    from maskwell.reports.plots import plot_risk_utility as plot_risk_utility
    from maskwell.reports.plots import plot_variance as plot_variance
    from maskwell.reports.release_page import release_page as release_page
    from maskwell.reports.releasing import release_file as release_file

__version__ = "0.1.0"

_HOMES = {
    "maskwell.core.categories": ["Categories"],
    "maskwell.core.cells": ["Cells"],
    "maskwell.core.counts": ["Counts"],
    "maskwell.core.key_files": ["new_key_file"],
    "maskwell.core.keyed": ["KeyedRandom"],
    "maskwell.core.randomness": ["SecureRandom", "SeededRandom"],
    "maskwell.core.reported": ["Reports"],
    "maskwell.designs.base": ["Design"],
    "maskwell.designs.blocks": ["Blocks"],
    "maskwell.designs.canonical": ["Canonical", "canonical_order"],
    "maskwell.designs.composed": ["Composed"],
    "maskwell.designs.dense": ["Dense"],
    "maskwell.designs.kronecker": ["Kronecker"],
    "maskwell.designs.ldiverse": ["LocalDiversity"],
    "maskwell.designs.mixture": ["Mixture"],
    "maskwell.designs.patterns": ["Patterns"],
    "maskwell.designs.rows": ["reduction_of"],
    "maskwell.designs.sampler": ["KeyedSampler"],
    "maskwell.designs.sparse": ["Sparse"],
    "maskwell.designs.subset": ["Subset"],
    "maskwell.designs.unary": ["Unary"],
    "maskwell.designs.uniform": ["Uniform"],
    "maskwell.designs.wire": ["design_from_dict", "load_design", "save_design"],
    "maskwell.errors": ["MaskwellError"],
    "maskwell.estimation.goodness": ["GoodnessOfFit", "goodness_of_fit", "goodness_of_samples"],
    "maskwell.estimation.maximum_likelihood": ["estimate_by_likelihood", "fisher_information", "observed_information"],
    "maskwell.estimation.intervals.interval_ends": ["Intervals"],
    "maskwell.estimation.joint.conditionals": ["Conditional", "Difference"],
    "maskwell.estimation.joint.cross_tables": ["cross_tabulate", "cross_tabulate_counts", "table_of"],
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
    "maskwell.estimation.sampling.enumerated_plan": ["ListedSamples"],
    "maskwell.estimation.maximisation.maximum": ["Maximum", "maximise"],
    "maskwell.estimation.joint.collapse": ["margin_of", "wanted_margin"],
    "maskwell.estimation.moments": ["estimate_by_moments"],
    "maskwell.estimation.regression.anchor": ["AnchoredEstimate", "estimate_with_anchor"],
    "maskwell.estimation.regression.attention": ["fit_with_anchor"],
    "maskwell.estimation.regression.by_formula": ["regress"],
    "maskwell.estimation.regression.logistic": ["fit_logistic"],
    "maskwell.estimation.regression.multinomial": ["fit_multinomial"],
    "maskwell.estimation.regression.predictor": ["fit_predictor"],
    "maskwell.estimation.regression.result": ["Regression"],
    "maskwell.estimation.share_estimate": ["Estimate", "Sample"],
    "maskwell.estimation.sampling.calibration": ["calibrate"],
    "maskwell.estimation.sampling.sampling_plan": ["SamplingPlan", "Scheme"],
    "maskwell.estimation.sampling.replicate_weights": ["ReplicateRule"],
    "maskwell.estimation.sampling.survey_estimate": ["SurveyEstimate"],
    "maskwell.estimation.sampling.weighted_survey": ["estimate_cells", "estimate_survey"],
    "maskwell.estimation.stacked_samples": ["cheating_range", "estimate_samples", "group_samples"],
    "maskwell.planning.improve": ["Improvement", "improve"],
    "maskwell.planning.compare": ["compare"],
    "maskwell.planning.one_sided": ["best_one_sided", "improve_one_sided", "ratio_for"],
    "maskwell.planning.choice": ["Choice"],
    "maskwell.planning.choosing": ["choose"],
    "maskwell.planning.extremal": ["Extremal", "extremal_design"],
    "maskwell.planning.frontier": ["frontier"],
    "maskwell.planning.optimal": ["matching_gamma", "matching_l", "minimax_size", "variance_table"],
    "maskwell.planning.order": ["Order", "order_of", "sufficiency"],
    "maskwell.privacy.audit": ["Audit", "audit"],
    "maskwell.privacy.average": ["AverageSecurity"],
    "maskwell.privacy.certificate": ["Certificate", "certify"],
    "maskwell.privacy.criteria": ["Demand"],
    "maskwell.privacy.curves": ["Lines", "Steps"],
    "maskwell.privacy.posterior": ["hazard", "posterior", "posterior_of"],
    "maskwell.privacy.smooth": ["Smooth"],
    "maskwell.privacy.verify": ["load_certificate", "verify_certificate"],
    "maskwell.procedures.bounded": ["bounded_deck"],
    "maskwell.procedures.decks": ["Deck", "make_deck"],
    "maskwell.procedures.dice": ["DiceTable", "dice_table"],
    "maskwell.procedures.realise": ["Device", "make_device"],
    "maskwell.procedures.registry": ["make_design"],
    "maskwell.procedures.bourke_dalenius": ["permutation_deck"],
    "maskwell.procedures.kim_warde": ["kim_warde_strata"],
    "maskwell.procedures.repeated": ["repeated"],
    "maskwell.procedures.sensitivity": ["Sensitivity", "sensitivity_to_q"],
    "maskwell.procedures.shared": ["shared"],
    "maskwell.procedures.spinner": ["Spinner", "make_spinner"],
    "maskwell.release.matrices.bounds": ["Bounds"],
    "maskwell.release.matrices.lowering": ["Lowered", "lower_until", "method1_for_match"],
    "maskwell.release.matrices.optimal": ["OptimalMatrix", "optimal_matrix"],
    "maskwell.reports.device_page": ["SheetOptions", "device_page"],
    "maskwell.release.risk_utility": ["RiskUtilityPoint"],
    "maskwell.reports.release_page": ["release_page"],
    "maskwell.reports.plots": [
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
    "maskwell.planning.allocation": ["Allocation"],
    "maskwell.planning.efficiency": ["efficiency_of"],
    "maskwell.planning.power": ["PowerPlan", "plan_test"],
    "maskwell.planning.sample_plan": ["SamplePlan", "plan_sample"],
    "maskwell.planning.several_samples": ["allocate_samples"],
    "maskwell.planning.strata": ["Stratum", "allocate_strata"],
    "maskwell.planning.tuning": ["tuned"],
    "maskwell.planning.unit_variance": ["unit_variance", "worst_shares"],
    "maskwell.privacy.jeopardy": ["from_jeopardy", "jeopardy"],
    "maskwell.privacy.measures": ["Measure"],
    "maskwell.release.matrices.block_forming": ["blocks_for_xi", "blocks_of_cells"],
    "maskwell.release.matrices.block_thetas": ["BlockThetas", "theta_for_block", "thetas_for_blocks"],
    "maskwell.release.matrices.blockwise": ["blockwise", "conditional_matrix"],
    "maskwell.release.matrices.edits": ["check_never_creates", "check_no_forbidden", "expected_failures"],
    "maskwell.release.matrices.flows": ["expected_changed"],
    "maskwell.release.matrices.integer_flows": ["IntegerFlows"],
    "maskwell.release.matrices.invariance": [
        "check_invariant",
        "check_publishable",
        "invariance_error",
        "is_invariant",
        "recover_counts",
    ],
    "maskwell.release.matrices.inverse_frequency": ["inverse_frequency", "inverse_frequency_by_block", "theta_for_xi"],
    "maskwell.release.matrices.method1": ["binary_theta", "method1"],
    "maskwell.release.matrices.method2": ["method2"],
    "maskwell.release.matrices.mixing": ["chained", "mixed"],
    "maskwell.release.matrices.sequential": ["sequential_uniform"],
    "maskwell.release.matrices.swapping": ["SwapSampler"],
    "maskwell.release.matrices.two_stage": ["TwoStage", "two_stage"],
    "maskwell.release.matrices.whole_flows": ["whole_flows"],
    "maskwell.release.assessing": ["assess_file"],
    "maskwell.release.in_memory": ["ReleasedTable", "release_table"],
    "maskwell.release.mapping": ["risk_utility_map"],
    "maskwell.release.plans.plan": ["ReleasePlan"],
    "maskwell.release.released": ["Release"],
    "maskwell.reports.releasing": ["release_file"],
    "maskwell.release.plans.plan_file": ["load_plan"],
    "maskwell.release.plans.protection": ["Protection"],
    "maskwell.release.analysis.analysis": ["Analysis", "estimate_released"],
    "maskwell.release.folder.receipt": ["Receipt", "load_receipt"],
    "maskwell.release.plans.sdcmicro": ["design_from_sdcmicro", "plan_from_sdcmicro"],
    "maskwell.release.plans.starting_plan": ["starting_plan"],
    "maskwell.estimation.direct_estimate": ["DirectEstimate"],
    "maskwell.estimation.invariant": ["bound_for", "estimate_invariant", "estimate_unknown"],
    "maskwell.estimation.released_variance": [
        "conditional_covariance",
        "conditional_variance",
        "contrast_inflation",
        "variance_inflation",
        "weighted_covariance",
        "weighted_variance",
    ],
    "maskwell.release.risk.conditional": ["conditional_proportion"],
    "maskwell.release.risk.posteriors": ["best_guess", "binary_guess", "guess_probability", "posterior_matrix"],
    "maskwell.release.risk.predictive": ["predictive_disclosure"],
    "maskwell.release.risk.repeated": ["TwoReleases", "repeated_guess"],
    "maskwell.release.utility.assessing": ["assess_utility", "utility_tables"],
    "maskwell.release.utility.association": ["cramers_v"],
    "maskwell.release.utility.distances": ["table_distance"],
    "maskwell.release.utility.regressions": ["compare_regressions"],
    "maskwell.release.utility.report": ["UtilityReport"],
    "maskwell.core.cell_table": ["CellTable"],
    "maskwell.engines.cell_counting": ["count_tables"],
    "maskwell.release.risk.cell_risks": ["CellRisks", "cell_risks"],
    "maskwell.release.risk.contributions": ["level_contributions", "record_risks", "variable_contributions"],
    "maskwell.release.risk.file_risk": ["RiskReport", "assess_risk"],
    "maskwell.release.risk.individual": ["individual_risk"],
    "maskwell.release.risk.matching": ["MatchRisk", "match_risk", "match_risk_row"],
    "maskwell.release.risk.summary": ["FileRisk"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


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
