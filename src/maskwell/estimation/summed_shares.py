"""Margins: the shares of some variables of a table, or of one place of tuples of answers; ``theta = C pi_hat``.

For independent devices the margin of the unbiased joint estimate is the estimate from the margin of the reports, since
``1' L = 1'``; margins of most likely tables are the most likely shares for these reports alone, and flagged where the
cells sum to others. Source: [Adeshiyan2011, section 3.3]; derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.verdicts import is_outside
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.maximum_likelihood import estimate_by
from maskwell.estimation.moments import sampling_part
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import ROUNDING, Estimate, Sample, Sums, raised_to
from maskwell.notes import Note

OWN_MARGIN = "each margin maximises the likelihood of its own reports only: the cells of the table sum to other shares"
TOGETHER = 1e-6  # most likely shares are found up to about this


def collapsed(estimate: Estimate, layout: Layout, names: Sequence[str]) -> tuple[Estimate, Layout]:
    """The estimate of these variables, in this order, and their layout."""
    axes = layout.axes(names)
    if list(axes) == list(range(len(layout.variables))):
        return estimate, layout
    devices = list(dict.fromkeys(layout.variables[axis].device for axis in axes))
    variables = [replace(v, device=devices.index(v.device)) for v in (layout.variables[axis] for axis in axes)]
    kept = Layout(tuple(layout.devices[device] for device in devices), tuple(variables))
    if len(estimate.samples) != 1 or layout.whole_devices(axes) is None:
        return _from_cells(estimate, layout, axes, kept), kept
    counted = summed(estimate.samples[0].counts.values.reshape(layout.report_shape), axes)
    margin = estimate_by(estimate.method, Sample.of(counted.ravel(), kept.design))
    sums = summed(estimate.pi_hat.reshape(layout.shape), axes).ravel()
    if np.abs(margin.pi_hat - sums).max() > TOGETHER:
        margin = replace(margin, flags=(*margin.flags, Note("a-margin-is-the-most-likely")))
    return margin, kept


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


def _from_cells(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    """Sums of cells. Which part of their variance is randomization cannot be computed without the reports."""
    covariance = _summed_square(covariance_of(estimate), layout.shape, axes)
    alone = layout.whole_devices(axes) is not None and estimate.fingerprint == layout.design.fingerprint
    more: dict[str, Any] = {}
    if isinstance(estimate, SurveyEstimate):
        more = {"domains": {}, "simple_covariance": None, "used": ()}
        whole = raised_to(estimate.total_variance, estimate.total_covariance)
        assert whole is not None  # covariances of shares and of totals are left out together
        spread = _summed_square(whole, layout.shape, axes)
        more |= {"total_covariance": spread, "total_variance": np.diag(spread).copy()}
        more["total"] = summed(estimate.total.reshape(layout.shape), axes).ravel()
    return replace(
        estimate,
        categories=kept.cell_labels(),
        pi_hat=summed(estimate.pi_hat.reshape(layout.shape), axes).ravel(),
        variance=np.diag(covariance).copy(),
        variance_parts=(np.full(len(covariance), np.nan),) * 2,
        covariance=covariance,
        fingerprint=kept.design.fingerprint if alone else estimate.fingerprint,
        flags=(*estimate.flags, Note("the-parts-of-the-variance")),
        basis=(),
        moments=None,
        **more,
    )


def _summed_square(V: Real, shape: Sequence[int], axes: Sequence[int]) -> Real:
    size = int(np.prod([shape[axis] for axis in axes]))
    part = summed(V.reshape(*shape, *shape), [*axes, *(len(shape) + axis for axis in axes)])
    return part.reshape(size, size)


SUMMED = ("wald", "logit", "bonferroni", "scheffe")  # intervals that need a standard error only, as sums have


def of_sums(interval: str | None) -> str | None:
    """The method of the intervals of sums where this one was asked for: the same, or the default."""
    return interval if interval in SUMMED else None


def wanted_margin(estimate: Estimate, design: Design) -> tuple[str, Estimate] | None:
    """The variable that a design of pairs is there for, by name, and its shares; None for any other design."""
    place = design.wanted_place
    if place is None:
        return None
    wanted = str(design.provenance["wanted"])
    if tuple(estimate.categories) == tuple(design.inputs.labels):
        return wanted, margin_of(estimate, place)
    named = [label for label in estimate.categories if isinstance(label, tuple) and label[0] == wanted]
    C = np.array([[float(one == label) for one in estimate.categories] for label in named])
    return (wanted, summed_shares(estimate, C, tuple(category for _, category in named))) if named else None


def margin_of(estimate: Estimate, place: int) -> Estimate:
    """The shares of the answers in one place of the categories, which are tuples, with the errors of sums."""
    answers = [label[place] for label in cast(Sequence[tuple[Hashable, ...]], estimate.categories)]
    different = tuple(dict.fromkeys(answers))
    C = np.array([[float(one == answer) for one in answers] for answer in different])
    return summed_shares(estimate, C, different)


def summed_shares(estimate: Estimate, C: Real, categories: tuple[Hashable, ...]) -> Estimate:
    """``C pi`` with the errors of sums; C has a row of 0 and 1 for each sum."""
    pi_hat, covariance = C @ estimate.pi_hat, _covariance(C, raised_to(estimate.variance, estimate.covariance))
    variance = np.diagonal(covariance).copy()
    more: dict[str, Any] = {}
    sampling = sampling_part(pi_hat, variance, estimate.n)
    if isinstance(estimate, SurveyEstimate):
        sampling = np.full(len(C), np.nan)
        totals = _covariance(C, raised_to(estimate.total_variance, estimate.total_covariance))
        simple = estimate.simple_covariance
        more = {
            "total": C @ estimate.total,
            "total_variance": np.diagonal(totals).copy(),
            "total_covariance": totals,
            "domains": {label: summed_shares(one, C, categories) for label, one in estimate.domains.items()},
            "simple_covariance": None if simple is None or simple.ndim == 1 else C @ simple @ C.T,
        }
    outside = "an estimate lies outside [0, 1], as unbiased estimates of small shares may; do not cut it"
    flags = (outside,) if is_outside(pi_hat).any() else ()
    return replace(
        estimate,
        categories=categories,
        pi_hat=pi_hat,
        variance=variance,
        variance_parts=(sampling, variance - sampling),
        covariance=covariance,
        flags=estimate.flags if np.isnan(pi_hat).all() else flags,
        basis=Sums(estimate, C),
        moments=None if estimate.moments is None else C @ estimate.moments,
        **more,
    )


def _covariance(C: Real, covariance: Real | None) -> Real:
    if covariance is None:
        raise TooLargeError("covariances-were-left-out-so-sums-have")
    summed, scale = C @ covariance @ C.T, np.abs(C) @ np.abs(covariance) @ np.abs(C).T
    return np.asarray(np.where(np.abs(summed) <= ROUNDING * scale, 0.0, summed))  # all categories are 1 for sure
