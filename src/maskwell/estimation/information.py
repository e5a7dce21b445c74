"""How much one report tells about the true proportions, before any estimate is made."""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.base import Design


def fisher_information(design: Design, pi: Real | None = None) -> Real:
    """Information of one report about the first k - 1 proportions, the last being one minus their sum.

        I[j, l] = sum_i (P[i, j] - P[i, k]) (P[i, l] - P[i, k]) / lam[i],     lam = P pi

    Its inverse bounds ``n Cov`` of any unbiased estimate of them. For two categories it is one number. Uniform ``pi``
    by default. A report that cannot occur at ``pi`` but could close to it tells everything about the proportions that
    it depends on: their diagonal is infinite. Returns shape (k - 1, k - 1). Source: [Adeshiyan2011, section 2.5 and eq.
    (3.4)], corrected.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> float(fisher_information(warner, np.array([0.5, 0.5]))[0, 0].round(6))
    0.64
    """
    P, lam = _reports(design, pi)
    contrast = P[:, :-1] - P[:, -1:]
    occurs = lam > 0
    found = contrast[occurs].T @ (contrast[occurs] / lam[occurs, None])
    decisive = (contrast[~occurs] != 0).any(axis=0)
    found[decisive, decisive] = np.inf
    return np.asarray(found)


def mutual_information(design: Design, pi: Real | None = None) -> float:
    """Mutual information of truth and report, in nats: ``sum_ij pi_j P[i, j] ln(P[i, j] / lam[i])``.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> round(mutual_information(Uniform.from_gamma(3, Categories.numbered(3)), np.array([0.5, 0.3, 0.2])), 7)
    0.1372951
    """
    P, lam = _reports(design, pi)
    prior = design.uniform_prior() if pi is None else design.check_distribution(pi)
    ratio = P[lam > 0] / lam[lam > 0, None]
    logs = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
    return float(max(0.0, (P[lam > 0] * prior * logs).sum()))


def _reports(design: Design, pi: Real | None) -> tuple[Real, Real]:
    P = design.matrix()
    return P, P @ (design.uniform_prior() if pi is None else design.check_distribution(pi))
