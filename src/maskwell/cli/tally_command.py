"""``maskwell tally``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli.options import (
    FilePath,
    designs_option,
    example,
    json_option,
    missing_codes_option,
    missing_option,
    read_assignments,
    show_values_option,
    text_form_options,
)
from maskwell.cli.output import Progress, print_json, print_lines


@click.command(
    epilog=example(
        "printf 'answer\\nyes\\nno\\nno\\n' > reports.csv",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell tally reports.csv --design answer=warner.json",
    )
)
@click.argument("file", type=FilePath())
@designs_option
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row stands for.")
@missing_option
@missing_codes_option
@text_form_options("file")
@show_values_option
@json_option
def tally(
    file: str, designs: tuple[str, ...], *, missing_codes: tuple[str, ...], as_json: bool, **reading: Any
) -> None:
    """Count the reports in columns of FILE, each with its design."""
    from maskwell.reports.report import Grid, Report
    from maskwell.verbs.tally import tally as count

    assignments, _ = read_assignments(designs, file)
    with Progress() as progress:
        counted = count(file, assignments, missing_codes=missing_codes or None, progress=progress, **reading)  # type: ignore[arg-type]
    if as_json:
        print_json({"columns": {name: counts.to_dict() for name, counts in counted.items()}})
        return
    for name, counts in counted.items():
        rows = [[str(label), f"{value:,}"] for label, value in zip(counts.labels, counts.values.tolist(), strict=True)]
        print_lines(Report(f"{name}: {counts.n:,} reports.", [Grid(["report", "count"], rows)]))
