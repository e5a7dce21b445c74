"""More categories than one random word can choose among are refused, in Python and in C."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.quiet import told

from maskwell import Categories, SeededRandom
from maskwell.designs import LocalDiversity, Subset, Unary, Uniform, kernels
from maskwell.errors import TooLargeError

HUGE = Categories(range(2**32 + 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform.from_gamma(3, HUGE),
        lambda: Subset.from_gamma(3, HUGE, size=1),
        lambda: Unary.oue_from_gamma(3, HUGE),
        lambda: LocalDiversity.of(2, HUGE),
    ],
)
def test_too_many_categories(make):
    with told(TooLargeError, match="4,294,967,299"):
        make()


@pytest.mark.skipif(kernels.compiled is None, reason="no compiled kernels here")
@pytest.mark.parametrize("k", [0, 2**32, 2**32 + 3])
def test_kernels_refuse_what_does_not_fit_a_word(k):
    codes, words = np.zeros(4, dtype=np.uint32), np.zeros((4, 40), dtype=np.uint32)
    out, bits, unsettled = codes.copy(), np.zeros((4, 1), dtype=np.uint8), np.zeros(4, dtype=np.int64)
    for call in (
        lambda: kernels.compiled.uniform(codes, words, k, 1, out, unsettled),
        lambda: kernels.compiled.subset(codes, words, k, 1, True, 1, bits, unsettled),
        lambda: kernels.compiled.subset(codes, words, 5, k, True, 1, bits, unsettled),
        lambda: kernels.compiled.unary(codes, words, k, 1, False, 1, False, bits, unsettled),
    ):
        with pytest.raises(OverflowError):
            call()


def test_a_sampler_shared_by_threads_gives_every_row_its_own_words():
    """All rows have the same truth; the pieces, put together in any order, are the rows of one pass."""
    design, piece = Uniform.from_epsilon(1, Categories.numbered(200)), 500
    shared = design.sampler(SeededRandom(4), threads=1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared.sample(np.zeros(piece, dtype=int)).data.tobytes(), range(200)))
    whole = design.sample(np.zeros(200 * piece, dtype=int), random=SeededRandom(4)).data.reshape(200, piece)
    assert sorted(found) == sorted(row.tobytes() for row in whole)
