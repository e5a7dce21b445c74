"""Pictures of what a release does to associations and to precision."""

import math
from functools import cache

import pytest
from tests.support.drawings import check_drawing
from tests.support.quiet import refused
from tests.support.releases import stage_of

from maskwell.core.cells import CellTable
from maskwell.errors import InputError
from maskwell.microdata.utility.utility_measures import Association
from maskwell.microdata.utility.utility_report import UtilityReport, assess_utility
from maskwell.plots import Picture
from maskwell.reports.pictures.utility_pictures import plot_associations, plot_inflation

BEFORE = CellTable.of(["roof", "income"], {("tile", "low"): 15, ("tile", "high"): 5, ("thatch", "low"): 10})
AFTER = CellTable.of(["roof", "income"], {("tile", "low"): 14, ("tile", "high"): 4, ("thatch", "low"): 12})


STAGE = stage_of(["roof"], [("thatch",), ("tile",)], [["1/2", "1/4"], ["1/2", "3/4"]], [10, 20])


def utility(*, released: bool = True) -> UtilityReport:
    return assess_utility([BEFORE], [AFTER] if released else None, [STAGE])


def many() -> UtilityReport:
    pairs = [
        Association((f"column_{i}", f"a_long_name_of_a_column_{i}"), 0.9 - i / 50, 0.8 - i / 50) for i in range(40)
    ]
    return UtilityReport({}, (*pairs, Association(("a", "b"), None)))


@cache
def pictures() -> list[Picture]:
    early = utility(released=False)
    return [
        plot_associations(utility()),
        plot_associations(early),
        plot_associations(many(), most=16),
        plot_inflation(utility()),
        plot_inflation(early),
    ]


@pytest.mark.parametrize("which", range(5))
def test_words_neither_touch_nor_leave(which: int) -> None:
    check_drawing(pictures()[which])


def test_associations_are_those_of_the_files() -> None:
    found, picture = utility(), plot_associations(utility())
    assert picture.data["before"] == pytest.approx([found.pairs[0].before])
    assert picture.data["after"] == pytest.approx([found.pairs[0].after])
    assert picture.rows[0][0] == "roof × income"
    early = plot_associations(utility(released=False))
    assert math.isnan(early.data["after"][0]) and early.rows[0][3] == "–"


def test_those_that_lose_most_come_first_and_nothing_to_draw_is_an_error() -> None:
    pairs = (Association(("a", "b"), 0.5, 0.49), Association(("a", "c"), 0.3, 0.1))
    assert plot_associations(UtilityReport({}, pairs)).rows[0][0] == "a × c"
    picture = plot_associations(many())
    assert "24 more pairs lose less; they are on further pages" in picture.text
    assert len(picture.pages) == 3 and len(picture.rows) == 40  # 16, 16 and 8 lines
    assert "not all of them are drawn" in plot_associations(many(), most=16).text
    nothing = UtilityReport({})
    refused(InputError, "association", plot_associations, nothing)
    refused(InputError, "inflation", plot_inflation, nothing)
