"""Published tables and worked-out numbers about the best designs, through the public functions of planning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell import Categories, choose
from maskwell.designs import LocalDiversity, Subset
from maskwell.planning import extremal_design, matching_gamma, minimax_size
from maskwell.planning.set_sizes import matching_l, variance_table

Vector = dict[str, Any]


def test_the_table_of_added_variances_in_one_call(vectors: dict[str, list[Vector]]) -> None:
    cells = vectors["table1_added_variance"]
    ks, gammas = sorted({v["k"] for v in cells}), sorted({v["gamma"] for v in cells})
    table = variance_table(ks, gammas)
    assert len(cells) == table.added_variance.size == 99
    for v in cells:
        at = gammas.index(v["gamma"]), ks.index(v["k"])
        assert table.size[at] == v["q"]
        assert table.added_variance[at] == pytest.approx(v["V_R"], rel=v["rtol_exact"])
        assert table.added_variance[at] == pytest.approx(v["published"], abs=2 * v["atol"])


def test_the_table_of_added_variances_is_the_first_line_of_the_ranking(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["table1_added_variance"]:
        best = choose(v["k"], v["gamma"]).ranked[0]
        assert best.added_variance == pytest.approx(v["V_R"], rel=1e-9)
        assert best.name == ("k-ary" if v["q"] == 1 else "subset")


def test_matching_both_ways(vectors: dict[str, list[Vector]]) -> None:
    numeric = [v for v in vectors["table2_matching"] if v["published"] != "NA"]
    assert len(numeric) == 30
    for v in numeric:
        match = matching_gamma(v["k"], v["l"])
        assert match.gamma == pytest.approx(v["gamma"], rel=1e-12)
        assert match.added_variance == pytest.approx(v["added_variance"], rel=1e-12)
        assert matching_l(v["k"], match.gamma) == (v["l"], v["l"], v["l"])
        assert matching_l(v["k"], match.gamma * 1.001)[1:] == (v["l"] - 1, v["l"])
        assert matching_l(v["k"], match.gamma * 0.999)[1:] == (v["l"], v["l"] + 1)


def test_unary_encodings_are_ranked_with_three_estimators(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["unary"]:
        choice = choose(v["k"], v["gamma"])
        named = {option.name: option for option in choice.options}
        for estimator in ("per-bit", "centred", "best-linear"):
            option = named[f"{v['scheme']}, {estimator}"]
            assert option.added_variance == pytest.approx(v[f"V_R_{estimator.replace('-', '_')}"], rel=v["tol"])
            assert option.guess_probability == pytest.approx(v["guess_uniform"], rel=v["tol"])
        assert choice.ranked[0].added_variance == pytest.approx(v["V_R_minimax"], rel=v["tol"])


def test_extremal_mechanisms(vectors: dict[str, list[Vector]]) -> None:
    assert len(vectors["extremal_lp"]) == 3
    for v in vectors["extremal_lp"]:
        pi = [1 / v["k"]] * v["k"] if len(set(v["pi"])) == 1 else v["pi"]
        found = extremal_design(pi, v["gamma"])
        assert found.value == pytest.approx(v["optimum"], abs=v["tol"])
        assert found.bound == pytest.approx(v["optimum"], abs=v["tol"])
        assert (found.design.m, found.rank) == (v["example_rows"], v["example_rank"])
        assert extremal_design(pi, v["gamma"], average=True).value == pytest.approx(v["optimum"], abs=v["tol"])


def test_worked_comparisons_with_local_diversity(vectors: dict[str, list[Vector]]) -> None:
    small, large, _ = vectors["worked_numbers"]
    for v, k, l in ((small, 20, 5), (large, 50, 10)):  # noqa: E741
        match = matching_gamma(k, l)
        assert match.gamma == pytest.approx(v["gamma"], rel=1e-12)
        assert minimax_size(k, match.gamma) == v["q"]
        choice = choose(k, match.gamma)
        beside = next(option for option in choice.options if option.name == "l-diverse")
        assert beside.design == LocalDiversity.of(l, Categories.numbered(k))
        assert beside.guess_probability == pytest.approx(v["guess_ldiv"])
        assert beside.added_variance == pytest.approx(choice.ranked[0].added_variance, rel=1e-9)
        assert choice.ranked[0].guess_probability == pytest.approx(
            v.get("guess_printed", v["p_true_printed"]), abs=5e-4
        )


def test_margins_come_from_the_printed_covariances(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["covariances"]:
        if v["design"] == "subset" and v["q"] == minimax_size(v["k"], v["gamma"]):
            choice = choose(v["k"], v["gamma"], pi=v["pi"], n=1000)
            largest = max(np.diag(np.array(v["n_cov"])))
            assert choice.ranked[0].margin == pytest.approx(1.959963985 * math.sqrt(largest / 1000), rel=1e-8)
        elif v["design"] == "subset":
            design = Subset.from_gamma(v["gamma"], Categories.numbered(v["k"]), size=v["q"])
            np.testing.assert_allclose(design.share_variance(np.array(v["pi"])), np.diag(v["n_cov"]), rtol=1e-9)


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
