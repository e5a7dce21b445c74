"""The form in which a design goes into a certificate, so that a short program can check it.

Designs made of steps, of open cells or of non-zeros are written out as one matrix. In a proof of improvement, where
every row counts, so are products and designs whose reports are sets. The matrix is another design file with a
fingerprint of its own; ``provenance["written_out"]`` names the design that it was made from.
"""

from __future__ import annotations

from functools import singledispatch

from maskwell.core.categories import Categories
from maskwell.core.report_data import Reports
from maskwell.designs.base import EXACT_LIMIT, Design, big
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.mixture import Mixture
from maskwell.designs.patterns import Patterns
from maskwell.designs.set_reports import SetDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import TooLargeError


@singledispatch
def provable(design: Design) -> Design:
    """The same design, with parts of steps, cells and non-zeros written out.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> coin = Uniform.from_gamma(3, Categories.of(["yes", "no"]))
    >>> provable(coin).kind, provable(Composed.of(coin, coin)).kind
    ('uniform', 'dense')
    """
    return design


@provable.register(Blocks)
@provable.register(Composed)
@provable.register(Sparse)
def written_out(design: Design) -> Dense:
    """The matrix of a design, with the same labels; sets are labelled by 0/1 texts."""
    if isinstance(design, SetDesign) and design.k**2 > EXACT_LIMIT:  # there are at least k sets
        raise _too_large(design)
    try:
        rows = design.exact_matrix()
    except TooLargeError as error:
        raise _too_large(design) from error
    made = {"kind": design.kind, "fingerprint": design.fingerprint}
    return Dense.of(rows, design.inputs, _reports(design)).noting_decimals(design).with_provenance(written_out=made)


def _reports(design: Design) -> Categories:
    if isinstance(design.outputs, Categories):
        return design.outputs
    return Categories.of(Reports(design.fingerprint, design.k, "bits", design.report_space()).texts())


def _too_large(design: Design) -> TooLargeError:
    return TooLargeError(
        f"this {design.kind} design over {big(design.k)} categories must be written out, and its matrix is too large",
        hint=f"certify its parts, or matrices of at most {EXACT_LIMIT:,} entries",
        k=design.k,
    )


@provable.register
def _factors(design: Kronecker) -> Design:
    factors = [provable(factor) for factor in design.factors]
    if all(new is old for new, old in zip(factors, design.factors, strict=True)):
        return design
    made = {"kind": design.kind, "fingerprint": design.fingerprint}
    return Kronecker.of(factors).noting_decimals(design).with_provenance(written_out=made)


def provable_rows(design: Design) -> Design:
    """The same for a proof that goes through every row: products and reports that are sets are written out too."""
    return design if isinstance(design, Dense | Mixture | Patterns | Uniform) else written_out(design)
