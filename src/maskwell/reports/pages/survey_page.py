"""A page for people: one file that needs no other, from an estimate and the design behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.documents import version_text
from maskwell.core.exact import to_text
from maskwell.core.percentages import bound_in_percent, percent
from maskwell.core.phrases import Printed, round_up
from maskwell.core.verdicts import largest
from maskwell.designs.design import Design
from maskwell.estimation.share_estimate import Estimate
from maskwell.privacy.criteria import Demand, stands_for
from maskwell.reports import plain_words
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.revelation import plot_revealed
from maskwell.reports.pictures.transition_picture import plot_flows
from maskwell.reports.plain_words import count
from maskwell.reports.report import Facts, environment, page_style
from maskwell.reports.text.design_report import count_of_reports

GROWTH = (0.25, 1, 4, 16)


@dataclass(frozen=True, eq=False, kw_only=True)
class PageContent:
    """The content of a page."""

    title: str  # title, question, lead: heading, the question that people were asked, and the answer in one sentence
    question: str
    lead: str
    design: Design  # design, estimate: the design that made the reports, and what was learned from them
    estimate: Estimate
    demand: Demand | None = None  # what was asked of the design, if anything
    truth: Real | None = None  # true shares where they are known, as in a simulation
    reported: Real | None = None  # shares of the reports, where they are the same categories as the truths
    notice: str = ""  # a sentence that must not be overlooked, such as that the data are made up
    # what the reader may type, each with a word on what it does
    commands: Sequence[tuple[str, str]] = field(default=())
    level: float = 0.95  # of the intervals


def page(content: PageContent) -> str:
    """The whole page as text."""
    template = environment().get_template("report.html")
    return template.render(
        content=content,
        css=page_style(),
        version=version_text(),
        figures=_figures(content),
        promise=_promise(content),
        key_figures=_key_figures(content),
        estimates=_estimate_rows(content),
        cost=_cost(content),
        facts="\n".join(Facts(_facts(content)).to_html()),
    )


def _figures(content: PageContent) -> dict[str, Picture]:
    likeliest = largest(content.estimate.pi_hat)
    return {
        "learned": plot_learned(content.estimate, truth=content.truth, reported=content.reported, level=content.level),
        "revealed": plot_revealed(stands_for(content.design)),
        "flows": plot_flows(content.design, truth=content.design.inputs.labels[likeliest]),
    }


def _promise(content: PageContent) -> dict[str, Any]:
    parity = stands_for(content.design)
    bounded = not isinstance(parity, float)
    return {
        "general": plain_words.promise(parity),
        "concrete": [plain_words.concrete(parity, p) for p in plain_words.PRIORS[:3]] if bounded else [],
        "repetition": plain_words.repetition(parity),
        "met": None if content.demand is None else content.demand.met_by(content.design),
    }


def _key_figures(content: PageContent) -> list[tuple[str, str, str]]:
    """Name, value and unit of what a reader wants first."""
    design, estimate = content.design, content.estimate
    widest = float(np.nan_to_num(_half_widths(content)).max())
    return [
        ("Reports", f"{estimate.n:,}", "randomized answers"),
        ("Odds change at most", f"× {plain_words.factor_up(stands_for(design))}", "up or down, by one report"),
        (
            "Widest interval",
            f"± {percent(widest, _decimals(content))}",
            f"points, at {Printed(100 * content.level):g} %",
        ),
        ("Worth about", _open_answers(content), "open answers, for the same error"),
    ]


def _half_widths(content: PageContent) -> Real:
    return content.estimate.intervals(content.level).half_width


def _decimals(content: PageContent) -> int:
    return plain_words.decimals_for(_half_widths(content).tolist())


def _open_answers(content: PageContent) -> str:
    """How many open answers would give the same summed variance: n times the sampling part of it, to two digits."""
    estimate = content.estimate
    whole, open_ = float(estimate.variance.sum()), float(estimate.sampling_variance.sum())
    worth = estimate.n * open_ / whole if whole > 0 else 0.0
    return f"{int(float(f'{Printed(worth):.2g}')):,}" if worth >= 1 else "–"


def _root(variance: Real) -> Real:
    """Square roots, NaN where an estimate of a variance is negative."""
    return np.sqrt(variance, out=np.full(variance.shape, np.nan), where=variance >= 0)


def _estimate_rows(content: PageContent) -> list[dict[str, str]]:
    estimate, places = content.estimate, _decimals(content)
    roots = {
        "error": estimate.standard_error,
        "sampling": _root(estimate.sampling_variance),
        "randomization": _root(estimate.randomization_variance),
    }
    low, high = estimate.confidence_interval(content.level).T
    columns = {"estimate": estimate.pi_hat, "low": low, "high": high, **roots}
    optional = {"reported": content.reported, "truth": content.truth}
    columns |= {name: values for name, values in optional.items() if values is not None}
    return [
        {
            "label": str(label),
            **{name: percent(float(values[i]), places + (name in roots)) for name, values in columns.items()},
        }
        for i, label in enumerate(estimate.categories)
    ]


def _cost(content: PageContent) -> dict[str, Any]:
    """How the widest interval shrinks with more people, and what open answers would give."""
    estimate = content.estimate
    z = NormalDist().inv_cdf((1 + content.level) / 2)
    widest = largest(np.nan_to_num(_half_widths(content)))
    total, open_ = z * estimate.standard_error[widest], z * _root(estimate.sampling_variance)[widest]
    places = _decimals(content) + 1
    rows = [
        (f"{Printed(estimate.n * g):,.0f}", *(percent(one / g**0.5, places) for one in (total, open_))) for g in GROWTH
    ]
    return {"label": str(estimate.categories[widest]), "rows": rows, "now": GROWTH.index(1)}


def _facts(content: PageContent) -> list[tuple[str, str]]:
    design, estimate = content.design, content.estimate
    guess = bound_in_percent(design.guess_probability(), up=True)
    unaided = bound_in_percent(Fraction(1, design.k), up=False)
    return [
        *([] if content.demand is None else [("Demand", content.demand.text)]),
        ("Structure", f"{design.kind}, {count(design.k)} truths, {count_of_reports(design)} reports"),
        ("Parity, exact", to_text(design.parity_exact())),
        ("ε, rounded up", f"{round_up(design.epsilon(), 4):.12g}"),
        ("Best guess of a truth from one report", f"{guess} right"),
        ("Without a report", f"{unaided} right, all answers equally likely"),
        ("Estimated by", f"{estimate.method}, {estimate.intervals(content.level).name} intervals"),
        ("Fingerprint of the design", design.fingerprint),
    ]
