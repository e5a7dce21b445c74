"""One draw for several questions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Categories
from maskwell.designs import Kronecker
from maskwell.designs.coded import CodedDesign
from maskwell.errors import InputError, NotIdentifiableError
from maskwell.procedures.counted_draws import kuk
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.joint_answers import shared
from maskwell.procedures.statement_cards import warner

TRUTH, OPPOSITE = warner(1), warner(0)


def one_card(p: Fraction | str, questions: int = 2, *, allow: bool = False) -> CodedDesign:
    p = Fraction(p)
    outcomes = [[TRUTH] * questions, [OPPOSITE] * questions]
    return shared([p, 1 - p], outcomes, allow_unidentifiable=allow)


@given(st.fractions(min_value=0, max_value=1, max_denominator=50))
def test_one_card_for_two_questions(p: Fraction) -> None:
    """P = p I + (1 - p) (F x F), with the eigenvalues 1, 1, 2p - 1, 2p - 1."""
    design = one_card(p, allow=True)
    swap = np.array([[0, 1], [1, 0]])
    assert design.matrix() == pytest.approx(float(p) * np.eye(4) + float(1 - p) * np.kron(swap, swap))
    values = sorted(np.linalg.eigvalsh(design.matrix()))
    assert values == pytest.approx(sorted([1, 1, 2 * float(p) - 1, 2 * float(p) - 1]))


def test_what_a_shared_card_reveals_and_outcomes_that_are_themselves_random() -> None:
    """A draw decides between two devices of the same reports; the second question always uses its own."""
    design = one_card("3/4")
    assert "agree" in design.provenance["warning"]
    agree = design.matrix()[[0, 3]].sum(axis=0)
    assert agree.tolist() == [1, 0, 0, 1]
    separate = Kronecker.of([warner("3/4"), warner("3/4")])
    assert separate.parity_exact() == 9
    assert design != separate
    decks = [kuk("0.8", "0.2", 2), kuk("0.6", "0.4", 2)]
    own = forced("1/2", "1/4", "1/4")
    design = shared(["1/2", "1/2"], [[deck, own] for deck in decks])
    mixed = sum(np.array(deck.matrix()) for deck in decks) / 2
    assert design.matrix() == pytest.approx(np.kron(mixed, own.matrix()))
    assert "warning" not in design.provenance
    assert (design.k, design.m, design.provenance["questions"]) == (4, 6, 2)


def test_bad_input() -> None:
    other = warner(1).with_labels(Categories.of(["ja", "nein"]))
    cases = [
        (["3/4"], [[TRUTH, TRUTH], [OPPOSITE, OPPOSITE]]),
        (["3/4", "1/2"], [[TRUTH, TRUTH], [OPPOSITE, OPPOSITE]]),
        (["3/4", "1/4"], [[TRUTH, TRUTH], [OPPOSITE]]),
        (["3/4", "1/4"], [[TRUTH, TRUTH], [OPPOSITE, other]]),
        (["3/4", "1/4"], [[TRUTH], [OPPOSITE]]),
        ([1], [[TRUTH] * 12]),
    ]
    for weights, outcomes in cases:
        with pytest.raises(InputError) as caught:
            shared(weights, outcomes)
        assert caught.value.hint
    with pytest.raises(NotIdentifiableError):
        one_card("1/2")
