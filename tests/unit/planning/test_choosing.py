"""The ranked table and its recommendation, against formulas, brute force and the designs themselves."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import maskwell as mw
from maskwell import Categories, Demand, choose
from maskwell.designs import LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import MaskwellError, ParameterError
from maskwell.planning import minimax_size
from maskwell.planning.candidates import frontier
from maskwell.planning.design_choice import SIMPLER, recommend
from maskwell.planning.respondent_variance import Sampling
from maskwell.planning.sample_size import plan_sample
from maskwell.planning.set_sizes import added_variance

DEMANDS = st.one_of(
    st.fractions(Fraction(11, 10), 60).map(Demand.from_gamma),
    st.sampled_from(["0.2", "1", "2.5"]).map(Demand.from_epsilon),
    st.just(Demand.from_rho("0.1", "0.5", closed=True)),
)


def by_name(choice):
    return {option.name: option for option in choice.options}


@settings(deadline=None)
@given(k=st.integers(2, 80), demand=DEMANDS, n=st.integers(1, 10**6))
def test_every_table_is_in_order(k, demand, n):
    choice = choose(k, demand, n=n)
    ranked, named = choice.ranked, by_name(choice)
    assert [option.rank for option in ranked] == list(range(1, len(ranked) + 1))
    assert [o.added_variance for o in ranked] == sorted(o.added_variance for o in ranked)
    for option in ranked:
        assert option.meets and demand.allows(option.design.parity_exact())
        assert option.design.k == k
        assert (option.dominated_by is None) == option.design.is_admissible()
        if option.dominated_by is not None:
            better = named[option.dominated_by]
            assert better.rank < option.rank
            assert better.design.is_admissible()
            assert better.added_variance < option.added_variance
    best = min(added_variance(k, choice.gamma, q) for q in range(1, k))
    assert ranked[0].added_variance == pytest.approx(best, rel=1e-9)


@settings(deadline=None)
@given(k=st.integers(2, 80), demand=DEMANDS)
def test_the_recommendation_follows_its_rule(k, demand):
    choice = choose(k, demand)
    named, taken = by_name(choice), choice.recommended
    assert taken.design.is_admissible() and taken.design.identifiable and demand.allows(taken.design.parity_exact())
    diagonal, subset = named["k-ary"], named.get("subset")
    sampling = 1 - 1 / k
    if subset is None:
        assert taken is diagonal and minimax_size(k, demand) == 1
        return
    more = (diagonal.added_variance + sampling) / (subset.added_variance + sampling) - 1
    assert taken is (diagonal if more <= SIMPLER else subset)
    assert "5 %" in choice.reason


def test_the_three_cases_of_the_rule_whatever_the_last_bits():
    reason = choose(2, 3).reason
    assert "is one category" in reason and "no design of this parity is more informative" in reason
    simple = choose(5, "2.3")
    assert (simple.recommended.name, simple.ranked[0].name) == ("k-ary", "subset")
    assert "3.1 % more" in simple.reason
    large = choose(1000, Demand.from_epsilon(1))
    assert large.recommended.label == "subset selection of size 269"
    assert "92.4 times as many" in large.reason
    options = by_name(choose(10, Demand.from_gamma(3)))
    for x in (0.1, 0.3, 0.7, 1.1, 1.3, 2.3, 3.7, 7.1):  # in floats 1.05 x / x - 1 is above 0.05
        subset = replace(options["subset"], added_variance=x)
        for more, name in ((1.05, "k-ary"), (1.0500001, "subset")):
            diagonal = replace(options["k-ary"], added_variance=more * x)
            assert recommend([diagonal, subset], 0.0)[0].name == name
    choice = choose(64, Demand.from_epsilon(1))  # the design is that of ``maskwell design`` for the same demand
    assert choice.design == Subset.from_epsilon(1, Categories.numbered(64), size=17)
    assert choice.design.provenance["parameters"] == {"size": "17", "epsilon": "1"}


def test_l_diversity_is_never_ranked():
    for k in (3, 10, 50):
        for gamma in ("1.5", 3, 20):
            beside = [option for option in choose(k, gamma).options if option.name == "l-diverse"]
            for option in beside:
                assert option.rank is None and not option.meets
                assert math.isinf(option.design.parity())
                assert "not comparable" in option.note and "does not meet" in option.note
                assert option.added_variance <= choose(k, gamma).ranked[0].added_variance * (1 + 1e-12)
    assert not any(option.name == "l-diverse" for option in choose(2, 3).options)


@given(k=st.integers(2, 40), margin=st.floats(0.001, 0.3))
@settings(deadline=None)
def test_the_needed_n_is_the_smallest(k, margin):
    choice = choose(k, 3, margin=margin)
    assert choose(k, 3, n=choice.n).margin <= margin * (1 + 1e-9)
    if choice.n > 1:
        assert choose(k, 3, n=choice.n - 1).margin > margin * (1 - 1e-9)
    for option in choice.ranked:
        assert option.n >= choice.ranked[0].n


def test_the_extremal_design_is_listed_for_assumed_shares_unless_it_is_there_already():
    named = by_name(choose(4, 3, pi=["1/2", "1/5", "1/5", "1/10"]))
    assert named["extremal"].rank == 2
    assert named["extremal"].added_variance == pytest.approx(8.5)
    assert "assumed shares only" in named["extremal"].note
    assert "k-ary randomized response" in choose(3, 3, pi=["0.5", "0.3", "0.2"]).notes[0]
    assert "subset selection of size 2" in choose(6, Demand.from_epsilon("0.7"), pi=[Fraction(1, 6)] * 6).notes[0]
    assert "14" in choose(20, 3, pi=[Fraction(1, 20)] * 20).notes[0]


@settings(deadline=None, max_examples=25)
@given(weights=st.lists(st.integers(1, 30), min_size=2, max_size=6), gamma=st.fractions(Fraction(3, 2), 20))
def test_assumed_shares_never_change_the_promise(weights, gamma):
    pi = [Fraction(w, sum(weights)) for w in weights]
    choice = choose(len(pi), gamma, pi=pi, n=100)
    for option in choice.options:
        if option.name == "extremal":
            assert option.design.parity_exact() <= gamma
            assert (option.rank is None) == (not option.design.identifiable)
            if option.rank is not None:
                at = np.array([float(p) for p in pi])
                assert option.added_variance == pytest.approx(option.design.added_variance(at))
    assert choice.recommended.name != "extremal"


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"icc": "0.05"}, "icc needs cluster_size"),
        ({"cluster_size": 20}, "cluster_size needs icc"),
        ({"icc": "0.05", "cluster_size": 20, "deff": 2}, "deff cannot be combined with icc"),
        ({"icc": "1.5", "cluster_size": 20}, r"icc must be between 0 and 1, not 1\.5"),
        ({"icc": "0.1", "cluster_size": "0.5"}, r"cluster_size must be at least 1, not 0\.5"),
        ({"deff": 0}, "deff must be above 0, not 0"),
        ({"category": "sometimes"}, "category"),
    ],
)
def test_refusals(options: dict[str, object], said: str) -> None:
    category = options.pop("category", None)
    with pytest.raises(MaskwellError, match=said) as raised:
        mw.choose(categories=LABELS, epsilon=1, n=900, category=category, sampling=options)  # type: ignore[arg-type]
    assert raised.value.hint


GAMMAS = ["1.2", "2", "6", "30"]


def lines(found):
    return {line.name: line for line in found.lines}


@pytest.mark.parametrize("k", [2, 3, 10, 200])
def test_every_point_is_a_design(k):
    found = frontier(k, GAMMAS, n=1000)
    categories = Categories.numbered(k)
    for i, gamma in enumerate(GAMMAS):
        diagonal, bits = Uniform.from_gamma(gamma, categories), Unary.oue_from_gamma(gamma, categories)
        named = lines(found)
        assert named["k-ary"].added_variance[i] == pytest.approx(diagonal.added_variance())
        assert named["k-ary"].guess_probability[i] == pytest.approx(diagonal.guess_probability())
        assert named["oue, centred"].added_variance[i] == pytest.approx(bits.added_variance_of("centred"))
        assert found.size[i] == minimax_size(k, gamma)
        assert named["subset"].added_variance[i] == pytest.approx(added_variance(k, gamma, found.size[i]))
        options = {option.name: option for option in choose(k, gamma, n=1000).ranked}
        assert named["rappor, best-linear"].rms_error[i] == pytest.approx(options["rappor, best-linear"].rms_error)


def test_the_minimax_line_is_the_lowest_and_l_diversity_stands_beside():
    found = frontier(20, GAMMAS)
    best = found.lines[0]
    for line in found.lines:
        assert (line.added_variance >= best.added_variance - 1e-12).all()
        assert line.admissible == (line.dominated_by is None)
        assert line.rms_error is None
    found = frontier(5, epsilons=[2, 1, "0.5"])
    assert found.epsilon == pytest.approx([0.5, 1, 2])
    assert (np.diff(found.gamma) > 0).all()
    same = frontier(5, [Demand.from_epsilon(1)])
    assert same.lines[0].added_variance[0] == pytest.approx(found.lines[0].added_variance[1])
    beside = frontier(10, [2], n=100).diversity
    assert beside.l.tolist() == list(range(2, 10))
    for l, variance, guess in zip(beside.l, beside.added_variance, beside.guess_probability, strict=True):  # noqa: E741
        design = LocalDiversity.of(int(l), Categories.numbered(10))
        assert (variance, guess) == (design.added_variance(), design.guess_probability())
    assert beside.rms_error[0] == pytest.approx(math.sqrt((beside.added_variance[0] + 0.9) / 1000))
    assert frontier(2, [2]).diversity is None
    assert frontier(3, [2]).diversity.l.tolist() == [2]
    assert len(frontier(5000, [2]).diversity.l) <= 200


@pytest.mark.parametrize(
    ("k", "gammas", "more"),
    [(5, None, {}), (5, [2], {"epsilons": [1]}), (5, [], {}), (5, [1], {}), (1, [2], {}), (5, [2], {"n": 0})],
)
def test_refusals_of_a_frontier(k, gammas, more):
    with pytest.raises(ParameterError):
        frontier(k, gammas, **more)
