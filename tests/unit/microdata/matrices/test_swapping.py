"""Whole flows, how they are drawn, and records that change by them."""

import pickle
from fractions import Fraction

import numpy as np
from tests.support.quiet import refused

from maskwell.core.categories import Categories
from maskwell.core.randomness import SeededRandom
from maskwell.designs import Sparse
from maskwell.errors import CountsError, NotInvariantError, UnknownCategoryError, WrongTypeError
from maskwell.microdata.matrices.swap_flows import IntegerFlows, SwapSampler, whole_flows

FLOWS = [[2, 1, 0], [1, 1, 1], [0, 1, 1]]


def test_flows_of_rounded_matrices_are_used_up_by_batches_neither_more_nor_less() -> None:
    found = IntegerFlows.of([[2, 0, 1], [0, 0, 0], [1, 0, 0]], Categories.of(["a", "b", "c"]))
    assert found.counts.tolist() == [3, 0, 1]
    assert found.design().exact_matrix() == [[Fraction(2, 3), 0, 1], [0, 1, 0], [Fraction(1, 3), 0, 0]]
    tiny = Fraction(1, 10**12)
    design = Sparse.of_columns(
        [{0: Fraction(3, 4) + tiny, 1: Fraction(1, 4) - tiny}, {0: Fraction(1, 2), 1: Fraction(1, 2)}]
    )
    assert whole_flows(design, [2, 1], SeededRandom(1)).counts.tolist() == [2, 1]
    refused(NotInvariantError, "", whole_flows, design, [1, 2])
    codes = np.repeat([0, 1, 2], [3, 3, 2])
    np.random.default_rng(1).shuffle(codes)
    whole = SwapSampler(IntegerFlows.of(FLOWS), SeededRandom(5)).sample(codes)
    found = np.zeros((3, 3), dtype=int)
    np.add.at(found, (whole.astype(int), codes), 1)
    assert found.tolist() == FLOWS
    sampler = SwapSampler(IntegerFlows.of(FLOWS))
    sampler.sample(np.array([2, 2, 0]))
    refused(CountsError, "fewer records", sampler.check_finished)
    refused(CountsError, "more records", sampler.sample, np.array([2]))
    refused(UnknownCategoryError, "", sampler.sample, np.array([3]))
    refused(WrongTypeError, "", pickle.dumps, sampler)
