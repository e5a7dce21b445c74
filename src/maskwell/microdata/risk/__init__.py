"""What an intruder can learn from a released file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.risk.attribute_disclosure import attribute_risk as attribute_risk
    from maskwell.microdata.risk.attribute_disclosure import best_guess as best_guess
    from maskwell.microdata.risk.file_risk import assess_risk as assess_risk
    from maskwell.microdata.risk.identity_disclosure import cell_risks as cell_risks
    from maskwell.microdata.risk.match_chances import match_risk as match_risk
    from maskwell.microdata.risk.repeated_releases import TwoReleases as TwoReleases
    from maskwell.microdata.risk.repeated_releases import repeated_guess as repeated_guess
    from maskwell.microdata.risk.risk_report import RiskReport as RiskReport
    from maskwell.microdata.risk.risk_report import record_risks as record_risks
    from maskwell.microdata.risk.special_unique_scores import special_uniques as special_uniques
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "attribute_disclosure": ["attribute_risk", "best_guess"],
            "file_risk": ["assess_risk"],
            "identity_disclosure": ["cell_risks"],
            "match_chances": ["match_risk"],
            "repeated_releases": ["TwoReleases", "repeated_guess"],
            "risk_report": ["RiskReport", "record_risks"],
            "special_unique_scores": ["special_uniques"],
        },
    )
