from functools import cache

import numpy as np
import pytest
from tests.support.drawings import check_drawing

from maskwell.errors import ParameterError
from maskwell.planning import minimax_size
from maskwell.planning.set_sizes import added_variance, switch_gamma, switch_k
from maskwell.plots import Picture, plot_variance


@cache
def pictures() -> list[Picture]:
    return [
        plot_variance(),
        plot_variance(ks=[5], gammas=[3]),
        plot_variance(ks=[2], gammas=["1.001"]),
        plot_variance(mark=(50, "8/3")),
        plot_variance(mark=(50, 10**12)),
        plot_variance(mark=(50, 10**400)),
        plot_variance(ks=[10, 11, 12, 13, 14, 15, 16, 10**6], gammas=[2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 10**6]),
    ]


def test_lines_hold_the_least_added_variance_and_its_size() -> None:
    data = plot_variance(ks=[7, 40], gammas=[3, 12]).data
    for i, gamma in enumerate((3, 12), 1):
        for k, variance, size in zip(data[f"k_{i}"], data[f"variance_by_k_{i}"], data[f"size_by_k_{i}"], strict=True):
            assert size == minimax_size(int(k), gamma)
            assert variance == pytest.approx(added_variance(int(k), gamma, int(size)))
    x = data["gamma_2"]
    assert (x[0], x[-1]) == (3, 12)
    best = [min(added_variance(40, float(g), q) for q in range(1, 40)) for g in x[::40]]
    np.testing.assert_allclose(data["variance_by_gamma_2"][::40], best)


def test_every_marked_change_is_a_change() -> None:
    data = plot_variance(ks=[10, 40], gammas=[2, 12]).data
    assert data["changes_by_k_1"][:, 0].tolist() == [switch_k(2, q) for q in range(1, 7)]
    assert data["changes_by_gamma_1"][:, 0].tolist() == [switch_gamma(10, q) for q in (1, 2)]
    sizes = dict(zip(data["k_1"].tolist(), data["size_by_k_1"].tolist(), strict=True))
    assert [sizes[k] for k in data["changes_by_k_1"][:, 0].tolist()] == [2, 3, 4, 5, 6, 7]


def test_the_variance_is_tabled_and_told() -> None:
    picture = plot_variance(ks=[10], gammas=[5, 20])
    assert picture.columns == ("k", "γ = 5", "γ = 20")
    assert picture.rows == [["10", "9.35 (q = 2)", "1.2 (q = 1)"]]
    assert "with 10 categories 9.35 (q = 2) at gamma 5, 1.2 (q = 1) at gamma 20" in picture.text


def test_a_plan_beyond_the_scale_is_told_not_drawn() -> None:
    picture = plot_variance(mark=(50, 10**400))
    assert "γ = 1.00e+400" in picture.text and "beyond the scale" in picture.text
    assert not any(line.get_marker() == "D" for axes in picture.figure().axes for line in axes.lines)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"ks": []}, "numbers of categories"),
        ({"ks": range(2, 20)}, "numbers of categories"),
        ({"ks": [1]}, "k = 1"),
        ({"gammas": []}, "0 gammas"),
        ({"gammas": [1]}, "gamma = 1"),
        ({"gammas": [2, 10**400]}, "beyond the scale"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked: dict[str, list[int]], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        plot_variance(**asked)


def test_variances_are_drawn_and_described() -> None:
    for picture in pictures():
        check_drawing(picture)
