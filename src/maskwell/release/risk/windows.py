"""Distributions of arrivals without one given record, for many targets at once, by the characteristic function.

For each target (a row of summands and the probability p with which the target arrives there) the distribution of

    T' = T without the target

is found on a window that holds all but 1e-17 of it. Windows of one length are transformed together, and only at the
frequencies where the characteristic function is above 1e-18: for large cells a few dozen, whatever their size.
Source: derived; the window and the two real arrays of [Adeshiyan2011, section 4.7.4] computed as in the theory page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.risk.summands import SMALL, Summands

_TAIL = 39.2  # -log of the mass left out on each side
_FADED = 20.8  # -log(1e-18) / 2: beyond, the characteristic function is nothing
_NEARLY_ALL = 0.9
_WORK = 1 << 22


@dataclass(frozen=True, eq=False)
class Window:
    """Distributions of T' for some targets.

    Attributes
    ----------
    targets
        Which targets, by number.
    first
        Shape (targets,): the value of T' in the first column.
    pmf
        Shape (targets, length): Pr(T' = first + column); zero or more, with an absolute error near 1e-16.
    """

    targets: Array
    first: Array
    pmf: Real


def windows(rows: Summands, row: Array, p: Real) -> Iterator[Window]:
    """The windows of all targets, in groups of equal length; target i looks at ``row[i]`` with probability ``p[i]``."""
    variance = np.maximum(rows.variance[row] - p * (1 - p), 0.0)
    mean = rows.mean[row] - p
    reach = 13.1 + np.sqrt(171.7 + 2 * _TAIL * variance)  # Bernstein's inequality, solved for the distance
    first = np.maximum(rows.certain[row] - (p == 1), np.floor(mean - reach)).astype(np.int64)
    last = np.minimum(rows.reach[row] - (p > 0), np.ceil(mean + reach)).astype(np.int64)
    length = 1 << np.ceil(np.log2(last - first + 2)).astype(np.int64)  # with room for T = T' + 1
    starts = np.searchsorted(rows.row, np.arange(len(rows.shift) + 1))
    for size in np.unique(length).tolist():
        same = np.flatnonzero(length == size)
        frequencies = _frequencies(size, float(variance[same].min()))
        step = max(1, _WORK // max(size, len(frequencies) * 8))
        for begin in range(0, len(same), step):
            own = same[begin : begin + step]
            log_size, angle = _logarithm(rows, starts, row[own], p[own], first[own], frequencies)
            yield Window(own, first[own], _inverted(log_size, angle, size))


def _frequencies(size: int, variance: float) -> Real:
    """The frequencies of a transform of this size up to where |phi| <= exp(-2 var sin^2(w / 2)) fades."""
    sine = 1.0 if variance <= _FADED else np.sqrt(_FADED / variance)
    count = min(size // 2, int(np.ceil(2 * np.arcsin(sine) * size / (2 * np.pi)))) + 1
    return 2 * np.pi * np.arange(count) / size


def _logarithm(rows: Summands, starts: Array, row: Array, p: Real, first: Array, w: Real) -> tuple[Real, Real]:
    """Modulus (its logarithm) and angle of ``phi(w) exp(-i w first)`` of T', shape (targets, frequencies)."""
    ups = _without(rows.ups[row], p, p <= SMALL)
    downs = _without(rows.downs[row], 1 - p, p >= 1 - SMALL)
    powers = np.arange(1, max(ups.shape[1], downs.shape[1]) + 1)[:, None]
    v = (2 * np.sin(w / 2) ** 2 - 1j * np.sin(w)) ** powers / powers
    v.imag[0] += w  # the mean is taken out of the angle and put back below, so that large counts lose no digits
    log_size = -(ups @ v.real[: ups.shape[1]] + downs @ v.real[: downs.shape[1]])
    angle = downs @ v.imag[: downs.shape[1]] - ups @ v.imag[: ups.shape[1]]
    moved = rows.shift[row] - (p >= 1 - SMALL) - first + ups[:, 0] - downs[:, 0]
    angle += moved[:, None] * w
    looked_at, place = np.unique(row, return_inverse=True)
    for out, listed in zip((log_size, angle), _listed(rows, starts, looked_at, w), strict=True):
        out += listed[place]
    between = np.flatnonzero((p > SMALL) & (p < 1 - SMALL))
    for out, one in zip((log_size, angle), _terms(np.ones(len(between)), p[between], w), strict=True):
        out[between] -= one
    return log_size, angle


def _without(sums: Real, p: Real, counted: Array) -> Real:
    """Power sums after taking out one record where it is counted in them."""
    powers = np.arange(1, sums.shape[1] + 1)
    return sums - np.where(counted[:, None], p[:, None] ** powers, 0.0)


def _listed(rows: Summands, starts: Array, looked_at: Array, w: Real) -> tuple[Real, Real]:
    """The listed terms of some rows, summed, shape (rows looked at, frequencies)."""
    sizes = starts[looked_at + 1] - starts[looked_at]
    place = np.repeat(np.arange(len(looked_at)), sizes)
    term = np.arange(len(place)) + np.repeat(starts[looked_at] - (np.cumsum(sizes) - sizes), sizes)
    log_size, angle = np.zeros((2, len(looked_at), len(w)))
    step = max(1, _WORK // len(w))
    for begin in range(0, len(term), step):
        own, at = term[begin : begin + step], place[begin : begin + step]
        first = np.flatnonzero(np.diff(at, prepend=-1))
        for out, values in zip((log_size, angle), _terms(rows.n[own], rows.p[own], w), strict=True):
            out[at[first]] += np.add.reduceat(values, first, axis=0)
    return log_size, angle


def _terms(n: Array, p: Real, w: Real) -> tuple[Real, Real]:
    """``N log(1 - p + p exp(i w))`` as logarithm of the modulus and angle, shape (terms, frequencies)."""
    half = np.sin(w / 2) ** 2
    lost = np.outer(4 * p * (1 - p), half)
    real, imaginary = 1 - np.outer(2 * p, half), np.outer(p, np.sin(w))
    # near p = 1/2 and w = pi nothing is left of 1 - lost but rounding, which the root would make a million times larger
    near = lost > _NEARLY_ALL
    log_size = np.log1p(-np.where(near, 0.0, lost))
    log_size[near] = 2 * np.log(np.hypot(real[near], imaginary[near]))
    return n[:, None] / 2 * log_size, n[:, None] * np.arctan2(imaginary, real)


def _inverted(log_size: Real, angle: Real, size: int) -> Real:
    """The probabilities; what rounding makes negative, near 1e-17, is zero."""
    phi = np.exp(log_size) * np.exp(-1j * angle)
    return np.maximum(np.fft.irfft(phi, n=size, axis=1), 0.0)
