"""Intervals of shares: their methods by name. A new family is one new file and one line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.errors import ParameterError
from maskwell.estimation.intervals.binary_intervals import exact, score
from maskwell.estimation.intervals.interval_ends import Intervals, check_level, is_of_categories, is_two_to_two
from maskwell.estimation.intervals.likelihood_intervals import LIMIT, bootstrap, profile
from maskwell.estimation.intervals.normal_intervals import bonferroni, logit, scheffe, wald, wilson_effective

if TYPE_CHECKING:
    from maskwell.estimation.share_estimate import Estimate

METHODS: dict[str, Callable[..., Intervals]] = {
    "wald": wald,
    "logit": logit,
    "score": score,
    "exact": exact,
    "profile": profile,
    "bonferroni": bonferroni,
    "scheffe": scheffe,
    "bootstrap": bootstrap,
    "wilson": wilson_effective,
}


def intervals_of(estimate: Estimate, level: float, method: str, **options: Any) -> Intervals:
    """The intervals of that name; options go to the method."""
    check_level(level)
    if method not in METHODS:
        raise ParameterError(
            f"no interval is called {method!r}", hint=f"choose one of {', '.join(METHODS)}", method=method
        )
    make = METHODS[method]
    _check_options(method, make, options)
    return make(estimate, level, **options)


def _check_options(method: str, make: Callable[..., Intervals], options: dict[str, Any]) -> None:
    known = [name for name, one in inspect.signature(make).parameters.items() if one.kind is one.KEYWORD_ONLY]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ParameterError(
            f"{unknown[0]} is no option of {method} intervals",
            hint=f"they take {', '.join(known)}" if known else "they take no options",
            options=options,
        )


def default_method(estimate: Estimate) -> str:
    """``score`` for one sample of a design with two categories and two reports, else ``wald``.

    Maximum likelihood estimates at the boundary have no standard error: these get ``profile``.
    """
    if is_two_to_two(estimate):
        return "score"
    return "profile" if _has_profile(estimate) and np.isnan(estimate.standard_error).any() else "wald"


def _has_profile(estimate: Estimate) -> bool:
    """Whether a maximum likelihood estimate is small enough for profile intervals of its categories."""
    return estimate.method == "ml" and len(estimate.categories) <= LIMIT and is_of_categories(estimate)
