"""A chi-square test that says how often it cries wolf."""

import numpy as np
from scipy.stats import chi2
from tests.support.arrays import Array, Real

FALSE_ALARM = 1e-6
"""How often a test of a correct sampler fails, over all seeds; the seeds in the tests are fixed."""


def chi_square(counts: Array, probabilities: Real) -> tuple[float, int]:
    """The statistic and its degrees of freedom; cells expected fewer than ten times are pooled.

    Infinite where something impossible was seen.
    """
    counts, probabilities = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    if (counts[probabilities == 0] > 0).any():
        return float("inf"), 1
    counts, probabilities = counts[probabilities > 0], probabilities[probabilities > 0]
    expected = probabilities * counts.sum()
    order = np.argsort(expected)
    few = order[: np.searchsorted(np.cumsum(expected[order]), 10.0) + 1] if expected.min() < 10 else order[:0]
    rest = np.setdiff1d(order, few)
    pooled = [(counts[few].sum(), expected[few].sum())] if len(few) else []
    cells = np.array([*pooled, *zip(counts[rest], expected[rest], strict=True)])
    if (small := cells[:, 1] < 10).sum() > 1:
        cells = np.vstack([cells[~small], cells[small].sum(axis=0)])
    statistic = float(((cells[:, 0] - cells[:, 1]) ** 2 / cells[:, 1]).sum())
    return statistic, max(len(cells) - 1, 0)


def fits(counts: Array, probabilities: Real, rate: float = FALSE_ALARM) -> bool:
    """Whether counts are as they may be under the probabilities, at a false-alarm rate."""
    statistic, freedom = chi_square(counts, probabilities)
    return statistic <= (chi2.isf(rate, freedom) if freedom else 1e-9)
