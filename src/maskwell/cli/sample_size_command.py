"""``maskwell sample-size``: respondents, power and allocation for designs that are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.choose_command import COMPLEX, category_of, options_of
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.planning.stratum_allocation import Allocation
    from maskwell.reports.report import Report

ASKED = {
    "n": ("N", "Number of respondents: the margin is computed."),
    "margin": ("E", "Half width of intervals that is wanted: N is computed."),
    "pi": ("A,B,...", "True shares to assume; the worst ones by default."),
    "level": ("L", "Confidence level, 0.95 by default; a test has the significance level 1 - L."),
    "power": ("P", "The probability with which a test shall find the difference from --against."),
    "against": ("S", "The share of the category that a test shall tell from that in --pi."),
    "budget": ("B", "With --strata-file: what may be spent, where strata have a cost."),
}


@click.command(
    "sample-size",
    epilog=opt.example(
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell sample-size warner.json --margin 0.05 --pi 0.1,0.9",
        "maskwell sample-size warner.json --power 0.8 --pi 0.1,0.9 --against 0.15",
    ),
)
@click.argument("designs", metavar="[D]...", type=opt.FilePath(), nargs=-1)
@options_of(ASKED)
@options_of(COMPLEX)
@click.option(
    "--strata-file",
    type=opt.FilePath(),
    metavar="FILE",
    help="Divide respondents among strata: CSV with stratum, share, pi and, if they differ, design, cost.",
)
@opt.plot_options("the margin against the respondents")
@opt.json_option
def sample_size(
    designs: tuple[str, ...],
    *,
    strata_file: str | None,
    plot: str | None,
    force: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Respondents for a margin, or for a test with a given power, with the design file D.

    With --strata-file or several files: how to divide respondents among strata, or among samples.
    """
    from maskwell.verbs.sample_size import read_strata
    from maskwell.verbs.sample_size import sample_size as size_of

    read = [opt.load_design(path) for path in designs]
    opt.check_plot(plot, force=force, inputs=[*designs, strata_file or "-"])
    _check_picture(plot, asked, divided=len(read) > 1 or strata_file is not None)
    asked["pi"] = None if asked["pi"] is None else opt.split_list(asked["pi"], "--pi")
    asked["category"] = category_of(asked["category"])
    sampling = {name: asked.pop(name) for name in COMPLEX if name != "category"}
    described: Any = (
        read[0]
        if len(read) == 1
        else {f"{g}: {path}": d for g, (path, d) in enumerate(zip(designs, read, strict=True), 1)}
    )
    if strata_file is not None:
        if len(read) > 1:
            raise ParameterError("strata-file-and-design-files", designs_count=len(read))
        described = read_strata(strata_file, read[0] if read else None, asked.pop("category"))
    result = size_of(described, sampling, **asked)
    drawn = opt.write_plot(opt.plot_content(plot, result.plot), force=force, inputs=designs)
    if as_json:
        print_json({**result.to_dict(), **drawn})
    else:
        print_lines(opt.with_plot(_report(result, designs), drawn))


def _report(result: SamplePlan | PowerPlan | Allocation, paths: Sequence[str]) -> Report:
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.reports.text.planning_report import allocation_report, power_report, sample_report

    if isinstance(result, SamplePlan):
        return sample_report(result, paths[0])
    return power_report(result, paths[0]) if isinstance(result, PowerPlan) else allocation_report(result)


def _check_picture(plot: str | None, asked: Mapping[str, Any], *, divided: bool) -> None:
    """Raise where there is nothing to draw."""
    tests = asked["power"] is not None or asked["against"] is not None
    if plot is not None and (divided or tests):
        margins = "the picture is that of a margin: give --n or --margin alone"
        why = "a division of respondents has no picture" if divided else margins
        raise ParameterError("plot-has-no-meaning-here", hint=why)
