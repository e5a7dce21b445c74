"""Plans that cannot be: each refused with one clear error before any work."""

from typing import Any

import numpy as np
import pytest

from maskwell import Categories, Sampling
from maskwell import design as make_design
from maskwell.errors import LabelError, MaskwellError, ParameterError
from maskwell.estimation import estimate_survey

WARNER = make_design("warner", p="7/10")
OTHER, NAMED = make_design("warner", p="8/10"), WARNER.with_labels(Categories.of(["a", "b"]), WARNER.outputs)
EMPTY = [[1, 0], [2, 0], [1, 0], [0, 0]]
YES, NO = WARNER.outputs.labels
REPORTS = [YES, NO, YES, NO]


AB, HALF = list("aabb"), [0.5] * 4
PLANS: dict[str, list[dict[str, Any]]] = {
    "rows": [{"weights": [1, 2, 3]}, {"population": [10] * 3}, {"strata": list("aab")}, {"clusters": [1, 2, 3]}],
    "above 0": [{"weights": [1, 2, 0, 1]}, {"joint_inclusion": np.eye(4) * 0.5}],
    "the value in row 3": [{"weights": [1, 2, -1, 1]}],
    "the value in row 2": [{name: [0.5, bad, 0.5, 0.5]} for name in ("weights", "inclusion") for bad in (np.nan, 0)],
    "value in row 2": [{"weights": [1, np.inf, 1, 1]}, {"inclusion": [0.5, 1.5, 0.5, 0.5]}],
    "must be numbers": [{"weights": ["a", "b", "c", "d"]}],
    "divide by 100": [{"inclusion": [50, 25, 100, 50]}],
    "draw probabilities": [{"draw_probabilities": [0.1, 0.2, 0.0, 0.1]}],
    "state the same thing": [{"weights": [1, 1, 1, 1], "inclusion": [1, 1, 1, 1]}],
    "more units were drawn than the population has, in": [{"population": 3}],
    "not a number of units": [{"population": 0.1}, {"population": np.nan}],
    "one population size .20. was given for 2 strata": [{"strata": AB, "population": 20}],
    "1 stratum have no population": [{"strata": AB, "population": {"a": 20}}],
    "in a stratum": [{"strata": AB, "population": {"a": 20, "b": 1}}],
    "population of stage 1: the number differs within one stratum": [{"strata": AB, "population": [20, 21, 5, 5]}],
    "stratum 'c' has a population, but no rows": [{"strata": AB, "population": {"a": 20, "b": 30, "c": 9}}],
    "population sizes by stratum need strata": [{"population": {"a": 20}}],
    "row 2": [{"strata": ["a", None, "b", "b"]}],
    "only 2 stages": [{"clusters": [1, 1, 2, 2], "population": (5, 9, 9)}],
    "only one cluster": [{"clusters": [1, 1, 1, 1]}],
    "replicates needs replicate_method": [{"replicates": [[1, 1]] * 4}],
    "replicate method must be one of": [{"replicates": [[1, 1]] * 4, "replicate_method": "bagging"}],
    "row 1, column 2": [{"replicates": [[1, -1]] * 4, "replicate_method": "brr"}],
    "1 replicate": [{"replicates": [[1]] * 4, "replicate_method": "brr"}],
    "replicate_method needs replicates": [{"replicate_method": "brr"}],
    "poisson needs inclusion or weights": [{"poisson": True}],
    "below 1": [{"poisson": True, "weights": weights} for weights in ([0.5, 1, 1, 1], [3, 3, 3, 0.5])],
    "clusters": [{"poisson": True, "inclusion": HALF, "clusters": [1, 1, 2, 2]}],
    "choose one of them": [{"poisson": True, "inclusion": HALF, "method": "hajek-deville"}],
    "inclusion": [{"method": "hajek-deville", "weights": [2] * 4}],
    "sampling method must be one of": [{"method": "guess"}],
    "pairwise": [{"method": "syg"}],
    "shape": [{"joint_inclusion": np.full((4, 3), 0.5)}],
    "above those of their units": [{"joint_inclusion": np.full((4, 4), 0.5) - 0.2 * np.eye(4)}],
    "lonely": [{"lonely": "ignore"}],
}


@pytest.mark.parametrize("words", PLANS)
def test_a_plan_that_cannot_be(words: str) -> None:
    for plan in PLANS[words]:
        with pytest.raises(MaskwellError, match=words.replace("(", r"\(")) as raised:
            estimate_survey(REPORTS, WARNER, Sampling(**plan))
        assert raised.value.hint


