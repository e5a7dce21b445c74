"""Private names of ``release`` that tests need, each from the file it stands in."""

from maskwell.estimation.sampling.sampling_description import WEIGHTS
from maskwell.microdata import assessment, needed_tables, publication, side_channels
from maskwell.microdata.analysis.bias_bounds import Distortion, Weights, moves_of, reach_of
from maskwell.microdata.analysis.matrix_estimates import composed, kept_with_matrices, solved
from maskwell.microdata.analysis.release_estimates import _with_values, share_by_domain
from maskwell.microdata.analysis.table_routes import Route, assigned, route_of
from maskwell.microdata.assessment import Judge, assess, assess_tables
from maskwell.microdata.folder import ledger, receipt_contents
from maskwell.microdata.folder import release_folder as release_folder_module
from maskwell.microdata.folder.ledger import ABANDONED, BEGUN, RELEASED, read_ledger
from maskwell.microdata.folder.matrix_disclosure import check_matrix, told
from maskwell.microdata.folder.receipt import Group, receipt_from_dict, stage_from_dict, stages_of
from maskwell.microdata.folder.receipt_contents import (
    advice_of,
    draws_told,
    dumps,
    internal_receipt,
    internal_text,
    kept_of,
    matrix_tables,
    numbered,
    public_receipt,
    recipes,
    rounded_down,
    rounded_share,
    rounded_up,
    schema,
    stage_to_dict,
)
from maskwell.microdata.folder.release_check import verify_release
from maskwell.microdata.folder.release_folder import (
    check_public,
    check_rows,
    readme,
    release_folder,
    write_internal,
    write_public,
    write_risks,
)
from maskwell.microdata.folder.release_metadata import (
    NAMESPACE,
    Entry,
    codebook_csv,
    codebook_of,
    datapackage,
    ddi_codebook,
    formula_columns,
    processing,
    sha256_of,
)
from maskwell.microdata.kept_bounds import (
    bounds_kept,
    check_bounds,
    check_kept,
    check_match,
    exempted,
    is_kept_as_drawn,
)
from maskwell.microdata.matrices import closed_forms, flow_solver, matrix_checks
from maskwell.microdata.matrices.bounds import labels_for, read_amounts, support
from maskwell.microdata.matrices.flow_program import Program, allowed_pairs, program_of
from maskwell.microdata.matrices.flow_solver import solve
from maskwell.microdata.matrices.infeasibility import _in_words, short_states
from maskwell.microdata.matrices.match_caps import match_risks
from maskwell.microdata.matrices.matrix_algebra import repeated
from maskwell.microdata.matrices.matrix_checks import flows
from maskwell.microdata.matrices.matrix_patterns import GRID as THETA_GRID
from maskwell.microdata.matrices.matrix_patterns import unprotected_states
from maskwell.microdata.matrices.mixing import GRID as MIXING_GRID
from maskwell.microdata.matrices.mixing import _exchanged, _gathered, mixed_risk
from maskwell.microdata.matrices.optimal_flows import corner, keeps_bounds, round_flows
from maskwell.microdata.matrices.swap_flows import balanced
from maskwell.microdata.needed_tables import count_external, count_file, tables_of
from maskwell.microdata.plans.count_methods import Sequential
from maskwell.microdata.plans.edit_rules import Moves, Rule, Steps, read_rule
from maskwell.microdata.plans.given_methods import Fixed
from maskwell.microdata.plans.plan_drafts import choose_keys, guess_column, guess_columns
from maskwell.microdata.plans.plan_entries import by_text, find_levels, unknown_label
from maskwell.microdata.plans.protection import COMMON_ENTRIES, RELEASE_METHODS
from maskwell.microdata.plans.release_plan import RELEASE_ENTRIES, read_plan
from maskwell.microdata.publication import open_release
from maskwell.microdata.records import column_fit, dependence, release_pass
from maskwell.microdata.records.dependence import ColumnFacts, DependenceCounter, Restored, ValueCounter
from maskwell.microdata.records.recoding import Recode, Recoding, recoded, recoding_of
from maskwell.microdata.records.release_pass import Draws, RowReleaser, RowStage, StateFinder, release_batches
from maskwell.microdata.records.stage_draws import draws_of, row_plan
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.release_values import AnyRelease, Draw, Origin, ReleasedColumn
from maskwell.microdata.risk import (
    arrivals,
    identity_disclosure,
    joined_columns,
    kronecker_arrivals,
    match_chances,
    released_counts,
    repeated_releases,
    unit_draws,
)
from maskwell.microdata.risk.arrivals import SparseArrivals, arrivals_of
from maskwell.microdata.risk.attribute_disclosure import check_prior
from maskwell.microdata.risk.binomial_sums import count_distributions, sums_of_terms
from maskwell.microdata.risk.file_risk import COUNTS, EXCHANGED, LIGHT, NOT_COVERED, SAMPLED, UNTOUCHED, UNUSUAL
from maskwell.microdata.risk.identity_disclosure import risks_of
from maskwell.microdata.risk.intruders import INTRUDERS
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.microdata.risk.match_chances import highest_share, strict_risk, target_risks
from maskwell.microdata.risk.released_counts import realised_risks
from maskwell.microdata.risk.repeated_releases import path_parities
from maskwell.microdata.risk.risk_report import percentile
from maskwell.microdata.risk.unit_draws import DrawnUnits, drawn_together
from maskwell.microdata.risk.unit_risk import UnitFigures, same_units
from maskwell.microdata.risk_utility import beaten_by
from maskwell.microdata.side_channels import SideChannel, check_side_channels
from maskwell.microdata.stages.achieved_bounds import achieved, bound_is_kept, guessed
from maskwell.microdata.stages.stage import (
    Stage,
    acting,
    expected_table,
    is_kept,
    kept_columns,
    needed_columns,
    state_categories,
    unchanged_columns,
)
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import TrueFile, prepared
from maskwell.microdata.utility.utility_measures import Association, expected_variation, inflation_of, interval_overlap
from maskwell.microdata.utility.utility_report import _independent, expected_share

