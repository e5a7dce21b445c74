"""Respondents, margin and power with a given design, as text for a terminal."""

from __future__ import annotations

import shlex

from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.planning.power import PowerPlan
from maskwell.planning.sample_size import SamplePlan
from maskwell.planning.unit_variance import Sampling, UnitVariance
from maskwell.reports.tables import broken, counted, facts, label, notes, number, shorten
from maskwell.reports.text import made_as

SHOWN = 6


def sample_text(plan: SamplePlan, path: str) -> list[str]:
    """How many respondents, what they give, and where the error comes from."""
    give = "gives" if plan.n == 1 else "give"
    answer = (
        f"With {path}, {_counted(plan.n)} {give} the share of {_named(plan.label)} within {number(plan.margin, 3)}."
    )
    lines = [*broken(answer), *facts(_sample_facts(plan))]
    lines += notes(plan.warnings(), word="warning")
    return [*lines, f"Next: maskwell audit {shlex.quote(path)}"]


def _sample_facts(plan: SamplePlan) -> list[tuple[str, str]]:
    worst = "the worst shares there can be: " if plan.worst_case else ""
    shown = [
        ("design", made_as(plan.design)),
        ("planned for", f"{worst}{_shares(plan.design, plan.pi)}; {Printed(100 * plan.level):g} % intervals"),
        *_sampling(plan.sampling),
        ("variance, times n", _parts(plan.variance)),
    ]
    if plan.worst_n is not None and plan.worst_margin is not None and not plan.worst_case:
        shown.append(("whatever the shares", _either(plan.worst_margin, plan.worst_n, plan.margin)))
    direct = _either(plan.direct_margin, plan.direct_n, plan.margin)
    return [*shown, ("asked directly", f"{direct}, but without protection")]


def _either(margin: float, n: int, wanted: float) -> str:
    return f"within {number(margin, 3)}; within {number(wanted, 3)} from {_counted(n)}"


def power_text(plan: PowerPlan, path: str) -> list[str]:
    """How many respondents find the difference, with which chance."""
    what = f"a share of {number(plan.against, 4)} of {_named(plan.label)} instead of {number(plan.null, 4)}"
    find = "finds" if plan.n == 1 else "find"
    answer = f"With {path}, {_counted(plan.n)} {find} {what} with a chance of {number(plan.power, 3)}."
    below, above = plan.detectable
    found = [f"from {number(above, 4)} upwards"] if above is not None else []
    found += [f"down from {number(below, 4)}"] if below is not None else []
    pairs = [
        ("design", made_as(plan.design)),
        ("test", f"two-sided, false alarms {number(plan.alpha, 3)}; hypothesis {_shares(plan.design, plan.pi)}"),
        *_sampling(plan.sampling),
        ("variance, times n", f"{_parts(plan.variance_null)} under the hypothesis"),
        ("", f"{_parts(plan.variance_against)} against it"),
        ("found as surely", " and ".join(found) or "nothing between 0 and 1"),
        ("interval then", f"within {number(plan.margin, 3)}, {Printed(100 * (1 - plan.alpha)):g} %"),
        ("asked directly", f"{_counted(plan.direct_n)}, but without protection"),
    ]
    return [*broken(answer), *facts(pairs), f"Next: maskwell audit {shlex.quote(path)}"]


def _sampling(sampling: Sampling) -> list[tuple[str, str]]:
    if sampling.simple:
        return []
    text = (
        f"deff {number(sampling.deff, 4)} on the sampling part, weights with cv {number(sampling.cv_weights, 4)} raise "
        f"the randomization part by {number(100 * (sampling.weighting - 1), 3)} %"
    )
    return [("complex sample", text)]


def _parts(variance: UnitVariance) -> str:
    sampling, randomization = number(variance.sampling, 4), number(variance.randomization, 4)
    return f"{number(variance.total, 5)} = {sampling} sampling + {randomization} randomization"


def _shares(design: Design, pi: Real) -> str:
    """The shares that are not 0, or the first of them."""
    shown = [(one, p) for one, p in zip(design.inputs.labels, pi.tolist(), strict=True) if p > 0]
    texts = [f"{_named(one)} {number(p, 4)}" for one, p in shown[:SHOWN]]
    return ", ".join([*texts, *(["..."] if len(shown) > SHOWN else [])])


def _named(one: object) -> str:
    return shorten(label(one), 24)


def _counted(n: int) -> str:
    return counted(n, "respondent", "respondents")
