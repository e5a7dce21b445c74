"""Shares from a released file whose records were randomized so that counts stay the same on average.

A matrix P with ``P N = N`` makes the released shares ``p = M / n`` unbiased without any correction. What remains is
their variance. With P known (the data holder),

    W = (D_p - P D_p P') / n,     V = (D_p - p p' + W) / (n - 1) + W

are unbiased for the part of randomization and for the whole. Without P (everybody else) the variance of every sum
of shares at most doubles, ``V(a'p) <= (2 - 1/n) V_open(a'p)``, and

    V_max = (2n - 1) / (n - 1)^2 (D_p - p p')

is at least that on average. Where the file itself is the target, as for a census, only the part of randomization
counts. Records never leave their block where P has blocks, so the bound holds block by block and totals of blocks are
exact.

Source: [Adeshiyan2011, section 4.6, eqs. (4.10) to (4.18)], [NayakZhangAdeshiyan2016, Theorem 2.1]; V, V_max, weights
and blocks derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, as_list, check_counts, check_kind
from maskwell.core.exact import check_probability
from maskwell.core.groups import Factor
from maskwell.core.verdicts import above
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.estimation.direct_estimate import DirectEstimate, Released
from maskwell.estimation.release_variance import (
    COVARIANCE_LIMIT,
    check_coefficients,
    check_keeps,
    check_length,
    second_moments,
)
from maskwell.notes import Note

BOUNDED = "this table is not kept: intervals are wider by a bound of its bias, standard errors leave it out"
WITH_WEIGHTS = "weights: the sampling part takes rows as drawn one by one; clusters and strata would change it"
NEGATIVE = "a variance, or its part of randomization, is estimated below zero: too few records in a category"
NO_SQUARES = (
    "the matrix cannot be turned around, so the squared weights of the true categories are not known: the part of "
    "randomization is an upper bound"
)
TARGETS = ("population", "file")
TURNS_AROUND = 1e4
"""Condition of a matrix up to which squared weights of the true categories are worked out."""

Parts = tuple[Real, Real]
"""Sampling and randomization part of a covariance, each of shape (k, k), or (k,) where only variances are kept."""


def estimate_invariant(
    released: Any,
    P: Any,
    *,
    target: str = "population",
    counts: Any = None,
    weights: Any = None,
    squares: Any = None,
) -> DirectEstimate:
    """Shares and their unbiased covariance from a released file, by somebody who knows the matrix.

    Parameters
    ----------
    released
        Released records in each category, shape (k,); the order of the design.
    P
        The design that randomized them, or its matrix. It kept the counts: ``P N = N``.
    target
        "population": the file is a sample of it; "file": the shares of the original file, as for a census.
    counts
        The original counts (weighted ones with weights), where they are known: to check that P keeps them.
    weights, squares
        Sums of the weights and of their squares over the released records of each category, for weighted shares; P
        then kept the weighted counts.

    Source: [Adeshiyan2011, eq. (4.10)]; variance derived, in place of the display before (4.16), which needs N.

    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> shares = estimate_invariant([11, 9, 3], P)
    >>> shares.pi_hat.round(3).tolist(), shares.standard_error.round(3).tolist()
    ([0.478, 0.391, 0.13], [0.143, 0.152, 0.1])
    """
    design, data = design_of(P), Released.of(released, weights, squares)
    _check_square(design, data)
    if counts is not None:
        check_keeps(design, check_counts(counts, weighted=data.weighted))
    find = _known_weighted if data.weighted else _known
    parts, flags = find(design, data, full=design.k <= COVARIANCE_LIMIT)
    return _assembled(data, design.inputs.labels, target, parts, design.fingerprint, flags)


def estimate_moved(
    released: Any,
    covariance: Real,
    *,
    categories: Sequence[Hashable],
    target: str = "population",
    weights: Any = None,
    squares: Any = None,
) -> DirectEstimate:
    """Shares from a released file that kept its counts on average, by somebody who knows how much records moved.

        V = (D_p - p p' + C) / (n - 1) + C

    where C is ``covariance``, that of the released shares given the file (shape (k, k)), or an unbiased estimate of it;
    ``released`` and the rest as for :func:`estimate_unknown`. With weights the first part is that of
    ``sum w^2 (e - p)(e - p)'`` over the records. Source: derived, as for :func:`estimate_invariant`.
    """
    data = Released.of(released, weights, squares)
    parts = _sampling_known(data, covariance, full=True), covariance
    return _assembled(data, categories, target, parts, "known", _negative(*parts))


def estimate_unknown(
    released: Any,
    *,
    categories: Sequence[Hashable] | None = None,
    blocks: Any = None,
    target: str = "population",
    weights: Any = None,
    squares: Any = None,
) -> DirectEstimate:
    """Shares from a released file that kept its counts on average, by somebody who does not know the matrix.

    Standard errors are bounds that hold whatever the matrix was. Any sum of categories is a case of this too: tables
    and their margins are counted and estimated as they stand.

    Parameters
    ----------
    released
        Released records in each category, shape (k,).
    categories
        Their labels.
    blocks
        For each category the number of its block, where records are known never to have left their block, such as the
        cells within which was randomized; their totals are exact. One block unless given.
    target, weights, squares
        As for :func:`estimate_invariant`.

    Source: [Adeshiyan2011, eqs. (4.17), (4.18)], [NayakZhangAdeshiyan2016, Theorem 2.1]; the estimate of the bound,
    blocks and weights derived.

    >>> shares = estimate_unknown([110, 60, 30], categories=["a", "b", "c"])
    >>> shares.confidence_interval()[0].round(3).tolist()   # 200 released records tell at least as much as 100
    [0.453, 0.644]
    >>> estimate_unknown([110, 60, 30], target="file", blocks=[0, 0, 1]).standard_error.round(3).tolist()
    [0.031, 0.031, 0.0]
    """
    data = Released.of(released, weights, squares)
    k = len(data.counts)
    labels = tuple(range(k)) if categories is None else as_list(categories, "categories")
    if len(labels) != k:
        raise CountsError("counts-for-labels", k=k, labels_count=len(labels))
    codes = _block_codes(blocks, k)
    parts = _sampling_bound(data, full=k <= COVARIANCE_LIMIT), _block_bound(data, codes, full=k <= COVARIANCE_LIMIT)
    flags = (
        Note("the-matrix-is-not-known-standard") if data.weighted else Note("the-matrix-is-not-known-standard-errors"),
    )
    return _assembled(data, labels, target, parts, "withheld", flags)


def estimate_changed(
    released: Any,
    *,
    changed: float,
    bias: Any = None,
    categories: Sequence[Hashable] | None = None,
    target: str = "population",
    weights: Any = None,
    squares: Any = None,
) -> DirectEstimate:
    """Shares from a released file that did not keep its counts, by somebody who knows how many records changed at most.

        abs(E p_c - N_c / n) <= b_c,     C_cc <= min(d, p_c (1 - p_c)) / n

    where b is ``bias`` and d is ``changed``: a record that changed left or reached the cell c, and the share of one
    record has at most the variance of its chance to change. Intervals are wider by the bias on both sides.

    Parameters
    ----------
    released
        Released records in each category, shape (k,).
    changed
        At most the share of the records that are expected to have changed their category; with weights, the share
        of the squared weights.
    bias
        At most how far a released share may lie from the true one on average: a number, or one for each category.
        ``changed`` unless given.
    categories, target, weights, squares
        As for :func:`estimate_unknown`.

    Source: derived, docs/theory/after-release.md.

    >>> shares = estimate_changed([110, 60, 30], changed=0.02, bias=0.01, categories=["a", "b", "c"])
    >>> shares.standard_error.round(4).tolist(), shares.confidence_interval()[0].round(3).tolist()
    ([0.0367, 0.034, 0.0272], [0.468, 0.63])
    """
    data = Released.of(released, weights, squares)
    k = len(data.counts)
    labels = tuple(range(k)) if categories is None else as_list(categories, "categories")
    if len(labels) != k:
        raise CountsError("counts-for-labels", k=k, labels_count=len(labels))
    moved = float(check_probability(changed, "changed"))
    bounds = np.broadcast_to(as_floats(moved if bias is None else bias, "bias"), k)
    if not (bounds >= 0).all():
        raise ParameterError("bias-is-below-zero")
    shares = data.squares / data.squares.sum()
    sampling = _sampling_known(data, np.zeros(k), full=False) + (moved / data.size if data.weighted else 0)
    randomization = np.minimum(moved, shares * (1 - shares)) / (data.size - 1)
    estimate = _assembled(data, labels, target, (sampling, randomization), "withheld", ())
    sizes = np.minimum(_least_effective(data, moved, bounds, target), estimate.effective)
    flags = (
        Note("this-table-is-not-kept-intervals"),
        *((Note("weights-the-sampling-part-takes-rows"),) if data.weighted and target == "population" else ()),
    )
    return replace(estimate, flags=flags, effective=sizes, bias=np.minimum(bounds, 1))


def _least_effective(data: Released, moved: float, bias: Real, target: str) -> Real:
    """``n / f``, where f is 1, for sampling, and ``min(1, d / (s (1 - s)))`` at the worst share s that may be true."""
    ends = np.stack([np.clip(data.p + side * bias, 0, 1) for side in (-1, 1)])
    spread = (ends * (1 - ends)).min(axis=0)
    added = np.divide(moved, spread, out=np.ones(len(spread)), where=spread > moved)
    factor = added + (target == "population") * (1 + data.weighted * added)
    return np.asarray(np.divide(data.size, factor, out=np.full(len(factor), np.inf), where=factor > 0))


@dataclass(frozen=True)
class ReleaseBound:
    """A sum of released shares with factors, and what is certain about its variance without the matrix."""

    estimate: float  # `a'p`
    # `a'(D_p - p p')a / n`, the variance of an open file, and `2 - 1/n` times that: the most
    lower: float
    upper: float
    conservative: float  # `(2n - 1) / (n - 1)^2 a'(D_p - p p')a`: an estimate that is on average not below the most
    effective: float  # `n / (2 - 1/n)`: the least number of open records that tell as much

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """``a'p +- z`` times the root of the conservative variance."""
        from statistics import NormalDist

        half = NormalDist().inv_cdf((1 + level) / 2) * self.conservative**0.5
        return self.estimate - half, self.estimate + half


def bound_for(coefficients: Any, released: Any) -> ReleaseBound:
    """Bounds on the variance of ``a'p`` that hold for every matrix that kept the counts.

    where ``coefficients`` is a and ``released`` the counts of the released file. The upper bound is reached by the
    matrix whose columns are all N / n. Source: [Adeshiyan2011, eq. (4.17)], [NayakZhangAdeshiyan2016, Theorem 2.1];
    conservative estimate derived.

    >>> lead = bound_for([1, -1, 0], [110, 60, 30])   # how far the first category is ahead of the second
    >>> round(lead.estimate, 2), [round(end, 3) for end in lead.interval()]
    (0.25, [0.075, 0.425])
    """
    data = Released.of(released)
    a, p, n = check_coefficients(coefficients, len(data.p)), data.p, data.n
    spread = float(p @ a**2 - (p @ a) ** 2)
    most = (2 - 1 / n) * spread / n
    return ReleaseBound(float(p @ a), spread / n, most, (2 * n - 1) / (n - 1) ** 2 * spread, n / (2 - 1 / n))


# ---- parts of the variance: with P


def _known(design: CodedDesign, data: Released, *, full: bool) -> tuple[Parts, tuple[str, ...]]:
    p, n = data.p, data.n
    randomization = (_diagonal(p, full=full) - _spread(design, p, full=full)) / n
    sampling = _sampling_known(data, randomization, full=full)
    return (sampling, randomization), _negative(sampling, randomization)


def _sampling_known(data: Released, randomization: Real, *, full: bool) -> Real:
    """``(D_p - p p' + W) / (n - 1)``; with weights n is the number of records that tell as much."""
    spread = _linearised(data.p, data.squares, full=full) / float(data.weights.sum()) ** 2
    return np.asarray((data.size * spread + randomization) / (data.size - 1))


def _known_weighted(design: CodedDesign, data: Released, *, full: bool) -> tuple[Parts, tuple[str, ...]]:
    """The same with weights; P keeps their sums but not the sums of their squares, which must be turned back."""
    if not design.identifiable or above(design.condition(), TURNS_AROUND):
        parts = _sampling_bound(data, full=full), _block_bound(data, np.zeros(len(data.p), dtype=int), full=full)
        return parts, (NO_SQUARES,)
    true, total = design.backward(data.squares), float(data.weights.sum())
    randomization = (_diagonal(data.squares, full=full) - _spread(design, true, full=full)) / total**2
    sampling = _linearised(data.p, true, full=full) / total**2 * data.size / (data.size - 1)
    return (sampling, randomization), _negative(sampling, randomization)


def _spread(design: CodedDesign, masses: Real, *, full: bool) -> Real:
    """``P D P'`` or its diagonal."""
    return second_moments(design, masses) if full else design.forward_squared(masses)


# ---- parts of the variance: bounds without P


def _sampling_bound(data: Released, *, full: bool) -> Real:
    """``n / (n - 1)^2 (D_p - p p')``: the released shares spread less than the true ones at most by that factor."""
    factor = (data.size / (data.size - 1)) ** 2
    return np.asarray(factor * _linearised(data.p, data.squares, full=full) / data.weights.sum() ** 2)


def _block_bound(data: Released, blocks: Array, *, full: bool) -> Real:
    """``(D_s - s s' / S) / W^2`` block by block, with ``K / (K - 1)`` for the estimate; nothing for a lone record."""
    s, total = data.squares, float(data.weights.sum())
    in_block, weight = np.bincount(blocks, s), np.bincount(blocks, data.weights)
    size = np.divide(weight**2, in_block, out=np.zeros(len(in_block)), where=in_block > 0)
    factor = np.divide(size, size - 1, out=np.zeros(len(size)), where=size > 1 + 1e-9)
    mean = np.divide(s, in_block[blocks], out=np.zeros(len(s)), where=in_block[blocks] > 0)
    together = _outer(mean, s, full=full) * (blocks[:, None] == blocks if full else 1)
    scale = factor[blocks][:, None] if full else factor[blocks]
    return np.asarray(scale * (_diagonal(s, full=full) - together) / total**2)


def _block_codes(blocks: Any, k: int) -> Array:
    if blocks is None:
        return np.zeros(k, dtype=np.int64)
    codes = Factor.of(blocks, "blocks").codes
    if len(codes) != k:
        raise ParameterError("numbers-of-blocks-for-categories", codes_count=len(codes), k=k)
    return np.asarray(codes, dtype=np.int64)


def _linearised(p: Real, squares: Real, *, full: bool) -> Real:
    """``sum w^2 (e - p)(e - p)'`` over records with the category e, from sums of squares by category."""
    both = _outer(squares, p, full=full) + _outer(p, squares, full=full)
    return np.asarray(_diagonal(squares, full=full) - both + squares.sum() * _outer(p, p, full=full))


# ---- putting together


def _assembled(
    data: Released,
    labels: Sequence[Hashable],
    target: str,
    parts: Parts,
    fingerprint: str,
    flags: tuple[str, ...],
) -> DirectEstimate:
    check_kind(str, target=target)
    if target not in TARGETS:
        raise ParameterError("target-target", targets=", ".join(TARGETS), target=target)
    sampling = parts[0] if target == "population" else np.zeros_like(parts[0])
    whole = sampling + parts[1]
    variance = _variances(whole)
    weights = (WITH_WEIGHTS,) if data.weighted and target == "population" else ()
    return DirectEstimate(
        categories=labels,
        pi_hat=data.p,
        variance=variance,
        sampling_variance=_variances(sampling),
        randomization_variance=_variances(parts[1]),
        covariance=whole if whole.ndim == 2 else None,
        n=data.n,
        method="direct",
        fingerprint=fingerprint,
        flags=(*flags, *weights, *_no_covariances(whole)),
        target=target,
        effective=_effective(data, _variances(sampling), _variances(parts[1]), target, known=fingerprint != "withheld"),
    )


def _effective(data: Released, sampling: Real, randomization: Real, target: str, *, known: bool) -> Real:
    """``p (1 - p) / V``; for a bound without the corrections that only estimating it needs."""
    size, open_ = data.size, data.p * (1 - data.p)
    if known:
        variance = sampling + randomization
    elif target == "file":
        variance = randomization * (1 - 1 / size)
    else:
        variance = sampling * (1 - 1 / size) ** 2 + randomization * (1 - 1 / size) ** 2
    least = size / (2 - 1 / size) if target == "population" else size
    records = np.divide(open_, variance, out=np.full(len(open_), np.inf), where=variance > 0)
    return np.where((open_ > 0) & (variance >= 0), records, least)


def _variances(part: Real) -> Real:
    return np.diagonal(part).copy() if part.ndim == 2 else part


def _diagonal(values: Real, *, full: bool) -> Real:
    return np.diag(values) if full else values


def _outer(a: Real, b: Real, *, full: bool) -> Real:
    return np.outer(a, b) if full else a * b


def _negative(*parts: Real) -> tuple[str, ...]:
    return (NEGATIVE,) if any((_variances(part) < -1e-15).any() for part in parts) else ()


def _no_covariances(whole: Real) -> tuple[str, ...]:
    left_out = f"covariances are left out: more than {COVARIANCE_LIMIT} categories"
    return () if whole.ndim == 2 else (left_out,)


def _check_square(design: CodedDesign, data: Released) -> None:
    check_length(design, data.counts, design.m, "released categories")
    if design.m != design.k:
        raise MatrixError("a-matrix-of-rows-and-columns-keeps", m=design.m, k=design.k)
