"""Margins of estimates over tuples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import maskwell as mw
from maskwell.errors import LabelError
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.summed_shares import margin_of, wanted_margin

COIN, DIE = mw.design("warner", p="0.7"), mw.design("warner", p="0.8")
REPORTS = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
COUNTS = np.array([[30, 50], [70, 150]])


def counted(values: object, design: mw.Design) -> mw.estimation.Estimate:
    found = np.ravel(values)
    return mw.estimation.estimate_by_moments(mw.Counts(found, int(found.sum()), design.fingerprint), design)


@pytest.mark.parametrize(("place", "design"), [(0, COIN), (1, DIE)])
def test_the_margin_of_a_product_is_the_estimate_of_the_margin(place: int, design: mw.Design) -> None:
    joint = counted(COUNTS, mw.designs.Kronecker.of([COIN, DIE]))
    alone = counted(COUNTS.sum(axis=1 - place), design)
    found = margin_of(joint, place)
    assert found.categories == ("yes", "no")
    for name in ("pi_hat", "variance", "covariance", "sampling_variance", "randomization_variance"):
        assert getattr(found, name) == pytest.approx(getattr(alone, name), abs=1e-14), name


def test_the_wanted_answer_of_pairs_is_that_of_the_published_score() -> None:
    p1, p2 = 0.6, 0.7
    design = mw.design("simmons-twice", p1="0.6", p2="0.7")
    rng = np.random.default_rng(5)
    codes = rng.choice(4, size=200, p=[0.2, 0.1, 0.15, 0.55])
    first, second = (codes < 2).astype(float), (codes % 2 == 0).astype(float)
    score = ((1 - p2) * first - (1 - p1) * second) / (p1 - p2)
    told = wanted_margin(counted(np.bincount(codes, minlength=4), design), design)
    assert told is not None
    name, found = told
    assert name == "own answer"
    assert found.pi_hat[0] == pytest.approx(score.mean())
    assert found.standard_error[0] == pytest.approx(score.std(ddof=1) / np.sqrt(200))


def test_totals_and_domains_are_summed_too() -> None:
    design = mw.design("simmons-twice", p1="0.6", p2="0.7")
    codes = np.random.default_rng(5).choice(4, size=60)
    plan = mw.Sampling(weights=np.repeat([2.0, 3.0], 30))
    reports = [REPORTS[code] for code in codes]
    whole = mw.estimation.estimate_survey(reports, design, plan, domains=np.repeat(["a", "b"], 30))
    found = margin_of(whole, 0)
    assert isinstance(found, SurveyEstimate)
    assert found.total == pytest.approx([whole.total[:2].sum(), whole.total[2:].sum()])
    assert found.total_variance[0] == pytest.approx(whole.total_covariance[:2, :2].sum())  # type: ignore[index]
    assert found.domains["a"].pi_hat[0] == pytest.approx(whole.domains["a"].pi_hat[:2].sum())


def test_nothing_wanted_without_pairs() -> None:
    found = counted([30, 70], COIN)
    assert wanted_margin(found, COIN) is None
    with pytest.raises(LabelError, match="no tuples with a place 0"):
        margin_of(found, 0)


def test_the_wanted_answer_of_two_samples_is_one_of_the_margins() -> None:
    designs = {1: mw.design("simmons", p="3/4"), 2: mw.design("simmons", p="1/4")}
    samples = [mw.estimation.Sample.of(n, d) for n, d in zip(([200, 400], [140, 260]), designs.values(), strict=True)]
    plain = mw.estimation.estimate_samples(samples)
    told = wanted_margin(plain, designs[1])
    assert told is not None
    assert (told[0], tuple(told[1].categories)) == ("own answer", ("yes", "no"))
    assert told[1].pi_hat == pytest.approx(plain.pi_hat[:2])
    assert told[1].variance == pytest.approx(plain.variance[:2])
    labels = ["yes", "no"] * 20
    group, sex = [1, 1, 2, 2] * 10, ["f"] * 20 + ["m"] * 20
    survey = mw.estimation.estimate_survey(labels, designs, mw.Sampling(), samples=group, domains=sex)
    told = wanted_margin(survey, designs[1])
    assert told is not None
    women = told[1].domains["f"]  # type: ignore[attr-defined]
    assert women.pi_hat == pytest.approx(survey.domains["f"].pi_hat[:2])
    assert women.total_variance == pytest.approx(survey.domains["f"].total_variance[:2])


@pytest.mark.parametrize("ulps", [-4, 0, 4])
def test_margins_of_exactly_0_and_1_are_not_called_outside(ulps: int) -> None:
    """Of 300 reports 90 are yes by chance alone."""
    joint = counted([[40, 50], [100, 110]], mw.designs.Kronecker.of([COIN, DIE]))
    moved = replace(joint, pi_hat=joint.pi_hat + ulps * np.spacing(1.0), samples=())
    margin = margin_of(moved, 0)
    assert sorted(abs(margin.pi_hat.round(12))) == [0, 1]
    assert margin.flags == ()
    farther = margin_of(replace(moved, pi_hat=joint.pi_hat - 1e-6), 0)
    assert any("outside" in flag for flag in farther.flags)
