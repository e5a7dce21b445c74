"""From floats to integers that keep everything."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from maskwell.microdata.matrices import Bounds
from maskwell.microdata.matrices.flow_program import Program, allowed_pairs, program_of
from maskwell.microdata.matrices.flow_rounding import corner, keeps_bounds, round_units, to_grid
from maskwell.microdata.matrices.infeasibility import short_states


def program(v: list[int], **asked: object) -> Program:
    (pairs,) = allowed_pairs([np.arange(len(v))], len(v), (), None, None)
    return program_of(v, pairs, Bounds.of(**asked))  # type: ignore[arg-type]


EVEN = np.array([6.0, 4, 2, 4, 2, 2, 2, 2, 0])  # of counts 12, 8 and 4


@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-9])
def test_sums_are_made_right(off: float) -> None:
    asked = program([12, 8, 4], posterior="0.6")
    noise = off * np.random.default_rng(3).normal(size=9)
    found = round_units(asked, to_grid(asked, EVEN + np.abs(noise)), tight=0.0)
    assert found is not None
    assert keeps_bounds(asked, found)
    assert np.abs(found / asked.scale - EVEN).astype(float).max() < 1e-7


def test_flows_far_beyond_a_bound_are_not_returned() -> None:
    asked = program([12, 8, 4], guess="0.5")
    assert round_units(asked, to_grid(asked, np.diag([12.0, 8, 4]).ravel()), tight=0.0) is None
    built = program([12, 8, 4])
    units = np.array([int(x) for x in EVEN], dtype=object) * built.scale
    units[0] += 1
    assert not keeps_bounds(built, units)
    built = program([2, 2, 2, 1, 2], guess="0.65", least_kept="0.65")
    from maskwell.microdata.matrices.flow_solver import solve

    best = solve(built)
    found = corner(built, best.flows)
    assert keeps_bounds(*found)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"posterior": "0.5"}, True),
        ({"posterior": "0.49"}, False),
        ({"guess": "1/2"}, True),
        ({"guess": "0.49"}, False),
        ({"least_kept": "0.01"}, False),
        ({"changed_at_most": "2/3"}, True),
        ({"changed_at_most": "0.66"}, False),
        ({"changed_at_least": "0.67"}, False),
        ({"parity": 100}, False),
        ({"factor": 100}, False),
    ],
)
def test_every_bound_is_checked(asked: dict[str, object], kept: bool) -> None:
    built = program([12, 8, 4], **asked)
    units = np.array([int(x) for x in EVEN], dtype=object) * built.scale
    assert keeps_bounds(built, units) is kept


def program_for(v: list[int], forbidden: Any = (), **asked: Any) -> Program:
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
    asked = program_for(v, forbidden, posterior_own=str(random.integers(1, 8) / 10))
    sets = [s for size in range(k + 1) for s in itertools.combinations(range(k), size)]
    worst = max(shortage(asked, s) for s in sets)
    found = short_states(asked)
    if not worst:
        assert found is None
        return
    smallest = [s for s in sets if shortage(asked, s) == worst]
    assert tuple(found[0].tolist()) == smallest[0]
    assert all(set(smallest[0]) <= set(s) for s in smallest)


def test_a_lack_of_one_record_among_many_is_found() -> None:
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    big = 10**15
    assert short_states(program_for([2 * big, 20, 10, big], pairs, posterior_own="0.5")) is None
    found = short_states(program_for([2 * big, 20, 10, big - 1], pairs, posterior_own="0.5"))
    assert found is not None
    assert [part.tolist() for part in found] == [[0], [3]]
