"""Diagonals lowered until the risk is what it may be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import quiet

from maskwell.core import Categories
from maskwell.designs import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix
from maskwell.microdata.matrices.bounds import Exchanges, read_amounts
from maskwell.microdata.matrices.match_caps import match_risks, method1_for_match
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.intruders import INTRUDERS


def test_a_risk_that_never_falls_names_the_cell() -> None:
    def never(design: Sparse) -> np.ndarray:
        return np.ones(design.k)

    with quiet(InfeasibleError, match="the best leaves category 1", values="hut") as caught:
        lower_until([1, 3, 30], "0.5", risk=never, categories=Categories.of(["hut", "house", "flat"]))
    assert caught.value.objects["state"] == 0

    def always(design: Sparse) -> np.ndarray:
        return design.diagonal()

    found = lower_until([1, 3, 30], "0.25", risk=always, step="0.25")
    assert found.caps == {0: Fraction(1, 4), 1: Fraction(1, 4)}


def test_caps_that_other_bounds_do_not_allow_name_the_cells() -> None:
    with pytest.raises(InfeasibleError, match="needs more changes of category 1 than") as caught:
        lower_until([1, 3, 30], "0.5", bounds=Bounds.of(least_kept="0.9"))
    assert caught.value.objects["states"] == (0,)
    with pytest.raises(InfeasibleError, match="strongest"):
        method1_for_match([1, 1], "0.1")
    # By their own values nobody would find them, under the other value everybody.
    assert method1_for_match([1, 1], "0.5").theta == Fraction(1, 2)
    with pytest.raises(ParameterError, match="nu = 50"):
        lower_until([1, 2], 50)


@pytest.mark.parametrize(
    ("nu", "intruder", "by_risk"),
    [
        ("0.2", "any-look", False),
        ("0.2", "own-key", True),
        ("0.2", "own-key-95", False),
        ("1/102", "any-look", True),
        ("1/102", "own-key", False),
        ("1/102", "own-key-95", True),
    ],
)
def test_two_small_cells_do_not_only_swap(nu: str, intruder: str, by_risk: bool) -> None:
    v = [1, 1, 40, 60]
    measure = match_risks(read_amounts(v), np.arange(4), INTRUDERS[intruder])
    found = lower_until(v, nu, risk=measure) if by_risk else lower_until(v, nu, intruder=intruder)
    assert measure(found.design).max() <= float(Fraction(nu)) + 1e-12
    assert found.design.apply(np.array(v) / 102).tolist() == pytest.approx([1 / 102, 1 / 102, 40 / 102, 60 / 102])


@settings(deadline=None, max_examples=8)
@given(
    v=st.lists(st.integers(0, 12), min_size=2, max_size=5).filter(lambda v: sum(v) > 1),
    intruder=st.sampled_from(["any-look", "own-key", "own-key-95"]),
)
def test_what_hiding_among_all_records_reaches_is_found(v: list[int], intruder: str) -> None:
    """A release that says nothing finds a record with one over the number of all, so that nothing above is refused."""
    nu = Fraction(1, sum(v)) + Fraction(1, 1000)
    assert lower_until(v, nu, intruder=intruder).risk.max() <= float(nu) + 1e-12


def test_the_chance_that_is_suggested_works() -> None:
    with pytest.raises(InfeasibleError, match="no matrix was found") as caught:
        lower_until([1, 1], "0.4")
    chance = caught.value.objects["chance"]
    assert chance == 0.5
    assert "allow 0.5" in (caught.value.hint or "")
    assert lower_until([1, 1], "0.5").risk.max() <= 0.5 + 1e-12


@pytest.mark.parametrize(
    ("counts", "nu"), [([1, 2, 3, 400, 5000], "0.1"), ([1, 1, 2, 30, 60], "0.2"), ([1, 3, 20], "0.2")]
)
def test_no_look_under_another_value_finds_more(counts: list[int], nu: str) -> None:
    found = lower_until(counts, nu)
    looks = cell_risks(counts, found.design).any_release
    assert looks.max() <= float(nu) + 1e-9
    assert found.risk.max() == pytest.approx(looks[np.array(counts) * float(nu) < 1].max())
    milder = lower_until(counts, nu, intruder="own-key-95")
    risks = cell_risks(counts, milder.design)
    assert risks.in_range.max() <= float(nu) + 1e-9 < risks.any_release.max() - 0.1, "the other intruder matters here"


def test_a_move_can_be_limited_by_itself() -> None:
    free = optimal_matrix([4, 6, 10], Bounds.of(posterior_own="0.6")).design.matrix()
    move = int(np.argmax(free[1:, 0])) + 1
    limited = optimal_matrix(
        [4, 6, 10], replace(Bounds.of(posterior_own="0.6"), exchanges=Exchanges(moves={(move, 0): Fraction(1, 10)}))
    )
    assert free[move, 0] > 0.1 >= limited.design.matrix()[move, 0] - 1e-12
    assert limited.achieved["posterior_own"] <= 0.6
    with pytest.raises(ParameterError, match="out of range"):
        Exchanges(moves={(0, 1): Fraction(2)})
