from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Demand
from maskwell.privacy import Steps
from maskwell.reports.pictures.belief_square import BESIDE, Grid, Jump, Region

inner = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


def test_a_grid_is_even_in_log_odds_and_reaches_both_ends() -> None:
    grid = Grid.around()
    assert len(grid.prior) >= 400
    assert (grid.prior[0], grid.prior[-1]) == (0, 1)
    inside = grid.prior[1:-1]
    steps = np.diff(np.log(inside / (1 - inside)))
    np.testing.assert_allclose(steps, steps[0])


@given(st.lists(inner, max_size=6))
def test_a_grid_holds_every_break_its_mirror_image_and_both_sides(breaks: list[Fraction]) -> None:
    grid = Grid.around(float(b) for b in breaks)
    assert (np.diff(grid.prior) > 0).all()
    np.testing.assert_allclose(grid.mirror, 1 - grid.prior, atol=2**-50)
    exact = {float(b) for b in breaks}
    assert exact <= set(grid.prior.tolist())
    assert exact <= set(grid.mirror.tolist())
    for place in grid.breaks:
        assert grid.prior[place] - grid.prior[place - 1] == pytest.approx(BESIDE)
        assert grid.prior[place + 1] - grid.prior[place] == pytest.approx(BESIDE)


def test_breaks_that_mirror_each_other_are_one_pair() -> None:
    grid = Grid.around([0.1, 0.9])  # one minus 0.9 is not 0.1 in binary numbers
    assert len(grid.breaks) == 2
    assert [float(grid.mirror[i]) for i in grid.breaks] == [0.9, 0.1]


@pytest.mark.parametrize(
    ("closed", "jumps"),
    [
        (False, [Jump(0.1, 0.5, 1.0, 1.0)]),
        (True, [Jump(0.1, 0.5, 0.5, 1.0)]),
    ],
)
def test_jumps_of_a_demand_and_the_side_that_holds(closed: bool, jumps: list[Jump]) -> None:
    region = Region.of(Demand.from_rho("0.1", "0.5", closed=closed))
    assert list(region.upper.jumps) == jumps
    held, approached = region.lower.ends()
    assert held == [(0.5, 0.1 if closed else 0.0)]
    assert approached == [(0.5, 0.0 if closed else 0.1)]


def test_a_value_held_at_one_prior_only_is_a_point_between_two_open_ends() -> None:
    alone = Steps.of(["0.5"], ["0.6", "1"], points=[("0.5", "0.8")])
    curve = Region.of(Demand.from_curves(upper=alone)).upper
    held, approached = curve.ends()
    assert held == [(0.5, 0.8)]
    assert approached == [(0.5, 0.6), (0.5, 1.0)]
    at, value = curve.pieces()
    assert np.isnan(value).sum() == 2
    place = int(np.flatnonzero(at == 0.5)[0])
    assert np.isnan([value[place - 1], value[place + 1]]).all()


def test_a_canonical_region_says_both_halves_in_both_directions() -> None:
    region = Region.canonical(Demand.from_rho("0.1", "0.5"))
    assert list(region.upper.jumps) == [Jump(0.1, 0.5, 0.9, 0.9), Jump(0.5, 0.9, 1.0, 1.0)]
    assert [jump.at for jump in region.lower.jumps] == [0.5, 0.9]
    np.testing.assert_allclose(region.lower.value, 1 - region.upper.value[::-1], atol=1e-12)


def test_a_mirrored_jump_keeps_the_side_that_holds() -> None:
    """One minus 0.9 falls short of 0.1, where this curve already holds its higher value."""
    lower = Steps.of(["0.1"], [0, "0.05"], closed_right=[False])
    (jump,) = Region.canonical(Demand.from_curves(lower=lower)).upper.jumps
    assert jump == Jump(0.9, 0.95, 0.95, 1.0)


@pytest.mark.parametrize("pair", [("0.1", "0.9"), ("0.2", "0.8"), ("0.3", "0.7")])
def test_a_demand_that_mirrors_itself_is_canonical(pair: tuple[str, str]) -> None:
    demand = Demand.from_rho(*pair)
    assert Region.of(demand).is_as(Region.canonical(demand))
    assert not Region.of(Demand.from_beta(4)).is_as(Region.canonical(Demand.from_beta(4)))


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
