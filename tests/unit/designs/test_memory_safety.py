"""Arrays of another shape or type than expected are refused or converted, never misread.

A misread array can end the process, so each case runs in a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = '''
import numpy as np
from maskwell import Categories, SeededRandom
from maskwell.core.report_data import Reports
from maskwell.designs import Blocks, Composed, Dense, Kronecker, LocalDiversity, Mixture, Sparse, Subset
from maskwell.designs.patterns import Patterns
from maskwell.designs import Unary, Uniform
from maskwell.errors import MaskwellError

ABC = Categories.of(["a", "b", "c"])
uniform = Uniform.from_gamma(3, ABC)
dense = Dense.of(uniform.exact_matrix(), ABC)
mixture = Mixture.of("1/2", ["1/4", "1/8", "1/8"], ABC)
sparse = Sparse.of_columns([{0: 3, 1: 1}, {0: 1, 1: 1, 2: 1}, {2: 1}], ABC)
patterns = Patterns.of(3, [[0], [1, 2]], ["1/4", "1/4"], ABC)
subset = Subset.from_gamma(3, ABC, size=2)
diverse = LocalDiversity.of(2, ABC)
unary = Unary.oue_from_gamma(3, ABC)
kronecker = Kronecker.of([dense, uniform])
blocks = Blocks.of({"x": dense, "y": uniform})
composed = Composed.of(dense, uniform)

def refused(call, data):
    """Silent when the data are refused as they should be."""
    try:
        call()
    except MaskwellError as error:
        assert error.hint
    except Exception as error:
        print(f"{type(error).__name__} instead of a word from maskwell: {data!r}")
    else:
        print(f"accepted: {data!r}")
'''


def run(script: str, *, plain: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "MASKWELL_PLAIN": "1" if plain else "", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-500:]}"
    return done.stdout.strip()


CODED = ["uniform", "dense", "sparse", "patterns", "mixture", "kronecker", "blocks", "composed"]
DESIGNS = [*CODED, "subset", "diverse", "unary"]
paths = pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])


@paths
def test_codes_may_come_from_any_corner_of_memory(plain: bool) -> None:
    """Backwards, every third, read-only, or unaligned."""
    script = f"""
for design in ({", ".join(DESIGNS)}):
    codes = (np.arange(900) % design.k).astype(np.uint32)
    frozen = codes.copy()
    frozen.setflags(write=False)
    raw = np.frombuffer(b"x" + codes.tobytes(), dtype=np.uint8)[1:].view(np.uint32)
    for given in (codes[::-1], codes[::3], frozen, raw):
        expected = design.sample(np.array(given, dtype=np.int64), random=SeededRandom(1)).data
        if not (design.sample(given, random=SeededRandom(1)).data == expected).all():
            print(design.kind)
"""
    assert run(script, plain=plain) == ""


BAD_REPORTS = """
for data in (
    np.array([0, 3]),
    np.array([2**32], dtype=np.uint64),
    np.array([0.5, 1.0]),
    np.array([0.0, np.nan]),
    np.array([[0, 1], [1, 2]]),
    np.array(["0", "1"]),
    np.array(1),
    np.array([0, -1], dtype=np.int8),
    np.array([0, -1, 2]),
):
    refused(lambda: uniform.tally(Reports(uniform.fingerprint, 3, "codes", data)), data)
for design in (subset, unary):
    for data in (
        np.array([[0b11000000]], dtype=np.uint8),
        np.array([[0b11000011]], dtype=np.uint8),
        np.array([[0b00001001]], dtype=np.uint8),
        np.full((4, 2), 3, dtype=np.uint8),
        np.full(4, 3, dtype=np.uint8),
        np.full((4, 1), 3, dtype=np.int64),
        np.full((4, 1), 3, dtype=np.float64),
        np.zeros((4, 0), dtype=np.uint8),
    ):
        refused(lambda: design.tally(Reports(design.fingerprint, 3, "bits", data)), data)
for mask in (0, 1, 7):
    data = np.array([[3], [mask], [3]], dtype=np.uint8)
    refused(lambda: subset.tally(Reports(subset.fingerprint, 3, "bits", data)), data)
    if unary.tally(Reports(unary.fingerprint, 3, "bits", data)).n != 3:
        print("unary")
"""


@paths
def test_reports_with_bad_codes_masks_and_sizes_are_refused(plain: bool) -> None:
    assert run(BAD_REPORTS, plain=plain) == ""
