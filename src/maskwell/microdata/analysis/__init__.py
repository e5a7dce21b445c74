"""Estimates from a released file, as its receipt allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.analysis.release_estimates import Analysis as Analysis
    from maskwell.microdata.analysis.release_estimates import estimate_released as estimate_released
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__, submod_attrs={"release_estimates": ["Analysis", "estimate_released"]}
    )
