"""``maskwell risk``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import ANSWER_IS_NO, OK, Progress, print_json, print_lines
from maskwell.errors import ParameterError
from maskwell.microdata.risk.intruders import INTRUDERS

MEASURED: dict[str, dict[str, Any]] = {
    "--sensitive-columns": {"metavar": "COLS"},
    "--weights": {"metavar": "COL"},
    "--unit": {"metavar": "COL"},
    "--suda": {"is_flag": True},
    "--match": {"metavar": "NU"},
    "--intruder": {"type": click.Choice([*INTRUDERS])},
    "--level": {"default": "0.95", "show_default": True},
}
"""What is looked at, by the names of :func:`maskwell.risk`."""


class Asked:
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    keys: str = opt.option(required=True, metavar="A,B,...")
    released: str | None = opt.option(type=opt.FilePath(), metavar="F2")
    receipt: str | None = opt.option(type=opt.FilePath(), metavar="R")
    designs: tuple[str, ...] = opt.option("--design", metavar="COL=D", multiple=True)
    measured: dict[str, Any] = opt.packed(MEASURED)
    k: int | None = opt.option("--k", type=int, metavar="K")
    contributions: bool = opt.option(is_flag=True)
    records: str | None = opt.option(type=opt.FilePath(), metavar="OUT")
    plot: str | None = opt.shared(opt.plot_option("the risk of records before and after a release"))
    force: bool = opt.shared(opt.force_option)
    form: None = opt.shared(opt.text_form_options("file", "released"))
    show_values: None = opt.shared(opt.show_values_option)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def risk(asked: Asked) -> int:
    """Measure re-identification risk in FILE, for an intruder who knows the key variables of a person.

    With --receipt also the risk of the release: expected and, with --released, realised. With --design it measures
    what an intruder infers from randomized reports; without, values are taken as true.
    """
    from maskwell.core.atomic import check_output
    from maskwell.microdata.plans.plan_drafts import limit_of
    from maskwell.reports.report import Report
    from maskwell.verbs.risk import risk as risk_of

    opt.check_standard_output(as_json=asked.as_json, records=asked.records)
    assignments, paths = opt.read_assignments(asked.designs) if asked.designs else (None, {})
    given: dict[str, Any] = {"released": asked.released, "receipt": asked.receipt, **asked.measured}
    if asked.k is not None:
        given["match"] = limit_of(given["match"], asked.k)
    inputs = [path for path in (asked.file, asked.released, asked.receipt, *paths.values()) if path is not None]
    opt.check_plot(asked.plot, force=asked.force, inputs=inputs)
    if asked.plot is not None and asked.receipt is None:
        raise ParameterError("plot-compares-before-and-after")
    if asked.records is not None:
        check_output(asked.records, force=asked.force, inputs=inputs)
    with Progress() as progress:
        result = risk_of(asked.file, asked.keys, designs=assignments, progress=progress, **given)
    picture = opt.plot_content(asked.plot, result.plot)
    content = result.to_dict(contributions=asked.contributions) if asked.as_json else {}
    report = Report() if asked.as_json else result.to_report(contributions=asked.contributions)
    if asked.records is None:
        written = opt.write_plot(picture, force=asked.force, inputs=inputs)
    else:
        result.write_records(asked.records, force=asked.force, beside=dict(picture.values()))
        written = {name: path for name, (path, _) in picture.items()} | {"records_file": asked.records}
    if asked.as_json:
        print_json(content | written)
    else:
        print_lines(opt.with_plot(report, written), err=asked.records == "-")
    return ANSWER_IS_NO if result.kept is False else OK
