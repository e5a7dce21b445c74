"""What an intruder can learn from a released file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.risk.attribute_disclosure import AttributeRisk as AttributeRisk
    from maskwell.microdata.risk.attribute_disclosure import attribute_risk as attribute_risk
    from maskwell.microdata.risk.attribute_disclosure import best_guess as best_guess
    from maskwell.microdata.risk.attribute_disclosure import binary_guess as binary_guess
    from maskwell.microdata.risk.attribute_disclosure import conditional_proportion as conditional_proportion
    from maskwell.microdata.risk.attribute_disclosure import guess_probability as guess_probability
    from maskwell.microdata.risk.attribute_disclosure import posterior_matrix as posterior_matrix
    from maskwell.microdata.risk.attribute_disclosure import predictive_disclosure as predictive_disclosure
    from maskwell.microdata.risk.contributions import level_contributions as level_contributions
    from maskwell.microdata.risk.contributions import variable_contributions as variable_contributions
    from maskwell.microdata.risk.file_risk import assess_risk as assess_risk
    from maskwell.microdata.risk.identity_disclosure import CellRisks as CellRisks
    from maskwell.microdata.risk.identity_disclosure import cell_risks as cell_risks
    from maskwell.microdata.risk.identity_disclosure import individual_risk as individual_risk
    from maskwell.microdata.risk.match_chances import MatchRisk as MatchRisk
    from maskwell.microdata.risk.match_chances import match_risk as match_risk
    from maskwell.microdata.risk.match_chances import match_risk_row as match_risk_row
    from maskwell.microdata.risk.repeated_releases import TwoReleases as TwoReleases
    from maskwell.microdata.risk.repeated_releases import repeated_guess as repeated_guess
    from maskwell.microdata.risk.risk_report import FileRisk as FileRisk
    from maskwell.microdata.risk.risk_report import RiskReport as RiskReport
    from maskwell.microdata.risk.risk_report import record_risks as record_risks
    from maskwell.microdata.risk.special_unique_scores import SpecialUniques as SpecialUniques
    from maskwell.microdata.risk.special_unique_scores import special_uniques as special_uniques
    from maskwell.microdata.risk.unit_risk import UnitRisk as UnitRisk
    from maskwell.microdata.risk.unit_risk import unit_risks as unit_risks
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "attribute_disclosure": [
                "AttributeRisk",
                "attribute_risk",
                "best_guess",
                "binary_guess",
                "conditional_proportion",
                "guess_probability",
                "posterior_matrix",
                "predictive_disclosure",
            ],
            "contributions": ["level_contributions", "variable_contributions"],
            "file_risk": ["assess_risk"],
            "identity_disclosure": ["CellRisks", "cell_risks", "individual_risk"],
            "match_chances": ["MatchRisk", "match_risk", "match_risk_row"],
            "repeated_releases": ["TwoReleases", "repeated_guess"],
            "risk_report": ["FileRisk", "RiskReport", "record_risks"],
            "special_unique_scores": ["SpecialUniques", "special_uniques"],
            "unit_risk": ["UnitRisk", "unit_risks"],
        },
    )
