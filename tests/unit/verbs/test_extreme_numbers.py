"""Counts that 64 bits do not hold are refused, never wrapped around; shares do not depend on the unit of weights."""

from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.surveys import estimate_with
from tests.support.together import together

import maskwell as mw
from maskwell.core.cells import CellTable
from maskwell.core.row_sums import Cells
from maskwell.errors import CountsError, MaskwellError
from maskwell.estimation import Sample, cross_tabulate_counts

WARNER = mw.design("warner", p="0.7")
BIG = 2**62
COUNTED = {"y": ["yes", "no", "yes", "no", "yes"], "n": [BIG] * 4 + [100], "g": list("ababa"), "x": list("uvuvu")}


@together("options", [{}, {"by": "g"}, {"direct": "x"}, {"strata": "g"}, {"where": "g=a"}])
def test_counts_beyond_64_bits_are_refused(options: dict[str, Any]) -> None:
    """Four times 2^62 is 0 in 64 bits: these reports gave 0.500 from 200 reports."""
    refused(CountsError, "must add up to at most 2", estimate_with, COUNTED, {"y": WARNER}, frequencies="n", **options)


@together("values", [[BIG, BIG], [BIG, BIG + 1]])
def test_plain_counts_are_summed_without_wrapping(values: list[int]) -> None:
    refused(MaskwellError, f"not {sum(values)}", Sample.of, values, WARNER)
    with pytest.raises(MaskwellError, match=r"reports|counts"):
        cross_tabulate_counts([[BIG, BIG], [BIG, BIG]], {"a": WARNER, "b": WARNER})


def test_cells_are_summed_without_wrapping_and_weights_too_large_are_named_so() -> None:
    refused(CountsError, "add up", CellTable.of, ["sex"], {("f",): 2**52, ("m",): 2**52, ("d",): 1})
    refused(CountsError, "add up", Cells.of, [0, 1, 0, 1], count=[2**51, 2**52, 2**52, 1])
    half = Cells.of([0, 1], count=[2**52, 1])
    with pytest.raises(CountsError, match="add up"):
        _ = half + half
    for weight in (2**62, 3 * 2**62, 1e200):
        with pytest.raises(MaskwellError, match=r"too large|more than 64 bits"):
            mw.estimate({"y": ["yes", "no", "no"], "w": [weight] * 3}, {"y": WARNER}, sampling=mw.Sampling(weights="w"))


def weighted(scale: float, **options: Any) -> Any:
    weights = (np.tile([1.0, 2.0, 1.5, 1.0, 3.0, 1.0], 8) * scale).tolist()
    data = {"y": ["yes", "no", "no", "yes", "no", "no"] * 8, "w": weights, "s": [1, 2] * 24, "g": list("abb") * 16}
    return estimate_with(data, {"y": WARNER}, weights="w", strata="s", by="g", **options).estimate


@together("exponent", [-1000, -664, -300, -60, 40])
def test_shares_do_not_depend_on_the_unit_of_weights(exponent: int) -> None:
    usual, scaled = weighted(1.0), weighted(2.0**exponent)
    np.testing.assert_array_equal(usual.pi_hat, scaled.pi_hat)
    for one, other in ((usual, scaled), (usual.domains["a"], scaled.domains["a"])):
        np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-12)
        np.testing.assert_allclose(one.confidence_interval(), other.confidence_interval(), rtol=1e-12)
        np.testing.assert_array_equal(np.ldexp(one.total, exponent), other.total)
        assert np.ldexp(one.population, exponent) == other.population


def test_batches_with_weights_of_different_size_are_added() -> None:
    small, usual = Cells.of([0, 1], weight=[1e-200, 2e-200]), Cells.of([0, 1], weight=[1.0, 2.0])
    both = small + usual
    assert (both.weighting.exponent, both.weight.tolist()) == (0, [1.0, 2.0])
    assert (small + small).weighting.exponent == small.weighting.exponent < -600