@pytest.mark.parametrize(
    ("design", "plan", "samples", "words"),
    [
        (WARNER, Sampling(weights=[1, 2, 3]), None, "the sampling plan has 3 rows for 4 reports"),
        (WARNER, Sampling(), [0, 0, 1, 1], "one design"),
        ({0: WARNER}, Sampling(), None, "designs need samples"),
        ({0: WARNER}, Sampling(), [0, 0, 1, 1], "1 of 2 samples have no design"),
        ({0: WARNER}, Sampling(), [0, 0], "for 4 reports"),
        ({"1": WARNER, "2": OTHER}, Sampling(), ["1"] * 4, "the samples '2' have a design, but no rows"),
        ({"1": WARNER, "2": NAMED}, Sampling(), list("1122"), "different categories"),
        (
            WARNER,
            Sampling(weights=[1.0] * 4, replicates=EMPTY, replicate_method="brr"),
            None,
            "replicate 2 has weight 0 in every row with a report",
        ),
    ],
)
def test_rows_samples_and_designs_go_together(design: Any, plan: Sampling, samples: Any, words: str) -> None:
    with pytest.raises(MaskwellError, match=words):
        estimate_survey(REPORTS, design, plan, samples=samples)


@pytest.mark.parametrize(
    ("x", "totals", "words"),
    [
        ([[1, 2]] * 4, [10, 20], "the auxiliary columns are linearly dependent"),
        ([[1, 0]] * 4, [10, 20], "column 2 is zero in every row"),
        ([[1], [1], [1], [1]], [10, 20], "totals"),
        ([[1], [np.nan], [1], [1]], [10], "finite"),
        ([[1], [1]], [10], "rows"),
    ],
)
def test_calibration_that_cannot_be(x: Any, totals: Any, words: str) -> None:
    with pytest.raises(MaskwellError, match=words):
        Sampling(weights=[1.0, 2, 3, 4]).calibrated(x, totals)


@pytest.mark.parametrize("distance", ["linear", "raking"])
def test_calibrated_weights_meet_their_totals(distance: str) -> None:
    x = np.array([[1, 0.5], [1, 1.5], [1, 2.5], [1, 0.1]])
    plan = Sampling(weights=[10, 12, 9, 11]).calibrated(x, [50, 60], distance=distance)
    assert plan.weights @ x == pytest.approx([50, 60])
    if distance == "raking":
        assert (plan.weights > 0).all()


def test_weights_follow_from_shares_populations_and_stages_and_may_be_negative() -> None:
    strata = ["a", "a", "b", "b"]
    plan = Sampling.from_shares(strata, {"a": 0.75, "b": 0.25, "c": 0})
    assert plan.weights.tolist() == [0.375, 0.375, 0.125, 0.125]
    assert Sampling(strata=strata, population={"a": 30, "b": 10}).base_weights(4).tolist() == [15, 15, 5, 5]
    two = Sampling(clusters=[1, 1, 2, 2], population=(6, [4, 4, 10, 10]))
    assert two.base_weights(4).tolist() == [6, 6, 15, 15]
    for shares in ({"a": 0.5, "b": 0.4}, {"a": 50, "b": 50}, {"a": 1.0, "b": 0.0}):
        with pytest.raises(ParameterError, match="the shares of the strata must sum to 1, not to"):
            Sampling.from_shares(strata, shares)
    with pytest.raises(LabelError, match="stratum 'c' has a share, but no rows") as caught:
        Sampling.from_shares(strata, {"a": 0.4, "b": 0.3, "c": 0.3})
    assert caught.value.objects["strata"] == ["c"]
    x = np.array([[1, 0.0], [1, 1.0], [1, 2.0], [1, 3.0]])
    plan = Sampling(weights=[10.0] * 4).calibrated(x, [40, 150])
    found = estimate_survey(REPORTS, WARNER, plan)
    assert (plan.weights < 0).any() and any("negative" in flag for flag in found.flags)


def test_calibrated_domains_keep_the_rows_outside() -> None:
    random = np.random.default_rng(1)
    reports = [YES if r < 0.4 else NO for r in random.random(40)]
    x, w, inside = np.column_stack([np.ones(40), random.random(40)]), random.uniform(5, 9, 40), np.arange(40) % 2
    plan = Sampling(weights=w).calibrated(x, [300, 160])
    found = estimate_survey(reports, WARNER, plan, domains=inside).domains[1]
    u = np.array([((z == YES) - 0.3) / 0.4 for z in reports])
    wg = plan.weights
    share = (wg * inside) @ u / (wg @ inside)
    e = inside * (u - share)
    slope = np.linalg.solve((x.T * w) @ x, x.T @ (w * e))
    y = wg * (e - x @ slope)
    assert found.pi_hat[0] == pytest.approx(share)
    assert found.variance[0] == pytest.approx(40 / 39 * ((y - y.mean()) ** 2).sum() / (wg @ inside) ** 2, rel=1e-10)
