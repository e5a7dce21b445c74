"""Respondents divided among strata and among samples."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.designs import Dense
from maskwell.errors import MaskwellError, NotIdentifiableError, ParameterError
from maskwell.planning import Stratum
from maskwell.planning.sample_allocation import _Samples, allocate_samples
from maskwell.planning.stratum_allocation import allocate_strata, whole_numbers
from maskwell.procedures.statement_cards import warner

TOWN, LAND = Stratum("town", 0.6, warner("0.7"), [0.2, 0.8]), Stratum("land", 0.4, warner("0.8"), [0.4, 0.6])
PAIRS = Categories.of([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])
OWN = [1, 1, 0, 0]


def unrelated(p: float) -> Dense:
    return Dense.of([[1, p, 1 - p, 0], [0, 1 - p, p, 1]], PAIRS)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(20, 500))
def test_whole_numbers_are_close_and_sum_up(weights: list[float], n: int) -> None:
    shares = np.array(weights) + 1e-6
    shares /= shares.sum()
    found = whole_numbers(shares, n, least=[2] * len(shares))
    assert sum(found) == n and min(found) >= 2
    if (shares * n >= 2).all():
        assert np.abs(np.array(found) - shares * n).max() < 1


def test_no_other_division_is_better_with_remainders_rounded_up() -> None:
    assert whole_numbers(np.array([0.5, 0.3, 0.2]), 11, least=[0, 0, 0]) == (6, 3, 2)
    assert whole_numbers(np.array([1.0, 0.0]), 11, least=[2, 0]) == (11, 0)
    tiny = Stratum("isle", 0.0001, warner("0.9"), [0.1, 0.9])
    rest = Stratum("land", 0.9999, warner("0.7"), [0.1, 0.9])
    assert allocate_strata([tiny, rest], n=100).counts == (2, 98)
    found = allocate_strata([TOWN, LAND], n=60)
    c = [0.36 * TOWN.design.share_variance(np.array([0.2, 0.8]))[0], 0.16 * LAND.design.share_variance([0.4, 0.6])[0]]
    best = min(range(2, 59), key=lambda n: c[0] / n + c[1] / (60 - n))
    assert found.counts == (best, 60 - best)
    assert found.variance == pytest.approx(c[0] / best + c[1] / (60 - best))
    assert found.best_variance <= found.variance <= found.plain_variance
    found = allocate_strata([TOWN, LAND], margin=0.05)
    assert found.margin <= 0.05
    assert allocate_strata([TOWN, LAND], n=found.n - 1).margin > 0.05


@given(st.integers(40, 200), st.floats(0.5, 8))
@settings(max_examples=30)
def test_no_division_for_the_same_budget_is_better_by_much(budget: int, cost: float) -> None:
    dear = Stratum("land", 0.4, LAND.design, LAND.pi, cost=cost)
    found = allocate_strata([TOWN, dear], budget=budget)
    assert found.cost <= budget + 1e-9
    c = [0.36 * TOWN.design.share_variance(np.array([0.2, 0.8]))[0], 0.16 * LAND.design.share_variance([0.4, 0.6])[0]]
    pairs = itertools.product(range(2, budget + 1), range(2, 400))
    best = min(c[0] / a + c[1] / b for a, b in pairs if a + cost * b <= budget + 1e-9)
    assert found.variance <= best * 1.06  # one respondent of the dear stratum is worth some percent


@pytest.mark.parametrize(
    ("strata", "given", "said"),
    [
        ([TOWN], {"n": 100}, "sum to 0.6, not 1"),
        ([TOWN, TOWN], {"n": 100}, "named twice"),
        ([], {"n": 100}, "at least one part of the survey must be named"),
        (
            [TOWN, Stratum("x", 0, LAND.design, LAND.pi)],
            {"n": 100},
            "the share of stratum x must be above 0 and at most 1, not 0",
        ),
        ([TOWN, LAND], {"n": 3}, "each needs 2"),
        ([TOWN, LAND], {"budget": 3}, "a budget of 3 is too small for 2 respondents in each stratum"),
        ([TOWN, LAND], {}, "one of n, margin and budget"),
        ([TOWN, LAND], {"margin": 0}, "margin must be strictly between 0 and 1, not 0"),
        ([TOWN, Stratum("land", 0.4, warner("1/2", allow_unidentifiable=True), [0.4, 0.6])], {"n": 9}, "rank 1"),
        (
            [Stratum("all", 1, warner(1), [0, 1])],
            {"n": 9},
            "every stratum has variance 0, so the survey would estimate nothing",
        ),
    ],
)
def test_bad_strata(strata: list[Stratum], given: dict[str, Any], said: str) -> None:
    with pytest.raises(MaskwellError) as caught:
        allocate_strata(strata, **given)
    assert said in str(caught.value)


@given(st.floats(0.55, 0.95), st.floats(0.05, 0.45), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
@settings(max_examples=25)
def test_two_samples_of_simmons_device(p1: float, p2: float, pi: float, beta: float) -> None:
    """The closed form: n_1 / n_2 = s_1 / s_2, whatever joins the two traits."""
    p1, p2 = round(p1, 4), round(p2, 4)
    joined = np.outer([pi, 1 - pi], [beta, 1 - beta]).ravel()
    found = allocate_samples([unrelated(p1), unrelated(p2)], joined, wanted=OWN, n=10**6)
    lam = [p * pi + (1 - p) * beta for p in (p1, p2)]
    s = [(1 - q) * np.sqrt(x * (1 - x)) for q, x in zip((p2, p1), lam, strict=True)]
    assert found.fractions[0] == pytest.approx(s[0] / sum(s), rel=1e-6)
    assert found.best_variance * 10**6 == pytest.approx((sum(s) / (p1 - p2)) ** 2, rel=1e-6)
    assert found.gap <= 1e-10


def test_three_samples_for_three_categories() -> None:
    """Statements about one category at a time, as of Abul-Ela: compared with a fine grid of divisions."""
    labels = Categories.numbered(3)
    shares = [("0.6", "0.3", "0.1"), ("0.2", "0.6", "0.2"), ("0.1", "0.2", "0.7")]
    designs = [
        Dense.of([row, [str(round(1 - float(x), 3)) for x in row]], labels, Categories.of(["yes", "no"]))
        for row in shares
    ]
    pi = np.array([0.2, 0.5, 0.3])
    found = allocate_samples(designs, pi, wanted=0, n=1000)
    grid = [(a, b, 100 - a - b) for a in range(1, 99) for b in range(1, 100 - a)]

    fleet = _Samples.of(designs, pi, 0)

    def variance(counts: tuple[int, ...]) -> float:
        return fleet.variance(np.array(counts, dtype=float) * 10)

    assert found.best_variance <= min(map(variance, grid)) * (1 + 1e-9)
    assert found.gap < 1e-6 and sum(found.counts) == 1000


def test_margins_among_samples() -> None:
    pi = np.outer([0.2, 0.8], [0.4, 0.6]).ravel()
    samples = [unrelated(0.75), unrelated(0.25)]
    found = allocate_samples(samples, pi, wanted=OWN, margin=0.05)
    assert found.margin <= 0.05 and found.best_variance <= found.variance
    assert allocate_samples(samples, pi, wanted=OWN, n=found.n - 1).margin > 0.05
    one = allocate_samples([warner("0.7"), warner("0.9")], [0.3, 0.7], wanted=0, margin=0.05)
    assert one.counts[0] == 0  # the more telling device alone


@pytest.mark.parametrize(
    ("designs", "given", "kind", "said"),
    [
        (
            [unrelated(0.7), unrelated(0.7)],
            {"n": 100},
            NotIdentifiableError,
            "these samples together do not identify what is to be estimated",
        ),
        ([unrelated(0.7), unrelated(0.3)], {"n": 3}, ParameterError, "each needs 2"),
        ([unrelated(0.7), unrelated(0.3)], {"n": 10, "wanted": 9}, ParameterError, "no category has the code 9"),
        ([unrelated(0.7), unrelated(0.3)], {"n": 10, "wanted": [1, 2]}, ParameterError, "4 coefficients"),
        ([], {"n": 10}, ParameterError, "at least one design must be given"),
        ([unrelated(0.7), unrelated(0.3)], {}, ParameterError, "one of n and margin"),
        (
            [unrelated(0.7), unrelated(0.3)],
            {"margin": 2},
            ParameterError,
            "margin must be strictly between 0 and 1, not 2",
        ),
        ([unrelated(0.7), warner("0.7")], {"n": 10}, ParameterError, "differ"),
    ],
)
def test_bad_samples(designs: list[Any], given: dict[str, Any], kind: type, said: str) -> None:
    pi = np.outer([0.2, 0.8], [0.4, 0.6]).ravel()
    with pytest.raises(kind) as caught:
        allocate_samples(designs, pi, **{"wanted": OWN, **given})
    assert said in str(caught.value)


@pytest.mark.parametrize("seed", range(5))
def test_equal_parts_are_divided_alike_whatever_the_last_bits(seed: int) -> None:
    random = np.random.default_rng(seed)
    for parts, n in ((3, 100), (7, 1000), (6, 20)):
        shares = np.full(parts, 1 / parts)
        moved = shares + random.integers(-4, 5, parts) * np.spacing(1 / parts)
        assert whole_numbers(moved, n, least=[2] * parts) == whole_numbers(shares, n, least=[2] * parts)
