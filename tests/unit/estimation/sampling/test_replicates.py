"""Replicate weights: the methods agree where theory says so, and say what they need."""

from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array, Real

from maskwell import Sampling
from maskwell.designs import Dense
from maskwell.estimation import ReplicateRule, estimate_survey

P = [[0.7, 0.1, 0.15], [0.2, 0.8, 0.15], [0.1, 0.1, 0.7]]
DESIGN = Dense.of(P)
STRATA = np.repeat([0, 1], 6)
CLUSTERS = np.repeat([0, 1, 2, 3], 3)
WEIGHTS = np.array([4, 4, 4, 3, 3, 3, 5, 5, 2, 2, 2, 6.0])
REPORTS = [0, 1, 1, 2, 0, 1, 2, 2, 1, 0, 0, 1]


def jackknife() -> tuple[Real, list[int]]:
    """Leave out one cluster; the others of its stratum stand in for it."""
    columns, strata = [], []
    for c in range(4):
        h = c // 2
        factor = np.where(h == STRATA, np.where(c == CLUSTERS, 0.0, 2.0), 1.0)
        columns.append(WEIGHTS * factor)
        strata.append(h)
    return np.stack(columns, axis=1), strata


def half_samples(rho: float = 0.0) -> Real:
    """Both ways to choose one of two clusters in each of two strata, balanced."""
    columns = []
    for chosen in ((0, 2), (0, 3), (1, 2), (1, 3)):
        kept = np.isin(CLUSTERS, chosen)
        columns.append(WEIGHTS * np.where(kept, 2 - rho, rho))
    return np.stack(columns, axis=1)


def estimated(replicates: Array | None, rule: Any = None, **more: Any) -> Any:
    plan = Sampling(weights=WEIGHTS, strata=STRATA, clusters=CLUSTERS, replicates=replicates, replicate_method=rule)
    return estimate_survey(REPORTS, DESIGN, plan, **more)


def test_methods_coincide_and_shares_are_ratios_in_every_replicate() -> None:
    clusters = estimated(None).total_covariance
    columns, strata = jackknife()
    assert estimated(columns, ReplicateRule("jkn", strata=tuple(strata))).total_covariance == pytest.approx(clusters)
    assert estimated(half_samples(), "brr").total_covariance == pytest.approx(clusters)
    assert estimated(half_samples(0.3), ReplicateRule("fay", rho=0.3)).total_covariance == pytest.approx(clusters)
    columns, strata = jackknife()
    named = estimated(columns, ReplicateRule("jkn", strata=tuple(strata))).covariance
    for rule in (ReplicateRule("jkn", scale=1.0, rscales=(0.5,) * 4), ReplicateRule("other", scale=0.5)):
        assert estimated(columns, rule).covariance == pytest.approx(named)
    columns = half_samples()
    L = np.linalg.inv(P)
    shares = np.stack([L @ np.bincount(REPORTS, weights=c) / c.sum() for c in columns.T])
    whole = L @ np.bincount(REPORTS, weights=WEIGHTS) / WEIGHTS.sum()
    found = estimated(columns, "brr")
    assert found.covariance == pytest.approx((shares - whole).T @ (shares - whole) / 4)
    U = L.T[REPORTS]
    part = (WEIGHTS**2) @ (U**2 - U) / WEIGHTS.sum() ** 2
    assert found.randomization_variance == pytest.approx(part)
    assert found.sampling_variance == pytest.approx(found.variance - part)


def test_degrees_of_freedom_follow_the_strata() -> None:
    """Two strata of two clusters: two degrees for any replicates, from the weights or from what is said of them."""
    columns, strata = jackknife()
    for replicates, rule in (
        (columns, ReplicateRule("jkn", strata=tuple(strata))),
        (columns, ReplicateRule("jkn", rscales=(0.5,) * 4)),
        (half_samples(), ReplicateRule("brr")),
        (half_samples(0.3), ReplicateRule("fay", rho=0.3)),
    ):
        assert estimated(replicates, rule).degrees_of_freedom == 2
        assert rule.degrees_of_freedom(4, strata=2) == 2
    rounded = np.round(half_samples() * 1.2345, 3) / 1.2345
    assert estimated(rounded, "brr").degrees_of_freedom == 2
    assert ReplicateRule("jk1").degrees_of_freedom(12) == 11
    assert ReplicateRule("brr").degrees_of_freedom(12) == 12  # nothing says how many strata there were


def test_a_finite_population_and_a_domain_without_weight_in_some_replicate() -> None:
    columns = half_samples()
    plain, finite = (estimated(columns, ReplicateRule("brr", finite=f)) for f in (False, True))
    U = np.linalg.inv(P).T[REPORTS]
    added = (U.T * WEIGHTS) @ U - np.diag(WEIGHTS @ U)
    assert finite.total_covariance - plain.total_covariance == pytest.approx(added)
    assert finite.covariance - plain.covariance == pytest.approx(added / WEIGHTS.sum() ** 2)
    found = estimated(half_samples(), "brr", domains=CLUSTERS).domains[0]
    assert np.isnan(found.variance).all() and any("weight 0" in flag for flag in found.flags)
    assert np.isfinite(found.total_variance).all()
