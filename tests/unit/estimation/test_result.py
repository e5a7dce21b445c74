"""Sums of shares, and what an estimate keeps."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense, Uniform
from maskwell.errors import LabelError, ParameterError, TooLargeError
from maskwell.estimation import Sample, estimate_by_moments

KARY = Uniform.from_gamma(5, Categories.of([0, 1, 5]))
SAMPLE = Sample.of([500, 300, 200], KARY)


def test_contrasts_use_the_whole_covariance() -> None:
    estimate = estimate_by_moments(SAMPLE.counts, KARY)
    c = np.array([1.0, -1.0, 0.5])
    found = estimate.contrast(c)
    assert found.value == pytest.approx(float(c @ estimate.pi_hat))
    assert found.standard_error == pytest.approx(float(np.sqrt(c @ estimate.covariance @ c)))
    assert estimate.contrast([1, 1, 1]).value == pytest.approx(1)
    assert estimate.contrast([1, 1, 1]).standard_error == pytest.approx(0, abs=1e-8)


def test_a_mean_takes_numbers_from_the_labels_or_from_values() -> None:
    estimate = estimate_by_moments(SAMPLE.counts, KARY)
    assert estimate.mean() == estimate.contrast([0, 1, 5]) == estimate.mean([0, 1, 5])
    warner = make_design("warner", p="0.7")
    yes = estimate_by_moments(Sample.of([120, 180], warner).counts, warner)
    assert yes.mean([1, 0]).value == pytest.approx(0.25)
    with pytest.raises(LabelError, match="'yes'"):
        yes.mean()


def test_refusals() -> None:
    estimate = estimate_by_moments(SAMPLE.counts, KARY)
    for bad in ([1, 2], [1, 2, float("nan")], [[1, 2, 3]]):
        with pytest.raises(ParameterError, match="coefficients"):
            estimate.contrast(bad)
    many = Uniform.from_epsilon(2, Categories.numbered(2001))
    with pytest.raises(TooLargeError, match="covariances"):
        estimate_by_moments(Sample.of(np.ones(2001, dtype=int), many).counts, many).mean()


def test_an_estimate_keeps_what_it_came_from() -> None:
    estimate = estimate_by_moments(SAMPLE.counts, KARY)
    assert [(s.design, s.n) for s in estimate.samples] == [(KARY, 1000)]
    assert estimate.moments is None
    assert estimate.inverse is None


def test_a_notebook_shows_a_table_with_what_must_be_known() -> None:
    sample = Sample.of([60, 440], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]], Categories.of(["<yes>", "no"])))
    shown = estimate_by_moments(sample.counts, sample.design)._repr_html_()
    assert ">&lt;yes&gt;</th>" in shown and ">-0.062</td>" in shown
    assert "outside [0, 1]" in shown


def test_an_estimate_draws_itself() -> None:
    pytest.importorskip("matplotlib")
    sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    picture = estimate_by_moments(sample.counts, sample.design).plot(level=0.9)
    assert picture.contents("p.svg")["p.svg"].startswith(b"<svg")
    assert "90" in picture.text
