"""Margins of a table: the shares of some of its variables.

For independent devices the margin of the unbiased joint estimate is the estimate from the margin of the reports,
exactly: ``1' L = 1'``, so that summing over the true categories of a variable is summing over its reports. Margins of
most likely tables are the most likely shares for the reports of these variables alone; where cells are at their bound,
or there are more reports than categories, the cells of the table sum to others, which is flagged. Margins of estimates
that do not rest on plain counts, and of variables that share a device with others, are sums of cells, with their
covariance.

Source: [Adeshiyan2011, section 3.3]; derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.joint.estimating import estimate_by
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample
from maskwell.estimation.sampling.result import SurveyEstimate

OWN_MARGIN = "a margin is the most likely one for its own reports alone: the cells of the table sum to other shares"
TOGETHER = 1e-6  # most likely shares are found up to about this
NO_PARTS = "the parts of the variance of a margin are not told apart: estimate this variable alone for them"


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
    """Sums over all but these axes, which come in this order.

    >>> summed(np.array([[1.0, 2.0], [3.0, 4.0]]), [1]).tolist()
    [4.0, 6.0]
    """
    left = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return np.asarray(left).transpose([sorted(axes).index(axis) for axis in axes])


def covariance_of(estimate: Estimate) -> Real:
    """The covariance of all cells, or an error where there are too many."""
    if estimate.covariance is None:
        raise TooLargeError(
            f"covariances of {len(estimate.pi_hat):,} cells were left out",
            hint="first take the table of fewer variables: table.collapse_to(...)",
        )
    return estimate.covariance


def known_covariance_of(estimate: Estimate) -> Real:
    """The covariance of all cells, or an error where some of it is not defined."""
    found = covariance_of(estimate)
    if not np.isfinite(found).all():
        raise ParameterError(
            f"this estimate by {estimate.method} has no covariance: a share is at its bound of 0 or 1",
            hint="estimate by moments, or test on the reports with method='pearson'",
        )
    return found


def _kept(layout: Layout, axes: Sequence[int]) -> Layout:
    devices = list(dict.fromkeys(layout.variables[axis].device for axis in axes))
    variables = [layout.variables[axis] for axis in axes]
    moved = [Variable(v.name, v.inputs, v.outputs, devices.index(v.device)) for v in variables]
    return Layout(tuple(layout.devices[d] for d in devices), tuple(moved))


def _from_reports(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    counted = summed(estimate.samples[0].counts.values.reshape(layout.report_shape), axes)
    found = estimate_by(estimate.method, Sample.of(counted.ravel(), kept.design))
    if np.abs(found.pi_hat - _summed_list(estimate.pi_hat, layout.shape, axes)).max() <= TOGETHER:
        return found
    return replace(found, flags=(*found.flags, OWN_MARGIN))


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
        flags=(*estimate.flags, NO_PARTS),
        samples=(),
        moments=None,
        **_totals(estimate, layout, axes),
    )


def _totals(estimate: Estimate, layout: Layout, axes: Sequence[int]) -> dict[str, Any]:
    """Numbers of units, where the estimate has them."""
    if not isinstance(estimate, SurveyEstimate) or estimate.total_covariance is None:
        return {}
    spread = _summed_square(estimate.total_covariance, layout.shape, axes)
    total = _summed_list(estimate.total, layout.shape, axes)
    return {"total": total, "total_covariance": spread, "total_variance": np.diag(spread).copy(), "domains": {}}


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
