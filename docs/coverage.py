"""The page docs/theory/coverage.md, how often intervals cover. Write it: python -m docs.coverage.

Of plain counts nothing is simulated. Where one count gives a share, its binomial chances are summed; elsewhere those of
all counts that n respondents can give. Surveys with clusters and weights are simulated, with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom

import maskwell as mw
from maskwell import Categories, Design
from maskwell.core.row_sums import Cells
from maskwell.designs import Dense, Kronecker, Subset, Unary, Uniform
from maskwell.estimation.sampling.weighted_survey import estimate_cells

Real = np.ndarray[Any, np.dtype[np.float64]]
PATH = Path(__file__).parent / "theory/coverage.md"
LEVEL = 0.95
RUNS = 2000
EXPECTED = (0, 0.01, 0.03, 0.05, 0.1, 0.17, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7, 10)
"""Expected numbers n π of people in the category, over which the least coverage is taken."""


def _warner(p: str) -> Design:
    return mw.design("warner", p=p)


def _kuk(theta1: str, theta2: str, draws: int) -> Design:
    return mw.design("kuk", theta1=theta1, theta2=theta2, draws=draws)


DIRECT = Dense.of([[1, 0], [0, 1]])
JAR = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])


@dataclass(frozen=True)
class OneCount:
    """A design where one count determines each share; ``share`` is the true one at which coverage is shown."""

    name: str
    design: Design
    n: int
    share: float

    @property
    def most(self) -> int:
        """No more reports than this count, but for a chance below rounding, at the shares of this page."""
        return min(self.n, int(binom.isf(1e-15, self.n, self.chance(max(self.share, min(1, EXPECTED[-1] / self.n))))))

    def chance(self, share: float) -> float:
        """That a report counts."""
        chances = self.design.count_chances()
        assert chances is not None
        return float(chances[1][0] + (chances[0][0] - chances[1][0]) * share)

    def chances(self, share: float) -> Real:
        """Of each number of reports that count."""
        return np.asarray(binom.pmf(np.arange(self.most + 1), self.n, self.chance(share)))

    @cache  # noqa: B019
    def ends(self, method: str) -> Real:
        """Intervals of the first share for each of these numbers, two ends each."""
        return np.array([self._estimate(x).confidence_interval(LEVEL, method)[0] for x in range(self.most + 1)])

    def _estimate(self, x: int) -> mw.estimation.Estimate:
        design = self.design
        rest = [x, self.n - x, *([0] * (design.k - 2))]  # other counts do not matter to the first share
        if design.reports_are_sets:
            return mw.estimation.estimate_by_moments(mw.Counts(np.array(rest), self.n, design.fingerprint), design)
        return mw.estimation.estimate_by_moments(mw.estimation.Sample.of(rest, design).counts, design)

    def coverage(self, method: str, share: float) -> float:
        """The chance that the interval holds the share; one that is not there does not."""
        low, high = self.ends(method).T
        return float(self.chances(share) @ ((low <= share + 1e-12) & (share - 1e-12 <= high)))

    def least(self, method: str) -> float:
        """Over small shares."""
        return min(self.coverage(method, share) for share in (self.share, *small_shares(self.n)))


@dataclass(frozen=True)
class AllCounts:
    """Any design; ``shares`` are the true ones, the first of which is meant."""

    name: str
    design: Design
    n: int
    shares: tuple[float, ...]

    @cache  # noqa: B019
    def counts(self) -> Real:
        """All counts that n respondents can give, one to a line."""
        return np.array(list(_compositions(self.n, self.design.m)), dtype=np.int64)

    @cache  # noqa: B019
    def ends(self, method: str | None) -> Real:
        """Intervals of the first share for each of them, shape (lines, 2)."""
        design = self.design
        samples = (mw.estimation.Sample.of(line, design) for line in self.counts())
        estimates = (mw.estimation.estimate_by_moments(sample.counts, design) for sample in samples)
        return np.array([one.confidence_interval(LEVEL, method)[0] for one in estimates])

    def coverage(self, method: str | None, share: float) -> float:
        """The chance that the interval holds the first share, when the others keep their ratios."""
        x, others = self.counts(), np.array(self.shares[1:])
        lam = self.design.apply(np.array([share, *((1 - share) * others / others.sum())]))
        logs = gammaln(self.n + 1) - gammaln(x + 1).sum(axis=1) + xlogy(x, lam).sum(axis=1)
        low, high = self.ends(method).T
        return float(np.exp(logs) @ ((low <= share + 1e-12) & (share - 1e-12 <= high)))

    def least(self, method: str | None) -> float:
        """Over small shares."""
        return min(self.coverage(method, share) for share in (self.shares[0], *small_shares(self.n)))


def small_shares(n: int) -> list[float]:
    """At which few of n people are expected to belong to the category."""
    return [expected / n for expected in EXPECTED if expected <= n]


def _compositions(n: int, m: int) -> Iterator[tuple[int, ...]]:
    if m == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _compositions(n - first, m - 1):
            yield (first, *rest)


ONE_COUNT = (
    OneCount("k-ary, γ = 9, k = 3", Uniform.from_gamma(9, Categories.numbered(3)), 30, 0.02),
    OneCount("k-ary, γ = 20, k = 10", Uniform.from_gamma(20, Categories.numbered(10)), 30, 0.005),
    OneCount("k-ary, ε = 4, k = 1,000", Uniform.from_epsilon(4, Categories.numbered(1000)), 1000, 0.001),
    OneCount("k-ary, ε = 2, k = 20", Uniform.from_epsilon(2, Categories.numbered(20)), 200, 0.01),
    OneCount("sets of 2 of 8, ε = 3", Subset.from_epsilon(3, Categories.numbered(8), size=2), 60, 0.02),
    OneCount("bits (OUE), ε = 4, k = 50", Unary.oue_from_epsilon(4, Categories.numbered(50)), 100, 0.01),
    OneCount("asked directly", DIRECT, 30, 0.02),
    OneCount("asked directly", DIRECT, 1000, 0.0015),
)
ALL_COUNTS = (
    AllCounts("Kuk 0.7, 0.2, 3 draws", _kuk("0.7", "0.2", 3), 30, (0.02, 0.98)),
    AllCounts("Kuk 0.9, 0.05, 2 draws", _kuk("0.9", "0.05", 2), 30, (0.02, 0.98)),
    AllCounts("Kuk 0.8, 0.02, 2 draws", _kuk("0.8", "0.02", 2), 30, (0.02, 0.98)),
    AllCounts("three statements, Liu and Chow's jar", JAR, 30, (0.02, 0.3, 0.68)),
    AllCounts(
        "two Warner questions, p = 0.95", Kronecker.of([_warner("0.95"), _warner("0.95")]), 20, (0.02, 0.2, 0.2, 0.58)
    ),
    AllCounts("sex and Warner, p = 0.8", Kronecker.of([DIRECT, _warner("0.8")]), 20, (0.02, 0.18, 0.3, 0.5)),
    AllCounts("sex and Warner, p = 0.95", Kronecker.of([DIRECT, _warner("0.95")]), 20, (0.02, 0.18, 0.3, 0.5)),
)


@dataclass(frozen=True)
class Simulated:
    """Surveys of 4 strata with 4 clusters of 10 people each, who have weights.

    Shares differ between clusters by a beta distribution with the intraclass correlation ``alike``; weights are
    lognormal, with the standard deviation ``spread`` of their logarithm.
    """

    name: str
    design: Design
    share: float
    alike: float = 0.02
    spread: float = 0.7

    def coverage(self, methods: Sequence[str | None], runs: int = RUNS) -> list[float]:
        """How often intervals of the first share hold it."""
        random = np.random.default_rng(28)
        hits = np.zeros(len(methods))
        for _ in range(runs):
            estimate = self._estimate(random)
            ends = [estimate.confidence_interval(LEVEL, method)[0] for method in methods]
            hits += [low <= self.share <= high for low, high in ends]
        return (hits / runs).tolist()

    def _estimate(self, random: np.random.Generator) -> mw.estimation.Estimate:
        stratum, cluster = np.repeat(np.arange(4), 40), np.tile(np.repeat(np.arange(4), 10), 4)
        size = 1 / self.alike - 1
        shares = np.repeat(random.beta(self.share * size, (1 - self.share) * size, 16), 10)
        others = random.integers(1, self.design.k, 160)
        truth = np.where(random.random(160) < shares, 0, others)
        below = np.cumsum(self.design.matrix(), axis=0).T[truth]
        reports = (random.random(160)[:, None] > below).sum(axis=1)
        weight = np.exp(self.spread * random.standard_normal(160))
        cells = Cells.of(reports, stratum=stratum, clusters=[cluster], weight=weight)
        return estimate_cells(cells, self.design)


THREE = Uniform.from_gamma(9, Categories.numbered(3))
SIMULATED = (
    Simulated("k-ary, γ = 9, k = 3", THREE, 0.005),
    Simulated("k-ary, γ = 9, k = 3", THREE, 0.05),
    Simulated("k-ary, γ = 9, k = 3", THREE, 0.1, alike=0.2),
    Simulated("k-ary, γ = 9, k = 3", THREE, 0.3),
    Simulated("k-ary, γ = 20, k = 5", Uniform.from_gamma(20, Categories.numbered(5)), 0.02),
    Simulated("Warner, p = 0.8", _warner("0.8"), 0.02),
    Simulated("Kuk 0.7, 0.2, 3 draws", _kuk("0.7", "0.2", 3), 0.1),
)


@dataclass(frozen=True)
class Intercept:
    """The intercept of a logistic regression without predictors, a log odds; ``eta`` is the true one."""

    name: str
    design: Design
    n: int
    eta: float

    def chances(self, eta: float) -> Real:
        """Of each number of first reports."""
        a, b = self.design.matrix()[0]
        return np.asarray(binom.pmf(np.arange(self.n + 1), self.n, b + (a - b) / (1 + np.exp(-eta))))

    @cache  # noqa: B019
    def ends(self, method: str | None) -> Real:
        """Intervals for each number of first reports that is neither none nor all, shape (n - 1, 2)."""
        reports = (np.repeat([0, 1], [x, self.n - x]) for x in range(1, self.n))
        nothing = np.empty((self.n, 0))
        fits = (mw.estimation.regression.fit_logistic(nothing, z, self.design, codes=True) for z in reports)
        return np.array([replace(fit, asked=method).confidence_interval(LEVEL)[0] for fit in fits])

    def coverage(self, method: str | None, eta: float) -> float:
        """The chance that the interval holds the log odds; one that is not there does not."""
        low, high = self.ends(method).T
        return float(self.chances(eta)[1:-1] @ ((low <= eta) & (eta <= high)))

    def least(self, method: str | None) -> float:
        """Over log odds from -5 to 0."""
        return min(self.coverage(method, eta) for eta in (self.eta, *np.linspace(-5, 0, 41)))


INTERCEPTS = (
    Intercept("crosswise, q = 0.15", mw.design("crosswise", q="0.15"), 200, -3.5),
    Intercept("Warner, p = 0.8", _warner("0.8"), 100, -2.0),
    Intercept("forced answers, 3/4, 1/6, 1/12", mw.design("forced", truth="3/4", yes="1/6", no="1/12"), 150, -3.0),
)
LOGIT_METHODS = ("wald", "profile", None)


def intercept_line(row: Intercept) -> str:
    """A line of the table of log odds."""
    cells = [f"{row.coverage(m, row.eta):.3f} ({row.least(m):.3f})" for m in LOGIT_METHODS]
    return f"| {row.name} | {row.n} | {row.eta:g} | {' | '.join(cells)} |"


ONE_METHODS, ALL_METHODS = ("wald", "score", "exact"), ("wald", "score", None)


def one_line(row: OneCount) -> str:
    """A line of the first table: for each method the coverage at the share, and the least."""
    cells = [f"{row.coverage(m, row.share):.3f} ({row.least(m):.3f})" for m in ONE_METHODS]
    return f"| {row.name} | {row.n:,} | {row.n * row.chance(0):.1f} | {row.share:g} | {' | '.join(cells)} |"


def all_line(row: AllCounts) -> str:
    """A line of the second table."""
    cells = [f"{row.coverage(m, row.shares[0]):.3f} ({row.least(m):.3f})" for m in ALL_METHODS]
    return f"| {row.name} | {row.n} | {row.shares[0]:g} | {' | '.join(cells)} |"


def simulated_line(row: Simulated) -> str:
    """A line of the third table."""
    cells = " | ".join(f"{x:.3f}" for x in row.coverage(("wald", None)))
    return f"| {row.name} | {row.share:g} | {row.alike:g} | {cells} |"


TEXT = """\
# Coverage of the intervals

