"""Designs of a size that people really use: nothing is written out, overflows, or is refused by accident."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from tests.support.examples import numbered

from maskwell import Categories, SeededRandom
from maskwell.designs import Composed, Dense, Kronecker, Uniform, kronecker, wire
from maskwell.designs.kronecker import along_axes


def test_compositions_and_empirical_matrices_of_many_columns_can_be_shown() -> None:
    """Shares of different totals in every column: the integers must not grow with the number of columns."""
    dense = Dense.of(Uniform.from_gamma(3, numbered(256)).exact_matrix())
    design = Composed.of(dense, Uniform.from_gamma(3, numbered(256)))
    assert len(repr(design)) < 100
    assert len(design.sample(np.arange(256), random=SeededRandom(1))) == 256
    truth = Uniform.of(1, numbered(2))
    assert Kronecker.of([truth, truth]).is_admissible() == Uniform.of(1, numbered(4)).is_admissible()
    rng = np.random.default_rng(1)
    totals = rng.integers(10**5, 10**6, 2000)
    columns = [rng.multinomial(n, [0.2, 0.3, 0.5]) / n for n in totals]
    design = Dense.of(np.array(columns).T)
    assert len(wire.dumps(design)) < 10**6
    assert len(design.sample(np.arange(2000), random=SeededRandom(1))) == 2000


def test_products_keep_every_code_and_signed_codes_cost_no_eight_bytes() -> None:
    """Nested products: the truth comes back, digit for digit.
    Beside input and output, the working set stays small whatever the type of the codes.
    """
    inner = Kronecker.of([Uniform.of(1, numbered(2**30)), Uniform.of(1, numbered(2**30 + 1))])
    outer = Kronecker.of([inner, Uniform.of(1, numbered(3))])
    codes = np.array([0, 1, 2**53 + 1, 2**60 + 12_345, outer.k - 1], dtype=np.uint64)
    assert outer.sample(codes, random=SeededRandom(1)).data.tolist() == codes.tolist()
    design = Uniform.of(Fraction(1), Categories.numbered(70_000))
    codes = np.array([0, 255, 256, 65_535, 65_536, 69_999])
    assert design.sample(codes, random=SeededRandom(1)).data.tolist() == codes.tolist()
    import tracemalloc

    design = Uniform.from_gamma(3, numbered(16))
    codes = (np.arange(8_000_000) % 16).astype(np.int8)
    design.sample(codes[:1000], random=SeededRandom(1))
    tracemalloc.start()
    reports = design.sample(codes, random=SeededRandom(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - reports.data.nbytes < 30 * 10**6


@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2, 4), (2, 70, 3), (65, 2), (2, 2, 2, 2, 2, 2, 2, 2)])
@pytest.mark.parametrize("more", [0, 1])
def test_equals_the_kronecker_product(shape, more):
    rng = np.random.default_rng(len(shape) + more)
    matrices = [rng.normal(size=(size + more if size < 9 else size, size)) for size in shape]
    x = rng.normal(size=int(np.prod(shape)))
    got = along_axes(x, shape, [lambda y, A=A: y @ A.T for A in matrices])
    assert np.allclose(got, reduce(np.kron, matrices) @ x, rtol=1e-9, atol=1e-9)


def test_long_axes_are_never_written_out():
    """An axis longer than the limit only sees the tables themselves, not an identity matrix of its size."""
    seen = []

    def watch(x):
        seen.append(x.shape)
        return x

    size = kronecker.TOGETHER + 1
    along_axes(np.zeros(2 * size), (2, size), [watch, watch])
    assert (size, size) not in seen
