"""The bound that curves put on parity: exact for tables, never unsafe for functions."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Demand
from maskwell.errors import ParameterError
from maskwell.privacy import Lines, Smooth, Steps
from maskwell.privacy.criteria import area_between, largest_shift, posterior_range
from maskwell.privacy.curves import Boundary, odds_ratio

SHARES = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=60)


@st.composite
def upper_steps(draw: st.DrawFn) -> Steps:
    """Values at or above the right end of each piece, rising to 1."""
    edges = sorted(draw(st.sets(SHARES, min_size=1, max_size=4)))
    heights = [edge + (1 - edge) * draw(st.fractions(0, 1, max_denominator=20)) for edge in edges]
    rising = [max(heights[: i + 1]) for i in range(len(heights))]
    return Steps.of(edges, [*rising, 1], closed_right=[draw(st.booleans()) for _ in edges])


def mirrored(steps: Steps) -> Steps:
    """The lower curve that asks the same of falls as ``steps`` asks of rises."""
    heights = [1 - h for h in reversed(steps.heights)]
    return Steps.of(
        [1 - e for e in reversed(steps.edges)], heights, closed_right=[not c for c in reversed(steps.closed_right)]
    )


@settings(max_examples=25)
@given(upper_steps())
def test_steps_give_the_least_ratio_of_odds_that_any_prior_shows(steps: Steps) -> None:
    bound = steps.bound(upper=True)
    near = Fraction(1, 10**12)
    priors = [p for e in steps.edges for p in (e - near, e, e + near)] + [Fraction(i, 499) for i in range(1, 499)]
    values = [_exactly(steps, p) for p in priors]
    ratios = [odds_ratio(v, p) for v, p in zip(values, priors, strict=True)]
    assert min(ratios) >= bound.lower == bound.upper
    if not isinstance(bound.lower, float):
        assert min(ratios) <= bound.lower * (1 + Fraction(1, 10**9))
        assert bound.attained == any(
            ratio == bound.lower for ratio, p in zip(ratios, priors, strict=True) if p in steps.edges
        )


def _exactly(steps: Steps, p: Fraction) -> Fraction:
    for edge, height, closed in zip(steps.edges, steps.heights, steps.closed_right, strict=False):
        if p < edge or (p == edge and closed):
            return height
    return steps.heights[-1]


@given(upper_steps())
def test_a_lower_curve_asks_what_its_mirror_asks_of_rises(steps: Steps) -> None:
    assert mirrored(steps).bound(upper=False) == steps.bound(upper=True)


@settings(max_examples=10)
@given(upper_steps())
def test_halving_cells_never_exceeds_the_exact_bound_of_steps(steps: Steps) -> None:
    def curve(p: float) -> float:
        return float(steps.values(np.array([p]))[0])

    exact = steps.bound(upper=True).lower
    bound_by_halving = Smooth.of(curve, jumps=steps.edges).bound(upper=True)
    assert bound_by_halving.lower <= exact * (1 + Fraction(1, 10**12)) if not isinstance(exact, float) else True
    if not isinstance(exact, float) and exact < 1000:
        assert bound_by_halving.upper == pytest.approx(float(exact), rel=1e-6)
        assert bound_by_halving.lower == pytest.approx(float(exact), rel=3e-3)


@pytest.mark.parametrize(
    ("curve", "upper", "exact", "attained"),
    [
        (lambda p: p ** (1 / 3), True, 3.0, False),
        (lambda p: p**2, False, 2.0, False),
        (lambda p: min(1.0, p + 0.1), True, 1.4938271604938271, True),
        (lambda p: 5 * p / (1 + 4 * p), True, 5.0, True),
        (lambda p: 1 - (1 - p) ** 4, True, 4.0, False),
        (math.sqrt, True, 2.0, False),
        (lambda p: min(1.0, 4 * p), True, 4.0, False),
        (lambda p: p / 7, False, 7.0, False),
        (lambda p: p, True, 1.0, True),
    ],
)
def test_functions_are_bracketed(curve: Callable[[float], float], upper: bool, exact: float, attained: bool) -> None:
    bound = Smooth(curve).bound(upper=upper)
    assert bound.certified and bound.attained is attained
    assert float(bound.lower) <= exact * (1 + 1e-12)
    assert float(bound.lower) >= exact * (1 - 2e-3)
    assert float(bound.upper) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("edge", [0.1, 0.123456789, 0.4999999, 0.9 / 1.7])
def test_what_samples_show_is_unsafe_and_what_is_used_is_not(edge: float) -> None:
    """The least ratio lies just left of a jump that no sample hits."""
    exact = 0.75 / 0.25 / (edge / (1 - edge))
    bound = Smooth(lambda p: 0.75 if p < edge else 1.0).bound(upper=True)
    assert float(bound.lower) <= exact < float(bound.upper)


def test_ends_are_covered_where_a_lower_bound_is_given_for_them() -> None:
    open_ended = Smooth(lambda p: p ** (1 / 3)).bound(upper=True)
    assert "1e-9" in open_ended.notes[0]
    closed = Smooth.of(lambda p: p ** (1 / 3), at_zero=10**6, at_one=3).bound(upper=True)
    assert closed.notes == () and closed.lower <= 3 and not closed.attained
    # The infimum of this curve is 2: it lies between what is given for the end and what was seen.
    bound = Smooth.of(math.sqrt, at_zero=10**4, at_one="3/2").bound(upper=True)
    assert bound.lower == Fraction(3, 2) and float(bound.upper) == pytest.approx(2, rel=1e-6)
    demand = Demand.from_curves(upper=Smooth.of(math.sqrt, at_one="3/2"), lower=Lines.of([(0, 0), (1, "1/2")]))
    assert demand.gamma_exact == Fraction(3, 2) and demand.attained
    closed = Demand.from_curves(upper=Smooth.of(math.sqrt, at_one="3/2"), closed=True)
    assert not closed.allows(Fraction(3, 2)) and closed.allows(closed.reachable)


def test_what_falls_is_never_certified_and_what_allows_everything_is_no_demand() -> None:
    bound = Smooth(lambda p: 0.9 if p < 0.3 else 0.85 if p < 0.5 else 1.0).bound(upper=True)
    assert not bound.certified and "not certain" in bound.notes[0]
    demand = Demand.from_curves(upper=Smooth(lambda p: 0.9 if p < 0.3 else 0.85 if p < 0.5 else 1.0))
    assert demand.to_dict()["certified"] is False
    limited = Smooth.of(lambda p: 0.9 if p < 0.3 else 0.85 if p < 0.5 else 1.0, at_one="3/2").bound(upper=True)
    assert limited.lower == Fraction(3, 2)
    bound = Smooth(lambda p: 1.0 if p >= 0.5 else 0.75 if 0.49995 < p < 0.49999 else 0.9).bound(upper=True)
    assert bound.upper < Fraction("3.001")
    assert not bound.certified and "not certain" in bound.notes[0]
    bound = Smooth(lambda p: 1 - 1e-9 * (1 + 1e-3 * (p > 0.7)) if p < 0.999999998 else 1.0).bound(upper=True)
    assert not bound.certified
    demand = Demand.from_curves(upper=Smooth(lambda _: 1), lower=Smooth(lambda _: 0))
    assert demand.gamma_exact == math.inf and not demand.attained
    assert demand.allows(math.inf) and Demand.from_curves().allows(math.inf)
    assert not Demand.from_curves(lower=Steps.of(["0.5"], [0, 0]), closed=True).attained
    with pytest.raises(ParameterError, match="allows any parity, so no design follows from it"):
        _ = demand.reachable


@st.composite
def upper_lines(draw: st.DrawFn) -> Lines:
    """Corners at or above the diagonal, some of them very close to an end."""
    scale = Fraction(1, 10 ** draw(st.sampled_from([0, 5, 20, 30])))
    tiny = sorted({share * scale for share in draw(st.sets(SHARES, min_size=1, max_size=3))})
    priors = [1 - p for p in reversed(tiny)] if draw(st.booleans()) else tiny
    corners = [(Fraction(0), draw(st.fractions(0, Fraction(1, 2), max_denominator=20)))]
    for p in priors:
        least = max(p, corners[-1][1])
        corners.append((p, least + (1 - least) * draw(st.fractions(0, 1, max_denominator=20))))
    return Lines.of([*corners, (1, 1)])


@settings(max_examples=25)
@given(upper_lines())
def test_no_prior_on_a_line_shows_less_than_its_bound(lines: Lines) -> None:
    bound = lines.bound(upper=True)
    for (p0, v0), (p1, v1) in pairwise(lines.corners):
        for share in (Fraction(i, 60) for i in range(1, 60)):
            assert odds_ratio(v0 + (v1 - v0) * share, p0 + (p1 - p0) * share) >= bound.lower
    assert bound.upper == bound.lower or bound.upper <= bound.lower * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize(
    ("corners", "least"),
    [
        ([(0, "0.1"), ("0.9", 1), (1, 1)], Fraction(121, 81)),  # exactly, where the root is a fraction
        ([(0, "0.17"), ("1e-24", 1), (1, 1)], None),
        ([(0, "0.1"), ("0.9", 1 - Fraction(9, 10**21)), (1, 1)], None),
    ],
)
def test_the_least_ratio_inside_a_line_is_found_however_close_to_an_end_or_to_slope_one(
    corners: list[tuple[Fraction, Fraction]], least: Fraction | None
) -> None:
    lines = Lines.of(corners)
    bound, (_, v0), (p1, v1) = lines.bound(upper=True), *lines.corners[:2]
    d = (v1 - v0) / p1
    at = p1 * Fraction(math.sqrt(v0) - v0) / (v1 - v0) if d > 10 else Fraction(9, 20)  # close to where it is least
    assert bound.lower <= odds_ratio(v0 + d * at, at) <= bound.lower * (1 + Fraction(1, 10**15))
    assert least is None or bound.lower == bound.upper == least


@pytest.mark.parametrize("upper", [True, False])
def test_the_diagonal_is_reached(upper: bool) -> None:
    """A report that says nothing reaches a curve on the diagonal, which is a breach of a closed demand."""
    lines = Lines.of([(0, 0), (1, 1)])
    assert lines.bound(upper=upper).attained
    assert not Demand.from_curves(upper=lines, closed=True).allows(Fraction(1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Steps.of(["0.5"], ["0.4", 1]).bound(upper=True), "crosses the diagonal"),
        (lambda: Steps.of(["0.5"], ["0.1", "0.4"]).bound(upper=False), "crosses the diagonal"),
        (lambda: Steps.of(["0.5"], [1, "0.6"]), "must not fall"),
        (lambda: Steps.of(["0.5", "0.2"], [0, 0, 0]), "must rise"),
        (lambda: Steps.of(["0.5"], [1]), "1 values"),
        (lambda: Steps.of([], [1], points=[("0.5", "0.4")]).bound(upper=True), "crosses the diagonal"),
        (lambda: Lines.of([(0, 0), ("0.5", "0.4"), (1, 1)]).bound(upper=True), "crosses the diagonal"),
        (lambda: Lines.of([("0.1", 0), (1, 1)]), "the corners must span p = 0 to p = 1"),
        (lambda: Lines.of([(0, 1), (1, "0.5")]), "must not fall"),
        (lambda: Smooth(lambda p: p / 2).bound(upper=True), "crosses the diagonal"),
        (lambda: Smooth(lambda p: 2 * p).bound(upper=True), "curve does not return a probability:"),
        (lambda: Smooth.of(lambda _: 1, jumps=[2]), "jumps"),
        (lambda: Smooth.of(lambda _: 1, at_one="0.5"), "at_one = 0.5"),
        (lambda: Boundary(Fraction(3), upward=True).bound(upper=False), "crosses the diagonal"),
    ],
)
def test_bad_curves(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_every_language_has_curves_and_closed_demands_stay_below_their_bound() -> None:
    steps = Steps.of([], [1], points=[("0.5", "0.6")])
    bound = steps.bound(upper=True)
    assert (bound.lower, bound.attained) == (Fraction(3, 2), True)
    closed, strict = (Demand.from_rho("0.1", "0.5", closed=c) for c in (True, False))
    assert closed.gamma_exact == strict.gamma_exact == 9
    assert strict.allows(Fraction(9)) and not closed.allows(Fraction(9))
    assert strict.reachable == 9 and closed.allows(closed.reachable) and closed.reachable > Fraction(899999, 100000)
    not_reached = Demand.from_curves(upper=Steps.of(["0.1"], ["0.5", 1]), closed=True)
    assert not not_reached.attained and not_reached.allows(Fraction(9))
    for demand in (Demand.from_gamma(5), Demand.from_beta(4), Demand.from_rho("0.2", "0.3"), Demand.from_beta(1)):
        again = Demand.from_curves(lower=demand.lower_curve, upper=demand.upper_curve)
        assert again.gamma_exact == demand.gamma_exact
        p = np.linspace(0, 1, 101)
        assert (demand.lower(p) <= p + 1e-12).all() and (demand.upper(p) >= p - 1e-12).all()
        assert (demand.canonical(p) <= demand.upper(p)).all()


def test_area_and_shift() -> None:
    p = np.linspace(0, 1, 200_001)
    for gamma in (Fraction(1001, 1000), Fraction(102, 100), Fraction(3), Fraction(50)):
        low, high = (Boundary(gamma, upward=up).values(p) for up in (False, True))
        assert (
            np.trapezoid(high - low, p) == pytest.approx(area_between(gamma), abs=1e-7)
            if hasattr(np, "trapezoid")
            else True
        )
        assert (high - p).max() == pytest.approx(largest_shift(gamma), abs=1e-9)
        at = 1 / (1 + math.sqrt(gamma))
        assert float(posterior_range(gamma, Fraction(at))[1]) - at == pytest.approx(largest_shift(gamma))
    for huge in (Fraction(10) ** 200, Fraction(10) ** 400):
        assert area_between(huge) == pytest.approx(1)
        assert Boundary(huge, upward=True).values(np.array([0.0, 0.1, 1.0])).tolist() == [0, 1, 1]
        assert Boundary(huge, upward=False).values(np.array([0.0, 0.1, 1.0])) == pytest.approx([0, 0, 1])
    areas = [area_between(1 + Fraction(x, 10**5)) for x in range(900, 1100, 5)]
    assert all(a < b for a, b in pairwise(areas))
