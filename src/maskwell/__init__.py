"""maskwell: randomized response, from a privacy demand to an honest estimate.

>>> import maskwell as mw
>>> answers = mw.Categories.of(["never", "once", "often"])
>>> design = mw.Uniform.from_epsilon(1, answers)
>>> reports = design.randomize(["never", "often", "never", "once"])
>>> counts = design.tally(reports)
>>> counts.n
4
"""

from maskwell.core.categories import Categories
from maskwell.core.counts import Counts
from maskwell.core.randomness import SecureRandom, SeededRandom
from maskwell.core.reported import Reports
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.designs.mixture import Mixture
from maskwell.designs.subset import Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.designs.wire import design_from_dict
from maskwell.designs.wire import load as load_design
from maskwell.errors import MaskwellError
from maskwell.estimation.moments import estimate_by_moments
from maskwell.estimation.result import Estimate
from maskwell.planning.optimal import minimax_size
from maskwell.privacy.audit import Audit, audit
from maskwell.privacy.criteria import Demand

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Blocks",
    "Categories",
    "Composed",
    "Counts",
    "Demand",
    "Dense",
    "Design",
    "Estimate",
    "Kronecker",
    "LocalDiversity",
    "MaskwellError",
    "Mixture",
    "Reports",
    "SecureRandom",
    "SeededRandom",
    "Subset",
    "Unary",
    "Uniform",
    "audit",
    "design_from_dict",
    "estimate_by_moments",
    "load_design",
    "minimax_size",
]
