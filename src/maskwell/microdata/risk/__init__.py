"""What an intruder can learn from a released file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.risk.file_risk import assess_risk as assess_risk
    from maskwell.microdata.risk.risk_report import RiskReport as RiskReport
    from maskwell.microdata.risk.risk_report import record_risks as record_risks
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__, submod_attrs={"file_risk": ["assess_risk"], "risk_report": ["RiskReport", "record_risks"]}
    )
