"""Published and worked-out numbers for matrices, designs and their covariances, through the public interface."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.examples import numbered

import maskwell as mw
from maskwell import Categories, Design
from maskwell.designs import Composed, Dense, LocalDiversity, Subset, Unary, Uniform
from maskwell.designs.basket_bits import item_bits
from maskwell.designs.row_reduction import reduce_rows_near
from maskwell.estimation.itemset_supports import ReportedBaskets
from maskwell.planning import minimax_size
from maskwell.privacy.criteria import area_between, average_security_bound, largest_shift, posterior_range
from maskwell.procedures.category_encodings import bits

Vector = dict[str, Any]


def number(value: Any) -> float:
    return math.inf if value == "inf" else float(value)


def test_matrices_and_the_structured_designs_behind_them(vectors: dict[str, list[Vector]]) -> None:
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


def test_covariances_switch_points_and_composition(vectors: dict[str, list[Vector]]) -> None:
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
    for v in vectors["q_switch_points"]:
        switch = v["gamma_switch"]
        assert minimax_size(v["k"], switch * (1 + 1e-9)) == v["q"]
        assert minimax_size(v["k"], switch * (1 - 1e-9)) == v["q"] + 1
    for v in vectors["composition"]:
        labels = Categories.of(["yes", "no"])
        first, second = (Uniform.from_gamma(v[name], labels) for name in ("gamma1", "gamma2"))
        assert Composed.of(first, second).parity() == v["binary_composition_parity"]
        assert Composed.of(second, first).parity_exact() == Fraction(v["binary_composition_parity"])


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


CURVES: dict[str, Callable[[float], float]] = {
    "p**(1/3)": lambda p: p ** (1 / 3),
    "p**2": lambda p: p**2,
    "min(1,p+0.1)": lambda p: min(1, p + 0.1),
    "1": lambda _: 1,
    "0": lambda _: 0,
}


def stated(h: Vector) -> mw.Demand:
    kind = h["kind"]
    if kind == "rho":
        return mw.Demand.from_rho(str(h["rho1"]), str(h["rho2"]), closed=h.get("closed", False))
    if kind == "steps":
        steps = mw.privacy.Steps.of(
            list(map(str, h["edges"])), list(map(str, h["values"])), closed_right=h["closed_right"]
        )
        return mw.Demand.from_curves(upper=steps)
    if kind == "expr":
        return mw.Demand.from_curves(
            upper=mw.privacy.Smooth(CURVES[h["h_u"]]), lower=mw.privacy.Smooth(CURVES[h["h_l"]])
        )
    make = {"beta": mw.Demand.from_beta, "gamma": mw.Demand.from_gamma, "epsilon": mw.Demand.from_epsilon}[kind]
    return make(h[kind])


def test_bounds_of_curves_and_breach_regions(vectors: dict[str, list[Vector]]) -> None:
    assert len(vectors["B_of_h"]) == 11
    for v in vectors["B_of_h"]:
        demand = stated(v["h"])
        exact = math.inf if v["B"] == "inf" else v["B"]
        shown = demand.gamma_exact if demand.sampled is None else demand.sampled
        assert float(shown) == pytest.approx(exact, rel=v["tol"]), v["h"]
        assert float(demand.gamma_exact) <= exact * (1 + 1e-12), v["h"]
        assert demand.attained is v["attained"], v["h"]
        if v.get("note"):
            assert not demand.allows(Fraction(9)) and demand.allows(Fraction(899, 100))
    assert len(vectors["regions"]) == 4
    for v in vectors["regions"]:
        gamma, tol = Fraction(v["gamma"]), v["tol"]
        demand = mw.Demand.from_gamma(v["gamma"])
        assert demand.upper(np.array(v["p"])) == pytest.approx(v["h_up"], rel=tol)
        assert demand.lower(np.array(v["p"])) == pytest.approx(v["h_down"], rel=tol)
        exact = [posterior_range(gamma, Fraction(str(p))) for p in v["p"]]
        assert [float(high) for _, high in exact] == pytest.approx(v["h_up"], rel=tol)
        assert area_between(gamma) == pytest.approx(v["area_between"], rel=tol)
        assert largest_shift(gamma) == pytest.approx(v["max_shift"], rel=tol)
        assert average_security_bound(gamma) == pytest.approx(v["phi_bound"], rel=tol)
        assert demand.to_dict()["epsilon"] == pytest.approx(v["epsilon"], rel=tol)
