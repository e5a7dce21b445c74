"""``maskwell convert``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import demand_options, example, given_demand, json_option, typed_demand
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.privacy.criteria import Demand


@click.command(epilog=example("maskwell convert --epsilon 1 --k 10", "maskwell convert --l 5 --k 10"))
@demand_options
@click.option("--l", "l", metavar="L", help="l of local l-diversity, instead of a demand; needs --k.")
@click.option("--k", metavar="K", help="Number of categories: adds the matching l and the best subset size.")
@json_option
def convert(l: str | None, k: str | None, *, as_json: bool, **options: Any) -> None:  # noqa: E741 (the literature's name)
    """Put one privacy demand in every language: gamma, epsilon, beta, Bayes factor, rho.

    With --l and --k it starts from local l-diversity: the gamma at which subset selection is as accurate.
    """
    from maskwell.reports.text import convert_text

    demand = given_demand(options)
    if (demand is None) == (l is None):
        given = "neither a demand nor --l" if l is None else "a demand and --l"
        raise ParameterError(
            f"{given} was given, where one is needed", hint="for instance: maskwell convert --epsilon 1"
        )
    content = _from_demand(demand, k) if demand is not None else _from_l(l, k)
    if as_json:
        print_json(content)
    else:
        print_lines(convert_text(content, typed_demand(options) or f"--l {content['l']}"))


def _from_demand(demand: Demand, k: str | None) -> dict[str, Any]:
    from maskwell.designs.demand import as_count
    from maskwell.planning.optimal import matching_l, minimax_size

    found = demand.to_dict()
    gamma = demand.gamma_exact
    if k is None or isinstance(gamma, float) or gamma <= 1:
        return found
    size = as_count(k, "k")
    q = minimax_size(size, gamma)
    l_real, l_floor = matching_l(size, gamma)
    return {
        **found,
        "k": size,
        "q": q,
        "q_all": _tied(size, gamma, q),
        "l_real": l_real,
        "l_floor": l_floor,
    }


def _tied(k: int, gamma: Fraction, q: int) -> list[int]:
    """The best size, and the next one where it adds exactly as much variance.

    >>> _tied(10, Fraction(6), 1), _tied(10, Fraction(7), 1)
    ([1, 2], [1])
    """
    tie = q + 1 < k and gamma**2 * q * (q + 1) == q * (q + 1) + k * (k - 2 * q - 1)
    return [q, q + 1] if tie else [q]


def _from_l(l: str | None, k: str | None) -> dict[str, Any]:  # noqa: E741
    from maskwell.designs.demand import as_count
    from maskwell.planning.optimal import matching_gamma
    from maskwell.privacy.criteria import Demand

    if k is None:
        raise ParameterError("--l without --k", hint="say how many categories there are: --l 5 --k 10")
    count, size = as_count(k, "k"), as_count(l, "l")
    match = matching_gamma(count, size)
    found = {**Demand.from_gamma(match.gamma).to_dict(), "stated": f"l = {size} of {count} categories"}
    # The bound is rounded towards privacy; gamma itself is shown as it is.
    found |= dict.fromkeys(("gamma", "beta", "bayes_factor"), match.gamma)
    return {**found, "l": size, "k": count, "q": match.sizes[0], "q_all": list(match.sizes)}
