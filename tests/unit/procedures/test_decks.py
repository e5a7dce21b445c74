"""Decks, dice tables and spinners realise the design that they were made from, card by card."""

import math
from fractions import Fraction
from itertools import product

import pytest

from maskwell import Categories
from maskwell.designs import Dense, Subset, Uniform
from maskwell.errors import MatrixError, ParameterError, TooLargeError
from maskwell.procedures.decks import Card, Deck, make_deck, truthful
from maskwell.procedures.dice_spinner import dice_table, make_spinner
from maskwell.procedures.realisation import best_deck, classical_deck, known_procedure, make_device
from maskwell.procedures.registry import make_design
from maskwell.procedures.small_decks import bounded_deck

THREE = Categories.of(["never", "once", "often"])


def realised(deck: Deck) -> list[list[Fraction]]:
    """The matrix, by going through the cards one by one."""
    table = [[Fraction(0)] * deck.realised.k for _ in range(deck.realised.m)]
    for card in deck.cards:
        for truth, report in enumerate(card.answers):
            table[report][truth] += Fraction(card.copies, deck.size)
    return table


def test_decks_that_cannot_be_made() -> None:
    design = make_design("warner", p="0.7")
    with pytest.raises(MatrixError, match="do not realise"):
        Deck(realised=design, wish=design, cards=(Card((0, 1), 6), Card((1, 0), 4)))
    design = Uniform.from_epsilon(1, THREE)
    with pytest.raises(TooLargeError, match="more than 1,000") as caught:
        make_deck(design)
    assert "deck=N" in caught.value.hint
    assert caught.value.objects["size"] > 10**9  # type: ignore[operator]
    with pytest.raises(TooLargeError, match="entries is too large for a device; the limit is"):
        make_deck(Subset.from_gamma(3, Categories.numbered(40), size=20))
    with pytest.raises(ParameterError):
        make_deck(design, most=0)
    with pytest.raises(TooLargeError):
        make_device(make_design("simmons", p="0.70001", beta="1/4"))
    with pytest.raises(ParameterError):
        make_device(make_design("warner", p="0.7"), medium="stones")  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [7, 12, 33, 100, 333])
def test_one_probability_is_rounded_as_limit_denominator_does(most: int) -> None:
    p = Fraction(math.e).limit_denominator(10**9) / 4
    deck = bounded_deck(make_design("forced", truth=p, yes=0, no=1 - p), most)
    assert deck.realised.exact_matrix()[0][0] == p.limit_denominator(most)


def test_a_bounded_deck_by_brute_force() -> None:
    P = [["0.612", "0.2071", "0.1003"], ["0.288", "0.5929", "0.3"], ["0.1", "0.2", "0.5997"]]
    design = Dense.of(P)

    def error(size: int) -> Fraction:
        worst = Fraction(0)
        for column in zip(*design.exact_matrix(), strict=True):
            best = min(
                max(abs(Fraction(n, size) - p) for n, p in zip((a, b, size - a - b), column, strict=True))
                for a, b in product(range(size + 1), repeat=2)
                if a + b <= size
            )
            worst = max(worst, best)
        return worst

    best = min(range(1, 26), key=lambda size: (error(size), size))
    deck = bounded_deck(design, 25)
    assert (deck.size, deck.error) == (best, error(best))


def test_decks_that_tell_fewer_shares_are_passed_over() -> None:
    design = make_design("warner", p="0.501")
    deck = bounded_deck(design, 100)
    assert deck.realised.identifiable
    assert deck.size == 99  # 50 of 99, since half the cards would tell nothing
    with pytest.raises(ParameterError, match="at most 2 cards"):
        bounded_deck(Dense.of([["0.6", "0.51"], ["0.4", "0.49"]]), 2)
    hopeless = make_design("warner", p="1/2", allow_unidentifiable=True)
    assert bounded_deck(hopeless, 2).exact  # what the design cannot tell, the deck need not tell


def test_never_less_private_also_where_some_report_reveals_already() -> None:
    design = Uniform.from_epsilon(1, THREE)
    deck = bounded_deck(design, 20, not_less_private=True)
    assert deck.size == 14
    assert deck.parities[1] == Fraction(8, 3) <= deck.parities[0]
    assert not deck.less_private
    with pytest.raises(ParameterError, match="at its parity or less"):
        bounded_deck(design, 3, not_less_private=True)
    design = Dense.of([["0.5", "0"], ["0.001", "0.4"], ["0.499", "0.6"]])
    deck = bounded_deck(design, 10)
    assert deck.parities == (math.inf, math.inf)
    assert deck.ruled_out == {(0, 1), (1, 0)}
    assert deck.less_private
    with pytest.raises(ParameterError):
        bounded_deck(design, 10, not_less_private=True)
    private = bounded_deck(design, 1000, not_less_private=True)
    assert private.ruled_out == {(0, 1)}
    assert not private.less_private


