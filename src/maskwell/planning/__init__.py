"""Choosing, improving and comparing designs; sample size and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.planning.extremal import extremal_design as extremal_design
    from maskwell.planning.one_sided import best_one_sided as best_one_sided
    from maskwell.planning.one_sided import improve_one_sided as improve_one_sided
    from maskwell.planning.order import order_of as order_of
    from maskwell.planning.respondent_variance import unit_variance as unit_variance
    from maskwell.planning.set_sizes import matching_gamma as matching_gamma
    from maskwell.planning.set_sizes import minimax_size as minimax_size
    from maskwell.planning.several_questions import plan_questions as plan_questions
    from maskwell.planning.stratum_allocation import Stratum as Stratum
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "extremal": ["extremal_design"],
            "one_sided": ["best_one_sided", "improve_one_sided"],
            "order": ["order_of"],
            "respondent_variance": ["unit_variance"],
            "set_sizes": ["matching_gamma", "minimax_size"],
            "several_questions": ["plan_questions"],
            "stratum_allocation": ["Stratum"],
        },
    )
