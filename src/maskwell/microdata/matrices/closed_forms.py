"""Invariant matrices by a formula: Method 1 and 2, inverse frequency, sequential uniformity.

*Symmetric flows* ``F_ij = p_ij v_j`` are invariant however they are rounded: those off the diagonal down, both of a
pair alike, and the diagonal takes what is left of v. So formulas with huge denominators are still exact and invariant.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, common_denominator, percent_meant, to_decimal, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.kronecker import check_coded
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, MatrixError, ParameterError
from maskwell.microdata.matrices import matrix_patterns as patterns
from maskwell.microdata.matrices.bounds import WIDE, Amounts, as_words, labels_for, read_amounts


def method1(
    v: Any, theta: Number, *, categories: Categories | None = None, blocks: Iterable[Hashable] | None = None
) -> Sparse:
    """The invariant matrix of Method 1.

        p_jj = 1 - theta v_min / v_j,    p_ij = theta v_min / ((l - 1) v_j)   for i != j

    where ``v_min`` is the smallest of the ``l`` counts that are not zero. A category that does not occur stays as it
    is and is never drawn. One tiny category makes the change tiny everywhere: the share changed is
    ``l theta v_min / sum(v)``.

    Parameters
    ----------
    v
        k counts, shares or weighted counts.
    theta
        From 0 (no change) to 1 (the smallest category never stays).
    blocks
        The block of each state: then Method 1 is used in each block by itself, and block totals stay exactly.

    Source: [Adeshiyan2011, section 4.5], there only for counts in falling order.

    >>> design = method1([12, 8, 3], "2/3")
    >>> design.columns_exact(0)   # of twelve records, one is expected to go to each other category
    {0: Fraction(5, 6), 1: Fraction(1, 12), 2: Fraction(1, 12)}
    """
    amounts, strength = read_amounts(v, weighted=True), _check_part(theta)
    inputs, numbers = labels_for(amounts, categories), patterns.block_numbers(blocks, len(amounts))
    flows = [strength * least for least in patterns.least_by_block(amounts, numbers)]
    return patterns.with_notes(
        patterns.equal_exchange(amounts, flows, numbers, inputs), amounts, "method1", theta=to_text(strength)
    )


def binary_theta(v: Any, p12: Number) -> Fraction:
    """The theta of Method 1 for two categories, ``p12 v_2 / min(v_1, v_2)``, from the chance to report 1 for 2.

    Source: derived; [Adeshiyan2011, section 4.5] leaves out the upper limit of p12, ``v_1 / v_2``.
    """
    amounts, asked = read_amounts(v, weighted=True), as_fraction(p12, "p12")
    if len(amounts) != 2 or not amounts.support.all():
        raise CountsError("amounts-count-counts", amounts_count=len(amounts))
    first, second = map(int, amounts.integers)
    most = min(Fraction(1), Fraction(first, second))
    if not 0 <= asked <= most:
        raise ParameterError("p12-is-outside-0", most_shown=to_decimal(most), p12=p12, most=most)
    return asked * second / min(first, second)


def _check_part(theta: Number) -> Fraction:
    strength = as_fraction(theta, "theta")
    if not 0 <= strength <= 1:
        raise ParameterError("theta-is-outside-0-to-1", percent_meant=percent_meant(theta), theta=theta)
    return strength


_LIMIT = Fraction(1, 3)


def inverse_frequency(
    v: Any, theta: Number, *, blocks: Iterable[Hashable] | None = None, categories: Categories | None = None
) -> Sparse:
    """The matrix with one theta for all blocks.

        p_jj = 1 - theta / v_j,    p_ij = theta / ((l - 1) v_j)   for i != j in the same block

    where ``l`` is the number of cells of the block that occur, and ``0 <= theta <= v_j`` for all of them in blocks of
    two cells or more. Source: derived from what the abstract of [NayakZhangYou2018] says of the method.
    """
    amounts, flow = read_amounts(v, weighted=True), as_fraction(theta, "theta")
    inputs, numbers = labels_for(amounts, categories), patterns.block_numbers(blocks, len(amounts))
    cells = np.bincount(numbers[amounts.support], minlength=int(numbers.max()) + 1)
    smallest = [
        n for n, size in zip(patterns.least_by_block(amounts, numbers), cells.tolist(), strict=True) if size > 1
    ]
    most = Fraction(min(smallest), amounts.scale) if smallest else flow
    if not 0 <= flow <= most:
        raise ParameterError(
            "theta-is-outside-0", flow=to_decimal(flow), most_shown=to_decimal(most), theta=flow, most=most
        )
    design = patterns.equal_exchange(amounts, [flow * amounts.scale] * (int(numbers.max()) + 1), numbers, inputs)
    return patterns.with_notes(design, amounts, "inverse-frequency", theta=to_text(flow))


def theta_for_xi(xi: Number) -> float:
    """The smallest theta that bounds every correct match by ``xi`` in a block of many cells, arrivals being Poisson.

    The larger positive root of ``xi theta^2 + (1 - xi) theta = 1 - xi``, for a cell of one record, and of
    ``xi/2 theta^2 + (1/2 - xi) theta = 1 - 2 xi``, for a cell of two. Derived; the limit of 1/3: [NayakZhangYou2018].
    """
    bound = as_fraction(xi, "xi")
    if not _LIMIT < bound <= 1:
        raise ParameterError("xi-is-outside-1-3-1", xi=xi)
    x = float(bound)
    one = (-(1 - x) + math.sqrt((1 - x) ** 2 + 4 * x * (1 - x))) / (2 * x)
    inner = (0.5 - x) ** 2 - 2 * x * (2 * x - 1)
    two = (x - 0.5 + math.sqrt(inner)) / x if inner >= 0 else 0.0
    return max(one, two)


EXACT_WORK = 10**6  # Products of exact entries that are worked out; beyond it flows are rounded


def method2(v: Any, R: Any, *, categories: Categories | None = None) -> Sparse:
    """The invariant matrix made of a first randomization R and its posterior Q.

        P = Q R,    q_ia = r_ai v_i / sum_l r_al v_l,    p_ij = sum_a r_ai r_aj v_i / sum_l r_al v_l

    where ``R[a, j]`` is the chance that category j gives the first response a. Flows are symmetric; P has the rank of
    R, so it is singular where R has fewer responses than categories. No second file is involved.

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
    amounts = read_amounts(v, weighted=True)
    first = check_coded([R], "the first stage")[0] if isinstance(R, Design) else Dense.of(R)
    inputs, places = labels_for(amounts, categories), np.flatnonzero(amounts.support)
    if first.k != len(amounts):
        raise MatrixError("r-has-columns-for-counts", k=first.k, amounts_count=len(amounts))
    flows, common, notes = _posterior_flows(amounts, first, places)
    totals = as_words(amounts.integers[places], common * int(amounts.integers.max())) * common
    design = from_flows(flows.astype(totals.dtype), totals, places, inputs)
    return patterns.with_notes(design, amounts, "method2", *notes, first=first.fingerprint)


