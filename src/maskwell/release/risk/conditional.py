"""Predictive disclosure with covariates: the share of a cell within those that share a covariate, in a released file.

The guess about a unit with the covariate y rests on the share R = A / B of a cell within those with y. Where nothing
moves in or out of B, R is unbiased; otherwise it is a ratio of random counts:

    E(A / B; B > 0) = sum_j N_j a_j E[1 / (1 + B_(j))],   E[1 / (1 + B_(j))] = integral_0^1 G(u) / (1 - d_j u) du,
    G(u) = prod_l (1 - d_l u)^{N_l}

where a_j and d_j are the chances that a record of true cell j is released in A and in B, and B_(j) counts all records
but one of cell j. Source: [Adeshiyan2011, section 4.7.5, eq. (4.25)]; the exact expectation derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array
from maskwell.core.arrays import Array, Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import CountsError, ParameterError
from maskwell.estimation.released_variance import covariance_of_counts
from maskwell.release.risk.predictive import design_and_counts

NODES = 40
PIECES = 64
EQUAL = 1e-10


@dataclass(frozen=True)
class ConditionalProportion:
    """A share within others, before and after a release.

    Attributes
    ----------
    original
        The share in the file.
    mean
        Its expectation in the released file, where that has any record in the whole.
    undefined
        Chance that it has none.
    delta_bias, delta_error
        Bias and standard error to the first order.
    """

    original: float
    mean: float
    undefined: float
    delta_bias: float
    delta_error: float

    @property
    def bias(self) -> float:
        """``mean - original``."""
        return self.mean - self.original

    @property
    def unbiased(self) -> bool:
        """Whether the expectation is the share of the file, up to rounding."""
        return abs(self.bias) <= EQUAL

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "original": self.original,
            "mean_given_defined": self.mean,
            "p_undefined": self.undefined,
            "bias": self.bias,
            "unbiased": self.unbiased,
            "delta_bias": self.delta_bias,
            "delta_error": self.delta_error,
        }


def conditional_proportion(P: Any, counts: Any, numerator: Any, denominator: Any) -> ConditionalProportion:
    """The share of some cells within others in the released file: exact expectation, and the delta method.

    Parameters
    ----------
    P
        The design of all cells, or its matrix; it need not keep the counts.
    counts
        Records of the file in each cell, shape (k,).
    numerator, denominator
        Places of the cells; the second hold the first.

    Source: [Adeshiyan2011, eq. (4.25)], which needs counts kept within each cell of the covariate; derived.

    >>> P = [["5/6", "1/2", 0, 0], ["1/6", "1/2", 0, 0], [0, 0, "1/2", "1/6"], [0, 0, "1/2", "5/6"]]
    >>> within = conditional_proportion(P, [3, 1, 1, 3], [0], [0, 1])     # no record enters or leaves: unbiased
    >>> across = conditional_proportion(P, [3, 1, 1, 3], [0], [0, 2])
    >>> within.unbiased, round(across.mean, 5), round(across.delta_bias, 4)   # 3/4 in the file
    (True, 0.77142, 0.0208)
    """
    design, N = design_and_counts(P, counts)
    a, b = _places(numerator, design.m), _places(denominator, design.m)
    if (a & ~b).any():
        raise ParameterError(
            "the numerator has cells that the denominator has not", hint="list them in the denominator too"
        )
    whole = float(N[b].sum())
    if not whole:
        raise CountsError("no record of the file is in the denominator", hint="name cells that occur")
    in_part, in_whole = (design.forward_adjoint(own.astype(np.float64)) for own in (a, b))
    undefined = float(np.prod(np.maximum(0, 1 - in_whole) ** N))
    mean = _expected_ratio(N, in_part, np.minimum(in_whole, 1)) / (1 - undefined)
    bias, error = _delta(design, N, a, b)
    return ConditionalProportion(float(N[a].sum()) / whole, mean, undefined, bias, error)


def _expected_ratio(N: Real, in_part: Real, in_whole: Real) -> float:
    """``E(A / B; B > 0)`` by Gauss-Legendre nodes on pieces that halve towards u = 0, where G changes fastest."""
    some = np.flatnonzero(N)
    N, a, d = N[some], in_part[some], in_whole[some]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = 0.0
    for piece in range(PIECES):
        high = 2.0**-piece
        low = 0.0 if piece == PIECES - 1 else high / 2
        u = (high + low) / 2 + (high - low) / 2 * nodes
        left = np.log1p(-np.outer(u, d))  # log of (1 - d u): below zero, never at u = 1 itself
        told = np.exp(left @ N) * (np.exp(-left) @ (N * a))
        total += (high - low) / 2 * float(weights @ told)
    return total


def _delta(design: CodedDesign, N: Real, a: Array, b: Array) -> tuple[float, float]:
    """From the joint covariance of the released counts, at the expected counts."""
    C, mean = covariance_of_counts(design, N), design.forward(N)
    part, whole = float(mean[a].sum()), float(mean[b].sum())
    ratio = part / whole
    x = a - ratio * b
    variance, cross = float(x @ C @ x), float(x @ C @ b.astype(np.float64))
    return -cross / whole**2, float(np.sqrt(max(variance, 0.0))) / whole


def _places(places: Any, m: int) -> Array:
    chosen = as_array(places, "places")
    whole = chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype.kind in "iu"
    if not whole or chosen.min() < 0 or chosen.max() >= m:
        raise ParameterError(f"places of cells must be whole numbers from 0 to {m - 1}", hint="such as [0, 2]")
    found = np.zeros(m, dtype=bool)
    found[chosen] = True
    return found
