"""``plot``: the picture that suits a value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.errors import WrongTypeError
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.share_estimate import Estimate
from maskwell.planning.design_choice import Choice
from maskwell.planning.sample_size import SamplePlan
from maskwell.privacy.criteria import Demand, stands_for
from maskwell.privacy.design_audit import Audit
from maskwell.release.assessment import Release
from maskwell.release.risk.risk_report import RiskReport
from maskwell.release.risk_utility import RiskUtilityPoint
from maskwell.release.utility.utility_report import UtilityReport
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.choice_picture import plot_choice
from maskwell.reports.pictures.demand_regions import plot_demand, plot_demands
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.forest_plot import plot_coefficients
from maskwell.reports.pictures.precision_picture import plot_margins
from maskwell.reports.pictures.revelation import plot_revealed
from maskwell.reports.pictures.risk_curves import plot_release_risk, plot_risk_report
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.pictures.utility_pictures import plot_associations
from maskwell.verbs.estimate import EstimateResult
from maskwell.verbs.mine import MinedBaskets


def _of_design(design: Design, **options: Any) -> Picture:
    return plot_revealed(stands_for(design), **{"decimals": design.decimals, **options})


def _of_audit(audit: Audit, **options: Any) -> Picture:
    demand = audit.demand if isinstance(audit.demand, Demand) else None
    return _of_design(audit.design, **{"demand": demand, **options})


PICTURES: dict[type, Any] = {
    Audit: _of_audit,
    Choice: plot_choice,
    Demand: plot_demand,
    Design: _of_design,
    Estimate: plot_learned,
    EstimateResult: EstimateResult.plot,
    MinedBaskets: MinedBaskets.plot,
    Regression: plot_coefficients,
    Release: plot_release_risk,
    RiskReport: plot_risk_report,
    SamplePlan: plot_margins,
    UtilityReport: plot_associations,
}
"""The picture of each kind of value."""

PICTURES_OF_SEVERAL: dict[type, Any] = {Demand: plot_demands, RiskUtilityPoint: plot_risk_utility}
"""The picture of a list of them."""


def plot(value: Any, **options: Any) -> Picture:
    """Draw the picture that suits a value; a notebook shows it, and its ``save`` writes it into a file.

    Parameters
    ----------
    value
        A design (or the path of its file), an audit, a demand, a choice, an estimate, a regression, itemsets that were
        mined, a plan of a sample, a release, a risk or utility report; or a list of demands or of points of a
        risk-utility map.
    **options
        Of the picture in ``maskwell.plots``.

    >>> import maskwell as mw
    >>> plot(mw.make_design("warner", p="0.75")).title
    'What a report reveals'
    """
    if isinstance(value, str | os.PathLike):
        value = read_design(value)
    if isinstance(value, Sequence) and value:
        pictures, kind = PICTURES_OF_SEVERAL, type(value[0])
    else:
        pictures, kind = PICTURES, type(value)
    for known, draw in pictures.items():
        if issubclass(kind, known):
            picture: Picture = draw(value, **options)
            return picture
    raise WrongTypeError(
        f"no picture for a {kind.__name__}",
        hint="maskwell.plots has all pictures, with what each of them draws",
        type=kind,
    )
