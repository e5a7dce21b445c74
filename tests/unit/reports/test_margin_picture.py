"""The picture of a margin against the number of respondents."""

from functools import cache

import numpy as np
import pytest
from tests.support.drawings import check_drawing

from maskwell import Categories
from maskwell.planning.respondent_variance import Sampling
from maskwell.planning.sample_size import plan_sample
from maskwell.plots import Picture
from maskwell.procedures.registry import make_design
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
    ]


def test_the_curve_goes_through_the_plan() -> None:
    plan = plan_sample(make_design("warner", p="0.7"), pi=[0.1, 0.9], n=2156)
    data = plot_margins(plan).data
    assert np.interp(2156, data["n"], data["margin"]) == pytest.approx(plan.margin, rel=1e-3)
    assert np.interp(2156, data["n"], data["direct_margin"]) == pytest.approx(plan.direct_margin, rel=1e-3)
    assert (np.diff(data["margin"]) < 0).all()


def test_it_is_told() -> None:
    assert "2,156 respondents give 0.05, asked directly 0.0127" in pictures()[0].text


@pytest.mark.parametrize("which", range(5))
def test_words_neither_touch_nor_leave(which: int) -> None:
    check_drawing(pictures()[which])
