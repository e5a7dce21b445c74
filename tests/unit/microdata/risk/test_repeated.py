"""Two releases of one record: exact parities of all paths of its truth, against every word that the draws can read."""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.support.arrays import Array
from tests.support.releases import stage_of
from tests.support.together import together
from tests.support.words import leading_patterns

from maskwell import Categories, KeyedRandom
from maskwell.core.exact import Parity
from maskwell.designs import Dense, Sparse, Uniform
from maskwell.microdata.matrices.matrix_algebra import repeated
from maskwell.microdata.records.row_releaser import draws_of
from maskwell.microdata.risk.repeated_releases import path_parities, two_releases
from maskwell.microdata.stages.stage import Stage, state_categories

PATTERNS = leading_patterns([(0, 2), (0, 2)], 0x1234)
"""Two words whose leading bits settle every draw with chances that are quarters."""
MOST = 4
"""Draws that two releases can make: two kept ones, or one; and two new ones."""

SKEW = [["3/4", "1/2"], ["1/4", "1/2"]]
WARNER = [["3/4", "1/4"], ["1/4", "3/4"]]
THREE = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
ZERO = [["1/2", "0"], ["1/2", "1"]]
WAYS = ((True, None), (False, None), (True, THREE))
"""Whether draws are kept, and what randomizes them once more."""


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


def made_of(P: Any, again: Any = None) -> Stage:
    states = [(f"state {i}",) for i in range(len(P))]
    design = Dense.of(P, state_categories(states))
    if again is None:
        return stage_of(["v"], states, design)
    then, whole = repeated(design, again)
    return stage_of(["v"], states, whole, steps=(design, then))


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


def largest_parities(laws: dict[tuple[int, int], list[list[Fraction]]]) -> dict[str, Parity]:
    """Of all pairs of paths, by how many of the two stay."""
    found = defaultdict[str, list[Parity]](list)
    for path, other in itertools.product(laws, repeat=2):
        stay = (path[0] == path[1]) + (other[0] == other[1])
        found[("changed", "change", "unchanged")[stay]].append(parity(laws[path], laws[other]))
    return {name: max(values) for name, values in found.items()}


@together(
    ("way", "P"),
    itertools.product([(True, None), (False, None), (True, 1)], [WARNER, SKEW, THREE, ZERO]),  # kept, and once more
)
def test_parities_of_all_paths_are_those_of_the_draws(way: tuple[bool, int | None], P: Any) -> None:
    kept, again = way
    stage = made_of(P, again)
    paths = itertools.product(range(len(P)), repeat=2)
    laws = {path: enumerated(stage, stage, path, kept=kept) for path in paths}
    first, then = (stage.design, None) if stage.steps is None else stage.steps
    assert vars(two_releases(first, kept=kept, again=then)) == largest_parities(laws)


def test_what_the_three_ways_promise_and_what_is_left_out() -> None:
    """Kept: one report where nothing changed, and a change is told. Fresh: the product. Once more: all finite."""
    kept, fresh, more = (two_releases(THREE, kept=k, again=again) for k, again in WAYS)
    gamma = Dense.of(THREE).parity_exact()
    assert (kept.unchanged, kept.change, kept.changed) == (gamma, math.inf, gamma**2)
    assert {*vars(fresh).values()} == {gamma**2}
    assert more.unchanged < gamma and max(more.change, more.changed) < math.inf
    for design in (Uniform.from_gamma(3, Categories.numbered(500)), Sparse.unchanged(Categories.numbered(2))):
        states = [(i,) for i in range(design.k)]
        stage = replace(made_of(WARNER), states=states, outputs=states, design=design)
        assert path_parities(stage, kept=True) is None


def test_words_shared_by_truths_are_caught() -> None:
    """Negative control: a key that does not know the true state, as version 1 was. The pair is not as promised."""

    class Careless(EveryWord):
        def pick(self, rows: Array, slot: Any) -> Array:
            return super().pick(rows, slot[:2] if isinstance(slot, tuple) else slot)

    stage, every = made_of(WARNER), Careless()
    rows = np.arange(len(PATTERNS) ** MOST)
    draws = draws_of(stage, New(every), Key(every))  # type: ignore[arg-type]
    first, later = (draws.draw(np.full(len(rows), t, dtype=np.uint32), rows).astype(int) for t in (0, 1))
    law = np.bincount(2 * first + later, minlength=4) / len(rows)
    promised = [p * q for p, q in itertools.product((0.75, 0.25), (0.25, 0.75))]
    assert law.tolist() != promised
    assert (first <= later).all(), "whoever's report changed was truthful twice"


# ---- of a stage


def blocks() -> Stage:
    states = [("n", "a"), ("n", "b"), ("s", "a"), ("s", "b"), ("s", "c"), ("w", "a")]
    parts = [Sparse.of_matrix(SKEW), Sparse.of_matrix(THREE), Sparse.unchanged(Categories.numbered(1))]
    design = Sparse.stacked(parts, [[0, 1], [2, 3, 4], [5]], state_categories(states))
    return replace(made_of(WARNER), within=("region",), states=states, outputs=states, design=design)


@together(("kept", "again"), itertools.product([True, False], [None, "1/3"]))
def test_a_stage_is_judged_within_what_can_become_each_other(kept: bool, again: Any) -> None:
    stage = blocks()
    if again is not None:
        then, whole = repeated(stage.design, again)
        stage = replace(stage, design=whole, steps=(stage.design, then))
    expected = []
    for P in (SKEW, THREE):
        then, whole = (None, P) if again is None else repeated(Dense.of(P), again)
        expected.append(two_releases(P, kept=True, again=then) if kept else two_releases(whole, kept=False))
    found = path_parities(stage, kept=kept)
    assert vars(found) == {name: max(getattr(one, name) for one in expected) for name in vars(found)}
