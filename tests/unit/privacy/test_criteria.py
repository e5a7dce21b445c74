"""Demands in every language, and audits of designs that are flat, have blocks or are large."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell import Categories, Demand, audit
from maskwell.designs import Blocks, Dense, Kronecker, Uniform
from maskwell.errors import ParameterError, TooLargeError, WrongTypeError
from maskwell.privacy import AverageSecurity
from maskwell.privacy.criteria import DEMANDS, in_every_language


def test_each_language_gives_its_bound_and_rho_pairs_undo_themselves():
    assert Demand.from_gamma("5/2").gamma_exact == Fraction(5, 2)
    assert Demand.from_beta(4).gamma_exact == Demand.from_bayes_factor(4).gamma_exact == 4
    assert Demand.from_rho("0.1", "0.5").gamma_exact == 9
    assert float(Demand.from_epsilon(1).gamma_exact) == pytest.approx(math.e, rel=1e-15)
    assert set(DEMANDS) == {"gamma", "epsilon", "beta", "bayes_factor", "rho"}
    for value in (1.1, 2.3, 2.7, 3.3000000000000003):
        bound = Demand.from_gamma(value).gamma_exact
        assert bound <= Fraction(value) and bound <= Fraction(repr(value))
    assert Demand.from_gamma(1).gamma_exact == 1 and Demand.from_epsilon(0).gamma_exact == 1
    for low, high in in_every_language(Fraction(9))["rho"]:
        back = Demand.from_rho(Fraction(low).limit_denominator(1000), high).gamma_exact
        assert float(back) == pytest.approx(9, rel=1e-9)


@pytest.mark.parametrize("make", [Demand.from_gamma, Demand.from_beta, Demand.from_bayes_factor])
@pytest.mark.parametrize("value", [0.5, "nan", float("nan"), float("inf"), -3, "much"])
def test_bad_ratios(make, value):
    with pytest.raises(ParameterError) as caught:
        make(value)
    assert str(value) in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (lambda: Demand.from_rho("10%", "50%"), "rho1 must be a finite number, not '10%'", "0.1 for 10 %"),
        (lambda: Demand.from_rho(10, 50), "rho1 must be strictly between 0 and 1, not 10", "write 0.1 0.5"),
        (lambda: Demand.from_rho(0.1, 1), "rho2 must be strictly between 0 and 1, not 1", "such as 0.1 0.5"),
        (lambda: Demand.from_rho("0.2", "0.2"), "rho1 = 0.2 must be below rho2 = 0.2", "rho1 < rho2"),
    ],
)
def test_what_to_write_instead(make: Callable[[], Demand], message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make()
    assert raised.value.message == message
    assert hint in raised.value.hint


YES_NO = Categories.of(["yes", "no"])
COIN = Uniform.from_gamma(3, YES_NO)


def test_flat_designs_are_not_identifiable_and_blocks_tell_the_parity_within():
    shown = audit(Dense.of([["0.5", "0.5"], ["0.5", "0.5"]])).to_dict()
    assert not shown["identifiable"] and shown["added_variance"] is None and shown["condition"] == math.inf
    assert any("not identifiable" in warning for warning in shown["warnings"])
    shown = audit(Blocks.of({"a": COIN, "b": Uniform.from_gamma(5, YES_NO)})).to_dict()
    assert shown["parity"] == math.inf and shown["parity_within"] == "5"
    assert any("within a cell it is 5" in warning for warning in shown["warnings"])


@pytest.mark.parametrize(
    ("given", "saying"),
    [
        ((COIN, 1), "demand must be a privacy requirement, not 1"),
        ((COIN, "epsilon"), "demand must be a privacy requirement, not"),
        (([[1, 0], [0, 1]],), "must be a Design"),
    ],
)
def test_what_is_no_design_and_no_demand_is_named(given: tuple[Any, ...], saying: str) -> None:
    with pytest.raises(WrongTypeError, match=saying) as raised:
        audit(*given)
    assert raised.value.hint.startswith(
        ("state which quantity is limited: mw.Demand.from_", "mw.designs.Dense.of(matrix)")
    )


def test_what_a_large_product_does_not_tell_is_left_out_or_refused() -> None:
    part = Uniform.from_gamma(3, Categories.numbered(200))
    product = Kronecker.of([part, part])
    found = audit(product, prior=np.full(40_000, 1 / 40_000))
    shown = found.to_dict()
    assert shown["guess_probability"] is None
    assert sum("left out" in warning for warning in shown["warnings"]) == 2
    assert shown["parity_exact"] == "9"
    assert "not computed" in repr(found)
    assert audit(product).to_dict()["guess_probability"] == pytest.approx(product.guess_probability())
    with pytest.raises(TooLargeError, match="40,000 by 40,000") as raised:
        _ = audit(Kronecker.of([part, part]), AverageSecurity.of("1.5")).meets
    assert "bound on parity" in raised.value.hint
