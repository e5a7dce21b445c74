"""Random small pairs of releases of the same people, and an intruder who sees which released records are one person's.

The intruder is granted the true pairs, and the draws are followed as *potential outcomes*: a draw is a value for each
name that a person's truths can meet, kept draws of one name are one value, and all tables of values are listed.
``python -m tests.support.waves_cases 2000`` tries so many, from number 0; a second number says where to begin.
"""

import csv
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

from tests.support.granted import Agent, Outcome, World, best_given_all, look_at

from maskwell import KeyedRandom, Release, ReleasePlan
from maskwell.errors import InfeasibleError, MaskwellError, PublishError
from maskwell.microdata.publication import release_into
from maskwell.microdata.stages.stage import Stage

SLACK = 1e-9
NOBODY = ("nobody",)
KEY = KeyedRandom.of(bytes(range(32)), "people")
FORMS = (
    "one key",
    "two keys",
    "one key, carried on",
    "two keys, carried on",
    "key and another, carried on",
    "apart",
    "within",
    "again",
    "the same matrix",
    "three waves",
)
Row = tuple[str, ...]
File = Mapping[int, Row]  # the rows of a file by the ids of people


@dataclass(frozen=True)
class Case:
    """A few small files of the same people, and a plan for all."""

    form: str
    files: Sequence[File]
    protect: Sequence[dict[str, Any]]
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    release: Mapping[str, Any] = field(default_factory=dict)
    carried_on: bool = False  # whether each release carries on the matrices of the one before
    accepts: bool = True  # whether the plan accepts that the limit is not for this intruder

    @property
    def plan(self) -> ReleasePlan:
        accept = ["record-order", *["linked-releases"] * self.accepts]
        named = {"id": "pid", "dataset": "people", "order": "kept", "accept": accept}
        return ReleasePlan.of([*self.protect], keys=[*self.keys], **named, **self.release)


def case_of(number: int) -> Case:
    """The case of a number."""
    r = random.Random(number)
    form = FORMS[number % len(FORMS)]
    match = r.choice(["0.3", "0.4", "0.5", "0.6"])
    how = {"method": r.choice(["mixing", "mixing", "optimal", "inverse-frequency"])}
    columns, keys = (("a",), ("a",)) if form.startswith(("one", "again", "the same")) else (("a", "b"), ("a", "b"))
    release: dict[str, Any] = {"match": match}
    protect: list[dict[str, Any]] = [{"variables": [*columns], **how}]
    if form.startswith("key and"):
        keys = ("a",)
    elif form == "apart":
        protect = [{"variables": ["a"], **how}, {"variables": ["b"], "method": "method1", "theta": "0.6"}]
        keys = r.choice([("a",), ("a", "b")])
    elif form == "within":
        release = {} if r.random() < 0.5 else release
        first = {"method": "method1", "theta": "0.6"} if not release else how
        protect = [{"variables": ["a"], **first}, {"variables": ["b"], "within": ["a"], "method": "method1"}]
        protect[1]["theta"] = "0.5"
        keys = r.choice([("a",), ("a", "b")])
    elif form in ("again", "the same matrix"):
        protect = [{"variables": ["a"], "method": "uniform", "gamma": r.choice([2, 4])}]
        release = {}
        if form == "again":
            protect[0]["again"] = r.choice(["0.3", "0.6"])
    labels = "abc"[: r.choice([2, 3])]
    one: dict[int, Row] = {}
    for pid in range(r.choice([5, 6, 7, 8])):
        one[pid] = tuple(r.choice(labels if name == "a" else "xy") for name in columns)
    files = [one]
    for wave in range(2 if form == "three waves" else 1):
        files.append(_later(r, files[-1], columns, labels, 100 * (wave + 1)))
    return Case(
        form,
        files,
        protect,
        columns,
        keys,
        release,
        carried_on=form.endswith("carried on") or (form in ("three waves", "apart", "within") and r.random() < 0.5),
        accepts=r.random() < 0.8,
    )


