"""The order of designs as published or worked out in the literature, through the public interface."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import maskwell as mw
from maskwell.designs.proofs import verify_gain, verify_garbling
from maskwell.planning.order import sufficiency

Vector = dict[str, Any]


def read(vector_folder: Path, name: str) -> Any:
    return json.loads((vector_folder / name).read_text(encoding="utf-8"))


def dense(rows: list[list[Any]]) -> mw.designs.Dense:
    return mw.designs.Dense.of(rows, mw.Categories.numbered(len(rows[0])), mw.Categories.numbered(len(rows)))


def is_sufficient(P: mw.Design, A: mw.Design) -> bool:
    """The answer, its proof checked."""
    found = sufficiency(P, A)
    assert found.holds is not None and found.exact
    if found.holds:
        assert found.garbling is not None and verify_garbling(found.garbling, P.exact_matrix(), A.exact_matrix())
    else:
        assert found.gain is not None and verify_gain(found.gain, P.exact_matrix(), A.exact_matrix())
    return found.holds


def test_the_blackwell_vectors(vector_folder: Path) -> None:
    vectors: list[Vector] = read(vector_folder, "privacy_vectors.json")["blackwell"]
    assert len(vectors) == 6
    for v in vectors:
        P, A = dense(v["P"]), dense(v["A"])
        assert is_sufficient(P, A) == v["P_sufficient_for_A"]
        assert (mw.planning.order_of(P, A).verdict == "equivalent") == v.get("equivalent", False)


def test_example_3_3_dominates_what_it_replaces(vector_folder: Path) -> None:
    """[Adeshiyan2011, Example 3.3], with the garbling that the vectors give."""
    (case,) = (case for case in read(vector_folder, "rr_vectors.json")["cases"] if case["id"] == "I05")
    P, P_star = dense(case["input"]["P"]), dense(case["expected"]["P_star"])
    assert mw.planning.order_of(P_star, P).verdict == "first"
    found = sufficiency(P_star, P)
    assert is_sufficient(P_star, P) and found.garbling is not None
    given = [x for row in case["expected"]["R"] for x in row]
    assert [float(x) for row in found.garbling for x in row] == pytest.approx(given, abs=1e-9)


def test_a_warner_design_dominates_simmons_of_the_same_parity() -> None:
    """Simmons(.8, .1) has parity 41, as Warner(41/42) = Warner(.9761904...) has; Warner(.976190) has a little less."""
    simmons = mw.design("simmons", p="0.8", beta="0.1")
    warner = mw.design("warner", p="41/42")
    assert warner.parity_exact() == simmons.parity_exact() == 41
    assert mw.planning.order_of(warner, simmons).verdict == "first"
    assert mw.planning.order_of(mw.design("warner", p="0.976191"), simmons).verdict == "first"
    assert is_sufficient(warner, simmons) and not is_sufficient(simmons, warner)
    printed = mw.planning.order_of(mw.design("warner", p="0.976190"), simmons)
    assert (printed.verdict, printed.first_for_second.how) == ("incomparable", "parity")


def test_equal_entries_within_rows_do_not_make_a_design_the_best_of_its_average_security() -> None:
    """[NayakZhai2019, end of section 3.1] says "if and only if"; only one direction holds."""

    def revealing(p: Fraction) -> mw.designs.Dense:
        return dense([[p, 0], [0, p], [1 - p, 1 - p]])

    full, less = revealing(Fraction(1, 2)), revealing(Fraction(3, 10))
    assert mw.planning.order_of(full, less).verdict == "first"
    joint = dense([["1/5", "1/5", 0], [0, 0, "1/5"], ["4/5", "4/5", "4/5"]])
    split = dense([["1/5", 0, 0], [0, "1/5", 0], [0, 0, "1/5"], ["4/5", "4/5", "4/5"]])
    assert mw.planning.order_of(split, joint).verdict == "first"
    assert joint.total_variation() == pytest.approx(split.total_variation()) == pytest.approx(0.4)


def test_garbling_that_is_not_unique() -> None:
    """[ChaiNayak2018, Lemma 4.2] argues with "only with D = C", which needs independent rows."""
    P = dense([["1/2", "1/4"], ["1/4", "1/4"], ["1/4", "1/2"]])
    A = dense([["5/8", "3/8"], ["3/8", "5/8"]])
    half = Fraction(1, 2)
    for C in ([[1, half, 0], [0, half, 1]], [list(row) for row in sufficiency(P, A).garbling or []]):
        assert verify_garbling(C, P.exact_matrix(), A.exact_matrix())


@pytest.mark.parametrize("gammas", [(4, 2), (3, Fraction(5, 2)), (100, 99)])
def test_the_gamma_diagonal_designs_form_a_chain(gammas: tuple[int, int]) -> None:
    high, low = (mw.designs.Uniform.from_gamma(gamma, mw.Categories.numbered(3)) for gamma in gammas)
    assert is_sufficient(high, low) and not is_sufficient(low, high)


def test_uniform_and_subset_designs_of_one_parity_are_incomparable() -> None:
    four = mw.Categories.numbered(4)
    uniform, subset = mw.designs.Uniform.from_gamma(3, four), mw.designs.Subset.from_gamma(3, four, size=2)
    assert mw.planning.order_of(uniform, subset).verdict == "incomparable"
    assert not is_sufficient(uniform, subset) and not is_sufficient(subset, uniform)
