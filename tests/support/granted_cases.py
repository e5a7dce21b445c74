"""Random small releases of every form, each with the intruder of `granted` held against what its headline says.

``python -m tests.support.granted_cases 2000`` tries so many, from number 0; a second number says where to begin.
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.granted import World, best_given_all, best_one_look, by_agents, world_of

from maskwell.core.randomness import SeededRandom
from maskwell.errors import MaskwellError
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.publication import release_table
from maskwell.microdata.release_values import Release

SLACK = 1e-9
FORMS = (
    "joint",
    "joint, two keys",
    "apart",
    "one within the other",
    "the other within one",
    "linked",
    "edit rules",
    "units shown",
    "units shown, others",
    "units hidden",
    "one draw for a unit",
    "one draw for a unit, shown, others",
    "missing",
    "weights",
    "swap",
    "uniform",
    "three apart",
    "excluded",
    "mixing with weights",
    "keep",
    "keep with weights",
)
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A small file and a plan for it."""

    form: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    protect: Sequence[dict[str, Any]]
    keys: tuple[str, ...] = ("a",)
    release: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    unit: str | None = None
    shown: bool = False

    @property
    def plan(self) -> ReleasePlan:
        accept = [*self.release.get("accept", ()), "record-order"]
        options = {"order": "kept", "demonstration": True, **self.release, "accept": accept}
        return ReleasePlan.of([*self.protect], keys=[*self.keys], **options, **self.more)


