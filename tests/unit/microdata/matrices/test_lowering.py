"""Bounds, read exactly and checked once; and diagonals lowered until the risk is what it may be."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import quiet, refused

from maskwell import Categories
from maskwell.designs import Sparse
from maskwell.errors import CountsError, InfeasibleError, ParameterError, WrongTypeError
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix
from maskwell.microdata.matrices.bounds import Exchanges, labels_for, read_amounts
from maskwell.microdata.matrices.match_caps import match_risks, method1_for_match
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.intruders import INTRUDERS


def test_another_risk_is_lowered_or_names_the_cell_and_the_suggested_chance_works() -> None:
    def never(design: Sparse) -> np.ndarray:
        return np.ones(design.k)

    with quiet(InfeasibleError, match="the best leaves category 1", values="hut") as caught:
        lower_until([1, 3, 30], "0.5", risk=never, categories=Categories.of(["hut", "house", "flat"]))
    assert caught.value.objects["state"] == 0

    def always(design: Sparse) -> np.ndarray:
        return design.diagonal()

    found = lower_until([1, 3, 30], "0.25", risk=always, step="0.25")
    assert found.caps == {0: Fraction(1, 4), 1: Fraction(1, 4)}
    caught = refused(InfeasibleError, "no matrix was found", lower_until, [1, 1], "0.4")
    chance = caught.objects["chance"]
    assert chance == 0.5
    assert "allow 0.5" in (caught.hint or "")
    assert lower_until([1, 1], "0.5").risk.max() <= 0.5 + 1e-12


def test_a_move_can_be_limited_and_what_cannot_be_reached_is_said() -> None:
    with pytest.raises(InfeasibleError, match="needs more changes of category 1 than") as caught:
        lower_until([1, 3, 30], "0.5", bounds=Bounds.of(least_kept="0.9"))
    assert caught.value.objects["states"] == (0,)
    refused(InfeasibleError, "strongest", method1_for_match, [1, 1], "0.1")
    # By their own values nobody would find them, under the other value everybody.
    assert method1_for_match([1, 1], "0.5").theta == Fraction(1, 2)
    refused(ParameterError, "nu = 50", lower_until, [1, 2], 50)
    free = optimal_matrix([4, 6, 10], Bounds.of(posterior_own="0.6")).design.matrix()
    move = int(np.argmax(free[1:, 0])) + 1
    limited = optimal_matrix(
        [4, 6, 10], replace(Bounds.of(posterior_own="0.6"), exchanges=Exchanges(moves={(move, 0): Fraction(1, 10)}))
    )
    assert free[move, 0] > 0.1 >= limited.design.matrix()[move, 0] - 1e-12
    assert limited.achieved["posterior_own"] <= 0.6
    refused(ParameterError, "out of range", Exchanges, moves={(0, 1): Fraction(2)})


@pytest.mark.parametrize("nu", ["0.2", "1/102"])
@pytest.mark.parametrize("intruder", ["any-look", "own-key", "own-key-95"])
def test_two_small_cells_do_not_only_swap(nu: str, intruder: str) -> None:
    v = [1, 1, 40, 60]
    measure = match_risks(read_amounts(v), np.arange(4), INTRUDERS[intruder])
    for found in (lower_until(v, nu, risk=measure), lower_until(v, nu, intruder=intruder)):
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


def test_bounds_are_read_exactly_and_those_that_cannot_be_are_named() -> None:
    bounds = Bounds.of(posterior=0.1, odds="1/3", match=None, caps={4: 0.3})
    assert bounds.asked() == {"posterior": Fraction(1, 10), "odds": Fraction(1, 3)}
    assert bounds.caps == {4: Fraction(3, 10)}
    assert bounds.to_dict() == {"posterior": "0.1", "odds": "1/3", "caps": {"4": "0.3"}}
    bounds = Bounds.of(posterior="0.9", posterior_own="0.8", odds=3, caps={1: 0.5, 2: 1})
    assert [bounds.own(i) for i in range(3)] == [Fraction(3, 4), Fraction(1, 2), Fraction(9, 10)]
    caught = refused(ParameterError, "beta", Bounds.of, beta=0.5)
    assert all(name in caught.hint for name in Bounds.names())
    refused(ParameterError, "state 3", Bounds.of, caps={3: 1.5})
    refused(ParameterError, "posterior", Bounds.of, posterior="high")
    refused(WrongTypeError, "posterior", Bounds.of, posterior=True)
    refused(ParameterError, "changed_at_least", Bounds.of, changed_at_least=0.5, changed_at_most=0.4)


OUTSIDE = {"posterior": 0, "posterior_own": -1, "odds": 0, "guess": 2, "factor": "0.99", "parity": 0.5}
OUTSIDE |= {"least_kept": "1.5", "changed_at_most": 70, "changed_at_least": -0.1, "match": 0}


@pytest.mark.parametrize(("name", "value"), OUTSIDE.items())
def test_out_of_range_names_the_bound(name: str, value: float | str) -> None:
    caught = refused(ParameterError, name, Bounds.of, **{name: value})
    assert "give a number" in caught.hint


def test_whole_numbers_of_any_kind_and_weights_are_read_exactly() -> None:
    for numbers in ([12, 0, 3], (12.0, 0.0, 3.0), np.array([12, 0, 3], dtype=np.uint8), iter([12, 0, 3])):
        found = read_amounts(numbers)
        assert found.integers.tolist() == [12, 0, 3] and found.whole
    found = read_amounts([0.1, Fraction(1, 3), 2], weighted=True)
    assert found.scale == 30 and found.integers.tolist() == [3, 10, 60]
    np.testing.assert_allclose(found.floats, [0.1, 1 / 3, 2])
    found = read_amounts([10**30, 1])
    assert found.integers.tolist() == [10**30, 1]
    refused(CountsError, "2 counts for 3 categories", labels_for, read_amounts([1, 2]), Categories.of(["a", "b", "c"]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([5, -1], "state 1 has -1"),
        ([0, 0], "all counts are zero"),
        ([1.5, 2], "state 0 is 1.5, not a whole number"),
        ([1, float("nan")], "state 1 is nan"),
        ([1, float("inf")], "state 1 is inf"),
        ([1, "many"], "'many'"),
        ([1, None], "None"),
        ([True, 2], "True"),
        ([], "one column"),
        ([[1, 2]], "one column"),
        (7, "one column"),
    ],
)
def test_what_cannot_be_counts(given: Any, said: str) -> None:
    caught = refused(CountsError, "", read_amounts, given)
    assert said in caught.message
    assert caught.hint
