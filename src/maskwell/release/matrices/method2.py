"""Method 2: a first randomization by any matrix R, then back by the posterior of the truth; together invariant."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import common_denominator
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.kronecker import check_coded
from maskwell.designs.sparse import Sparse
from maskwell.errors import MatrixError
from maskwell.release.matrices.counts import WIDE, Amounts, as_words, check_length, read_amounts
from maskwell.release.matrices.noted import noted
from maskwell.release.matrices.symmetric import EXACT_BITS, from_flows, rounding_bits, rounding_note

EXACT_WORK = 10**6
"""Products of exact entries that are worked out; beyond it flows are rounded."""


def method2(v: Any, R: Any, *, categories: Categories | None = None) -> Sparse:
    """The invariant matrix made of a first randomization R and its posterior Q.

        P = Q R,    q_ia = r_ai v_i / sum_l r_al v_l,    p_ij = sum_a r_ai r_aj v_i / sum_l r_al v_l

    where ``R[a, j]`` is the chance that category j gives the first response a; R may have fewer or more rows than
    columns. Flows are symmetric and positive semidefinite; P has the rank of R on the categories that occur, so it is
    singular where R has fewer responses than categories. P is applied once: there is no second file in between.

    Parameters
    ----------
    v
        k counts, shares or weighted counts.
    R
        A matrix whose columns sum to one, shape (m, k), or a design with k categories.

    Source: [Adeshiyan2011, section 4.5], with the sum over l in the denominator; the freer choice of Q given there
    does not make columns sum to one.

    >>> design = method2(["1/2", "1/4", "1/4"], [["3/4", "1/4", "1/2"], ["1/4", "3/4", "1/2"]])
    >>> design.columns_exact(0)   # the largest category stays with four chances in seven
    {0: Fraction(4, 7), 1: Fraction(4, 21), 2: Fraction(5, 21)}
    """
    amounts, first = read_amounts(v, weighted=True), _first_stage(R)
    inputs, places = check_length(amounts, categories), np.flatnonzero(amounts.support)
    if first.k != len(amounts):
        raise MatrixError(
            f"R has {first.k} columns for {len(amounts)} counts", hint="give R one column for each category"
        )
    flows, common, notes = _flows(amounts, first, places)
    totals = as_words(amounts.integers[places], common * int(amounts.integers.max())) * common
    design = from_flows(flows.astype(totals.dtype), totals, places, inputs)
    return noted(design, amounts, "method2", *notes, first=first.fingerprint)


def _first_stage(R: Any) -> CodedDesign:
    return check_coded([R], "the first stage")[0] if isinstance(R, Design) else Dense.of(R)


def _flows(amounts: Amounts, first: CodedDesign, places: Array) -> tuple[Array, int, list[str]]:
    """Flows between the categories that occur as integers over a denominator: exact where it is small."""
    if first.m * len(places) ** 2 <= EXACT_WORK:
        exact = _exact_flows([[row[j] for j in places] for row in first.exact_matrix()], amounts.integers[places])
        if exact is not None:
            return *exact, []
    bits = rounding_bits(amounts)
    scaled = np.ldexp(_float_flows(first.matrix()[:, places], amounts.integers[places].astype(float)), bits)
    return _floors(np.minimum(scaled, scaled.T)), 1 << bits, [rounding_note(amounts, bits)]


def _floors(scaled: Real) -> Array:
    """Whole numbers at or below; beyond machine words Python's own."""
    down = np.floor(scaled)
    return down.astype(np.int64) if down.max() < WIDE else np.vectorize(int, otypes=[object])(down)


def _exact_flows(R: list[list[Fraction]], counts: Array) -> tuple[Array, int] | None:
    """``F = D_v R' D_lam^-1 R D_v`` where ``lam = R v``, as integers over one denominator; None where that is huge.

    A response that never occurs has no row.
    """
    whole = common_denominator(entry for row in R for entry in row)
    moved = np.array([[int(entry * whole) for entry in row] for row in R], dtype=object) * counts.astype(object)
    lam = moved.sum(axis=1)
    moved, lam = moved[lam > 0], lam[lam > 0]
    common = math.lcm(*lam)
    if (common * whole).bit_length() > EXACT_BITS:
        return None
    return (moved * (common // lam)[:, None]).T @ moved, common * whole


def _float_flows(R: Real, counts: Real) -> Real:
    moved = R * counts
    lam = np.array([math.fsum(row) for row in moved])
    used = lam > 0
    return np.asarray((moved[used] / lam[used, None]).T @ moved[used])
