"""``maskwell sample-size``: respondents, power and allocation for designs that are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maskwell.cli import options as opt
from maskwell.cli.choose_command import COMPLEX, category_of
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.planning.stratum_allocation import Allocation
    from maskwell.reports.report import Report


class Asked:
    """The options of the command."""

    designs: tuple[str, ...] = opt.argument(metavar="[D]...", type=opt.FilePath(), nargs=-1)
    n: str | None = opt.option(metavar="N")
    margin: str | None = opt.option(metavar="E")
    pi: str | None = opt.option(metavar="A,B,...")
    level: str | None = opt.option(metavar="L")
    power: str | None = opt.option(metavar="P")
    against: str | None = opt.option(metavar="S")
    budget: str | None = opt.option(metavar="B")
    category: str | None = opt.option(metavar="A")
    sampling: dict[str, Any] = opt.packed(COMPLEX)
    strata_file: str | None = opt.option(type=opt.FilePath(), metavar="FILE")
    plot: str | None = opt.shared(opt.plot_option("the margin against the respondents"))
    force: bool = opt.shared(opt.force_option)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked, name="sample-size")
def sample_size(asked: Asked) -> None:
    """Compute the number of respondents for a margin, or for a test of given power, with the design file D.

    With --strata-file or several design files: allocate respondents to strata or samples.
    """
    from maskwell.verbs.sample_size import read_strata
    from maskwell.verbs.sample_size import sample_size as size_of

    paths, strata_file = asked.designs, asked.strata_file
    read = [opt.load_design(path) for path in paths]
    opt.check_plot(asked.plot, force=asked.force, inputs=[*paths, strata_file or "-"])
    divided, tests = len(read) > 1 or strata_file is not None, asked.power is not None or asked.against is not None
    if asked.plot is not None and (divided or tests):
        margins = "the picture is that of a margin: give --n or --margin alone"
        why = "a division of respondents has no picture" if divided else margins
        raise ParameterError("plot-has-no-meaning-here", hint=why)
    sizes: dict[str, Any] = {name: getattr(asked, name) for name in ("n", "margin", "level", "power", "against")}
    sizes |= {"budget": asked.budget, "pi": None if asked.pi is None else opt.split_list(asked.pi, "--pi")}
    category = category_of(asked.category)
    if strata_file is not None:
        if len(read) > 1:
            raise ParameterError("strata-file-and-design-files", designs_count=len(read))
        result = size_of(read_strata(strata_file, read[0] if read else None, category), asked.sampling, **sizes)
    else:
        named = {f"{g}: {path}": one for g, (path, one) in enumerate(zip(paths, read, strict=True), 1)}
        result = size_of(read[0] if len(read) == 1 else named, asked.sampling, category=category, **sizes)
    drawn = opt.write_plot(opt.plot_content(asked.plot, result.plot), force=asked.force, inputs=paths)
    if asked.as_json:
        print_json({**result.to_dict(), **drawn})
    else:
        print_lines(opt.with_plot(_report(result, paths), drawn))


def _report(result: SamplePlan | PowerPlan | Allocation, paths: Sequence[str]) -> Report:
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.reports.text.planning_report import allocation_report, power_report, sample_report

    if isinstance(result, SamplePlan):
        return sample_report(result, paths[0])
    return power_report(result, paths[0]) if isinstance(result, PowerPlan) else allocation_report(result)
