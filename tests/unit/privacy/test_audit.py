"""Audits: the keys that scripts rely on, for every kind of design."""

import math
from typing import Any

import numpy as np
import pytest

from maskwell import Categories, audit
from maskwell.designs import Blocks, Dense, Kronecker, Uniform
from maskwell.errors import TooLargeError, WrongTypeError
from maskwell.privacy import AverageSecurity

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
        ((COIN, 1), "demand = 1 is no demand"),
        ((COIN, "epsilon"), "no demand"),
        (([[1, 0], [0, 1]],), "must be a Design"),
    ],
)
def test_what_is_no_design_and_no_demand_is_named(given: tuple[Any, ...], saying: str) -> None:
    with pytest.raises(WrongTypeError, match=saying) as raised:
        audit(*given)
    assert raised.value.hint.startswith(("say what the number means: mw.Demand.from_", "mw.designs.Dense.of(matrix)"))


def test_what_a_large_product_does_not_tell_is_left_out_or_refused() -> None:
    part = Uniform.from_gamma(3, Categories.numbered(200))
    product = Kronecker.of([part, part])
    found = audit(product, prior=np.full(40_000, 1 / 40_000))
    shown = found.to_dict()
    assert shown["guess_probability"] is None
    assert sum("left out" in warning for warning in shown["warnings"]) == 2
    assert shown["parity_exact"] == "9"
    assert "not worked out" in repr(found)
    assert audit(product).to_dict()["guess_probability"] == pytest.approx(product.guess_probability())
    with pytest.raises(TooLargeError, match="40,000 by 40,000") as raised:
        _ = audit(Kronecker.of([part, part]), AverageSecurity.of("1.5")).meets
    assert "bound on parity" in raised.value.hint
