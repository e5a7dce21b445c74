"""Method 1: every category loses and receives the same expected number of records, a part theta of the smallest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, percent_meant, to_decimal, to_text
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, ParameterError
from maskwell.release.matrices.assembling import block_numbers
from maskwell.release.matrices.counts import check_length, read_amounts
from maskwell.release.matrices.exchange import equal_exchange, least_by_block
from maskwell.release.matrices.noted import noted


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
    amounts, strength = read_amounts(v, weighted=True), _check_theta(theta)
    inputs, numbers = check_length(amounts, categories), block_numbers(blocks, len(amounts))
    flows = [strength * least for least in least_by_block(amounts, numbers)]
    return noted(equal_exchange(amounts, flows, numbers, inputs), amounts, "method1", theta=to_text(strength))


def binary_theta(v: Any, p12: Number) -> Fraction:
    """The theta of Method 1 for two categories whose second is reported as the first with probability ``p12``.

        theta = p12 v_2 / min(v_1, v_2),    0 <= p12 <= min(1, v_1 / v_2)

    Source: derived; [Adeshiyan2011, section 4.5] leaves out the upper limit, which is needed where the first category
    is the smaller one.

    >>> binary_theta([3, 1], "1/2")
    Fraction(1, 2)
    >>> method1([3, 1], binary_theta([3, 1], "1/2")).columns_exact(1)
    {0: Fraction(1, 2), 1: Fraction(1, 2)}
    """
    amounts, asked = read_amounts(v, weighted=True), as_fraction(p12, "p12")
    if len(amounts) != 2 or not amounts.support.all():
        raise CountsError(f"{len(amounts)} counts", hint="give two counts, both above 0; for others use theta")
    first, second = map(int, amounts.integers)
    most = min(Fraction(1), Fraction(first, second))
    if not 0 <= asked <= most:
        raise ParameterError(
            f"p12 = {p12} is outside 0 to {to_decimal(most)}",
            hint=f"the first category can take at most {to_decimal(most)} of the second without growing",
            p12=p12,
            most=most,
        )
    return asked * second / min(first, second)


def _check_theta(theta: Number) -> Fraction:
    strength = as_fraction(theta, "theta")
    if not 0 <= strength <= 1:
        raise ParameterError(
            f"theta = {theta} is outside 0 to 1",
            hint=f"0 changes nothing, 1 empties the smallest category{percent_meant(theta)}",
            theta=theta,
        )
    return strength
