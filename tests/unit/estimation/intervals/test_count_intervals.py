"""Intervals from the binomial count behind a share: coverage summed over all counts, edges, and the default."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from docs.coverage import ALL_COUNTS, INTERCEPTS, ONE_COUNT, SIMULATED, AllCounts, OneCount, all_line, one_line
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm
from tests.support.arrays import Real
from tests.support.coverage import exact_coverage
from tests.support.estimates import FORCED, JAR, WARNER, estimate_of

from maskwell import Categories, Design, Sampling
from maskwell import design as make_design
from maskwell.designs import Dense, Kronecker, Subset, Uniform
from maskwell.estimation import Sample, estimate_by_moments, estimate_samples, estimate_survey
from maskwell.estimation.share_intervals import clopper_pearson, wilson

Z = norm.ppf(0.975)
MIRROR = make_design("warner", p="0.3")
TRIANGULAR = make_design("triangular", q="1/4")
KUK = make_design("kuk", theta1="0.9", theta2="0.05", draws=2)
DIRECT = Dense.of([[1, 0], [0, 1]])
SETS = Subset.from_gamma(3, Categories.numbered(4), size=2)
THREE = Uniform.from_gamma(9, Categories.of(["a", "b", "c"]))


@pytest.mark.parametrize(("x", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (95, 500)])
def test_both_are_those_of_scipy_for_open_answers(x: int, n: int) -> None:
    test = binomtest(x, n)
    for made, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        reference = test.proportion_ci(0.95, method=method)
        (low,), (high,) = made(np.array([float(x)]), np.array([float(n)]), Z)
        assert (low, high) == pytest.approx((reference.low, reference.high), abs=1e-12)


@pytest.mark.parametrize("design", [FORCED, WARNER, MIRROR, TRIANGULAR], ids=["forced", "warner", "mirror", "triangle"])
@pytest.mark.parametrize("n", [7, 60])
def test_exact_intervals_never_cover_less_than_they_say(design: Design, n: int) -> None:
    for level in (0.8, 0.95):
        for share in np.linspace(0, 1, 21):
            coverage, there = exact_coverage(design, float(share), n, level=level, method="exact")
            assert coverage >= level - 1e-9 and there == pytest.approx(1, abs=1e-9)


def test_reports_that_no_share_can_explain_are_flagged() -> None:
    """Forced yes for one in six, and 20 of 500 say yes: the whole interval lies below zero.

    What is left are the shares that fit nearly as well as zero: with d standard errors from the reports to zero, up to
    ``sqrt(d^2 + z^2) - d`` of them.
    """
    error = np.sqrt(1 / 6 * 5 / 6 / 500)
    d = (1 / 6 - 20 / 500) / error
    reach = (np.sqrt(d**2 + Z**2) - d) * error / (3 / 4)
    for method in ("score", "exact"):
        found = estimate_of([20, 480], FORCED).intervals(0.95, method)
        np.testing.assert_allclose(found.to_array(), [[0, reach], [1 - reach, 1]])
        assert found.flags[0].startswith("inconsistent_with_design: ")
        low, high = estimate_of([499, 1], FORCED).intervals(0.95, method).to_array()[0]
        assert 0.9 < low < high == 1 and estimate_of([95, 405], FORCED).intervals(0.95, method).flags == ()
    uncut = estimate_of([20, 480], FORCED).intervals(0.95, "score", cut=False)
    assert (uncut.high[0] < 0, uncut.flags) == (True, ())


def test_the_sums_that_check_coverage_are_those_of_scipy() -> None:
    ends = [binomtest(x, 2).proportion_ci(0.1) for x in range(3)]
    inside = [x for x, one in enumerate(ends) if one.low <= 0.5 <= one.high]
    expected = pytest.approx(binom.pmf(inside, 2, 0.5).sum())
    assert exact_coverage(DIRECT, 0.5, 2, level=0.1, method="exact")[0] == expected
    row, pair = OneCount("", DIRECT, 9, 0.3), AllCounts("", DIRECT, 9, (0.3, 0.7))
    inside = [x for x in range(10) if row.ends("exact")[x, 0] <= 0.3 <= row.ends("exact")[x, 1]]
    expected = pytest.approx(binom.pmf(inside, 9, 0.3).sum())
    assert row.coverage("exact", 0.3) == expected and pair.coverage("exact", 0.3) == expected


CELL = re.compile(r"(?P<coverage>0\.\d{3})(?: \((?P<there>\d+) %\))?")


def test_the_pages_about_intervals_and_coverage_show_what_the_sums_give(root: Path) -> None:
    """Some lines again; python -m docs.coverage makes all of them."""
    page = (root / "docs/theory/intervals.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(("| forced", "| Warner"))]
    header = next(line for line in page.splitlines() if line.startswith("| design | $n$ | true share"))
    assert len(lines) == 12
    for name, n, share, *cells in lines:
        for method, cell in zip(header.strip("| ").split(" | ")[3:], cells, strict=True):
            shown = CELL.fullmatch(cell)
            assert shown, cell
            design = {"forced": FORCED, "Warner": WARNER}[name]
            coverage, there = exact_coverage(design, float(share), int(n), level=0.95, method=method)
            assert float(shown["coverage"]) == pytest.approx(coverage, abs=0.00051), (name, n, share, method)
            assert int(shown["there"] or 100) == pytest.approx(100 * there, abs=0.51)
    page = (root / "docs/theory/coverage.md").read_text(encoding="utf-8")
    for row in (ONE_COUNT[0], ONE_COUNT[1], ONE_COUNT[4]):
        assert one_line(row) in page
    assert all_line(ALL_COUNTS[1]) in page
    tables = (ONE_COUNT, ALL_COUNTS, INTERCEPTS, SIMULATED)
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == sum(map(len, tables)) + len(tables)
    # Published figures: .83, .68.
    assert ONE_COUNT[0].coverage("wald", 0.02) == pytest.approx(0.83, abs=0.005)
    assert ONE_COUNT[1].coverage("wald", 0.005) == pytest.approx(0.68, abs=0.005)


@pytest.mark.parametrize("design", [ONE_COUNT[0].design, KUK, JAR], ids=["k-ary", "kuk", "jar"])
@pytest.mark.parametrize("n", [8, 20])
def test_the_default_covers_at_least_93_percent(design: Design, n: int) -> None:
    """For the first category, whatever the ratio of the others, from nobody to everybody."""
    for others in ((0.5, 0.5), (0.99, 0.01), (0.01, 0.99)):
        every = AllCounts("", design, n, (0.0, *(others[: design.k - 1] if design.k > 2 else (1.0,))))
        for share in (0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9, 1):
            assert every.coverage(None, share) >= 0.93, (others, share)


def test_the_default_has_two_ends_for_any_counts() -> None:
    """All counts of twelve respondents, and designs of every kind: no point, no NaN, within [0, 1]."""
    for design in (JAR, KUK, ONE_COUNT[0].design, WARNER, DIRECT):
        for line in AllCounts("", design, 12, ()).counts():
            intervals = estimate_of(line.tolist(), design).confidence_interval()
            assert ((intervals >= 0) & (intervals <= 1)).all()
            assert (intervals[:, 1] - intervals[:, 0] > 0.01).all(), line


@pytest.mark.parametrize("counts", [[30, 50, 20], [1, 0, 40], [100, 5, 3]])
def test_the_count_has_the_variance_of_the_estimate_at_every_share(counts: list[int]) -> None:
    """The dense twin: along the line from no one to everyone in category j, the others in ratios near the estimates.

    The score interval is all that a test with that variance keeps: |estimate - t| <= z sqrt(V(t) / n), on a grid.
    """
    P, L, n = JAR.matrix(), np.linalg.inv(JAR.matrix()), sum(counts)
    estimate = estimate_of(counts, JAR)
    behind, found = estimate.binomial_counts, estimate.confidence_interval(0.95, "score")
    near = np.clip(estimate.pi_hat, 0, 1)
    near = (n * near / near.sum() + 1 / 3) / (n + 1)
    for j in range(3):
        a, b, rest = float(behind.a[j]), float(behind.b[j]), near * (np.arange(3) != j)

        def variance(t: float, j: int = j, rest: Real = rest) -> float:
            lam = P @ ((1 - t) * rest / rest.sum() + t * np.eye(3)[j])
            return float(lam @ L[j] ** 2 - (lam @ L[j]) ** 2)

        for t in (0, 0.2, 0.7, 1):
            lam = b + (a - b) * t
            assert lam * (1 - lam) / (a - b) ** 2 == pytest.approx(variance(t))
        if 0 < behind.x[j] < n:
            assert (behind.x[j] / n - b) / (a - b) == pytest.approx(estimate.pi_hat[j])
        if counts == [30, 50, 20]:
            grid = np.linspace(0, 1, 4001)
            kept = [t for t in grid if abs(estimate.pi_hat[j] - t) <= Z * np.sqrt(variance(t) / n)]
            assert found[j] == pytest.approx([kept[0], kept[-1]], abs=4e-4)


@pytest.mark.parametrize("family", ["lie-detector", "cheating-detection"])
def test_samples_that_tell_the_shares_only_together(family: str) -> None:
    """Large samples: score intervals are Wald intervals. Small ones: those of all counts cover."""
    designs = [make_design(family, p=p) for p in ("1/5", "4/5")]
    n, pi = 25, np.array([0.3, 0.1, 0.6])
    expected = [np.rint(100_000 * design.apply(pi)).astype(int).tolist() for design in designs]
    large = estimate_samples([Sample.of(x, design) for x, design in zip(expected, designs, strict=True)])
    np.testing.assert_allclose(*(large.confidence_interval(0.95, m) for m in ("score", "wald")), atol=3e-4)
    chances = [binom.pmf(np.arange(n + 1), n, design.apply(pi)[0]) for design in designs]
    covered = np.zeros(3)
    for x, y in product(range(n + 1), repeat=2):
        if (chance := chances[0][x] * chances[1][y]) > 1e-6:
            counts = zip(((x, n - x), (y, n - y)), designs, strict=True)
            found = estimate_samples([Sample.of(one, design) for one, design in counts]).intervals()
            covered += chance * ((found.low <= pi) & (pi <= found.high))
    assert covered.min() >= 0.93


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(lambda x: sum(x) > 2))
@settings(deadline=None, max_examples=25)
def test_matched_is_exact_where_one_count_tells_a_share(counts: list[int]) -> None:
    """A k-ary design, written out as a dense one whose rows are then told to be of any kind."""
    uniform = Uniform.from_gamma(7, Categories.numbered(4))
    written = Dense.of(uniform.exact_matrix())
    exact = estimate_of(counts, uniform).confidence_interval(0.9, "exact")
    np.testing.assert_allclose(estimate_of(counts, uniform).confidence_interval(0.9, "matched"), exact, atol=1e-9)
    assert written.count_chances() is not None
    np.testing.assert_allclose(estimate_of(counts, written).confidence_interval(0.9, "exact"), exact)


def test_sets_and_last_bits_leave_chances_of_counts_between_0_and_1() -> None:
    counts = SETS.tally(SETS.sample(np.arange(400) % 4))
    estimate = estimate_by_moments(counts, SETS)
    found, p, r = estimate.binomial_counts, float(SETS.include), float(SETS.other)
    np.testing.assert_array_equal(found.x, counts.values)
    for method, scipy_name in (("score", "wilson"), ("exact", "exact")):
        ends = [binomtest(int(x), 400).proportion_ci(0.95, method=scipy_name) for x in counts.values]
        expected = np.clip([[(e.low - r) / (p - r), (e.high - r) / (p - r)] for e in ends], 0, 1)
        np.testing.assert_allclose(estimate.confidence_interval(0.95, method), expected, atol=1e-12)
    # Forced responses count for sure: rounding must not make that more than one, or less than zero.
    L = np.linalg.inv([[1, 0.05], [0, 0.95]])
    for signs in product((-1, 1), repeat=4):
        design = Dense.of([[1, "1/20"], [0, "19/20"]])
        design.__dict__["_L"] = L * (1 + 1e-15 * np.reshape(signs, (2, 2)))
        chances = design.count_chances()
        assert all(((one >= 0) & (one <= 1)).all() for one in chances)


def test_the_default_is_score_wald_exact_or_matched() -> None:
    kary = Uniform.from_gamma(5, Categories.of(["a", "b", "c"]))
    cells = Kronecker.of([DIRECT, make_design("warner", p="0.8")])  # sex was asked openly: no cell is a count
    cases = [
        ("score", WARNER, [120, 180]),
        ("score", WARNER, [9, 11]),  # chance alone makes six of twenty say yes
        ("score", kary, [50, 30, 20]),
        ("exact", kary, [15, 3, 2]),
        ("score", KUK, [250, 30, 20]),
        ("matched", KUK, [25, 3, 2]),
        ("matched", cells, [9, 3, 10, 8]),
    ]
    assert [estimate_of(counts, design).default_interval for _, design, counts in cases] == [one for one, *_ in cases]
    assert estimate_by_moments(SETS.tally(SETS.sample(np.arange(400) % 4)), SETS).default_interval == "score"
    cases = [
        ("wald", THREE, ["a", "b", "c", "a"] * 100),
        ("score", THREE, ["a", "b", "b", "c"] * 40 + ["b", "c"] * 20),
        ("matched", THREE, ["a"] * 18 + ["b"] * 2),
        ("matched", WARNER, [WARNER.outputs.labels[0]] * 20),
    ]
    for expected, design, reports in cases:
        found = estimate_survey(reports, design, Sampling(weights=np.tile([1.0, 2.0], len(reports) // 2)))
        assert found.default_interval == expected
        assert (np.diff(found.confidence_interval(), axis=1) > 0.05).all()
