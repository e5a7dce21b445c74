"""Pictures of a release from their parts: what they hold, what they say, and that words neither touch nor leave."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.support import releases
from tests.support.drawings import check_drawing, overlapping, said
from tests.support.quiet import refused

from maskwell import Categories
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.microdata.risk_utility import RiskUtilityPoint
from maskwell.microdata.stages.stage import Stage
from maskwell.plots import Picture
from maskwell.reports.pictures.risk_curves import Cost, RiskSpread, draw_release_risk
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.pictures.transition_picture import WHOLE, plot_matrix


def spread_of(risk: list[float], records: list[int]) -> RiskSpread:
    return RiskSpread.of(np.array(risk), np.array(records))


def stage_of(counts: list[int], labels: list[tuple[object, ...]] | None = None, theta: str = "1/2") -> Stage:
    """The inverse-frequency matrix of one block, written out."""
    k, states = len(counts), labels or [(f"label {i}",) for i in range(len(counts))]
    move = [Fraction(theta) / n for n in counts]
    P = [[1 - move[j] if i == j else move[j] / (k - 1) for j in range(k)] for i in range(k)]
    variables = ("roof",) if len(states[0]) == 1 else ("region", "roof")
    return releases.stage_of(variables, states, Dense.of(P, inputs=Categories.numbered(k)), counts)  # type: ignore[arg-type]


def point(label: str, risk: float, changed: float, *, chosen: bool = False) -> RiskUtilityPoint:
    return RiskUtilityPoint(label=label, risk=risk, changed=changed, matches=10.0, above=0, chosen=chosen)


MANY = [point(f"a bound with a long name {i}", 0.9 - 0.05 * i, 0.001 * i**2, chosen=i == 4) for i in range(11)]


RNG = np.random.default_rng(5)
SIZES = RNG.geometric(0.02, 2000)
BEFORE = RiskSpread.of(1 / SIZES, SIZES)
AFTER = RiskSpread.of(0.45 / SIZES + 0.001 * RNG.random(2000), SIZES)
LONG = Cost("a_very_long_name_of_a_column, another_one", 0.0, None, 1.07)
FEW = spread_of([1.0], [1])
PICTURES: dict[str, Callable[[], Picture]] = {
    "risk": lambda: draw_release_risk(BEFORE, AFTER, bound=0.5, costs=[Cost("a", 0.031, 0.03, 1.2), LONG]),
    "risk without costs": lambda: draw_release_risk(FEW, spread_of([0.97], [1]), bound=None),
    "risk near the edge": lambda: draw_release_risk(FEW, spread_of([0.95], [1]), bound=0.95, costs=[LONG] * 9),
    "map": lambda: plot_risk_utility([point("x", 1.0, 0.0), point("y", 0.4, 0.02, chosen=True)], bound=0.5),
    "map of many": lambda: plot_risk_utility([*MANY, point("worse", 0.9, 0.2)], bound=0.05),
    "map of one": lambda: plot_risk_utility([point("x", 0.0, 0.0)]),
    "matrix": lambda: plot_matrix(stage_of([1, 4, 20, 55])),
    "matrix of pairs": lambda: plot_matrix(stage_of([3] * 20, [(f"region {i // 2}", "fm"[i % 2]) for i in range(20)])),
    "matrix, large": lambda: plot_matrix(stage_of(SIZES[:300].tolist())),
}


@pytest.mark.parametrize("which", list(PICTURES))
def test_words_neither_touch_nor_leave(which: str) -> None:
    check_drawing(PICTURES[which]())


def test_a_bound_that_is_not_kept_is_told_and_a_risk_at_it_is_not_above() -> None:
    picture = draw_release_risk(spread_of([1.0], [5]), spread_of([0.6, 0.1], [1, 4]), bound=0.5)
    assert "1 still is" in picture.text
    assert "1 record still above it" in said(picture)
    spread = spread_of([1 / 3, 0.5 + 1e-14], [1, 1])
    assert (spread.above(0.5), spread.at_least(0.5), spread.at_least(1 / 3)) == (0, 1, 2)
    refused(ParameterError, "no record", spread_of, [], [])


def test_the_map_tells_what_beats_what_and_names_bounds_that_cannot_be_kept() -> None:
    picture = plot_risk_utility([point("a", 0.5, 0.02, chosen=True), point("b", 0.6, 0.05)], bound=0.5)
    assert picture.rows[1][-1] == "a"
    assert "a: greatest risk 50\u00a0%, 2.0 percent of the records change, chosen" in picture.text
    refused(ParameterError, "0 points", plot_risk_utility, [])
    never = RiskUtilityPoint(label="match 0.1", risk=np.nan, changed=np.nan, matches=np.nan, above=0, note="why")
    picture = plot_risk_utility([point("a", 0.5, 0.02), never])
    assert len(picture.rows) == 1 and picture.text.endswith("match 0.1: not possible.")
    assert overlapping(picture.figure()) == []
    refused(ParameterError, "these releases have no risk to draw", plot_risk_utility, [never])


def test_of_a_large_matrix_the_chance_to_stay_is_drawn() -> None:
    counts = list(range(1, WHOLE + 30))
    picture = plot_matrix(stage_of(counts))
    np.testing.assert_allclose(picture.data["keeps"], 1 - 0.5 / np.array(counts))
    assert picture.rows[0] == ["label 0", "1", "50.0\u00a0%"]
    assert "from 50.0 percent for label 0" in picture.text
