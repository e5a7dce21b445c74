"""An intruder who uses all at once that a headline grants: exact, by brute force over the ways to a released file.

They know the keys of the target and that the person is in the file, the matrices, the true counts of all columns (of
units, too, where a file shows these), and see every column of the released file. Of the people with the same keys each
is the target with the same probability. Records, or units whose records are seen together or have one draw, are
*agents*: each becomes one of a few outcomes, independently of the others.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from maskwell.microdata.stages.stage import Stage

Row = tuple[Hashable, ...]
Outcome = tuple[Row, ...]


@dataclass(frozen=True)
class Agent:
    """A record, or the records of a unit: their true keys, and the probabilities of what they are released as."""

    keys: tuple[Row, ...]
    law: tuple[tuple[Outcome, float], ...]


@dataclass(frozen=True)
class World:
    """All agents of a file, and whether the released file shows which records are one agent's."""

    agents: Sequence[Agent]
    shown: bool

    def tokens(self, outcome: Outcome) -> list[Outcome]:
        """What is counted of an outcome: the records together, or one by one."""
        return [tuple(sorted(outcome, key=str))] if self.shown else [(row,) for row in outcome]

    @property
    def people(self) -> Counter[Row]:
        """How many have the same keys."""
        return Counter(key for agent in self.agents for key in agent.keys)

    @property
    def kinds(self) -> Counter[Agent]:
        """Agents that are drawn alike."""
        return Counter(self.agents)


