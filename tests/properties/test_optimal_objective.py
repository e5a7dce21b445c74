"""The stated optimum of random programs: the objective of the matrix that is returned, and that of another solver."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from maskwell.errors import InfeasibleError
from maskwell.microdata.matrices import Bounds, optimal_matrix
from maskwell.microdata.matrices.optimal_flows import OptimalMatrix

SHARE = st.fractions(Fraction(1, 10), 1, max_denominator=40)
NEAR = 1e-6
"""Both solvers stop within this of the optimum."""


class Asked(NamedTuple):
    """A program over k states."""

    v: list[int]
    bounds: Bounds
    blocks: list[int] | None
    cost: Any
    forbidden: list[tuple[int, int]]
    band: int | None

    def solved(self) -> OptimalMatrix:
        return optimal_matrix(
            self.v, self.bounds, blocks=self.blocks, cost=self.cost, forbidden=self.forbidden, band=self.band
        )

    def block_of(self, state: int) -> int:
        return 0 if self.blocks is None else self.blocks[state]

    def costs(self) -> Any:
        """What a record costs, and the sign of the objective that is stated."""
        k = len(self.v)
        if self.cost is None:
            return -np.eye(k)
        return np.abs(np.subtract.outer(range(k), range(k))) if isinstance(self.cost, str) else np.array(self.cost)

    def allowed(self, released: int, true: int) -> bool:
        near = self.band is None or abs(released - true) <= self.band
        return near and (released, true) not in self.forbidden and self.block_of(released) == self.block_of(true)


@st.composite
def programs(draw: st.DrawFn) -> Asked:
    k = draw(st.integers(1, 6))
    v = draw(st.lists(st.integers(0, 40), min_size=k, max_size=k).filter(any))
    numbers = st.lists(st.integers(0, 2), min_size=k, max_size=k)
    costs = st.lists(st.lists(st.integers(-3, 6), min_size=k, max_size=k), min_size=k, max_size=k)
    pairs = st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)).filter(lambda pair: pair[0] != pair[1])
    names = draw(st.lists(st.sampled_from(["posterior", "posterior_own", "least_kept"]), max_size=2, unique=True))
    capped = draw(st.dictionaries(st.integers(0, k - 1), SHARE, max_size=2))
    return Asked(
        v,
        Bounds.of(**{name: draw(SHARE) for name in names}, caps=capped),
        draw(st.none() | numbers),
        draw(st.none() | st.just("ordinal") | costs),
        draw(st.lists(pairs, max_size=3)) if k > 1 else [],
        draw(st.none() | st.integers(0, 3)),
    )


def best_of(asked: Asked, *, single_blocks: bool) -> float | None:
    """The least mean cost, by a linear program written down here; None where there is no solution."""
    there = [j for j, count in enumerate(asked.v) if count]
    pairs = [(i, j) for i in there for j in there if asked.allowed(i, j)]
    costs, n = asked.costs(), sum(asked.v)
    alone = {x for x in there if [asked.block_of(y) for y in there].count(asked.block_of(x)) == 1}
    limits = [_limits(asked, i, j, exempt=not single_blocks and i in alone) for i, j in pairs]
    if any(low > high for low, high in limits):
        return None
    rows = [[float(i == x) for i, _ in pairs] for x in there] + [[float(j == x) for _, j in pairs] for x in there]
    sums = [float(asked.v[x]) for x in there] * 2
    solution = linprog([costs[i][j] / n for i, j in pairs], A_eq=rows, b_eq=sums, bounds=limits) if pairs else None
    return float(solution.fun) if solution is not None and solution.status == 0 else None


def _limits(asked: Asked, i: int, j: int, *, exempt: bool) -> tuple[float, float]:
    count, low, high = asked.v[i], Fraction(0), Fraction(min(asked.v[i], asked.v[j]))
    if exempt:
        return float(low), float(high)
    bounds = asked.bounds
    if bounds.posterior is not None:
        high = min(high, bounds.posterior * count)
    if i == j:
        own = bounds.caps.get(i, bounds.posterior_own)
        high = high if own is None else min(high, own * count)
        low = low if bounds.least_kept is None else bounds.least_kept * count
    return float(low), float(high)


@settings(deadline=None, max_examples=40)
@given(asked=programs())
def test_the_optimum_is_that_of_the_matrix_and_of_another_solver(asked: Asked) -> None:
    try:
        optimal = asked.solved()
    except InfeasibleError:
        assert best_of(asked, single_blocks=True) is None
        return
    sign = -1 if asked.cost is None else 1
    returned = [optimal.design.columns_exact(j) for j in range(len(asked.v))]
    costs = asked.costs()
    sums = sum(float(p) * n * costs[i][j] for j, n in enumerate(asked.v) for i, p in returned[j].items())
    assert optimal.optimum == pytest.approx(sign * sums / sum(asked.v), abs=1e-9)
    best = best_of(asked, single_blocks=False)
    assert best is not None
    assert sign * optimal.optimum == pytest.approx(best, abs=NEAR)


@pytest.mark.parametrize("v", [[22, 28], [5, 0], [7]])
def test_a_block_of_one_state_costs_what_it_costs_to_stay(v: list[int]) -> None:
    blocks = list(range(len(v)))
    assert optimal_matrix(v, Bounds(), cost="ordinal", blocks=blocks).optimum == 0
    assert optimal_matrix(v, Bounds(), blocks=blocks).optimum == 1
    staying = np.full((len(v), len(v)), 3.0)
    assert optimal_matrix(v, Bounds(), cost=staying, blocks=blocks).optimum == 3


def test_a_state_that_is_alone_may_not_be_forbidden_to_stay() -> None:
    with pytest.raises(InfeasibleError, match="every pair with it is forbidden"):
        optimal_matrix([22, 28], Bounds(), blocks=[0, 1], forbidden=[(0, 0)])
