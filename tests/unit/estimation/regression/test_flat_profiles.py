"""Profiles that flatten out towards infinity, and that of many rows which are alike."""

import numpy as np
import pytest

import maskwell as mw
from maskwell.estimation.regression.regression_result import Regression

WARNER = mw.design("warner", p="0.8")  # a report of yes has the probability 0.2 + 0.6 share
YES = [240, 215, 235, 250, 222, 260, 228, 245, 238, 219, 251, 233, 262, 226, 241, 218]  # of 1000 reports in each region


def fitted(yes: list[int], size: int = 1000, **how: str) -> Regression:
    answers = [answer for n in yes for answer in ["yes"] * n + ["no"] * (size - n)]
    regions = [f"r{i:02}" for i in range(len(yes)) for _ in range(size)]
    return mw.regress({"y": answers, "region": regions}, "y ~ region", {"y": WARNER}, **how)


def fall(yes: int, size: int) -> float:
    """Twice the log-likelihood of the reports of one region, less that where nobody carries the attribute."""
    shares = np.array([yes / size, 1 - yes / size])
    return float(2 * size * shares @ np.log(shares / [0.2, 0.8]))


def test_a_profile_that_stays_above_the_limit_has_no_end() -> None:
    """Regions are fitted apart, so a share of zero costs what the reports of its region say."""
    fit = fitted(YES)
    low = fit.confidence_interval()[1:, 0]
    without_end = np.array([fall(yes, 1000) < 3.8414588 for yes in YES[1:]])
    assert without_end.any() and not without_end.all()
    assert np.isneginf(low[without_end]).all()
    assert np.isfinite(low[~without_end]).all() and (low[~without_end] > -8).all()


def test_rows_that_are_alike_change_nothing() -> None:
    """With a column of tiny differences no rows are alike: the same intervals as where they are put together."""
    yes = [70, 40, 60]
    alike = fitted([20 * n for n in yes], 4000, interval="profile")
    answers = [answer for n in yes for answer in ["yes"] * 20 * n + ["no"] * (4000 - 20 * n)]
    shift = 1e-9 * np.random.default_rng(1).normal(size=12_000)
    data = {"y": answers, "a": np.repeat([0.0, 1, 0], 4000) + shift, "b": np.repeat([0.0, 0, 1], 4000) + shift[::-1]}
    apart = mw.regress(data, "y ~ a + b", {"y": WARNER}, interval="profile")
    assert apart.confidence_interval() == pytest.approx(alike.confidence_interval(), abs=1e-5)
    assert apart.p_values == pytest.approx(alike.p_values, abs=1e-6)
