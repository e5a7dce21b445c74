"""How much one report tells about the true proportions, before any estimate is made."""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.base import Design


def fisher_information(design: Design, pi: Real | None = None) -> Real:
    """Information of one report about the first k - 1 proportions, the last being one minus their sum.

        I[j, l] = sum_i (P[i, j] - P[i, k]) (P[i, l] - P[i, k]) / lam[i],     lam = P pi

    Its inverse bounds ``n Cov`` of any unbiased estimate of them. For two categories it is one number. Uniform ``pi``
    by default; reports of probability zero are left out. Returns shape (k - 1, k - 1). Source: [Adeshiyan2011, section
    2.5] for two categories; the rest is the usual information of a multinomial sample.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> float(fisher_information(warner, np.array([0.5, 0.5]))[0, 0].round(6))
    0.64
    """
    P, lam = _occurring(design, pi)
    contrast = P[:, :-1] - P[:, -1:]
    return np.asarray(contrast.T @ (contrast / lam[:, None]))


def mutual_information(design: Design, pi: Real | None = None) -> float:
    """Mutual information of truth and report, in nats: ``sum_ij pi_j P[i, j] ln(P[i, j] / lam[i])``.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> round(mutual_information(Uniform.from_gamma(3, Categories.numbered(3)), np.array([0.5, 0.3, 0.2])), 7)
    0.1372951
    """
    P, lam = _occurring(design, pi)
    prior = design.uniform_prior() if pi is None else design.check_distribution(pi)
    ratio = np.divide(P, lam[:, None])
    logs = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
    return float(max(0.0, (P * prior * logs).sum()))


def _occurring(design: Design, pi: Real | None) -> tuple[Real, Real]:
    prior = design.uniform_prior() if pi is None else design.check_distribution(pi)
    P = design.matrix()
    lam = P @ prior
    return P[lam > 0], lam[lam > 0]
