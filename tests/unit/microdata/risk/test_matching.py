"""The chance of a correct match of one record."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.support.matching import enumerated_match, exact_pmf, exact_risk

from maskwell.core import Categories
from maskwell.designs import Dense
from maskwell.errors import CountsError, MatrixError, OrientationError, ParameterError, UnknownCategoryError
from maskwell.microdata.risk import match_chances, match_risk
from maskwell.microdata.risk.binomial_sums import sums_of_terms
from maskwell.microdata.risk.match_chances import match_risk_row, strict_risk, target_risks

P = [[Fraction(3, 4), Fraction(1, 6)], [Fraction(1, 4), Fraction(5, 6)]]


def test_it_is_what_listing_every_released_file_gives() -> None:
    expected = enumerated_match([2, 3], P, 0)
    assert expected == {t: Fraction(v) for t, v in enumerate(("5/11", "45/106", "120/383", "23/94", "1/5"), 1)}
    risk = match_risk([2, 3], P, 0)
    for t, value in expected.items():
        assert risk.at(t)[1] == pytest.approx(float(value), rel=1e-14)


def test_nothing_is_changed_without_randomization() -> None:
    risk = match_risk([3, 2], np.eye(2), 0)
    assert (risk.t_low, risk.t_high, risk.at(3)) == (3, 3, (1.0, pytest.approx(1 / 3)))
    assert risk.risk_in_range == risk.risk_strict == risk.p_correct == risk.before == pytest.approx(1 / 3)


def test_a_record_that_never_stays_is_never_found() -> None:
    risk = match_risk([1, 2], [[0, 0.5], [1, 0.5]], 0)
    assert risk.risk_in_range == risk.risk_strict == risk.p_correct == 0


def test_values_that_cannot_come_are_not_told() -> None:
    risk = match_risk([2, 3], P, 0)
    assert risk.at(6) == (0.0, None)
    assert risk.at(0) == (pytest.approx(float(exact_pmf([2, 3], P[0])[0])), None)


def test_labels_name_the_target() -> None:
    design = Dense.of(P, Categories.of(["rare", "common"]))
    assert match_risk([2, 3], design, "common").before == pytest.approx(1 / 3)
    with pytest.raises(UnknownCategoryError, match="'never' is none of the 2 categories"):
        match_risk([2, 3], design, "never")


def random_rows(trials: int, seed: int) -> list[tuple[list[int], list[float], int]]:
    rng = np.random.default_rng(seed)
    special = [0, 1, 0.5, 0.25, 0.05, 0.95, 0.001, 0.999, 0.1, 0.9]
    found = []
    for trial in range(trials):
        k = int(rng.integers(1, 7))
        n = rng.integers(0, 6, k)
        x = int(rng.integers(k))
        n[x] = max(1, n[x])
        p = rng.random(k) if trial % 2 else rng.choice(special, k)
        found.append((n.tolist(), p.tolist(), x))
    return found


@pytest.mark.parametrize(("n", "p", "x"), random_rows(60, seed=11))
def test_the_transform_agrees_with_fractions(n: list[int], p: list[float], x: int) -> None:
    expected = exact_risk(n, p, x)
    rows = sums_of_terms(np.zeros(len(n), dtype=int), np.array(n), np.array(p), 1)
    found = target_risks(rows, np.array([0]), np.array([p[x]]))
    assert found.unconditional[0] == pytest.approx(expected.unconditional, abs=1e-14)
    assert found.in_range[0] == pytest.approx(expected.in_range, abs=1e-13)
    assert (found.t_low[0], found.t_high[0]) == (expected.t_low, expected.t_high)
    assert strict_risk(np.array(n), np.array(p), p[x]) == pytest.approx(expected.strict, abs=1e-13)


def test_a_window_tells_the_same_as_direct_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, row = [40, 300, 900], [0.6, 0.05, 0.01]
    direct = match_risk_row(counts, row, 0)
    monkeypatch.setattr(match_chances, "DIRECT", 0)
    window = match_risk_row(counts, row, 0)
    assert (window.t_low, window.t_high) == (direct.t_low, direct.t_high)
    for t in range(window.t_low, window.t_high + 1):
        assert window.at(t)[0] == pytest.approx(direct.at(t)[0], rel=1e-12)
        assert window.at(t)[1] == pytest.approx(direct.at(t)[1], rel=1e-12)


def test_huge_counts_keep_their_digits() -> None:
    risk = match_risk_row([10**6, 10**9], [0.5, 1e-4], 0)
    assert risk.pmf.sum() == pytest.approx(1, abs=1e-9)  # what is less likely than 1e-12 is not told
    assert float((risk.t * risk.pmf).sum()) == pytest.approx(6e5, rel=1e-9)


def test_the_strict_risk_looks_at_every_number_where_others_are_likelier_to_arrive() -> None:
    n, p = np.array([1, 4000]), np.array([0.2, 0.7])
    searched = strict_risk(n, p, 0.2)
    small = exact_risk([1, 40], [0.2, 0.7], 0)
    assert strict_risk(np.array([1, 40]), p, 0.2) == pytest.approx(small.strict, rel=1e-12)
    assert small.strict > small.in_range  # the share of the target rises with t, up to where all arrive
    assert searched == pytest.approx(1 / 4001, rel=1e-9)


def test_many_targets_at_once_are_found_as_each_alone() -> None:
    """Polynomials of the first t, and the search over all t: two ways to one number, for short and long searches."""
    rng = np.random.default_rng(12)
    rows, targets = [], []
    for most in [3, 20, 300] * 8:
        n, p = rng.integers(1, most, 12), np.exp(rng.uniform(np.log(1e-5), np.log(0.9), 12))
        p[0] = 1.0 if most == 20 else p[0]
        rows.append((n, p))
        targets.append(p[int(rng.integers(1, 12))])
    at_once = match_chances.strict_risks(rows, np.array(targets))
    searches = [match_chances._known_or_open(n, p, target) for (n, p), target in zip(rows, targets, strict=True)]
    alone = [
        match_chances._searched(one.row, one.target, one.certain) if isinstance(one, match_chances._Search) else one
        for one in searches
    ]
    assert sum(not isinstance(one, float) for one in searches) > 12
    np.testing.assert_allclose(at_once, alone, rtol=1e-13)


def test_targets_of_tiny_odds_lose_no_digit() -> None:
    n, p = [1, 2, 1], [1e-12, 2e-12, 1e-9]
    assert strict_risk(np.array(n), np.array(p), p[0]) == pytest.approx(exact_risk(n, p, 0).strict, rel=1e-12)


def test_bad_input_is_named() -> None:
    with pytest.raises(CountsError, match="no record can be the target"):
        match_risk([0, 5], np.eye(2), 0)
    with pytest.raises(UnknownCategoryError):
        match_risk([1, 5], np.eye(2), 7)
    with pytest.raises(ParameterError, match="level"):
        match_risk([1, 5], np.eye(2), 0, level=1.0)
    with pytest.raises(MatrixError, match="3 counts for a matrix of 2 columns"):
        match_risk([1, 5, 2], np.eye(2), 0)
    with pytest.raises(OrientationError):
        match_risk([1, 5], [[0.9, 0.1], [0.3, 0.7]], 0)
    with pytest.raises(MatrixError, match=r"from 0 to 1\.5"):
        match_risk_row([1, 5], [0.5, 1.5], 0)
    with pytest.raises(CountsError):
        match_risk([1.5, 5], np.eye(2), 0)
