"""``maskwell design``: one command for each named device, for matrices, and for designs put together.

A family that is tuned takes a demand in place of the parameter that decides about protection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.cli import options as opt
from maskwell.cli.help_page import HelpPage
from maskwell.cli.main import CommandGroup
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError, TooLargeError

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.procedures.procedure import Parameter, Procedure


F = TypeVar("F", bound=Callable[..., Any])
RATIO_HELP = "Instead of {}: largest likelihood ratio of a report in favour of the sensitive category."


class FamilyGroup(CommandGroup):
    """One command for each procedure of the registry, and those in files of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All families, in the order of the registry."""
        from maskwell.procedures.registry import PROCEDURES

        return [*PROCEDURES, *sorted(super().list_commands(ctx))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a family."""
        from maskwell.procedures.registry import PROCEDURES

        if cmd_name in PROCEDURES:
            return _family_command(PROCEDURES[cmd_name])
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=FamilyGroup,
    subcommand_metavar="FAMILY [OPTIONS]",
    epilog=opt.example("maskwell design k-ary --categories never,once,often --epsilon 1 -o design.json"),
)
def design() -> None:
    """Make a design file."""


OUTPUT_HELP = "File for the design; - is standard output."
AVERAGE = "--average mixes the designs that are equal by symmetry: shares may then be estimated"
SUBSET = "maskwell design subset makes a design from which shares can be estimated"
MOST_ITEMS = 62  # bits of a report that one code numbers
UTILITY_HELP = "Utility to maximise: mutual-information, chi-square, total-variation or guess."

SAVING: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("-o", "--output"), {"type": opt.FilePath(), "metavar": "D.json", "help": OUTPUT_HELP}),
    (("--force",), {"is_flag": True, "help": "Replace the file if it exists."}),
    (("--json", "as_json"), {"is_flag": True, "help": "Print one JSON object and nothing else."}),
]
"""Where the design file goes, and what is printed; commands hand these options to :func:`saved`."""


def saving(command: F) -> F:
    """All of them, as a decorator."""
    for names, shape in reversed(SAVING):
        command = click.option(*names, **shape)(command)
    return command


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
    from maskwell.privacy.design_audit import counted_reports
    from maskwell.reports.text.design_report import design_report

    if as_json and output == "-":
        raise ParameterError("json-and-o-both-need-standard")
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
        print_lines(design_report(made, output if output != "-" else None, note), err=output == "-")


def _family_command(procedure: Procedure) -> click.Command:
    from maskwell.procedures.procedure import Kind
    from maskwell.verbs.design import solved, tunable

    params: list[click.Parameter] = []
    may_miss = bool(solved(procedure))
    for parameter in procedure.parameters:
        params += opt.demand_parameters() if parameter.kind is Kind.DEMAND else [_option(parameter, may_miss=may_miss)]
    way = tunable(procedure)
    if way is not None:  # a demand in place of a parameter, except in words that the family uses for something else
        taken = {parameter.option for parameter in procedure.parameters}
        params += [option for option in opt.demand_parameters() if not taken & set(option.opts)]
        params.append(click.Option(["--max-ratio"], metavar="R", help=RATIO_HELP.format(f"--{way.free}")))
    if "truths" not in procedure.fixed:
        usual = "" if procedure.truths is None else f" instead of {', '.join(map(str, procedure.truths))}"
        help_ = f"Labels of the true categories{usual}. {opt.LABELS_HELP}"
        params.append(click.Option(["--categories"], metavar="A,B,...", help=help_))
    if procedure.needs_categories:
        params.append(click.Option(["--k"], metavar="K", help="Number of categories, labelled 0, 1, 2, ..."))
    if "reports" not in procedure.fixed:
        params.append(click.Option(["--reports"], metavar="X,Y,...", help="Labels of the reports, in the same form."))
    if procedure.may_fail:
        allow = "Allow a design from which shares cannot be estimated."
        params.append(click.Option(["--allow-unidentifiable"], is_flag=True, help=allow))
    return HelpPage(
        procedure.name,
        params=[*params, *(click.Option(names, **shape) for names, shape in SAVING)],
        callback=_callback(procedure),
        help=f"{procedure.summary[0].upper()}{procedure.summary[1:]}.\n\nSource: {procedure.source}.",
        short_help=procedure.summary,
        epilog=opt.example(f"maskwell design {procedure.name} {procedure.example} -o design.json"),
    )


