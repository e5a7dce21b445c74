"""Shares read off a released file whose records were randomized so that counts stay the same on average.

With the covariance C of the released shares p given the file, or without P, their variance is, or is at most,
    V = (D_p - p p' + C) / (n - 1) + C,        V_max = (2n - 1) / (n - 1)^2 (D_p - p p')
block by block where records never leave theirs; with weights the spread is ``sum w^2 (e - p)(e - p)'``. Source:
[Adeshiyan2011, section 4.6, eqs. (4.10) to (4.18)], [NayakZhangAdeshiyan2016, Theorem 2.1]; the rest derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_counts
from maskwell.errors import CountsError
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, Estimate, covariances_left_out, diagonal
from maskwell.notes import Note

BOUNDED = "this table is not preserved by the release: intervals include a bound on its bias, standard errors do not"
WITH_WEIGHTS = "weights: the sampling part assumes independent draws of rows; clusters and strata would change it"
NEGATIVE = "a variance, or its part of randomization, is estimated below zero: too few records in a category"
TARGETS = ("population", "file")


@dataclass(frozen=True, eq=False)
class Released:
    """Released records, with sums of weights and of squared weights by category; the counts where unweighted."""

    counts: Real
    weights: Real
    squares: Real

    @classmethod
    def of(cls, counts: Any, weights: Any = None, squares: Any = None) -> Released:
        """Checked: at least two records."""
        records = check_counts(counts, name="released")
        if records.sum() < 2:
            raise CountsError("one-released-record-a-standard-error")
        if weights is None:
            return cls(records, records, records)
        named = {"weights": weights, "squares": squares}
        return cls(records, *(check_counts(values, weighted=True, name=name) for name, values in named.items()))

    @property
    def weighted(self) -> bool:
        """Whether there are weights."""
        return self.weights is not self.counts

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @cached_property
    def p(self) -> Real:
        """Released shares."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def size(self) -> float:
        """``W^2 / S``: the effective number of records, were all weights equal."""
        return float(self.weights.sum() ** 2 / self.squares.sum())

    def spread(self, *, full: bool) -> Real:
        """``sum w^2 (e - p)(e - p)'`` over records with the category e, or its diagonal."""
        p, squares = self.p, self.squares
        both = _outer(squares, p, full=full) + _outer(p, squares, full=full)
        return np.asarray(_diagonal(squares, full=full) - both + squares.sum() * _outer(p, p, full=full))


@dataclass(frozen=True, eq=False, repr=False)
class DirectEstimate(Estimate):
    """Shares of a released file that kept its counts on average, with their errors."""

    target: str = "population"  # "population", or "file" where the shares of the original file itself are wanted
    # Shape (k,): the number of records of an open file that would tell each share as well, at least
    effective: Real = field(default_factory=lambda: np.zeros(0))

    @property
    def default_interval(self) -> str:
        """Wilson's, with the effective number of records."""
        return "wilson"

    def _subject(self) -> str:
        whose = " of the original file" if self.target == "file" else ""
        return f"Shares{whose} from n = {self.n:,} released records"

    def to_dict(self, level: float = 0.95, interval: str | None = None) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        sizes = [float(x) if np.isfinite(x) else "inf" for x in self.effective]
        return {**super().to_dict(level, interval), "target": self.target, "effective": sizes}


def estimate_moved(
    data: Released, covariance: Real, *, categories: Sequence[Hashable], target: str = "population"
) -> DirectEstimate:
    """Shares of a file that kept its counts on average, with the ``covariance`` that moving records adds, (k, k)."""
    parts = _sampling(data, covariance, full=True), covariance
    negative = any((np.diagonal(part) < -1e-15).any() for part in parts)
    return _assembled(data, categories, target, parts, "known", (NEGATIVE,) if negative else ())