def _posterior_flows(amounts: Amounts, first: CodedDesign, places: Array) -> tuple[Array, int, list[str]]:
    """Flows between the categories that occur as integers over a denominator: exact where it is small."""
    if first.m * len(places) ** 2 <= EXACT_WORK:
        exact = _exact_flows([[row[j] for j in places] for row in first.exact_matrix()], amounts.integers[places])
        if exact is not None:
            return *exact, []
    bits = rounding_bits(amounts)
    moved = first.matrix()[:, places] * amounts.integers[places].astype(float)
    lam = np.array([math.fsum(row) for row in moved])
    used = lam > 0
    scaled = np.ldexp((moved[used] / lam[used, None]).T @ moved[used], bits)
    return _floors(np.minimum(scaled, scaled.T)), 1 << bits, [rounding_note(amounts, bits)]


def _floors(scaled: Real) -> Array:
    """Whole numbers at or below; beyond machine words Python's own."""
    down = np.floor(scaled)
    return down.astype(np.int64) if down.max() < WIDE else np.vectorize(int, otypes=[object])(down)


def _exact_flows(R: list[list[Fraction]], counts: Array) -> tuple[Array, int] | None:
    """``F = D_v R' D_lam^-1 R D_v`` where ``lam = R v``, as integers over one denominator; None where that is huge."""
    whole = common_denominator(entry for row in R for entry in row)
    moved = np.array([[int(entry * whole) for entry in row] for row in R], dtype=object) * counts.astype(object)
    lam = moved.sum(axis=1)
    moved, lam = moved[lam > 0], lam[lam > 0]
    common = math.lcm(*lam)
    if (common * whole).bit_length() > EXACT_BITS:
        return None
    return (moved * (common // lam)[:, None]).T @ moved, common * whole


TIED = "two categories have the same count, so the matrix has no inverse: count the released file directly"


def sequential_uniform(v: Any, *, categories: Categories | None = None) -> Sparse:
    """Share what is left of the smallest category equally among itself and all larger ones, and go on upwards.

        F_(r)(t) = c_max(r, t),    c_r = sum_{s >= r} (v_(s) - v_(s+1)) / s

    where ``v_(1) >= v_(2) >= ...`` are the counts that are not zero, ``v_(l+1) = 0``, and ``p_ij = F_ij / v_j``. The
    best guess from the released value is right with probability ``v_(1) / sum(v)``, the least that any invariant
    matrix reaches, and that is also the share that stays. It is singular where two counts are equal. From about 140
    categories on flows are rounded; the matrix stays exactly invariant.

    Source: [Adeshiyan2011, Example 4.4], which prints one matrix; the general form is derived.

    >>> design = sequential_uniform([12, 8, 3])
    >>> design.columns_exact(1)   # of eight records, three and a half stay and as many join the largest category
    {0: Fraction(7, 16), 1: Fraction(7, 16), 2: Fraction(1, 8)}
    """
    amounts = read_amounts(v, weighted=True)
    inputs = labels_for(amounts, categories)
    places = np.flatnonzero(amounts.support)
    order = np.argsort(-amounts.integers[places], kind="stable")
    falling, rank = amounts.integers[places][order], np.argsort(order)
    levels, totals, notes = _integer_levels(falling, amounts)
    design = from_flows(levels[np.maximum.outer(rank, rank)], totals[rank], places, inputs)
    tied = [TIED] if len(np.unique(falling)) < len(falling) else []
    return patterns.with_notes(design, amounts, "sequential", *tied, *notes)


def _integer_levels(falling: Array, amounts: Amounts) -> tuple[Array, Array, list[str]]:
    """The numbers c_r and v_(r) as integers over one denominator, which may be a rounding of the former."""
    steps = [Fraction(int(gap), s + 1) for s, gap in enumerate(falling - np.append(falling[1:], 0))]
    common = math.lcm(*(step.denominator for step in steps))
    levels = [*accumulate(int(step * common) for step in reversed(steps))][::-1]
    notes = []
    if common.bit_length() > EXACT_BITS:
        bits = rounding_bits(amounts)
        levels = [(level << bits) // common for level in levels]
        common, notes = 1 << bits, [rounding_note(amounts, bits)]
    wide: Any = np.int64 if common * int(falling[0]) < WIDE else object
    return np.array(levels, dtype=wide), falling.astype(wide) * common, notes


EXACT_BITS = 200  # Flows over a common denominator of more bits than this are rounded
_LEAST_BITS = 48  # bits that a column of the smallest count keeps at least


def from_flows(flows: Array, totals: Array, places: Array, inputs: Categories) -> Sparse:
    """The design of integer flows between ``places``, rising; its diagonal is what is left of ``totals``."""
    np.fill_diagonal(flows, 0)
    np.fill_diagonal(flows, totals - flows.sum(axis=0))
    lengths = np.ones(len(inputs), dtype=np.int64)
    lengths[places] = len(places)
    columns = np.repeat(np.arange(len(inputs)), lengths)
    moving = np.zeros(len(inputs), dtype=bool)
    moving[places] = True
    inside, rows = moving[columns], columns.copy()
    numerators = np.ones(len(columns), dtype=flows.dtype)
    rows[inside], numerators[inside] = np.tile(places, len(places)), flows.T.ravel()
    return patterns.from_sorted(columns, rows, numerators, inputs)


def rounding_bits(amounts: Amounts) -> int:
    """Binary places that rounded flows get: as many as fit a machine word, more where the smallest count needs them."""
    counts = amounts.integers[amounts.support]
    largest, smallest = int(counts.max()).bit_length(), int(counts.min()).bit_length()
    return max(0, WIDE.bit_length() - 2 - largest, _LEAST_BITS - smallest)


def rounding_note(amounts: Amounts, bits: int) -> str:
    """What the rounding did, in words."""
    unit = "a record" if amounts.whole else f"the weight {1 / amounts.scale:g}"
    return f"flows between categories are rounded down to multiples of 2^-{bits} of {unit}; what is left stays"
