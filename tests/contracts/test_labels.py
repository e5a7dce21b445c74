"""Labels everywhere: a code never stands for a label in silence, and what is refused says what to type instead."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.surveys import estimate_with
from tests.support.together import together

import maskwell as mw
from maskwell import tabulate
from maskwell.core.phrases import as_typed
from maskwell.estimation.regression import (
    Anchor,
    RandomizedPredictor,
    estimate_with_anchor,
    fit_logistic,
    fit_predictor,
    fit_with_anchor,
)
from maskwell.planning import unit_variance
from maskwell.planning.sample_size import plan_sample
from maskwell.plots import plot_flows

YES_NO = mw.design("warner", p="0.8")
CODED = mw.design("warner", p="0.8", reports=[1, 0])
TEXTS = mw.design("warner", p="0.8", reports=["1", "0"])
POINTS = mw.design("warner", p="0.8", reports=[1.0, 0.0])
ONES = np.array([1] * 30 + [0] * 70)
"""Thirty of a hundred said yes, which was written down as 1."""

X = np.linspace(-1, 1, 100)[:, None]
SHUFFLED = np.random.default_rng(2).permutation(X)
PREDICTED = X[:, 0] + ONES

CODES_FOR_LABELS: dict[str, Callable[[Any], Any]] = {
    "fit_logistic": lambda ones: fit_logistic(X, ones, YES_NO),
    "fit_predictor": lambda ones: fit_predictor(PREDICTED, RandomizedPredictor(ones, YES_NO), family="linear"),
    "fit_with_anchor": lambda ones: fit_with_anchor(X, ones, YES_NO, Anchor(ones, YES_NO)),
    "estimate_with_anchor": lambda ones: estimate_with_anchor(ones, YES_NO, Anchor(ones, YES_NO)),
    "estimate": lambda ones: mw.estimate({"y": ones}, {"y": YES_NO}),
    "tally": lambda ones: mw.tally({"y": ones}, {"y": YES_NO}),
    "regress": lambda ones: mw.regress({"y": ones, "x": X[:, 0]}, "y ~ x", {"y": YES_NO}),
    "tabulate": lambda ones: tabulate({"y": ones, "z": ["a", "b"] * 50}, {"y": YES_NO, "z": None}),
    "randomize": lambda ones: mw.randomize({"y": ones}, {"y": YES_NO}),
    "design.randomize": lambda ones: YES_NO.randomize(ones, random=mw.SeededRandom(1)),
}


@together("name", CODES_FOR_LABELS)
@pytest.mark.parametrize("kind", ["int", "float", "bool", "str"])
def test_ones_and_zeros_are_never_taken_for_yes_and_no(name: str, kind: str) -> None:
    with pytest.raises(mw.MaskwellError):
        CODES_FOR_LABELS[name](ONES.astype(kind))


def test_labels_that_are_named_in_the_design_are_read_as_they_are() -> None:
    """Thirty of a hundred, p = 0.8: (0.3 - 0.2) / 0.6, whatever kind of number 1 and 0 are."""
    as_points = [f"{one:.1f}" for one in ONES]
    readable = [(CODED, ["int", "float", "bool", "str"]), (TEXTS, ["int", "float", "str"]), (POINTS, ["int", "float"])]
    for design, kinds in readable:
        for kind in kinds:
            found = mw.estimate({"y": ONES.astype(kind)}, {"y": design})
            assert found.pi_hat[0] == pytest.approx(1 / 6), (design.outputs, kind)
    assert mw.estimate({"y": as_points}, {"y": POINTS}).pi_hat[0] == pytest.approx(1 / 6)
    for design, kind in ((CODED, "int"), (CODED, "float"), (TEXTS, "int"), (TEXTS, "str"), (POINTS, "float")):
        fitted = fit_logistic(SHUFFLED, ONES.astype(kind), design)
        assert fitted.predict().mean() == pytest.approx(1 / 6, abs=0.01), (design.outputs, kind)
    yes = np.where(ONES == 1, "yes", "no")
    by_labels, by_numbers = fit_logistic(SHUFFLED, yes, YES_NO), fit_logistic(SHUFFLED, ONES, CODED)
    np.testing.assert_allclose(by_labels.estimates, by_numbers.estimates)


CATEGORIES: dict[str, Callable[[Any], Any]] = {
    "audit": lambda one: mw.audit(YES_NO, sensitive=[one]).sensitive,
    "improve": lambda one: mw.improve(YES_NO, sensitive=one).sensitive,
    "plan_sample": lambda one: plan_sample(YES_NO, n=100, category=one).category,
    "unit_variance": lambda one: unit_variance(YES_NO, np.array([0.2, 0.8]), category=one),
    "choose": lambda one: mw.choose(categories=["yes", "no"], epsilon=1, n=9, pi=[0.2, 0.8], category=one).category,
    "plot_flows": lambda one: plot_flows(YES_NO, truth=one),
}


@together("name", CATEGORIES)
def test_a_category_is_named_by_its_label(name: str) -> None:
    CATEGORIES[name]("no")
    with pytest.raises(mw.MaskwellError, match="1") as refused:
        CATEGORIES[name](1)
    assert "yes" in refused.value.hint


@together("labels", [["a", "b"], ("a", "b"), np.array(["a", "b"]), iter(["a", "b"])])
def test_categories_are_any_list(labels: Any) -> None:
    assert mw.design("warner", p="0.8", categories=labels).inputs.labels == ("a", "b")
    for one_text in ("a,b", "ab"):
        with pytest.raises(mw.MaskwellError, match="must be a list") as refused:
            mw.design("warner", p="0.8", categories=one_text)
        assert '["yes", "no"]' in refused.value.hint


def hints(values: list[Any], design: mw.Design = YES_NO, **options: Any) -> tuple[str, str]:
    """What Python and the command are told."""
    with pytest.raises(mw.MaskwellError) as refused:
        estimate_with({"y": values}, {"y": design}, **options)
    with as_typed(), pytest.raises(mw.MaskwellError) as typed:
        estimate_with({"y": values}, {"y": design}, **options)
    return refused.value.hint, typed.value.hint


def test_hints_speak_the_language_of_their_reader() -> None:
    assert [hint.partition("; ")[2] for hint in hints([1, 0])] == [
        "if 1 is 'yes', make the design with reports=[1, 0]",
        "if 1 is 'yes', make the design with --reports 1,0",
    ]
    assert mw.estimate({"y": ["1.0", "0.0"]}, {"y": CODED}).n == 2
    python, command = hints(["yes", "NA"])
    assert "replace these by None" in python and 'write.csv(d, f, na = "")' in command
    python, command = hints(["yes", None])
    assert 'missing="drop"' in python and "--missing drop" in command and "--" not in python
    with pytest.raises(mw.MaskwellError) as truths:
        mw.randomize({"y": [1, 0]}, {"y": YES_NO})
    assert "categories=[1, 0]" in truths.value.hint
    assert mw.estimate({"y": ["yes", "no", None]}, {"y": YES_NO}, missing="drop").n == 2
