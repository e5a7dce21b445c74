"""``maskwell mine``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli.options import (
    ROW_SAMPLING,
    FilePath,
    check_plot,
    example,
    json_option,
    plot_content,
    plot_options,
    sampling_options,
    show_values_option,
    text_form_options,
    with_plot,
    write_plot,
)
from maskwell.cli.output import Progress, print_json, print_lines


@click.command(
    epilog=example(
        "printf 'items\\nbread milk\\nmilk\\n\"\"\\nbread milk\\nmilk soap\\n' > baskets.csv",
        "maskwell design bits --items bread,milk,soap --p 0.9 -o bits.json",
        "maskwell randomize baskets.csv --design items=bits.json -o reports.csv",
        "maskwell mine reports.csv --design bits.json --min-support 0.3",
    )
)
@click.argument("file", type=FilePath())
@click.option(
    "--design",
    "design",
    required=True,
    metavar="D",
    help="Design file of the baskets (maskwell design bits); COL=D names the column with the baskets, A,B,C=D one "
    "column for each item. By default the columns called as the items, or the column 'items'.",
)
@click.option(
    "--min-support",
    default="0.05",
    show_default=True,
    metavar="SHARE",
    help="Share of baskets from which on a set of items is frequent.",
)
@click.option(
    "--min-confidence",
    default="0.5",
    show_default=True,
    metavar="SHARE",
    help="Confidence from which on a rule is told.",
)
@click.option("--max-items", default="4", show_default=True, metavar="N", help="Size of the largest sets looked for.")
@click.option(
    "--slack",
    default="2",
    show_default=True,
    metavar="X",
    help="Standard errors by which a set may miss --min-support and still be searched further.",
)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Rows without a basket: refuse, or leave them out.",
)
@sampling_options(*ROW_SAMPLING)
@plot_options("the largest supports with their intervals")
@text_form_options("file")
@show_values_option
@json_option
def mine(
    file: str,
    design: str,
    *,
    min_support: str,
    min_confidence: str,
    max_items: str,
    slack: str,
    missing: str,
    plot: str | None,
    force: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Frequent itemsets and rules from the randomized baskets in FILE.

    A basket is a list of items in one column, with blanks between them, a report as randomize writes it, or one column
    of 1 and 0 for each item. Supports and confidences are those of the true baskets, with standard errors; --weights,
    --strata, --clusters, --population and --replicates say how the rows were sampled.
    """
    check_plot(plot, force=force, inputs=[file])
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.mine import design_of
    from maskwell.verbs.mine import mine as find

    assigned, path = design_of(design)
    with Progress() as progress:
        result = find(
            file,
            assigned,
            Sampling(**sampling),
            min_support=min_support,
            min_confidence=min_confidence,
            max_items=max_items,  # type: ignore[arg-type]
            slack=slack,
            missing=missing,
            progress=progress,
        )
    drawn = write_plot(plot_content(plot, result.plot), force=force, inputs=[file, path])
    if as_json:
        print_json({**result.to_dict(), **drawn})
        return
    print_lines(with_plot(result.to_report(path), drawn))
