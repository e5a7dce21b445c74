"""Rules of a plan: combinations that must never be made, and moves that are not allowed.

The combinations that a record can have are followed from stage to stage: a matrix computed within all columns of a
rule makes none that did not occur; one fixed in advance may. Source: after [Adeshiyan2011, section 4.5.2].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import shorten
from maskwell.errors import EditRuleError, PlanError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.plan_entries import by_text, find_levels
from maskwell.microdata.records.recoding import YES
from maskwell.microdata.stages.stage import Stage

if TYPE_CHECKING:
    from maskwell.microdata.plans.release_plan import ReleasePlan


class _Named(ABC):
    @abstractmethod
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Each column with the labels that are named."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.labels())


@dataclass(frozen=True)
class Rule(_Named):
    """A combination of labels that no record may have: all columns at once hold one of the labels named."""

    forbid: Mapping[str, tuple[str, ...]]  # For each column its labels, as texts

    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Each column with the labels that the rule names."""
        return self.forbid

    def contents(self) -> dict[str, Any]:
        """As the table of a plan."""
        return {"forbid": {column: list(labels) for column, labels in self.forbid.items()}}


@dataclass(frozen=True)
class Steps(_Named):
    """A variable that may move by a few steps of its order only."""

    # The variable, and how many steps
    variable: str
    steps: int
    # Its labels in order, as texts; empty for the order of the codebook, or of the labels sorted
    order: tuple[str, ...] = ()

    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The variable with the labels that the rule names."""
        return {self.variable: self.order}

    def allows(self, true: str, released: str) -> bool:
        """Whether one label may become another; a label outside the order only stays."""
        if true == released:
            return True
        places = {label: place for place, label in enumerate(self.order)}
        known = true in places and released in places
        return known and abs(places[true] - places[released]) <= self.steps

    def contents(self) -> dict[str, Any]:
        """As the table of a plan."""
        order = {"order": list(self.order)} if self.order else {}
        return {"variable": self.variable, "steps": self.steps} | order


@dataclass(frozen=True)
class Moves(_Named):
    """Moves of a variable that are never made, or the only ones that are."""

    variable: str  # The variable
    pairs: tuple[tuple[str, str], ...]  # Labels as texts: from, to
    # Whether these are the only moves allowed; else they are those not allowed. To stay is always allowed
    only: bool = False

    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The variable with the labels that the rule names."""
        return {self.variable: tuple(dict.fromkeys(label for pair in self.pairs for label in pair))}

    def allows(self, true: str, released: str) -> bool:
        """Whether one label may become another."""
        return true == released or ((true, released) in self.pairs) == self.only

    def contents(self) -> dict[str, Any]:
        """As the table of a plan."""
        return {"variable": self.variable, "only" if self.only else "never": [list(pair) for pair in self.pairs]}


AnyRule = Rule | Steps | Moves
_KINDS = ("forbid", "steps", "never", "only")


def read_rule(given: Any, where: str) -> AnyRule:
    """A rule from its table."""
    if isinstance(given, Rule | Steps | Moves):
        return given
    table = read.Entries(given, where)
    kinds = [kind for kind in _KINDS if kind in table]
    if len(kinds) != 1:
        said = f"has {' and '.join(kinds)}" if kinds else "says nothing"
        raise PlanError("where-said", where=where, said=said, kinds_shown=", ".join(_KINDS), kinds=kinds)
    kind = kinds[0]
    if kind == "forbid":
        inside = f"{table.where}: forbid"
        given_labels = table.take("forbid", read.table)
        forbidden = {column: read.labels(labels, f"{inside} of {column!r}") for column, labels in given_labels.items()}
        empty = [column for column, labels in forbidden.items() if not labels]
        if not forbidden or empty:
            raise PlanError("names-no-label", where=inside, empty=f" of {empty[0]!r}" if empty else "")
        table.finish([kind])
        return Rule(forbidden)
    variable = table.need("variable", read.text, 'name the column that the rule is for: variable = "age"')
    if kind == "steps":
        steps = Steps(variable, table.take(kind, read.whole), table.take("order", read.labels, ()))
        table.finish(["variable", kind, "order"])
        return steps
    pairs = table.take(kind, read.pairs)
    if stays := [pair for pair in pairs if pair[0] == pair[1]]:
        raise PlanError("names-the-move-from-to-itself", where=table.where, kind=kind, stay=stays[0][0])
    table.finish(["variable", kind])
    return Moves(variable, pairs, only=kind == "only")


Tables = Mapping[tuple[str, ...], CellTable]


