"""A design, or the matrix of one, as people give it."""

from __future__ import annotations

from typing import Any

from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.errors import WrongTypeError


def design_of(P: Any) -> CodedDesign:
    """The design that was given, or that of a matrix whose columns sum to one.

    >>> design_of([[0.7, 0.2], [0.3, 0.8]]).parity_exact()
    Fraction(7, 2)
    """
    if isinstance(P, CodedDesign):
        return P
    if hasattr(P, "reports_are_sets"):
        raise WrongTypeError(
            f"a {P.kind} design reports sets of categories; one released value for each record is needed",
            hint="give a design whose reports are codes, or its matrix",
        )
    return Dense.of(P)