def _later(r: random.Random, before: File, columns: Sequence[str], labels: str, new: int) -> File:
    after = {}
    for pid, row in before.items():
        if r.random() < 0.1:
            continue
        changes = r.random() < 0.3
        after[pid] = tuple(r.choice(labels if name == "a" else "xy") for name in columns) if changes else row
    for pid in range(new, new + r.choice([0, 0, 1])):
        after[pid] = tuple(r.choice(labels if name == "a" else "xy") for name in columns)
    return after


@dataclass(frozen=True)
class Tried:
    """What came of one case: a figure that is too small, in words, or nothing."""

    outcome: str  # "refused" (with the file alone), "above" (a limit for all files), "kept"
    fault: str = ""
    figures: tuple[float, float, float] = (0.0, 0.0, 0.0)  # one look, one file, all counts: of the intruder


def tried(number: int) -> Tried:
    """Release all files of a case, and hold the intruder against what the last release says."""
    case, here = case_of(number), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            done = _released(case)
        except PublishError as error:
            return Tried("above" if "linked" in error.objects or "again" in error.objects else "refused")
        except (InfeasibleError, MaskwellError):
            return Tried("refused")
        finally:
            os.chdir(here)
    return _judged(case, *done)


def _released(case: Case) -> tuple[list[Release], list[dict[int, Row]]]:
    releases, drawn = list[Release](), list[dict[int, Row]]()
    for t, file in enumerate(case.files):
        with Path(f"{t}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("pid", *case.columns), *((pid, *row) for pid, row in file.items())])
        options: dict[str, Any] = {"key": KEY, "ledger": "k.ledger", "draw_anew": case.accepts}
        if t and case.carried_on:
            options["matrices"] = f"r{t - 1}/internal/receipt.json"
        earlier = [f"{i}.csv" for i in range(t) if Path(f"{i}.csv").read_bytes() != Path(f"{t}.csv").read_bytes()]
        releases.append(release_into(f"{t}.csv", case.plan, f"r{t}", earlier_files=earlier, **options))
        with Path(f"r{t}/public/data.csv").open(encoding="utf-8") as read:
            rows = [*csv.reader(read)][1:]
        drawn.append({pid: tuple(row) for pid, row in zip(file, rows, strict=True)})
    return releases, drawn


def _judged(case: Case, releases: Sequence[Release], drawn: Sequence[Mapping[int, Row]]) -> Tried:
    linked = releases[-1].linked
    if linked is None or linked.one_look is None or linked.one_file is None or linked.all_counts is None:
        return Tried("kept", "no figure")
    waves = [_Wave(case, [*release.stages]) for release in releases]
    people = sorted({pid for file in case.files for pid in file})
    truths = {pid: tuple(file.get(pid) for file in case.files) for pid in people}
    at = [case.columns.index(name) for name in case.keys]
    laws = {truth: law_of(truth, waves) for truth in {*truths.values()}}
    known = {pid: tuple(() if row is None else tuple(row[i] for i in at) for row in truths[pid]) for pid in people}
    laws = {truth: tuple((_flat(seen, case), p) for (seen,), p in law) for truth, law in laws.items()}
    agents = [Agent((known[pid],), laws[truths[pid]]) for pid in people]
    world = World(agents, shown=False)
    released = [_flat(tuple(file.get(pid, ()) for file in drawn), case) for pid in people]
    one, counts = _best_look(world), best_given_all(world, released)
    alone = 0.0
    for t in range(len(waves)):
        of_file = [Agent((known[pid][t] or NOBODY,), laws[truths[pid]]) for pid in people]
        alone = max(alone, _best_look(_Known(of_file, shown=False)))
    fault = ""
    if one > linked.one_look + SLACK or (not _others(case) and abs(one - linked.one_look) > SLACK):
        fault = f"one look {one:.6f}, printed {linked.one_look:.6f}"
    elif alone > linked.one_file + SLACK:
        fault = f"keys of one file {alone:.6f}, printed {linked.one_file:.6f}"
    elif counts > linked.all_counts + SLACK:
        fault = f"all counts {counts:.6f}, printed {linked.all_counts:.6f}"
    elif not case.accepts and case.release and one > float(case.plan.match or 1) + SLACK:
        fault = f"one look {one:.6f}, limit {case.release['match']}"
    return Tried("kept", fault, (one, alone, counts))


def _flat(seen: Sequence[Row], case: Case) -> Outcome:
    """The columns of all files in one row, where a person is in no file nobody."""
    return (tuple(value for row in seen for value in (row or NOBODY * len(case.columns))),)


def _best_look(world: World) -> float:
    """The best one look at some columns of some files."""
    columns = range(len(world.agents[0].law[0][0][0]))
    return max(look_at(world, some) for n in range(1, len(columns) + 1) for some in combinations(columns, n))


def _others(case: Case) -> bool:
    return len(case.keys) < len(case.columns)


class _Known(World):
    """People whose keys are known; who is not in the file is not looked for, as if too many had the same keys."""

    @property
    def people(self) -> Counter[Row]:
        return Counter({key: 10**9 if key == NOBODY else n for key, n in super().people.items()})


@dataclass(frozen=True)
class _Wave:
    case: Case
    stages: Sequence[Stage]


def law_of(truth: Sequence[Row | None], waves: Sequence[_Wave]) -> tuple[Any, ...]:
    """The chances of what one person is released as in all files, over all tables of potential draws."""
    names: dict[Hashable, list[tuple[int, float]]] = {}
    for t, (row, wave) in enumerate(zip(truth, waves, strict=True)):
        if row is not None:
            starts = {row}
            for stage in wave.stages:
                starts = {after for one in starts for after in _reached(t, one, wave.case, stage, names)}
    law: dict[Any, float] = {}
    for values in product(*names.values()):
        p, table = 1.0, {}
        for name, (report, q) in zip(names, values, strict=True):
            p, table[name] = p * q, report
        seen = tuple(() if row is None else _through(t, row, waves[t], table) for t, row in enumerate(truth))
        law[(seen,)] = law.get((seen,), 0.0) + p
    return tuple(law.items())


def _state(row: Row, case: Case, stage: Stage) -> int | None:
    state = tuple(row[case.columns.index(name)] for name in stage.columns)
    return stage.states.index(state) if state in stage.states else None


def _names(t: int, stage: Stage, state: int) -> tuple[Hashable, Any]:
    name: Hashable = ("kept", stage.variables, stage.drawn_as(state), state)
    return name, lambda report: ("again", t, stage.variables, report)


def _reached(t: int, row: Row, case: Case, stage: Stage, names: dict[Hashable, list[tuple[int, float]]]) -> set[Row]:
    state = _state(row, case, stage)
    if state is None:
        return {row}
    P = stage.permanent.design.exact_matrix()
    name, second = _names(t, stage, state)
    names[name] = [(i, float(P[i][state])) for i in range(len(P)) if P[i][state]]
    ends = [i for i, _ in names[name]]
    if stage.steps is not None:
        C = stage.steps[1].exact_matrix()
        for report in ends:
            names[second(report)] = [(i, float(C[i][report])) for i in range(len(C)) if C[i][report]]
        ends = [i for report in ends for i, _ in names[second(report)]]
    return {_with(row, case, stage, i) for i in ends}


def _with(row: Row, case: Case, stage: Stage, report: int) -> Row:
    new = dict(zip(case.columns, row, strict=True)) | dict(zip(stage.columns, stage.outputs[report], strict=True))
    return tuple(str(new[name]) for name in case.columns)


def _through(t: int, row: Row, wave: _Wave, table: Mapping[Hashable, int]) -> Row:
    for stage in wave.stages:
        state = _state(row, wave.case, stage)
        if state is not None:
            name, second = _names(t, stage, state)
            report = table[name]
            row = _with(row, wave.case, stage, report if stage.steps is None else table[second(report)])
    return row


def main(times: int, first: int = 0) -> None:
    """Try cases and print what was found."""
    found: Counter[tuple[str, str]] = Counter()
    for number in range(first, first + times):
        one, form = tried(number), FORMS[number % len(FORMS)]
        found[form, one.outcome] += 1
        if one.fault:
            found[form, "FAULT"] += 1
            print(f"case {number} ({form}): {one.fault}", flush=True)
    for (form, outcome), n in sorted(found.items()):
        print(f"{form:32} {outcome:10} {n:5}")
    print(f"{times} cases, {sum(n for (_, outcome), n in found.items() if outcome == 'FAULT')} at fault")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
