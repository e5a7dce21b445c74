import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.support.drawings import check_drawing

from maskwell import Demand
from maskwell.errors import ParameterError
from maskwell.planning import minimax_size
from maskwell.planning.design_choice import choose
from maskwell.planning.set_sizes import added_variance
from maskwell.plots import Picture, plot_frontier
from maskwell.reports.pictures.choice_picture import plot_choice

ONE = Demand.from_epsilon(1)


@cache
def pictures() -> list[Picture]:
    return [
        plot_frontier(10, demand=ONE),
        plot_frontier(2, demand=Demand.from_rho("0.1", "0.5"), n=100),
        plot_frontier(10, demand=Demand.from_epsilon(12)),
        plot_frontier(10**6, demand=ONE, n=10**6),
        plot_frontier(5, demand=Demand.from_gamma("1e400")),
        plot_frontier(5, demand=replace(ONE, text="curves of a-file-with-a-rather-long-name-in-a-folder.csv")),
        plot_choice(choose(4, ONE, pi=["0.4", "0.3", "0.2", "0.1"])),
    ]


def test_lines_hold_the_error_of_one_share() -> None:
    data = plot_frontier(10, demand=ONE, n=400).data
    for e, gamma, variance, error in zip(
        data["epsilon"], data["gamma"], data["added_variance"][0], data["error"][0], strict=True
    ):
        assert math.log(gamma) == pytest.approx(e)
        assert variance == pytest.approx(added_variance(10, float(gamma), minimax_size(10, float(gamma))))
        assert error == pytest.approx(math.sqrt((variance + 0.9) / (10 * 400)))
    assert 1.0 in data["epsilon"].round(12)
    assert (np.diff(data["error"], axis=1) < 0).all()


def test_the_table_says_what_beats_what() -> None:
    rows = {row[0]: row for row in plot_frontier(10, demand=ONE).rows}
    assert rows["minimax subset selection"][-1] == ""
    assert rows["k-ary randomized response"][-1] == ""
    beaten = [row for row in rows.values() if row[-1]]
    assert len(beaten) == 6
    assert {row[-1] for row in beaten} == {"minimax subset selection"}


def test_one_design_under_two_names_is_one_line() -> None:
    rows = plot_frontier(3, demand=ONE).rows
    assert rows[0][0] == "k-ary randomized response"
    assert "minimax subset selection" not in {row[0] for row in rows}
    assert {row[-1] for row in rows[1:]} == {"k-ary randomized response"}


def test_the_recommended_design_is_told_with_its_reason() -> None:
    choice = choose(10, ONE, n=1000)
    picture = plot_choice(choice)
    assert choice.reason in picture.text
    assert picture.text == plot_frontier(10, demand=ONE, n=1000).text
    assert "equal shares" in plot_choice(choose(3, ONE, pi=["0.5", "0.3", "0.2"])).text
    assert "no bound on parity" in picture.text


def test_dominated_points_have_arrows_and_others_none() -> None:
    points = plot_frontier(3, demand=Demand.from_rho("0.1", "0.5")).figure().axes[1]
    arrows = [text for text in points.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 6
    best = min(float(line.get_xdata()[0]) for line in points.lines if line.get_marker() == "o")
    assert all(arrow.xy[0] == pytest.approx(best) for arrow in arrows)


@pytest.mark.parametrize("demand", [Demand.from_gamma(1), Demand.from_curves()])
def test_demands_without_a_design_are_refused(demand: Demand) -> None:
    with pytest.raises(ParameterError):
        plot_frontier(5, demand=demand)


def test_frontiers_are_drawn_and_described() -> None:
    for picture in pictures():
        check_drawing(picture)