def check_rules(plan: ReleasePlan, tables: Tables) -> None:
    """Raise where the file itself holds a forbidden combination."""
    for number, rule in enumerate(plan.rules, 1):
        if not isinstance(rule, Rule):
            continue
        table = tables[rule.columns]
        as_typed = {name for one in (plan.as_typed or plan).rules for name in one.columns}
        inside = np.ones(len(table), dtype=bool)
        for column, labels in rule.forbid.items():
            place = table.place(column)
            known = [*table.levels[place], *plan.codebook.get(column, ())]
            further = [] if column in as_typed else [YES]  # a further column may never say yes
            find_levels(labels, [*known, *further], f"[[rule]] number {number}: {column!r}")
            hit = np.array([bool({*labels} & {*by_text([level])}) for level in table.levels[place]], dtype=bool)
            inside &= hit[table.codes[:, place]]
        bad = np.flatnonzero(inside)
        if bad.size:
            cell = ", ".join(f"{c} = {label}" for c, label in zip(table.columns, table.label(int(bad[0])), strict=True))
            there = int(table.counts[bad[0]])
            raise EditRuleError(
                "rule-number-a-combination",
                number=number,
                columns=shorten(" and ".join(rule.columns), 30),
                values=f"{cell} ({there:,} records; {int(table.counts[bad].sum()):,} in all that it forbids)",
                cell=table.label(int(bad[0])),
                count=there,
            )


def forbidden_moves(
    plan: ReleasePlan, table: CellTable, kept: Array, cells: Array, variables: Sequence[str]
) -> list[tuple[int, int]]:
    """Moves (released, true) between states of one cell that a rule does not allow."""
    rules = [rule for rule in plan.rules if not isinstance(rule, Rule) and rule.variable in variables]
    pairs: list[tuple[int, int]] = []
    for rule in rules:
        place = table.place(rule.variable)
        allowed, codes = _allowed(plan, rule, table.levels[place]), table.codes[kept, place]
        for cell in np.unique(cells):
            states = np.flatnonzero(cells == cell)
            i, j = np.nonzero(~allowed[np.ix_(codes[states], codes[states])])
            pairs += zip(states[i].tolist(), states[j].tolist(), strict=True)
    return [*dict.fromkeys(pairs)]


def _allowed(plan: ReleasePlan, rule: Steps | Moves, levels: Sequence[Hashable]) -> Array:
    """Which label (row) a label (column) may become."""
    if not plan.codebook.get(rule.variable):
        named = [text for labels in rule.labels().values() for text in labels]
        find_levels(named, levels, f"a rule for {rule.variable!r}")
    texts = [next(iter(by_text([level]))) for level in levels]
    one = {text: texts[i] for i, level in reversed([*enumerate(levels)]) for text in by_text([level])}
    if isinstance(rule, Steps):
        order = rule.order or plan.order_of(rule.variable) or texts
        rule = replace(rule, order=tuple(one.get(text, text) for text in order))
    else:
        rule = replace(rule, pairs=tuple((one.get(a, a), one.get(b, b)) for a, b in rule.pairs))
    return np.array([[rule.allows(true, released) for true in texts] for released in texts], dtype=bool)


def check_moves(plan: ReleasePlan, stage: Stage, table: CellTable, where: str) -> None:
    """Raise where the matrix could make a move that a rule does not allow."""
    for rule in plan.rules:
        if isinstance(rule, Rule) or rule.variable not in stage.variables:
            continue
        place = stage.columns.index(rule.variable)
        before, after = ([label[place] for label in labels] for labels in (stage.states, stage.outputs))
        levels = sorted_levels({*table.levels[table.place(rule.variable)], *before, *after})
        number = {level: i for i, level in enumerate(levels)}
        true, released = (np.array([number[level] for level in labels], dtype=np.int64) for labels in (before, after))
        to, of, _ = stage.transitions
        bad = np.flatnonzero(~_allowed(plan, rule, levels)[released[to], true[of]])
        if bad.size:
            states = stage.states[of[bad[0]]], stage.outputs[to[bad[0]]]
            raise EditRuleError(
                "could-change-in-a-way",
                where=where,
                method=stage.method,
                variable=rule.variable,
                values=" into ".join(shorten(", ".join(map(str, label)), 80) for label in states),
                rule=rule,
            )


Labels = tuple[Hashable, ...]


def check_combinations(plan: ReleasePlan, stages: Sequence[Stage], tables: Mapping[tuple[str, ...], CellTable]) -> None:
    """Raise where a stage could make a forbidden combination of what the file holds or earlier stages made."""
    for rule in plan.rules:
        if isinstance(rule, Rule):
            _check_rule(rule, stages, tables[rule.columns])


