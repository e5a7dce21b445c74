"""Regression with a randomized outcome or predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.estimation.regression.anchor_models import Anchor as Anchor
    from maskwell.estimation.regression.anchor_models import estimate_with_anchor as estimate_with_anchor
    from maskwell.estimation.regression.anchor_models import fit_with_anchor as fit_with_anchor
    from maskwell.estimation.regression.logit_models import fit_logistic as fit_logistic
    from maskwell.estimation.regression.logit_models import fit_multinomial as fit_multinomial
    from maskwell.estimation.regression.predictor_models import RandomizedPredictor as RandomizedPredictor
    from maskwell.estimation.regression.predictor_models import fit_predictor as fit_predictor
    from maskwell.estimation.regression.regression_result import Regression as Regression
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "anchor_models": ["Anchor", "estimate_with_anchor", "fit_with_anchor"],
            "logit_models": ["fit_logistic", "fit_multinomial"],
            "predictor_models": ["RandomizedPredictor", "fit_predictor"],
            "regression_result": ["Regression"],
        },
    )
