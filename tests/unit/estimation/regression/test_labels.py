"""Reports are given as labels: numbers are taken for codes only where the caller says so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.errors import ReportError
from maskwell.estimation import regression as fits

WARNER = make_design("warner", p="0.8")
YES = np.repeat([True, False, True, False], [30, 20, 15, 35])
LABELS = np.where(YES, "yes", "no")
X = np.repeat([0.0, 1.0], 50)[:, None]


def logistic(reports: Any, **options: Any) -> float:
    return float(fits.fit_logistic(X, reports, WARNER, **options).estimates[1])


FITS: list[Callable[..., Any]] = [
    logistic,
    lambda reports, **options: fits.fit_multinomial(X, reports, WARNER, **options),
    lambda reports, **options: fits.fit_predictor(YES[::-1], fits.RandomizedPredictor(reports, WARNER, **options)),
    lambda reports, **options: fits.fit_with_anchor(X, reports, WARNER, fits.Anchor(reports, WARNER), **options),
    lambda reports, **options: fits.estimate_with_anchor(reports, WARNER, fits.Anchor(reports, WARNER), **options),
]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("kind", [bool, int, np.int8, np.uint64])
def test_numbers_and_truth_values_are_refused_where_reports_have_names(fit: Callable[..., Any], kind: type) -> None:
    with pytest.raises(ReportError, match=r"but this design reports 'yes', 'no'") as caught:
        fit(YES.astype(kind))
    assert "map them to these labels" in (caught.value.hint or "")
    assert "codes=True, where 0 means 'yes'" in (caught.value.hint or "")


def test_labels_numbers_and_codes_that_are_called_so_say_the_same_also_with_several_designs() -> None:
    codes = np.where(YES, 0, 1)
    assert logistic(LABELS) == logistic(codes, codes=True) < 0
    assert logistic(1 - codes, codes=True) == pytest.approx(-logistic(LABELS))
    assert logistic(LABELS.tolist()) == logistic(LABELS)
    anchored = fits.estimate_with_anchor(LABELS, WARNER, fits.Anchor(LABELS, WARNER))
    assert anchored.naive == fits.estimate_with_anchor(codes, WARNER, fits.Anchor(codes, WARNER), codes=True).naive
    codes, P = np.where(YES, 0, 1), [["0.8", "0.2"], ["0.2", "0.8"]]
    turned = np.where(YES, 1, 0)
    for labels in ([1, 0], ["1", "0"]):
        design = Dense.of(P, Categories.of(labels))  # 1 is the first category
        assert fits.fit_logistic(X, turned, design).estimates[1] == pytest.approx(logistic(codes, codes=True))
    assert fits.fit_logistic(X, codes, Dense.of(P)).estimates[1] == pytest.approx(logistic(LABELS))
    designs, groups = [WARNER, make_design("warner", p="0.7")], np.arange(100) % 2
    found = fits.fit_logistic(X, LABELS, designs, groups=groups)
    same = fits.fit_logistic(X, np.where(YES, 0, 1), designs, groups=groups, codes=True)
    np.testing.assert_array_equal(found.estimates, same.estimates)
    with pytest.raises(ReportError, match="but this design reports 'yes', 'no'"):
        fits.fit_logistic(X, YES, designs, groups=groups)
    with pytest.raises(ReportError, match="no row used design 1 of the 2"):
        fits.fit_logistic(X, LABELS, [WARNER, WARNER], groups=np.zeros(100, dtype=int))
