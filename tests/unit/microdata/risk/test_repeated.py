"""Two releases of one record: exact parities of all paths of its truth, against every word that the draws can read."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array
from tests.support.words import leading_patterns

from maskwell.core import Categories, KeyedRandom
from maskwell.core.exact import Parity
from maskwell.designs import Dense, Sparse, Uniform
from maskwell.errors import MatrixError, TooLargeError
from maskwell.microdata.matrices.matrix_algebra import repeated
from maskwell.microdata.records.stage_draws import draws_of
from maskwell.microdata.risk import TwoReleases
from maskwell.microdata.risk.repeated_releases import path_parities
from maskwell.microdata.stages.stage import Stage, state_categories

PATTERNS = leading_patterns([(0, 2), (0, 2)], 0x1234)
"""Two words whose leading bits settle every draw with chances that are quarters."""
MOST = 4
"""Draws that two releases can make: two kept ones, or one; and two new ones."""

SKEW = [["3/4", "1/2"], ["1/4", "1/2"]]
WARNER = [["3/4", "1/4"], ["1/4", "3/4"]]
THREE = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
ZERO = [["1/2", "0"], ["1/2", "1"]]


@dataclass
class EveryWord:
    """Stands in for the key and for the generator: row i has the i-th combination of words for all draws together."""

    slots: dict[Any, int] = field(default_factory=dict)
    private: bool = True

    def pick(self, rows: Array, slot: Any) -> Array:
        place = self.slots.setdefault(slot, len(self.slots))
        assert place < MOST
        return PATTERNS[rows // len(PATTERNS) ** place % len(PATTERNS)]

    # as the key
    def keyed_stream(self, variable: str, design: str) -> Any:
        every = self

        class Words:
            def words(self, names: Array, states: Array, count: int) -> Array:
                assert count == 2
                out = np.empty((len(names), count), dtype=np.uint32)
                for state in np.unique(states):
                    own = states == state
                    out[own] = every.pick(names[own], (variable, design, int(state)))
                return out

        return Words()


class Key(KeyedRandom):
    """A key whose words are all that there can be."""

    def __init__(self, every: EveryWord) -> None:
        self.every = every

    def stream(self, variable: str, design: str) -> Any:
        return self.every.keyed_stream(variable, design)


@dataclass
class New:
    """A generator whose every stream is new."""

    every: EveryWord
    private: bool = True

    def stream(self) -> Any:
        every, slot = self.every, object()

        class Words:
            def words(self, first: int, rows: int, count: int) -> Array:
                return every.pick(np.arange(first, first + rows), slot)

            def twin(self) -> Any:
                return self

        return Words()


def stage_of(P: Any, again: Any = None) -> Stage:
    states = [(f"state {i}",) for i in range(len(P))]
    design = Dense.of(P, state_categories(states))
    made = Stage(
        variables=("v",),
        states=states,
        outputs=states,
        design=design,
        counts=np.ones(len(P), dtype=np.int64),
        cells=np.zeros(len(P), dtype=np.int64),
        method="fixed",
        invariance="none",
        derived=False,
    )
    if again is None:
        return made
    then, whole = repeated(design, again)
    return replace(made, design=whole, steps=(design, then))


def enumerated(first: Stage, later: Stage, path: tuple[int, int], *, kept: bool) -> list[list[Fraction]]:
    """The exact chances of both reports, by trying every word that the draws of the two releases read."""
    every = EveryWord()
    rows = np.arange(len(PATTERNS) ** MOST)
    reports = []
    for stage, truth in zip((first, later), path, strict=True):
        draws = draws_of(stage, New(every), Key(every) if kept else None)  # type: ignore[arg-type]
        reports.append(draws.draw(np.full(len(rows), truth, dtype=np.uint32), rows).astype(int))
    m, m_later = first.design.m, later.design.m
    times = np.bincount(reports[0] * m_later + reports[1], minlength=m * m_later).reshape(m, m_later)
    return [[Fraction(int(n), len(rows)) for n in row] for row in times]


def parity(law: list[list[Fraction]], other: list[list[Fraction]]) -> Parity:
    found: list[Parity] = [Fraction(1)]
    for p, q in zip(itertools.chain(*law), itertools.chain(*other), strict=True):
        if p or q:
            found.append(max(p, q) / min(p, q) if p and q else math.inf)
    return max(found)


WAYS = {"kept": (True, None), "fresh": (False, None), "kept and once more": (True, 1)}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize(
    ("P", "Q"), [(WARNER, None), (SKEW, None), (THREE, None), (ZERO, None), (WARNER, SKEW)], ids=str
)
def test_parities_of_all_paths_are_those_of_the_draws(P: Any, Q: Any, way: str) -> None:
    kept, again = WAYS[way]
    first, later = stage_of(P, again), stage_of(P if Q is None else Q, again)
    steps, later_steps = ((stage.design, None) if stage.steps is None else stage.steps for stage in (first, later))
    exact = TwoReleases.of(steps[0], later_steps[0], kept=kept, again=steps[1], later_again=later_steps[1])
    paths = [*itertools.product(range(len(P)), repeat=2)]
    laws = {path: enumerated(first, later, path, kept=kept) for path in paths}
    for path in paths:
        assert laws[path] == exact.law(path), path
    found = {"unchanged": [], "change": [], "changed": []}  # type: ignore[var-annotated]
    for path, other in itertools.product(paths, repeat=2):
        own = parity(laws[path], laws[other])
        assert exact.parity(path, other) == own, (path, other)
        stay = (path[0] == path[1]) + (other[0] == other[1])
        found[("changed", "change", "unchanged")[stay]].append(own)
    told = exact.summary()
    assert {name: max(values) for name, values in found.items()} == vars(told)


def test_what_the_three_ways_promise() -> None:
    """Kept: one report where nothing changed, and a change is told. Fresh: the product. Once more: all finite."""
    g = Fraction(3)
    kept, fresh = (TwoReleases.of(THREE, kept=k).summary() for k in (True, False))
    gamma = Dense.of(THREE).parity_exact()
    assert (kept.unchanged, kept.change, kept.changed) == (gamma, math.inf, gamma**2)
    assert (fresh.unchanged, fresh.change, fresh.changed) == (gamma**2,) * 3
    more = TwoReleases.of(WARNER, kept=True, again=WARNER)
    assert more.summary().unchanged < g < math.inf
    assert all(
        more.parity(*paths) < math.inf
        for paths in itertools.product([*itertools.product(range(2), repeat=2)], repeat=2)
    )


def test_two_designs_give_the_product_of_their_parities() -> None:
    found = TwoReleases.of(WARNER, SKEW, kept=True)
    assert found.same is None, "another design draws anew for every truth"
    assert found.parity((0, 0), (1, 1)) == Dense.of(WARNER).parity_exact() * Dense.of(SKEW).parity_exact()


def test_words_shared_by_truths_are_caught() -> None:
    """Negative control: a key that does not know the true state, as version 1 was. The pair is not as promised."""

    class Careless(EveryWord):
        def pick(self, rows: Array, slot: Any) -> Array:
            return super().pick(rows, slot[:2] if isinstance(slot, tuple) else slot)

    stage, every = stage_of(WARNER), Careless()
    rows = np.arange(len(PATTERNS) ** MOST)
    draws = draws_of(stage, New(every), Key(every))  # type: ignore[arg-type]
    first, later = (draws.draw(np.full(len(rows), t, dtype=np.uint32), rows).astype(int) for t in (0, 1))
    law = np.bincount(2 * first + later, minlength=4) / len(rows)
    assert law.tolist() != [float(p) for row in TwoReleases.of(WARNER, kept=True).law((0, 1)) for p in row]
    assert (first <= later).all(), "whoever's report changed was truthful twice"


# ---- of a stage


def blocks() -> Stage:
    states = [("n", "a"), ("n", "b"), ("s", "a"), ("s", "b"), ("s", "c"), ("w", "a")]
    parts = [Sparse.of_matrix(SKEW), Sparse.of_matrix(THREE), Sparse.unchanged(Categories.numbered(1))]
    design = Sparse.stacked(parts, [[0, 1], [2, 3, 4], [5]], state_categories(states))
    return replace(stage_of(WARNER), variables=("v",), within=("region",), states=states, outputs=states, design=design)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("again", [None, "1/3"])
def test_a_stage_is_judged_within_what_can_become_each_other(kept: bool, again: Any) -> None:
    stage = blocks()
    if again is not None:
        then, whole = repeated(stage.design, again)
        stage = replace(stage, design=whole, steps=(stage.design, then))
    expected = []
    for P in (SKEW, THREE):
        then, whole = repeated(Dense.of(P), 1 if again is None else again)
        if again is None:
            expected.append(TwoReleases.of(P, kept=kept).summary())
        elif kept:
            expected.append(TwoReleases.of(P, kept=True, again=then).summary())
        else:
            expected.append(TwoReleases.of(whole, kept=False).summary())
    found = path_parities(stage, kept=kept)
    assert found is not None
    for name in ("unchanged", "change", "changed"):
        assert getattr(found, name) == max(getattr(one, name) for one in expected)


def test_a_stage_of_many_states_is_left_out() -> None:
    design = Uniform.from_gamma(3, Categories.numbered(500))
    states = [(i,) for i in range(500)]
    stage = replace(stage_of(WARNER), states=states, outputs=states, design=design)
    assert path_parities(stage, kept=True) is None


def test_a_stage_that_changes_nothing_has_no_parity() -> None:
    states = [(0,), (1,)]
    still = replace(stage_of(WARNER), states=states, outputs=states, design=Sparse.unchanged(Categories.numbered(2)))
    assert path_parities(still, kept=True) is None


# ---- bad input


def test_designs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MatrixError, match="different true categories"):
        TwoReleases.of(WARNER, THREE, kept=False)
    with pytest.raises(MatrixError, match="second randomization"):
        TwoReleases.of(WARNER, kept=True, again=THREE)
    with pytest.raises(TooLargeError, match="exactly"):
        TwoReleases.of(Uniform.from_gamma(3, Categories.numbered(300)), kept=True)
