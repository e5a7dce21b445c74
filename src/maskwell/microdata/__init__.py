"""Microdata to be published: plans, releases and their receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata import matrices as matrices
    from maskwell.microdata.folder.receipt import Receipt as Receipt
    from maskwell.microdata.folder.receipt import load_receipt as load_receipt
    from maskwell.microdata.plans.protection import Protection as Protection
    from maskwell.microdata.plans.release_plan import load_plan as load_plan
    from maskwell.microdata.plans.sdcmicro_plans import design_from_sdcmicro as design_from_sdcmicro
    from maskwell.microdata.plans.sdcmicro_plans import plan_from_sdcmicro as plan_from_sdcmicro
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        ["matrices"],
        submod_attrs={
            "folder.receipt": ["Receipt", "load_receipt"],
            "plans.protection": ["Protection"],
            "plans.release_plan": ["load_plan"],
            "plans.sdcmicro_plans": ["design_from_sdcmicro", "plan_from_sdcmicro"],
        },
    )
