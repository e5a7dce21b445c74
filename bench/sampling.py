"""Weighted rows of a survey, against the plain sums that one would write in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Sampling
from maskwell import design as make_design
from maskwell.core.row_sums import Cells
from maskwell.estimation import estimate_survey
from maskwell.estimation.sampling.weighted_survey import estimate_cells

ROWS = 10**7
STRATA, CLUSTERS, REPORTS = 50, 2000, 2


def _plain(report: np.ndarray, weight: np.ndarray, group: np.ndarray, groups: int) -> Callable[[], object]:
    """Numbers of rows, weights and squared weights by group and report, from codes that are at hand."""

    def run() -> None:
        key = group * REPORTS + report
        for values in (None, weight, weight * weight):
            np.bincount(key, weights=values, minlength=groups * REPORTS)

    return run


def weighted_rows() -> Iterator[Line]:
    """Sums by stratum, and by stratum and cluster; then the estimate from them."""
    random = np.random.default_rng(1)
    report, weight = random.integers(0, REPORTS, ROWS).astype(np.uint8), random.uniform(1, 10, ROWS)
    cluster = random.integers(0, CLUSTERS, ROWS)
    stratum = cluster % STRATA
    seconds = best_seconds(
        {
            "plain strata": _plain(report, weight, stratum, STRATA),
            "strata": lambda: Cells.of(report, weight=weight, stratum=stratum),
            "plain clusters": _plain(report, weight, cluster, CLUSTERS),
            "clusters": lambda: Cells.of(report, weight=weight, stratum=stratum, clusters=[cluster]),
        },
        rounds=5,
    )
    for name in ("strata", "clusters"):
        speed = f"{ROWS / seconds[name] / 1e6:.0f} M rows/s"
        compared = f"{seconds[name] / seconds[f'plain {name}']:.1f} x the time of three np.bincount of known codes"
        yield Line(f"weighted tally of 10^7 rows by {name}", speed, compared, "")
    cells = Cells.of(report, weight=weight, stratum=stratum, clusters=[cluster])
    design = make_design("warner", p="7/10")
    estimating = best_seconds({"estimate": lambda: estimate_cells(cells, design)})["estimate"]
    compared = f"{seconds['clusters'] / estimating:.0f} times as fast as the tally before it"
    yield Line(f"estimate from the cells of {CLUSTERS:,} clusters", f"{1000 * estimating:.1f} ms", compared, "")


def pairwise() -> Line:
    """Sen-Yates-Grundy with all pairs of 4,000 rows."""
    n, design = 4000, make_design("warner", p="7/10")
    joint = np.full((n, n), n * (n - 1) / (10 * n * (10 * n - 1)))
    np.fill_diagonal(joint, 0.1)
    reports = np.array(design.outputs.labels)[np.random.default_rng(1).integers(0, 2, n)]
    plan, z = Sampling(joint_inclusion=joint), np.random.default_rng(2).normal(size=n)

    def plain() -> None:
        (np.square(z[:, None] - z) * (0.01 - joint) / joint).sum()

    seconds = best_seconds({"ours": lambda: estimate_survey(reports, design, plan), "plain": plain}, rounds=3)
    compared = f"{seconds['ours'] / seconds['plain']:.1f} x the time of one such sum in plain NumPy"
    return Line("variance from 16 million pairs of rows", f"{seconds['ours']:.2f} s", compared, "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield from weighted_rows()
    yield pairwise()
