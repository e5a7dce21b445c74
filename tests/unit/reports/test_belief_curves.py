from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maskwell.privacy import Steps
from maskwell.privacy.criteria import Demand
from maskwell.reports.pictures.belief_square import Jump, Region

inner = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


def test_a_value_at_one_prior_only_is_a_point_and_a_mirrored_jump_keeps_its_side() -> None:
    """One minus 0.9 falls short of 0.1, where this curve already holds its higher value."""
    alone = Steps.of(["0.5"], ["0.6", "1"], points=[("0.5", "0.8")])
    curve = Region.of(Demand.from_curves(upper=alone)).upper
    held, approached = curve.ends()
    assert held == [(0.5, 0.8)]
    assert approached == [(0.5, 0.6), (0.5, 1.0)]
    at, value = curve.pieces()
    assert np.isnan(value).sum() == 2
    place = int(np.flatnonzero(at == 0.5)[0])
    assert np.isnan([value[place - 1], value[place + 1]]).all()
    lower = Steps.of(["0.1"], [0, "0.05"], closed_right=[False])
    (jump,) = Region.canonical(Demand.from_curves(lower=lower)).upper.jumps
    assert jump == Jump(0.9, 0.95, 0.95, 1.0)


@given(inner, inner)
def test_the_canonical_region_holds_the_region_as_stated(a: Fraction, b: Fraction) -> None:
    if a == b:
        return
    demand = Demand.from_rho(min(a, b), max(a, b))
    stated, canonical = Region.of(demand), Region.canonical(demand)
    assert (canonical.upper.value <= stated.upper.value).all()
    assert (canonical.lower.value >= stated.lower.value).all()
    implied = Region.at_parity(demand.gamma_exact, like=stated)
    assert (implied.upper.value <= canonical.upper.value + 1e-9).all()
    assert (implied.lower.value >= canonical.lower.value - 1e-9).all()
