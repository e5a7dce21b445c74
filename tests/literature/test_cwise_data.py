"""Crosswise answers with an anchor question: the figures of the R package cWise from its data.

In both files 1 means "both or neither", which is the first report of a crosswise design.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.arrays import Array, Real
from tests.support.columns import read_columns

import maskwell as mw


def codes(answers: Real) -> Array:
    return 1 - answers.astype(int)


@pytest.fixture(scope="module")
def shares(shared: Path) -> dict[str, Real]:
    return read_columns(shared / "data" / "cwise_cmdata.csv")


@pytest.mark.parametrize(
    ("weighted", "naive", "corrected", "attentive"), [(False, 0.1950, 0.1054, 0.7729), (True, 0.1921, 0.1097, None)]
)
def test_shares_corrected_for_inattention(
    shares: dict[str, Real], weighted: bool, naive: float, corrected: float, attentive: float | None
) -> None:
    design = mw.design("crosswise", q="0.15")
    weights = shares["weight"] if weighted else None
    found = mw.estimation.regression.estimate_with_anchor(
        codes(shares["Y"]),
        design,
        mw.estimation.regression.Anchor(codes(shares["A"]), design),
        codes=True,
        plan=mw.Sampling(weights=weights),
    )
    assert [round(x, 4) for x in (found.naive, found.corrected)] == [naive, corrected]
    assert attentive is None or round(found.attentive, 4) == attentive


# ---- regression


@pytest.fixture(scope="module")
def predicted(shared: Path) -> dict[str, Real]:
    return read_columns(shared / "data" / "cwise_cmdata2.csv")


def log_likelihood(theta: Real, data: dict[str, Real], p: float = 0.1, anchor_p: float = 0.15) -> float:
    """Of the trait (first three) and of attention (last three), written out."""
    X = np.column_stack([np.ones(len(data["Y"])), data["female"], data["age"]])
    trait, attentive = 1 / (1 + np.exp(-X @ theta[:3])), 1 / (1 + np.exp(-X @ theta[3:]))
    lam = attentive * ((2 * p - 1) * trait + 1 - p) + (1 - attentive) / 2
    anchor = attentive * (1 - anchor_p) + (1 - attentive) / 2
    chances = np.where(data["Y"] == 1, lam, 1 - lam) * np.where(data["A"] == 1, anchor, 1 - anchor)
    return float(np.log(chances).sum())


def test_regression_corrected_for_inattention(predicted: dict[str, Real]) -> None:
    """The published coefficients, 0.2816 and 0.0326, were read off before the search had reached the maximum.

    Standard errors agree in all digits. The likelihood with the published coefficients is lower, whatever the others,
    and its maximum, found here with another program too, has 0.2814 and 0.0327.
    """
    from scipy.optimize import minimize

    X = np.column_stack([predicted["female"], predicted["age"]])
    question, anchor = mw.design("crosswise", q="0.1"), mw.design("crosswise", q="0.15")
    found = mw.estimation.regression.fit_with_anchor(
        X,
        codes(predicted["Y"]),
        question,
        mw.estimation.regression.Anchor(codes(predicted["A"]), anchor),
        names=["female", "age"],
        codes=True,
    )
    errors = dict(zip(found.terms, found.standard_error, strict=True))
    assert [round(errors[term], 4) for term in ("female", "age")] == [0.1427, 0.0133]
    assert found.estimates[1:] == pytest.approx([0.2816, 0.0326], abs=3e-4)
    assert [round(x, 4) for x in found.estimates[1:]] == [0.2814, 0.0327]

    assert found.latent is not None
    maximum = np.concatenate([found.estimates, found.latent.estimates])
    assert log_likelihood(maximum, predicted) == pytest.approx(found.log_likelihood, abs=1e-8)
    free = minimize(lambda theta: -log_likelihood(theta, predicted), np.zeros(6), method="BFGS")
    assert found.estimates[1:] == pytest.approx(free.x[1:3], abs=1e-5)

    def with_published(rest: Real) -> float:
        return -log_likelihood(np.array([rest[0], 0.2816, 0.0326, *rest[1:]]), predicted)

    best = minimize(with_published, maximum[[0, 3, 4, 5]], method="BFGS")
    assert -best.fun < found.log_likelihood - 1e-6
