"""Pictures of planning: margins against respondents, least variances, and frontiers of designs to choose from."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.support.drawings import check_drawing
from tests.support.quiet import refused
from tests.support.together import together

from maskwell.core.categories import Categories
from maskwell.errors import ParameterError
from maskwell.planning import minimax_size
from maskwell.planning.design_choice import choose
from maskwell.planning.respondent_variance import Sampling
from maskwell.planning.sample_size import plan_sample
from maskwell.planning.set_sizes import added_variance, switch_gamma, switch_k
from maskwell.plots import Picture, plot_frontier, plot_variance
from maskwell.privacy.criteria import Demand
from maskwell.procedures.registry import make_design
from maskwell.reports.pictures.choice_picture import plot_choice
from maskwell.reports.pictures.precision_picture import plot_margins


@cache
def pictures() -> list[Picture]:
    long = Categories.of(["a very long name of a category, indeed", "no"])
    designs = {p: make_design("warner", p=p) for p in ("0.7", "1", "0.501")}
    return [
        plot_margins(plan_sample(designs["0.7"], pi=[0.1, 0.9], margin=0.05)),
        plot_margins(plan_sample(designs["1"], n=5)),
        plot_margins(plan_sample(designs["0.501"], margin=0.01)),
        plot_margins(plan_sample(designs["0.7"].with_labels(long, long), n=10**9)),
        plot_margins(plan_sample(designs["0.7"], pi=[0, 1], n=1, sampling=Sampling.of(deff=3))),
        plot_variance(),
        plot_variance(ks=[5], gammas=[3]),
        plot_variance(ks=[2], gammas=["1.001"]),
        plot_variance(mark=(50, "8/3")),
        plot_variance(mark=(50, 10**12)),
        plot_variance(mark=(50, 10**400)),
        plot_variance(ks=[10, 11, 12, 13, 14, 15, 16, 10**6], gammas=[2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 10**6]),
        plot_frontier(10, demand=ONE),
        plot_frontier(2, demand=Demand.from_rho("0.1", "0.5"), n=100),
        plot_frontier(10, demand=Demand.from_epsilon(12)),
        plot_frontier(10**6, demand=ONE, n=10**6),
        plot_frontier(5, demand=Demand.from_gamma("1e400")),
        plot_frontier(5, demand=replace(ONE, text="curves of a-file-with-a-rather-long-name-in-a-folder.csv")),
        plot_choice(choose(4, ONE, pi=["0.4", "0.3", "0.2", "0.1"])),
    ]


def test_the_curve_of_margins_goes_through_the_plan_that_is_told() -> None:
    plan = plan_sample(make_design("warner", p="0.7"), pi=[0.1, 0.9], n=2156)
    data = plot_margins(plan).data
    assert np.interp(2156, data["n"], data["margin"]) == pytest.approx(plan.margin, rel=1e-3)
    assert np.interp(2156, data["n"], data["direct_margin"]) == pytest.approx(plan.direct_margin, rel=1e-3)
    assert (np.diff(data["margin"]) < 0).all()
    assert (
        "2,156 respondents give 0.05, asked directly 0.0127"
        in plot_margins(plan_sample(make_design("warner", p="0.7"), pi=[0.1, 0.9], margin=0.05)).text
    )


def test_lines_hold_the_least_added_variance_and_every_marked_change_is_a_change() -> None:
    data = plot_variance(ks=[7, 40], gammas=[3, 12]).data
    for i, gamma in enumerate((3, 12), 1):
        for k, variance, size in zip(data[f"k_{i}"], data[f"variance_by_k_{i}"], data[f"size_by_k_{i}"], strict=True):
            assert size == minimax_size(int(k), gamma)
            assert variance == pytest.approx(added_variance(int(k), gamma, int(size)))
    x = data["gamma_2"]
    assert (x[0], x[-1]) == (3, 12)
    best = [min(added_variance(40, float(g), q) for q in range(1, 40)) for g in x[::40]]
    np.testing.assert_allclose(data["variance_by_gamma_2"][::40], best)
    data = plot_variance(ks=[10, 40], gammas=[2, 12]).data
    assert data["changes_by_k_1"][:, 0].tolist() == [switch_k(2, q) for q in range(1, 7)]
    assert data["changes_by_gamma_1"][:, 0].tolist() == [switch_gamma(10, q) for q in (1, 2)]
    sizes = dict(zip(data["k_1"].tolist(), data["size_by_k_1"].tolist(), strict=True))
    assert [sizes[k] for k in data["changes_by_k_1"][:, 0].tolist()] == [2, 3, 4, 5, 6, 7]


def test_the_variance_is_tabled_and_told_and_a_plan_beyond_the_scale_not_drawn() -> None:
    picture = plot_variance(ks=[10], gammas=[5, 20])
    assert picture.columns == ("k", "γ = 5", "γ = 20")
    assert picture.rows == [["10", "9.35 (q = 2)", "1.2 (q = 1)"]]
    assert "with 10 categories 9.35 (q = 2) at gamma 5, 1.2 (q = 1) at gamma 20" in picture.text
    picture = plot_variance(mark=(50, 10**400))
    assert "γ = 1.00e+400" in picture.text and "beyond the scale" in picture.text
    assert not any(line.get_marker() == "D" for axes in picture.figure().axes for line in axes.lines)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"ks": []}, "numbers of categories"),
        ({"ks": range(2, 20)}, "numbers of categories"),
        ({"ks": [1]}, "k must be at least 2, not 1"),
        ({"gammas": []}, "0 gammas"),
        ({"gammas": [1]}, "gamma = 1"),
        ({"gammas": [2, 10**400]}, "too large for the scale"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked: dict[str, list[int]], match: str) -> None:
    refused(ParameterError, match, plot_variance, **asked)


ONE = Demand.from_epsilon(1)


def test_lines_hold_the_error_of_one_share() -> None:
    data = plot_frontier(10, demand=ONE, n=400).data
    for e, gamma, variance, error in zip(
        data["epsilon"], data["gamma"], data["added_variance"][0], data["error"][0], strict=True
    ):
        assert math.log(gamma) == pytest.approx(e)
        assert variance == pytest.approx(added_variance(10, float(gamma), minimax_size(10, float(gamma))))
        assert error == pytest.approx(math.sqrt((variance + 0.9) / (10 * 400)))
    assert 1.0 in data["epsilon"].round(12) and (np.diff(data["error"], axis=1) < 0).all()


def test_the_table_says_what_beats_what_and_two_names_of_a_design_are_one_line() -> None:
    rows = {row[0]: row for row in plot_frontier(10, demand=ONE).rows}
    assert rows["minimax subset selection"][-1] == "" and rows["k-ary randomized response"][-1] == ""
    beaten = [row for row in rows.values() if row[-1]]
    assert len(beaten) == 6
    assert {row[-1] for row in beaten} == {"minimax subset selection"}
    rows = plot_frontier(3, demand=ONE).rows
    assert rows[0][0] == "k-ary randomized response"
    assert "minimax subset selection" not in {row[0] for row in rows}
    assert {row[-1] for row in rows[1:]} == {"k-ary randomized response"}
    points = plot_frontier(3, demand=Demand.from_rho("0.1", "0.5")).figure().axes[1]
    arrows = [text for text in points.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 6
    best = min(float(line.get_xdata()[0]) for line in points.lines if line.get_marker() == "o")
    assert all(arrow.xy[0] == pytest.approx(best) for arrow in arrows)


def test_the_recommended_design_is_told_with_its_reason() -> None:
    choice = choose(10, ONE, n=1000)
    picture = plot_choice(choice)
    assert choice.reason in picture.text
    assert picture.text == plot_frontier(10, demand=ONE, n=1000).text
    assert "equal shares" in plot_choice(choose(3, ONE, pi=["0.5", "0.3", "0.2"])).text
    assert "no bound on parity" in picture.text


@pytest.mark.parametrize("demand", [Demand.from_gamma(1), Demand.from_curves()])
def test_demands_without_a_design_are_refused(demand: Demand) -> None:
    refused(ParameterError, "", plot_frontier, 5, demand=demand)


@together("which", range(19))
def test_words_neither_touch_nor_leave(which: int) -> None:
    check_drawing(pictures()[which])
