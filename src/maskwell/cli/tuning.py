"""``maskwell design FAMILY`` with a demand in place of the parameter that decides about protection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import DEMANDS, demand_parameters, given_demand
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.planning.tuning import Tunable
    from maskwell.procedures.procedure import Procedure

RATIO_HELP = "Instead of {}: how many times likelier a report may be from the sensitive category, at most."


def tunable(procedure: Procedure) -> Tunable | None:
    """How the family is tuned; None where it has no parameter to solve for, or takes demands already."""
    from maskwell.planning.tuning import TUNABLE

    found = TUNABLE.get(procedure.name)
    names = {parameter.name for parameter in procedure.parameters}
    return found if found is not None and set(found.kept) <= names else None


def solved(procedure: Procedure) -> set[str]:
    """Parameters that may be left out where a demand is given: the free one and those that follow from it."""
    found = tunable(procedure)
    return set() if found is None else {p.name for p in procedure.parameters} - set(found.kept)


def tuning_parameters(procedure: Procedure) -> list[click.Parameter]:
    """Options for a demand, except those that the family uses for something else."""
    found = tunable(procedure)
    if found is None:
        return []
    own = {parameter.option for parameter in procedure.parameters}
    demands = [option for option in demand_parameters() if not own & set(option.opts)]
    return [*demands, click.Option(["--ratio"], metavar="R", help=RATIO_HELP.format(f"--{found.free}"))]


def tuned_parameters(procedure: Procedure, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters that a demand leads to; None where none was given and all parameters are there."""
    from maskwell.planning.tuning import tuned

    found = tunable(procedure)
    if found is None:
        return None
    asked, given = _asked(procedure, options), [name for name in solved(procedure) if options.get(name) is not None]
    if asked is None:
        _check_complete(procedure, options)
        return None
    if given:
        raise ParameterError(
            f"--{given[0]} and {asked[0]} both decide about protection", hint=f"give {asked[0]} or --{found.free}"
        )
    kept = {name: options[name] for name in found.kept if options.get(name) is not None}
    made = tuned(procedure.name, measure=asked[1], value=asked[2], **kept)
    return dict(made.provenance["parameters"])


def demand_text(procedure: Procedure, options: Mapping[str, Any]) -> str | None:
    """The demand in words, for the note that goes with the design."""
    asked = None if tunable(procedure) is None else _asked(procedure, options)
    return None if asked is None else asked[0].removeprefix("--")


def _asked(procedure: Procedure, options: Mapping[str, Any]) -> tuple[str, str, Any] | None:
    """What is asked for in words, the measure and its value."""
    own = {parameter.name for parameter in procedure.parameters}
    demand = given_demand({name: value for name, value in options.items() if name not in own})
    ratio = options.get("ratio")
    if demand is not None and ratio is not None:
        raise ParameterError("--ratio and a demand are two bounds", hint="give one of them")
    if demand is not None:
        from maskwell.planning.set_sizes import gamma_of

        name = next(name for name in DEMANDS if name not in own and options.get(name) is not None)
        return f"--{name.replace('_', '-')} {_typed(options[name])}", "parity", gamma_of(demand)
    return None if ratio is None else (f"--ratio {ratio}", "ratio", ratio)


def _typed(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _check_complete(procedure: Procedure, options: Mapping[str, Any]) -> None:
    """The error of the command line for an option that is needed, as there is no demand in its place."""
    for parameter in procedure.parameters:
        if parameter.required and options.get(parameter.name) is None:
            raise click.UsageError(f"Missing option '{parameter.option}'.", ctx=click.get_current_context())
