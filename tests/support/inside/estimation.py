"""Private names of ``estimation`` that tests need, each from the file it stands in."""

from maskwell.estimation import invariant_shares, itemset_mining, likelihood_intervals, maximum_likelihood
from maskwell.estimation.itemset_mining import mine_itemsets
from maskwell.estimation.itemset_supports import _BITS_OF_BYTE, ReportedBaskets, mean_of_products, ones_in
from maskwell.estimation.joint import independence
from maskwell.estimation.joint.conditionals import Ratios
from maskwell.estimation.joint.independence import degrees_of_freedom, expected, free_cells, slopes
from maskwell.estimation.joint.odds import OddsProfile, TableLikelihood, two_by_two
from maskwell.estimation.joint.variables import Layout, direct
from maskwell.estimation.maximisation import ascent
from maskwell.estimation.maximisation import log_likelihood as log_likelihood_module
from maskwell.estimation.maximisation.ascent import em_step, newton, squarem
from maskwell.estimation.maximisation.log_likelihood import Operators, Written, log_likelihood, value
from maskwell.estimation.maximum_likelihood import likelihood_of, mutual_information, unit_covariance
from maskwell.estimation.moments import sampling_part
from maskwell.estimation.regression.anchor_models import AnchorRows
from maskwell.estimation.regression.likelihood_search import climb
from maskwell.estimation.regression.model_matrix import ModelMatrix
from maskwell.estimation.regression.nested_models import compare_nested
from maskwell.estimation.regression.regression_likelihood import Likelihood, Predictor
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import Logit, MixtureRows, Softmax, expit_pair, softmax
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.release_variance import COVARIANCE_LIMIT
from maskwell.estimation.sampling import recovery
from maskwell.estimation.sampling.recovery import Recovery, Scores, reading_of
from maskwell.estimation.sampling.report_shares import estimate_simple
from maskwell.estimation.sampling.sample_stages import MultistageVariance
from maskwell.estimation.share_estimate import Flag
from maskwell.estimation.share_intervals import METHODS, clopper_pearson, wilson
from maskwell.estimation.stacked_samples import chance_of_stack
from maskwell.estimation.summed_shares import OWN_MARGIN

__all__ = [
    "AnchorRows",
    "COVARIANCE_LIMIT",
    "Evidence",
    "Flag",
    "Layout",
    "Likelihood",
    "Logit",
    "METHODS",
    "MixtureRows",
    "ModelMatrix",
    "MultistageVariance",
    "OWN_MARGIN",
    "OddsProfile",
    "Operators",
    "Predictor",
    "Ratios",
    "Recovery",
    "ReportedBaskets",
    "RowSampling",
    "Scores",
    "Softmax",
    "TableLikelihood",
    "Written",
    "_BITS_OF_BYTE",
    "ascent",
    "chance_of_stack",
    "climb",
    "clopper_pearson",
    "compare_nested",
    "degrees_of_freedom",
    "direct",
    "em_step",
    "estimate_simple",
    "expected",
    "expit_pair",
    "free_cells",
    "independence",
    "invariant_shares",
    "itemset_mining",
    "likelihood_intervals",
    "likelihood_of",
    "log_likelihood",
    "log_likelihood_module",
    "maximum_likelihood",
    "mean_of_products",
    "mine_itemsets",
    "mutual_information",
    "newton",
    "ones_in",
    "reading_of",
    "recovery",
    "sampling_part",
    "slopes",
    "softmax",
    "squarem",
    "two_by_two",
    "unit_covariance",
    "value",
    "wilson",
]
