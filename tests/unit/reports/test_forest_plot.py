import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.regression import DIRECT, THREE, WARNER, logistic_data

import maskwell as mw
from maskwell.errors import InputError
from maskwell.estimation.regression import fit_logistic
from maskwell.reports.pictures.forest_plot import plot_coefficients


@pytest.fixture(scope="module")
def found():
    X, z = logistic_data(800, [-0.5, 0.8, -0.4])
    return fit_logistic(
        X, z, WARNER, names=["age", "a very long name of a column that does not fit the picture"], codes=True
    )


def test_the_picture_shows_what_the_regression_found(found):
    picture = plot_coefficients(found)
    np.testing.assert_allclose(picture.data["estimate"], found.estimates[1:])
    np.testing.assert_allclose(picture.data["low"], found.confidence_interval()[1:, 0])
    assert "age" in picture.text and picture.columns[1] == "log odds ratio"
    ratios = plot_coefficients(found, exponentiate=True, level=0.9)
    np.testing.assert_allclose(ratios.data["high"], np.exp(found.confidence_interval(0.9)[1:, 1]))
    assert "90 %" in ratios.text


@pytest.mark.parametrize("exponentiate", [False, True])
def test_it_can_be_drawn(found, exponentiate):
    pytest.importorskip("matplotlib")
    assert plot_coefficients(found, exponentiate=exponentiate).svg().startswith("<svg")


def test_nothing_to_draw_is_said_and_an_infinite_coefficient_is_drawn_with_its_one_end():
    alone = fit_logistic(np.empty((300, 0)), np.repeat([0, 1], [120, 180]), WARNER, codes=True)
    refused(InputError, "the model has no coefficients to draw", plot_coefficients, alone)
    x = np.linspace(-1, 1, 40)
    picture = plot_coefficients(fit_logistic(x, (x < 0).astype(int), DIRECT, codes=True))
    assert picture.rows[0][1] == picture.rows[0][3] == "inf" and float(picture.rows[0][2]) > 0
    assert picture.svg().startswith("<svg")


def test_thresholds_are_not_drawn_and_the_interval_is_named():
    table = {"y": np.repeat(["never", "once", "often"], [400, 300, 300]), "x": np.tile([0.0, 1.0], 500)}
    ordinal = mw.regress(table, "y ~ x", {"y": THREE}, model="ordinal")
    picture = plot_coefficients(ordinal, exponentiate=True)
    assert [row[0] for row in picture.rows] == ["x"] and "Wald" in picture.svg()
