from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.planning import minimax_size
from maskwell.planning.set_sizes import switch_gamma, switch_k


def test_switches_agree_with_the_vectors(shared: Path) -> None:
    for v in json.loads((shared / "spec/privacy_vectors.json").read_text(encoding="utf-8"))["q_switch_points"]:
        assert switch_gamma(v["k"], v["q"]) == pytest.approx(v["gamma_switch"], abs=1e-12)


@given(st.integers(3, 80), st.data())
def test_the_best_size_changes_at_the_switch_and_not_before(k: int, data: st.DataObject) -> None:
    q = data.draw(st.integers(1, k - 1))
    gamma = Fraction(switch_gamma(k, q))
    if gamma == 1:
        assert minimax_size(k, Fraction(10001, 10000)) <= q
        return
    assert minimax_size(k, gamma * Fraction(10001, 10000)) <= q
    assert minimax_size(k, 1 + (gamma - 1) * Fraction(9999, 10000)) >= q + 1


@given(st.fractions(Fraction(11, 10), 60, max_denominator=100), st.integers(1, 8))
def test_the_least_k_is_the_first(gamma: Fraction, q: int) -> None:
    k = switch_k(gamma, q)
    assert minimax_size(k, gamma) >= q + 1
    assert k - 1 < 2 or minimax_size(k - 1, gamma) <= q
