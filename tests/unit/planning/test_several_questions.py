"""Several questions under one demand: parities multiply, sums over combinations, and which way is better."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import refused, run

from maskwell import Demand
from maskwell.errors import MaskwellError
from maskwell.planning import plan_questions

TWO = {"cheats": ["yes", "no"], "bribes": ["never", "once", "often"]}


@pytest.mark.parametrize("gamma", ["9", "7/2", "1.3"])
def test_the_parities_multiply_to_no_more_than_is_allowed(gamma: str) -> None:
    plan = plan_questions({**TWO, "evades": ["yes", "no"]}, gamma)
    total = Fraction(1)
    for one in plan.separate:
        total *= Fraction(one.parity_exact())
    assert 0 <= Fraction(gamma) - total <= Fraction(1, 10**8)
    assert plan.together is not None
    assert plan.together.parity_exact() <= Fraction(gamma)


def test_sums_of_combinations_and_respondents_with_margins_go_together() -> None:
    """The dense twin: C Cov C' of the joint design at equal shares."""
    plan = plan_questions(TWO, Demand.from_epsilon(2))
    assert plan.together is not None
    covariance = plan.together.covariance(plan.together.uniform_prior())
    for place, (labels, found) in enumerate(zip(TWO.values(), plan.together_variance, strict=True)):
        cells = [one[place] for one in product(*TWO.values())]
        variances = [c @ covariance @ c for c in (np.array([float(x == a) for x in cells]) for a in labels)]
        assert found == pytest.approx(max(variances))
    for one, found in zip(plan.separate, plan.separate_variance, strict=True):
        assert found == pytest.approx(np.diag(one.covariance(one.uniform_prior())).max())
    assert plan_questions(TWO, 9).better == "together"
    apart = plan_questions({f"q{i}": ["yes", "no"] for i in range(10)}, 9)
    assert (apart.better, len(apart.designs)) == ("separate", 10)
    large = plan_questions({f"q{i}": ["yes", "no"] for i in range(12)}, 9, n=1000)
    assert large.together is None
    assert "more than 2,000 combinations" in large.advice
    assert large.to_dict()["combinations"] is None
    plan = plan_questions(TWO, 9, margin="0.05")
    again = plan_questions(TWO, 9, n=plan.n)
    margins = again.margins()
    assert margins is not None
    assert max(margins[1]) == pytest.approx(again.margin)
    assert again.margin <= 0.05
    assert plan_questions(TWO, 9).margins() is None


@pytest.mark.parametrize(
    ("questions", "options", "said"),
    [
        ({"one": ["a", "b"]}, {}, "at least two questions must be named"),
        (TWO, {"n": 10, "margin": "0.1"}, "n cannot be combined with margin"),
        ({"a": ["x"], "b": ["y", "z"]}, {}, "two categories"),
    ],
)
def test_refusals(questions: dict[str, list[str]], options: dict[str, object], said: str) -> None:
    with pytest.raises(MaskwellError, match=said):
        plan_questions(questions, 9, **options)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ("choose", "--answers", "cheats=yes,no", "--answers", "bribes=never,once,often", "--epsilon", "1")
    found = run(*typed, "--margin", "0.05", "--json").json()
    assert (found["better"], found["combinations"], len(found["design"])) == ("together", 6, 1)
    assert found["n"] == plan_questions(TWO, Demand.from_epsilon(1), margin="0.05").n
    assert "combinations of" in run(*typed).out
    refused(*typed, "--categories", "a,b", saying="--answers cannot be combined with --categories")
    refused("choose", "--answers", "cheats", "--epsilon", "1", saying="--answers must be NAME=LABELS")
