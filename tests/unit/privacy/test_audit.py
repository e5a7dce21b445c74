"""Audits: the keys that scripts rely on, for every kind of design."""

import json
import math
from typing import Any

import numpy as np
import pytest

from maskwell import Categories, Design, audit
from maskwell.designs import Blocks, Dense, Kronecker, LocalDiversity, Mixture, Subset, Unary, Uniform
from maskwell.errors import TooLargeError, WrongTypeError
from maskwell.privacy import AverageSecurity
from maskwell.privacy.design_audit import counted_reports

KEYS = {
    "parity", "parity_exact", "epsilon", "identifiable", "rank", "condition", "admissible", "guess_probability",
    "average_security", "added_variance",
}  # fmt: skip
YES_NO = Categories.of(["yes", "no"])
COIN = Uniform.from_gamma(3, YES_NO)
DESIGNS = [
    Dense.of([["0.7", "0.2"], ["0.3", "0.8"]]),
    Dense.of([["0.5", "0.5"], ["0.5", "0.5"]]),
    Uniform.from_epsilon(1, Categories.numbered(10**6)),
    Mixture.of("3/5", ["2/5", 0], YES_NO),
    Subset.from_epsilon(1, Categories.numbered(1000), size=269),
    LocalDiversity.of(5, Categories.numbered(20)),
    Unary.rappor_from_epsilon(1, Categories.numbered(64)),
    Kronecker.of([Uniform.from_gamma(3, YES_NO)] * 20),
    Blocks.of({"a": Uniform.from_gamma(3, YES_NO), "b": Uniform.from_gamma(5, YES_NO)}),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.kind)
def test_every_design_can_be_audited_without_its_matrix(design):
    shown = audit(design).to_dict()
    assert shown.keys() >= KEYS
    assert ("matrix" in shown) == (design.m * design.k <= 10_000)
    json.dumps(shown)


def test_flat_designs_are_not_identifiable_and_blocks_tell_the_parity_within():
    shown = audit(Dense.of([["0.5", "0.5"], ["0.5", "0.5"]])).to_dict()
    assert not shown["identifiable"] and shown["added_variance"] is None and shown["condition"] == math.inf
    assert any("not identifiable" in warning for warning in shown["warnings"])
    shown = audit(DESIGNS[-1]).to_dict()
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


@pytest.mark.parametrize(
    ("design", "count"),
    [
        (Subset.from_gamma(3, Categories.numbered(10), size=3), 120),
        (Subset.from_gamma(3, Categories.numbered(1000), size=250), "C(1000, 250)"),
        (Unary.rappor_from_gamma(3, Categories.numbered(59)), 2**59),
        (Unary.rappor_from_gamma(3, Categories.numbered(60)), "2^60"),
        (Kronecker.of([Uniform.from_gamma(3, Categories.numbered(2**31))] * 2), str(2**62)),
    ],
)
def test_many_reports_are_counted_without_their_digits(design: Design, count: int | str) -> None:
    assert counted_reports(design) == count
