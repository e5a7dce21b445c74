"""Right data are accused of not fitting the design in one of a hundred results at most, whatever the design and k.

Every case draws 10 results with a fixed seed; more than one of them accused has a chance of 0.4 % at a level of 1 %.
With a test of each category at 95 %, which was used before, cases with 256 categories had 10 of 10.
Tables of many items have far more cells than reports: 60 of 16 items and 4 of 20 are drawn from the design itself, and
not one may be flagged. With the bound for sparse tables, which holds for any shares, the chance that a right one is
flagged is below one in a million each.
"""

from functools import cache

import numpy as np
import pytest
from tests.support.together import together

from maskwell import Categories, Counts, Design, Sampling, SeededRandom
from maskwell.designs import Dense, Kronecker, Subset, Unary, Uniform
from maskwell.estimation import Estimate, Sample, estimate_by_moments, estimate_survey
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood
from maskwell.procedures.registry import make_design

pytestmark = pytest.mark.statistical
RUNS, MOST = 10, 1
DECK = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])


def k_ary(k: int, gamma: int = 9) -> Uniform:
    return Uniform.from_gamma(gamma, Categories.numbered(k))


SETS = {
    **{f"subset {k}": Subset.from_gamma(9, Categories.numbered(k), size=max(1, k // 10)) for k in (16, 256, 1024)},
    **{f"oue {k}": Unary.oue_from_gamma(9, Categories.numbered(k)) for k in (16, 256, 1024)},
    "rappor 64": Unary.rappor_from_gamma(9, Categories.numbered(64)),
}
DESIGNS: dict[str, Design] = {
    **{f"k-ary {k}": k_ary(k) for k in (2, 3, 16, 64, 256, 1024)},
    **SETS,
    "deck": DECK,
    "kuk": make_design("kuk", theta1="0.7", theta2="0.2", draws=3),
    "table": Kronecker.of([k_ary(8), DECK, DECK]),
}


def accuses(estimate: Estimate) -> bool:
    said = [*estimate.flags, *estimate.intervals(method="score").flags]
    return any(words in flag for flag in said for words in ("do not fit", "did not follow", "not followed"))


def truths(k: int, n: int, generator: np.random.Generator) -> np.ndarray:
    """Of n people, two categories at most: all other shares are zero, and their estimates often below it."""
    return (generator.random(n) < 0.1).astype(np.int64) if k > 2 else np.zeros(n, dtype=np.int64)


def counts_of(maker: Design, design: Design, n: int, seed: int) -> Counts:
    reports = maker.sample(truths(design.k, n, np.random.default_rng(seed)), random=SeededRandom(seed))
    counted = maker.tally(reports)
    return Counts(counted.values, counted.n, design.fingerprint)


@together("name", DESIGNS)
def test_right_reports_are_not_accused(name: str) -> None:
    design = DESIGNS[name]
    for n in (30, 2000):
        found = [estimate_by_moments(counts_of(design, design, n, seed), design) for seed in range(RUNS)]
        assert sum(map(accuses, found)) <= MOST, n


@together(("name", "maker", "n"), [
    ("k-ary 64", k_ary(64, 20), 20_000),
    ("k-ary 1024", k_ary(1024, 100), 50_000),
    ("oue 16", Unary.oue_from_gamma(20, Categories.numbered(16)), 5_000),
    ("subset 16", Subset.from_gamma(30, Categories.numbered(16), size=1), 5_000),
    ("deck", Dense.of([["0.95", "0.02", "0.02"], ["0.03", "0.9", "0.02"], ["0.02", "0.08", "0.96"]]), 2_000),
])  # fmt: skip
def test_a_wrong_design_is_still_accused(name: str, maker: Design, n: int) -> None:
    design = DESIGNS[name]
    assert all(accuses(estimate_by_moments(counts_of(maker, design, n, seed), design)) for seed in range(3))


def surveyed(maker: Design, design: Design, seed: int, domains: int) -> list[Estimate]:
    """Whole and domains of 20 clusters of 100 people with unequal weights; a cluster has one answer."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(20), 100)
    truth = (generator.random(20) < 0.2).astype(np.int64)[clusters]
    reports = maker.outputs.decode(maker.sample(truth, random=SeededRandom(seed)).data)
    plan = Sampling(weights=np.exp(generator.normal(0, 0.7, 2000)), clusters=clusters)
    found = estimate_survey(list(reports), design, plan, domains=generator.integers(0, domains, 2000))
    return [found, *found.domains.values()]


def test_likely_shares_domains_and_clusters_carry_the_same_test() -> None:
    design = k_ary(64)
    assert not accuses(estimate_by_likelihood(counts_of(design, design, 2000, 1), design))
    assert accuses(estimate_by_likelihood(counts_of(k_ary(64, 20), design, 20_000, 1), design))
    design = k_ary(16)
    right = [any(map(accuses, surveyed(design, design, seed, 40))) for seed in range(6)]
    assert sum(right) == 0 and accuses(surveyed(k_ary(16, 100), design, 1, 2)[0])


def test_groups_of_plain_counts_are_judged_together() -> None:
    """Fifty groups of a design whose tests of single groups at 5 % accused one or more in most results."""
    from maskwell import estimate

    design = make_design("warner", p="0.7")
    for seed in range(3):
        truth = np.ones(5000, dtype=np.int64)
        reports = [design.outputs.labels[code] for code in design.sample(truth, random=SeededRandom(seed)).data]
        found = estimate({"y": reports, "g": (np.arange(5000) % 50).tolist()}, {"y": design}, by="g")
        assert not any(map(accuses, found.estimate.domains.values()))


@cache
def bits(items: int, keep: float) -> Kronecker:
    other = round(1 - keep, 4)
    return Kronecker.of([Dense.of([[keep, other], [other, keep]], Categories.of(["yes", "no"]))] * items)


def flags(items: int, keep: float, share: float, n: int, generator: np.random.Generator, wrong: float = 0) -> list[str]:
    """Of the estimate from n people who have each item with a chance ``share``; some answer the wrong way round."""
    truth = generator.random((n, items)) >= share
    follows = generator.random((n, items)) < keep - wrong
    codes = np.where(follows, truth, ~truth) @ (1 << np.arange(items)[::-1])
    design = bits(items, keep)
    sample = Sample.of(np.bincount(codes, minlength=design.m), design)
    found = estimate_by_moments(sample.counts, design).flags
    return [flag for flag in found if "do not fit the design" in flag or "not followed" in flag]


@pytest.mark.parametrize("n", [40, 400, 4000])
@pytest.mark.parametrize(("keep", "share"), [(0.6, 0.3), (0.8, 0.05), (0.8, 0.5), (0.95, 0.2)])
def test_sixteen_items(n: int, keep: float, share: float) -> None:
    generator = np.random.default_rng([16, n, int(100 * keep), int(100 * share)])
    assert not any(flags(16, keep, share, n, generator) for _ in range(5))


@pytest.mark.parametrize(("n", "keep"), [(100, 0.8), (1000, 0.8), (1000, 0.6), (5000, 0.9)])
def test_twenty_items(n: int, keep: float) -> None:
    assert not flags(20, keep, 0.3, n, np.random.default_rng([20, n]))


@pytest.mark.parametrize(("items", "keep", "n"), [(1, 0.95, 30), (8, 0.8, 5000), (9, 0.8, 2000)])
def test_answers_that_nobody_has_are_evidence_no_more_often_than_stated(items: int, keep: float, n: int) -> None:
    """Nobody has any item: half of the estimates lie below zero. Evidence is p below 0.05; 40 tables, seed fixed.

    More than 8 of 40 have a chance below one in a thousand at a rate of 0.05.
    """
    generator = np.random.default_rng([items, n])
    assert sum(bool(flags(items, keep, 0.0, n, generator)) for _ in range(40)) <= 8


@pytest.mark.parametrize(("items", "n"), [(1, 400), (2, 800), (4, 6000)])
def test_people_who_answer_against_the_instructions_are_noticed(items: int, n: int) -> None:
    """The negative control: fewer reports of an answer that nobody has than the design makes by itself."""
    generator = np.random.default_rng([7, items])
    assert any("do not fit" in flag for flag in flags(items, 0.7, 0.0, n, generator, wrong=-0.25))
