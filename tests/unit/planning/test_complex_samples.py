"""A demand together with a complex sample: design effects from clusters, and the category that is meant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import maskwell as mw
from maskwell.errors import MaskwellError
from maskwell.planning import plan_sample
from maskwell.planning.respondent_variance import Sampling

LABELS, PI = ["never", "once", "often"], ["0.7", "0.2", "0.1"]


def test_the_design_effect_of_clusters_is_that_of_kish() -> None:
    found = Sampling.of(icc="0.05", cluster_size=21, cv_weights="0.5")
    assert found.deff == pytest.approx(1.25 * 2)
    assert found.to_dict() == {"deff": found.deff, "cv_weights": 0.5, "icc": 0.05, "cluster_size": 21.0}
    assert Sampling.of(icc=0, cluster_size=20).deff == 1
    assert Sampling.of(icc="0.3", cluster_size=1).deff == 1


@pytest.mark.parametrize("category", [*LABELS, None])
def test_a_choice_takes_the_sample_into_account(category: str | None) -> None:
    """By hand: deff on the sampling part, weights on the randomization part, of the category or of the hardest."""
    sample = {"icc": "0.04", "cluster_size": 26, "cv_weights": "0.3"}
    choice = mw.choose(categories=LABELS, epsilon=1, margin="0.04", pi=PI, category=category, sampling=sample)
    pi = np.array([0.7, 0.2, 0.1])
    added = np.diag(choice.design.covariance(pi)) - pi * (1 - pi)
    variance = 1.09 * 2 * pi * (1 - pi) + 1.09 * added
    code = int(variance.argmax()) if category is None else LABELS.index(category)
    assert choice.n == math.ceil(norm.ppf(0.975) ** 2 * variance[code] / 0.04**2)
    assert (choice.category, choice.hardest) == (LABELS[code], category is None)
    assert choice.to_dict()["category"] == LABELS[code]
    openly = (2.18 * pi * (1 - pi))[code if category else 0]
    assert choice.respondents is not None and choice.respondents.direct_n == math.ceil(
        norm.ppf(0.975) ** 2 * openly / 0.04**2
    )


def test_choice_and_plan_of_one_design_agree() -> None:
    sample: dict[str, Any] = {"deff": "1.8", "cv_weights": "0.4"}
    choice = mw.choose(categories=LABELS, epsilon=1, n=900, pi=PI, category="often", sampling=sample)
    plan = plan_sample(choice.design, pi=[0.7, 0.2, 0.1], n=900, category="often", sampling=Sampling.of(**sample))
    assert choice.respondents is not None
    for name in ("margin", "worst_margin", "direct_margin"):
        assert getattr(choice.respondents, name) == pytest.approx(getattr(plan, name))


def test_equal_shares_mean_every_category() -> None:
    choice = mw.choose(categories=LABELS, epsilon=1, n=900)
    assert choice.category is None
    assert choice.to_dict()["deff"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"icc": "0.05"}, "icc without cluster_size"),
        ({"cluster_size": 20}, "cluster_size without icc"),
        ({"icc": "0.05", "cluster_size": 20, "deff": 2}, "deff and icc are both given"),
        ({"icc": "1.5", "cluster_size": 20}, "icc = 1.5"),
        ({"icc": "0.1", "cluster_size": "0.5"}, "cluster_size = 0.5"),
        ({"deff": 0}, "deff = 0"),
        ({"category": "sometimes"}, "category"),
    ],
)
def test_refusals(options: dict[str, object], said: str) -> None:
    category = options.pop("category", None)
    with pytest.raises(MaskwellError, match=said) as raised:
        mw.choose(categories=LABELS, epsilon=1, n=900, category=category, sampling=options)  # type: ignore[arg-type]
    assert raised.value.hint
