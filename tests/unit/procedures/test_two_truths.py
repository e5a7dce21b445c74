"""Devices for one sensitive category and its complement."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core.exact import Parity
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.counted_draws import chow, christofides, kuk
from maskwell.procedures.design_builders import NO_PROTECTION, REVEALING
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.nonrandomized import crosswise, triangular
from maskwell.procedures.statement_cards import equivalent_warner, mangat, mangat_singh, warner
from maskwell.procedures.unrelated_questions import simmons

probabilities = st.fractions(min_value=0, max_value=1, max_denominator=1000)
inner = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100)


def ratio(a: Fraction, b: Fraction) -> Parity:
    """The parity of a row of two."""
    low, high = min(a, b), max(a, b)
    return Fraction(1) if low == high else high / low if low else float("inf")


def check_columns(design: Dense, a: Fraction, b: Fraction) -> None:
    assert design.exact_matrix() == [[a, b], [1 - a, 1 - b]]
    assert design.parity_exact() == max(ratio(a, b), ratio(1 - a, 1 - b))


@given(probabilities)
def test_devices_of_one_probability(p: Fraction) -> None:
    check_columns(warner(p, allow_unidentifiable=True), p, 1 - p)
    check_columns(mangat(p, allow_unidentifiable=True), Fraction(1), 1 - p)


@given(probabilities, probabilities)
def test_simmons_also_with_a_printed_answer(p: Fraction, beta: Fraction) -> None:
    check_columns(simmons(p, beta, allow_unidentifiable=True), p + (1 - p) * beta, (1 - p) * beta)
    design = forced(p, (1 - p) * beta, (1 - p) * (1 - beta), allow_unidentifiable=True)
    assert design == simmons(p, beta, allow_unidentifiable=True)


@given(probabilities, probabilities)
def test_mangat_singh_is_a_warner_device(t: Fraction, p: Fraction) -> None:
    design = mangat_singh(t, p, allow_unidentifiable=True)
    check_columns(design, t + (1 - t) * p, (1 - t) * (1 - p))
    assert design == warner(equivalent_warner(t, p), allow_unidentifiable=True)


@given(probabilities)
def test_triangular_and_crosswise_are_mangat_and_warner_devices(q: Fraction) -> None:
    design = triangular(q, allow_unidentifiable=True)
    assert design.exact_matrix() == mangat(1 - q, allow_unidentifiable=True).exact_matrix()
    design = crosswise(q, allow_unidentifiable=True)
    assert design.exact_matrix() == warner(q, allow_unidentifiable=True).exact_matrix()


@given(inner, inner, st.integers(1, 6))
def test_repeated_draws_multiply_parity(theta1: Fraction, theta2: Fraction, draws: int) -> None:
    one = kuk(theta1, theta2, 1, allow_unidentifiable=True)
    design = kuk(theta1, theta2, draws, allow_unidentifiable=True)
    assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))
    assert design.parity_exact() == one.parity_exact() ** draws
    mean = [sum(z * row[j] for z, row in enumerate(design.exact_matrix())) for j in (0, 1)]
    assert mean == [draws * theta1, draws * theta2]


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_chow_counts_balls(red: int, blue: int, data: st.DataObject) -> None:
    draws = data.draw(st.integers(1, min(red, blue)))
    P = chow(red, blue, draws, allow_unidentifiable=True).exact_matrix()
    assert all(sum(column) == 1 for column in zip(*P, strict=True))
    assert [row[1] for row in P] == [row[0] for row in reversed(P)]
    assert sum(z * row[0] for z, row in enumerate(P)) == Fraction(draws * red, red + blue)
    assert all(p > 0 for row in P for p in row)


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda: warner("1.2"), r"p must be between 0 and 1, not 1\.2"),
        (lambda: warner(float("inf")), "p must be a finite number, not inf"),
        (lambda: simmons("0.5", 2), "beta must be between 0 and 1, not 2"),
        (lambda: forced("3/4", "1/5", "1/5"), r"truth \+ yes \+ no must be 1, not 1\.15"),
        (lambda: forced("3/4", "1/2", "-1/4"), "no must be between 0 and 1, not -1/4"),
        (lambda: kuk("0.7", "1.2", 3), r"theta2 must be between 0 and 1, not 1\.2"),
        (lambda: kuk("0.7", "0.2", 0), "draws must be from 1 to 1,000, not 0"),
        (lambda: kuk("0.7", "0.2", 10**9), "draws must be from 1 to 1,000, not 1000000000"),
        (lambda: chow(5, 3, 4), "draws = 4 from 5 red and 3 blue"),
        (lambda: chow(0, 3, 1), "red must be from 1 to 1,000,000, not 0"),
        (lambda: christofides([1]), "the device needs two or more probabilities, not 1"),
        (
            lambda: christofides(["0.5", "0.4", "0.3"]),
            r"probabilities\[0\] \+ probabilities\[1\] \+ probabilities\[2\] must be 1, not 1\.2",
        ),
        (lambda: christofides(["0.5", "0.7", "-0.2"]), r"probabilities\[2\] must be between 0 and 1, not -0\.2"),
        (lambda: crosswise("7/6"), "q must be between 0 and 1, not 7/6"),
    ],
)
def test_parameters_out_of_range_are_refused(build: Callable[[], Any], what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        build()


@pytest.mark.parametrize(
    ("design", "warning"),
    [
        (warner(1), NO_PROTECTION),
        (simmons(1, "0.3"), NO_PROTECTION),
        (mangat(1), NO_PROTECTION),
        (triangular(0), NO_PROTECTION),
        (crosswise(1), NO_PROTECTION),
        (simmons("0.5", 0), REVEALING),
        (forced("1/2", 0, "1/2"), REVEALING),
        (chow(5, 3, 4, allow_revealing=True), REVEALING),
        (kuk("1/2", 0, 2), REVEALING),
        (warner("0.7"), None),
        (forced("1/2", "1/2", 0), None),
    ],
)
def test_designs_without_protection_say_so(design: Dense, warning: str | None) -> None:
    assert design.provenance.get("warning") == warning


def test_parameters_and_settled_shares_are_noted() -> None:
    assert warner("7/10").provenance == {"family": "warner", "parameters": {"p": "7/10"}}
    assert warner(0.7).provenance == {**warner("7/10").provenance, "given": "decimals"}
    assert chow(5, 3, 2).provenance["parameters"] == {"red": "5", "blue": "3", "draws": "2"}
    assert christofides([0.5, 0.25, 0.25]).provenance["parameters"] == {"probabilities": "1/2,1/4,1/4"}
    assert "settled" not in forced("3/4", "1/6", "1/12").provenance
    design = forced(0.7, 0.2, 0.1 + 1e-10)
    assert 0 < design.provenance["settled"] < 1e-9
    assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))
