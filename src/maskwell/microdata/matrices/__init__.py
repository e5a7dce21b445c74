"""Transition matrices of a release: how they are chosen and made exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.matrices.bounds import Bounds as Bounds
    from maskwell.microdata.matrices.closed_forms import binary_theta as binary_theta
    from maskwell.microdata.matrices.closed_forms import inverse_frequency as inverse_frequency
    from maskwell.microdata.matrices.closed_forms import method1 as method1
    from maskwell.microdata.matrices.closed_forms import method2 as method2
    from maskwell.microdata.matrices.closed_forms import sequential_uniform as sequential_uniform
    from maskwell.microdata.matrices.closed_forms import theta_for_xi as theta_for_xi
    from maskwell.microdata.matrices.match_caps import Lowered as Lowered
    from maskwell.microdata.matrices.match_caps import lower_until as lower_until
    from maskwell.microdata.matrices.match_caps import method1_for_match as method1_for_match
    from maskwell.microdata.matrices.matrix_algebra import TwoStage as TwoStage
    from maskwell.microdata.matrices.matrix_algebra import blockwise as blockwise
    from maskwell.microdata.matrices.matrix_algebra import chained as chained
    from maskwell.microdata.matrices.matrix_algebra import conditional_matrix as conditional_matrix
    from maskwell.microdata.matrices.matrix_algebra import mixed as mixed
    from maskwell.microdata.matrices.matrix_algebra import two_stage as two_stage
    from maskwell.microdata.matrices.matrix_checks import check_invariant as check_invariant
    from maskwell.microdata.matrices.matrix_checks import check_never_creates as check_never_creates
    from maskwell.microdata.matrices.matrix_checks import check_no_forbidden as check_no_forbidden
    from maskwell.microdata.matrices.matrix_checks import check_publishable as check_publishable
    from maskwell.microdata.matrices.matrix_checks import expected_changed as expected_changed
    from maskwell.microdata.matrices.matrix_checks import expected_failures as expected_failures
    from maskwell.microdata.matrices.matrix_checks import invariance_error as invariance_error
    from maskwell.microdata.matrices.matrix_checks import is_invariant as is_invariant
    from maskwell.microdata.matrices.matrix_checks import recover_counts as recover_counts
    from maskwell.microdata.matrices.matrix_patterns import BlockThetas as BlockThetas
    from maskwell.microdata.matrices.matrix_patterns import blocks_for_xi as blocks_for_xi
    from maskwell.microdata.matrices.matrix_patterns import blocks_of_cells as blocks_of_cells
    from maskwell.microdata.matrices.matrix_patterns import inverse_frequency_by_block as inverse_frequency_by_block
    from maskwell.microdata.matrices.matrix_patterns import theta_for_block as theta_for_block
    from maskwell.microdata.matrices.matrix_patterns import thetas_for_blocks as thetas_for_blocks
    from maskwell.microdata.matrices.mixing import BlockRates as BlockRates
    from maskwell.microdata.matrices.mixing import mixing_matrix as mixing_matrix
    from maskwell.microdata.matrices.mixing import mixing_rate as mixing_rate
    from maskwell.microdata.matrices.mixing import rates_for_match as rates_for_match
    from maskwell.microdata.matrices.optimal_flows import OptimalMatrix as OptimalMatrix
    from maskwell.microdata.matrices.optimal_flows import optimal_matrix as optimal_matrix
    from maskwell.microdata.matrices.swap_flows import IntegerFlows as IntegerFlows
    from maskwell.microdata.matrices.swap_flows import SwapSampler as SwapSampler
    from maskwell.microdata.matrices.swap_flows import whole_flows as whole_flows
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "bounds": ["Bounds"],
            "closed_forms": [
                "binary_theta",
                "inverse_frequency",
                "method1",
                "method2",
                "sequential_uniform",
                "theta_for_xi",
            ],
            "match_caps": ["Lowered", "lower_until", "method1_for_match"],
            "matrix_algebra": ["TwoStage", "blockwise", "chained", "conditional_matrix", "mixed", "two_stage"],
            "matrix_checks": [
                "check_invariant",
                "check_never_creates",
                "check_no_forbidden",
                "check_publishable",
                "expected_changed",
                "expected_failures",
                "invariance_error",
                "is_invariant",
                "recover_counts",
            ],
            "matrix_patterns": [
                "BlockThetas",
                "blocks_for_xi",
                "blocks_of_cells",
                "theta_for_block",
                "thetas_for_blocks",
                "inverse_frequency_by_block",
            ],
            "mixing": ["BlockRates", "mixing_matrix", "mixing_rate", "rates_for_match"],
            "optimal_flows": ["OptimalMatrix", "optimal_matrix"],
            "swap_flows": ["IntegerFlows", "SwapSampler", "whole_flows"],
        },
    )
