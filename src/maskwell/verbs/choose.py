"""Choosing a design for a privacy demand: the ranked table, the recommendation, and how many respondents it needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Unpack

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.core.phrases import option
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.planning.design_choice import Choice
from maskwell.planning.design_choice import choose as choose_design
from maskwell.planning.respondent_variance import Sampling as RespondentSampling
from maskwell.privacy.criteria import Demand
from maskwell.verbs.inputs import DemandWords, needed_demand, read_categories
from maskwell.verbs.sample_size import complex_words


def choose(
    k: int | None = None,
    demand: Demand | Number | None = None,
    *,
    categories: Categories | Iterable[Hashable] | None = None,
    n: Number | None = None,
    margin: Number | None = None,
    pi: Iterable[Number] | None = None,
    level: Number = 0.95,
    category: Hashable | None = None,
    sampling: Sampling | Mapping[str, Number] | None = None,
    **words: Unpack[DemandWords],
) -> Choice:
    """The designs for some categories under a demand, ranked, and which one to take: ``.design``.

    Parameters
    ----------
    k, categories
        How many categories there are, or their labels.
    demand
        What is asked for, as a :class:`~maskwell.privacy.criteria.Demand` or as a bound gamma on parity; or, as a
        keyword, ``gamma``, ``epsilon``, ``beta``, ``bayes_factor``, ``rho`` (two numbers) or ``curves`` (a table).
    n, margin
        The number of respondents, or the half width of intervals that is wanted; at most one of them.
    pi
        True shares to assume, equal by default. With them, the extremal design for these shares is in the table.
    level
        Of the intervals.
    category
        The category that n and margin are about, by its label; by default the one that is hardest to estimate.
    sampling
        How the sample differs from a simple random one, as in :func:`sample_size`: ``{"deff": 2}``.

    >>> choice = choose(categories=["never", "once", "often"], epsilon=1)
    >>> choice.design.inputs.labels, choice.recommended.label
    (('never', 'once', 'often'), 'k-ary randomized response')
    """
    labels = read_categories(categories, k)
    if labels is None:
        named = option("categories", "a,b,c", '["a", "b", "c"]')
        raise ParameterError("choose-needs-the-categories-of-the", named=named)
    asked = Demand.from_gamma(demand) if demand is not None and not isinstance(demand, Demand) else demand
    stated = needed_demand(asked, words, "choose")
    drawn, k = RespondentSampling.of(**complex_words(sampling)), len(labels)
    size: dict[str, Any] = {"n": n, "margin": margin, "level": level}
    return choose_design(k, stated, pi=pi, categories=labels, category=category, sampling=drawn, **size)
