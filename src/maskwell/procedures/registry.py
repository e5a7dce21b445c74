"""Every named procedure, by the name typed on the command line."""

from __future__ import annotations

from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.procedures.category_cards import ABUL_ELA, BOURKE_DALENIUS, GREENBERG, GREENBERG_STATEMENTS
from maskwell.procedures.category_encodings import BITS, KARY, LDIVERSE, OUE, RAPPOR, SUBSET
from maskwell.procedures.counted_draws import CHOW, CHRISTOFIDES, KUK
from maskwell.procedures.forced_answers import CHEATING, FORCED, LIE_DETECTOR, LIU_CHOW
from maskwell.procedures.nonrandomized import CROSSWISE, TRIANGULAR
from maskwell.procedures.procedure import Procedure
from maskwell.procedures.statement_cards import KIM_WARDE, MANGAT, MANGAT_SINGH, SINGH_JOARDER, WARNER
from maskwell.procedures.unrelated_questions import (
    DEVORE,
    MANGAT_SINGH_SINGH,
    MANGAT_SINGH_SINGH_TWICE,
    SIMMONS,
    SIMMONS_TWICE,
    SOBERANIS_CRUZ,
)

PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure
    for procedure in (
        # yes or no
        WARNER,
        KIM_WARDE,
        SIMMONS,
        SOBERANIS_CRUZ,
        DEVORE,
        MANGAT_SINGH,
        MANGAT,
        MANGAT_SINGH_SINGH,
        SINGH_JOARDER,
        FORCED,
        CROSSWISE,
        TRIANGULAR,
        # yes or no, with more than two reports
        KUK,
        CHOW,
        CHRISTOFIDES,
        # yes or no, asked twice
        SIMMONS_TWICE,
        MANGAT_SINGH_SINGH_TWICE,
        # yes or no, with people who do not follow the rules
        CHEATING,
        LIE_DETECTOR,
        # several categories
        GREENBERG,
        LIU_CHOW,
        BOURKE_DALENIUS,
        KARY,
        SUBSET,
        RAPPOR,
        OUE,
        LDIVERSE,
        # several categories, yes or no, several samples
        ABUL_ELA,
        GREENBERG_STATEMENTS,
        # sets of items
        BITS,
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
