"""``maskwell mine``."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import Progress, print_json, print_lines


class Asked(opt.OfRows):
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    design: str = opt.option(required=True, metavar="D")
    min_support: str = opt.option(default="0.05", show_default=True, metavar="SHARE")
    min_confidence: str = opt.option(default="0.5", show_default=True, metavar="SHARE")
    max_items: Any = opt.option(default="4", show_default=True, metavar="N")
    slack: str = opt.option(default="2", show_default=True, metavar="X")
    missing: str = opt.option(type=click.Choice(["error", "drop"]), default="error", show_default=True)
    sampling: dict[str, Any] = opt.sampling_options(*opt.ROW_SAMPLING)
    plot: str | None = opt.shared(opt.plot_option("the largest supports with their intervals"))
    force: bool = opt.shared(opt.force_option)


@opt.command(Asked)
def mine(asked: Asked) -> None:
    """Estimate frequent itemsets and rules from the randomized baskets in FILE.

    A basket is a list of items in one column, with blanks between them, a report as randomize writes it, or one column
    of 1 and 0 for each item. Estimates are for the true baskets, with standard errors; --weights, --strata,
    --clusters, --population and --replicates describe the sampling plan.
    """
    opt.check_plot(asked.plot, force=asked.force, inputs=[asked.file])
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.mine import design_of
    from maskwell.verbs.mine import mine as find

    assigned, path = design_of(asked.design)
    sought = {name: getattr(asked, name) for name in ("min_support", "min_confidence", "max_items", "slack", "missing")}
    with Progress() as progress:
        result = find(asked.file, assigned, Sampling(**asked.sampling), progress=progress, **sought)
    drawn = opt.write_plot(opt.plot_content(asked.plot, result.plot), force=asked.force, inputs=[asked.file, path])
    if asked.as_json:
        print_json({**result.to_dict(), **drawn})
    else:
        print_lines(opt.with_plot(result.to_report(path), drawn))
