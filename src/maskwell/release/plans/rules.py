"""Rules of a plan: combinations that must never be made, and moves that are not allowed.

Source: [Adeshiyan2011, section 4.5.2]; how a matrix keeps them: :mod:`maskwell.release.matrices.matrix_checks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from maskwell.errors import PlanError
from maskwell.release.plans import entries as read


@dataclass(frozen=True)
class Rule:
    """A combination of labels that no record may have: all columns at once hold one of the labels named.

    Attributes
    ----------
    forbid
        For each column its labels, as texts.

    >>> rule = Rule({"age": ("child",), "marital": ("married", "widowed")})
    >>> rule.columns, rule.forbids({"age": "child", "marital": "single"})   # a single child is no contradiction
    (('age', 'marital'), False)
    """

    forbid: Mapping[str, tuple[str, ...]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the rule joins."""
        return tuple(self.forbid)

    def labels(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each column with the labels that the rule names."""
        yield from self.forbid.items()

    def forbids(self, record: Mapping[str, str]) -> bool:
        """Whether a record, with its labels as texts, is forbidden."""
        return all(record[column] in labels for column, labels in self.forbid.items())

    def contents(self) -> dict[str, Any]:
        """As the table of a plan."""
        return {"forbid": {column: list(labels) for column, labels in self.forbid.items()}}


@dataclass(frozen=True)
class Steps:
    """A variable that may move by a few steps of its order only.

    Attributes
    ----------
    variable, steps
        The variable, and how many steps.
    order
        Its labels in order, as texts; empty for the order of the codebook, or of the labels sorted.

    >>> age = Steps("age", 1, ("young", "middle", "old"))
    >>> age.allows("young", "middle"), age.allows("young", "old")
    (True, False)
    """

    variable: str
    steps: int
    order: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The variable."""
        return (self.variable,)

    def labels(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The variable with the labels that the rule names."""
        yield self.variable, self.order

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
class Moves:
    """Moves of a variable that are never made, or the only ones that are.

    Attributes
    ----------
    variable
        The variable.
    pairs
        Labels as texts: from, to.
    only
        Whether these are the only moves allowed; else they are those not allowed. To stay is always allowed.

    >>> Moves("status", (("dead", "alive"),)).allows("dead", "alive")
    False
    """

    variable: str
    pairs: tuple[tuple[str, str], ...]
    only: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The variable."""
        return (self.variable,)

    def labels(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The variable with the labels that the rule names."""
        yield self.variable, tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def allows(self, true: str, released: str) -> bool:
        """Whether one label may become another."""
        return true == released or ((true, released) in self.pairs) == self.only

    def contents(self) -> dict[str, Any]:
        """As the table of a plan."""
        return {"variable": self.variable, "only" if self.only else "never": [list(pair) for pair in self.pairs]}


AnyRule = Rule | Steps | Moves
_KINDS = ("forbid", "steps", "never", "only")


def read_rule(given: Any, where: str) -> AnyRule:
    """A rule from its table.

    >>> read_rule({"variable": "age", "steps": 1}, "[[rule]] number 1")
    Steps(variable='age', steps=1, order=())
    """
    if isinstance(given, Rule | Steps | Moves):
        return given
    table = read.Entries(given, where)
    kinds = [kind for kind in _KINDS if kind in table]
    if len(kinds) != 1:
        said = f"has {' and '.join(kinds)}" if kinds else "says nothing"
        raise PlanError(f"{where} {said}", hint=f"a rule has one of: {', '.join(_KINDS)}", kinds=kinds)
    rule = _forbidding(table) if kinds[0] == "forbid" else _moving(table, kinds[0])
    table.finish(
        ["forbid"] if kinds[0] == "forbid" else ["variable", kinds[0], "order"][: 3 if kinds[0] == "steps" else 2]
    )
    return rule


def _forbidding(table: read.Entries) -> Rule:
    forbid = table.take("forbid", read.table)
    where = f"{table.where}: forbid"
    found = {column: read.labels(labels, f"{where} of {column!r}") for column, labels in forbid.items()}
    empty = [column for column, labels in found.items() if not labels]
    if not found or empty:
        raise PlanError(
            f"{where} names no label{f' of {empty[0]!r}' if empty else ''}",
            hint='write forbid = { age = ["child"], marital = ["married"] }',
        )
    return Rule(found)


def _moving(table: read.Entries, kind: str) -> Steps | Moves:
    variable = table.need("variable", read.text, 'name the column that the rule is for: variable = "age"')
    if kind == "steps":
        return Steps(variable, table.take("steps", read.whole), table.take("order", read.labels, ()))
    pairs = table.take(kind, read.pairs)
    stays = [pair for pair in pairs if pair[0] == pair[1]]
    if stays:
        raise PlanError(
            f"{table.where}: {kind} names the move from {stays[0][0]!r} to itself",
            hint="a record may always keep its label; to keep a whole category, use exclude in [[protect]]",
        )
    return Moves(variable, pairs, only=kind == "only")
