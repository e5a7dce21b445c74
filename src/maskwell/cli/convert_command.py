"""``maskwell convert``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import (
    check_plot,
    demand_options,
    example,
    given_demand,
    json_option,
    plot_content,
    plot_options,
    typed_demand,
    with_plot,
    write_plot,
)
from maskwell.cli.output import print_json, print_lines

if TYPE_CHECKING:
    from maskwell.privacy.criteria import Demand
    from maskwell.reports.pictures.canvas import Picture


@click.command(epilog=example("maskwell convert --epsilon 1 --k 10", "maskwell convert --l 5 --k 10"))
@demand_options
@click.option("--l", "l", metavar="L", help="l of local l-diversity, instead of a demand; needs --k.")
@click.option("--k", metavar="K", help="Number of categories: adds the matching l and the best subset size.")
@plot_options("what the demand forbids and what it really asks for")
@json_option
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

    check_plot(plot, force=force, inputs=[options["curves"] or "-"])
    demand = given_demand(options)
    content = convert_demand(demand, l=l, k=k)
    drawn = write_plot(plot_content(plot, lambda: _picture(demand, content)), force=force)
    if as_json:
        print_json({**content, **drawn})
    else:
        print_lines(with_plot(convert_report(content, typed_demand(options) or f"--l {content['l']}"), drawn))


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
