"""``maskwell design``: one command for each named device, and for matrices and products."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from maskwell.cli.lazy import CommandGroup
from maskwell.cli.options import (
    LABELS_HELP,
    FilePath,
    demand_options,
    demand_parameters,
    example,
    given_demand,
    json_option,
    needed_demand,
    read_categories,
    read_labels,
    split_list,
)
from maskwell.cli.output import print_json, print_lines
from maskwell.cli.tuning import demand_text, solved, tuned_parameters, tuning_parameters
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.categories import Categories
    from maskwell.designs.base import Design
    from maskwell.privacy.criteria import Demand
    from maskwell.procedures.procedure import Parameter, Procedure


SEVERAL = ("kronecker", "repeated", "shared")
"""Commands that put designs together, in :mod:`maskwell.cli.design_several`."""


class FamilyGroup(CommandGroup):
    """One command for each procedure of the registry, and those in files of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All families, in the order of the registry."""
        from maskwell.procedures.registry import PROCEDURES

        return [*PROCEDURES, *sorted([*super().list_commands(ctx), *SEVERAL])]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a family."""
        from maskwell.procedures.registry import PROCEDURES

        if cmd_name in PROCEDURES:
            return _family_command(PROCEDURES[cmd_name])
        if cmd_name in SEVERAL:
            return cast(click.Command, getattr(importlib.import_module("maskwell.cli.design_several"), cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=FamilyGroup,
    subcommand_metavar="FAMILY [OPTIONS]",
    epilog=example("maskwell design k-ary --categories never,once,often --epsilon 1 -o design.json"),
)
def design() -> None:
    """Make a design file."""


OUTPUT_HELP = "Where the design file goes; - is standard output."
AVERAGE = "--average mixes the designs that are equal by symmetry: shares may then be estimated"
SUBSET = "maskwell design subset makes a design from which shares can be estimated"
MOST_ITEMS = 62  # bits of a report that one code numbers
UTILITY_HELP = "What is made largest: mutual-information, chi-square, total-variation or guess."

output_options = [
    click.Option(["-o", "--output"], type=FilePath(), metavar="D.json", help=OUTPUT_HELP),
    click.Option(["--force"], is_flag=True, help="Replace the file if it exists."),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object and nothing else."),
]


def saved(
    made: Design,
    *,
    output: str | None,
    force: bool,
    as_json: bool,
    inputs: tuple[str, ...] = (),
    more: Mapping[str, Any] | None = None,
    note: str = "",
) -> None:
    """Write the design file, if asked, and print what was made; ``more`` goes into the JSON object."""
    from maskwell.core.atomic import atomic_file
    from maskwell.core.exact import to_text
    from maskwell.designs.wire import dumps
    from maskwell.privacy.audit import counted_reports
    from maskwell.reports.text import design_text

    if as_json and output == "-":
        raise ParameterError("--json and -o - both need standard output", hint="write the design to a file")
    content = {
        "design": made.to_dict(),
        "k": made.k,
        "m": counted_reports(made),
        "parity": made.parity(),
        "parity_exact": to_text(made.parity_exact()),
        "epsilon": made.epsilon(),
        **(more or {}),
    }
    if output is not None:
        with atomic_file(output, force=force, inputs=inputs) as file:
            file.write(dumps(made).encode())
    if as_json:
        print_json(content if output is None else {**content, "output": output})
    else:
        print_lines(design_text(made, output if output != "-" else None, note), err=output == "-")


# ---- families of the registry


def _family_command(procedure: Procedure) -> click.Command:
    from maskwell.procedures.procedure import Kind

    params: list[click.Parameter] = []
    tunable = bool(solved(procedure))
    for parameter in procedure.parameters:
        params += demand_parameters() if parameter.kind is Kind.DEMAND else [_option(parameter, may_miss=tunable)]
    params += tuning_parameters(procedure)
    if procedure.truths_named:
        params.append(click.Option(["--categories"], metavar="A,B,...", help=_categories_help(procedure)))
    if procedure.needs_categories:
        params.append(click.Option(["--k"], metavar="K", help="Number of categories, labelled 0, 1, 2, ..."))
    if procedure.reports_named:
        params.append(
            click.Option(["--reports"], metavar="X,Y,...", help="Labels of the reports, typed in the same way.")
        )
    if procedure.may_fail:
        allow = "Make it even if shares cannot be estimated from its reports."
        params.append(click.Option(["--allow-unidentifiable"], is_flag=True, help=allow))
    return click.Command(
        procedure.name,
        params=[*params, *output_options],
        callback=_callback(procedure),
        help=f"{procedure.summary[0].upper()}{procedure.summary[1:]}.\n\nSource: {procedure.source}.",
        short_help=procedure.summary,
        epilog=example(f"maskwell design {procedure.name} {procedure.example} -o design.json"),
    )


def _option(parameter: Parameter, *, may_miss: bool) -> click.Option:
    from maskwell.procedures.procedure import Kind

    help_ = f"{parameter.help[0].upper()}{parameter.help[1:]}."
    if parameter.kind is Kind.LABELS:
        help_ = f"{help_} {LABELS_HELP}"
    if parameter.kind is Kind.FLAG:
        return click.Option([parameter.option], is_flag=True, help=help_)
    many = parameter.kind in (Kind.PROBABILITIES, Kind.LABELS)
    metavar = "A,B,..." if many else parameter.name[0].upper()
    needed = parameter.required and not parameter.planned and not may_miss
    return click.Option([parameter.option, parameter.name], required=needed, metavar=metavar, help=help_)


def _categories_help(procedure: Procedure) -> str:
    if procedure.truths is None:
        return f"Labels of the true categories. {LABELS_HELP}"
    return f"Labels of the true categories instead of {', '.join(map(str, procedure.truths))}. {LABELS_HELP}"


def _callback(procedure: Procedure) -> Callable[..., None]:
    def make(*, output: str | None, force: bool, as_json: bool, **options: Any) -> None:
        from maskwell.core.categories import Categories

        categories = read_categories(options.get("categories"), options.get("k"))
        if procedure.needs_categories and categories is None:
            raise ParameterError(
                f"{procedure.name} needs the categories of the truth",
                hint="name them with --categories a,b,c, or say how many with --k 3",
            )
        reports = options.get("reports")
        tuned = tuned_parameters(procedure, options)
        made = procedure.design(
            _parameters(procedure, options, categories) if tuned is None else tuned,
            categories=categories,
            reports=None if reports is None else Categories.of(read_labels(reports, "--reports")),
            allow_unidentifiable=options.get("allow_unidentifiable", False),
        )
        saved(_with_demand(made, procedure, options), output=output, force=force, as_json=as_json)

    return make


def _with_demand(made: Design, procedure: Procedure, options: dict[str, Any]) -> Design:
    """The design with a note of the demand, where its parameters do not already say it."""
    from maskwell.planning.demanded import remembering
    from maskwell.procedures.procedure import Kind

    tuned = demand_text(procedure, options)
    if tuned is not None:
        return made.with_provenance(demand=tuned)
    asked = any(parameter.kind is Kind.DEMAND for parameter in procedure.parameters)
    demand = given_demand(options) if asked else None
    return made if demand is None else remembering(made, demand)


def _parameters(procedure: Procedure, options: dict[str, Any], categories: Categories | None) -> dict[str, Any]:
    """What the builder takes, from the texts of the command line."""
    from maskwell.procedures.procedure import Kind

    given: dict[str, Any] = {}
    for parameter in procedure.parameters:
        if parameter.kind is Kind.DEMAND:
            demand = needed_demand(options, procedure.name) if parameter.required else given_demand(options)
            given |= {} if demand is None else _asked(demand, options)
        elif (value := options.get(parameter.name)) is not None:
            given[parameter.name] = _read(parameter, value)
    if any(p.planned and p.name not in given for p in procedure.parameters):
        given["size"] = _best_size(needed_demand(options, procedure.name), categories)
    return given


def _asked(demand: Demand, options: dict[str, Any]) -> dict[str, Any]:
    """A demand in the two words that builders know."""
    from maskwell.core.exact import to_text

    if demand.name in ("gamma", "epsilon"):
        return {demand.name: options[demand.name]}
    return {"gamma": to_text(demand.reachable)}


def _read(parameter: Parameter, value: Any) -> Any:
    from maskwell.core.arguments import as_count
    from maskwell.procedures.procedure import Kind

    if parameter.kind is Kind.LABELS:
        labels = read_labels(value, parameter.option)
        if len(labels) == 1 and labels[0].isdecimal():
            return [str(i + 1) for i in range(_item_count(labels[0]))]  # how many, instead of their names
        return labels
    if parameter.kind is Kind.PROBABILITIES:
        return split_list(value, parameter.option)
    return as_count(value, parameter.name) if parameter.kind is Kind.COUNT else value


def _item_count(text: str) -> int:
    from maskwell.core.arguments import as_count
    from maskwell.errors import TooLargeError

    count = as_count(text, "items")
    if count > MOST_ITEMS:
        raise TooLargeError(
            f"{count:,} items; at most {MOST_ITEMS} can be reported together", hint="ask for fewer items"
        )
    return count


def _best_size(demand: Demand, categories: Categories | None) -> int:
    """The minimax size of subset selection for a demand."""
    from maskwell.planning.optimal import minimax_size

    assert categories is not None
    return minimax_size(len(categories), demand)


# ---- families from files


@design.command(
    short_help="any matrix, read from a file",
    epilog=example(
        "printf '0.7,0.3\\n0.3,0.7\\n' > p.csv", "maskwell design matrix p.csv --categories yes,no -o design.json"
    ),
)
@click.argument("file", type=FilePath())
@click.option("--rows", is_flag=True, help="Lines of FILE are truths and sum to one, instead of columns.")
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {LABELS_HELP}")
@click.option("--reports", metavar="X,Y,...", help="Labels of the reports, typed in the same way.")
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help=OUTPUT_HELP)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def matrix(
    file: str,
    *,
    rows: bool,
    categories: str | None,
    reports: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Any matrix: lines are reports, columns are truths and sum to one.

    FILE holds numbers or fractions: CSV, alone or with a line of category labels and a first column of report labels;
    JSON, a list of lists; or NPY.
    """
    from maskwell.core.categories import Categories
    from maskwell.designs.dense import Dense
    from maskwell.engines.handwritten_files import read_matrix

    found = read_matrix(file)
    truths, given = (found.row_labels, found.column_labels) if rows else (found.column_labels, found.row_labels)
    truths = truths if categories is None else Categories.of(read_labels(categories, "--categories"))
    given = given if reports is None else Categories.of(read_labels(reports, "--reports"))
    make = Dense.from_rows if rows else Dense.of
    made = make(found.entries, truths, given).with_provenance(family="matrix", parameters={"rows": rows})
    saved(made, output=output, force=force, as_json=as_json, inputs=(file,))


# ---- from assumed shares


@design.command(
    short_help="the most useful reports for assumed shares",
    epilog=example("maskwell design extremal --pi 0.5,0.3,0.2 --gamma 3 -o design.json"),
)
@click.option("--pi", metavar="A,B,...", required=True, help="Assumed shares of the categories.")
@demand_options
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {LABELS_HELP}")
@click.option("--k", metavar="K", help="Number of categories, labelled 0, 1, 2, ...")
@click.option("--utility", metavar="U", default="mutual-information", show_default=True, help=UTILITY_HELP)
@click.option("--average", is_flag=True, help="Mix all designs that are equal by symmetry: shares stay estimable.")
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help=OUTPUT_HELP)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def extremal(
    pi: str,
    *,
    categories: str | None,
    k: str | None,
    utility: str,
    average: bool,
    output: str | None,
    force: bool,
    as_json: bool,
    **demand: Any,
) -> None:
    """The most useful reports for assumed shares, by a linear program; up to 14 categories.

    It is optimal for the shares that you assume. Where it cannot tell all shares apart, it says so, and --average or
    maskwell design subset gives a design that can.

    Source: Kairouz, Oh and Viswanath 2016.
    """
    from maskwell.planning.extremal import extremal_design

    shares, labels = split_list(pi, "--pi"), read_categories(categories, k)
    asked = needed_demand(demand, "extremal")
    found = extremal_design(shares, asked, labels, utility=utility, average=average)
    way_out = "" if found.identifiable else AVERAGE if found.may_be_averaged else SUBSET
    saved(found.design, output=output, force=force, as_json=as_json, more=found.to_dict(), note=way_out)
