"""Sampled reports and swapped records against the exact law: a false-alarm rate of 1e-6 each, fixed seeds."""

from itertools import permutations

import numpy as np
import pytest
from tests.support.arrays import Array
from tests.support.chisquare import chi_square, fits
from tests.support.examples import ABC, EXAMPLES, numbered

from maskwell import Design, SecureRandom, SeededRandom
from maskwell.designs import Dense, LocalDiversity, Mixture, Subset, Unary, Uniform, kernels
from maskwell.microdata.matrices import sequential_uniform
from maskwell.microdata.matrices.swap_flows import IntegerFlows, SwapSampler, whole_flows

pytestmark = pytest.mark.statistical
ROWS = 60_000


def cells(design: Design, data: Array) -> Array:
    """How often each report of the report space was seen."""
    if not design.reports_are_sets:
        return np.bincount(data.astype(np.int64), minlength=design.m)
    space = as_numbers(design.report_space())
    order = np.argsort(space)
    place = np.searchsorted(space[order], as_numbers(data))
    assert (space[order][np.minimum(place, len(space) - 1)] == as_numbers(data)).all(), "every report is in the space"
    return np.bincount(order[place], minlength=design.m)


def as_numbers(sets: Array) -> Array:
    """Sets of up to 64 categories, a row of bytes each, as one number each."""
    wide = np.zeros((len(sets), 8), dtype=np.uint8)
    wide[:, : sets.shape[1]] = sets
    return wide.view(np.uint64).ravel()


