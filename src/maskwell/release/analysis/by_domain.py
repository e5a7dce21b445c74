"""Shares within domains, from the table of domains and categories together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from maskwell.core.arrays import Array
from maskwell.errors import TooLargeError
from maskwell.estimation.direct_estimate import DirectEstimate
from maskwell.estimation.share_estimate import Estimate

TINY = 1e-18


def share_by_domain(estimate: Estimate, domains: int) -> dict[tuple[Hashable, ...], Estimate]:
    """Shares within each domain, from a table whose first columns, so many, tell the domain.

        R = p_c / p_d,     Cov(R) = G Cov G',    G = (I - R 1') / p_d

    to the first order, where p_c are the cells of a domain and p_d is their sum. Source: standard (delta method).
    """
    if estimate.covariance is None:
        raise TooLargeError("too many cells for domains: covariances were left out", hint="use fewer categories")
    places: dict[tuple[Hashable, ...], list[int]] = {}
    cells = cast(Sequence[tuple[Hashable, ...]], estimate.categories)
    for place, cell in enumerate(cells):
        places.setdefault(cell[:domains], []).append(place)
    return {domain: _within(estimate, np.array(own), domains) for domain, own in places.items()}


def _within(estimate: Estimate, own: Array, domains: int) -> Estimate:
    assert estimate.covariance is not None
    p = estimate.pi_hat[own]
    total = float(p.sum())
    ratio = p / total if total > 0 else np.full(len(p), np.nan)
    G = (np.eye(len(p)) - np.outer(ratio, np.ones(len(p)))) / total if total > 0 else np.full((len(p),) * 2, np.nan)
    whole = G @ estimate.covariance[np.ix_(own, own)] @ G.T
    variance = np.diagonal(whole).copy()
    categories = cast(Sequence[tuple[Hashable, ...]], estimate.categories)
    cells = [categories[i][domains:] for i in own]
    known = {
        "categories": [cell[0] if len(cell) == 1 else cell for cell in cells],
        "pi_hat": ratio,
        "variance": variance,
        "sampling_variance": np.full(len(p), np.nan),
        "randomization_variance": np.full(len(p), np.nan),
        "covariance": whole,
        "n": round(total * estimate.n),
        "flags": (),
    }
    if isinstance(estimate, DirectEstimate):
        open_ = ratio * (1 - ratio)
        known["effective"] = np.divide(open_, variance, out=np.full(len(p), np.inf), where=variance > TINY)
    return replace(estimate, **known)
