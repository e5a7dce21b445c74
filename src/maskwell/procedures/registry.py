"""Every named procedure, by the name typed on the command line.

A new procedure is one file that ends with a :class:`~maskwell.procedures.procedure.Procedure`, and one line here.
"""

from __future__ import annotations

from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.base import Design
from maskwell.errors import ParameterError
from maskwell.procedures.abul_ela import ABUL_ELA
from maskwell.procedures.bits import BITS
from maskwell.procedures.bourke_dalenius import BOURKE_DALENIUS
from maskwell.procedures.cheating import CHEATING
from maskwell.procedures.chow import CHOW
from maskwell.procedures.christofides import CHRISTOFIDES
from maskwell.procedures.crosswise import CROSSWISE
from maskwell.procedures.devore import DEVORE
from maskwell.procedures.forced import FORCED
from maskwell.procedures.greenberg import GREENBERG
from maskwell.procedures.greenberg_statements import GREENBERG_STATEMENTS
from maskwell.procedures.kary import KARY
from maskwell.procedures.kim_warde import KIM_WARDE
from maskwell.procedures.kuk import KUK
from maskwell.procedures.ldiverse import LDIVERSE
from maskwell.procedures.lie_detector import LIE_DETECTOR
from maskwell.procedures.liu_chow import LIU_CHOW
from maskwell.procedures.mangat import MANGAT
from maskwell.procedures.mangat_singh import MANGAT_SINGH
from maskwell.procedures.mangat_singh_singh import MANGAT_SINGH_SINGH
from maskwell.procedures.mangat_singh_singh_twice import MANGAT_SINGH_SINGH_TWICE
from maskwell.procedures.oue import OUE
from maskwell.procedures.procedure import Procedure
from maskwell.procedures.rappor import RAPPOR
from maskwell.procedures.simmons import SIMMONS
from maskwell.procedures.simmons_twice import SIMMONS_TWICE
from maskwell.procedures.singh_joarder import SINGH_JOARDER
from maskwell.procedures.soberanis_cruz import SOBERANIS_CRUZ
from maskwell.procedures.subset import SUBSET
from maskwell.procedures.triangular import TRIANGULAR
from maskwell.procedures.warner import WARNER

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
    """The procedure of that name, or an error that lists them all.

    >>> procedure_named("crosswise").reports
    ('same', 'different')
    """
    if name not in PROCEDURES:
        raise ParameterError(
            f"no procedure is called {name!r}", hint=f"the names are {', '.join(PROCEDURES)}", name=name
        )
    return PROCEDURES[name]


def make_design(
    family: str,
    *,
    categories: Categories | None = None,
    reports: Categories | None = None,
    allow_unidentifiable: bool = False,
    **parameters: Any,
) -> Design:
    """The design of a named family, as ``maskwell design FAMILY`` makes it; parameters bear the same names.

    >>> warner = make_design("warner", p="0.7")
    >>> warner.parity_exact(), warner.outputs.labels   # "yes" is 7/3 times likelier from those concerned
    (Fraction(7, 3), ('yes', 'no'))
    """
    check_kind(str, family=family)
    check_kind(Categories | None, categories=categories, reports=reports)
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    return procedure_named(family).design(
        parameters, categories=categories, reports=reports, allow_unidentifiable=allow_unidentifiable
    )
