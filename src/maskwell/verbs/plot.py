"""``plot``: the picture that suits a value."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from maskwell.core.display import Result
from maskwell.designs.wire import read_design
from maskwell.microdata.risk_utility import RiskUtilityPoint
from maskwell.privacy.criteria import Demand
from maskwell.reports.pictures.canvas import Picture, styled
from maskwell.reports.pictures.demand_regions import plot_demands
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.renderers import picture_of

PICTURES_OF_SEVERAL: dict[type, Any] = {Demand: plot_demands, RiskUtilityPoint: plot_risk_utility}
"""The picture of a list of values."""


def plot(value: Any, **options: Any) -> Picture:
    """Draw the picture that suits a value; a notebook shows it, and its ``save`` writes it into a file.

    Parameters
    ----------
    value
        A design (or the path of its file), an audit, a demand, a choice, an estimate, a regression, itemsets that were
        mined, a plan of a sample, a release, a risk or utility report; or a list of demands or of points of a
        risk-utility map.
    **options
        Of the picture, as the page of pictures in the reference lists them; and for every picture ``title``,
        ``colours``, ``size`` and ``ax``, as in ``Picture.with_style``.

    >>> import maskwell as mw
    >>> plot(mw.design("warner", p="0.75")).title
    'What a report reveals'
    """
    if isinstance(value, str | os.PathLike):
        value = read_design(value)
    if isinstance(value, Sequence) and value:
        draw = next((draw for kind, draw in PICTURES_OF_SEVERAL.items() if isinstance(value[0], kind)), None)
        if draw is not None:
            return styled(draw, value, **options)
    picture: Picture = value.plot(**options) if isinstance(value, Result) else picture_of(value, **options)
    return picture
