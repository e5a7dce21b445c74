"""``maskwell design kronecker``, ``repeated`` and ``shared``: several questions, several answers, one draw for all."""

from __future__ import annotations

import click

from maskwell.cli.design import OUTPUT_HELP, saved
from maskwell.cli.options import FilePath, example, json_option, load_design, split_list
from maskwell.errors import ParameterError


@click.command(
    short_help="several variables, each with a design of its own",
    epilog=example("maskwell design warner --p 0.7 -o w.json", "maskwell design kronecker w.json w.json -o both.json"),
)
@click.argument("designs", metavar="D...", type=FilePath(), nargs=-1, required=True)
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help=OUTPUT_HELP)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def kronecker(designs: tuple[str, ...], *, output: str | None, force: bool, as_json: bool) -> None:
    """Several variables, each randomized by its own design; the first is slowest."""
    from maskwell.designs.kronecker import Kronecker

    made = Kronecker.of(load_design(path) for path in designs).with_provenance(family="kronecker")
    saved(made, output=output, force=force, as_json=as_json, inputs=designs)


@click.command(
    short_help="one question asked several times of the same person",
    epilog=example("maskwell design warner --p 0.7 -o w.json", "maskwell design repeated w.json w.json -o twice.json"),
)
@click.argument("designs", metavar="D...", type=FilePath(), nargs=-1, required=True)
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help=OUTPUT_HELP)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def repeated(designs: tuple[str, ...], *, output: str | None, force: bool, as_json: bool) -> None:
    """One question asked several times of the same person, by designs over the same categories.

    The report is the tuple of all answers. Each further answer tells more about the person.
    """
    from maskwell.designs.kronecker import check_coded
    from maskwell.procedures.joint_answers import repeated as build

    made = build(check_coded([load_design(path) for path in designs], "repeated answers"))
    saved(made, output=output, force=force, as_json=as_json, inputs=designs)


@click.command(
    short_help="several questions answered by one draw from one device",
    epilog=example(
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
    help="Chance of an outcome, and what it does to the answer of each question. Repeat for every outcome.",
)
@click.option("--allow-unidentifiable", is_flag=True, help="Make it even if shares cannot be estimated from it.")
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help=OUTPUT_HELP)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def shared(
    outcomes: tuple[str, ...], *, allow_unidentifiable: bool, output: str | None, force: bool, as_json: bool
) -> None:
    """Several questions answered by one draw from one device.

    The outcomes of the device have chances that sum to 1; each names one design file for every question. With a draw of
    its own for every question use maskwell design kronecker instead.
    """
    from maskwell.designs.kronecker import check_coded
    from maskwell.procedures.joint_answers import shared as build

    read = [_outcome(text) for text in outcomes]
    made = build(
        [weight for weight, _ in read],
        [check_coded([load_design(path) for path in paths], "a shared device") for _, paths in read],
        shared_device=True,
        allow_unidentifiable=allow_unidentifiable,
    )
    files = tuple(path for _, paths in read for path in paths)
    saved(made, output=output, force=force, as_json=as_json, inputs=files)


def _outcome(text: str) -> tuple[str, list[str]]:
    """A chance and the files of an outcome.

    >>> _outcome("3/4=a.json,b.json")
    ('3/4', ['a.json', 'b.json'])
    """
    weight, sign, paths = text.partition("=")
    if not sign:
        raise ParameterError(
            f"--outcome {text} has no design",
            hint="give a chance and one design for each question: 3/4=d1.json,d2.json",
        )
    return weight, split_list(paths, "--outcome")
