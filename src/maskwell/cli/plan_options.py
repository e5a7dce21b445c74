"""Options of ``maskwell plan`` for a survey whose designs are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from maskwell.cli.options import FilePath

F = TypeVar("F", bound=Callable[..., Any])

SURVEY = {
    "category": ("A", "With D: the category of interest; without it, the one that is hardest to estimate."),
    "power": ("P", "With D: the chance with which a test shall find the difference from --against."),
    "against": ("S", "With D: the share of the category that a test shall tell from that in --pi."),
    "alpha": ("A", "With --power or --against: the chance of a false alarm; 0.05 by default."),
    "deff": ("F", "With D: design effect of the open question in a complex sample; 1 by default."),
    "cv_weights": ("C", "With D: coefficient of variation of the weights; 0 by default."),
    "strata": (
        "FILE",
        "Divide respondents among strata: CSV with stratum, share, pi and, if they differ, design, cost.",
    ),
    "budget": ("B", "With --strata: what may be spent, where strata have a cost."),
}


def survey_options(command: F) -> F:
    """All of them, as a decorator."""
    for name, (metavar, help_) in reversed(SURVEY.items()):
        kind: dict[str, Any] = {"type": FilePath()} if name == "strata" else {}
        command = click.option(f"--{name.replace('_', '-')}", name, metavar=metavar, help=help_, **kind)(command)
    return command