def case_of(number: int, form: str = "") -> Case:
    """The case of a number, in its form or another one."""
    r = random.Random(number)
    form = form or FORMS[number % len(FORMS)]
    match = r.choice(["0.25", "0.3", "0.4", "0.5"])
    how = r.choice(["mixing", "method1", "inverse-frequency", "optimal", "lowered"])
    release = {"match": match} if r.random() < 0.8 or how in ("optimal", "lowered", "inverse-frequency") else {}
    if (how == "method1" and not release) or r.random() < 0.15:
        how, release = "method1", {}
    if not release and how != "method1":
        release = {"match": match}
    with_theta = {"theta": r.choice(["0.5", "0.8", "1"])} if not release else {}
    own = {"method": how, **with_theta}
    other = r.choice(
        [
            {"method": "method1", "theta": r.choice(["0.3", "0.6", "1"])},
            {"method": "uniform", "gamma": r.choice([2, 4])},
        ]
    )
    labels = "abc"[: r.choice([2, 3])]
    rows = _rows(r, labels)
    columns, keys, more, unit, shown = ("a", "u"), ("a",), {}, None, False
    joint = [{"variables": ["a", "u"], **own}]
    protect = joint
    if form == "joint, two keys":
        rows = [(a, u, r.choice("pq")) for a, u in rows]
        columns, keys = ("a", "u", "b"), ("a", "b")
        protect = [{"variables": ["a", "b", "u"], **own}]
    elif form == "apart":
        protect = [{"variables": ["a"], **own}, {"variables": ["u"], **other}]
    elif form == "one within the other":
        protect = [
            {"variables": ["a"], **own},
            {"variables": ["u"], "within": ["a"], "method": "method1", "theta": "0.5"},
        ]
    elif form == "the other within one":
        protect = [{"variables": ["u"], **other}, {"variables": ["a"], "within": ["u"], **own}]
    elif form == "linked":
        rows = [(a, u, {"x": "1", "y": "2"}[u]) for a, u in rows]
        columns = ("a", "u", "z")
        if r.random() < 0.5:
            protect = [{"variables": ["a", "u"], "linked": ["z"], **own}]
        else:
            protect = [{"variables": ["a"], **own}, {"variables": ["u"], "linked": ["z"], **other}]
    elif form == "edit rules":
        away = r.choice(rows)  # a combination that no record has, of labels that occur
        rows = [row for row in rows if row != away]
        if any(row[0] == away[0] for row in rows) and any(row[1] == away[1] for row in rows):
            more = {"rule": [{"forbid": {"a": [away[0]], "u": [away[1]]}}]}
        protect = joint if r.random() < 0.4 else [{"variables": ["u"], "method": "method1", "theta": "0.7"}]
        if protect is not joint and r.random() < 0.7:
            protect = [{"variables": ["a"], **own}, *protect]
    elif form.startswith("units"):
        rows, unit, shown = _in_units(r, rows), "h", form != "units hidden"
        columns = ("a", "u", "h")
        release = {**release, "unit": "h", **({"accept": ["h"]} if shown else {"order": "shuffled"})}
        protect = [{"variables": ["a"], **own}] if form == "units shown" else joint
        if form == "units shown":
            rows, columns = [(a, h) for a, _, h in rows], ("a", "h")
    elif form.startswith("one draw"):
        unit, shown = "h", form.endswith("others")
        size = {a: r.choice([1, 2]) for a in labels}
        homes = [(a, size[a]) for a in labels for _ in range(r.choice([1, 1, 2]))]
        rows = [(a, r.choice("xy"), str(n), f"h{i}") for i, (a, n) in enumerate(homes) for _ in range(n)]
        columns = ("a", "u", "s", "h")
        release = {**release, "unit": "h", **({"accept": ["h"]} if shown else {"order": "shuffled"})}
        protect = [{"variables": ["a"], "within": ["s"], "each": "unit", **own}]
        if shown or r.random() < 0.5:
            protect.append({"variables": ["u"], **other})
        else:  # how well a column that stays goes with the keys is another intruder's
            rows, columns = [(a, n, h) for a, _, n, h in rows], ("a", "s", "h")
    elif form == "missing":
        rows = [(None if r.random() < 0.15 else a, None if r.random() < 0.2 else u) for a, u in rows]
        release = {**release, "missing": r.choice(["category", "unchanged"])}
        protect = joint if r.random() < 0.5 else [{"variables": ["a"], **own}, {"variables": ["u"], **other}]
    elif form == "weights":
        rows = [(a, u, r.choice([1.0, 2.0])) for a, u in rows]
        columns, release = ("a", "u", "w"), {**release, "weights": "w"}
    elif form == "mixing with weights" or form.startswith("keep"):
        columns, own = ("a", "u"), {"method": "mixing"} if r.random() < 0.5 or form.startswith("mixing") else own
        release = {**release, "match": match} if own == {"method": "mixing"} else release
        if form.startswith("keep"):  # exactly: within the outcome, which the intruder then sees
            rows, columns = [(*row, r.choice("pq")) for row in rows], ("a", "u", "b")
            release = {**release, "keep": [r.choice([["a", "b"], ["u", "b"], ["a", "u", "b"]])]}
        protect = [{"variables": ["a", "u"], **own}]
        if form.endswith("weights"):
            rows = [(*row, r.choice([0.5, 1.0, 3.0, 10.0])) for row in rows]
            columns, release = (*columns, "w"), {**release, "weights": "w"}
    elif form == "swap":
        release = {}
        protect = [{"variables": ["a", "u"], "method": "swap", "base": r.choice(["sequential", "method1"])}]
        protect[0] |= {"theta": "1"} if protect[0]["base"] == "method1" else {}
        if r.random() < 0.3:
            protect = [{**protect[0], "variables": ["a"]}, {"variables": ["u"], **other}]
    elif form == "uniform":
        protect = [{"variables": ["a"], "method": "uniform", "gamma": r.choice([2, 3])}, {"variables": ["u"], **other}]
    elif form == "three apart":
        rows = [(a, u, r.choice("pq")) for a, u in rows]
        columns, keys = ("a", "u", "b"), r.choice([("a",), ("a", "b")])
        protect = [{"variables": ["a"], **own}, {"variables": ["u"], **other}]
        protect.append({"variables": ["b"], "method": "method1", "theta": "0.7"})
    elif form == "excluded":
        protect = [{**joint[0], "exclude": {"u": [r.choice("xy")]}}]
    r.shuffle(rows)
    if release.get("match") and r.random() < 0.15:
        release = {**release, "intruder": "released-counts"}
    return Case(form, columns, rows, protect, keys, release, more, unit, shown)


def _rows(r: random.Random, labels: str) -> list[Row]:
    while True:
        rows = [(a, u) for a in labels for u in "xy" for _ in range(r.choice([0, 1, 1, 2, 3]))]
        if 4 <= len(rows) <= 8 and len({a for a, _ in rows}) > 1 and len({u for _, u in rows}) > 1:
            return rows


def _in_units(r: random.Random, rows: Sequence[Row]) -> list[Row]:
    order = [*rows]
    r.shuffle(order)
    homes, home = [], 0
    while len(homes) < len(order):
        homes += [f"h{home}"] * r.choice([1, 2, 2])
        home += 1
    return [(*row, h) for row, h in zip(order, homes, strict=False)]


@dataclass(frozen=True)
class Tried:
    """What came of one case: a figure for the intruder that is too small, in words, or nothing."""

    outcome: str  # "refused", "no figure", "kept"
    fault: str = ""
    release: Release | None = None
    exact: float = 0.0


