"""The optimal matrix: what it keeps, never does, and refuses; and from floats to integers that keep everything."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

from maskwell.errors import CountsError, InfeasibleError, ParameterError
from maskwell.microdata.matrices import Bounds, optimal_matrix
from maskwell.microdata.matrices.flow_program import Program, allowed_pairs, program_of
from maskwell.microdata.matrices.flow_rounding import corner, keeps_bounds, round_units, to_grid
from maskwell.microdata.matrices.infeasibility import short_states
from maskwell.microdata.matrices.matrix_checks import invariance_error


def zipf(k: int, *, seed: int = 1) -> list[int]:
    extra = np.random.default_rng(seed).integers(1, 20, k)
    return [int(10_000 / (i + 1)) + int(x) for i, x in enumerate(extra)]


def test_caps_and_bounds_at_their_limit_and_sums_made_right_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A largest flow of SciPy did: another one, as of another version, gave the matrix another fingerprint."""
    found = optimal_matrix([30, 20, 10, 5], Bounds.of(posterior_own="0.9", caps={2: "0.2", 0: 1}))
    diagonal = [found.design.columns_exact(j)[j] for j in range(4)]
    assert diagonal[2] == Fraction(1, 5) and max(diagonal[1], diagonal[3]) <= Fraction(9, 10)
    exempt = optimal_matrix([30, 20, 10, 5], Bounds.of(posterior_own="0.5", caps={0: 1})).design
    assert exempt.diagonal()[0] > 0.5
    found = optimal_matrix([12, 8, 3], Bounds.of(guess=12 / 23))
    assert found.optimum == pytest.approx(12 / 23)
    assert any("12/23" in note for note in found.notes)
    import scipy.sparse.csgraph

    monkeypatch.delattr(scipy.sparse.csgraph, "maximum_flow")
    found = optimal_matrix([2, 100, 5, 100, 3, 1], Bounds.of(guess="0.8"), cost="ordinal")
    assert found.achieved["guess"] <= 0.8 and found.invariance_error == 0


LARGE = [{"guess": 0.5}, {"parity": 10}, {"parity": 10, "guess": 0.3}]
LARGE += [{"posterior": 0.6, "odds": 1.2, "guess": 0.45, "least_kept": 0.2, "changed_at_least": 0.3}]


@pytest.mark.parametrize("asked", LARGE)
def test_many_states_as_few_states(asked: dict[str, Any]) -> None:
    """Large programs go to another solver; what it finds is as good and kept as exactly."""
    from maskwell.microdata.matrices import flow_solver

    bounds, v = Bounds.of(**asked), zipf(32)
    inside = optimal_matrix(v, bounds)
    before, flow_solver.TIED_FLOWS = flow_solver.TIED_FLOWS, 10**9
    try:
        outside = optimal_matrix(v, bounds)
    finally:
        flow_solver.TIED_FLOWS = before
    assert inside.optimum == pytest.approx(outside.optimum, abs=1e-7)
    assert invariance_error(inside.design, v) < 1e-15


# ---- refused


def short(v: list[int], *, hint: str, forbidden: Any = (), band: int | None = None, **asked: Any) -> InfeasibleError:
    caught = refused(InfeasibleError, "", optimal_matrix, v, Bounds.of(**asked), forbidden=forbidden, band=band)
    assert hint in caught.hint
    assert len(caught.message) <= 93 and len(caught.hint) <= 94
    return caught


def test_bounds_that_cannot_be_kept_come_with_the_nearest_that_can() -> None:
    error = short([80, 15, 5], posterior_own="0.7", hint="posterior_own = 0.75")
    assert "80 %" in error.message and "75 % must stay" in error.message
    assert error.objects["nearest"] == {"posterior_own": 0.75}
    assert "odds = 3" in short([80, 15, 5], odds=1, hint="odds = 3").hint
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    error = short([30, 20, 10, 5], forbidden=pairs, posterior_own="0.5", hint="0.8334")
    assert error.objects["senders"] == [0] and error.objects["receivers"] == [3]
    error = short([30, 20, 10, 5], posterior="0.5", changed_at_most="0.2", hint="posterior at least 0.8")
    assert "changed_at_most at least 0.5" in error.hint
    short([30, 20, 10, 5], factor=2, changed_at_most="0.2", hint="changed_at_most at least 0.4379")
    short([30, 20, 10, 5], posterior="0.5", least_kept="0.6", hint="least_kept at most 0.5")
    # State 0 gives and takes 30 (1 - beta), so that 5 + 60 beta records of 65 stay.
    asked = {"posterior_own": "0.2", "caps": {1: 1}, "changed_at_most": "0.5"}
    error = short([30, 20, 10, 5], hint="posterior_own at least 0.4584", **asked)
    assert error.objects["nearest"] == {"posterior_own": 0.4584, "changed_at_most": 0.7385}
    short([30, 20, 10], factor=2, band=1, hint="leave out factor")
    short([30, 20], forbidden=[(0, 0), (1, 0)], posterior="0.9", hint="allow that it stays")
    from maskwell.core.phrases import HINT
    from maskwell.microdata.matrices.infeasibility import _in_words

    near = dict.fromkeys(("posterior", "posterior_own", "guess", "changed_at_most", "least_kept"), 0.1235)
    hint = _in_words(near)
    assert len(hint) <= HINT and hint.endswith("0.1235") and "…" not in hint


def test_bad_input() -> None:
    refused(ParameterError, "not a linear constraint", optimal_matrix, [3, 2], Bounds.of(match=0.5))
    refused(CountsError, "", optimal_matrix, [3, -2], Bounds())
    refused(ParameterError, "costs", optimal_matrix, [3, 2], Bounds(), cost=[[0, float("nan")], [1, 0]])
    refused(ParameterError, "far", optimal_matrix, [3, 2], Bounds(), cost="far")
    refused(ParameterError, "pair", optimal_matrix, [3, 2], Bounds(), forbidden=[(0, 2)])
    refused(ParameterError, "band", optimal_matrix, [3, 2], Bounds(), band=-1)


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


def test_wrong_flows_are_seen_a_corner_found_exactly_and_a_lack_of_one_record() -> None:
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
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    big = 10**15
    assert short_states(program_for([2 * big, 20, 10, big], pairs, posterior_own="0.5")) is None
    found = short_states(program_for([2 * big, 20, 10, big - 1], pairs, posterior_own="0.5"))
    assert found is not None
    assert [part.tolist() for part in found] == [[0], [3]]


KEPT: list[dict[str, object]] = [{"posterior": "0.5"}, {"guess": "1/2"}, {"changed_at_most": "2/3"}]
LOST: list[dict[str, object]] = [{"posterior": "0.49"}, {"guess": "0.49"}, {"changed_at_most": "0.66"}]
LOST += [{"least_kept": "0.01"}, {"changed_at_least": "0.67"}, {"parity": 100}, {"factor": 100}]


@pytest.mark.parametrize(("asked", "kept"), [*((one, True) for one in KEPT), *((one, False) for one in LOST)])
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
