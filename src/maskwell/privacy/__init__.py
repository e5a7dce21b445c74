"""What a design promises: demands, audits and certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.privacy.certificate import Certificate as Certificate
    from maskwell.privacy.certificate import certify as certify
    from maskwell.privacy.certificate_check import load_certificate as load_certificate
    from maskwell.privacy.certificate_check import verify_certificate as verify_certificate
    from maskwell.privacy.criteria import Demand as Demand
    from maskwell.privacy.curves import Lines as Lines
    from maskwell.privacy.curves import Steps as Steps
    from maskwell.privacy.design_audit import Audit as Audit
    from maskwell.privacy.design_audit import AverageSecurity as AverageSecurity
    from maskwell.privacy.design_audit import audit as audit
    from maskwell.privacy.measures import Measure as Measure
    from maskwell.privacy.posterior_probabilities import from_jeopardy as from_jeopardy
    from maskwell.privacy.posterior_probabilities import hazard as hazard
    from maskwell.privacy.posterior_probabilities import jeopardy as jeopardy
    from maskwell.privacy.posterior_probabilities import posterior as posterior
    from maskwell.privacy.posterior_probabilities import posterior_of as posterior_of
    from maskwell.privacy.smooth_curves import Smooth as Smooth
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "certificate": ["Certificate", "certify"],
            "certificate_check": ["load_certificate", "verify_certificate"],
            "criteria": ["Demand"],
            "curves": ["Lines", "Steps"],
            "design_audit": ["Audit", "AverageSecurity", "audit"],
            "measures": ["Measure"],
            "posterior_probabilities": ["from_jeopardy", "hazard", "jeopardy", "posterior", "posterior_of"],
            "smooth_curves": ["Smooth"],
        },
    )
