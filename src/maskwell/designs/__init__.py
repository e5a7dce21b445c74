"""Designs: the algebra of P, one structure a file behind one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.designs.blocks import Blocks as Blocks
    from maskwell.designs.composed import Composed as Composed
    from maskwell.designs.dense import Dense as Dense
    from maskwell.designs.kronecker import Kronecker as Kronecker
    from maskwell.designs.mixture import Mixture as Mixture
    from maskwell.designs.sparse import Sparse as Sparse
    from maskwell.designs.subset import LocalDiversity as LocalDiversity
    from maskwell.designs.subset import Subset as Subset
    from maskwell.designs.unary import Unary as Unary
    from maskwell.designs.uniform import Uniform as Uniform
    from maskwell.designs.wire import design_from_dict as design_from_dict
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "blocks": ["Blocks"],
            "composed": ["Composed"],
            "dense": ["Dense"],
            "kronecker": ["Kronecker"],
            "mixture": ["Mixture"],
            "sparse": ["Sparse"],
            "subset": ["LocalDiversity", "Subset"],
            "unary": ["Unary"],
            "uniform": ["Uniform"],
            "wire": ["design_from_dict"],
        },
    )
