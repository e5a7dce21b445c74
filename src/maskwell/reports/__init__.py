"""Results for people: text, pictures, pages and sheets for a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.reports.device.device_sheets import SheetOptions as SheetOptions
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "device.device_sheets": ["SheetOptions"],
        },
    )
