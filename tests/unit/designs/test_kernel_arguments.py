"""The kernels refuse arrays that do not fit, whoever calls them: nothing is read or written beyond an array.

``make sanitize`` runs this with AddressSanitizer, which ends the process at the first wrong access.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.fuzzing import numbers

from maskwell.core.arguments import Array
from maskwell.designs import kernels
from maskwell.designs.column_arrays import ColumnTable, ThresholdTable

pytestmark = pytest.mark.skipif(kernels.compiled is None, reason="the kernels are not compiled")

FEW = 3000
REFUSALS = (ValueError, TypeError, OverflowError, BufferError, MemoryError)
N, K = 37, 5
TOLD = 2


def codes(dtype: str = "u1", k: int = K) -> Array:
    return np.random.default_rng(1).integers(0, k, N).astype(dtype)


def words(columns: int = 2) -> Array:
    return np.random.default_rng(2).integers(0, 2**32, (N, columns), dtype=np.uint32)


def unsettled() -> Array:
    return np.zeros(N, dtype=np.int64)


TABLE = ThresholdTable.of([[1, 3, 4, 6]] * K, [11] * K)
LISTED = ColumnTable(
    np.array([[2 * j, 2 * j + 1, 0, 0] for j in range(K)], dtype=np.int64),
    np.array([2**62, 2**64 - 1] * K, dtype=np.uint64),
    np.zeros(1, dtype=np.uint32),
    np.arange(2 * K, dtype=np.uint32) % K,
)


def good(name: str) -> list[Any]:
    """Arguments that fit."""
    out, bits = np.zeros(N, dtype=np.uint8), np.zeros((N, 1), dtype=np.uint8)
    guide = TABLE.guide.reshape(-1).copy()
    tables = LISTED.columns, LISTED.thresholds, LISTED.guide, LISTED.reports
    return {
        "uniform": [codes(), words(), K, 2**63, out, unsettled()],
        "categorical": [codes(), words(), TABLE.thresholds.copy(), guide, TABLE.guide_bits, out, unsettled()],
        "listed": [codes(), words(), *(table.copy() for table in tables), out, unsettled()],
        "subset": [codes(), words(5), K, 2, True, 2**63, bits, unsettled()],
        "unary": [codes(), words(4), K, 2**47, True, 2**44, False, bits, unsettled()],
        "tally_codes": [codes(), np.zeros(K, dtype=np.int64)],
        "tally_bits": [np.ones((N, 1), dtype=np.uint8), 1, np.zeros(K, dtype=np.int64)],
    }[name]


NAMES = ["uniform", "categorical", "listed", "subset", "unary", "tally_codes", "tally_bits"]


def _unaligned(array: Array) -> Array:
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def _read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


DTYPES = ["u1", "u2", "u4", "u8", "i1", "i4", "f4", "f8", "c16", "S3", "bool", "M8[s]"]
ARRAYS: list[Callable[[Array], Any]] = [
    *(lambda a, n=n: a[:n] for n in (0, 1, 5, N - 1)),
    lambda a: a[::2],
    lambda a: a[::-1],
    lambda a: a[..., ::-1],
    np.asfortranarray,
    lambda a: a[..., :-1],
    lambda a: a[..., :0],
    lambda a: a[..., None],
    lambda a: a.reshape(-1),
    lambda a: np.broadcast_to(a[:1], a.shape),
    lambda a: np.concatenate([a, a]),
    lambda a: np.array(7, dtype=a.dtype),
    *(lambda a, dtype=dtype: a.astype(dtype) for dtype in DTYPES),
    lambda a: a.astype(a.dtype.newbyteorder()),
    lambda a: np.zeros(a.shape, dtype=[("a", "u1"), ("b", "u2")]),
    lambda a: np.array([None] * len(a), dtype=object),
    *(lambda a, value=value: np.full_like(a, value) for value in (0, 1, 6, 200, 255)),
    _unaligned,
    _read_only,
    lambda a: a.tolist(),
    lambda a: a.tobytes(),
    lambda a: bytearray(a.tobytes()),
    memoryview,
    len,
]
INTEGERS = [0, 1, 2, 4, 5, 6, 8, 9, 63, 64, 65, 255, 256, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, -1, -(2**40), 1.5, "2"]


@pytest.mark.parametrize("name", NAMES)
def test_arguments_that_fit_are_taken(name: str) -> None:
    getattr(kernels.compiled, name)(*good(name))


@pytest.mark.filterwarnings("ignore")  # of NumPy, about casts on the way
@pytest.mark.parametrize("name", NAMES)
def test_hostile_arguments_are_refused_or_harmless(name: str) -> None:
    call = getattr(kernels.compiled, name)
    for number in numbers(FEW // len(NAMES)):
        rng = random.Random(f"{name} {number}")
        given = good(name)
        try:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                given = hostile(given, name, rng)
        except (IndexError, *REFUSALS):  # NumPy cannot make it from what an earlier turn left
            continue
        try:
            call(*given)
        except REFUSALS:
            continue


def hostile(given: list[Any], name: str, rng: random.Random) -> list[Any]:
    """One argument other, shared with another one, or gone; what stands in the table of ``listed`` stays as it is."""
    given, place = list(given), rng.randrange(len(given))
    one, how = given[place], rng.random()
    if how < 0.02:
        return given[:-1]
    if how < 0.1:
        given[place] = rng.choice(given)
    elif isinstance(one, np.ndarray):
        made = rng.choice(ARRAYS)(one)
        if name != "listed" or place != TOLD or np.asarray(made).tobytes() in one.tobytes():
            given[place] = made
    else:
        given[place] = rng.choice(INTEGERS)
    return given


OVERLAPS = [("uniform", 0, 4), ("uniform", 5, 4), ("categorical", 0, 5), ("subset", 7, 1), ("unary", 8, 1)]


@pytest.mark.parametrize("name, written, other", OVERLAPS)
def test_what_is_written_lies_apart_from_all_else(name: str, written: int, other: int) -> None:
    given = good(name)
    raw = np.zeros(8192, dtype=np.uint8)
    for place in (written, other):
        like = given[place]
        given[place] = raw[: like.nbytes].view(like.dtype).reshape(like.shape)
    with pytest.raises(ValueError, match="overlaps"):
        getattr(kernels.compiled, name)(*given)


@pytest.mark.parametrize("name", ["categorical", "listed", "subset", "unary", "tally_codes"])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i8"])
def test_codes_beyond_the_last_category_are_refused(name: str, dtype: str) -> None:
    if name == "tally_codes" and dtype not in ("u1", "u4"):
        return
    given = good(name)
    given[0] = codes(dtype)
    getattr(kernels.compiled, name)(*given)
    given[0][-1] = K
    with pytest.raises(ValueError, match="a code is not below"):
        getattr(kernels.compiled, name)(*given)