@pytest.mark.parametrize(
    ("family", "parameters", "kinds"),
    [
        ("warner", {"p": "0.7"}, 2),
        ("warner", {"p": "0.2"}, 2),
        ("mangat", {"p": "0.7"}, 2),
        ("kim-warde", {"p": "0.7"}, 2),
        ("abul-ela", {"categories": THREE, "probabilities": ["0.6", "0.3", "0.1"]}, 3),
        ("mangat-singh", {"t": "0.4", "p": "0.7"}, 3),
        ("christofides", {"probabilities": ["1/2", "1/3", "1/6"]}, 3),
        ("bourke-dalenius", {"categories": THREE, "weights": ["0.7", "0.2", "0.1"]}, 3),
    ],
)
def test_classical_cards(family: str, parameters: dict[str, object], kinds: int) -> None:
    design = make_design(family, **parameters)
    deck = classical_deck(make_deck(design))
    assert deck is not None
    assert (deck.form, deck.kinds) == (family, kinds)
    assert realised(deck) == design.exact_matrix()


def test_a_provenance_or_a_truthful_card_that_is_none_is_noticed() -> None:
    """Truths and reports have the same words, but in another order: their codes must not be taken for them."""
    design = make_design("warner", p="0.7").with_provenance(parameters={"p": "0.8"})
    assert known_procedure(design) is None
    assert classical_deck(make_deck(design)) is None
    assert best_deck(make_deck(design)).form == "truth-or-fixed"
    for broken in ({"p": "x"}, {"q": "0.7"}, "0.7"):
        assert known_procedure(make_design("warner", p="0.7").with_provenance(parameters=broken)) is None
    design = make_design("warner", p="1").with_labels(Categories.of(["yes", "no"]), Categories.of(["no", "yes"]))
    with pytest.raises(MatrixError, match="give your true answer"):
        Deck(realised=design, wish=design, cards=(Card((0, 1), 1, "truth"),))


@pytest.mark.parametrize(
    ("truths", "reports", "told"),
    [
        (["yes", "no"], ["yes", "no"], (0, 1)),
        (["yes", "no"], ["no", "yes"], (1, 0)),
        (["evaded", "honest"], ["yes", "no"], (0, 1)),
        (["evaded", "no"], ["yes", "no"], None),  # "no" would be said by those who evaded, too
        (["evaded", "honest"], ["no", "yes"], None),
        (["evaded", "honest"], ["same", "different"], None),
        (["yes", "no"], [0, 1], None),
        (["a", "b"], ["b", "c", "a"], (2, 0)),
    ],
)
def test_which_report_tells_a_truth(truths: list[str], reports: list[object], told: tuple[int, ...] | None) -> None:
    design = Dense.from_integers([[1] * len(reports)] * 2, Categories.of(truths), Categories.of(reports))
    assert truthful(design) == told


def test_what_rounding_keeps_and_reveals_is_noted() -> None:
    design = make_design("simmons", p="0.70001")
    realised = bounded_deck(design, 20).realised
    notes = ("variables", "wanted", "samples")
    assert [realised.provenance[key] for key in notes] == [design.provenance[key] for key in notes]
    deck = bounded_deck(make_design("forced", truth="0.989", yes="0.01", no="0.001"), 20)
    assert deck.parities[1] == math.inf
    assert deck.less_private


@pytest.mark.parametrize("wrong", [{"dice": 1}, {"faces": 1}, {"dice": 0}, {"dice": 11}, {"faces": 101}])
def test_impossible_dice(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        dice_table(make_deck(make_design("warner", p="0.7")), **wrong)
    with pytest.raises(TooLargeError):
        dice_table(make_deck(make_design("warner", p="0.7")), dice=8, faces=20)


def test_spinners() -> None:
    spinner = make_spinner(make_deck(make_design("warner", p="0.7")))
    assert [sector.degrees for sector in spinner.sectors] == [108, 144, 108]
    assert sum(sector.degrees for sector in spinner.sectors) == 360
    assert spinner.in_tenths
    assert spinner.warnings() == []
    seventh = make_spinner(make_deck(make_design("warner", p="3/7")))
    assert not seventh.in_tenths
    assert "tenths" in seventh.warnings()[0]
    assert "too few" in make_spinner(make_deck(make_design("warner", p="0.999"))).warnings()[-1]
    with pytest.raises(TooLargeError):
        make_spinner(make_deck(Dense.from_integers([[1] * 25, [2] * 24 + [1]])))
