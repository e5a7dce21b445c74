"""Designs: the algebra of P, one structure a file behind one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.designs.basket_bits import item_bits as item_bits
    from maskwell.designs.blocks import Blocks as Blocks
    from maskwell.designs.composed import Composed as Composed
    from maskwell.designs.dense import Dense as Dense
    from maskwell.designs.design import Design as Design
    from maskwell.designs.kronecker import Kronecker as Kronecker
    from maskwell.designs.mixture import Mixture as Mixture
    from maskwell.designs.sparse import Sparse as Sparse
    from maskwell.designs.subset import LocalDiversity as LocalDiversity
    from maskwell.designs.subset import Subset as Subset
    from maskwell.designs.unary import Unary as Unary
    from maskwell.designs.uniform import Uniform as Uniform
    from maskwell.designs.wire import design_from_dict as design_from_dict
    from maskwell.designs.wire import load_design as load_design
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "basket_bits": ["item_bits"],
            "blocks": ["Blocks"],
            "composed": ["Composed"],
            "dense": ["Dense"],
            "design": ["Design"],
            "kronecker": ["Kronecker"],
            "mixture": ["Mixture"],
            "sparse": ["Sparse"],
            "subset": ["LocalDiversity", "Subset"],
            "unary": ["Unary"],
            "uniform": ["Uniform"],
            "wire": ["design_from_dict", "load_design"],
        },
    )
