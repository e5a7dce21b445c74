"""Devices that need another sample, and those that tell more of a person than the sensitive answer."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from maskwell import Categories, Design
from maskwell.designs import Dense
from maskwell.errors import InputError, LabelError, NotIdentifiableError, ParameterError
from maskwell.procedures.category_cards import abul_ela, greenberg, greenberg_statements
from maskwell.procedures.design_builders import NO_PROTECTION, ONE_SOURCE
from maskwell.procedures.forced_answers import cheating, lie_detector, liu_chow
from maskwell.procedures.joint_answers import repeated
from maskwell.procedures.registry import PROCEDURES, make_design
from maskwell.procedures.statement_cards import kim_warde, mangat, singh_joarder, warner
from maskwell.procedures.unrelated_questions import (
    devore,
    mangat_singh_singh,
    mangat_singh_singh_twice,
    simmons,
    simmons_twice,
    soberanis_cruz,
)

probabilities = st.fractions(min_value=0, max_value=1, max_denominator=100)
THREE = Categories.of(["a", "b", "c"])


def first_row(design: Design) -> list[Fraction]:
    return design.exact_matrix()[0]


def rank(*designs: Design) -> int:
    """Of all samples together."""
    return int(np.linalg.matrix_rank(np.vstack([design.matrix() for design in designs])))


def estimable(wanted: list[int], *designs: Design) -> bool:
    """Whether a sum of true shares can be had from the samples together."""
    P = np.vstack([design.matrix() for design in designs])
    score = np.linalg.lstsq(P.T, np.array(wanted, dtype=float), rcond=None)[0]
    return bool(np.allclose(score @ P, wanted))


@given(probabilities, probabilities)
def test_a_known_rate_is_the_pair_design_averaged_over_the_unrelated_answer(p: Fraction, beta: Fraction) -> None:
    """Where the two answers are independent, the four columns weigh beta and 1 - beta."""
    yes = first_row(simmons(p))
    known = simmons(p, beta, allow_unidentifiable=True)
    averaged = [beta * yes[0] + (1 - beta) * yes[1], beta * yes[2] + (1 - beta) * yes[3]]
    assert first_row(known) == averaged


@given(probabilities, probabilities)
def test_two_samples_or_answers_tell_what_one_does_not(p1: Fraction, p2: Fraction) -> None:
    both = simmons(p1), simmons(p2)
    assert estimable([1, 1, 0, 0], *both) == (p1 != p2 or p1 == 1)
    assert estimable([1, 0, 1, 0], *both) == (p1 != p2 or p1 == 0)
    assert rank(*both) < 4
    for build in (cheating, lie_detector):
        assert rank(build(p1), build(p2)) == (3 if p1 != p2 else 2)
    design = simmons_twice(p1, p2, allow_unidentifiable=True)
    for row, (i, j) in zip(design.exact_matrix(), [(0, 0), (0, 1), (1, 0), (1, 1)], strict=True):
        first, second = simmons(p1).exact_matrix()[i], simmons(p2).exact_matrix()[j]
        assert row == [a * b for a, b in zip(first, second, strict=True)]
    assert design.identifiable == (p1 != p2)
    assume(p1 != p2)
    score = [((1 - p2) * i - (1 - p1) * j) / (p1 - p2) for i in (1, 0) for j in (1, 0)]
    for design, wanted in (
        (simmons_twice(p1, p2), [1, 1, 0, 0]),
        (mangat_singh_singh_twice(p1, p2, allow_unidentifiable=True), [1, 0, 0]),
    ):
        columns = zip(*design.exact_matrix(), strict=True)
        assert [sum(u * p for u, p in zip(score, column, strict=True)) for column in columns] == wanted


def test_the_own_answer_can_be_named_in_pairs() -> None:
    design = make_design("simmons", p="3/4", categories=Categories.of(["user", "other"]))
    assert design.inputs.labels[:2] == (("user", "yes"), ("user", "no"))
    known = make_design("simmons", p="3/4", beta="1/2", categories=Categories.of(["user", "other"]))
    assert known.inputs.labels == ("user", "other")
    kinds = make_design("mangat-singh-singh", p="3/4", categories=Categories.of(["user", "other"]))
    assert kinds.inputs.labels == (("user", "any"), ("other", "yes"), ("other", "no"))


@given(probabilities, probabilities)
def test_members_who_say_yes_with_an_unknown_trait(p: Fraction, alpha: Fraction) -> None:
    yes = first_row(mangat_singh_singh(p))
    known = mangat_singh_singh(p, alpha, allow_unidentifiable=True)
    assert first_row(known) == [yes[0], alpha * yes[1] + (1 - alpha) * yes[2]]


@given(st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_statements(weights: list[int]) -> None:
    assume(sum(weights))
    p = [Fraction(w, sum(weights)) for w in weights]
    design = abul_ela(Categories.numbered(len(p)), p, allow_unidentifiable=True)
    assert first_row(design) == p
    assert design.identifiable == (len(p) == 2 and p[0] != p[1])


def test_statements_with_an_unrelated_question() -> None:
    decks = [(["0.5", "0.2", "0.1"], "0.2"), (["0.1", "0.6", "0.1"], "0.2"), (["0.1", "0.1", "0.1"], "0.7")]
    known = [greenberg_statements(THREE, cards, unrelated, "0.4") for cards, unrelated in decks[:2]]
    assert rank(*known) == 3
    unknown = [greenberg_statements(THREE, cards, unrelated) for cards, unrelated in decks]
    assert first_row(unknown[0]) == [Fraction(tenths, 10) for tenths in (7, 5, 4, 2, 3, 1)]
    assert unknown[0].inputs.labels[:2] == (("a", "yes"), ("a", "no"))
    third = [0, 0, 0, 0, 1, 1]
    assert estimable(third, *unknown)
    assert not estimable(third, *unknown[:2])
    assert unknown[0].provenance["samples"].startswith("one of 3 samples or more")
    assert known[0].provenance["samples"].startswith("one of 2 samples or more")
    assert known[0] == greenberg_statements(THREE, *decks[0], beta=0.4)


@given(probabilities, st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_the_question_with_several_answers_is_a_jar(p: Fraction, weights: list[int]) -> None:
    beta = [Fraction(w, sum(weights)) for w in weights]
    categories = Categories.numbered(len(beta))
    jar = liu_chow(categories, p, [(1 - p) * b for b in beta], allow_unidentifiable=True)
    assert greenberg(categories, p, beta, allow_unidentifiable=True) == jar


@given(probabilities)
def test_devices_that_are_others(p: Fraction) -> None:
    honest, lying, other = first_row(lie_detector(p))
    assert [honest, other, lying] == first_row(cheating(1 - p))

    def matrix(design: Dense) -> list[list[Fraction]]:
        return design.exact_matrix()

    assert matrix(devore(p, allow_unidentifiable=True)) == matrix(mangat(p, allow_unidentifiable=True))
    assert devore(p, allow_unidentifiable=True) == simmons(p, 1, allow_unidentifiable=True)
    assert kim_warde(p, allow_unidentifiable=True) == warner(p, allow_unidentifiable=True)
    assert soberanis_cruz(p, "1/3", allow_unidentifiable=True) == simmons(p, "1/3", allow_unidentifiable=True)
    assert first_row(singh_joarder(p, allow_unidentifiable=True)) == [1 - (1 - p) ** 2, 1 - p]


def test_boxes_and_questions_that_do_not_go_together() -> None:
    assert mangat_singh_singh_twice("0.6", "0.6").identifiable
    for boxes in (("1", "1"), ("0", "0")):
        with pytest.raises(NotIdentifiableError, match="cannot be estimated"):
            mangat_singh_singh_twice(*boxes)
    with pytest.raises(NotIdentifiableError) as caught:
        simmons_twice("0.6", "0.6")
    assert "p1 different from p2" in caught.value.hint
    with pytest.raises(ParameterError, match="the devices have different categories"):
        repeated([warner("0.7"), cheating("0.2")])
    with pytest.raises(InputError):
        repeated([])


@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("simmons", {"p": 70}),
        ("devore", {"p": 70}),
        ("singh-joarder", {"p": "0.38196601125010515"}),
        ("soberanis-cruz", {"p": 0, "beta": "1/2"}),
        ("mangat-singh-singh", {"p": 0, "alpha": 1}),
        ("kim-warde", {"p": "1/2"}),
        ("simmons-twice", {"p1": "1/2", "p2": "1/2"}),
        ("cheating-detection", {"p": 20}),
        ("lie-detector", {"p": "nan"}),
        ("greenberg", {"p": "0.6", "beta": ["1/2", "1/2"]}),
        ("greenberg", {"p": 0, "beta": ["1/2", "1/4", "1/4"]}),
        ("greenberg", {"p": "0.6", "beta": "1/2"}),
        ("abul-ela", {"probabilities": ["1/2", "1/2"]}),
        ("abul-ela", {"probabilities": ["0.6", "0.2", "0.1"]}),
        ("greenberg-statements", {"statements": ["0.5", "0.2"], "unrelated": "0.3"}),
        ("greenberg-statements", {"statements": ["0.5", "0.2", "0.2"], "unrelated": "0.2"}),
        ("greenberg-statements", {"statements": ["0.2", "0.2", "0.2"], "unrelated": "0.4", "beta": "1/2"}),
    ],
)
def test_bad_parameters_are_refused_with_a_hint(family: str, given: dict[str, Any]) -> None:
    categories = THREE if family.startswith(("greenberg", "abul")) else None
    with pytest.raises((InputError, TypeError)) as caught:
        make_design(family, categories=categories, **given)
    assert caught.value.hint  # type: ignore[union-attr]
    if 20 in given.values() or 70 in given.values():
        assert "%" in caught.value.hint  # type: ignore[union-attr]


@pytest.mark.parametrize("family", ["simmons-twice", "mangat-singh-singh-twice"])
def test_single_answers_may_be_named(family: str) -> None:
    design = PROCEDURES[family].design({"p1": "0.6", "p2": "0.8"}, reports=Categories.of([1, 0]))
    assert list(design.outputs.labels) == [(1, 1), (1, 0), (0, 1), (0, 0)]  # type: ignore[union-attr]
    four = PROCEDURES[family].design({"p1": "0.6", "p2": "0.8"}, reports=Categories.of(list("abcd")))
    assert four == design.with_labels(design.inputs, Categories.of(list("abcd")))
    with pytest.raises(LabelError, match="3 names for the 4 reports") as caught:
        PROCEDURES[family].design({"p1": "0.6", "p2": "0.8"}, reports=Categories.of([1, 2, 3]))
    assert caught.value.hint == "give 2 for the single answers, or 4 names"


def test_direct_questions_are_noted() -> None:
    assert cheating(0).provenance["warning"] == ONE_SOURCE
    assert "warning" not in cheating("1/5").provenance
    assert warner(1).provenance["warning"] == warner(0).provenance["warning"] == NO_PROTECTION
    assert singh_joarder(1).provenance["warning"] == NO_PROTECTION
    assert greenberg(THREE, 1, ["1/3"] * 3).provenance["warning"] == NO_PROTECTION
    assert "beta = 0" in greenberg(THREE, "1/2", ["1/2", "1/2", 0]).provenance["warning"]
    assert "sensitive" in simmons("1/2", 0).provenance["warning"]
    assert "sensitive" in soberanis_cruz("1/2", 0).provenance["warning"]
    assert "q = 0" in liu_chow(THREE, "1/2", ["1/4", "1/4", 0]).provenance["warning"]
