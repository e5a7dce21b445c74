"""maskwell: randomized response, from a privacy demand to an honest estimate.

>>> import maskwell as mw
>>> design = mw.choose(categories=["never", "once", "often"], epsilon=1).design
>>> reports = mw.randomize({"answer": ["never", "often", "never", "once"]}, {"answer": design})
>>> mw.estimate(reports, {"answer": design}).n
4

Values and one verb for each command stand here; everything else stands one level down, in the room that owns it. Names
are loaded on first use, so that ``import maskwell`` costs next to nothing. The imports that only type checkers, editors
and the import contracts read are the same list as the table that is used at run time; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from maskwell.core import display as _display
from maskwell.engines import register_libraries as _register_libraries

if TYPE_CHECKING:
    from maskwell import designs as designs
    from maskwell import estimation as estimation
    from maskwell import microdata as microdata
    from maskwell import planning as planning
    from maskwell import privacy as privacy
    from maskwell import procedures as procedures
    from maskwell.core.categories import Categories as Categories
    from maskwell.core.keyed import KeyedRandom as KeyedRandom
    from maskwell.core.randomness import SecureRandom as SecureRandom
    from maskwell.core.randomness import SeededRandom as SeededRandom
    from maskwell.core.report_data import Counts as Counts
    from maskwell.designs.design import Design as Design
    from maskwell.designs.wire import load_design as load_design
    from maskwell.errors import MaskwellError as MaskwellError
    from maskwell.estimation.sampling.sampling_description import Sampling as Sampling
    from maskwell.microdata.plans.release_plan import ReleasePlan as ReleasePlan
    from maskwell.microdata.release_values import Release as Release
    from maskwell.privacy.criteria import Demand as Demand
    from maskwell.verbs.audit import audit as audit
    from maskwell.verbs.certify import certify as certify
    from maskwell.verbs.certify import verify as verify
    from maskwell.verbs.choose import choose as choose
    from maskwell.verbs.compare import compare as compare
    from maskwell.verbs.convert import convert as convert
    from maskwell.verbs.described_survey import Survey as Survey
    from maskwell.verbs.design import design as design
    from maskwell.verbs.device import device as device
    from maskwell.verbs.estimate import estimate as estimate
    from maskwell.verbs.improve import improve as improve
    from maskwell.verbs.inputs import When as When
    from maskwell.verbs.mine import mine as mine
    from maskwell.verbs.plot import plot as plot
    from maskwell.verbs.randomize import randomize as randomize
    from maskwell.verbs.regress import regress as regress
    from maskwell.verbs.release import release as release
    from maskwell.verbs.risk import risk as risk
    from maskwell.verbs.sample_size import sample_size as sample_size
    from maskwell.verbs.share_results import Shares as Shares
    from maskwell.verbs.tabulate import tabulate as tabulate
    from maskwell.verbs.tally import tally as tally
else:
    import lazy_loader

    __getattr__, _, _ = lazy_loader.attach(
        __name__,
        [
            "designs",
            "privacy",
            "procedures",
            "planning",
            "estimation",
            "microdata",
            "plots",
            "cli",
            "core",
            "engines",
            "errors",
            "reports",
            "verbs",
        ],
        {
            "core.categories": ["Categories"],
            "core.keyed": ["KeyedRandom"],
            "core.randomness": ["SecureRandom", "SeededRandom"],
            "core.report_data": ["Counts"],
            "designs.design": ["Design"],
            "designs.wire": ["load_design"],
            "errors": ["MaskwellError"],
            "estimation.sampling.sampling_description": ["Sampling"],
            "privacy.criteria": ["Demand"],
            "microdata.plans.release_plan": ["ReleasePlan"],
            "microdata.release_values": ["Release"],
            "verbs.audit": ["audit"],
            "verbs.certify": ["certify", "verify"],
            "verbs.choose": ["choose"],
            "verbs.compare": ["compare"],
            "verbs.convert": ["convert"],
            "verbs.device": ["device"],
            "verbs.estimate": ["estimate"],
            "verbs.improve": ["improve"],
            "verbs.inputs": ["When"],
            "verbs.design": ["design"],
            "verbs.mine": ["mine"],
            "verbs.plot": ["plot"],
            "verbs.release": ["release"],
            "verbs.randomize": ["randomize"],
            "verbs.regress": ["regress"],
            "verbs.risk": ["risk"],
            "verbs.sample_size": ["sample_size"],
            "verbs.share_results": ["Shares"],
            "verbs.described_survey": ["Survey"],
            "verbs.tabulate": ["tabulate"],
            "verbs.tally": ["tally"],
        },
    )

__version__ = "0.1.0"

__all__ = [
    # values
    "Categories",
    "Counts",
    "Design",
    "Demand",
    "Survey",
    "Sampling",
    "When",
    "Shares",
    "ReleasePlan",
    "Release",
    "SecureRandom",
    "SeededRandom",
    "KeyedRandom",
    "MaskwellError",
    # one verb for each command
    "design",
    "load_design",
    "convert",
    "choose",
    "sample_size",
    "audit",
    "certify",
    "verify",
    "improve",
    "compare",
    "device",
    "randomize",
    "tally",
    "estimate",
    "tabulate",
    "regress",
    "mine",
    "release",
    "risk",
    "plot",
    # rooms
    "designs",
    "privacy",
    "procedures",
    "planning",
    "estimation",
    "microdata",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _renderers() -> Mapping[str, Callable[..., Any]]:
    """What draws and prints results: known here, above all rooms, and loaded when a result is to be shown."""
    from maskwell.reports.renderers import RENDERERS

    return RENDERERS


_display.register(_renderers)
_register_libraries()
