"""Worked-out decks, through the public interface."""

from __future__ import annotations

from typing import Any

import maskwell as mw


def test_decks(rr_vectors: dict[str, dict[str, Any]]) -> None:
    cases = [case for case in rr_vectors.values() if case["kind"] == "deck"]
    assert {case["id"] for case in cases} == {"K01", "K02"}
    for case in cases:
        deck = mw.procedures.make_deck(mw.designs.Dense.of(case["input"]["P"]))
        assert deck.size == case["expected"]["size"], case["id"]
        assert deck.kinds == case["expected"]["distinct_cards"], case["id"]


def test_the_worked_bounded_deck(shared: object) -> None:
    design = mw.designs.Uniform.from_epsilon(1, mw.Categories.numbered(3))
    deck = mw.procedures.bounded_deck(design, 20)
    assert (deck.size, sorted(row[0] for row in deck.counts())) == (19, [4, 4, 11])
    assert round(float(deck.error), 5) == 0.00283
