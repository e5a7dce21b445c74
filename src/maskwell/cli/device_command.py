"""``maskwell device``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import FilePath, check_standard_output, example, json_option
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.reports.device.device_sheets import SheetOptions


DEVICE = ("deck", "dice", "coins", "spinner", "faces", "throws", "general", "not_less_private")
"""Options that say what is made, not how it is printed."""


@click.command(
    epilog=example(
        "maskwell design warner --p 0.7 -o design.json",
        "maskwell device design.json --question 'Did you ever evade taxes?' -o sheets.html",
    )
)
@click.argument("design", metavar="D", type=FilePath())
@click.option("--deck", metavar="N", help="Cards, or what stands for them, rounded to at most N if need be.")
@click.option("--dice", is_flag=True, help="Dice in place of cards, as few as can be.")
@click.option("--coins", is_flag=True, help="Coins in place of cards: dice of two faces.")
@click.option("--spinner", is_flag=True, help="A spinner in place of cards.")
@click.option("--faces", metavar="F", help="With --dice: faces of a die, 6 by default.")
@click.option("--throws", metavar="R", help="With --dice or --coins: how many are thrown.")
@click.option("--general", is_flag=True, help="A line for each true answer on every card, whatever the procedure.")
@click.option("--not-less-private", is_flag=True, help="With --deck: round only to decks of at most the parity of D.")
@click.option("--question", metavar="TEXT", help="The question, as it is printed.")
@click.option("--innocuous", metavar="TEXT", help="The other question of procedures with two.")
@click.option("--paper", type=click.Choice(["a4", "letter"]), help="The paper, if not the printer's own.")
@click.option(
    "--study", metavar="TEXT", help="Name of the survey at the top of every sheet, beside a frame for a logo."
)
@click.option("--forms", is_flag=True, help="Also print a practice sheet, a list to tick and a sheet to fill in alone.")
@click.option("--texts", type=FilePath(), metavar="T.json", help="Sentences in other words or another language.")
@click.option(
    "--save-texts", type=FilePath(), metavar="T.json", help="Where all sentences go, to be edited for --texts."
)
@click.option("-o", "--output", type=FilePath(), metavar="F.html", help="Where the sheets go; - is standard output.")
@click.option("--realised", type=FilePath(), metavar="D2.json", help="Where the design that it realises goes.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def device(
    design: str,
    output: str | None,
    realised: str | None,
    save_texts: str | None,
    *,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Cards, dice, coins or a spinner that carry out the design in the file D, as sheets to print.

    The sheets tell the respondent how to answer and what anyone could conclude, the interviewer what to do, and keep a
    record of the device. Designs that go back to a named procedure get its classical cards; the others get cards with a
    line for each true answer.

    A device is exact. Where that would take too many cards, --deck N rounds to at most N, and then the design that the
    device realises (--realised) must be used to estimate, not D.
    """
    from maskwell.core.atomic import check_outputs
    from maskwell.verbs.device import device as make_device
    from maskwell.verbs.device import write_device

    check_standard_output(as_json=as_json, output=output, realised=realised, save_texts=save_texts)
    paths = [path for path in (output, realised, save_texts) if path is not None]
    if len({*paths}) < len(paths):
        raise ParameterError("two-of-the-outputs")
    inputs = tuple(path for path in (design, options["texts"]) if path is not None)
    check_outputs(paths, force=force, inputs=inputs)
    made = make_device(design, **{name: options[name] for name in DEVICE})
    sheet = _sheet_options(realised or (design if made.general.exact else None), options)
    written = write_device(made, sheet, output, realised, save_texts, overwrite=force, inputs=inputs)
    if as_json:
        print_json({**made.to_dict(), **written})
        return
    from maskwell.reports.device.device_report import device_report
    from maskwell.reports.device.device_sheets import sheet_notes

    lines = device_report(
        made,
        design,
        output=output if output != "-" else None,
        realised=realised if realised != "-" else None,
        remarks=sheet_notes(made, sheet),
        command=_typed(design, options),
    )
    print_lines(lines, err="-" in paths)


def _sheet_options(design_file: str | None, options: dict[str, Any]) -> SheetOptions:
    from maskwell.reports.device.device_sheets import SheetOptions
    from maskwell.verbs.device import read_texts

    return SheetOptions(
        question=options["question"] or "",
        innocuous=options["innocuous"],
        paper=options["paper"],
        design_file=design_file,
        study=options["study"] or "",
        forms=options["forms"],
        texts={} if options["texts"] is None else read_texts(options["texts"]),
    )


def _typed(path: str, options: dict[str, Any]) -> str:
    """What was typed, without the outputs."""
    words = ["maskwell", "device", path]
    for name in (*DEVICE, "paper", "forms"):
        value = options[name]
        if value:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    for name in ("question", "innocuous", "study", "texts"):
        words += [f"--{name}", options[name]] if options[name] else []
    return shlex.join(words)