def _check_rule(rule: Rule, stages: Sequence[Stage], table: CellTable) -> None:
    cells = dict(zip(table.labels(), table.counts.tolist(), strict=True))
    for number, stage in enumerate(stages, 1):
        steps = _Steps.of(rule, stage)
        if steps is None:
            continue
        still = tuple(name for name in rule.columns if name not in steps.moved)
        bad = [
            count
            for cell, count in cells.items()
            if steps.part(cell, steps.seen) in steps.forbidden and _meets(rule, still, steps.part(cell, still))
        ]
        if bad:
            raise EditRuleError(
                "protect-number-could-make-what",
                number=number,
                method=stage.method,
                whose="of some records" if sum(bad) else "of what earlier protections make",
                values=f"{sum(bad):,} records" if sum(bad) else "",
                rule=rule,
            )
        if number < len(stages) and not steps.keeps_to_the_file:
            made = {
                tuple(
                    dict(zip(steps.moved, out, strict=True)).get(c, x) for c, x in zip(rule.columns, cell, strict=True)
                )
                for cell in cells
                for out in steps.released.get(steps.part(cell, steps.seen), ())
            }
            cells = dict.fromkeys(made, 0) | cells


@dataclass(frozen=True)
class _Steps:
    """What one stage can do to the columns of a rule."""

    rule: Rule
    # Columns of the rule that tell the state or follow from it, and those of them that change
    seen: tuple[str, ...]
    moved: tuple[str, ...]
    # For the labels of the columns seen, the labels of those moved that can be released
    released: Mapping[Labels, set[Labels]]
    forbidden: set[Labels]  # Labels of the columns seen from which labels can come that the rule names
    keeps_to_the_file: bool  # Whether only combinations come that are in the file

    @classmethod
    def of(cls, rule: Rule, stage: Stage) -> Self | None:
        """From the transitions of a stage; ``None`` where it moves no column of the rule."""
        seen = tuple(name for name in rule.columns if name in stage.columns or name in stage.linked)
        moved = tuple(name for name in seen if name not in stage.within)
        if not moved:
            return None
        released = _released(stage, seen, moved)
        hit = {out for outs in released.values() for out in outs if _meets(rule, moved, out)}
        forbidden = {key for key, outs in released.items() if not outs.isdisjoint(hit)}
        of_file = stage.derived and stage.invariance != "external"
        return cls(rule, seen, moved, released, forbidden, of_file and seen == rule.columns)

    def part(self, cell: Labels, names: Sequence[str]) -> Labels:
        return tuple(cell[self.rule.columns.index(name)] for name in names)


def _released(stage: Stage, seen: Sequence[str], moved: Sequence[str]) -> dict[Labels, set[Labels]]:
    """For the labels of the columns seen, the labels of the columns moved that can be released."""
    seen_of, new = _reader(stage, seen), _reader(stage, moved)
    occurs = {label[len(stage.within) :] for label, n in zip(stage.states, stage.counts, strict=True) if n}
    keys = [seen_of(label) if label[len(stage.within) :] in occurs else None for label in stage.states]
    outs = [new(label) for label in stage.outputs]
    number = {out: i for i, out in enumerate(dict.fromkeys(outs))}
    places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    released, true, _ = stage.transitions
    to = np.array([number[out] for out in outs], dtype=np.int64)[released]
    pairs = np.unique(np.array([places[key] for key in keys], dtype=np.int64)[true] * len(number) + to)
    releasable: dict[Labels, set[Labels]] = defaultdict(set)
    all_keys, all_outs = list(places), list(number)
    for key, out in zip(*np.divmod(pairs, len(number)), strict=True):
        if (labels := all_keys[key]) is not None:
            releasable[labels].add(all_outs[out])
    return releasable


def _reader(stage: Stage, names: Sequence[str]) -> Callable[[Labels], Labels]:
    """Reads the labels of some columns off a state; those of linked columns follow from the variables."""
    places = [stage.columns.index(name) if name in stage.columns else None for name in names]

    def read(label: Labels) -> Labels:
        variables = label[len(stage.within) :]
        return tuple(
            stage.linked[name][variables] if place is None else label[place]
            for name, place in zip(names, places, strict=True)
        )

    return read


def _meets(rule: Rule, names: Sequence[str], labels: Labels) -> bool:
    """Whether these labels of some columns are those that a rule names."""
    return all({*rule.forbid[name]} & {*by_text([label])} for name, label in zip(names, labels, strict=True))
