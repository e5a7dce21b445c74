"""Intruders who look for one person in a released file, with everything that is public and all that a headline grants.

They know the keys of the target, the matrices and the counts of the original file, and they see the released file
with all its columns. Small files are enumerated: every released file with its exact probability. Larger ones are drawn
by the program itself, many times, and the intruder's successes are counted.

What is held against them is what people read: the percentage in the first sentence of a release.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from scipy.stats import binom
from tests.support.arrays import Array

from maskwell import Release, ReleasePlan, SeededRandom
from maskwell.engines.rows import MemoryRows
from maskwell.microdata.publication import release_table
from maskwell.microdata.records.row_releaser import release_batches, row_plan
from maskwell.microdata.stages.stage import Stage
from maskwell.reports.text.release_report import release_report

Record = tuple[Hashable, ...]
Law = Mapping[Record, Fraction]
FALSE_ALARM = 1e-6
"""How often an attack on a release that keeps its figure is taken for a success, over all seeds."""


# ---- what is promised


CERTAIN = ("for sure", "with certainty")


def printed_figure(text: str) -> Fraction:
    """The chance that the headline of a release states; one where it says that records are found with certainty.

    The headline is the first sentence with a percentage, or with the word that nothing is hidden.
    """
    for sentence in re.split(r"(?<=[.])\s", _plain(text)):
        if any(words in sentence for words in CERTAIN):
            return Fraction(1)
        if percents := _percents(sentence):
            return percents[0]
    return Fraction(1)


def printed_for(text: str, intruder: str) -> Fraction:
    """The chance that the headline adds for another intruder, by the words that name him; else that of the headline."""
    found = [_percents(clause) for clause in re.split(r";|(?<=[.])\s", _plain(text)) if intruder in clause]
    return max([printed_figure(text), *(percents[0] for percents in found if percents)])


def _plain(text: str) -> str:
    return " ".join(text.replace("\u202f", " ").replace("\xa0", " ").split())


def _percents(text: str) -> list[Fraction]:
    return [Fraction(number) / 100 for number in re.findall(r"(\d+(?:\.\d+)?) ?%", text)]


def headline(release: Release) -> Fraction:
    """What the command would print above this release."""
    return printed_figure("\n".join(release_report(release, "released")))


# ---- the release in exact numbers, from its matrices, one record at a time


def laws_of(rows: Sequence[Record], columns: Sequence[str], stages: Sequence[Stage]) -> list[Law]:
    """The law of every released row."""
    known: dict[Record, Law] = {}
    matrices = [_columns(stage) for stage in stages]
    for row in rows:
        if row not in known:
            known[row] = _law(row, columns, stages, matrices)
    return [known[row] for row in rows]


def _columns(stage: Stage) -> dict[Record, list[tuple[Record, Fraction]]]:
    P = stage.design.exact_matrix()
    outputs = list(stage.outputs)
    return {
        state: [(outputs[i], P[i][j]) for i in range(len(outputs)) if P[i][j]] for j, state in enumerate(stage.states)
    }


def _law(row: Record, columns: Sequence[str], stages: Sequence[Stage], matrices: Sequence[Any]) -> Law:
    found: dict[Record, Fraction] = {row: Fraction(1)}
    for stage, matrix in zip(stages, matrices, strict=True):
        after: dict[Record, Fraction] = {}
        places = [columns.index(name) for name in stage.columns]
        for now, p in found.items():
            state = tuple(now[i] for i in places)
            for labels, q in matrix.get(state, [(state, Fraction(1))]):
                new = dict(zip(stage.columns, labels, strict=True))
                own = tuple(new[name] for name in stage.variables)
                new |= {name: follows[own] for name, follows in stage.linked.items() if own in follows}
                moved = tuple(new.get(name, old) for name, old in zip(columns, now, strict=True))
                after[moved] = after.get(moved, Fraction(0)) + p * q
        found = after
    return found


def seen_through(laws: Sequence[Law], see: Callable[[Record], Record]) -> list[Law]:
    """The laws of what is seen of the rows."""
    found = []
    for law in laws:
        part: dict[Record, Fraction] = {}
        for row, p in law.items():
            part[see(row)] = part.get(see(row), Fraction(0)) + p
        found.append(part)
    return found


# ---- the best attack on a small file, exactly


@dataclass(frozen=True, order=True)
class Success:
    """The chance of an attack, whom it looks for, where, and what the intruder saw before he picked."""

    chance: Fraction
    target: str
    look: str
    seen: str


def best_attacks(laws: Sequence[Law], keys: Sequence[Record], *, own_look: bool = False) -> tuple[Success, Success]:
    """The best attack of an intruder who counts the rows of one kind, and of one who counts the rows of every kind.

    ``laws`` are those of what is seen of each released row, ``keys`` the true keys of the records. The target is any of
    the records with its keys; the intruder chooses whom to look for, which kind of row to pick from, and waits
    for the release that is best for him: the chance is that of a correct pick given what he saw.
    """
    looks = sorted({row for law in laws for row in law}, key=str)
    one = everything = Success(Fraction(0), "", "", "")
    total = _tables(laws, looks)
    for target in dict.fromkeys(keys):
        own = [law for law, key in zip(laws, keys, strict=True) if key == target]
        others = _others(laws, own, looks)
        for place, look in enumerate(looks):
            if own_look and look != target:
                continue
            right = _right(others, place, look)
            of_one: dict[int, list[int]] = {}
            for seen, weight in total.items():
                n = seen[place]
                if not n:
                    continue
                hits, whole = right.get(seen, 0), weight * n * len(own)
                if hits * everything.chance.denominator > everything.chance.numerator * whole:
                    everything = Success(Fraction(hits, whole), str(target), str(look), str(seen))
                sums = of_one.setdefault(n, [0, 0])
                sums[0] += hits
                sums[1] += weight
            for n, (hits, weight) in of_one.items():
                one = max(one, Success(Fraction(hits, weight * n * len(own)), str(target), str(look), str(n)))
    return one, everything


def best_attack_on(laws: Sequence[Law], keys: Sequence[Record], released: Sequence[Record]) -> Success:
    """The best attack on one released file, of an intruder who counts the rows of every kind in it."""
    looks = sorted({row for law in laws for row in law}, key=str)
    seen = tuple(released.count(look) for look in looks)
    best = Success(Fraction(0), "", "", "")
    total = _tables(laws, looks)
    for target in dict.fromkeys(keys):
        own = [law for law, key in zip(laws, keys, strict=True) if key == target]
        others = _others(laws, own, looks)
        for place, look in enumerate(looks):
            if seen[place]:
                right = _right(others, place, look)
                chance = Fraction(right.get(seen, 0), total[seen] * seen[place] * len(own))
                best = max(best, Success(chance, str(target), str(look), str(seen)))
    return best


def _others(
    laws: Sequence[Law], own: Sequence[Law], looks: Sequence[Record]
) -> list[tuple[Law, int, dict[Record, int]]]:
    """Each different law of the targets, how many of them have it, and the tables of all records but one of these."""
    found = []
    for items, times in Counter(tuple(sorted(law.items(), key=str)) for law in own).items():
        rest = list(laws)
        rest.remove(dict(items))
        found.append((dict(items), times, _tables(rest, looks)))
    return found


def _right(others: Sequence[tuple[Law, int, dict[Record, int]]], place: int, look: Record) -> dict[Record, int]:
    """The weight of every table of released rows with one of the targets at ``look``, summed over them."""
    right: dict[Record, int] = {}
    for law, times, tables in others:
        scaled = times * int(law.get(look, Fraction(0)) * _scale(law))
        if not scaled:
            continue
        for seen, weight in tables.items():
            arrived = (*seen[:place], seen[place] + 1, *seen[place + 1 :])
            right[arrived] = right.get(arrived, 0) + scaled * weight
    return right


_KNOWN: dict[Any, dict[Record, int]] = {}


def _tables(laws: Sequence[Law], looks: Sequence[Record]) -> dict[Record, int]:
    """Every table of released rows, with its probability times the product of all scales."""
    name = tuple(sorted(str(sorted(law.items(), key=str)) for law in laws)), tuple(looks)
    if name not in _KNOWN:
        _KNOWN[name] = _enumerated(laws, looks)
    return _KNOWN[name]


def _enumerated(laws: Sequence[Law], looks: Sequence[Record]) -> dict[Record, int]:
    found: dict[Record, int] = {(0,) * len(looks): 1}
    for law in laws:
        after: dict[Record, int] = {}
        steps = [(looks.index(row), int(p * _scale(law))) for row, p in law.items()]
        for seen, weight in found.items():
            for place, scaled in steps:
                new = (*seen[:place], seen[place] + 1, *seen[place + 1 :])
                after[new] = after.get(new, 0) + weight * scaled
        found = after
    return found


def _scale(law: Law) -> int:
    return lcm(*(p.denominator for p in law.values()))


# ---- the same release, drawn many times


@dataclass(frozen=True, eq=False)
class Campaign:
    """Releases of one file: ``looks[r, i]`` is the kind of row that record i became in release r."""

    release: Release
    kinds: Sequence[Record]
    looks: Array
    keys: Sequence[Record]


def assessed(rows: Sequence[Record], columns: Sequence[str], plan: ReleasePlan) -> Release:
    """A release of rows, with the figures that it states. Its draws come from a seed."""
    return release_table(_table(rows, columns), plan, random=SeededRandom(1)).release


def campaign(rows: Sequence[Record], columns: Sequence[str], plan: ReleasePlan, *, times: int, seed: int) -> Campaign:
    """A file released many times by the program's own draws; the plan keeps the order, so that records are known."""
    assert plan.order == "kept"
    release = assessed(rows, columns, plan)
    places = [i for i, name in enumerate(columns) if name not in (*plan.drop, plan.id)]
    if any(stage.method == "swap" for stage in release.stages):  # a swap is of the whole file, or of nothing
        source = SeededRandom(seed)
        released = [row for _ in range(times) for row in drawn_rows(release, rows, columns, source)]
    else:
        released = drawn_rows(release, [*rows] * times, columns, SeededRandom(seed))
    kinds = sorted({*released}, key=str)
    number = {kind: i for i, kind in enumerate(kinds)}
    codes = np.array([number[row] for row in released]).reshape(times, len(rows))
    keys = [tuple(row[columns.index(name)] for name in plan.keys) for row in rows]
    assert len(places) == len(kinds[0])
    return Campaign(release, kinds, codes, keys)


