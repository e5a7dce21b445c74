"""Options that say how the rows of a file were sampled, shared by the commands that estimate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.cli.options import split_list
from maskwell.errors import MaskwellError, ParameterError

if TYPE_CHECKING:
    from maskwell.engines.plan_columns import PlanColumns
    from maskwell.engines.report_counts import SurveyTally
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule
    from maskwell.estimation.sampling.sampling_plan import Scheme

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


def plan_columns(given: Mapping[str, Any], by: str | None = None) -> PlanColumns:
    """The columns that were named."""
    from maskwell.engines.plan_columns import PlanColumns, population_of

    return PlanColumns(
        weights=given["weights"],
        inclusion=given["inclusion"],
        strata=given["strata"],
        clusters=_names(given["clusters"], "--clusters"),
        population=population_of(_names(given["population"], "--population")),
        replicates=given["replicates"],
        by=_names(by, "--by"),
        chances=given["poisson"],
    )


def _names(text: str | None, option: str) -> tuple[str, ...]:
    return () if text is None else tuple(split_list(text, option))


def check_columns(plan: PlanColumns, reports: Collection[str]) -> None:
    """Raise where a column of the plan holds randomized reports."""
    for name in plan.labelled:
        if name in reports:
            raise ParameterError(
                f"column {name!r} holds randomized reports: its values are no true groups",
                hint="make a table of two variables, with a --design for each column",
                column=name,
            )
    for name in plan.numeric:
        if name in reports:
            raise ParameterError(
                f"column {name!r} holds randomized reports, not weights or populations",
                hint="name the column that holds them",
                column=name,
            )


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


def scheme_of(given: Mapping[str, Any], tally: SurveyTally) -> Scheme:
    """How the rows were drawn, as the options say."""
    from maskwell.estimation.sampling.sampling_plan import Scheme

    if given["replicates"] is not None:
        return Scheme("replicates", replicates=_replicate_rule(given, tally))
    return Scheme("poisson" if given["poisson"] else "stages", lonely=given["lonely"])


def flags_of_options(given: Mapping[str, Any]) -> tuple[str, ...]:
    """What was assumed because no option said otherwise."""
    assumed = given["replicate_method"] == "jkn" and given["strata"] is None
    return ("no --strata: the strata of the jackknife are taken from the replicate weights",) if assumed else ()


def _replicate_rule(given: Mapping[str, Any], tally: SurveyTally) -> ReplicateRule:
    from maskwell.core.exact import as_fraction
    from maskwell.estimation.sampling.replicate_weights import (
        ReplicateRule,
        factors_of_replicates,
        fay_factor,
        strata_of_replicates,
    )

    method, rho = given["replicate_method"], None if given["fay"] is None else float(as_fraction(given["fay"], "fay"))
    if method == "fay" and rho is None and tally.ratios is not None:
        rho = fay_factor(tally.ratios)
    if method == "jkn" and given["strata"] is None and tally.ratios is not None:
        return ReplicateRule(method, rscales=factors_of_replicates(tally.ratios))
    strata = strata_of_replicates(tally.cells) if method == "jkn" else None
    return ReplicateRule(method, rho=rho, strata=strata)


def denominator_of(given: Mapping[str, Any]) -> float | None:
    """The size of the population that shares are to be taken of, None for the sum of the weights."""
    from maskwell.core.exact import as_fraction, to_float

    return None if given["denominator"] is None else to_float(as_fraction(given["denominator"], "denominator"))


def check_plan(given: Mapping[str, Any]) -> None:
    """Raise for options that would be left aside."""
    if given["denominator"] is not None and not (given["inclusion"] or given["weights"] or given["population"]):
        raise ParameterError(
            "--denominator without --weights, --inclusion or --population",
            hint="without them every row stands for itself, and shares are shares of the rows",
        )
    if given["replicate_method"] and not given["replicates"]:
        raise ParameterError("--replicate-method without --replicates", hint="name the columns: --replicates repw")
    if given["replicates"] and not given["replicate_method"]:
        raise ParameterError(
            "--replicates without --replicate-method", hint="say how they were made: jkn, brr, fay or bootstrap"
        )
    if given["fay"] is not None and given["replicate_method"] != "fay":
        raise ParameterError("--fay without --replicate-method fay", hint="leave it out, or name the method")
    if given["poisson"] and not (given["inclusion"] or given["weights"]):
        raise ParameterError(
            "--poisson without --inclusion or --weights", hint="name the column of the chances: --inclusion COL"
        )
