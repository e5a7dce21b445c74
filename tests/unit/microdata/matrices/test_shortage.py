"""The states that a refusal names follow from the counts alone."""

import itertools
from typing import Any

import numpy as np
import pytest

from maskwell.microdata.matrices import Bounds
from maskwell.microdata.matrices.flow_program import Program, allowed_pairs, program_of
from maskwell.microdata.matrices.infeasibility import short_states


def a_program(v: list[int], forbidden: Any = (), **asked: Any) -> Program:
    (pairs,) = allowed_pairs([np.arange(len(v))], len(v), forbidden, None, None)
    return program_of(v, pairs, Bounds.of(**asked))


def shortage(program: Program, senders: tuple[int, ...]) -> int:
    """Records of some states less the places that they find, by the definition."""
    i, j, states = program.pairs.released, program.pairs.true, range(len(program.v))
    least, room = program.least, program.most - program.least
    records = sum(program.sums[s] - least[j == s].sum() for s in senders)
    sent = np.isin(j, senders)
    places = [min(program.sums[s] - least[i == s].sum(), room[sent & (i == s)].sum()) for s in states]
    return int(records - sum(places))


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_of_all_sets_with_the_largest_shortage_is_named(seed: int) -> None:
    random = np.random.default_rng(seed)
    k = int(random.integers(3, 6))
    v = random.integers(1, 40, k).tolist()
    forbidden = [(i, j) for i in range(k) for j in range(k) if i != j and random.random() < 0.5]
    program = a_program(v, forbidden, posterior_own=str(random.integers(1, 8) / 10))
    sets = [s for size in range(k + 1) for s in itertools.combinations(range(k), size)]
    worst = max(shortage(program, s) for s in sets)
    found = short_states(program)
    if not worst:
        assert found is None
        return
    smallest = [s for s in sets if shortage(program, s) == worst]
    assert found is not None
    assert tuple(found[0].tolist()) == smallest[0]
    assert all(set(smallest[0]) <= set(s) for s in smallest)


def test_a_lack_of_one_record_among_many_is_found() -> None:
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    big = 10**15
    assert short_states(a_program([2 * big, 20, 10, big], pairs, posterior_own="0.5")) is None
    found = short_states(a_program([2 * big, 20, 10, big - 1], pairs, posterior_own="0.5"))
    assert found is not None
    assert [part.tolist() for part in found] == [[0], [3]]
