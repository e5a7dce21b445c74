"""Pictures: one function for each, and the Picture that they give."""

from __future__ import annotations

from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.choice_picture import plot_frontier
from maskwell.reports.pictures.demand_regions import plot_canonical, plot_family
from maskwell.reports.pictures.precision_picture import plot_variance
from maskwell.reports.pictures.transition_picture import plot_flows

__all__ = [
    "Picture",
    "plot_canonical",
    "plot_family",
    "plot_flows",
    "plot_frontier",
    "plot_variance",
]
