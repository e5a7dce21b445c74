"""What a released file can still tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.utility.utility_measures import compare_regressions as compare_regressions
    from maskwell.microdata.utility.utility_report import UtilityReport as UtilityReport
    from maskwell.microdata.utility.utility_report import assess_utility as assess_utility
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "utility_measures": ["compare_regressions"],
            "utility_report": ["UtilityReport", "assess_utility"],
        },
    )