__all__ = [
    "ABANDONED",
    "AnyRelease",
    "Association",
    "BEGUN",
    "COMMON_ENTRIES",
    "COUNTS",
    "ColumnFacts",
    "DependenceCounter",
    "Distortion",
    "Draw",
    "DrawnUnits",
    "Draws",
    "EXCHANGED",
    "Entry",
    "Fixed",
    "Group",
    "INTRUDERS",
    "Judge",
    "KroneckerArrivals",
    "LIGHT",
    "MIXING_GRID",
    "Moves",
    "NAMESPACE",
    "NOT_COVERED",
    "Origin",
    "Program",
    "RELEASED",
    "RELEASE_ENTRIES",
    "RELEASE_METHODS",
    "Recode",
    "Recoding",
    "ReleasedColumn",
    "Restored",
    "Route",
    "RowReleaser",
    "RowStage",
    "Rule",
    "SAMPLED",
    "Sequential",
    "SideChannel",
    "SparseArrivals",
    "Stage",
    "StateFinder",
    "Steps",
    "THETA_GRID",
    "TrueFile",
    "UNTOUCHED",
    "UNUSUAL",
    "UnitFigures",
    "ValueCounter",
    "WEIGHTS",
    "Weights",
    "_exchanged",
    "_gathered",
    "_in_words",
    "_independent",
    "_with_values",
    "achieved",
    "acting",
    "advice_of",
    "allowed_pairs",
    "arrivals",
    "arrivals_of",
    "assess",
    "assess_tables",
    "assessment",
    "assigned",
    "balanced",
    "beaten_by",
    "bound_is_kept",
    "bounds_kept",
    "build_stages",
    "by_text",
    "check_bounds",
    "check_kept",
    "check_match",
    "check_matrix",
    "check_prior",
    "check_public",
    "check_rows",
    "check_side_channels",
    "choose_keys",
    "closed_forms",
    "codebook_csv",
    "codebook_of",
    "column_fit",
    "composed",
    "corner",
    "count_distributions",
    "count_external",
    "count_file",
    "datapackage",
    "ddi_codebook",
    "dependence",
    "drawn_together",
    "draws_of",
    "draws_told",
    "dumps",
    "exempted",
    "expected_share",
    "expected_table",
    "expected_variation",
    "find_levels",
    "flow_solver",
    "flows",
    "formula_columns",
    "guess_column",
    "guess_columns",
    "guessed",
    "highest_share",
    "identity_disclosure",
    "inflation_of",
    "internal_receipt",
    "internal_text",
    "interval_overlap",
    "is_kept",
    "is_kept_as_drawn",
    "joined_columns",
    "keeps_bounds",
    "kept_columns",
    "kept_of",
    "kept_with_matrices",
    "kronecker_arrivals",
    "labels_for",
    "ledger",
    "match_chances",
    "match_risks",
    "matrix_checks",
    "matrix_tables",
    "mixed_risk",
    "moves_of",
    "needed_columns",
    "needed_tables",
    "numbered",
    "open_release",
    "path_parities",
    "percentile",
    "prepared",
    "processing",
    "program_of",
    "public_receipt",
    "publication",
    "reach_of",
    "read_amounts",
    "read_ledger",
    "read_plan",
    "read_rule",
    "read_units",
    "readme",
    "realised_risks",
    "receipt_contents",
    "receipt_from_dict",
    "recipes",
    "recoded",
    "recoding_of",
    "release_batches",
    "release_folder",
    "release_folder_module",
    "release_pass",
    "released_counts",
    "repeated",
    "repeated_releases",
    "risks_of",
    "round_flows",
    "rounded_down",
    "rounded_share",
    "rounded_up",
    "route_of",
    "row_plan",
    "same_units",
    "schema",
    "sha256_of",
    "share_by_domain",
    "short_states",
    "side_channels",
    "solve",
    "solved",
    "stage_from_dict",
    "stage_to_dict",
    "stages_of",
    "state_categories",
    "strict_risk",
    "sums_of_terms",
    "support",
    "tables_of",
    "target_risks",
    "told",
    "unchanged_columns",
    "unit_draws",
    "unknown_label",
    "unprotected_states",
    "verify_release",
    "write_internal",
    "write_public",
    "write_risks",
]
