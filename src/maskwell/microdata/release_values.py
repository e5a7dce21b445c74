"""A release as values, one a phase, each complete when it is made: assessment, draw and release."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.exact import to_decimal
from maskwell.core.verdicts import at_most
from maskwell.engines.input_file import TextForm
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.risk.joined_columns import JoinedRisk
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.side_channels import SideChannel, SideChannelRisk
from maskwell.microdata.stages.stage import Stage, is_kept
from maskwell.microdata.table_keeping import TableKept
from maskwell.microdata.true_file import TrueFile
from maskwell.microdata.utility.table_errors import least_kept_share
from maskwell.microdata.utility.utility_report import UtilityReport, expected_share
from maskwell.notes import Note

if TYPE_CHECKING:
    from maskwell.microdata.folder.linked_releases import LinkedRisk
    from maskwell.microdata.folder.releases_together import DrawnAgain


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the released file."""

    # The kind is text, integer, number, date, boolean or other
    name: str
    kind: str
    labels: tuple[Any, ...] | None = None  # All its labels in order; None where they are too many
    decimal: str = "."  # What stands before the decimals of its numbers in a text file


@dataclass(frozen=True)
class Origin:
    """Where draws come from, and what earlier releases of the same data set reveal together with this one."""

    private: bool = True  # Whether the draws cannot be undone: False for a seed, which only a demonstration may use
    keyed: str | None = None  # A commitment to the key that they are made with, or None where there is none
    # Columns that earlier releases drew independently, as a ledger records, and what all reveal together
    drawn_again: tuple[DrawnAgain, ...] = ()
    words: tuple[str, ...] = ()  # What a reader should know of earlier releases
    # What somebody finds who has them all and sees which records are one person's
    linked: LinkedRisk | None = None


PRIVATE = Origin()  # draws that nobody can repeat, of data that no ledger knows


def about_draws(release: AnyRelease) -> Iterator[str]:
    """That matrices are made for a smaller limit, and what kept draws reveal where two releases are compared."""
    if release.tighter is not None and release.tighter < 1 and release.plan.match is not None:
        yield Note("matrices-are-made-for-less", part=to_decimal(release.tighter))
    kept = [stage for stage in release.stages if release.keeps(stage)]
    if kept:
        yield Note("draws-are-kept-by-key")
    if any(stage.steps is None for stage in kept):
        yield Note("a-changed-report-proves-a-change")
    again = [name for stage in kept if stage.steps is not None for name in stage.variables]
    if again:
        yield Note("second-randomization-wears-out", variables=", ".join(again))
    made = [name for stage in kept if stage.derived for name in stage.variables]
    if made:
        yield Note("matrix-follows-from-the-counts", variables=", ".join(dict.fromkeys(made)))
    new: set[str] = set()
    for stage in release.stages if kept else ():
        within = [name for name in stage.within if name in new]
        if within and stage in kept:
            names = {"variables": " and ".join(stage.variables), "within": " and ".join(within)}
            yield Note("drawn-within-new-reports", **names)
        if within or release.how_drawn(stage) != "kept":
            new |= {*stage.moved}


def _asked(of: str | Callable[[Any], Any]) -> Any:
    """A property whose type the base declares: an attribute of a part, by its path, or a function of the value."""
    return property(attrgetter(of) if isinstance(of, str) else of)


