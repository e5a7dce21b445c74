"""Cells of a table with the total of their slice: what conditional shares are ratios of.

Cells a = Pi[i, j], totals b = Pi[i, +], and the variances and covariances of both. They are read off the covariance of
all cells or, for tables too large to have one, found by the operators of the designs: with U the unbiased indicator of
one report,

    E[U_ij U_i+]  =  sum_z lam[z] L_x[i, z_x]^2 L_y[j, z_y]

the left inverse with squared entries along the given axes, the plain one along the others.

Source: derived from [NayakZhangAdeshiyan2016, eq. (1.3)].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.kronecker import along_axes
from maskwell.estimation.joint.collapse import collapsed, covariance_of
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate


def slices_of(estimate: Estimate, layout: Layout, order: Sequence[int], fixed: int) -> list[Real]:
    """``a, b, Var a, Cov(a, b), Var b``, all of shape (slices, cells in a slice).

    ``order`` names the axes, those of the given variables first; ``fixed`` says how many these are.
    """
    operators = estimate.covariance is None and _has_operators(estimate, layout, order[:fixed])
    found = (_from_operators if operators else _from_covariance)(estimate, layout, order, fixed)
    return [np.broadcast_to(x, found[0].shape) for x in found]


def _has_operators(estimate: Estimate, layout: Layout, fixed: Sequence[int]) -> bool:
    counted = estimate.method == "moments" and len(estimate.samples) == 1
    return counted and layout.whole_devices(sorted(fixed)) is not None


def _rows(x: Real, layout: Layout, order: Sequence[int], fixed: int) -> Real:
    """Cells in the order of ``order``, one row for each slice."""
    slices = int(np.prod([layout.shape[axis] for axis in order[:fixed]]))
    return x.reshape(layout.shape).transpose(order).reshape(slices, -1)


def _from_covariance(estimate: Estimate, layout: Layout, order: Sequence[int], fixed: int) -> list[Real]:
    q, shape, a = len(order), layout.shape, _rows(estimate.pi_hat, layout, order, fixed)
    V = covariance_of(estimate).reshape(*shape, *shape).transpose([*order, *(q + axis for axis in order)])
    V = V.reshape(*a.shape, *a.shape)
    cross = np.einsum("ijil->ij", V)
    return [a, a.sum(axis=1, keepdims=True), np.einsum("ijij->ij", V), cross, cross.sum(axis=1, keepdims=True)]


def _from_operators(estimate: Estimate, layout: Layout, order: Sequence[int], fixed: int) -> list[Real]:
    a, var_a = (_rows(x, layout, order, fixed) for x in (estimate.pi_hat, estimate.variance))
    total = collapsed(estimate, layout, [layout.names[axis] for axis in order[:fixed]])[0]
    b, var_b = total.pi_hat[:, None], total.variance[:, None]
    squared = {layout.variables[axis].device for axis in order[:fixed]}
    operators = [d.backward_squared if i in squared else d.backward for i, d in enumerate(layout.devices)]
    share = estimate.samples[0].counts.share()
    both = _rows(along_axes(share, [d.m for d in layout.devices], operators), layout, order, fixed)
    return [a, b, var_a, (both - a * b) / (estimate.n - 1), var_b]
