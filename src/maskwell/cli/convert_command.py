"""``maskwell convert``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines

if TYPE_CHECKING:
    from maskwell.privacy.criteria import Demand
    from maskwell.reports.pictures.canvas import Picture


@click.command(epilog=opt.example("maskwell convert --epsilon 1 --k 10", "maskwell convert --l 5 --k 10"))
@opt.demand_options
@click.option("--l", "l", metavar="L", help="l of local l-diversity, instead of a demand; needs --k.")
@click.option("--k", metavar="K", help="Number of categories: adds the matching l and the best subset size.")
@opt.plot_options("what the demand forbids and what it really asks for")
@opt.json_option
def convert(
    l: str | None,  # noqa: E741 (the literature's name)
    k: str | None,
    plot: str | None,
    *,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Put one privacy demand in every language: gamma, epsilon, beta, Bayes factor, rho.

    With --l and --k it starts from local l-diversity: the gamma at which subset selection is as accurate.
    """
    from maskwell.reports.text.privacy_report import convert_report
    from maskwell.verbs.convert import convert as convert_demand

    opt.check_plot(plot, force=force, inputs=[options["curves"] or "-"])
    demand = opt.given_demand(options)
    content = convert_demand(demand, l=l, k=k)
    drawn = opt.write_plot(opt.plot_content(plot, lambda: _picture(demand, content)), force=force)
    if as_json:
        print_json({**content, **drawn})
    else:
        print_lines(opt.with_plot(convert_report(content, opt.typed_demand(options) or f"--l {content['l']}"), drawn))


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
