"""Private names of ``designs`` that tests need, each from the file it stands in."""

from maskwell.designs import coded, column_arrays, kernels, kronecker, sampler, sparse, subset, wire
from maskwell.designs.asked_parity import asked_epsilon, asked_gamma
from maskwell.designs.basket_bits import find_item_bits
from maskwell.designs.coded import CodedDesign
from maskwell.designs.column_arrays import ColumnTable, ThresholdTable, leading_bits, threshold64
from maskwell.designs.dense import design_of
from maskwell.designs.design import big
from maskwell.designs.garbling import Garbling
from maskwell.designs.kronecker import along_axes
from maskwell.designs.patterns import codes_of, mask_of, set_labels
from maskwell.designs.proofs import gain_margin, garbling_residual, is_transition, verify_gain, verify_garbling
from maskwell.designs.rational import Frame, Matrix, independent_rows, inverse, product, solve_sparse
from maskwell.designs.row_reduction import equivalent, reduce_rows, reduce_rows_near, reduced_rows
from maskwell.designs.sampler import forget_tables
from maskwell.designs.subset import binomial
from maskwell.designs.unary import ESTIMATORS, binomial_bulk
from maskwell.designs.wire import dumps

__all__ = [
    "CodedDesign",
    "ColumnTable",
    "ESTIMATORS",
    "Frame",
    "Garbling",
    "Matrix",
    "ThresholdTable",
    "along_axes",
    "asked_epsilon",
    "asked_gamma",
    "big",
    "binomial",
    "binomial_bulk",
    "coded",
    "codes_of",
    "column_arrays",
    "design_of",
    "dumps",
    "equivalent",
    "find_item_bits",
    "forget_tables",
    "gain_margin",
    "garbling_residual",
    "independent_rows",
    "inverse",
    "is_transition",
    "kernels",
    "kronecker",
    "leading_bits",
    "mask_of",
    "product",
    "reduce_rows",
    "reduce_rows_near",
    "reduced_rows",
    "sampler",
    "set_labels",
    "solve_sparse",
    "sparse",
    "subset",
    "threshold64",
    "verify_gain",
    "verify_garbling",
    "wire",
]
