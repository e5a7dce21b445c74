"""Margins: the shares of some of the variables of a table, or of one place of categories that are tuples.

For independent devices the margin of the unbiased joint estimate is the estimate from the margin of the reports,
exactly: ``1' L = 1'``, so that summing over the true categories of a variable is summing over its reports. Margins of
most likely tables are the most likely shares for the reports of these variables alone; where cells are at their bound,
or there are more reports than categories, the cells of the table sum to others, which is flagged. Margins of estimates
that do not rest on plain counts, and of variables that share a device with others, are sums of cells, with their
covariance:

    theta = C pi_hat,     Cov(theta) = C Cov(pi_hat) C'

where C has a row of 0 and 1 for each answer. So are those of designs whose truths are pairs, such as an own and an
unrelated answer, which note which of the two is wanted.

Source: [Adeshiyan2011, section 3.3]; derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Real, as_whole, check_kind
from maskwell.core.verdicts import is_outside
from maskwell.designs.design import Design
from maskwell.errors import LabelError, ParameterError, TooLargeError
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.maximum_likelihood import estimate_by
from maskwell.estimation.moments import sampling_part
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import ROUNDING, Estimate, Sample, raised_to
from maskwell.notes import Note

OWN_MARGIN = "a margin is the most likely one for its own reports alone: the cells of the table sum to other shares"
TOGETHER = 1e-6  # most likely shares are found up to about this


def collapsed(estimate: Estimate, layout: Layout, names: Sequence[str]) -> tuple[Estimate, Layout]:
    """The estimate of these variables, in this order, and their layout."""
    axes = layout.axes(names)
    if list(axes) == list(range(len(layout.variables))):
        return estimate, layout
    kept = _kept(layout, axes)
    if len(estimate.samples) == 1 and layout.whole_devices(axes) is not None:
        return _from_reports(estimate, layout, axes, kept), kept
    return _from_cells(estimate, layout, axes, kept), kept


def summed(table: Real, axes: Sequence[int]) -> Real:
    """Sums over all but these axes, which come in this order."""
    left = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return np.asarray(left).transpose([sorted(axes).index(axis) for axis in axes])


def covariance_of(estimate: Estimate) -> Real:
    """The covariance of all cells, or an error where there are too many."""
    spread = raised_to(estimate.variance, estimate.covariance)
    if spread is None:
        raise TooLargeError("covariances-of-cells-were-left-out", pi_hat_count=len(estimate.pi_hat))
    return spread


def known_covariance_of(estimate: Estimate) -> Real:
    """The covariance of all cells, or an error where some of it is not defined."""
    covariance = covariance_of(estimate)
    if not np.isfinite(covariance).all():
        raise ParameterError("this-estimate-by-has-no-covariance", method=estimate.method)
    return covariance


def _kept(layout: Layout, axes: Sequence[int]) -> Layout:
    devices = list(dict.fromkeys(layout.variables[axis].device for axis in axes))
    variables = [layout.variables[axis] for axis in axes]
    moved = [Variable(v.name, v.inputs, v.outputs, devices.index(v.device)) for v in variables]
    return Layout(tuple(layout.devices[d] for d in devices), tuple(moved))


def _from_reports(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    counted = summed(estimate.samples[0].counts.values.reshape(layout.report_shape), axes)
    margin = estimate_by(estimate.method, Sample.of(counted.ravel(), kept.design))
    if np.abs(margin.pi_hat - _summed_list(estimate.pi_hat, layout.shape, axes)).max() <= TOGETHER:
        return margin
    return replace(margin, flags=(*margin.flags, Note("a-margin-is-the-most-likely")))


def _from_cells(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    """Sums of cells. Which part of their variance is randomization cannot be told without the reports."""
    covariance = _summed_square(covariance_of(estimate), layout.shape, axes)
    unknown = np.full(len(covariance), np.nan)
    return replace(
        estimate,
        categories=kept.cell_labels(),
        pi_hat=_summed_list(estimate.pi_hat, layout.shape, axes),
        variance=np.diag(covariance).copy(),
        sampling_variance=unknown,
        randomization_variance=unknown,
        covariance=covariance,
        fingerprint=_fingerprint(estimate, layout, axes, kept),
        flags=(*estimate.flags, Note("the-parts-of-the-variance")),
        samples=(),
        moments=None,
        **_totals(estimate, layout, axes),
    )


def _totals(estimate: Estimate, layout: Layout, axes: Sequence[int]) -> dict[str, Any]:
    """Numbers of units, where the estimate has them."""
    if not isinstance(estimate, SurveyEstimate):
        return {}
    whole = raised_to(estimate.total_variance, estimate.total_covariance)
    if whole is None:
        return {}
    spread = _summed_square(whole, layout.shape, axes)
    total = _summed_list(estimate.total, layout.shape, axes)
    variance = np.diag(spread).copy()
    plain: dict[str, Any] = {"domains": {}, "simple_covariance": None, "used": ()}
    return {"total": total, "total_covariance": spread, "total_variance": variance, **plain}


def _fingerprint(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> str:
    """That of the remaining designs, where the estimate rests on them alone."""
    whole = layout.whole_devices(axes) is not None and estimate.fingerprint == layout.design.fingerprint
    return kept.design.fingerprint if whole else estimate.fingerprint


def _summed_list(x: Real, shape: Sequence[int], axes: Sequence[int]) -> Real:
    return summed(x.reshape(shape), axes).ravel()


def _summed_square(V: Real, shape: Sequence[int], axes: Sequence[int]) -> Real:
    size = int(np.prod([shape[axis] for axis in axes]))
    part = summed(V.reshape(*shape, *shape), [*axes, *(len(shape) + axis for axis in axes)])
    return part.reshape(size, size)


SUMMED = ("wald", "logit", "bonferroni", "scheffe")
"""Intervals that need no more than a standard error, and so can be had for sums."""


def of_sums(interval: str | None) -> str | None:
    """The method of the intervals of sums where this one was asked for: the same, or the default."""
    return interval if interval in SUMMED else None


def wanted_margin(estimate: Estimate, design: Design) -> tuple[str, Estimate] | None:
    """The variable that a design of pairs is there for, by name, and its shares; None for any other design."""
    check_kind(Estimate, estimate=estimate)
    check_kind(Design, design=design)
    place = design.wanted_place
    if place is None:
        return None
    wanted = str(design.provenance["wanted"])
    if tuple(estimate.categories) == tuple(design.inputs.labels):
        return wanted, margin_of(estimate, place)
    told = any(isinstance(category, tuple) and category[0] == wanted for category in estimate.categories)
    return (wanted, _variable_of(estimate, wanted)) if told else None


def _variable_of(estimate: Estimate, name: str) -> Estimate:
    """The shares of one variable of an estimate that has those of several, named (variable, category)."""
    named = [(place, c) for place, c in enumerate(estimate.categories) if isinstance(c, tuple) and c[0] == name]
    C = np.zeros((len(named), len(estimate.categories)))
    C[np.arange(len(named)), [place for place, _ in named]] = 1
    return summed_shares(estimate, C, tuple(category for _, (_, category) in named))


def margin_of(estimate: Estimate, place: int) -> Estimate:
    """The shares of the answers in one place of the categories, with the errors of sums.

    Under a sampling plan totals and domains are summed too; the two parts of the variance are then not told apart.
    """
    place = as_whole(place, "place", low=-1000)
    check_kind(Estimate, estimate=estimate)
    answers = _answers(estimate.categories, place)
    C = np.array([[float(one == answer) for one in answers] for answer in dict.fromkeys(answers)])
    return summed_shares(estimate, C, tuple(dict.fromkeys(answers)))


def summed_shares(estimate: Estimate, C: Real, categories: tuple[Hashable, ...]) -> Estimate:
    """``C pi`` with the errors of sums; C has a row of 0 and 1 for each sum."""
    spread = raised_to(estimate.variance, estimate.covariance)
    pi_hat, covariance = C @ estimate.pi_hat, _covariance(C, spread)
    variance = np.diagonal(covariance).copy()
    survey = isinstance(estimate, SurveyEstimate)
    sampling = np.full(len(C), np.nan) if survey else sampling_part(pi_hat, variance, estimate.n)
    summed = replace(
        estimate,
        categories=categories,
        pi_hat=pi_hat,
        variance=variance,
        sampling_variance=sampling,
        randomization_variance=variance - sampling,
        covariance=covariance,
        flags=estimate.flags if np.isnan(pi_hat).all() else _flags(pi_hat),
        samples=(),
        moments=None if estimate.moments is None else C @ estimate.moments,
        inverse=None,
        sums_of=(estimate, C),
    )
    return _with_totals(summed, C) if isinstance(summed, SurveyEstimate) else summed


def _with_totals(estimate: SurveyEstimate, C: Real) -> SurveyEstimate:
    covariance = _covariance(C, raised_to(estimate.total_variance, estimate.total_covariance))
    return replace(
        estimate,
        total=C @ estimate.total,
        total_variance=np.diagonal(covariance).copy(),
        total_covariance=covariance,
        domains={
            label: cast(SurveyEstimate, summed_shares(one, C, tuple(estimate.categories)))
            for label, one in estimate.domains.items()
        },
        simple_covariance=None
        if estimate.simple_covariance is None or estimate.simple_covariance.ndim == 1
        else C @ estimate.simple_covariance @ C.T,
    )


def _answers(categories: Sequence[Hashable], place: int) -> list[Hashable]:
    tuples = [label for label in categories if isinstance(label, tuple) and -len(label) <= place < len(label)]
    if len(tuples) < len(categories):
        raise LabelError("the-categories-are-no-tuples", place=place, categorie=str(categories[0])[:40])
    return [label[place] for label in tuples]


def _covariance(C: Real, covariance: Real | None) -> Real:
    if covariance is None:
        raise TooLargeError("covariances-were-left-out-so-sums-have")
    summed, scale = C @ covariance @ C.T, np.abs(C) @ np.abs(covariance) @ np.abs(C).T
    return np.asarray(np.where(np.abs(summed) <= ROUNDING * scale, 0.0, summed))  # all categories are 1 for sure


def _flags(pi_hat: Real) -> tuple[str, ...]:
    if not is_outside(pi_hat).any():
        return ()
    return ("an estimate lies outside [0, 1], as unbiased estimates of small shares may; do not cut it",)
