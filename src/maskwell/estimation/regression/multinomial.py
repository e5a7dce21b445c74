"""Multinomial regression of a randomized outcome with several categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.designs.base import Design
from maskwell.estimation.regression.evidence import Evidence
from maskwell.estimation.regression.logistic import regress_outcome
from maskwell.estimation.regression.matrix import as_matrix
from maskwell.estimation.regression.result import Regression
from maskwell.estimation.regression.sampled import sampled_rows
from maskwell.estimation.sampling.sampling_plan import SamplingPlan


def fit_multinomial(
    X: Any,
    reports: Any,
    design: Design | Sequence[Design],
    *,
    codes: bool = False,
    groups: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    lonely: str = "error",
    plan: SamplingPlan | None = None,
    variance: str | None = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
) -> Regression:
    """Multinomial logit of the truth behind randomized reports with k categories; the last one is the reference.

        Pr(category j | x) = exp(x' beta_j) / sum_l exp(x' beta_l),  beta_k = 0,    lam = sum_j P[z, j] Pr(j | x)

    Parameters as in :func:`fit_logistic`. Terms are named "category: column". Source: standard; derivatives derived.

    >>> import numpy as np
    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> design = Uniform.of("1/2", Categories.of(["never", "once", "often"]))
    >>> reports = np.repeat(["never", "once", "often"] * 2, [280, 200, 120, 200, 200, 200])
    >>> found = fit_multinomial(np.repeat([0.0, 1.0], 600)[:, None], reports, design, names=["city"])
    >>> found.terms[:2], found.estimates[:2].round(3).tolist()   # outside the city "never" leads, inside all are equal
    (('never: Intercept', 'never: city'), [2.197, -2.197])
    """
    check_kind(Flag, intercept=intercept)
    evidence = Evidence.of(reports, design, groups, codes=codes)
    values, named = as_matrix(X, names)
    sampled = sampled_rows(
        len(values), plan, weights=weights, strata=strata, clusters=clusters, population=population, lonely=lonely
    )
    return regress_outcome(values, named, evidence, sampled, designs=design, variance=variance, with_ones=intercept)
