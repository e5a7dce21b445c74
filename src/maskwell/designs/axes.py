"""One linear operator for each axis of a table, applied without writing out their Kronecker product.

The first axis is worked on and put last, then the next, until all are in order again: every step reads one long run of
memory. Neighbouring short axes are worked on together, as one small matrix.

Source: [Adeshiyan2011, section 3.3] for the product; the order of work is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from maskwell.core.arrays import Real

Operator = Callable[[Real], Real]
"""A matrix applied to the last axis: shape (..., size) to (..., other size)."""

TOGETHER = 16
"""Axes are worked on together while their product of sizes, in and out, is at most this."""


def along_axes(x: Real, shape: Sequence[int], operators: Sequence[Operator]) -> Real:
    """Operators along the axes of tables that are written out in the last axis of ``x``, first axis slowest.

        X  ->  X x_1 A_1 x_2 A_2 ...   =   (A_1 kron A_2 kron ...) vec X

    where ``shape`` holds the sizes of the axes and ``operators`` the A_t. The cost is that of the operators, never that
    of their product.

    >>> double, swap = (lambda t: 2 * t), (lambda t: t[..., ::-1])
    >>> along_axes(np.array([1.0, 2.0, 3.0, 4.0]), [2, 2], [double, swap]).tolist()
    [4.0, 2.0, 8.0, 6.0]
    """
    batch = x.shape[:-1]
    table = x.reshape(*batch, -1)
    for size, operate in _merged(shape, operators):
        table = operate(np.swapaxes(table.reshape(*batch, size, -1), -1, -2)).reshape(*batch, -1)
    return table


def _merged(shape: Sequence[int], operators: Sequence[Operator]) -> Iterator[tuple[int, Operator]]:
    """The axes with their operators, short neighbours as one."""
    waiting: Real | None = None
    for size, operate in zip(shape, operators, strict=True):
        small = _written(size, operate)
        if waiting is not None and (small is None or not _fits(waiting, small)):
            yield _as_operator(waiting)
            waiting = None
        if small is None:
            yield size, operate
        else:
            waiting = small if waiting is None else np.asarray(np.kron(waiting, small), dtype=np.float64)
    if waiting is not None:
        yield _as_operator(waiting)


def _written(size: int, operate: Operator) -> Real | None:
    """The operator as a matrix A', shape (size, other size), where it is small."""
    return operate(np.eye(size)) if size <= TOGETHER else None


def _fits(left: Real, right: Real) -> bool:
    return all(a * b <= TOGETHER for a, b in zip(left.shape, right.shape, strict=True))


def _as_operator(written: Real) -> tuple[int, Operator]:
    return len(written), partial(_times, written)


def _times(written: Real, x: Real) -> Real:
    return np.asarray(x @ written)
