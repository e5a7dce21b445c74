"""Margins of a table: the shares of some of its variables.

For independent devices the margin of the unbiased joint estimate is the estimate from the margin of the reports,
exactly: ``1' L = 1'``, so that summing over the true categories of a variable is summing over its reports. Margins of
most likely tables are the most likely margins. Margins of estimates that do not rest on plain counts, and of variables
that share a device with others, are sums of cells, with their covariance.

Source: [Adeshiyan2011, section 3.3]; derived.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import TooLargeError
from maskwell.estimation.joint.estimating import estimate_by
from maskwell.estimation.joint.variables import Layout, Variable
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample

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


def summed_covariance(estimate: Estimate, shape: Sequence[int], axes: Sequence[int]) -> Real:
    """Covariances of the sums over all but these axes, shape (cells kept, cells kept)."""
    V, q = covariance_of(estimate).reshape(*shape, *shape), len(shape)
    part = summed(V, [*axes, *(q + axis for axis in axes)])
    size = int(np.prod([shape[axis] for axis in axes]))
    return part.reshape(size, size)


def covariance_of(estimate: Estimate) -> Real:
    """The covariance of all cells, or an error where there are too many."""
    if estimate.covariance is None:
        raise TooLargeError(
            f"covariances of {len(estimate.pi_hat):,} cells were left out",
            hint="first take the table of fewer variables: table.collapse_to(...)",
        )
    return estimate.covariance


def _kept(layout: Layout, axes: Sequence[int]) -> Layout:
    devices = list(dict.fromkeys(layout.variables[axis].device for axis in axes))
    variables = [layout.variables[axis] for axis in axes]
    moved = [Variable(v.name, v.inputs, v.outputs, devices.index(v.device)) for v in variables]
    return Layout(tuple(layout.devices[d] for d in devices), tuple(moved))


def _from_reports(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    counted = summed(estimate.samples[0].counts.values.reshape(layout.report_shape), axes)
    return estimate_by(estimate.method, Sample.of(counted.ravel(), kept.design))


def _from_cells(estimate: Estimate, layout: Layout, axes: Sequence[int], kept: Layout) -> Estimate:
    pi_hat = summed(estimate.pi_hat.reshape(layout.shape), axes).ravel()
    covariance = summed_covariance(estimate, layout.shape, axes)
    unknown = np.full(len(pi_hat), np.nan)
    return Estimate(
        categories=kept.cell_labels(),
        pi_hat=pi_hat,
        variance=np.diag(covariance).copy(),
        sampling_variance=unknown,
        randomization_variance=unknown,
        covariance=covariance,
        n=estimate.n,
        method=estimate.method,
        fingerprint=estimate.fingerprint,
        flags=(*estimate.flags, NO_PARTS),
    )
