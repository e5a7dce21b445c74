"""Supports and confidences of randomized baskets have the errors that they state, from the draw to the estimate.

True baskets are fixed and randomized 400 times with fixed seeds. For 15 sets of four items of unequal chances the mean
of the estimates must lie within 5.6 of its own standard errors of the truth (one in ten million each by the normal
curve, 15 sets: below two in a million), and the mean of the estimated variances must be that of the estimates within
40 %, which lies at 5.6 standard deviations of a variance with 399 degrees of freedom. The sampling of baskets adds to
the stated error what the fixed baskets do not vary, so the variance is compared with the exact one. A design whose
chances are slightly wrong must fail both.
"""

from fractions import Fraction
from functools import cache
from itertools import chain, combinations

import numpy as np
import pytest

from maskwell import SeededRandom
from maskwell.designs.basket_bits import ItemBits, item_bits
from maskwell.estimation.itemset_supports import ReportedBaskets
from maskwell.procedures.category_encodings import bits

pytestmark = pytest.mark.statistical

RUNS, BASKETS = 400, 500
KEEP = [Fraction(9, 10), Fraction(4, 5), Fraction(7, 10), Fraction(3, 4)]
NAMES = ["a", "b", "c", "d"]
SETS = [*chain.from_iterable(combinations(range(4), size) for size in (1, 2, 3, 4))]


def truth() -> np.ndarray:
    random = np.random.default_rng(1)
    held = random.random((BASKETS, 4)) < 0.3
    return held | (random.random((BASKETS, 1)) < 0.25)


@cache
def drawn() -> list[np.ndarray]:
    """The reports of each run."""
    packed, design = np.packbits(truth(), axis=1, bitorder="little"), item_bits(bits(NAMES, probabilities=KEEP))
    return [design.sampler(SeededRandom(run)).sample(packed).data for run in range(RUNS)]


def estimates(assumed: ItemBits) -> np.ndarray:
    found = np.empty((RUNS, len(SETS)))
    for run, reports in enumerate(drawn()):
        baskets = ReportedBaskets.of(reports, assumed)
        found[run] = [baskets.support([NAMES[a] for a in items]).support for items in SETS]
    return found


def exact_variance(items: tuple[int, ...]) -> float:
    """Over the draws alone, given the true baskets: the mean of the squared product of each, less the truth squared."""
    held, squares = truth(), np.ones(BASKETS)
    for a in items:
        p = float(KEEP[a])
        squares *= held[:, a] + p * (1 - p) / (2 * p - 1) ** 2
    return float((squares - held[:, list(items)].all(axis=1)).sum()) / BASKETS**2


def unbiased(found: np.ndarray) -> np.ndarray:
    share = np.array([truth()[:, list(items)].all(axis=1).mean() for items in SETS])
    return np.abs(found.mean(axis=0) - share) < 5.6 * found.std(axis=0, ddof=1) / np.sqrt(RUNS)


def test_supports_are_unbiased_with_the_variance_of_the_formula_and_wrong_chances_are_seen() -> None:
    found = estimates(item_bits(bits(NAMES, probabilities=KEEP)))
    assert unbiased(found).all()
    ratio = found.var(axis=0, ddof=1) / [exact_variance(items) for items in SETS]
    assert (np.abs(ratio - 1) < 0.4).all()
    wrong = item_bits(bits(NAMES, probabilities=[p + Fraction(1, 50) for p in KEEP]))
    assert not unbiased(estimates(wrong)).all()
