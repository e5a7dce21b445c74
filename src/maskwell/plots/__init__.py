"""The pictures, each a function that returns a :class:`~maskwell.plots.Picture`.

=========================  ====================================================================================
:func:`plot_flows`         *where your answer goes*: the reports that a truth may become
:func:`plot_learned`       *what we learn from everyone*: estimates, intervals, the two parts of an error
:func:`plot_revealed`      *what your report reveals*: belief before and after, what is ruled out, against a demand
:func:`plot_demand`        what a demand forbids
:func:`plot_demands`       two demands compared
:func:`plot_canonical`     what a demand really asks for
:func:`plot_family`        what each parity leaves possible
:func:`plot_frontier`      *choosing*: privacy against error, for every design
:func:`plot_choice`        the same for a choice that was made
:func:`plot_coefficients`  what goes with an outcome: coefficients of a regression with intervals
:func:`plot_margins`       *how exact a survey will be*: the margin against the respondents, in its two parts
:func:`plot_release_risk`  *before and after a release*: risk per record, the bound, and what it costs
:func:`plot_matrix`        *where records go*: the matrix of one randomization of a release
:func:`plot_risk_utility`  *choosing a bound for a release*: risk against change, each bound a point
:func:`plot_associations`  what goes with what in a file, before and after its release
:func:`plot_inflation`     what a release costs in precision
:func:`plot_variance`      what randomization costs, against categories and parity
=========================  ====================================================================================
"""

from __future__ import annotations

from typing import Any

__all__ = [
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
]


def __getattr__(name: str) -> Any:
    """A picture on first use: the files that draw are not loaded before."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maskwell.reports.pictures import (
        canvas,
        choice_picture,
        demand_regions,
        estimate_picture,
        forest_plot,
        precision_picture,
        revelation,
        risk_curves,
        risk_utility_map,
        transition_picture,
        utility_pictures,
    )

    homes = (
        canvas,
        choice_picture,
        demand_regions,
        estimate_picture,
        forest_plot,
        precision_picture,
        revelation,
        risk_curves,
        risk_utility_map,
        transition_picture,
        utility_pictures,
    )
    return next(getattr(home, name) for home in homes if hasattr(home, name))


def __dir__() -> list[str]:
    return __all__
