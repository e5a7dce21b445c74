"""Choosing, improving and comparing designs; sample size and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.planning.candidates import frontier as frontier
    from maskwell.planning.comparison import compare as compare
    from maskwell.planning.comparison import efficiency_of as efficiency_of
    from maskwell.planning.design_choice import Choice as Choice
    from maskwell.planning.design_choice import choose as choose
    from maskwell.planning.extremal import Extremal as Extremal
    from maskwell.planning.extremal import extremal_design as extremal_design
    from maskwell.planning.improvement import Improvement as Improvement
    from maskwell.planning.improvement import improve as improve
    from maskwell.planning.one_sided import best_one_sided as best_one_sided
    from maskwell.planning.one_sided import improve_one_sided as improve_one_sided
    from maskwell.planning.one_sided import ratio_for as ratio_for
    from maskwell.planning.order import Order as Order
    from maskwell.planning.order import order_of as order_of
    from maskwell.planning.order import sufficiency as sufficiency
    from maskwell.planning.power import PowerPlan as PowerPlan
    from maskwell.planning.power import plan_test as plan_test
    from maskwell.planning.respondent_variance import unit_variance as unit_variance
    from maskwell.planning.respondent_variance import worst_shares as worst_shares
    from maskwell.planning.sample_allocation import allocate_samples as allocate_samples
    from maskwell.planning.sample_size import SamplePlan as SamplePlan
    from maskwell.planning.sample_size import plan_sample as plan_sample
    from maskwell.planning.set_sizes import matching_gamma as matching_gamma
    from maskwell.planning.set_sizes import matching_l as matching_l
    from maskwell.planning.set_sizes import minimax_size as minimax_size
    from maskwell.planning.set_sizes import variance_table as variance_table
    from maskwell.planning.several_questions import QuestionsPlan as QuestionsPlan
    from maskwell.planning.several_questions import plan_questions as plan_questions
    from maskwell.planning.stratum_allocation import Allocation as Allocation
    from maskwell.planning.stratum_allocation import Stratum as Stratum
    from maskwell.planning.stratum_allocation import allocate_strata as allocate_strata
    from maskwell.planning.tuning import tuned as tuned
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "candidates": ["frontier"],
            "comparison": ["compare", "efficiency_of"],
            "design_choice": ["Choice", "choose"],
            "extremal": ["Extremal", "extremal_design"],
            "improvement": ["Improvement", "improve"],
            "one_sided": ["best_one_sided", "improve_one_sided", "ratio_for"],
            "order": ["Order", "order_of", "sufficiency"],
            "power": ["PowerPlan", "plan_test"],
            "respondent_variance": ["unit_variance", "worst_shares"],
            "sample_allocation": ["allocate_samples"],
            "sample_size": ["SamplePlan", "plan_sample"],
            "set_sizes": ["matching_gamma", "matching_l", "minimax_size", "variance_table"],
            "several_questions": ["QuestionsPlan", "plan_questions"],
            "stratum_allocation": ["Allocation", "Stratum", "allocate_strata"],
            "tuning": ["tuned"],
        },
    )