This page shows the coverage of maskwell's confidence intervals when n is small or the category is rare. An interval of
level 0.95 should contain the true share in 95 of 100 surveys. The first two tables are not simulated: they sum the
probabilities of all counts that n respondents can give. `python -m docs.coverage` writes the page, and the tests
recompute some of its cells.

Each cell shows the coverage at the true share of its line and, in brackets, the smallest coverage over all shares at
which 0 to 10 people in the sample are expected to belong to the category.

## Designs in which one count determines each share

A k-ary design reports category j with probability b + (a − b)π_j. Sets and bits contain it with such a probability,
too, and so do two reports for two truths. Each estimate is a linear function of one binomial count, so any interval
for that count applies. Wald intervals fail: if nobody happens to report a rare category, the estimated error is far
too small, or zero. Score intervals (Wilson's) are right on average, but too short if fewer than about three reports
are expected. The coverage of exact intervals (Clopper and Pearson's) is never below the level.

| design | n | by chance | true share | wald | score | exact |
|---|---|---|---|---|---|---|
{one}

The default is `score`. It is `exact` if fewer than ten reports name some category and the device alone produces fewer
than five of them. The column *by chance* shows the expected number of reports that name a category to which nobody
belongs.

## Other designs

With more reports than categories, as in Kuk's device, and for several questions together, no single binomial count
determines a share. But some binomial count always has the same variance at every true share. maskwell uses the `score`
interval of this count and, if it is small, the `matched` interval, which is the exact interval of this count
([definition](intervals.md#definitions-of-the-intervals)). No theorem guarantees the level of a matched interval. In
every design that we enumerated, its coverage is at least the level.

| design | n | true share | wald | score | default |
|---|---|---|---|---|---|
{all}

## The intercept of a logistic regression

The [intervals of coefficients](regression.md#intervals) are for log odds. For shares near zero, many samples have no
finite estimate of the log odds. Wald then has no interval, which counts as a miss. The profile of the likelihood gives
an interval in every sample, unbounded on one side if the estimate is infinite. By default it is used if the
log-likelihood is not close to a parabola. The brackets show the smallest coverage over log odds from −5 to 0.

| design | n | true log odds | wald | profile | default |
|---|---|---|---|---|---|
{logit}

## Checking a cell

```pycon
>>> from docs.coverage import ONE_COUNT
>>> row = ONE_COUNT[0]
>>> row.name, row.n, row.share
('k-ary, γ = 9, k = 3', 30, 0.02)
>>> round(row.coverage("wald", 0.02), 3), round(row.coverage("exact", 0.02), 3)
{check}

```

## Surveys with clusters and weights

Under a sampling plan, the intervals use estimated variances and quantiles of t, so no exact figures are available.
Here are {runs:,} simulated surveys for each line: 4 strata with 4 clusters of 10 people, and lognormal weights whose
logarithms have a standard deviation of 0.7. The column *alike* shows the intraclass correlation within clusters. The
standard error of a coverage of .95 is .005.

| design | true share | alike | wald | default |
|---|---|---|---|---|
{simulated}

If the category is rare, the variance estimated from 16 clusters is often far too small, so the coverage of Wald
intervals is too low. The default is `wald`, as in other survey software, only if at least 30 people are estimated to
be in every category and as many outside it. With fewer, it is `score` with an effective number of reports, which never
exceeds the number that the weights allow. It is `matched` if counts are very small or a standard error is zero.
"""


def page() -> str:
    """The whole page."""
    one, every = "\n".join(map(one_line, ONE_COUNT)), "\n".join(map(all_line, ALL_COUNTS))
    simulated = "\n".join(map(simulated_line, SIMULATED))
    row = ONE_COUNT[0]
    check = str((round(row.coverage("wald", 0.02), 3), round(row.coverage("exact", 0.02), 3)))
    logit = "\n".join(map(intercept_line, INTERCEPTS))
    return TEXT.format(one=one, all=every, logit=logit, check=check, simulated=simulated, runs=RUNS)


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