def tried(number: int, case: Case | None = None) -> Tried:
    """Release a case, and hold the exact intruder against all that is said of it."""
    case = case_of(number) if case is None else case
    table = {name: [row[i] for row in case.rows] for i, name in enumerate(case.columns)}
    try:
        plan = case.plan
        done = release_table(table, plan, random=SeededRandom(number))
    except MaskwellError:
        return Tried("refused")
    released, names = [*zip(*done.data.values(), strict=True)], [*done.data]
    hidden = [name for name in case.columns if name in plan.unpublished or name == plan.weights]
    case = _with_rule_columns(case, done.release.file.further)
    hidden += done.release.file.further
    if case.form.startswith("keep") and not any("b" in stage.columns for stage in done.release.stages):
        hidden.append("b")  # it stays and says nothing of how others are randomized: another intruder's
    unit = case.unit if case.unit and (case.shown or any(one.each == "unit" for one in plan.protections)) else None
    world = world_of(
        case.rows, case.columns, done.release.stages, case.keys, unit=unit, shown=case.shown, hidden=hidden
    )
    seen = [i for i, name in enumerate(names) if name not in hidden and name != case.unit]
    agents = [*by_agents(released, names, case.unit if case.shown else None, lambda row: tuple(row[i] for i in seen))]
    places = [seen.index(names.index(key)) for key in case.keys]
    return _judged(case, done.release, world, agents, places)


def _with_rule_columns(case: Case, names: Sequence[str]) -> Case:
    """The columns that a rule makes of others: whether one has a label that the rule names."""
    for name in names:
        column = name.rpartition(" in ")[0]
        labels, place = case.more["rule"][0]["forbid"][column], case.columns.index(column)
        rows = [(*row, "yes" if row[place] in labels else "no") for row in case.rows]
        case = replace(case, rows=rows, columns=(*case.columns, name))
    return case


def _judged(case: Case, release: Release, world: World, agents: Sequence[Any], keys: Sequence[int]) -> Tried:
    risk = release.risk
    assert risk is not None and risk.after is not None
    worst = risk.headline["worst"]
    swaps = any(stage.exchanges for stage in release.stages)
    if swaps:
        exact = one = _swapped(case, release) if len(release.stages) == 1 else 0.0
    else:
        exact, one = best_given_all(world, agents), best_one_look(world, keys)
    fault = ""
    if worst is not None and exact > worst + SLACK:
        fault = f"all counts {exact:.4f}, printed {worst:.4f}"
    joint = risk.joint_table
    looked = joint is None or joint.one_look is not None
    if not fault and looked and one > risk.after.max_risk_any_release + SLACK:
        fault = f"one look {one:.4f}, printed {risk.after.max_risk_any_release:.4f}"
    limit = release.plan.match
    if not fault and limit is not None and one > float(limit) + SLACK:
        fault = f"one look {one:.4f}, limit {float(limit):g}"
    if not fault and limit is not None and release.plan.intruder == "released-counts" and exact > float(limit) + SLACK:
        fault = f"all counts {exact:.4f}, limit {float(limit):g}"
    return Tried("no figure" if worst is None else "kept", fault, release, exact)


def _swapped(case: Case, release: Release) -> float:
    """One exchange of all columns: every count is known, so ``sum_c w_c p_ic / N_i`` at the best i."""
    (stage,), rows = release.stages, [*case.rows]
    P, own = stage.design.exact_matrix(), [tuple(row) for row in stage.states]
    counts, people = Counter(rows), Counter(row[:1] for row in rows)
    return max(
        float(sum((counts[c] * P[i][j] for j, c in enumerate(own) if c[:1] == key), start=0 * P[0][0]))
        / people[key]
        / counts[own[i]]
        for key in people
        for i in range(len(own))
        if counts[own[i]]
    )


def main(times: int, first: int = 0) -> None:
    """Try cases and print what was found."""
    found: Counter[tuple[str, str]] = Counter()
    for number in range(first, first + times):
        one = tried(number)
        form = FORMS[number % len(FORMS)]
        found[form, one.outcome] += 1
        if one.fault:
            found[form, "ABOVE"] += 1
            print(f"case {number} ({form}): {one.fault}", flush=True)
    for (form, outcome), n in sorted(found.items()):
        print(f"{form:36} {outcome:10} {n:5}")
    print(f"{times} cases, {sum(n for (_, outcome), n in found.items() if outcome == 'ABOVE')} above")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