class AnyRelease(Result):
    """What an assessment, a draw and a release can be asked: each has these as fields, or as constants."""

    LINES = "variables"
    plan: ReleasePlan
    stages: tuple[Stage, ...]
    file: TrueFile
    assessment: Assessment
    tighter: Fraction | None
    joined: JoinedRisk | None
    side_channel_risk: SideChannelRisk | None
    origin: Origin
    kept: tuple[TableKept, ...]
    risk: RiskReport | None
    utility: UtilityReport
    released_tables: Mapping[tuple[str, ...], CellTable] | None
    changed: Mapping[str, int]
    columns: Sequence[ReleasedColumn]
    labels: Any
    lost: tuple[str, ...]
    form: TextForm | None
    attempts: int
    files: tuple[str, ...]
    shuffled: bool
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        done = [f"{', '.join(stage.variables)} randomized ({stage.method})" for stage in self.stages]
        return f"{type(self).__name__} of {self.rows:,} records: {'; '.join(done) or 'nothing randomized'}"

    rows: int = _asked("file.rows")  # of the true file
    tables: Mapping[tuple[str, ...], CellTable] = _asked("file.tables")  # its counts
    side_channels: tuple[SideChannel, ...] = _asked("file.channels")  # what its unchanged columns give away
    private: bool = _asked("origin.private")
    keyed: str | None = _asked("origin.keyed")
    drawn_again: tuple[DrawnAgain, ...] = _asked("origin.drawn_again")
    linked: LinkedRisk | None = _asked("origin.linked")

    @cached_property
    def variables(self) -> dict[str, Stage]:
        """The stage that randomized each variable; linked columns with the stage that they follow."""
        return {name: stage for stage in self.stages for name in stage.moved}

    @cached_property
    def randomized(self) -> list[str]:
        """Columns that are randomized, without those that are linked to them."""
        return [*dict.fromkeys(name for stage in self.stages for name in stage.variables)]

    @cached_property
    def published(self) -> list[Stage]:
        """Stages whose matrix users get, as the plan says."""
        return [stage for stage in self.stages if self.plan.publishes(stage)]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know, of all stages."""
        told = [note for stage in self.stages for note in stage.notes]
        again = [Note("drawn-until-it-kept-the-limit", draws=self.attempts)] if self.attempts > 1 else []
        return tuple(dict.fromkeys([*self.warnings, *again, *about_draws(self), *told]))

    @cached_property
    def kept_share(self) -> float:
        """At least the share of drawn files that keep the limit, with 95 % confidence; 1 where every file would."""
        plan, risk = self.plan, self.risk
        if risk is None or plan.match is None or not plan.against.of_the_draw:
            return 1.0
        return 1.0 if at_most(risk.before.max_risk, plan.match) else least_kept_share(self.attempts)

    def keeps(self, stage: Stage) -> bool:
        """Whether the draws of a stage, or of its first step, are kept by key."""
        return self.keyed is not None and self.plan.protection_of(stage).draws == "kept"

    def how_drawn(self, stage: Stage) -> str:
        """``"fresh"`` draws, ``"kept"`` ones, or ``"kept, then fresh"`` where kept reports are randomized once more."""
        if not self.keeps(stage):
            return "fresh"
        return "kept" if stage.steps is None else "kept, then fresh"

    def expected_change(self) -> float:
        """Share of the records that are expected to change; where no table has all columns, as if independent."""
        share = expected_share(self.stages, self.tables.values(), [*self.variables])
        return 1 - math.prod(1 - stage.expected_changed() for stage in self.stages) if share is None else share

    def risk_dict(self) -> dict[str, Any] | None:
        """The risk for JSON, with that of an intruder who knows unchanged columns too."""
        if self.risk is None:
            return None
        also = self.side_channel_risk
        return {**self.risk.to_dict(), "side_channels": None if also is None else also.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell release --json`` gives it."""
        from maskwell.microdata.folder.receipt_contents import draws_told

        return {
            "rows": self.rows,
            "variables": {name: self._facts(stage, name) for name, stage in self.variables.items()},
            "risk": self.risk_dict(),
            "side_channels": [one.to_dict() for one in self.side_channels],
            "utility": self.utility.to_dict(),
            "notes": list(self.notes),
            "private": self.private,
            "draws": draws_told(self),
            "drawn_again": [one.to_dict() for one in self.drawn_again],
            **({"kept_tables": [one.to_dict() for one in self.kept]} if self.kept else {}),
            **({} if self.linked is None else {"linked_releases": self.linked.to_dict()}),
            "files": list(self.files),
        }

    def _facts(self, stage: Stage, name: str) -> dict[str, Any]:
        follows = name not in stage.variables
        facts = {
            "method": stage.method,
            "variables": list(stage.variables),
            "within": list(stage.within),
            "linked": follows,
            "invariant": is_kept(self.stages, [name]),
            "invariance": stage.invariance,
            "derived": stage.derived,
            "states": len(stage.states),
            "cells": int(stage.cells.max()) + 1 if len(stage.cells) else 0,
            "expected_changed": stage.expected_changed(None if follows else name),
            "max_posterior": stage.max_posterior(),
            "least_kept": float(np.min(stage.keeps[stage.counts > 0], initial=1.0)),
            "notes": list(stage.notes),
        }
        if name in self.utility.variables:  # what the tables tell: of all records, also those without a value
            facts["expected_changed"] = self.utility.variables[name].expected_changed
        if name in self.changed:
            n = self.changed[name]
            facts |= {"changed": n, "realised_changed": n / self.rows if self.rows else 0.0}
        return facts


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assessment(AnyRelease):
    """What a plan would do to records: its matrices, risk and utility, from their counts alone.

    Attributes
    ----------
    plan, stages
        What is asked for, and the randomizations that carry it out.
    file
        What was counted in the true records.
    risk, utility
        What an intruder can learn, and what the file is good for; risk is ``None`` without key variables.
    tighter
        The part of the limit that matrices are made for, so that a linkage attack on unchanged columns stays below it.
    joined
        The linkage attack on unchanged columns, where that was simulated.
    side_channel_risk
        The risk of an intruder who knows unchanged columns that give something away; ``None`` where none does.
    found
        What could undo the protection, in words.
    origin
        Where the draws will come from, and what earlier releases reveal.
    kept
        The tables that the plan keeps, how, and what each costs.
    """

    plan: ReleasePlan
    stages: tuple[Stage, ...]
    file: TrueFile
    risk: RiskReport | None
    utility: UtilityReport
    tighter: Fraction | None = None
    joined: JoinedRisk | None = None
    side_channel_risk: SideChannelRisk | None = None
    found: tuple[str, ...] = ()
    origin: Origin = PRIVATE
    kept: tuple[TableKept, ...] = ()

    @_asked
    def assessment(self) -> Assessment:
        """Itself: a draw has one, too."""
        return self

    @_asked
    def warnings(self) -> tuple[str, ...]:
        """What could undo the protection, and what earlier releases reveal, in words."""
        return (*self.found, *self.origin.words)

    @_asked
    def shuffled(self) -> bool:
        """Whether the records will come in random order."""
        return self.plan.order == "shuffled"

    # nothing is drawn yet, and the next draw is the first
    released_tables = labels = form = None
    changed = MappingProxyType[str, int]({})
    columns, lost, files = (), (), ()
    attempts = 1


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Draw(AnyRelease):
    """What became of the records when they were drawn."""

    assessment: Assessment  # What was known of the release before
    released_tables: Mapping[tuple[str, ...], CellTable]  # Counts of the released file by their columns
    changed: Mapping[str, int] = field(default_factory=dict)  # Records whose value was changed, by column
    columns: Sequence[ReleasedColumn] = ()  # Of the released file; of a table in memory they are not told
    # What a labelled file (SPSS, Stata, SAS) holds besides its rows, and what of that is lost, in words
    labels: Any = None
    lost: tuple[str, ...] = ()
    form: TextForm | None = None  # How the text of a released CSV file is written
    attempts: int = 1  # How often the file was drawn until it kept the limit of the plan
    risk: RiskReport | None  # Of the file as it was drawn, as is the utility
    utility: UtilityReport
    shuffled: bool = True  # Whether the records come in random order; if not, what their order reveals, in words
    told_by_order: tuple[str, ...] = ()

    plan, stages, file = _asked("assessment.plan"), _asked("assessment.stages"), _asked("assessment.file")
    tighter, joined = _asked("assessment.tighter"), _asked("assessment.joined")
    side_channel_risk, origin = _asked("assessment.side_channel_risk"), _asked("assessment.origin")
    kept = _asked("assessment.kept")

    @_asked
    def warnings(self) -> tuple[str, ...]:
        """What could undo the protection, or harm users who open the file, in words."""
        columns = ", ".join(self._formulas)
        told = [Note("values-start-like-a-formula", columns=columns)] if columns else []
        return (*self.assessment.warnings, *self.told_by_order, *told)

    @cached_property
    def _formulas(self) -> list[str]:
        from maskwell.microdata.folder.release_metadata import codebook_of, formula_columns

        return formula_columns(codebook_of(self))

    files = tuple[str, ...]()  # none is written yet, or none at all of a table in memory


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Release(Draw):
    """A release of one file: what was assessed from its counts, what became of its records, and what was written.

    Attributes
    ----------
    files
        What was written, seen from the folder of the release.
    """

    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, draw: Draw, files: Sequence[str] = ()) -> Release:
        """A draw that was written to these files."""
        return cls(**{one.name: getattr(draw, one.name) for one in fields(Draw)}, files=tuple(files))
