"""Operators along the axes of a table against the Kronecker product written out."""

from functools import partial, reduce

import numpy as np
import pytest

from maskwell.designs import kronecker
from maskwell.designs.kronecker import along_axes


def _times(A, x):
    return x @ A.T


def _written_out(matrices):
    return reduce(np.kron, matrices)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2, 4), (2, 70, 3), (65, 2), (2, 2, 2, 2, 2, 2, 2, 2)])
@pytest.mark.parametrize("more", [0, 1])
def test_equals_the_kronecker_product(shape, more):
    rng = np.random.default_rng(len(shape) + more)
    matrices = [rng.normal(size=(size + more if size < 9 else size, size)) for size in shape]
    x = rng.normal(size=int(np.prod(shape)))
    got = along_axes(x, shape, [partial(_times, A) for A in matrices])
    assert np.allclose(got, _written_out(matrices) @ x, rtol=1e-9, atol=1e-9)


def test_long_axes_are_never_written_out():
    """An axis longer than the limit only sees the tables themselves, not an identity matrix of its size."""
    seen = []

    def watch(x):
        seen.append(x.shape)
        return x

    size = kronecker.TOGETHER + 1
    along_axes(np.zeros(2 * size), (2, size), [watch, watch])
    assert (size, size) not in seen
