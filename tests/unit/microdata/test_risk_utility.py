"""Which of several releases is beaten by another."""

from __future__ import annotations

from maskwell.microdata import RiskUtilityPoint
from maskwell.microdata.risk_utility import beaten_by


def point(label: str, risk: float, changed: float) -> RiskUtilityPoint:
    return RiskUtilityPoint(label=label, risk=risk, changed=changed, matches=1.0, above=0)


def test_equal_points_beat_neither() -> None:
    assert beaten_by([point("a", 0.5, 0.1), point("b", 0.5, 0.1)]) == [None, None]


def test_a_beaten_point_names_the_safest_of_its_betters() -> None:
    points = [point("worst", 0.9, 0.2), point("safe", 0.3, 0.15), point("cheap", 0.6, 0.05)]
    assert beaten_by(points) == [1, None, None]


def test_a_point_that_leaves_more_to_be_found_beats_nothing() -> None:
    """One record that cannot be protected gives all the same greatest risk."""
    mild = RiskUtilityPoint(label="mild", risk=1.0, changed=0.2, matches=900.0, above=400)
    strict = RiskUtilityPoint(label="strict", risk=1.0, changed=0.4, matches=300.0, above=1)
    assert beaten_by([mild, strict]) == [None, None]


def test_a_point_is_told_whole() -> None:
    content = point("a", 0.5, 0.1).to_dict()
    assert content["label"] == "a" and content["inflation"] is None and content["chosen"] is False
