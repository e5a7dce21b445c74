"""ReleasePlan: what is to be randomized before a file is published, and which risk may remain; as a TOML file, too."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_path
from maskwell.core.cells import CellTable
from maskwell.core.documents import LARGEST_TOML, from_toml, read_document
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import HINT, fault_of, listed, shorten, shown_values
from maskwell.engines.formula import read_formula
from maskwell.engines.labelled_columns import Labels
from maskwell.errors import PlanError, PublishError, UnknownCategoryError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.edit_rules import AnyRule, Rule, read_rule
from maskwell.microdata.plans.kept_tables import KeptTable, read_kept_tables
from maskwell.microdata.plans.method import located
from maskwell.microdata.plans.plan_checks import check_plan
from maskwell.microdata.plans.plan_entries import by_text, typed, write_toml
from maskwell.microdata.plans.protection import INCLUDED, Protection
from maskwell.microdata.plans.recodes import in_codes, read_recodes, recode_contents
from maskwell.microdata.plans.suppression import read_suppression, suppression_contents
from maskwell.microdata.records.local_suppression import LocalSuppression
from maskwell.microdata.records.recoding import Recode
from maskwell.microdata.risk.intruders import ANY_LOOK, INTRUDERS, Intruder, intruder_named
from maskwell.microdata.stages.stage import Randomization

ORDERS = ("shuffled", "kept")
MISSING_POLICIES = ("unchanged", "category")
# What accept may name besides columns: that an intruder who uses randomized columns that are not keys, or published
# units, is left out, that a kept order reveals no keys, and that an intruder with several releases is left out
JOINT_TABLE, RECORD_ORDER, LINKED_RELEASES = "joint-table", "record-order", "linked-releases"
ACCEPTED = (JOINT_TABLE, RECORD_ORDER, LINKED_RELEASES)
_TABLES = ("release", "recode", "suppress", "protect", "rule", "codebook")
RELEASE_ENTRIES: Mapping[str, read.Reader[Any]] = {
    "title": read.text,
    "keys": read.names,
    "sensitive": read.names,
    "weights": read.text,
    "id": read.text,
    "unit": read.text,
    "dataset": read.text,
    "order": read.choice(*ORDERS),
    "drop": read.names,
    "accept": read.names,
    "missing": read.choice(*MISSING_POLICIES),
    "match": read.share,
    "k": read.target,
    "intruder": read.choice(*INTRUDERS),
    "formulas": read.names,
    "keep": read_kept_tables,
    "demonstration": read.flag,
}


@dataclass(frozen=True, kw_only=True)
class ColumnRoles:
    """What the columns of a file are to a release: see :class:`ReleasePlan`."""

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    weights: str | None = None
    id: str | None = None
    unit: str | None = None
    drop: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReleaseTerms:
    """How a file is released, and which risk may remain: see :class:`ReleasePlan`."""

    title: str | None = None
    dataset: str | None = None
    order: str = "shuffled"
    missing: str = "unchanged"
    match: Fraction | None = None
    intruder: str = ANY_LOOK.name
    formulas: tuple[str, ...] = ()
    keep: tuple[KeptTable, ...] = ()
    demonstration: bool = False


@dataclass(frozen=True, kw_only=True)
class ReleasePlan(ReleaseTerms, ColumnRoles):
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
    unit
        Column that names the unit a record belongs to, such as its household; not published unless it is accepted.
    dataset
        Names the data set for draws that are kept across releases.
    order
        Whether the records are ``"shuffled"`` or their order is ``"kept"``.
    drop
        Columns that are not published.
    accept
        Columns that may be published unchanged, although they identify records or give protected columns away;
        ``"joint-table"`` where an intruder who uses randomized columns that are not keys, or published units, is left
        out of the risk, and ``"record-order"`` where a kept order reveals no keys.
    missing
        Whether missing values stay ``"unchanged"`` or are a ``"category"`` like others.
    match
        The largest probability of a correct match that any record may have. A plan may say ``k = 5`` instead, as for
        k-anonymity, which is ``match = 1/5``.
    intruder
        Whom ``match`` speaks of: one of :data:`~maskwell.microdata.risk.intruders.INTRUDERS`.
    recodes
        Columns that are made coarser before anything is counted; all else in the plan speaks of their new categories.
    suppress
        Values of key variables that are left out for k-anonymity, before anything else is counted.
    codebook
        For some columns all their labels, as texts and in order, also those that do not occur.
    title
        What the data are called in the documents.
    formulas
        Regressions that are fitted to the true and the released file, to be compared: ``"employed ~ age + sex"``.
    keep
        Tables of randomized and unchanged columns that are kept in expectation, exactly or within a tolerance.
    demonstration
        Whether the release is only a demonstration, whose draws may be repeatable.
    as_typed
        The plan with labels as people wrote them, where those of a file have become codes.

    >>> plan = ReleasePlan.of(
    ...     [Protection.of(["roof", "sex"], "inverse-frequency", xi="0.5")], keys=["roof", "sex"], match="0.5"
    ... )
    >>> plan.randomized, plan.to_dict()["release"]
    (('roof', 'sex'), {'keys': ['roof', 'sex'], 'match': '0.5'})
    """

    protections: tuple[Protection, ...]
    rules: tuple[AnyRule, ...] = ()
    recodes: Mapping[str, Recode] = field(default_factory=dict)
    suppress: LocalSuppression | None = None
    codebook: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    as_typed: ReleasePlan | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_plan(self)

    @classmethod
    def of(
        cls,
        protect: Sequence[Protection | Mapping[str, Any]],
        *,
        rule: Sequence[AnyRule | Mapping[str, Any]] = (),
        recode: Mapping[str, Recode | Mapping[str, Any]] | None = None,
        suppress: LocalSuppression | Mapping[str, Any] | None = None,
        codebook: Mapping[str, Sequence[Any]] | None = None,
        **release: Any,
    ) -> ReleasePlan:
        """From values as people type them; ``release`` takes the keys of the table ``[release]``."""
        columns: dict[str, Any] = {"recode": recode or {}, "codebook": {} if codebook is None else codebook}
        columns |= {} if suppress is None else {"suppress": suppress}
        return cls.from_dict({"release": release, "protect": protect, "rule": rule, **columns})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> ReleasePlan:
        """From the tables of a plan."""
        top = read.Entries(given, "the plan")
        protections = top.take("protect", lambda value, _: read.tables(value, "protect"), ())
        rules = top.take("rule", lambda value, _: read.tables(value, "rule"), ())
        codebook = top.take("codebook", read.table, {})
        recodes = top.take("recode", lambda value, _: read_recodes(value), {})
        suppress = top.take("suppress", lambda value, _: value)
        table = read.Entries(top.take("release", read.table, {}), "[release]")
        top.finish(_TABLES)
        values = {key: table.take(key, reader) for key, reader in RELEASE_ENTRIES.items() if key in table}
        table.finish(RELEASE_ENTRIES)
        if (k := values.pop("k", None)) is not None:
            if "match" in values:
                raise PlanError("release-match-and-k", k=k)
            values["match"] = Fraction(1, k)
        keys = values.get("keys", ())
        return cls(
            protections=tuple(Protection.read(one, f"[[protect]] number {i}") for i, one in enumerate(protections, 1)),
            rules=tuple(read_rule(one, f"[[rule]] number {i}") for i, one in enumerate(rules, 1)),
            recodes=recodes,
            suppress=None if suppress is None else read_suppression(suppress, keys),
            codebook={column: _codebook(labels, column) for column, labels in codebook.items()},
            **values,
        )

    @property
    def randomized(self) -> tuple[str, ...]:
        """Columns whose labels can change, linked ones included."""
        return tuple(name for protection in self.protections for name in protection.moved)

    @property
    def against(self) -> Intruder:
        """Whom ``match`` speaks of."""
        return intruder_named(self.intruder)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """Columns that users do not get: those that are dropped, the ids, and the units unless they are accepted."""
        unit = self.unit if self.unit is not None and self.unit not in self.accept else None
        return tuple(dict.fromkeys([*self.drop, *(name for name in (self.id, unit) if name)]))

    def columns_of(self, protection: Protection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns within which a protection works (also those joined by a rule), and its variables."""
        moved = {*protection.moved}
        rules = [rule for rule in self.rules if isinstance(rule, Rule) and moved & {*rule.columns}]
        pool = [] if protection.pool is None else [protection.pool]
        within = dict.fromkeys([*protection.within, *(name for rule in rules for name in rule.columns), *pool])
        return tuple(name for name in within if name not in moved), tuple(protection.variables)

    def protection_of(self, stage: Randomization) -> Protection:
        """The protection that a stage carries out; a column is protected once."""
        return next(one for one in self.protections if one.variables == stage.variables)

    def publishes(self, stage: Randomization) -> bool:
        """Whether the public receipt is to hold the matrix of a stage."""
        return self.protection_of(stage).publish == INCLUDED

    def check_private(self, *, private: bool) -> None:
        """Raise for draws that somebody could repeat, unless the release is marked as a demonstration."""
        if not private and not self.demonstration:
            raise PublishError("the-draws-come-from-a-seed")

    def levels_of(self, table: CellTable, column: str) -> list[Hashable]:
        """All labels of a column: those of the codebook in its order, in the type of the file, or those that occur."""
        levels = table.levels[table.place(column)]
        occurring = [level for level in levels if level is not None or self.missing == "category"]
        if column not in self.codebook:
            places = {label: i for i, label in enumerate(self.told_order(column, map(str, occurring)))}
            return sorted(occurring, key=lambda level: places.get(str(level), len(places))) if places else occurring
        known = by_text(occurring)
        labels = [known[text] if text in known else typed(text, occurring) for text in self.codebook[column]]
        if extra := [level for level in occurring if level not in labels]:
            times = table.project([column])
            counts = {times.label(i)[0]: int(n) for i, n in enumerate(times.counts)}
            raise UnknownCategoryError(
                "column-not-in-its-codebook",
                column=shorten(column, 40),
                what="1 value is" if len(extra) == 1 else f"{len(extra):,} values are",
                values=shown_values({level: counts[level] for level in extra}),
                offenders={level: counts[level] for level in extra},
            )
        return labels

    def told_order(self, column: str, labels: Iterable[str]) -> tuple[str, ...]:
        """Those of some labels, as texts, that a codebook, a recode or its groups put in order; empty where none do."""
        recode, known = self.recodes.get(column), {*labels}
        groups = () if recode is None else (*recode.group, *(() if recode.other is None else (recode.other,)))
        order = self.order_of(column) or (groups if known <= {*groups} else ())
        return tuple(label for label in order if label in known)

    def order_of(self, column: str) -> tuple[str, ...]:
        """The labels of a column in the order of the plan, as texts; empty where it gives none."""
        recode = self.recodes.get(column)
        return self.codebook.get(column) or (() if recode is None else recode.classes)

    def in_codes(self, style: object) -> ReleasePlan:
        """The plan for a file with labels, which ``style`` describes: labels that it names become their codes."""
        return in_codes(self, style.columns) if isinstance(style, Labels) else self

    def match_of(self, protection: Protection) -> Fraction | None:
        """The bound on the chance of a correct match that a protection keeps: its own, else that of the release."""
        return self.match if protection.bounds.match is None else protection.bounds.match

    def check(self, columns: Sequence[str]) -> None:
        """Raise for the first column that the file does not have, with the place where the plan names it."""
        for where, name in _named(self):
            times = columns.count(name) if isinstance(columns, list | tuple) else [*columns].count(name)
            if times > 1:
                raise PlanError("the-file-has-columns-named-rename", where=where, times=times, name=name)
            if not times:
                close, start = difflib.get_close_matches(name, columns, n=1), "its columns: "
                hint = (
                    f"did you mean {close[0]!r}?" if close else start + listed(columns, len(columns), HINT - len(start))
                )
                raise PlanError("the-file-has-no-column", hint=hint, where=where, column=name, columns=[*columns])
        if twice := [name for name, times in Counter(columns).items() if times > 1]:
            start = "rename all but one of each; several columns are named "
            raise PlanError(
                "the-file-has-columns-named",
                hint=start + listed(map(repr, twice), len(twice), HINT - len(start)),
                count=columns.count(twice[0]),
                twice=shorten(repr(twice[0]), 40),
                columns=twice,
            )
        for name in _in_formulas(self):
            if name in self.unpublished:
                raise PlanError("release-formulas-name-which-the-plan", name=shorten(repr(name), 30))
        self._check_order()

    def _check_order(self) -> None:
        """Raise where the place of a record may reveal a key.

        No test of the file shows that it does not: an order by another file, by a zigzag or by several keys at once
        passes every test of one column, and in small files every test has no power. So it has to be accepted.
        """
        keys = [name for name in self.keys if name in self.randomized]
        if self.order == "kept" and keys and RECORD_ORDER not in self.accept:
            raise PlanError("the-order-may-reveal", columns=keys, names=listed(keys, len(keys), 60))

    def to_dict(self) -> dict[str, Any]:
        """The tables of the plan, with numbers as texts; :meth:`from_dict` reads them back."""
        if self.as_typed is not None:
            return self.as_typed.to_dict()
        release = {key: _plain(getattr(self, key)) for key in _DEFAULTS if getattr(self, key) != _DEFAULTS[key]}
        recodes = {column: recode_contents(recode) for column, recode in self.recodes.items()}
        out: dict[str, Any] = {"release": release, **({"recode": recodes} if recodes else {})}
        out |= {} if self.suppress is None else {"suppress": suppression_contents(self.suppress)}
        out |= {"protect": [one.contents() for one in self.protections]}
        out |= {"rule": [rule.contents() for rule in self.rules]} if self.rules else {}
        codebook = {column: list(labels) for column, labels in self.codebook.items()}
        return out | ({"codebook": codebook} if codebook else {})

    def to_toml(self) -> str:
        """The plan as the text of a file; :func:`~maskwell.microdata.load_plan` reads it back."""
        return write_toml(self.to_dict())


_DEFAULTS = {key: ReleasePlan.__dataclass_fields__[key].default for key in RELEASE_ENTRIES if key != "k"}


def _codebook(labels: Any, column: str) -> tuple[str, ...]:
    if not (categories := read.labels(labels, f"[codebook]: {column}")):
        raise PlanError("codebook-has-no-labels", column=column)
    return categories


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return to_decimal(value)
    if isinstance(value, tuple):
        return [one.contents() if isinstance(one, KeptTable) else one for one in value]
    return value


def load_plan(path: str | Path) -> ReleasePlan:
    """The plan in a TOML file; names of files in it are seen from its folder.

    Raises
    ------
    PlanError
        Where the file cannot be read, a table or a key is not known, or what is asked contradicts itself.
    """
    check_path(path=path)
    text = read_document(
        path, error=PlanError, hint="check the path; `maskwell release FILE --init` writes a plan", largest=LARGEST_TOML
    )
    return read_plan(text, name=str(path), folder=str(Path(path).parent))


def read_plan(text: str, *, name: str = "the plan", folder: str = "") -> ReleasePlan:
    """The plan that a text holds."""
    try:
        tables = from_toml(text)
    except ValueError as error:
        first = text.lstrip().partition("\n")[0]
        hint = 'write strings in quotes and lists in brackets: keys = ["sex", "region"]'
        if "=" not in first and "[" not in first and re.search(r"[,;\t]", first):
            hint = "it looks like a table: were plan and data swapped? maskwell release DATA --plan PLAN.toml"
        raise PlanError("name-is-not-toml-fault", hint=hint, name=name, fault=fault_of(error, 60)) from error
    plan = ReleasePlan.from_dict(tables)
    if not folder:
        return plan
    seen = (
        replace(one, how=one.how.located(folder), counts_from=one.counts_from and located(one.counts_from, folder))
        for one in plan.protections
    )
    return replace(plan, protections=tuple(seen))


def _named(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    for key in ("keys", "sensitive", "drop", "accept"):
        names = (name for name in getattr(plan, key) if key != "accept" or name not in ACCEPTED)
        yield from ((f"[release]: {key}", name) for name in names)
    for key in ("weights", "id", "unit"):
        if getattr(plan, key):
            yield f"[release]: {key}", getattr(plan, key)
    for i, protection in enumerate(plan.protections, 1):
        for key in ("variables", "within", "linked"):
            yield from ((f"[[protect]] number {i}: {key}", name) for name in getattr(protection, key))
        for key, columns in protection.how.named_columns.items():
            yield from ((f"[[protect]] number {i}: {key}", name) for name in columns)
    for i, rule in enumerate(plan.rules, 1):
        yield from ((f"[[rule]] number {i}", name) for name in rule.columns)
    yield from ((f"[recode.{name}]", name) for name in plan.recodes)
    yield from (("[suppress]: keys", name) for name in (() if plan.suppress is None else plan.suppress.keys))
    yield from (("[codebook]", name) for name in plan.codebook)
    yield from (("[release]: formulas", name) for name in _in_formulas(plan))
    yield from (("[release]: keep", name) for table in plan.keep for name in table.columns)


def _in_formulas(plan: ReleasePlan) -> list[str]:
    """Columns of the formulas; reading them now means that a bad one is reported before any work."""
    read = [read_formula(text) for text in plan.formulas]
    return [name for formula in read for name in (formula.outcome, *formula.columns)]
