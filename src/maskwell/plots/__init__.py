"""Pictures: one function for each, and the Picture that they give."""

from __future__ import annotations

from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.choice_picture import plot_choice, plot_frontier
from maskwell.reports.pictures.demand_regions import plot_canonical, plot_demand, plot_demands, plot_family
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.forest_plot import plot_coefficients
from maskwell.reports.pictures.precision_picture import plot_margins, plot_variance
from maskwell.reports.pictures.revelation import plot_revealed
from maskwell.reports.pictures.risk_curves import plot_release_risk
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.pictures.transition_picture import plot_flows, plot_matrix
from maskwell.reports.pictures.utility_pictures import plot_associations, plot_inflation

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
