"""Named devices of the literature, and how to carry them out with cards, dice and spinners."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.procedures.nonrandomized import sensitivity_to_q as sensitivity_to_q
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "nonrandomized": ["sensitivity_to_q"],
        },
    )