def law_holds(design: Design, other: Design | None = None, rows: int = ROWS, seed: int = 1) -> bool:
    """Whether reports of ``design`` look as drawn from the matrix of ``other`` (of itself by default)."""
    P = (other or design).matrix()
    source = SeededRandom(seed)
    truths = range(design.k) if design.k <= 16 else (0, 1, design.k // 2, design.k - 1)
    return all(fits(cells(design, design.sample(np.full(rows, j), random=source).data), P[:, j]) for j in truths)


@pytest.mark.parametrize("path", ["compiled", "plain"])
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_reports_follow_the_matrix(name: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if getattr(kernels, path) is None:
        pytest.skip("no compiled kernels here")
    monkeypatch.setattr(kernels, "active", getattr(kernels, path))
    assert law_holds(EXAMPLES[name], rows=ROWS if path == "compiled" else 10_000)


@pytest.mark.parametrize(
    "name", ["uniform k=4, epsilon 1", "subset k=4 q=2", "optimised unary k=4", "kronecker of two"]
)
def test_reports_of_the_default_source_follow_the_matrix(name: str) -> None:
    """Fresh randomness: it fails by chance below 1e-9."""
    design = EXAMPLES[name]
    for truth in range(design.k):
        reports = design.sample(np.full(ROWS, truth), random=SecureRandom())
        assert fits(cells(design, reports.data), design.matrix()[:, truth], rate=1e-11)


@pytest.mark.parametrize(
    "name", ["uniform k=4, epsilon 1", "mixture", "dense square", "kronecker of two", "composed tall"]
)
def test_neighbouring_rows_are_independent(name: str) -> None:
    """Pairs of successive reports against the product law; the truths alternate."""
    design = EXAMPLES[name]
    P, source = design.matrix(), SeededRandom(3)
    for shift in (1, 2, 5):
        reports = design.sample(np.zeros(120_000, dtype=int), random=source).data.astype(np.int64)
        pairs = (
            reports[: -shift : shift + 1] * design.m + reports[shift :: shift + 1][: len(reports[: -shift : shift + 1])]
        )
        assert fits(np.bincount(pairs, minlength=design.m**2), np.outer(P[:, 0], P[:, 0]).ravel())


def test_streams_of_one_source_are_independent() -> None:
    design = EXAMPLES["uniform k=4, epsilon 1"]
    source, P = SeededRandom(4), EXAMPLES["uniform k=4, epsilon 1"].matrix()
    one, two = (design.sample(np.zeros(ROWS, dtype=int), random=source).data.astype(int) for _ in range(2))
    assert fits(np.bincount(one * 4 + two, minlength=16), np.outer(P[:, 0], P[:, 0]).ravel())


SLIGHTLY_WRONG: dict[str, tuple[Design, Design]] = {
    "uniform": (Uniform.from_gamma("4.2", ABC), Uniform.from_gamma(4, ABC)),
    "uniform of many": (Uniform.from_gamma("5.3", numbered(16)), Uniform.from_gamma(5, numbered(16))),
    "mixture": (Mixture.of("0.6", ["0.21", "0.1", "0.09"], ABC), Mixture.of("0.6", ["0.2", "0.1", "0.1"], ABC)),
    "dense": (Dense.of([["0.71", "0.2"], ["0.29", "0.8"]]), Dense.of([["0.7", "0.2"], ["0.3", "0.8"]])),
    "subset": (Subset.from_gamma("3.15", numbered(5), size=2), Subset.from_gamma(3, numbered(5), size=2)),
    "rappor": (Unary.rappor_from_gamma("4.2", ABC), Unary.rappor_from_gamma(4, ABC)),
    "optimised unary": (Unary.oue_from_gamma("4.2", ABC), Unary.oue_from_gamma(4, ABC)),
    "l-diverse": (Subset.of("0.999", 2, numbered(4)), LocalDiversity.of(2, numbered(4))),
}


@pytest.mark.parametrize("name", list(SLIGHTLY_WRONG))
def test_a_slightly_wrong_design_is_rejected(name: str) -> None:
    wrong, right = SLIGHTLY_WRONG[name]
    assert law_holds(right, rows=300_000) and not law_holds(wrong, right, rows=300_000)


def test_the_helper_knows_its_false_alarm_rate_and_what_rejection_is_for() -> None:
    """What rejection is for: one word in 16 chooses among 3 values with odds 6 : 5 : 5."""
    words = np.random.default_rng(1).integers(0, 16, 200_000)
    assert not fits(np.bincount(words * 3 >> 4, minlength=3), np.full(3, 1 / 3))
    # Of 4000 correct samples at a rate of 1 in 100, 40 are expected to fail; 5 standard deviations allowed.
    rng = np.random.default_rng(1)
    probabilities = np.array([0.5, 0.2, 0.15, 0.1, 0.04, 0.01, 0.0])
    alarms = sum(not fits(rng.multinomial(2000, probabilities), probabilities, 0.01) for _ in range(4000))
    assert abs(alarms - 40) < 5 * np.sqrt(40)
    assert not fits(np.array([10, 1]), np.array([1.0, 0.0])) and fits(np.array([11, 0]), np.array([1.0, 0.0]))
    probabilities = np.array([0.9, 0.0999, 0.0001])
    statistic, freedom = chi_square(np.array([900, 99, 1]), probabilities)
    assert freedom == 1 and statistic < 0.1
    many = np.full(1000, 1 / 1000)
    assert chi_square(np.random.default_rng(1).multinomial(2000, many), many)[1] < 1000


RUNS = 2000


def released(runs: int = RUNS) -> Array:
    """Records 0, 1, 2 of the first category, 3, 4, 5 of the second, 6, 7 of the third: shape (runs, 8)."""
    flows, source = IntegerFlows.of([[2, 1, 0], [1, 1, 1], [0, 1, 1]]), SeededRandom(11)
    codes = np.repeat([0, 1, 2], [3, 3, 2])
    return np.array([SwapSampler(flows, source).sample(codes) for _ in range(runs)])


def test_every_assignment_of_a_category_is_equally_likely() -> None:
    seen = released()[:, 3:6].astype(int)
    codes = seen @ [9, 3, 1]
    possible = [9 * a + 3 * b + c for a, b, c in permutations(range(3))]
    assert set(codes.tolist()) <= set(possible)
    assert fits(np.array([(codes == code).sum() for code in possible]), np.full(6, 1 / 6))
    assert not fits(np.array([(codes == code).sum() for code in possible]), np.array([3, 2, 2, 2, 2, 1]) / 12)


def test_drawn_flows_and_uneven_parts_follow_the_matrix() -> None:
    counts = [12, 8, 3]
    design, source = sequential_uniform(counts), SeededRandom(12)
    up = sum(int(whole_flows(design, counts, source).amounts[0] == 8) for _ in range(RUNS))
    assert fits(np.array([up, RUNS - up]), np.array([0.5, 0.5]))
    assert not fits(np.array([up, RUNS - up]), np.array([0.58, 0.42]))
    counts = [9, 4, 1, 5]
    design, source = sequential_uniform(counts), SeededRandom(13)
    F = design.matrix() * counts
    total = np.zeros((4, 4))
    for _ in range(RUNS):
        flows = whole_flows(design, counts, source)
        total[flows.rows, np.repeat(np.arange(4), np.diff(flows.starts))] += flows.amounts
    part = F - np.floor(F)
    error = np.sqrt(part * (1 - part) / RUNS)
    far = np.abs(total / RUNS - F) / np.maximum(error, 1e-9)
    assert far.max() < 5.4  # sixteen entries, 1e-6 in all
    assert (np.abs(total / RUNS - np.round(F)) > 5.4 * error)[part > 0.1].all()
