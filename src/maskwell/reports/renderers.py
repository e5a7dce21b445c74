"""What draws and prints results when they are asked to show themselves, by name (core/display.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.forest_plot import plot_coefficients
from maskwell.reports.text.crosstab_report import crosstab_table
from maskwell.reports.text.estimate_report import estimate_table


def estimate_latex(estimate: Estimate, *, level: float, variables: Sequence[str], **options: Any) -> str:
    """Estimated shares as a table for a paper; ``options`` are those of ``estimate_table``."""
    return "\n".join(estimate_table(estimate, list(variables), level, **options).lines("latex"))


def table_latex(table: Table, *, level: float) -> str:
    """A table of two variables or more for a paper."""
    return "\n".join(crosstab_table(table, level).lines("latex"))


RENDERERS: dict[str, Callable[..., Any]] = {
    "plot_coefficients": plot_coefficients,
    "plot_learned": plot_learned,
    "estimate_latex": estimate_latex,
    "table_latex": table_latex,
}