def _option(parameter: Parameter, *, may_miss: bool) -> click.Option:
    from maskwell.procedures.procedure import Kind

    help_ = f"{parameter.help[0].upper()}{parameter.help[1:]}."
    if parameter.kind is Kind.LABELS:
        help_ = f"{help_} {opt.LABELS_HELP}"
    if parameter.kind is Kind.FLAG:
        return click.Option([parameter.option], is_flag=True, help=help_)
    many = parameter.kind in (Kind.PROBABILITIES, Kind.LABELS)
    metavar = "A,B,..." if many else parameter.name[0].upper()
    needed = parameter.required and not parameter.planned and not may_miss
    return click.Option([parameter.option, parameter.name], required=needed, metavar=metavar, help=help_)


def _callback(procedure: Procedure) -> Callable[..., None]:
    def make(**options: Any) -> None:
        from maskwell.verbs.design import design as make_design

        categories = opt.read_categories(options.get("categories"), options.get("k"))
        if procedure.needs_categories and categories is None:
            raise ParameterError("needs-the-categories-of-the-truth", name=procedure.name)
        reports = options.get("reports")
        typed = {parameter.name: (parameter, options.get(parameter.name)) for parameter in procedure.parameters}
        made = make_design(
            procedure.name,
            categories=categories,
            reports=None if reports is None else opt.read_labels(reports, "--reports"),
            max_ratio=options.get("max_ratio"),
            allow_unidentifiable=options.get("allow_unidentifiable", False),
            **_words(procedure, options),
            **{name: _read(parameter, value) for name, (parameter, value) in typed.items() if value is not None},
        )
        saved(made, **{name: options[name] for name in ("output", "force", "as_json")})

    return make


def _words(procedure: Procedure, options: dict[str, Any]) -> dict[str, Any]:
    """The demand among the options, in its words; an error where one is needed, or a parameter in its place."""
    from maskwell.procedures.procedure import Kind
    from maskwell.verbs.design import split_words, tunable
    from maskwell.verbs.inputs import check_words, no_demand

    words = {name: value for name, value in split_words(procedure, options)[1].items() if value is not None}
    check_words(words)
    if tunable(procedure) is not None and not words.keys() & {*opt.DEMANDS} and options.get("max_ratio") is None:
        for parameter in procedure.parameters:
            if parameter.required and options.get(parameter.name) is None:
                raise click.UsageError(f"Missing option '{parameter.option}'.", ctx=click.get_current_context())
    needed = any(parameter.kind is Kind.DEMAND and parameter.required for parameter in procedure.parameters)
    if needed and not words.keys() & {*opt.DEMANDS}:
        raise no_demand(procedure.name)
    return words


def _read(parameter: Parameter, value: Any) -> Any:
    from maskwell.core.arguments import as_count
    from maskwell.procedures.procedure import Kind

    if parameter.kind is Kind.LABELS:
        labels = opt.read_labels(value, parameter.option)
        if len(labels) == 1 and labels[0].isdecimal():
            count = as_count(labels[0], "items")  # how many, instead of their names
            if count > MOST_ITEMS:
                raise TooLargeError("items-at-most-can-be-reported", count=count, most_items=MOST_ITEMS)
            return [str(i + 1) for i in range(count)]
        return labels
    if parameter.kind is Kind.PROBABILITIES:
        return opt.split_list(value, parameter.option)
    return as_count(value, parameter.name) if parameter.kind is Kind.COUNT else value


@design.command(
    short_help="any matrix, read from a file",
    epilog=opt.example(
        "printf '0.7,0.3\\n0.3,0.7\\n' > p.csv", "maskwell design matrix p.csv --categories yes,no -o design.json"
    ),
)
@click.argument("file", type=opt.FilePath())
@click.option("--rows", is_flag=True, help="Lines of FILE, instead of columns, are true categories and sum to one.")
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {opt.LABELS_HELP}")
@click.option("--reports", metavar="X,Y,...", help="Labels of the reports, in the same form.")
@saving
def matrix(file: str, *, rows: bool, categories: str | None, reports: str | None, **where: Any) -> None:
    """Any matrix: lines are reports, columns are true categories and sum to one.

    FILE has numbers or fractions: CSV, with or without a line of category labels and a first column of report labels;
    JSON, a list of lists; or NPY.
    """
    from maskwell.verbs.design import design as make_design

    made = make_design(
        "matrix",
        matrix=file,
        rows=rows,
        categories=None if categories is None else opt.read_labels(categories, "--categories"),
        reports=None if reports is None else opt.read_labels(reports, "--reports"),
    )
    saved(made, inputs=(file,), **where)


