"""Private names of ``procedures`` that tests need, each from the file it stands in."""

from maskwell.procedures.decks import Card, report_labels, truth_or_fixed, truthful, written_reports
from maskwell.procedures.design_builders import NO_PROTECTION, ONE_SOURCE, REVEALING, check_shares
from maskwell.procedures.dice_spinner import faces_in_words, sizes_in_tenths
from maskwell.procedures.forced_answers import REVEALING_BALL
from maskwell.procedures.procedure import Kind
from maskwell.procedures.realisation import best_deck, classical_deck, known_procedure
from maskwell.procedures.registry import PROCEDURES, procedure_named
from maskwell.procedures.statement_cards import equivalent_warner

__all__ = [
    "Card",
    "Kind",
    "NO_PROTECTION",
    "ONE_SOURCE",
    "PROCEDURES",
    "REVEALING",
    "REVEALING_BALL",
    "best_deck",
    "check_shares",
    "classical_deck",
    "equivalent_warner",
    "faces_in_words",
    "known_procedure",
    "procedure_named",
    "report_labels",
    "sizes_in_tenths",
    "truth_or_fixed",
    "truthful",
    "written_reports",
]
