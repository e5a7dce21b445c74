"""ReleasePlan: what is to be randomized before a file is published, and which risk may remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from maskwell.core.exact import to_decimal
from maskwell.errors import PlanError
from maskwell.release.plans import entries as read
from maskwell.release.plans.plan_checks import check_columns, check_plan
from maskwell.release.plans.plan_text import write_toml
from maskwell.release.plans.protection import Protection
from maskwell.release.plans.rules import AnyRule, read_rule
from maskwell.release.risk.risk_report import ANY_LOOK, INTRUDERS

ORDERS = ("shuffled", "kept")
MISSING_POLICIES = ("unchanged", "category")
_TABLES = ("release", "protect", "rule", "codebook")
RELEASE_ENTRIES: Mapping[str, read.Reader[Any]] = {
    "title": read.text,
    "keys": read.names,
    "sensitive": read.names,
    "weights": read.text,
    "id": read.text,
    "dataset": read.text,
    "order": read.choice(*ORDERS),
    "drop": read.names,
    "accept": read.names,
    "missing": read.choice(*MISSING_POLICIES),
    "match": read.share,
    "intruder": read.choice(*INTRUDERS),
    "formulas": read.names,
    "demonstration": read.flag,
}


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """A planned release.

    Attributes
    ----------
    protections
        What is randomized, in the order in which it is carried out.
    rules
        Combinations and moves that must never be made.
    keys, sensitive
        Columns that an intruder may know, and columns that nobody should learn.
    weights, id
        Columns with survey weights and with distinct record ids. The ids are not published.
    dataset
        Names the data set for draws that are kept across releases.
    order
        Whether the records are ``"shuffled"`` or their order is ``"kept"``.
    drop
        Columns that are not published.
    accept
        Columns that may be published unchanged, although they identify records or give protected columns away.
    missing
        Whether missing values stay ``"unchanged"`` or are a ``"category"`` like others.
    match
        The largest chance of a correct match that any record may have.
    intruder
        Whom ``match`` speaks of: one of :data:`~maskwell.release.risk.risk_report.INTRUDERS`, by default somebody who
        knows the matrices and the counts and looks where a record is found most easily.
    codebook
        For some columns all their labels, as texts and in order, also those that do not occur.
    title
        What the data are called in the documents.
    formulas
        Regressions that are fitted to the true and the released file, to be compared: ``"employed ~ age + sex"``.
    demonstration
        Whether the release is only a demonstration, whose draws may be repeatable.

    >>> plan = ReleasePlan.of(
    ...     [Protection.of(["roof", "sex"], "inverse-frequency", xi="0.5")], keys=["roof", "sex"], match="0.5"
    ... )
    >>> plan.randomized, plan.to_dict()["release"]
    (('roof', 'sex'), {'keys': ['roof', 'sex'], 'match': '0.5'})
    """

    protections: tuple[Protection, ...]
    rules: tuple[AnyRule, ...] = ()
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weights: str | None = None
    id: str | None = None
    dataset: str | None = None
    order: str = "shuffled"
    drop: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    missing: str = "unchanged"
    match: Fraction | None = None
    intruder: str = ANY_LOOK
    codebook: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    title: str | None = None
    formulas: tuple[str, ...] = ()
    demonstration: bool = False

    def __post_init__(self) -> None:
        check_plan(self)

    @classmethod
    def of(
        cls,
        protect: Sequence[Protection | Mapping[str, Any]],
        *,
        rule: Sequence[AnyRule | Mapping[str, Any]] = (),
        codebook: Mapping[str, Sequence[Any]] | None = None,
        **release: Any,
    ) -> ReleasePlan:
        """From values as people type them; ``release`` takes the keys of the table ``[release]``."""
        return cls.from_dict(
            {"release": release, "protect": protect, "rule": rule, "codebook": {} if codebook is None else codebook}
        )

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ReleasePlan:
        """From the tables of a plan."""
        top = read.Entries(given, "the plan")
        protections = top.take("protect", lambda value, _: read.tables(value, "protect"), ())
        rules = top.take("rule", lambda value, _: read.tables(value, "rule"), ())
        codebook = top.take("codebook", read.table, {})
        table = read.Entries(top.take("release", read.table, {}), "[release]")
        top.finish(_TABLES)
        values = {key: table.take(key, reader) for key, reader in RELEASE_ENTRIES.items() if key in table}
        table.finish(RELEASE_ENTRIES)
        return cls(
            protections=tuple(Protection.read(one, place("protect", i)) for i, one in enumerate(protections)),
            rules=tuple(read_rule(one, place("rule", i)) for i, one in enumerate(rules)),
            codebook={column: _codebook(labels, column) for column, labels in codebook.items()},
            **values,
        )

    @property
    def randomized(self) -> tuple[str, ...]:
        """Columns whose labels can change, linked ones included."""
        return tuple(name for protection in self.protections for name in protection.moved)

    def match_of(self, protection: Protection) -> Fraction | None:
        """The bound on the chance of a correct match that a protection keeps: its own, else that of the release."""
        return self.match if protection.bounds.match is None else protection.bounds.match

    def check(self, columns: Sequence[str]) -> None:
        """Raise where the plan names columns that the file does not have."""
        check_columns(self, columns)

    def to_dict(self) -> dict[str, Any]:
        """The tables of the plan, with numbers as texts; :meth:`from_dict` reads them back."""
        release = {key: _plain(getattr(self, key)) for key in RELEASE_ENTRIES if getattr(self, key) != _DEFAULTS[key]}
        out: dict[str, Any] = {"release": release, "protect": [one.contents() for one in self.protections]}
        out |= {"rule": [rule.contents() for rule in self.rules]} if self.rules else {}
        codebook = {column: list(labels) for column, labels in self.codebook.items()}
        return out | ({"codebook": codebook} if codebook else {})

    def to_toml(self) -> str:
        """The plan as the text of a file; :func:`~maskwell.load_plan` reads it back."""
        return write_toml(self.to_dict())


_DEFAULTS = {key: ReleasePlan.__dataclass_fields__[key].default for key in RELEASE_ENTRIES}


def place(table: str, index: int) -> str:
    """What errors call one of several tables.

    >>> place("protect", 1)
    '[[protect]] number 2'
    """
    return f"[[{table}]] number {index + 1}"


def _codebook(labels: Any, column: str) -> tuple[str, ...]:
    found = read.labels(labels, f"[codebook]: {column}")
    if not found:
        raise PlanError(f"[codebook]: {column} has no labels", hint='list all of them: ["yes", "no"]', column=column)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return to_decimal(value)
    return list(value) if isinstance(value, tuple) else value
