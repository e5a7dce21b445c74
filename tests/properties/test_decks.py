"""Decks of random rational designs."""

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.decks import Deck, make_deck, truth_or_fixed
from maskwell.procedures.dice_spinner import dice_table, make_spinner
from maskwell.procedures.small_decks import bounded_deck


@st.composite
def designs(draw: st.DrawFn, most: int = 9) -> Dense:
    """Matrices of small integers over their sums."""
    k, m = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    columns = draw(st.lists(st.lists(st.integers(0, most), min_size=m, max_size=m), min_size=k, max_size=k))
    assume(all(any(column) for column in columns))
    return Dense.from_integers(columns)


def drawn(deck: Deck) -> list[list[Fraction]]:
    table = [[Fraction(0)] * deck.realised.k for _ in range(deck.realised.m)]
    for card in deck.cards:
        for truth, report in enumerate(card.answers):
            table[report][truth] += Fraction(card.copies, deck.size)
    return table


@given(designs())
def test_a_drawn_card_realises_the_design(design: Dense) -> None:
    deck = make_deck(design, most=10**9)
    assert drawn(deck) == design.exact_matrix()
    assert deck.kinds <= design.k * (design.m - 1) + 1
    assert len({card.answers for card in deck.cards}) == deck.kinds
    simple = truth_or_fixed(deck)
    assert simple is None or drawn(simple) == design.exact_matrix()


@given(designs(), st.integers(1, 12))
def test_a_bounded_deck_realises_what_it_says(design: Dense, most: int) -> None:
    try:
        deck = bounded_deck(design, most)
    except ParameterError:
        return
    assert deck.size <= most
    assert drawn(deck) == deck.realised.exact_matrix()
    assert deck.realised.rank() == design.rank()
    assert deck.exact == (deck.realised.exact_matrix() == design.exact_matrix())
    assert deck.error < Fraction(1, deck.size)  # largest remainder moves no entry by a whole card
    try:
        private = bounded_deck(design, most, not_less_private=True)
    except ParameterError:
        assert deck.less_private
        return
    assert private.realised.parity_exact() <= design.parity_exact()
    assert private.error >= deck.error


@given(designs(most=3), st.integers(2, 7))
def test_throws_and_sectors_realise_the_deck(design: Dense, faces: int) -> None:
    deck = make_deck(design, most=10**9)
    assume(deck.size <= 500)
    table = dice_table(deck, faces=faces)
    shares = [0] * deck.kinds
    for outcome in range(table.outcomes):
        kind = table.kind_of(outcome)
        if kind is not None:
            shares[kind] += 1
    assert [Fraction(n, table.used) for n in shares] == [Fraction(c.copies, deck.size) for c in deck.cards]
    if deck.kinds <= 24:
        sectors = make_spinner(deck).sectors
        assert [s.degrees / 360 for s in sectors] == [Fraction(c.copies, deck.size) for c in deck.cards]
