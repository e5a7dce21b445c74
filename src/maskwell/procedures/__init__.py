"""Named devices of the literature, and how to carry them out with cards, dice and spinners."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.procedures.category_cards import abul_ela as abul_ela
    from maskwell.procedures.category_cards import bourke_dalenius as bourke_dalenius
    from maskwell.procedures.category_cards import greenberg as greenberg
    from maskwell.procedures.category_cards import greenberg_statements as greenberg_statements
    from maskwell.procedures.category_cards import permutation_deck as permutation_deck
    from maskwell.procedures.category_encodings import bits as bits
    from maskwell.procedures.category_encodings import kary as kary
    from maskwell.procedures.category_encodings import ldiverse as ldiverse
    from maskwell.procedures.category_encodings import oue as oue
    from maskwell.procedures.category_encodings import rappor as rappor
    from maskwell.procedures.category_encodings import subset as subset
    from maskwell.procedures.counted_draws import chow as chow
    from maskwell.procedures.counted_draws import christofides as christofides
    from maskwell.procedures.counted_draws import kuk as kuk
    from maskwell.procedures.decks import Deck as Deck
    from maskwell.procedures.decks import make_deck as make_deck
    from maskwell.procedures.dice_spinner import DiceTable as DiceTable
    from maskwell.procedures.dice_spinner import Spinner as Spinner
    from maskwell.procedures.dice_spinner import dice_table as dice_table
    from maskwell.procedures.dice_spinner import make_spinner as make_spinner
    from maskwell.procedures.forced_answers import cheating as cheating
    from maskwell.procedures.forced_answers import forced as forced
    from maskwell.procedures.forced_answers import lie_detector as lie_detector
    from maskwell.procedures.forced_answers import liu_chow as liu_chow
    from maskwell.procedures.joint_answers import repeated as repeated
    from maskwell.procedures.joint_answers import shared as shared
    from maskwell.procedures.nonrandomized import Sensitivity as Sensitivity
    from maskwell.procedures.nonrandomized import crosswise as crosswise
    from maskwell.procedures.nonrandomized import sensitivity_to_q as sensitivity_to_q
    from maskwell.procedures.nonrandomized import triangular as triangular
    from maskwell.procedures.realisation import Device as Device
    from maskwell.procedures.realisation import make_device as make_device
    from maskwell.procedures.registry import make_design as make_design
    from maskwell.procedures.small_decks import bounded_deck as bounded_deck
    from maskwell.procedures.statement_cards import kim_warde as kim_warde
    from maskwell.procedures.statement_cards import kim_warde_strata as kim_warde_strata
    from maskwell.procedures.statement_cards import mangat as mangat
    from maskwell.procedures.statement_cards import mangat_singh as mangat_singh
    from maskwell.procedures.statement_cards import singh_joarder as singh_joarder
    from maskwell.procedures.statement_cards import warner as warner
    from maskwell.procedures.unrelated_questions import devore as devore
    from maskwell.procedures.unrelated_questions import mangat_singh_singh as mangat_singh_singh
    from maskwell.procedures.unrelated_questions import mangat_singh_singh_twice as mangat_singh_singh_twice
    from maskwell.procedures.unrelated_questions import simmons as simmons
    from maskwell.procedures.unrelated_questions import simmons_twice as simmons_twice
    from maskwell.procedures.unrelated_questions import soberanis_cruz as soberanis_cruz
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "category_cards": ["abul_ela", "bourke_dalenius", "greenberg", "greenberg_statements", "permutation_deck"],
            "category_encodings": ["bits", "kary", "ldiverse", "oue", "rappor", "subset"],
            "counted_draws": ["chow", "christofides", "kuk"],
            "decks": ["Deck", "make_deck"],
            "dice_spinner": ["DiceTable", "Spinner", "dice_table", "make_spinner"],
            "forced_answers": ["cheating", "forced", "lie_detector", "liu_chow"],
            "joint_answers": ["repeated", "shared"],
            "nonrandomized": ["Sensitivity", "crosswise", "sensitivity_to_q", "triangular"],
            "realisation": ["Device", "make_device"],
            "registry": ["make_design"],
            "small_decks": ["bounded_deck"],
            "statement_cards": ["kim_warde", "kim_warde_strata", "mangat", "mangat_singh", "singh_joarder", "warner"],
            "unrelated_questions": [
                "devore",
                "mangat_singh_singh",
                "mangat_singh_singh_twice",
                "simmons",
                "simmons_twice",
                "soberanis_cruz",
            ],
        },
    )
