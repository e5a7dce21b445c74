"""Worked-out bounds of curves and the geometry of breach regions, through the public interface."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.privacy.criteria import area_between, average_security_bound, largest_shift, posterior_range

Vector = dict[str, Any]


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


def test_bounds_of_curves(vectors: dict[str, list[Vector]]) -> None:
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


def test_breach_regions(vectors: dict[str, list[Vector]]) -> None:
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
