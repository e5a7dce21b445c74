"""Every named procedure, by the name typed on the command line."""

from __future__ import annotations

from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.procedures import (
    category_cards,
    category_encodings,
    counted_draws,
    forced_answers,
    nonrandomized,
    statement_cards,
    unrelated_questions,
)
from maskwell.procedures.procedure import Procedure

PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        # yes or no
        statement_cards.WARNER,
        statement_cards.KIM_WARDE,
        unrelated_questions.SIMMONS,
        unrelated_questions.SOBERANIS_CRUZ,
        unrelated_questions.DEVORE,
        statement_cards.MANGAT_SINGH,
        statement_cards.MANGAT,
        unrelated_questions.MANGAT_SINGH_SINGH,
        statement_cards.SINGH_JOARDER,
        forced_answers.FORCED,
        nonrandomized.CROSSWISE,
        nonrandomized.TRIANGULAR,
        # yes or no, with more than two reports
        counted_draws.KUK,
        counted_draws.CHOW,
        counted_draws.CHRISTOFIDES,
        # yes or no, asked twice
        unrelated_questions.SIMMONS_TWICE,
        unrelated_questions.MANGAT_SINGH_SINGH_TWICE,
        # yes or no, with people who do not follow the rules
        forced_answers.CHEATING,
        forced_answers.LIE_DETECTOR,
        # several categories
        category_cards.GREENBERG,
        forced_answers.LIU_CHOW,
        category_cards.BOURKE_DALENIUS,
        category_encodings.KARY,
        category_encodings.SUBSET,
        category_encodings.RAPPOR,
        category_encodings.OUE,
        category_encodings.LDIVERSE,
        # several categories, yes or no, several samples
        category_cards.ABUL_ELA,
        category_cards.GREENBERG_STATEMENTS,
        # sets of items
        category_encodings.BITS,
    )
}


def procedure_named(name: str) -> Procedure:
    """The procedure of that name, or an error that lists them all."""
    if name not in PROCEDURES:
        raise ParameterError("no-procedure-is-called", procedures=", ".join(PROCEDURES), name=name)
    return PROCEDURES[name]


def make_design(
    family: str,
    *,
    categories: Categories | None = None,
    reports: Categories | None = None,
    allow_unidentifiable: bool = False,
    **parameters: Any,
) -> Design:
    """The design of a named family, as ``maskwell design FAMILY`` makes it; parameters bear the same names."""
    check_kind(str, family=family)
    check_kind(Categories | None, categories=categories, reports=reports)
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    return procedure_named(family).design(
        parameters, categories=categories, reports=reports, allow_unidentifiable=allow_unidentifiable
    )
