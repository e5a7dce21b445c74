"""``maskwell tabulate``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import Progress, print_json, print_lines


class Asked(opt.OfRows):
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    designs: tuple[str, ...] = opt.shared(opt.designs_if_any_option)
    direct: str | None = opt.option(metavar="COL,...")
    where: str | None = opt.option(metavar="COND")
    method: str = opt.option(type=click.Choice(["moments", "ml"]), default="moments", show_default=True)
    sampling: dict[str, Any] = opt.sampling_options()
    counts: str | None = opt.option(metavar="COL")
    missing: str = opt.shared(opt.missing_option)
    missing_codes: tuple[str, ...] = opt.shared(opt.missing_codes_option)
    plot: str | None = opt.shared(opt.plot_option("the table"))
    force: bool = opt.shared(opt.force_option)


@opt.command(Asked)
def tabulate(asked: Asked) -> None:
    """Estimate the table of two or more columns: shares, margins, odds ratios and a test of independence."""
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.inputs import names_of

    opt.check_plot(asked.plot, force=asked.force, inputs=[asked.file])
    assignments, _ = opt.read_assignments(asked.designs, asked.file)
    reading: dict[str, Any] = {"missing": asked.missing, "missing_codes": asked.missing_codes or None}
    survey = Survey(asked.file, assignments, Sampling(**asked.sampling), frequencies=asked.counts, **reading)
    randomized = [name for one in assignments for name in one.columns]
    named = [*dict.fromkeys([*randomized, *names_of(asked.direct, "direct")])] if asked.direct else []
    with Progress() as progress:
        table = survey.table(*named, where=asked.where, method=asked.method, progress=progress)
    drawn = opt.write_plot(opt.plot_content(asked.plot, table.plot), force=asked.force, inputs=[asked.file])
    if asked.as_json:
        print_json({**table.to_dict(), **drawn})
    else:
        print_lines(opt.with_plot(table.to_report(), drawn))
