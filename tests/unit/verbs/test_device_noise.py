"""Standard errors that are shown are never below what the device adds, and rows of pictures name their intervals."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwell as mw
from maskwell.designs import Dense, Uniform

FOUR = Uniform.from_gamma(3, mw.Categories.of(list("abcd")))
JAR = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]], mw.Categories.of(list("abc")))
WARNER = mw.design("warner", p="0.8")


def test_a_category_without_reports_has_the_error_of_its_device() -> None:
    """Its error was printed as 0.000000001: what rounding left of zero, which gave the whole table nine decimals."""
    found = mw.estimate({"a": 30, "b": 20, "c": 10, "d": 0}, FOUR)
    a, b = 0.5, 1 / 6
    np.testing.assert_allclose(found.standard_error[3] ** 2, b * (1 - b) / (a - b) ** 2 / 60, rtol=1e-9)
    assert any("randomization alone" in flag for flag in found.flags)
    assert "0.000000" not in found.to_markdown()
    together = found.estimate.contrast([1, 1, 1, 1])
    np.testing.assert_allclose(together, [1, 0], atol=1e-12)


def test_other_estimates_stay_as_they_are() -> None:
    found = mw.estimate({"a": 30, "b": 20, "c": 25}, JAR)
    raw = mw.estimation.estimate_by_moments(mw.estimation.Sample.of([30, 20, 25], JAR).counts, JAR)
    np.testing.assert_array_equal(found.covariance, raw.covariance)
    np.testing.assert_allclose(found.estimate.sampling_variance, raw.sampling_variance)


@given(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(lambda x: sum(x) > 1))
@settings(deadline=None, max_examples=40)
def test_no_variance_is_below_the_least_that_the_device_adds(counts: list[int]) -> None:
    """Over all truths; differences and sums of two have errors, too, and no part of a variance is negative."""
    found = mw.estimate(dict(zip("abc", counts, strict=True)), JAR)
    L = np.linalg.inv(JAR.matrix())
    least = (L**2 @ JAR.matrix() - np.eye(3)).min(axis=1) / sum(counts)
    assert (found.standard_error**2 >= least * (1 - 1e-9)).all()
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-12 and not (found.estimate.sampling_variance < 0).any()


def lonely() -> Any:
    rows = 20
    data = {"y": ["yes", "no"] * (rows // 2) + ["no", "yes"], "s": [1] * rows + [2, 3], "g": ["x"] * rows + ["l", "m"]}
    return mw.estimate(data, {"y": WARNER}, sampling=mw.Sampling(strata="s", lonely="centre"), by="g")


def test_a_lonely_stratum_has_the_error_of_its_device_and_no_interval_says_why() -> None:
    """The note said that a standard error is zero, beside one of 0.33. Its error was zero, from a sampling variance of
    -0.44 and a randomization variance of 0.44.
    """
    strata, clusters = [1] * 8 + [2] * 4, [1] * 4 + [2] * 4 + [3] * 4
    data = {"y": ["yes", "no"] * 6, "s": strata, "c": clusters, "g": ["x"] * 8 + ["l"] * 4}
    found = mw.estimate(data, {"y": WARNER}, sampling=mw.Sampling(strata="s", clusters="c", lonely="centre"), by="g")
    (why,) = [flag for flag in found.estimate.domains["l"].intervals().flags if flag.startswith("no interval")]
    assert "degrees of freedom" in why
    one = lonely().estimate.domains["l"]
    np.testing.assert_allclose(one.standard_error, np.sqrt(0.16 / 0.36))
    assert (one.total_standard_error >= one.standard_error * (1 - 1e-9)).all()
    np.testing.assert_array_equal(one.sampling_variance, 0)
    assert not any("still valid" in flag or "zero" in flag for flag in one.flags)
    assert one.contrast([1, -1]).standard_error > 1


def test_pictures_and_tables_name_the_interval_of_each_row() -> None:
    generator = np.random.default_rng(1)
    group = np.repeat(["many", "few"], [600, 30])
    data = {
        "y": np.where(generator.random(630) < 0.5, "yes", "no").tolist(),
        "g": group.tolist(),
        "w": (1 + generator.random(630)).tolist(),
    }
    found = mw.estimate(data, {"y": WARNER}, sampling=mw.Sampling(weights="w"), by="g")
    assert [one.intervals().method for one in found.estimate.domains.values()] == ["score", "wald"]
    assert "Wald intervals (score for few)" in found.to_markdown()
    few = found.estimate.domains["few"].intervals()
    printed = next(line for line in str(found).splitlines() if "domain few" in line)
    assert "(score intervals)" in printed and f"[{few.low[0]:.4f}, {few.high[0]:.4f}]" in printed
    assert "score" not in next(line for line in str(found).splitlines() if "domain many" in line)
    assert "Intervals of domains: Wald; score for few." in "\n".join(found.to_report())
    picture = found.plot()
    assert picture.columns[-1] == "interval"
    assert {row[0]: row[-1] for row in picture.rows} == {"all": "Wald", "few": "score", "many": "Wald"}
    low = found.estimate.domains["few"].intervals().low[0]
    assert f"({100 * low:.1f} to" in picture.text
    assert "plus or minus" not in picture.text


def test_a_domain_of_one_row_or_cluster_keeps_no_other_from_its_interval() -> None:
    """Its missing interval was an error for the whole file, which spoke of an estimate made without counts."""
    data = {"y": ["yes", "yes", "no", "yes"], "g": list("bbba")}
    for method in ("exact", "score", "matched", "profile"):
        found = mw.estimate(data, {"y": WARNER}, by="g", interval=method)
        report = "\n".join(found.to_report())
        assert "g = a: too few rows" in report and "nan" not in f"{report} {found}"
        whole = found.estimate.domains["b"].intervals(method=method).to_array()
        assert np.isfinite(whole).all() and (whole[:, 0] < whole[:, 1]).all()
    data = {"y": ["yes"] * 3 + ["no"] * 3, "g": list("abaaaa"), "c": list("122345")}
    for method in ("score", "matched", "wald"):
        found = mw.estimate(data, {"y": WARNER}, by="g", sampling=mw.Sampling(clusters="c"), interval=method)
        assert "g = b: no interval: clusters and strata leave no degrees" in "\n".join(found.to_report())
        assert np.isfinite(found.estimate.domains["a"].intervals(method=method).to_array()).all()