def drawn_rows(release: Release, rows: Sequence[Record], columns: Sequence[str], random: SeededRandom) -> list[Record]:
    """The rows of one release, in the order of the plan."""
    work = row_plan(release, random, None)
    source = MemoryRows(_table(rows, columns))
    batches, _, _ = release_batches(source, "the table", work)
    return [row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]


def _table(rows: Sequence[Record], columns: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(columns)}


@dataclass(frozen=True, order=True)
class Caught:
    """A simulated attack whose successes a kept figure explains with a chance of ``explained`` only."""

    explained: float
    what: str


def caught_matching(done: Campaign, figure: Fraction | float, see: Callable[[Record], Record]) -> list[Caught]:
    """Attacks that beat a figure: all targets, all kinds of rows, all numbers of them; each pick is one trial.

    A release whose figure holds is in the list with a chance of at most FALSE_ALARM: the tests are one-sided and
    binomial, and that chance is divided by their number.
    """
    kinds = [see(kind) for kind in done.kinds]
    shown = sorted({*kinds}, key=str)
    looks = np.array([shown.index(kind) for kind in kinds])[done.looks]
    random = np.random.default_rng(1)
    trials: dict[tuple[Any, ...], tuple[int, int]] = {}
    for target in dict.fromkeys(done.keys):
        places = np.array([i for i, key in enumerate(done.keys) if key == target])
        person = random.choice(places, size=len(looks))
        for look, kind in enumerate(shown):
            at = looks == look
            n = at.sum(axis=1)
            picked = np.where(at, random.random(at.shape), -1).argmax(axis=1)
            for t in np.unique(n[n > 0]).tolist():
                those = n == t
                hits = int((picked == person)[those].sum())
                trials[target, kind, t] = int(those.sum()), hits
    level = FALSE_ALARM / max(1, len(trials))
    found = []
    for name, (tried, hits) in trials.items():
        explained = float(binom.sf(hits - 1, tried, min(1.0, float(figure))))
        if explained < level:
            found.append(Caught(explained, f"{name}: {hits} of {tried} picks were right"))
    return sorted(found)


def rows_of(cells: Mapping[Record, int]) -> list[Record]:
    """Rows from counts."""
    return [row for row, n in cells.items() for _ in range(n)]


def key_of(columns: Sequence[str], names: Iterable[str]) -> Callable[[Record], Record]:
    """What an intruder sees who looks at some columns only."""
    places = [columns.index(name) for name in names]
    return lambda row: tuple(row[i] for i in places)
