"""``maskwell tabulate``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli.options import (
    FilePath,
    check_plot,
    designs_if_any_option,
    example,
    json_option,
    missing_codes_option,
    missing_option,
    plot_content,
    plot_options,
    read_assignments,
    sampling_options,
    show_values_option,
    text_form_options,
    with_plot,
    write_plot,
)
from maskwell.cli.output import Progress, print_json, print_lines


@click.command(
    epilog=example(
        "printf 'answer,sex,n\\nyes,f,40\\nno,f,60\\nyes,m,55\\nno,m,45\\n' > counts.csv",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell tabulate counts.csv --design answer=warner.json --direct sex --counts n",
    )
)
@click.argument("file", type=FilePath())
@designs_if_any_option
@click.option("--direct", metavar="COL,...", help="Columns that were asked directly.")
@click.option("--where", metavar="COND", help="Only rows that fit: region=north, age>=30, region=a|b.")
@click.option("--method", type=click.Choice(["moments", "ml"]), default="moments", show_default=True, help="Estimator.")
@sampling_options()
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row stands for.")
@missing_option
@missing_codes_option
@plot_options("the table")
@text_form_options("file")
@show_values_option
@json_option
def tabulate(
    file: str,
    designs: tuple[str, ...],
    *,
    direct: str | None,
    where: str | None,
    method: str,
    counts: str | None,
    missing: str,
    missing_codes: tuple[str, ...],
    plot: str | None,
    force: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Estimate the table of two columns or more: shares, margins, odds ratios, a test of independence."""
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.inputs import names_of

    check_plot(plot, force=force, inputs=[file])
    assignments, _ = read_assignments(designs, file)
    reading: dict[str, Any] = {"missing": missing, "missing_codes": missing_codes or None, "frequencies": counts}
    survey = Survey(file, assignments, Sampling(**sampling), **reading)
    named = [*dict.fromkeys([*(name for one in assignments for name in one.columns), *names_of(direct, "direct")])]
    with Progress() as progress:
        table = survey.table(*(named if direct else ()), where=where, method=method, progress=progress)
    drawn = write_plot(plot_content(plot, table.plot), force=force, inputs=[file])
    if as_json:
        print_json({**table.to_dict(), **drawn})
    else:
        print_lines(with_plot(table.to_report(), drawn))
