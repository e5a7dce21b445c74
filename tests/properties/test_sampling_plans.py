"""What holds for survey estimates whatever the rows: merging, scaling, order, codes."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwell import Categories, Sampling
from maskwell.core.row_sums import Cells
from maskwell.designs import Dense
from maskwell.estimation import estimate_survey
from maskwell.estimation.sampling.sample_stages import Scheme
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.sampling.weighted_survey import estimate_cells

DESIGN = Dense.of([[0.7, 0.1, 0.15], [0.2, 0.8, 0.15], [0.1, 0.1, 0.7]], Categories.of(["a", "b", "c"]))


@st.composite
def surveys(draw: st.DrawFn) -> dict[str, Any]:
    """Rows in at least two clusters of each stratum, with weights that floats add up exactly."""
    n = draw(st.integers(8, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return {
        "report": rng.integers(0, 3, n),
        "weight": rng.integers(1, 64, n) / 8,
        "stratum": np.arange(n) % 2,
        "clusters": [np.where(np.arange(n) < 4, np.arange(n) // 2, rng.integers(0, 4, n))],
        "domain": rng.integers(0, 3, n),
    }


def part(rows: dict[str, Any], chosen: Any) -> Cells:
    return Cells.of(**{name: [c[chosen] for c in v] if name == "clusters" else v[chosen] for name, v in rows.items()})


def same(a: SurveyEstimate, b: SurveyEstimate) -> bool:
    equal = (a.pi_hat == b.pi_hat).all() and (a.total_variance == b.total_variance).all()
    return bool(equal and np.array_equal(a.covariance, b.covariance) and a.n == b.n)


@settings(max_examples=30)
@given(surveys(), st.floats(1e-3, 1e3))
def test_scaled_weights_leave_shares_alone(rows: dict[str, Any], factor: float) -> None:
    one = estimate_cells(Cells.of(**rows), DESIGN)
    other = estimate_cells(Cells.of(**{**rows, "weight": rows["weight"] * factor}), DESIGN)
    assert np.allclose(one.pi_hat, other.pi_hat, rtol=1e-12)
    assert np.allclose(one.covariance, other.covariance, rtol=1e-9, atol=1e-15)  # type: ignore[arg-type]
    assert np.allclose(one.total * factor, other.total, rtol=1e-12)


@settings(max_examples=30)
@given(surveys())
def test_covariances_sum_to_zero_and_domains_may_bear_any_labels(rows: dict[str, Any]) -> None:
    found = estimate_cells(Cells.of(**rows), DESIGN)
    assert found.covariance is not None
    assert np.allclose(found.covariance, found.covariance.T, rtol=1e-12, atol=1e-18)
    assert np.abs(found.covariance.sum(axis=0)).max() < 1e-12  # the shares sum to one
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12
    labels = {"domain": np.array(["x", "y", "z"])[rows["domain"]], "stratum": np.array(["n", "s"])[rows["stratum"]]}
    texts = {**rows, **labels}
    one, other = (estimate_cells(Cells.of(**r), DESIGN) for r in (rows, texts))
    assert same(one, other)
    assert list(other.domains) == [("x", "y", "z")[d] for d in one.domains]


@settings(max_examples=20)
@given(surveys())
def test_a_huge_population_is_none_and_open_answers_have_no_randomization(rows: dict[str, Any]) -> None:
    labels = np.array(DESIGN.outputs.labels)[rows["report"]]
    finite = estimate_survey(labels, DESIGN, Sampling(population=1e12))
    plain = estimate_survey(labels, DESIGN, Sampling())
    assert np.allclose(finite.covariance, plain.covariance, rtol=1e-8, atol=1e-12)  # type: ignore[arg-type]
    asked = Dense.of(np.eye(3).tolist())
    for scheme in (Scheme(), Scheme("with-replacement")):
        found = estimate_cells(Cells.of(**rows), asked, scheme)
        assert (found.randomization_variance == 0).all()
        assert (found.sampling_variance == found.variance).all()
