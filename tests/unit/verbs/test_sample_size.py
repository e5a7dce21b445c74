"""One call says how many to ask with chosen designs; it asks the computation that fits what was given."""

import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell import sample_size
from maskwell.errors import ParameterError
from maskwell.planning import Stratum
from maskwell.planning.power import plan_test
from maskwell.planning.respondent_variance import Sampling
from maskwell.planning.sample_size import plan_sample
from maskwell.planning.stratum_allocation import allocate_strata
from maskwell.procedures.statement_cards import warner

CARD, PI = warner("0.7"), ["0.1", "0.9"]


def test_strata_divide_respondents_and_a_level_is_that_of_the_test_too() -> None:
    strata = [Stratum("north", "0.4", CARD, [0.1, 0.9]), Stratum("south", "0.6", CARD, [0.2, 0.8])]
    assert sample_size(strata, n=400).to_dict() == allocate_strata(strata, n=400).to_dict()
    refused(ParameterError, "pi is not available here", sample_size, strata, n=400, pi=PI)
    planned = plan_test(CARD, pi=[0.1, 0.9], against="0.15", power="0.8", alpha="0.1")
    assert sample_size(CARD, power="0.8", against="0.15", pi=PI, level="0.9").to_dict() == planned.to_dict()
    refused(ParameterError, "a design must be given", sample_size, [], n=100)


def test_what_is_known_of_the_sample() -> None:
    """The weights of a similar sample give Kish's design effect 1 + cv^2, here 1.36."""
    weights = [1, 1, 1, 4, 4, 4]
    by_weights = sample_size(CARD, mw.Sampling(weights=weights), n=500)
    known = plan_sample(CARD, n=500, sampling=Sampling.of(deff="1.36", cv_weights="0.6"))
    assert (by_weights.n, by_weights.margin) == (known.n, pytest.approx(known.margin, rel=1e-12))
    clustered = sample_size(CARD, {"icc": "0.05", "cluster_size": 21}, n=500)
    assert clustered.to_dict() == plan_sample(CARD, n=500, sampling=Sampling.of(icc="0.05", cluster_size=21)).to_dict()
    chosen = mw.choose(3, epsilon=1, n=500, sampling={"deff": 2})
    assert chosen.to_dict()["deff"] == 2


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"effect": 2}, "'effect' is not a setting of sampling"),
        (mw.Sampling(clusters=[1, 1, 2, 2]), "needs their intraclass correlation"),
        (mw.Sampling(weights="w"), "as an array"),
    ],
)
def test_samplings_that_say_too_little(sampling: mw.Sampling, message: str) -> None:
    refused(ParameterError, message, sample_size, CARD, sampling, n=100)


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({}, "sample size needs the size or the precision of the survey", "give n, margin, or power and against"),
        ({"power": "0.8", "against": "0.2"}, "a test needs the shares", "give them: pi=[0.1, 0.9], against=0.15"),
        ({"n": 100, "pi": ["0.1", "0.8"]}, "pi 0.1,0.8 sums to 0.9, not 1", "these shares must sum to 1"),
        ({"n": 100, "pi": ["0.1"]}, "pi has 1 share for 2 categories", "give one share for each category"),
    ],
)
def test_errors_speak_of_parameters(asked: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(ParameterError) as error:
        sample_size(CARD, **asked)  # type: ignore[arg-type]
    assert error.value.message.startswith(message) and error.value.hint.startswith(hint)
