"""Which of several releases is beaten by another."""

from __future__ import annotations

import pytest

from maskwell.microdata import RiskUtilityPoint
from maskwell.microdata.risk_utility import beaten_by

Figures = tuple[float, float, float, int]


@pytest.mark.parametrize(
    ("figures", "beaten"),
    [
        ([(0.5, 0.1, 1, 0), (0.5, 0.1, 1, 0)], [None, None]),
        ([(0.9, 0.2, 1, 0), (0.3, 0.15, 1, 0), (0.6, 0.05, 1, 0)], [1, None, None]),  # the safest of its betters
        ([(1, 0.2, 900, 400), (1, 0.4, 300, 1)], [None, None]),  # one that leaves more to be found beats nothing
    ],
)
def test_a_point_is_beaten_by_the_safest_of_its_betters(figures: list[Figures], beaten: list[int | None]) -> None:
    names = ("risk", "changed", "matches", "above")
    points = [RiskUtilityPoint(label="", **dict(zip(names, one, strict=True))) for one in figures]
    assert beaten_by(points) == beaten
