"""Named devices of the literature, and how to carry them out with cards, dice and spinners."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.procedures.category_cards import permutation_deck as permutation_deck
    from maskwell.procedures.decks import make_deck as make_deck
    from maskwell.procedures.dice_spinner import dice_table as dice_table
    from maskwell.procedures.dice_spinner import make_spinner as make_spinner
    from maskwell.procedures.joint_answers import repeated as repeated
    from maskwell.procedures.joint_answers import shared as shared
    from maskwell.procedures.nonrandomized import sensitivity_to_q as sensitivity_to_q
    from maskwell.procedures.realisation import make_device as make_device
    from maskwell.procedures.small_decks import bounded_deck as bounded_deck
    from maskwell.procedures.statement_cards import kim_warde_strata as kim_warde_strata
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "category_cards": ["permutation_deck"],
            "decks": ["make_deck"],
            "dice_spinner": ["dice_table", "make_spinner"],
            "joint_answers": ["repeated", "shared"],
            "nonrandomized": ["sensitivity_to_q"],
            "realisation": ["make_device"],
            "small_decks": ["bounded_deck"],
            "statement_cards": ["kim_warde_strata"],
        },
    )
