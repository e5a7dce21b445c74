"""The form in which a design goes into a certificate, so that a short program can check it.

Designs made of steps or of open cells are written out as one matrix; so are products in a proof of improvement, where
every row counts. Other products keep their factors. The matrix is another design file with a fingerprint of its own;
``provenance["written_out"]`` names the design that it was made from.
"""

from __future__ import annotations

from functools import singledispatch

from maskwell.designs.base import EXACT_LIMIT, Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.kronecker import Kronecker
from maskwell.errors import TooLargeError


@singledispatch
def provable(design: Design) -> Design:
    """The same design, with parts of steps and cells written out.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> coin = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> provable(coin).kind, provable(Composed.of(coin, coin)).kind
    ('uniform', 'dense')
    """
    return design


@provable.register(Blocks)
@provable.register(Composed)
def written_out(design: Design) -> Dense:
    """The matrix of a design whose reports are codes, with the same labels."""
    try:
        rows = design.exact_matrix()
    except TooLargeError as error:
        raise TooLargeError(
            f"{error.message}, and a {design.kind} design is certified by its matrix",
            hint=f"certify its parts, or designs of at most {EXACT_LIMIT:,} entries",
        ) from error
    made = {"kind": design.kind, "fingerprint": design.fingerprint}
    return Dense.of(rows, design.inputs, design.outputs).with_provenance(written_out=made)  # type: ignore[arg-type]


@provable.register
def _factors(design: Kronecker) -> Design:
    factors = [provable(factor) for factor in design.factors]
    if all(new is old for new, old in zip(factors, design.factors, strict=True)):
        return design
    return Kronecker.of(factors).with_provenance(written_out={"kind": design.kind, "fingerprint": design.fingerprint})


def provable_rows(design: Design) -> Design:
    """The same for a proof that goes through every row: products are written out too."""
    return written_out(design) if isinstance(design, Kronecker) else provable(design)
