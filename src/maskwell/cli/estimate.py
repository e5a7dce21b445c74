"""``maskwell estimate``."""

from __future__ import annotations

import click

from maskwell.cli.options import FilePath, designs_option, example, json_option, missing_option, read_assignments
from maskwell.cli.output import Progress, print_json, print_lines


@click.command(
    epilog=example(
        "printf 'answer,n\\nyes,120\\nno,180\\n' > counts.csv",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell estimate counts.csv --design answer=warner.json --counts n",
    )
)
@click.argument("file", type=FilePath())
@designs_option
@click.option("--level", default="0.95", show_default=True, metavar="LEVEL", help="Confidence level of the intervals.")
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row stands for.")
@missing_option
@json_option
def estimate(
    file: str, designs: tuple[str, ...], level: str, counts: str | None, missing: str, *, as_json: bool
) -> None:
    """Estimate the true shares behind the reports in FILE, with standard errors and intervals.

    Several --design give the table of all these columns together.
    """
    from maskwell.core.exact import check_probability
    from maskwell.engines.tally import tally_file
    from maskwell.estimation.moments import estimate_by_moments
    from maskwell.reports.text import estimate_text

    confidence = float(check_probability(level, "level", open_=True))
    assignments, paths = read_assignments(designs)
    variables = [name for assignment in assignments for name in assignment.columns]
    with Progress() as progress:
        tally = tally_file(file, assignments, missing=missing, counts=counts, progress=progress)
    found = estimate_by_moments(tally.counts, tally.design)
    if as_json:
        content = {"variables": variables, **found.to_dict(confidence), "rows": tally.rows, "dropped": tally.dropped}
        print_json(content)
        return
    lines = estimate_text(found, variables, confidence, paths)
    if tally.dropped:
        were = "was" if tally.dropped == 1 else "were"
        lines.insert(-1, f"note: {tally.dropped:,} of {tally.rows:,} rows had no report and {were} left out")
    print_lines(lines)
