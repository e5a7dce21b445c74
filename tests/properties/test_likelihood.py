"""What holds for the most likely proportions of any design and any counts."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.arrays import Real

from maskwell import Categories
from maskwell.designs import Dense, Mixture
from maskwell.estimation.maximisation.log_likelihood import Written, value
from maskwell.estimation.maximisation.maximum import em_step, maximise, newton, squarem

often = settings(deadline=None, derandomize=True, max_examples=30)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Dense, Real]:
    """A dense design without impossible reports, and counts with at least one report."""
    k, m = draw(st.integers(2, 5)), draw(st.integers(2, 7))
    column = st.lists(st.integers(0, 20), min_size=m, max_size=m).filter(any)
    columns = draw(st.lists(column, min_size=k, max_size=k))
    design = Dense.from_integers(columns)
    counts = np.array(draw(st.lists(st.integers(0, 60), min_size=m, max_size=m).filter(any)))
    counts[design.matrix().sum(axis=1) == 0] = 0
    assume(counts.sum() > 0)
    return design, counts


@often
@given(problems())
def test_conditions_of_optimality(problem: tuple[Dense, Real]) -> None:
    design, counts = problem
    found = maximise([design], [counts])
    P, seen = design.matrix(), counts > 0
    slope = (counts[seen] / counts.sum() / (P[seen] @ found.pi)) @ P[seen]
    assert found.gap <= 1e-9
    assert (found.pi >= 0).all()
    assert abs(found.pi.sum() - 1) <= 1e-12
    assert slope.max() <= 1 + 1e-8
    assert (np.abs(slope[found.pi > 1e-3] - 1) <= 1e-6).all()


@often
@given(problems())
def test_em_never_goes_down_and_squarem_arrives(problem: tuple[Dense, Real]) -> None:
    design, counts = problem
    seen = counts > 0
    f = Written(rows=design.matrix()[seen], share=counts[seen] / counts.sum(), total=float(counts.sum()))
    movable, pi = np.ones(design.k, dtype=bool), np.full(design.k, 1 / design.k)
    start, before = pi, value(f, f.lam(pi))
    for _ in range(20):
        pi = em_step(pi, f.slope(f.lam(pi)), movable)
        after = value(f, f.lam(pi))
        assert after >= before - 1e-13
        assert abs(pi.sum() - 1) <= 1e-12
        before = after
    heights = [value(f, squarem(f, start, movable, 0.0, most).lam) for most in range(0, 24, 3)]
    assert (np.diff(heights) >= -1e-13).all()
    slow, fast = squarem(f, start, movable, 1e-6, 3000), newton(f, start, movable, 1e-10)
    assert slow.gap <= 1e-4  # where two categories are nearly alike EM creeps
    assert -1e-12 <= value(f, fast.lam) - value(f, slow.lam) + 1e-10 <= slow.gap + 1e-9


@often
@given(st.integers(1, 49), st.integers(51, 100), st.integers(0, 80), st.integers(0, 80))
def test_two_categories_are_cut_moments(b: int, a: int, yes: int, no: int) -> None:
    assume(yes + no > 0)
    design = Dense.from_integers([[a, 100 - a], [b, 100 - b]])
    found = maximise([design], [np.array([yes, no])])
    moment = (yes / (yes + no) - b / 100) / ((a - b) / 100)
    assert abs(found.pi[0] - min(max(moment, 0), 1)) <= 1e-6


@often
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_truth_or_fixed_designs_fill_like_water(weights: list[int], given_counts: list[int]) -> None:
    """``pi_i = max(0, (x_i / level - q_i) / p)``: a level that all positive shares have in common."""
    assume(weights[0] > 0 and sum(given_counts) > 0)
    total = sum(weights)
    design = Mixture.of(f"{weights[0]}/{total}", [f"{w}/{total}" for w in weights[1:]], Categories.numbered(3))
    counts = np.array(given_counts)
    found = maximise([design], [counts])
    assert found.gap <= 1e-10
    lam, above = design.forward(found.pi), found.pi > 1e-9
    levels = counts[above] / lam[above]
    assert np.ptp(levels) <= 1e-5 * levels.max()
    below = ~above & (counts > 0)
    assert (counts[below] / lam[below] <= levels.max() * (1 + 1e-6)).all()
