"""Mixing by cell size: worked-out matrices, and the records of a real file that it changes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskwell.microdata import ReleasePlan, assess_file
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.matrices.mixing import GRID, mixed_risk, mixing_matrix, mixing_rate


def test_worked_out_matrices(mixing_vectors: list[dict[str, Any]]) -> None:
    """Rates are rounded up to the grid, which changes an entry by no more than a step of it."""
    for case in mixing_vectors:
        counts, expected = np.array(case["input"]["counts"]), case["expected"]
        rates = mixing_rate(counts, Fraction(str(case["input"]["xi"])))
        assert rates.tolist() == pytest.approx(expected["rates"], abs=case["tol"]), case["id"]
        raised = np.minimum(rates * case["input"]["factor"], 1.0)
        made = mixing_matrix(counts, [Fraction(rate).limit_denominator(10**9) for rate in raised.tolist()]).matrix()
        assert np.abs(made - np.array(expected["P"])).max() <= 1.5 / GRID, case["id"]
        assert mixed_risk(counts, raised) >= expected["strict_risk"] - case["tol"], case["id"]


@pytest.mark.parametrize(("match", "changed"), [("0.5", 0.0028), ("0.4", 0.0053), ("0.2", 0.0122), ("0.1", 0.0264)])
def test_few_records_of_a_real_file_change(shared: Path, match: str, changed: float) -> None:
    """Four keys in 884 cells, within ten regions; no record keeps a chance above the bound, wherever one looks."""
    protect = {"variables": ["sex", "relate", "ethnic"], "within": ["region"], "method": "mixing"}
    keys = ["region", "sex", "relate", "ethnic"]
    drop = ["hhid", "clust", "weight", "income"]
    plan = ReleasePlan.of([protect], keys=keys, match=match, drop=drop)
    release = assess_file(str(shared / "data" / "simpop_ghana.csv"), plan)
    check_kept(release)
    assert release.risk is not None
    assert release.risk.after is not None
    assert len(release.risk.table) == 884
    assert release.risk.after.max_risk_any_release <= float(match) + 1e-9
    assert release.expected_change() == pytest.approx(changed, abs=2e-4)
