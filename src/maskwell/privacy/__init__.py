"""What a design promises: demands, audits and certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.privacy.certificate import Certificate as Certificate
    from maskwell.privacy.curves import Lines as Lines
    from maskwell.privacy.curves import Steps as Steps
    from maskwell.privacy.design_audit import AverageSecurity as AverageSecurity
    from maskwell.privacy.posterior_probabilities import hazard as hazard
    from maskwell.privacy.posterior_probabilities import jeopardy as jeopardy
    from maskwell.privacy.posterior_probabilities import posterior as posterior
    from maskwell.privacy.smooth_curves import Smooth as Smooth
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "certificate": ["Certificate"],
            "curves": ["Lines", "Steps"],
            "design_audit": ["AverageSecurity"],
            "posterior_probabilities": ["hazard", "jeopardy", "posterior"],
            "smooth_curves": ["Smooth"],
        },
    )
