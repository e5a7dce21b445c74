"""Whether the stages of a release, one after the other, could make a combination that a rule forbids.

For each rule the combinations of its columns that a record can have are followed from stage to stage. A matrix that is
worked out within all columns of a rule makes none that did not occur; one that was fixed in advance may, and what it
makes is what the next stage starts from.

Source: [Adeshiyan2011, section 4.5.2]; for several stages derived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from maskwell.core.cell_table import CellTable
from maskwell.errors import EditRuleError
from maskwell.release.plans.plan_entries import by_text
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.plans.rules import Rule
from maskwell.release.stages.stage import Stage

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
        bad = [count for cell, count in cells.items() if steps.forbidden_from(cell)]
        if bad:
            raise _forbidden(rule, stage, number, sum(bad))
        if number < len(stages) and not steps.keeps_to_the_file:
            cells = dict.fromkeys(steps.made_from(cells), 0) | cells


def _forbidden(rule: Rule, stage: Stage, number: int, records: int) -> EditRuleError:
    whose = "of some records" if records else "of what earlier protections make"
    return EditRuleError(
        f"[[protect]] number {number}: {stage.method} could make {whose} what a rule forbids",
        hint="use a method that keeps the counts, such as optimal: it makes no new combinations",
        values=f"{records:,} records" if records else "",
        rule=rule,
    )


@dataclass(frozen=True)
class _Steps:
    """What one stage can do to the columns of a rule.

    Attributes
    ----------
    seen, moved
        Columns of the rule that tell the state or follow from it, and those of them that change.
    released
        For the labels of the columns seen, the labels of those moved that can be released.
    forbidden
        Labels of the columns seen from which labels can come that the rule names.
    keeps_to_the_file
        Whether only combinations come that are in the file.
    """

    rule: Rule
    seen: tuple[str, ...]
    moved: tuple[str, ...]
    released: Mapping[Labels, set[Labels]]
    forbidden: set[Labels]
    keeps_to_the_file: bool

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

    def forbidden_from(self, cell: Labels) -> bool:
        """Whether a record with these labels of the rule's columns can become what the rule forbids."""
        still = tuple(name for name in self.rule.columns if name not in self.moved)
        return self._part(cell, self.seen) in self.forbidden and _meets(self.rule, still, self._part(cell, still))

    def made_from(self, cells: Mapping[Labels, int]) -> set[Labels]:
        """The combinations that records can have afterwards."""
        columns = self.rule.columns
        return {
            tuple(dict(zip(self.moved, out, strict=True)).get(c, label) for c, label in zip(columns, cell, strict=True))
            for cell in cells
            for out in self.released.get(self._part(cell, self.seen), ())
        }

    def _part(self, cell: Labels, names: Sequence[str]) -> Labels:
        return tuple(cell[self.rule.columns.index(name)] for name in names)


def _released(stage: Stage, seen: Sequence[str], moved: Sequence[str]) -> dict[Labels, set[Labels]]:
    """For the labels of the columns seen, the labels of the columns moved that can be released."""
    own, new = _reader(stage, seen), _reader(stage, moved)
    occurs = {label[len(stage.within) :] for label, n in zip(stage.states, stage.counts, strict=True) if n}
    keys = [own(label) if label[len(stage.within) :] in occurs else None for label in stage.states]
    outs = [new(label) for label in stage.outputs]
    number = {out: i for i, out in enumerate(dict.fromkeys(outs))}
    places = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    released, true, _ = stage.transitions
    to = np.array([number[out] for out in outs], dtype=np.int64)[released]
    pairs = np.unique(np.array([places[key] for key in keys], dtype=np.int64)[true] * len(number) + to)
    found: dict[Labels, set[Labels]] = defaultdict(set)
    all_keys, all_outs = list(places), list(number)
    for key, out in zip(*np.divmod(pairs, len(number)), strict=True):
        if (labels := all_keys[key]) is not None:
            found[labels].add(all_outs[out])
    return found


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
