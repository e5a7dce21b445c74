"""The inverse-frequency method: a record changes with a probability inverse to the count of its cell.

Within a block every cell gives and takes ``theta`` records on average, whatever its size, so counts gain a variance
of at most 2 theta each, while records of small cells, which are the ones at risk, change most.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, to_decimal, to_text
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, ParameterError
from maskwell.release.matrices.assembling import block_numbers
from maskwell.release.matrices.block_thetas import BlockThetas
from maskwell.release.matrices.counts import Amounts, check_length, read_amounts
from maskwell.release.matrices.exchange import equal_exchange, least_by_block
from maskwell.release.matrices.noted import noted

_LIMIT = Fraction(1, 3)


def inverse_frequency(
    v: Any, theta: Number, *, blocks: Iterable[Hashable] | None = None, categories: Categories | None = None
) -> Sparse:
    """The matrix with one theta for all blocks.

        p_jj = 1 - theta / v_j,    p_ij = theta / ((l - 1) v_j)   for i != j in the same block

    where ``l`` is the number of cells of the block that occur, and ``0 <= theta <= v_j`` for all of them in blocks of
    two cells or more.

    Source: derived from what the abstract of [NayakZhangYou2018] says of the method.

    >>> inverse_frequency([1, 1, 2, 3, 5], "3/4").columns_exact(4)[4]   # of five records, three quarters of one leave
    Fraction(17, 20)
    """
    amounts, flow = read_amounts(v, weighted=True), as_fraction(theta, "theta")
    inputs, numbers = check_length(amounts, categories), block_numbers(blocks, len(amounts))
    _check_theta(flow, amounts, numbers)
    design = equal_exchange(amounts, [flow * amounts.scale] * (int(numbers.max()) + 1), numbers, inputs)
    return noted(design, amounts, "inverse-frequency", theta=to_text(flow))


def inverse_frequency_by_block(v: Any, thetas: BlockThetas, *, categories: Categories | None = None) -> Sparse:
    """The matrix with a theta for each block, as :func:`thetas_for_blocks` finds them.

    >>> from maskwell.release.matrices.block_thetas import thetas_for_blocks
    >>> counts = [1, 1, 2, 3, 5, 40, 50]
    >>> thetas = thetas_for_blocks(counts, [0, 0, 0, 0, 0, 1, 1], xi="1/2")
    >>> inverse_frequency_by_block(counts, thetas).diagonal()[5:].tolist()   # large cells are safe as they are
    [1.0, 1.0]
    """
    check_kind(BlockThetas, thetas=thetas)
    amounts = read_amounts(v, weighted=True)
    if len(thetas.blocks) != len(amounts):
        raise CountsError(
            f"{len(amounts):,} counts for thetas of {len(thetas.blocks):,} cells",
            hint="give the counts that the thetas were found for",
        )
    flows = [theta * amounts.scale for theta in thetas.theta]
    design = equal_exchange(amounts, flows, thetas.blocks, check_length(amounts, categories))
    return noted(design, amounts, "inverse-frequency", *thetas.notes(), xi=to_text(thetas.xi), blocks=len(flows))


def theta_for_xi(xi: Number) -> float:
    """The smallest theta that bounds every probability of a correct match by ``xi``, in a block of many cells.

    The larger of the positive roots of

        xi theta^2 + (1 - xi) theta - (1 - xi) = 0           for a cell of one record
        xi/2 theta^2 + (1/2 - xi) theta + (2 xi - 1) = 0     for a cell of two

    where arrivals from the many other cells are taken to be Poisson. Blocks of few cells need a theta of their own:
    :func:`~maskwell.release.matrices.block_thetas.thetas_for_blocks`.

    Source: derived; that 1/3 is the limit is stated in the abstract of [NayakZhangYou2018].

    >>> round(theta_for_xi("1/2"), 6)   # each cell exchanges 0.62 records for others
    0.618034
    """
    bound = as_fraction(xi, "xi")
    if not _LIMIT < bound <= 1:
        raise ParameterError(
            f"xi = {xi} is outside (1/3, 1]",
            hint="cells of one record allow only bounds above 1/3: merge cells, or take an optimal matrix",
            xi=xi,
        )
    x = float(bound)
    one = (-(1 - x) + math.sqrt((1 - x) ** 2 + 4 * x * (1 - x))) / (2 * x)
    inner = (0.5 - x) ** 2 - 2 * x * (2 * x - 1)
    two = (x - 0.5 + math.sqrt(inner)) / x if inner >= 0 else 0.0
    return max(one, two)


def _check_theta(flow: Fraction, amounts: Amounts, numbers: Any) -> None:
    cells = np.bincount(numbers[amounts.support], minlength=int(numbers.max()) + 1)
    smallest = [n for n, size in zip(least_by_block(amounts, numbers), cells.tolist(), strict=True) if size > 1]
    most = Fraction(min(smallest), amounts.scale) if smallest else flow
    if not 0 <= flow <= most or flow < 0:
        raise ParameterError(
            f"theta = {to_decimal(flow)} is outside 0 to {to_decimal(most)}",
            hint="a cell cannot give more records than it has; lower theta, or merge the smallest cells",
            theta=flow,
            most=most,
        )
