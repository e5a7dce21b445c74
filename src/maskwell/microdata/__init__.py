"""Microdata to be published: plans, releases and their receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata import analysis as analysis
    from maskwell.microdata import matrices as matrices
    from maskwell.microdata import risk as risk
    from maskwell.microdata import utility as utility
    from maskwell.microdata.assessment import assess_file as assess_file
    from maskwell.microdata.folder.receipt import Receipt as Receipt
    from maskwell.microdata.folder.receipt import load_receipt as load_receipt
    from maskwell.microdata.plans.plan_drafts import starting_plan as starting_plan
    from maskwell.microdata.plans.protection import Protection as Protection
    from maskwell.microdata.plans.release_plan import ReleasePlan as ReleasePlan
    from maskwell.microdata.plans.release_plan import load_plan as load_plan
    from maskwell.microdata.plans.sdcmicro_plans import design_from_sdcmicro as design_from_sdcmicro
    from maskwell.microdata.plans.sdcmicro_plans import plan_from_sdcmicro as plan_from_sdcmicro
    from maskwell.microdata.publication import ReleasedTable as ReleasedTable
    from maskwell.microdata.publication import release_table as release_table
    from maskwell.microdata.release_values import Assessment as Assessment
    from maskwell.microdata.release_values import Release as Release
    from maskwell.microdata.risk_utility import RecodeEffect as RecodeEffect
    from maskwell.microdata.risk_utility import RiskUtilityPoint as RiskUtilityPoint
    from maskwell.microdata.risk_utility import recode_effects as recode_effects
    from maskwell.microdata.risk_utility import risk_utility_map as risk_utility_map
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        ["analysis", "matrices", "risk", "utility"],
        submod_attrs={
            "assessment": ["assess_file"],
            "folder.receipt": ["Receipt", "load_receipt"],
            "plans.plan_drafts": ["starting_plan"],
            "plans.protection": ["Protection"],
            "plans.release_plan": ["ReleasePlan", "load_plan"],
            "plans.sdcmicro_plans": ["design_from_sdcmicro", "plan_from_sdcmicro"],
            "risk_utility": ["RecodeEffect", "RiskUtilityPoint", "recode_effects", "risk_utility_map"],
            "publication": ["ReleasedTable", "release_table"],
            "release_values": ["Assessment", "Release"],
        },
    )
