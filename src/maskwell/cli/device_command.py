"""``maskwell device``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.reports.device.device_sheets import SheetOptions


DEVICE = ("deck", "dice", "coins", "spinner", "faces", "throws", "general", "not_less_private")
"""Options that say what is made, not how it is printed."""


class Asked:
    """The options of the command."""

    design: str = opt.argument(metavar="D", type=opt.FilePath())
    deck: str | None = opt.option(metavar="N")
    dice: bool = opt.option(is_flag=True)
    coins: bool = opt.option(is_flag=True)
    spinner: bool = opt.option(is_flag=True)
    faces: str | None = opt.option(metavar="F")
    throws: str | None = opt.option(metavar="R")
    general: bool = opt.option(is_flag=True)
    not_less_private: bool = opt.option(is_flag=True)
    question: str | None = opt.option(metavar="TEXT")
    innocuous: str | None = opt.option(metavar="TEXT")
    paper: str | None = opt.option(type=click.Choice(["a4", "letter"]))
    study: str | None = opt.option(metavar="TEXT")
    forms: bool = opt.option(is_flag=True)
    texts: str | None = opt.option(type=opt.FilePath(), metavar="T.json")
    save_texts: str | None = opt.option(type=opt.FilePath(), metavar="T.json")
    output: str | None = opt.option("-o", "--output", type=opt.FilePath(), metavar="F.html")
    realised: str | None = opt.option(type=opt.FilePath(), metavar="D2.json")
    force: bool = opt.option(is_flag=True)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def device(asked: Asked) -> None:
    """Print cards, dice, coins or a spinner that realise the design in the file D.

    The sheets explain to respondents how to answer and what anyone could conclude, instruct interviewers, and document
    the device. Designs from a named procedure get its classical cards; others, a line for each true answer.

    A device is exact by default. If that needs too many cards, --deck N rounds to at most N; estimate then with the
    design that the device realises (--realised), not with D.
    """
    from maskwell.core.atomic import check_outputs
    from maskwell.reports.device.device_report import device_report
    from maskwell.reports.device.device_sheets import sheet_notes
    from maskwell.verbs.device import device as make_device
    from maskwell.verbs.device import write_device

    files = {"output": asked.output, "realised": asked.realised, "save_texts": asked.save_texts}
    opt.check_standard_output(as_json=asked.as_json, **files)
    paths = [path for path in files.values() if path is not None]
    if len({*paths}) < len(paths):
        raise ParameterError("two-of-the-outputs")
    inputs = tuple(path for path in (asked.design, asked.texts) if path is not None)
    check_outputs(paths, force=asked.force, inputs=inputs)
    made = make_device(asked.design, **{name: getattr(asked, name) for name in DEVICE})
    sheet = _sheet_options(asked.realised or (asked.design if made.general.exact else None), asked)
    written = write_device(made, sheet, *files.values(), overwrite=asked.force, inputs=inputs)
    if asked.as_json:
        print_json({**made.to_dict(), **written})
        return
    lines = device_report(
        made,
        asked.design,
        output=asked.output if asked.output != "-" else None,
        realised=asked.realised if asked.realised != "-" else None,
        remarks=sheet_notes(made, sheet),
        command=_typed(asked),
    )
    print_lines(lines, err="-" in paths)


def _sheet_options(design_file: str | None, asked: Asked) -> SheetOptions:
    from maskwell.reports.device.device_sheets import SheetOptions
    from maskwell.verbs.device import read_texts

    return SheetOptions(
        question=asked.question or "",
        innocuous=asked.innocuous,
        paper=asked.paper,
        design_file=design_file,
        study=asked.study or "",
        forms=asked.forms,
        texts={} if asked.texts is None else read_texts(asked.texts),
    )


def _typed(asked: Asked) -> str:
    """What was typed, without the outputs."""
    words = ["maskwell", "device", asked.design]
    for name in (*DEVICE, "paper", "forms", "question", "innocuous", "study", "texts"):
        value = getattr(asked, name)
        if value:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)