@design.command(
    short_help="the most useful reports for assumed shares",
    epilog=opt.example("maskwell design extremal --pi 0.5,0.3,0.2 --gamma 3 -o design.json"),
)
@click.option("--pi", metavar="A,B,...", required=True, help="Assumed shares of the categories.")
@opt.demand_options()("demand")  # type: ignore[untyped-decorator]
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {opt.LABELS_HELP}")
@click.option("--k", metavar="K", help="Number of categories, labelled 0, 1, 2, ...")
@click.option("--utility", metavar="U", default="mutual-information", show_default=True, help=UTILITY_HELP)
@click.option(
    "--average", is_flag=True, help="Mix all designs that are equal by symmetry, so that shares can be estimated."
)
@saving
def extremal(
    pi: str,
    *,
    categories: str | None,
    k: str | None,
    utility: str,
    average: bool,
    demand: dict[str, Any],
    **where: Any,
) -> None:
    """The design of the largest utility for assumed shares, by a linear program; up to 14 categories.

    It is optimal for the assumed shares only. If it does not identify all shares, a note says so; --average or
    maskwell design subset gives a design that does.

    Source: Kairouz, Oh and Viswanath 2016.
    """
    from maskwell.planning.extremal import extremal_design
    from maskwell.verbs.inputs import needed_demand

    shares, labels = opt.split_list(pi, "--pi"), opt.read_categories(categories, k)
    asked = needed_demand(None, demand, "extremal")
    best = extremal_design(shares, asked, labels, utility=utility, average=average)
    way_out = "" if best.identifiable else AVERAGE if best.may_be_averaged else SUBSET
    saved(best.design, more=best.to_dict(), note=way_out, **where)


def _of_designs(name: str, file: str, short_help: str, told: str) -> None:
    """A command that puts designs together, which are read from files."""

    @saving
    def make(designs: tuple[str, ...], **where: Any) -> None:
        from maskwell.verbs.design import design as make_design

        saved(make_design(name, designs=designs), inputs=designs, **where)

    example = opt.example("maskwell design warner --p 0.7 -o w.json", f"maskwell design {name} w.json w.json -o {file}")
    files = click.argument("designs", metavar="D...", type=opt.FilePath(), nargs=-1, required=True)
    design.command(name, short_help=short_help, help=told, epilog=example)(files(make))


_of_designs(
    "kronecker",
    "both.json",
    "several variables, each with its own design",
    "Several variables, each randomized by its own design; the first one varies slowest.",
)
_of_designs(
    "repeated",
    "twice.json",
    "one question asked several times of the same person",
    "One question asked several times of the same person, by designs over the same categories.\n\nThe report is the "
    "tuple of all answers. Each further answer reveals more about the person.",
)


@design.command(
    short_help="several questions answered by one draw from one device",
    epilog=opt.example(
        "maskwell design warner --p 1 -o true.json",
        "maskwell design warner --p 0 -o false.json",
        "maskwell design shared --outcome 3/4=true.json,true.json --outcome 1/4=false.json,false.json",
    ),
)
@click.option(
    "--outcome",
    "outcomes",
    metavar="W=D1,D2,...",
    multiple=True,
    required=True,
    help="Probability of an outcome, and a design for each question. Repeat for every outcome.",
)
@click.option("--allow-unidentifiable", is_flag=True, help="Allow a design from which shares cannot be estimated.")
@saving
def shared(outcomes: tuple[str, ...], *, allow_unidentifiable: bool, **where: Any) -> None:
    """Several questions answered by one draw from one device.

    The outcomes of the device have probabilities that sum to 1; each names one design file for every question. If every
    question has its own draw, use maskwell design kronecker instead.
    """
    from maskwell.verbs.design import design as make_design

    read = [_outcome(text) for text in outcomes]
    made = make_design("shared", outcomes=read, allow_unidentifiable=allow_unidentifiable)
    files = tuple(path for _, paths in read for path in paths)
    saved(made, inputs=files, **where)


def _outcome(text: str) -> tuple[str, list[str]]:
    """A chance and the files of an outcome."""
    weight, sign, paths = text.partition("=")
    if not sign:
        raise ParameterError("outcome-has-no-design", text=text)
    return weight, opt.split_list(paths, "--outcome")
