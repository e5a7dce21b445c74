"""Domains of a sample without a plan are what files of their own would give."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import Cells
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.estimation import Sample, estimate_by_likelihood, estimate_by_moments, estimate_cells, estimate_samples
from maskwell.estimation.sampling.report_shares import estimate_simple

WARNER = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
OTHER = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])
JAR = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])


def test_whole_and_domains_are_plain_estimates() -> None:
    cells = Cells.of([0, 1, 0, 1], count=[60, 90, 30, 120], domain=["f", "f", "m", "m"])
    for method, alone in (("moments", estimate_by_moments), ("ml", estimate_by_likelihood)):
        found = estimate_simple(cells, [WARNER], method=method)
        for one, counts in ((found, [90, 210]), (found.domains["f"], [60, 90]), (found.domains["m"], [30, 120])):
            sample = Sample.of(counts, WARNER)
            plain = alone(sample.counts, WARNER)
            assert one.pi_hat == pytest.approx(plain.pi_hat)
            assert one.standard_error == pytest.approx(plain.standard_error, nan_ok=True)
            assert one.default_interval == plain.default_interval
            for interval in ("exact", "score", None):
                ends = plain.confidence_interval(0.9, interval)
                assert one.confidence_interval(0.9, interval) == pytest.approx(ends, nan_ok=True)


def test_totals_are_those_of_a_sample_with_replacement() -> None:
    rng = np.random.default_rng(5)
    cells = Cells.of(rng.integers(0, 3, 400), domain=rng.integers(0, 3, 400).tolist())
    found, survey = estimate_simple(cells, [JAR]), estimate_cells(cells, JAR)
    assert found.total_covariance == pytest.approx(survey.total_covariance)
    for label, one in found.domains.items():
        assert one.total == pytest.approx(survey.domains[label].total)
        assert one.total_covariance == pytest.approx(survey.domains[label].total_covariance)


def test_several_samples() -> None:
    cells = Cells.of(
        [0, 1, 0, 1, 0, 1], count=[60, 90, 40, 110, 20, 30], sample=[0, 0, 1, 1, 0, 0], domain=["f"] * 4 + ["m"] * 2
    )
    found = estimate_simple(cells, [WARNER, OTHER])
    both = estimate_samples([Sample.of([60, 90], WARNER), Sample.of([40, 110], OTHER)])
    assert found.domains["f"].pi_hat == pytest.approx(both.pi_hat)
    assert found.domains["f"].variance == pytest.approx(both.variance)
    assert found.domains["m"].pi_hat[0] == pytest.approx((20 / 50 - 0.3) / 0.4)


def test_a_domain_with_one_row_has_no_estimate() -> None:
    found = estimate_simple(Cells.of([0, 1, 0], domain=["f", "f", "m"]), [WARNER])
    assert np.isnan(found.domains["m"].pi_hat).all()
    assert "too few" in found.domains["m"].flags[0]
    assert found.domains["m"].n == 1


def test_a_plan_is_refused() -> None:
    with pytest.raises(ParameterError, match="estimate_cells"):
        estimate_simple(Cells.of([0, 1], weight=[1.0, 2.0]), [WARNER])
