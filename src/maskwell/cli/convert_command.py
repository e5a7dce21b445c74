"""``maskwell convert``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines

if TYPE_CHECKING:
    from maskwell.privacy.criteria import Demand
    from maskwell.reports.pictures.canvas import Picture


class Asked:
    """The options of the command."""

    demand: dict[str, Any] = opt.demand_options()
    l: str | None = opt.option(metavar="L")  # noqa: E741
    k: str | None = opt.option(metavar="K")
    plot: str | None = opt.shared(opt.plot_option("what the demand forbids and what it really asks for"))
    force: bool = opt.shared(opt.force_option)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def convert(asked: Asked) -> None:
    """Convert a privacy requirement between gamma, epsilon, beta, Bayes factor and rho.

    With --l and --k, convert local l-diversity: to the gamma at which subset selection is as accurate.
    """
    from maskwell.reports.text.privacy_report import convert_report
    from maskwell.verbs.convert import convert as convert_demand
    from maskwell.verbs.inputs import read_demand

    opt.check_plot(asked.plot, force=asked.force, inputs=[asked.demand["curves"] or "-"])
    demand = read_demand(None, asked.demand)
    content = convert_demand(demand, l=asked.l, k=asked.k)
    drawn = opt.write_plot(opt.plot_content(asked.plot, lambda: _picture(demand, content)), force=asked.force)
    if asked.as_json:
        print_json({**content, **drawn})
    else:
        stated = opt.typed_demand(asked.demand) or f"--l {content['l']}"
        print_lines(opt.with_plot(convert_report(content, stated), drawn))


def _picture(demand: Demand | None, content: dict[str, Any]) -> Picture:
    """What the demand forbids; of local l-diversity, what the gamma of the same accuracy forbids."""
    from maskwell.plots import plot_canonical
    from maskwell.privacy.criteria import Demand
    from maskwell.reports.plain_words import factor_down

    if demand is not None:
        return plot_canonical(demand)
    matched = Demand.from_gamma(content["gamma"])
    text = f"gamma = {factor_down(matched.gamma_exact)}, as accurate as {content['stated']}"
    return plot_canonical(replace(matched, text=text))
