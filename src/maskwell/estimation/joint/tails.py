"""Chi-square tails that the tests of tables share."""

from __future__ import annotations


def chi_square_tail(statistic: float, df: float) -> float:
    """Chance that a chi-square variable with ``df`` degrees of freedom exceeds the statistic.

    >>> round(chi_square_tail(5.208333333333333, 2), 6)
    0.073965
    """
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


def chi_square_quantile(probability: float, df: float = 1) -> float:
    """The value that a chi-square variable stays below with this probability.

    >>> round(chi_square_quantile(0.95), 4)
    3.8415
    """
    from scipy.special import chdtri

    return float(chdtri(df, 1 - probability))


def f_tail(statistic: float, df: float, rest: float) -> float:
    """Chance that an F variable exceeds the statistic.

    >>> round(f_tail(4.0, 1, 10), 4)
    0.0734
    """
    from scipy.special import fdtrc

    return float(fdtrc(df, rest, statistic))
