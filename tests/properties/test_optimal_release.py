"""OptimalMatrix matrices of random counts under random bounds: kept exactly, or refused with a bound that works."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell.designs import Sparse
from maskwell.errors import InfeasibleError
from maskwell.microdata.matrices import Bounds, optimal_matrix, sequential_uniform

COUNTS = st.lists(st.integers(0, 60), min_size=2, max_size=6).filter(lambda v: sum(x > 0 for x in v) > 1)
SHARE = st.fractions(Fraction(1, 10), 1, max_denominator=40)
RATIO = st.fractions(1, 12, max_denominator=10)
RANGES = {
    "posterior": SHARE,
    "posterior_own": SHARE,
    "odds": RATIO,
    "guess": SHARE,
    "factor": RATIO,
    "parity": RATIO,
    "least_kept": SHARE,
    "changed_at_most": SHARE,
    "changed_at_least": SHARE.map(lambda share: share / 2),
}
FROM_BELOW = ("least_kept", "changed_at_least")


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    names = draw(st.lists(st.sampled_from(sorted(RANGES)), min_size=1, max_size=3, unique=True))
    asked = {name: draw(RANGES[name]) for name in names}
    if {"changed_at_least", "changed_at_most"} <= asked.keys():
        asked["changed_at_least"] = min(asked["changed_at_least"], asked["changed_at_most"] / 2)
    return Bounds.of(**asked)


def flows(design: Sparse, v: list[int]) -> list[list[Fraction]]:
    """Exact flows between the states that occur."""
    there = [j for j, count in enumerate(v) if count]
    columns = {j: design.columns_exact(j) for j in there}
    return [[columns[j].get(i, Fraction(0)) * v[j] for j in there] for i in there]


def values(F: list[list[Fraction]], v: list[int]) -> dict[str, Fraction]:
    """What every bound asks for, worked out from exact flows, without any code of the library."""
    n, k = sum(v), range(len(v))
    own = max(F[i][i] / v[i] for i in k)
    chances = [[F[i][j] / v[j] for j in k] for i in k]
    ratios = [F[i][j] * n / (v[i] * v[j]) for i in k for j in k]
    infinite = Fraction(10**9)
    return {
        "posterior": max(F[i][j] / v[i] for i in k for j in k),
        "posterior_own": own,
        "odds": own / (1 - own) if own < 1 else infinite,
        "guess": sum((max(row) for row in F), Fraction(0)) / n,
        "factor": max(max(r, 1 / r) if r else infinite for r in ratios),
        "parity": max(max(row) / min(row) if min(row) else infinite for row in chances),
        "least_kept": min(F[i][i] / v[i] for i in k),
        "changed_at_most": 1 - sum((F[i][i] for i in k), Fraction(0)) / n,
        "changed_at_least": 1 - sum((F[i][i] for i in k), Fraction(0)) / n,
    }


@settings(deadline=None, max_examples=30)
@given(v=COUNTS, asked=bounds())
def test_kept_exactly_or_refused_with_a_bound_that_works(v: list[int], asked: Bounds) -> None:
    try:
        found = optimal_matrix(v, asked)
    except InfeasibleError as error:
        _check_nearest(v, asked, error)
        return
    F = flows(found.design, v)
    there = [count for count in v if count]
    assert [sum(row) for row in F] == there
    assert [sum(column) for column in zip(*F, strict=True)] == there
    reached = values(F, there)
    for name, bound in asked.asked().items():
        assert reached[name] >= bound if name in FROM_BELOW else reached[name] <= bound
    assert found.optimum == pytest.approx(float(1 - reached["changed_at_most"]))


def _check_nearest(v: list[int], asked: Bounds, error: InfeasibleError) -> None:
    near = error.objects["nearest"]
    assert isinstance(near, dict)
    for name, value in near.items():
        if len(asked.asked()) > 1 and error.objects.get("alone"):
            continue
        exact = Fraction(str(value))
        assert exact < asked.asked()[name] if name in FROM_BELOW else exact > asked.asked()[name]
        if exact > 0 or name in FROM_BELOW:
            assert optimal_matrix(v, asked.with_bound(name, exact)).optimum >= 0


@settings(deadline=None, max_examples=25)
@given(v=COUNTS, beta=SHARE)
def test_closed_form_of_a_bound_on_own_values(v: list[int], beta: Fraction) -> None:
    share = Fraction(max(v), sum(v))
    if beta < 2 - 1 / share:
        with pytest.raises(InfeasibleError):
            optimal_matrix(v, Bounds(posterior_own=beta))
        return
    best = beta if share <= Fraction(1, 2) else 1 - 2 * (1 - beta) * share
    assert optimal_matrix(v, Bounds(posterior_own=beta)).optimum == pytest.approx(float(best), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(v=COUNTS, gamma=SHARE)
def test_closed_form_of_a_bound_on_guesses(v: list[int], gamma: Fraction) -> None:
    if gamma < Fraction(max(v), sum(v)):
        with pytest.raises(InfeasibleError):
            optimal_matrix(v, Bounds(guess=gamma))
        return
    assert optimal_matrix(v, Bounds(guess=gamma)).optimum == pytest.approx(float(gamma), abs=1e-8)


@settings(deadline=None, max_examples=30)
@given(v=COUNTS)
def test_the_smallest_guess_is_that_of_sequential_uniformity(v: list[int]) -> None:
    share = Fraction(max(v), sum(v))
    found = optimal_matrix(v, Bounds(guess=share))
    direct = float(np.dot(sequential_uniform(v).diagonal(), v)) / sum(v)
    assert found.optimum == pytest.approx(direct, abs=1e-8)
