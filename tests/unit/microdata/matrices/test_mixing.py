"""Mixing by cell size: the matrix against its formula in fractions, its bound against exact risks and an intruder."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

from maskwell.errors import CountsError, InfeasibleError, InputError, ParameterError
from maskwell.microdata.matrices import is_invariant, rates_for_match
from maskwell.microdata.matrices.match_caps import method1_for_match
from maskwell.microdata.matrices.mixing import GRID, BlockRates, _exchanged, _gathered, mixing_rate
from maskwell.microdata.risk.identity_disclosure import cell_risks

XIS = ("0.5", "0.4", "0.3", "0.2", "0.1")


def written_out(counts: list[int], rates: list[Fraction], blocks: list[int]) -> list[list[Fraction]]:
    """``diag(1 - a) + w a'`` in each block."""
    k = len(counts)
    left = {b: sum(a * n for a, n, own in zip(rates, counts, blocks, strict=True) if own == b) for b in {*blocks}}
    P = [[Fraction(0)] * k for _ in range(k)]
    for i, j in product(range(k), repeat=2):
        if blocks[i] == blocks[j]:
            P[i][j] = rates[j] * rates[i] * counts[i] / left[blocks[i]]
        if i == j:
            P[i][j] += 1 - rates[j]
    return P


def random_case(number: int) -> tuple[list[int], list[Fraction], list[int]]:
    draw = np.random.default_rng(number)
    k = int(draw.integers(2, 9))
    counts = draw.integers(1, 12, k).tolist()
    rates = [Fraction(int(step), GRID) for step in draw.integers(1, GRID + 1, k)]
    blocks = np.sort(np.arange(k) % int(draw.integers(1, max(2, k // 2)))).tolist()
    return counts, rates, blocks


@pytest.mark.parametrize("number", range(40))
def test_the_matrix_is_that_of_the_formula_and_keeps_counts(number: int) -> None:
    counts, rates, blocks = random_case(number)
    steps = np.array([rate * GRID for rate in rates]).astype(np.int64)
    design = BlockRates(Fraction(1), np.array(blocks), steps, np.ones(len(rates))).design(counts)
    assert design.exact_matrix() == written_out(counts, rates, blocks)
    assert is_invariant(design, np.array(counts))
    columns = zip(*design.exact_matrix(), strict=True)
    assert {sum(column) for column in columns} == {1}


@pytest.mark.parametrize(("cells", "factor"), [(10, 1.0253), (3, 1.0895)])
def test_blocks_of_few_cells_need_a_factor(cells: int, factor: float) -> None:
    counts = np.repeat([1, 2, 3, 4], cells)
    needed = rates_for_match(np.arange(len(counts))[:, None], counts, "0.2")
    assert (needed.rates / mixing_rate(counts, "0.2")).max() == pytest.approx(factor, abs=5e-4)


def test_blocks_are_large_enough_for_the_bound_or_too_few_records_are_told() -> None:
    """Also where there are so many cells, or so low a bound, that blocks are as small as they may be."""
    single = np.ones(600, dtype=np.int64)
    assert rates_for_match(np.arange(600)[:, None], single, "0.002").reached.all()
    small = rates_for_match(np.arange(600)[:, None], single, "0.05", size=16)
    with pytest.raises(InfeasibleError, match=r"blocks of so few cells cannot meet match = 0\.05"):
        small.check_reached(single, [0] * 600)
    refused(ParameterError, "is below", rates_for_match, np.arange(2)[:, None], [1, 1], "0.0001")
    mixed = rates_for_match(np.arange(5)[:, None], [1, 2, 1, 9, 9], "0.2", within=[0, 0, 0, 1, 1])
    assert mixed.open_cells().tolist() == [0, 1, 2]
    with pytest.raises(
        InfeasibleError, match=r"1 of 2 cells have too few records \(4; match = 0.2 needs 5\)"
    ) as raised:
        mixed.check_reached(np.array([1, 2, 1, 9, 9]), [0, 0, 0, 1, 1])
    assert raised.value.objects["nearest"] == pytest.approx(0.25)


@pytest.mark.parametrize(("cells", "size"), [(2, 2), (7, 3), (23, 4), (40, 41)])
def test_cells_whose_records_can_be_exchanged_come_into_blocks_and_none_is_left_out(cells: int, size: int) -> None:
    """Blocks of ``size`` cells, the last one with the rest; exchanges keep the sizes and lower the costs inside."""
    places = np.random.default_rng(cells).integers(1000, size=(cells, 2))
    costs = np.abs(places[:, None] - places[None]).sum(axis=2)
    parts = _gathered(costs, size)
    sizes = np.bincount(parts)
    assert sizes.sum() == cells and (sizes[:-1] == size).all() and sizes[-1] >= min(size, cells)
    after = _exchanged(costs, parts, 3)
    np.testing.assert_array_equal(np.bincount(after), sizes)

    def inside(blocks: Any) -> float:
        return float(costs[blocks[:, None] == blocks[None]].sum())

    assert inside(after) <= inside(parts) + 1e-9
    np.testing.assert_array_equal(_exchanged(costs, parts, 0), parts)


@pytest.mark.parametrize("limit", ["0.2000000000000000000055511151231257827", Fraction(2**62 + 1, 5 * 2**62)])
def test_a_limit_of_many_digits_is_compared_exactly(limit: str | Fraction) -> None:
    """A count times such a numerator does not fit a machine word; 5 records have a chance of 1/5, below it."""
    exact = rates_for_match(np.arange(6)[:, None], [1, 2, 3, 4, 50, 70], "0.2")
    near = rates_for_match(np.arange(6)[:, None], [1, 2, 3, 4, 5, 70], limit)
    assert near.rates[4:].tolist() == [0, 0] and (near.rates[:4] > 0).all()
    assert near.reached.all() and np.allclose(near.rates, exact.rates, atol=0.05)
    assert method1_for_match([4, 5, 60, 70], limit).theta == method1_for_match([4, 5, 60, 70], "0.2").theta


def random_counts(number: int) -> tuple[np.ndarray, list[int]]:
    draw = np.random.default_rng(1000 + number)
    counts = np.minimum(draw.geometric(draw.uniform(0.1, 0.7), 60), draw.integers(1, 40, 60))
    return counts, draw.integers(0, 3, 60).tolist()


@pytest.mark.parametrize("xi", XIS)
@pytest.mark.parametrize("number", range(4))
def test_no_look_and_no_release_breaks_the_bound(number: int, xi: str) -> None:
    """The bound is one on exact risks: of the own cell and of the easiest look, over every number released."""
    counts, within = random_counts(number)
    mixed = rates_for_match(np.arange(60)[:, None], counts, xi, within=within)
    assert mixed.reached.all()
    risks = cell_risks(counts, mixed.design(counts))
    assert risks.strict.max() <= float(Fraction(xi)) + 1e-9
    assert risks.any_release.max() <= float(Fraction(xi)) + 1e-9
    assert (
        not mixed.steps[counts * Fraction(xi) >= 1].any() or (mixed.steps > 0).sum() > (counts * Fraction(xi) < 1).sum()
    )
    less = BlockRates(mixed.xi, mixed.blocks, np.maximum(mixed.steps * 9 // 10, 0), mixed.risk).design(counts)
    assert cell_risks(counts, less).any_release.max() > float(Fraction(xi))  # a tenth less would not do


def weighted_case(number: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    counts, within = random_counts(number)
    spread = (0.1, 0.6, 1.5, 3.0)[number % 4]
    draw = np.random.default_rng(2000 + number)
    return counts, counts * np.exp(draw.normal(4, spread, len(counts))), within


@pytest.mark.parametrize("xi", XIS)
@pytest.mark.parametrize("number", range(4))
def test_sums_of_weights_are_kept_and_the_bound_holds_for_records(number: int, xi: str) -> None:
    """Mean weights of cells differ by up to a factor of some thousands; a tenth less would break the bound."""
    counts, sums, within = weighted_case(number)
    mixed = rates_for_match(np.arange(60)[:, None], counts, xi, within=within, mass=sums)
    design = mixed.design(counts)
    assert mixed.reached.all() and is_invariant(design, sums) and not is_invariant(design, counts)
    assert design.provenance["invariance"] == "weights"
    assert cell_risks(counts, design).any_release.max() <= float(Fraction(xi)) + 1e-9
    less = BlockRates(mixed.xi, mixed.blocks, mixed.steps * 9 // 10, mixed.risk, mixed.mass).design(counts)
    assert cell_risks(counts, less).any_release.max() > float(Fraction(xi))
    crossing = np.array(within)[design.rows] != np.repeat(within, np.diff(design.starts))
    assert not crossing.any()


@pytest.mark.parametrize("number", range(12))
def test_every_file_that_could_be_drawn_has_the_true_sums_on_average_and_no_match_above_the_bound(number: int) -> None:
    """All releases of six records in fractions: released sums of weights, and matches by released number."""
    draw = np.random.default_rng(3000 + number)
    cells = int(draw.integers(2, 5))
    counts = 1 + np.bincount(draw.integers(0, cells, 6 - cells), minlength=cells)
    weights = [Fraction(int(one), 100) for one in draw.integers(50, 5000, counts.sum())]
    true = np.repeat(np.arange(cells), counts)
    sums = [sum(w for w, cell in zip(weights, true, strict=True) if cell == own) for own in range(cells)]
    xi = Fraction(int(draw.integers(3, 9)), 10)
    mixed = rates_for_match(np.arange(cells)[:, None], counts, xi, mass=[float(one) for one in sums])
    assert mixed.reached.all()
    P = mixed.design(counts).exact_matrix()
    assert [sum(p * v for p, v in zip(row, sums, strict=True)) for row in P] == sums
    mean = [Fraction(0)] * cells
    seen, right = dict[tuple[int, int, int], Fraction](), dict[tuple[int, int, int], Fraction]()
    for outcome in product(range(cells), repeat=len(true)):
        chance = Fraction(1)
        for released, own in zip(outcome, true.tolist(), strict=True):
            chance *= P[released][own]
        if not chance:
            continue
        for released, weight in zip(outcome, weights, strict=True):
            mean[released] += chance * weight
        for target, own in enumerate(true.tolist()):
            if target and true[target - 1] == own:
                continue  # records of one cell are alike
            for looked in {*outcome}:
                key = own, looked, outcome.count(looked)
                seen[key] = seen.get(key, Fraction(0)) + chance
                right[key] = right.get(key, Fraction(0)) + chance * (outcome[target] == looked) / outcome.count(looked)
    assert mean == sums
    largest = max(right[key] / seen[key] for key in seen)
    assert largest <= xi + Fraction(1, 10**9)
    assert float(largest) == pytest.approx(cell_risks(counts, mixed.design(counts)).any_release.max(), abs=1e-9)


def test_light_cells_leave_more_often_and_large_cells_stay() -> None:
    """A cell that receives fewer records than it loses needs a higher rate, at most 1; the formula of large blocks."""
    rates = mixing_rate([1] * 4, "0.2", [1e-12, 0.5, 1.0, 4.0])
    assert rates.tolist() == sorted(rates.tolist(), reverse=True) and rates[0] == pytest.approx(1)
    for relative, a in zip((0.5, 1.0, 4.0), rates[1:], strict=True):
        assert (1 - a) / (1 - a + relative * a * a) == pytest.approx(0.2)
    counts = np.array([1, 2, 1, 3, 1, 2, 4, 60])
    mixed = rates_for_match(np.arange(8)[:, None], counts, "0.2", mass=counts * [1, 1, 50, 50, 1, 50, 1, 9.0])
    assert mixed.rates[7] == 0 and mixed.rates[0] > mixed.rates[2] and mixed.rates[1] > mixed.rates[5]


def test_cells_of_like_mean_weight_come_into_one_block() -> None:
    """Forty light and forty heavy cells, in turn: blocks of eight have one sort each, and both tables stay right."""
    counts, sort = np.tile([1, 2], 40), np.arange(80) // 2 % 2
    sums = counts * np.where(sort == 0, 10.0, 900.0)
    mixed = rates_for_match(np.arange(80)[:, None], counts, "0.2", mass=sums)
    assert all(len({*sort[mixed.blocks == block]}) == 1 for block in {*mixed.blocks.tolist()})
    design = mixed.design(counts)
    assert is_invariant(design, sums) and is_invariant(design, counts)


def test_the_matrix_does_not_depend_on_the_order_in_which_weights_were_added() -> None:
    counts, sums, _ = weighted_case(1)
    sums = np.round(sums, 3)
    noisy = sums * (1 + np.random.default_rng(5).uniform(-1, 1, len(sums)) * 1e-15)
    assert (noisy != sums).any()
    one, other = (rates_for_match(np.arange(60)[:, None], counts, "0.2", mass=mass) for mass in (sums, noisy))
    assert one.design(counts).exact_matrix() == other.design(counts).exact_matrix()
    for scale in (1e-200, 1e-9, 1e9, 1e200):
        assert is_invariant(
            rates_for_match(np.arange(60)[:, None], counts, "0.2", mass=sums * scale).design(counts), sums
        )


@pytest.mark.parametrize("sums", [[1.0, 2.0], [1.0, 2.0, 0.0]])
def test_sums_of_weights_that_do_not_belong_to_the_counts_are_refused(sums: list[float]) -> None:
    refused(CountsError, "do not belong together", rates_for_match, np.arange(3)[:, None], [1, 1, 2], "0.5", mass=sums)


def test_sums_of_weights_are_finite() -> None:
    sums = [1.0, 2.0, np.inf]
    refused(InputError, "must be finite", rates_for_match, np.arange(3)[:, None], [1, 1, 2], "0.5", mass=sums)
