"""Options that say how the rows of a file were sampled, shared by the commands that estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.errors import MaskwellError

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS: dict[str, dict[str, Any]] = {
    "--weights": {"metavar": "COL", "help": "How many people each row stands for."},
    "--inclusion": {"metavar": "COL", "help": "Chance with which each row was drawn, in place of weights."},
    "--strata": {"metavar": "COL", "help": "Strata of the sample."},
    "--clusters": {"metavar": "COL", "help": "Clusters, nested in strata; A,B for two stages."},
    "--population": {
        "metavar": "N|COL",
        "help": "Units there were to draw from, in all or, in a column, in each stratum; A,B for two stages.",
    },
    "--denominator": {
        "metavar": "N",
        "help": "Known size of the population: shares are totals over N in place of the sum of the weights.",
    },
    "--replicates": {"metavar": "PREFIX", "help": "How the names of the columns of replicate weights start."},
    "--replicate-method": {
        "type": click.Choice(["jkn", "brr", "fay", "bootstrap"]),
        "help": "How the replicate weights were made.",
    },
    "--fay": {"metavar": "RHO", "help": "Fay's factor, with --replicate-method fay; seen in the weights by default."},
    "--poisson": {"is_flag": True, "help": "Rows were drawn independently of each other, each with its own chance."},
    "--lonely": {
        "type": click.Choice(["error", "certainty", "centre"]),
        "default": "error",
        "show_default": True,
        "help": "A stratum with one unit: refuse, take it as drawn for certain, or compare it with the overall mean.",
    },
}


def sampling_options(*names: str) -> Callable[[F], F]:
    """Some of them, or all, as a decorator; the command takes them as keywords."""

    def decorate(command: F) -> F:
        for name in reversed(names or tuple(OPTIONS)):
            command = click.option(name, **OPTIONS[name])(command)
        return command

    return decorate


@contextmanager
def in_options() -> Iterator[None]:
    """Hints of errors from within speak of options."""
    try:
        yield
    except MaskwellError as error:
        for words, option in OPTION_OF.items():
            error.hint = error.hint.replace(words, option)
        raise


OPTION_OF = {
    'say lonely "certainty" (sure to be drawn) or "centre" (use the overall mean)': (
        "--lonely certainty (sure to be drawn) or --lonely centre (overall mean)"
    ),
    "leave the population out": "leave --population out",
    "leave poisson out": "leave --poisson out",
    'leave out the clusters, or take "with-replacement" for clusters drawn with unequal chances': (
        "leave out --clusters, or leave out --poisson: clusters are then as if drawn with replacement"
    ),
    "name the strata of the rows": "name the strata of the rows with --strata",
    "give the factor of your data, such as 0.3 or 0.5": "give the factor of your data, such as --fay 0.3",
}
"""Words of hints for programs, and what the same is called here."""
