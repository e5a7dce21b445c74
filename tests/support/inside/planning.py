"""Private names of ``planning`` that tests need, each from the file it stands in."""

from maskwell.planning import blackwell, improvement, order, replacement
from maskwell.planning.blackwell import Sufficiency
from maskwell.planning.comparison import default_grid
from maskwell.planning.design_choice import SIMPLER, recommend
from maskwell.planning.extremal import UTILITIES, utility_named
from maskwell.planning.one_sided import OneSided, incriminating_order
from maskwell.planning.replacement import best_added_variance
from maskwell.planning.respondent_variance import Sampling, line_through
from maskwell.planning.sample_allocation import _Samples
from maskwell.planning.set_sizes import added_variance, minimax_sizes, switch_gamma, switch_k
from maskwell.planning.stratum_allocation import whole_numbers
from maskwell.planning.tuning import TUNABLE, at_level, at_parity, diluted, retuned

__all__ = [
    "OneSided",
    "SIMPLER",
    "Sampling",
    "Sufficiency",
    "TUNABLE",
    "UTILITIES",
    "_Samples",
    "added_variance",
    "at_level",
    "at_parity",
    "best_added_variance",
    "blackwell",
    "default_grid",
    "diluted",
    "improvement",
    "incriminating_order",
    "line_through",
    "minimax_sizes",
    "order",
    "recommend",
    "replacement",
    "retuned",
    "switch_gamma",
    "switch_k",
    "utility_named",
    "whole_numbers",
]