def estimate_unknown(
    data: Released, *, categories: Sequence[Hashable] | None = None, blocks: Any = None, target: str = "population"
) -> DirectEstimate:
    """Shares of a file that kept its counts on average, by somebody without the matrix: errors are bounds."""
    k = len(data.counts)
    codes = np.zeros(k, dtype=np.int64) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    full, most = k <= COVARIANCE_LIMIT, (data.size / (data.size - 1)) ** 2  # true shares spread so much more, at most
    sampling = most * data.spread(full=full) / data.weights.sum() ** 2
    flag = Note("the-matrix-is-not-known-standard" if data.weighted else "the-matrix-is-not-known-standard-errors")
    labels = range(k) if categories is None else categories
    return _assembled(data, labels, target, (sampling, _block_bound(data, codes, full=full)), "withheld", (flag,))


def estimate_changed(
    data: Released,
    *,
    changed: float,
    bias: Any,
    squares: float | None = None,
    categories: Sequence[Hashable] | None = None,
    target: str = "population",
) -> DirectEstimate:
    """Shares of a file that kept no counts: ``abs(E p_c - N_c / n) <= bias_c``, a share ``changed`` of it moved.

    With weights, shares of ``squares`` of the weights are off by at most so much on average; by ``changed`` if None.
    """
    squares = changed if squares is None else squares
    k, by_weight = len(data.counts), data.weighted and target == "population"
    bounds = np.broadcast_to(as_floats(bias, "bias"), k)
    shares = data.squares / data.squares.sum()
    sampling = _sampling(data, np.zeros(k), full=False) + (squares / data.size if data.weighted else 0)
    randomization = np.minimum(changed, shares * (1 - shares)) / (data.size - 1)
    labels = range(k) if categories is None else categories
    estimate = _assembled(data, labels, target, (sampling, randomization), "withheld", ())
    sizes = np.minimum(_least_effective(data, changed, squares, bounds, target), estimate.effective)
    weighted = (Note("weights-the-sampling-part-takes-rows"),) if by_weight else ()
    flags = (Note("this-table-is-not-kept-intervals"), *weighted)
    return replace(estimate, flags=flags, effective=sizes, bias=np.minimum(bounds, 1))


def _least_effective(data: Released, changed: float, squares: float, bias: Real, target: str) -> Real:
    """``n / f``, where f is 1, for sampling, and ``min(1, d / (s (1 - s)))`` at the worst share s that may be true."""
    ends = np.stack([np.clip(data.p + side * bias, 0, 1) for side in (-1, 1)])
    spread = (ends * (1 - ends)).min(axis=0)
    added, moved = (np.divide(d, spread, out=np.ones(len(spread)), where=spread > d) for d in (changed, squares))
    factor = added + (target == "population") * (1 + data.weighted * moved)
    return np.asarray(np.divide(data.size, factor, out=np.full(len(factor), np.inf), where=factor > 0))


def _sampling(data: Released, randomization: Real, *, full: bool) -> Real:
    """``(D_p - p p' + C) / (n - 1)``; with weights n is the effective number of records."""
    spread = data.spread(full=full) / float(data.weights.sum()) ** 2
    return np.asarray((data.size * spread + randomization) / (data.size - 1))


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


def _assembled(
    data: Released,
    labels: Sequence[Hashable],
    target: str,
    parts: tuple[Real, Real],
    fingerprint: str,
    flags: tuple[str, ...],
) -> DirectEstimate:
    """From the sampling and the randomization part of the covariance, or of the variances alone."""
    sampling = parts[0] if target == "population" else np.zeros_like(parts[0])
    whole = sampling + parts[1]
    weights = (WITH_WEIGHTS,) if data.weighted and target == "population" else ()
    return DirectEstimate(
        categories=labels,
        pi_hat=data.p,
        variance=diagonal(whole),
        variance_parts=(diagonal(sampling), diagonal(parts[1])),
        covariance=whole if whole.ndim == 2 else None,
        n=data.n,
        method="direct",
        fingerprint=fingerprint,
        flags=(*flags, *weights, *covariances_left_out(len(whole))),
        target=target,
        effective=_effective(data, diagonal(sampling), diagonal(parts[1]), target, known=fingerprint != "withheld"),
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


def _diagonal(values: Real, *, full: bool) -> Real:
    return np.diag(values) if full else values


def _outer(a: Real, b: Real, *, full: bool) -> Real:
    return np.outer(a, b) if full else a * b