def world_of(
    rows: Sequence[Row],
    columns: Sequence[str],
    stages: Sequence[Stage],
    keys: Sequence[str],
    *,
    unit: str | None = None,
    shown: bool = False,
    hidden: Sequence[str] = (),
) -> World:
    """The agents of a file: records, or the units that a column names."""
    groups: dict[Any, list[Row]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(i if unit is None else row[columns.index(unit)], []).append(row)
    key_places = [columns.index(name) for name in keys]
    seen = [i for i, name in enumerate(columns) if name not in hidden and name != unit]
    steps = [(stage, _matrix(stage)) for stage in stages]
    agents = []
    for group in groups.values():
        members = tuple(sorted(group, key=lambda row: str([row[i] for i in range(len(row)) if columns[i] != unit])))
        law: dict[Outcome, float] = {}
        for released, p in _drawn(members, columns, steps).items():
            visible = tuple(tuple(row[i] for i in seen) for row in released)
            law[visible] = law.get(visible, 0.0) + p
        agents.append(Agent(tuple(tuple(row[i] for i in key_places) for row in members), tuple(law.items())))
    return World(agents, shown)


def _matrix(stage: Stage) -> dict[Row, list[tuple[Row, float]]]:
    P = stage.design.exact_matrix()
    outputs = [*stage.outputs]
    return {
        state: [(outputs[i], float(P[i][j])) for i in range(len(outputs)) if P[i][j]]
        for j, state in enumerate(stage.states)
    }


def _drawn(members: Outcome, columns: Sequence[str], steps: Sequence[tuple[Stage, Any]]) -> dict[Outcome, float]:
    now: dict[Outcome, float] = {members: 1.0}
    for stage, matrix in steps:
        places = [columns.index(name) for name in stage.columns]

        def options(row: Row, stage: Stage = stage, matrix: Any = matrix, places: Any = places) -> list[Any]:
            state = tuple(row[i] for i in places)
            return [({}, 1.0)] if state not in matrix else [(_labels(stage, out), p) for out, p in matrix[state]]

        after: dict[Outcome, float] = {}
        for rows, p in now.items():
            if stage.unit is not None:
                draws = [([labels] * len(rows), q) for labels, q in options(rows[0])]
            else:
                draws = []
                for each in product(*map(options, rows)):
                    q = 1.0
                    for _, one in each:
                        q *= one
                    draws.append(([labels for labels, _ in each], q))
            for labels, q in draws:
                new = tuple(
                    tuple(told.get(name, old) for name, old in zip(columns, row, strict=True))
                    for row, told in zip(rows, labels, strict=True)
                )
                after[new] = after.get(new, 0.0) + p * q
        now = after
    return now


def _labels(stage: Stage, output: Row) -> dict[str, Hashable]:
    new = dict(zip(stage.columns, output, strict=True))
    own = tuple(new[name] for name in stage.variables)
    return new | {name: follows[own] for name, follows in stage.linked.items() if own in follows}


# ---- the attacks


def best_given_all(world: World, released: Sequence[Outcome]) -> float:
    """The largest probability of a correct pick, given everything in one released file; ``released`` by agents."""
    seen = Counter(token for one in released for token in world.tokens(one))
    best, people, kinds = 0.0, world.people, world.kinds
    hits: Counter[Any] = Counter()
    total = _to(seen, world, kinds)
    for agent, n in kinds.items():
        others = kinds - Counter([agent])
        for outcome, p in agent.law:
            tokens = world.tokens(outcome)
            if Counter(tokens) - seen:
                continue
            weight = p * _to(seen - Counter(tokens), world, others)
            for key, row in zip(agent.keys, outcome, strict=True):
                hits[key, tokens[0] if world.shown else (row,), row] += n * weight / people[key]
    assert total > 0
    for (_, token, row), hit in hits.items():
        alike = seen[token] * (token.count(row) if world.shown else 1)
        best = max(best, hit / total / alike)
    return best


def _to(seen: Counter[Outcome], world: World, kinds: Counter[Agent]) -> float:
    """The probability that some agents together are released as what is seen."""
    axes = [*seen]
    place = {token: i for i, token in enumerate(axes)}
    ways: dict[tuple[int, ...], float] = {(0,) * len(axes): 1.0}
    for agent in kinds.elements():
        after: dict[tuple[int, ...], float] = {}
        for have, p in ways.items():
            for outcome, q in agent.law:
                tokens = world.tokens(outcome)
                if any(token not in place for token in tokens):
                    continue
                new = [*have]
                for token in tokens:
                    new[place[token]] += 1
                if all(n <= seen[token] for n, token in zip(new, axes, strict=True)):
                    after[tuple(new)] = after.get(tuple(new), 0.0) + p * q
        ways = after
    return ways.get(tuple(seen.values()), 0.0)


def best_one_look(world: World, keys: Sequence[int] | None = None) -> float:
    """The largest one, given only how many records, or units, look like the one that is picked.

    With the places of the keys in released rows, also where the intruder looks at the keys and only some others.
    """
    columns = range(len(world.agents[0].law[0][0][0]))
    others = [] if keys is None else [place for place in columns if place not in keys]
    left_out = [out for n in range(len(others) + 1) for out in combinations(others, n)]
    return max(look_at(world, [place for place in columns if place not in out]) for out in left_out)


def look_at(world: World, seen: Sequence[int]) -> float:
    """The largest one where only some of the released columns are looked at."""
    return _best_one_look(_coarser(world, seen))


def _coarser(world: World, seen: Sequence[int]) -> World:
    agents = []
    for agent in world.agents:
        law: dict[Outcome, float] = {}
        for outcome, p in agent.law:
            part = tuple(tuple(row[i] for i in seen) for row in outcome)
            law[part] = law.get(part, 0.0) + p
        agents.append(Agent(agent.keys, tuple(law.items())))
    return replace(world, agents=agents)


def _best_one_look(world: World) -> float:
    people, kinds, best = world.people, world.kinds, 0.0
    looks = {
        (tokens if world.shown else (row,), key, row)
        for agent in kinds
        for outcome, _ in agent.law
        for key, row in zip(agent.keys, outcome, strict=True)
        for tokens in [world.tokens(outcome)[0]]
    }
    for token, key, row in looks:
        adds = {agent: _adding(world, agent, token) for agent in kinds}
        every = _numbers(adds, kinds)
        found: Counter[int] = Counter()
        for agent, n in kinds.items():
            rest = _numbers(adds, kinds - Counter([agent]))
            for outcome, p in agent.law:
                times = world.tokens(outcome).count(token)
                hits = sum(k == key and r == row for k, r in zip(agent.keys, outcome, strict=True))
                if times and hits:
                    for more, q in rest.items():
                        found[times + more] += n * hits * p * q / people[key]
        alike = token.count(row) if world.shown else 1
        best = max([best, *(hit / every[t] / t / alike for t, hit in found.items())])
    return best


def _adding(world: World, agent: Agent, token: Outcome) -> dict[int, float]:
    added: dict[int, float] = {}
    for outcome, p in agent.law:
        times = world.tokens(outcome).count(token)
        added[times] = added.get(times, 0.0) + p
    return added


def _numbers(adds: Mapping[Agent, Mapping[int, float]], kinds: Counter[Agent]) -> dict[int, float]:
    ways = {0: 1.0}
    for agent in kinds.elements():
        after: dict[int, float] = {}
        for have, p in ways.items():
            for more, q in adds[agent].items():
                after[have + more] = after.get(have + more, 0.0) + p * q
        ways = after
    return ways


def listed_best(world: World, released: Sequence[Outcome]) -> float:
    """The same as `best_given_all` by listing every drawn file and every pick in it, for tiny files."""
    seen = Counter(token for one in released for token in world.tokens(one))
    total, hits = 0.0, Counter[Any]()
    for drawn in product(*(agent.law for agent in world.agents)):
        if Counter(token for outcome, _ in drawn for token in world.tokens(outcome)) != seen:
            continue
        p = 1.0
        for _, one in drawn:
            p *= one
        total += p
        for agent, (outcome, _) in zip(world.agents, drawn, strict=True):
            for key, row in zip(agent.keys, outcome, strict=True):
                token = world.tokens(outcome)[0] if world.shown else (row,)
                alike = seen[token] * (token.count(row) if world.shown else 1)
                hits[key, token, row] += p / alike / world.people[key]
    return max(hits.values()) / total


def by_agents(
    released: Sequence[Row], columns: Sequence[str], unit: str | None, see: Callable[[Row], Row]
) -> Iterator[Outcome]:
    """The released rows by units, or one by one."""
    groups: dict[Any, list[Row]] = {}
    for i, row in enumerate(released):
        groups.setdefault(i if unit is None else row[columns.index(unit)], []).append(see(row))
    for rows in groups.values():
        yield tuple(rows)
