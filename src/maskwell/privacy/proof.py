"""The proof of admissibility that goes into a certificate: the witness of every row, or one row that fails.

Rows with the same set are proportional and share a witness, with the sum of their weights; a row of zeros has none.
Where all categories are treated alike, one witness stands for all sets of one size, with the sum over those sets.
"""

from __future__ import annotations

from typing import Any

from maskwell.core.exact import Parity, to_text
from maskwell.designs.base import Design
from maskwell.designs.kronecker import Kronecker
from maskwell.privacy.admissible import Judged, judged_rows
from maskwell.privacy.shapes import shapes


def proof_of(design: Design, level: Parity) -> dict[str, Any] | None:
    """Whether a design is admissible at a level, with the proof in exact text.

    None where nothing is claimed: without a bound on parity, and for products, whose rows are not looked at one by one.

    >>> from maskwell.designs.dense import Dense
    >>> from fractions import Fraction
    >>> proof_of(Dense.of([["2/3", "1/3"], ["1/3", "2/3"]]), Fraction(2))["witness"]
    [{'rows': [0], 'set': [0], 'weight': '1/3'}, {'rows': [1], 'set': [1], 'weight': '1/3'}]
    """
    if isinstance(level, float) or isinstance(design, Kronecker):
        return None
    judged = list(judged_rows(design, level))
    wrong = next((row for row in judged if row.fails), None)
    said = {"exactly": wrong is None, "level": to_text(level)}
    if wrong is not None:
        return {**said, **_fault(wrong)}
    impossible = [i for shape in shapes(design) if not shape.is_possible for i in shape.rows]
    return {**said, "witness": [row.witness() for row in judged], "impossible": impossible}


def _fault(row: Judged) -> dict[str, Any]:
    shape = row.shape
    named = {"size": shape.sizes.start} if shape.sizes else {"row": shape.rows[0]}
    return {**named, "fails": row.fails, "parity": to_text(shape.parity), "values": len(shape.values)}
