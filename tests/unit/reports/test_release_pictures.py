"""Pictures of a release from their parts: what they hold, what they say, and that words neither touch nor leave."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.support.drawings import drawn, fixed_colours, overlapping, said, texts_outside

from maskwell.core import Categories
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.microdata import RiskUtilityPoint
from maskwell.microdata.stages.stage import Stage
from maskwell.plots import Picture, plot_matrix, plot_risk_utility
from maskwell.reports.pictures.risk_curves import MOST_STEPS, Cost, RiskSpread, draw_release_risk
from maskwell.reports.pictures.transition_picture import WHOLE


def spread_of(risk: list[float], records: list[int]) -> RiskSpread:
    return RiskSpread.of(np.array(risk), np.array(records))


def stage_of(counts: list[int], labels: list[tuple[object, ...]] | None = None, theta: str = "1/2") -> Stage:
    """The inverse-frequency matrix of one block, written out."""
    k, states = len(counts), labels or [(f"label {i}",) for i in range(len(counts))]
    move = [Fraction(theta) / n for n in counts]
    P = [[1 - move[j] if i == j else move[j] / (k - 1) for j in range(k)] for i in range(k)]
    return Stage(
        variables=("roof",) if len(states[0]) == 1 else ("region", "roof"),
        states=states,  # type: ignore[arg-type]
        outputs=states,  # type: ignore[arg-type]
        design=Dense.of(P, inputs=Categories.numbered(k)),
        counts=np.array(counts),
        cells=np.zeros(k, dtype=np.int64),
        method="inverse-frequency",
        invariance="counts",
        derived=True,
    )


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
    picture = PICTURES[which]()
    figure, drawing = drawn(picture)
    assert overlapping(figure) == [] and texts_outside(figure) == []
    assert fixed_colours(drawing) == set()
    assert all(len(row) == len(picture.columns) for row in picture.rows)


def test_risk_counts_records_and_not_cells() -> None:
    picture = draw_release_risk(spread_of([1.0, 0.5], [3, 10]), spread_of([0.45, 0.4], [3, 10]), bound=0.5)
    assert picture.data["records_before"].tolist() == [10, 3]
    assert "3 of them; after it 45\u00a0% at most" in picture.text
    assert "The bound is 50\u00a0%: 3 records were above it, none still are." in picture.text
    assert ["50\u00a0%", "13", "0"] in picture.rows


def test_a_bound_that_is_not_kept_is_told() -> None:
    picture = draw_release_risk(spread_of([1.0], [5]), spread_of([0.6, 0.1], [1, 4]), bound=0.5)
    assert "1 still is" in picture.text
    assert "1 record still above it" in said(picture)


def test_a_risk_at_the_bound_is_not_above_it() -> None:
    spread = spread_of([1 / 3, 0.5 + 1e-14], [1, 1])
    assert (spread.above(0.5), spread.at_least(0.5), spread.at_least(1 / 3)) == (0, 1, 2)


def test_a_long_curve_is_drawn_short_and_ends_at_its_end() -> None:
    risk = np.linspace(0.001, 0.7, 5 * MOST_STEPS)
    x, y = RiskSpread.of(risk, np.ones(len(risk))).steps()
    assert len(x) <= MOST_STEPS + 1 and x[-1] == 0.7 and y[-1] == 1 and y[0] == len(risk)


def test_a_file_without_records_has_no_risk() -> None:
    with pytest.raises(ParameterError, match="no record"):
        spread_of([], [])


def test_the_map_tells_what_beats_what() -> None:
    picture = plot_risk_utility([point("a", 0.5, 0.02, chosen=True), point("b", 0.6, 0.05)], bound=0.5)
    assert picture.rows[1][-1] == "a"
    assert "a: greatest risk 50\u00a0%, 2.0 percent of the records change, chosen" in picture.text
    with pytest.raises(ParameterError, match="0 points"):
        plot_risk_utility([])


def test_a_bound_that_cannot_be_kept_is_named() -> None:
    never = RiskUtilityPoint(label="match 0.1", risk=np.nan, changed=np.nan, matches=np.nan, above=0, note="why")
    picture = plot_risk_utility([point("a", 0.5, 0.02), never])
    assert len(picture.rows) == 1 and picture.text.endswith("match 0.1: not possible.")
    assert overlapping(picture.figure()) == []
    with pytest.raises(ParameterError, match="has a risk to draw"):
        plot_risk_utility([never])


def test_a_small_matrix_is_drawn_whole() -> None:
    stage = stage_of([1, 4, 20])
    picture = plot_matrix(stage)
    np.testing.assert_array_equal(picture.data["probability"], stage.design.matrix())
    assert picture.columns[1] == "if the truth is label 0" and picture.rows[0][1] == "50.0\u00a0%"
    assert "label 0 becomes label 0 with 50.0 percent, label 1 with 25.0 percent" in picture.text


def test_of_a_large_matrix_the_chance_to_stay_is_drawn() -> None:
    counts = list(range(1, WHOLE + 30))
    picture = plot_matrix(stage_of(counts))
    np.testing.assert_allclose(picture.data["keeps"], 1 - 0.5 / np.array(counts))
    assert picture.rows[0] == ["label 0", "1", "50.0\u00a0%"]
    assert "from 50.0 percent for label 0" in picture.text
