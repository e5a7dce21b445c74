"""Estimates from a released file, as its receipt allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.release.analysis.release_estimates import Analysis as Analysis
    from maskwell.release.analysis.release_estimates import ReleasedColumns as ReleasedColumns
    from maskwell.release.analysis.release_estimates import estimate_each_released as estimate_each_released
    from maskwell.release.analysis.release_estimates import estimate_released as estimate_released
    from maskwell.release.analysis.table_routes import ReleasedSurvey as ReleasedSurvey
    from maskwell.release.analysis.table_routes import survey_of_release as survey_of_release
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "release_estimates": ["Analysis", "ReleasedColumns", "estimate_each_released", "estimate_released"],
            "table_routes": ["ReleasedSurvey", "survey_of_release"],
        },
    )
