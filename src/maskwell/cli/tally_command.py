"""``maskwell tally``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.help_page import HelpPage
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.core.categories import Categories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwell.designs.design import Design


@click.command(
    cls=HelpPage,
    epilog=opt.example(
        "printf 'answer\\nyes\\nno\\nno\\n' > reports.csv",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell tally reports.csv --design answer=warner.json",
    ),
)
@click.argument("file", type=opt.FilePath())
@opt.designs_option
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row represents.")
@opt.missing_option
@opt.missing_codes_option
@opt.text_form_options("file")
@opt.show_values_option
@opt.json_option
def tally(
    file: str, designs: tuple[str, ...], *, missing_codes: tuple[str, ...], as_json: bool, **reading: Any
) -> None:
    """Count the reports in columns of FILE, each with its design."""
    from maskwell.reports.report import Grid, Report
    from maskwell.verbs.tally import tally as count

    assignments, _ = opt.read_assignments(designs, file)
    with Progress() as progress:
        counted = count(file, assignments, missing_codes=missing_codes or None, progress=progress, **reading)
    reports = {",".join(one.columns): [str(label) for label in reports_of(one.design)] for one in assignments}
    if as_json:
        print_json({"columns": {name: {**one.to_dict(), "reports": reports[name]} for name, one in counted.items()}})
        return
    for name, one in counted.items():
        rows = [[label, f"{value:,}"] for label, value in zip(reports[name], one.values.tolist(), strict=True)]
        print_lines(Report(f"{name}: {one.n:,} reports.", [Grid(["report", "count"], rows)]))


def reports_of(design: Design) -> Sequence[object]:
    """What the counts of a design are of: its reports, or the categories that reports of sets hold."""
    return (design.outputs if isinstance(design.outputs, Categories) else design.inputs).labels
