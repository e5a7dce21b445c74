"""Converting a privacy requirement between its forms, or local l-diversity to the parity of the same accuracy."""

from __future__ import annotations

import math
from typing import Any, Unpack

from maskwell.core.arguments import as_count
from maskwell.core.exact import Number
from maskwell.core.phrases import option, together
from maskwell.errors import ParameterError
from maskwell.planning.set_sizes import matching_gamma, matching_l, minimax_sizes
from maskwell.privacy.criteria import Demand
from maskwell.verbs.inputs import DemandWords, read_demand


def convert(
    demand: Demand | None = None,
    *,
    l: Number | None = None,  # noqa: E741 (the literature's name)
    k: Number | None = None,
    **words: Unpack[DemandWords],
) -> dict[str, Any]:
    """Convert a privacy requirement between epsilon, gamma, beta, Bayes factor and rho.

    Parameters
    ----------
    demand
        The demand; or, as a keyword, ``gamma``, ``epsilon``, ``beta``, ``bayes_factor``, ``rho`` (two numbers) or
        ``curves`` (a table).
    l
        l of local l-diversity, instead of a demand; needs ``k``.
    k
        Number of categories: adds the matching l and the best subset size.

    >>> round(convert(rho=("0.1", "0.5"))["epsilon"], 4)   # no suspicion below a tenth may rise above a half
    2.1972
    """
    stated = read_demand(demand, words)
    if (stated is None) == (l is None):
        both = (
            f"neither a privacy requirement nor {option('l')} was"
            if l is None
            else f"a privacy requirement and {option('l')} were"
        )
        raise ParameterError("given-where-one-is-needed", both=both)
    if stated is None:
        return _from_l(l, k)
    languages, gamma = stated.to_dict(), stated.gamma_exact
    if k is None or isinstance(gamma, float) or gamma <= 1:
        return languages
    size = as_count(k, "k")
    sizes, match = minimax_sizes(size, gamma), matching_l(size, gamma)
    matched = {"l_real": match.real, "l_floor": match.floor, "l_ceiling": match.ceiling}
    return {**languages, "k": size, "q": sizes[0], "q_all": list(sizes), **matched}


def _from_l(l: Number | None, k: Number | None) -> dict[str, Any]:  # noqa: E741
    if k is None:
        raise ParameterError("l-without-k", together=together(option("l", "5"), option("k", "10")))
    count, size = as_count(k, "k"), as_count(l, "l")
    match = matching_gamma(count, size)
    languages = {**Demand.from_gamma(match.gamma).to_dict(), "stated": f"l = {size} of {count} categories"}
    # The bound is rounded towards privacy; gamma itself is shown as it is.
    languages |= dict.fromkeys(("gamma", "beta", "bayes_factor"), match.gamma)
    return {**languages, "l": size, "l_parity": math.inf, "k": count, "q": match.sizes[0], "q_all": list(match.sizes)}
