"""Published and worked-out numbers for matrices, designs and their covariances, through the public interface."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.examples import numbered

from maskwell.core import Categories
from maskwell.designs import Composed, Dense, Design, Kronecker, LocalDiversity, Subset, Unary, Uniform, item_bits
from maskwell.designs.row_reduction import reduce_rows_near
from maskwell.errors import MaskwellError
from maskwell.estimation.itemset_supports import ReportedBaskets
from maskwell.planning import matching_gamma, minimax_size
from maskwell.privacy import Demand
from maskwell.privacy.criteria import in_every_language, posterior_range
from maskwell.procedures.category_encodings import bits

Vector = dict[str, Any]


def number(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


def test_matrices(vectors: dict[str, list[Vector]]) -> None:
    assert len(vectors["matrices"]) == 12
    for v in vectors["matrices"]:
        design, tol = Dense.of(v["P"]), v["tol"]
        assert design.parity() == pytest.approx(number(v["parity"]), rel=tol), v["name"]
        assert list(map(float, design.row_parities())) == pytest.approx(list(map(number, v["row_parity"])), rel=tol)
        assert design.total_variation() == pytest.approx(v["l1"], rel=tol)
        assert 1 + design.total_variation() / 2 == pytest.approx(v["phi_min"], rel=tol)
        assert design.rank() == v["rank"]
        assert len(reduce_rows_near(design.exact_matrix()).rows) == v["reduced_rows"]
        assert design.guess_probability(np.array(v["prior"])) == pytest.approx(v["guess_probability"], rel=tol)


def test_structured_designs_are_the_printed_matrices(vectors: dict[str, list[Vector]]) -> None:
    by_name = {v["name"]: np.array(v["P"], dtype=float) for v in vectors["matrices"]}
    made: dict[str, Design] = {
        "gamma-diagonal k=3 gamma=4": Uniform.from_gamma(4, numbered(3)),
        "binary optimum gamma=3": Uniform.from_gamma(3, numbered(2)),
        "truthful": Uniform.of(1, numbered(3)),
        "subset k=4 q=2 gamma=3": Subset.from_gamma(3, numbered(4), size=2),
        "l-diversity k=4 l=2": LocalDiversity.of(2, numbered(4)),
    }
    for name, design in made.items():
        rows = sorted(map(tuple, design.matrix()))
        np.testing.assert_allclose(rows, sorted(map(tuple, by_name[name])), atol=1e-12)


def test_covariances(vectors: dict[str, list[Vector]]) -> None:
    assert {v["design"] for v in vectors["covariances"]} == {"subset", "ldiv"}
    for v in vectors["covariances"]:
        categories, pi = numbered(v["k"]), np.array(v["pi"])
        if v["design"] == "subset":
            design: Design = Subset.from_gamma(v["gamma"], categories, size=v["q"])
        else:
            design = LocalDiversity.of(v["l"], categories)
        np.testing.assert_allclose(design.covariance(pi), np.array(v["n_cov"]), rtol=1e-9, atol=1e-12)
        assert design.added_variance(pi) == pytest.approx(v.get("V_R", v.get("V_plus")), rel=1e-9)
        assert design.added_variance() == pytest.approx(design.added_variance(pi), rel=1e-9)


def test_gamma_diagonal_covariance_is_that_of_subset_of_size_one(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["covariances"]:
        if v.get("q") == 1:
            design = Uniform.from_gamma(v["gamma"], numbered(v["k"]))
            np.testing.assert_allclose(design.covariance(np.array(v["pi"])), np.array(v["n_cov"]), rtol=1e-9)


def test_unary(vectors: dict[str, list[Vector]]) -> None:
    assert {v["scheme"] for v in vectors["unary"]} == {"rappor", "oue"}
    for v in vectors["unary"]:
        make = Unary.rappor_from_gamma if v["scheme"] == "rappor" else Unary.oue_from_gamma
        design, tol = make(v["gamma"], numbered(v["k"])), v["tol"]
        assert float(design.keep) == pytest.approx(v["p_keep_1"], rel=tol)
        assert float(design.flip) == pytest.approx(v["p_flip_0"], rel=tol)
        assert design.parity() == pytest.approx(v["parity"], rel=tol)
        assert design.added_variance() == pytest.approx(v["V_R_per_bit"], rel=tol)
        assert design.added_variance_of("per-bit") == pytest.approx(v["V_R_per_bit"], rel=tol)
        assert design.added_variance_of("centred") == pytest.approx(v["V_R_centred"], rel=tol)
        assert design.added_variance_of("best-linear") == pytest.approx(v["V_R_best_linear"], rel=tol)
        assert design.guess_probability() == pytest.approx(v["guess_uniform"], rel=tol)
        best = Subset.from_gamma(v["gamma"], numbered(v["k"]), size=minimax_size(v["k"], v["gamma"]))
        assert best.added_variance() == pytest.approx(v["V_R_minimax"], rel=tol)


def test_table_of_added_variances(vectors: dict[str, list[Vector]]) -> None:
    assert len(vectors["table1_added_variance"]) == 99
    for v in vectors["table1_added_variance"]:
        size = minimax_size(v["k"], v["gamma"])
        design = Subset.from_gamma(v["gamma"], numbered(v["k"]), size=size)
        assert size == v["q"]
        assert design.added_variance() == pytest.approx(v["V_R"], rel=max(v["rtol_exact"], 1e-9))
        assert design.added_variance() == pytest.approx(v["published"], abs=2 * v["atol"])


def test_table_of_matching_gammas(vectors: dict[str, list[Vector]]) -> None:
    assert len(vectors["table2_matching"]) == 42
    for v in vectors["table2_matching"]:
        if v["published"] == "NA":
            with pytest.raises(MaskwellError):
                matching_gamma(v["k"], v["l"])
            continue
        match = matching_gamma(v["k"], v["l"])
        assert match.gamma == pytest.approx(v["gamma"], rel=v["rtol_exact"])
        assert match.gamma == pytest.approx(v["published_gamma"], abs=v["atol"])
        assert list(match.sizes) == v["q_any_of"]
        assert LocalDiversity.of(v["l"], numbered(v["k"])).added_variance() == pytest.approx(v["added_variance"])
        design = Subset.from_gamma(match.gamma, numbered(v["k"]), size=match.sizes[0])
        assert design.added_variance() == pytest.approx(v["added_variance"], rel=1e-9)


def test_switch_points_of_the_size(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["q_switch_points"]:
        switch = v["gamma_switch"]
        assert minimax_size(v["k"], switch * (1 + 1e-9)) == v["q"]
        assert minimax_size(v["k"], switch * (1 - 1e-9)) == v["q"] + 1


def test_worked_numbers(vectors: dict[str, list[Vector]]) -> None:
    small, large, ratios = vectors["worked_numbers"]
    for v, k, diversity in ((small, 20, 5), (large, 50, 10)):
        assert minimax_size(k, v["gamma"]) == v["q"]
        printed = Subset.from_gamma(round(v["gamma"], 2), numbered(k), size=v["q"])  # the source rounds gamma first
        assert printed.epsilon() == pytest.approx(v["epsilon_printed"], abs=5.1e-5)
        assert float(printed.include) == pytest.approx(v["p_true_printed"], abs=5e-5)
        assert LocalDiversity.of(diversity, numbered(k)).guess_probability() == pytest.approx(v["guess_ldiv"])
        assert printed.guess_probability() == pytest.approx(v.get("guess_printed", v["p_true_printed"]), abs=5e-5)
    assert 1 / small["gamma"] == pytest.approx(small["lower_ratio_printed"], abs=5e-5)
    pi = np.array([0.4, 0.2, 0.2, 0.1, 0.1])
    own = float((pi * (1 - pi)).sum())
    assert own == pytest.approx(ratios["V_S"])
    at_20, at_10 = (Uniform.from_gamma(g, numbered(5)).added_variance(pi) for g in (20, 10))
    assert at_20 / own == pytest.approx(ratios["gamma20_V_R_over_V_S"], rel=1e-9)
    assert at_20 / own == pytest.approx(ratios["gamma20_printed"], abs=5e-4)
    assert 100 * at_10 / own == pytest.approx(ratios["gamma10_increase_percent"], rel=1e-9)


def test_composition(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["composition"]:
        labels = Categories.of(["yes", "no"])
        first, second = (Uniform.from_gamma(v[name], labels) for name in ("gamma1", "gamma2"))
        assert Composed.of(first, second).parity() == v["binary_composition_parity"]
        assert Composed.of(second, first).parity_exact() == Fraction(v["binary_composition_parity"])


def test_regions(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["regions"]:
        gamma = Demand.from_gamma(v["gamma"]).gamma_exact
        assert in_every_language(gamma)["epsilon"] == pytest.approx(v["epsilon"], rel=v["tol"])
        for p, low, high in zip(v["p"], v["h_down"], v["h_up"], strict=True):
            down, up = posterior_range(gamma, Fraction(str(p)))
            assert float(down) == pytest.approx(low, rel=v["tol"])
            assert float(up) == pytest.approx(high, rel=v["tol"])
        binary = Uniform.from_gamma(v["gamma"], numbered(2))
        assert binary.total_variation() == pytest.approx(v["l1_bound"], rel=v["tol"])
        assert 1 + binary.total_variation() / 2 == pytest.approx(v["phi_bound"], rel=v["tol"])


def test_itemsets_are_products_of_bits(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["itemsets"]:
        keep = Fraction(str(v["keep_prob"]))
        bit = Dense.of([[keep, 1 - keep], [1 - keep, keep]])
        design = Kronecker.of([bit] * v["M"])
        assert bit.parity() == pytest.approx(v["per_item_parity"], rel=v["tol"])
        assert design.parity() == pytest.approx(v["parity"], rel=v["tol"])
        counts = np.array(v["counts_by_cell"])
        support = design.solve(counts / counts.sum()).reshape([2] * v["M"])
        for item in range(v["M"]):
            support = np.take(support, [1] if item in v["itemset"] else [0, 1], axis=item)
        assert support.sum() == pytest.approx(v["support_hat"], rel=v["tol"])


def test_supports_of_itemsets(vectors: dict[str, list[Vector]]) -> None:
    for v in vectors["itemsets"]:
        names = [str(item) for item in range(v["M"])]
        design = item_bits(bits(names, p=Fraction(str(v["keep_prob"]))))
        assert float(design.item_parity) == pytest.approx(v["per_item_parity"], rel=v["tol"])
        assert float(design.basket_parity) == pytest.approx(v["parity"], rel=v["tol"])
        held = np.array(list(product((0, 1), repeat=v["M"])), dtype=np.uint8)  # item 0 most significant
        rows = np.repeat(np.packbits(held, axis=1, bitorder="little"), v["counts_by_cell"], axis=0)
        found = ReportedBaskets.of(rows, design).support([str(item) for item in v["itemset"]])
        assert found.support == pytest.approx(v["support_hat"], rel=v["tol"])


# ---- section 4 of the specification, formula by formula


def test_the_binary_optimum_adds_two_gamma_over_its_square() -> None:
    assert Uniform.from_gamma(3, numbered(2)).added_variance() == pytest.approx(1.5)


@pytest.mark.parametrize("k", [2, 3, 10, 64])
@pytest.mark.parametrize("gamma", [1.5, 3, 20])
def test_gamma_diagonal_formulas(k: int, gamma: float) -> None:
    design = Uniform.from_gamma(gamma, numbered(k))
    assert design.added_variance() == pytest.approx((k - 1) * (k + 2 * gamma - 2) / (gamma - 1) ** 2)
    assert design.condition() == pytest.approx((gamma + k - 1) / (gamma - 1))
    assert design.guess_probability() == pytest.approx(gamma / (gamma + k - 1))
    assert np.trace(design.matrix()) == pytest.approx(k * gamma / (gamma + k - 1))


@pytest.mark.parametrize(("k", "q"), [(4, 1), (5, 2), (9, 4), (30, 7)])
@pytest.mark.parametrize("gamma", [1.5, 3, 20])
def test_subset_formulas(k: int, q: int, gamma: float) -> None:
    design = Subset.from_gamma(gamma, numbered(k), size=q)
    D = q * gamma + k - q
    assert float(design.include) == pytest.approx(q * gamma / D)
    assert float(design.other) == pytest.approx(q * ((q - 1) * gamma + k - q) / ((k - 1) * D))
    assert design.guess_probability() == pytest.approx(gamma / D)
    variance = (k - 1) / k * ((k - 1) * D**2 / (q * (k - q) * (gamma - 1) ** 2) - 1)
    assert design.added_variance() == pytest.approx(variance)


def test_local_diversity_is_the_limit_of_subset_selection() -> None:
    limit, diverse = Subset.from_gamma(10**12, numbered(7), size=3), LocalDiversity.of(3, numbered(7))
    pi = np.arange(1, 8) / 28
    np.testing.assert_allclose(limit.covariance(pi), diverse.covariance(pi), rtol=1e-9)
    assert diverse.added_variance() == pytest.approx(6 * 2 / 4)
    assert diverse.parity() == math.inf
