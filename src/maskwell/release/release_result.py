"""Release: what was planned and assessed, what became of the records, and the words about both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.cells import CellTable
from maskwell.release.folder.matrix_disclosure import protection_of
from maskwell.release.stages.stage import Stage
from maskwell.release.stages.table_flow import is_kept

if TYPE_CHECKING:
    from maskwell.release.plans.release_plan import ReleasePlan
    from maskwell.release.risk.risk_report import RiskReport
    from maskwell.release.side_channels import SideChannel, SideChannelRisk
    from maskwell.release.utility.utility_report import UtilityReport


KEPT = (
    "draws are kept by key: the same true value under the same matrix gives the same report in every release, anything"
    " else an independent draw"
)
CHANGE_IS_TOLD = (
    "a report that differs from an earlier one under the same key and matrix proves that the true value changed (an"
    ' equal one proves nothing); to hide changes too, set draws = "fresh" or again = 0.5 in [[protect]]'
)
WEARS_OUT = (
    "the second randomization of {variables} is new in each release: many releases together tell the kept report, and"
    " bounds are checked for it, too"
)
FROM_COUNTS = (
    "the matrix of {variables} follows from the counts: a later file has other counts, and its records keep their draws"
    " only if it is released with this matrix (--matrices with internal/receipt.json)"
)
WITHIN_FRESH = (
    "{variables} is drawn within {within}, whose reports are new in each release: a kept report changes with them, and"
    " several releases tell more than one"
)
DRAWN_AGAIN = (
    "the file was drawn {draws} times until it kept the limit; keeping only such files changes the probabilities of the"
    " draws a little"
)


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the released file.

    Attributes
    ----------
    name, kind
        The kind is ``text``, ``integer``, ``number``, ``date``, ``boolean`` or ``other``.
    labels
        All its labels in order, where it was randomized or counted.
    """

    name: str
    kind: str
    labels: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedRows:
    """What became of the records.

    Attributes
    ----------
    tables
        Counts of the released file by their columns.
    changed
        Records whose value was changed, by column.
    columns
        Of the released file; of a table in memory they are not told.
    labels
        What a labelled file (SPSS, Stata, SAS) tells besides its rows, or ``None``.
    lost
        What the true file told besides its rows and the released one cannot hold, in words.
    attempts
        How often the file was drawn until it kept the limit of the plan.
    files
        What was written, seen from the folder of the release.
    """

    tables: Mapping[tuple[str, ...], CellTable] | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    columns: Sequence[ReleasedColumn] = ()
    labels: Any = None
    lost: tuple[str, ...] = ()
    attempts: int = 1
    files: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Release:
    """A release of one file: what was assessed from its counts, and what became of its records.

    Attributes
    ----------
    plan, stages
        What was asked for, and the randomizations that carry it out.
    rows, tables, missing
        Of the true file: its records, their counts by columns, and records without a value by column.
    source_name, ending
        Name of the true file without its folder, and the kind of file.
    risk, utility
        What somebody can learn, and what the file is good for; risk is ``None`` without key variables.
    seen
        Unchanged columns that follow from a key: whoever knows the key knows them, and sees which records moved.
    side_channels, side_channel_risk
        What unchanged columns give away, and the risk of an intruder who knows them too (``None`` where nothing is).
    warnings
        What could undo the protection, in words.
    private, keyed
        Whether nobody can undo the draws: ``False`` for a seed, which only a demonstration may use; and a commitment to
        the key that they were made with, or ``None`` where there was none.
    shuffled
        Whether the records come in random order.
    released
        What became of the records; nothing before they are released.
    """

    plan: ReleasePlan
    stages: tuple[Stage, ...]
    rows: int
    tables: Mapping[tuple[str, ...], CellTable]
    missing: Mapping[str, int] = field(default_factory=dict)
    source_name: str = ""
    ending: str = ""
    risk: RiskReport | None = None
    utility: UtilityReport | None = None
    seen: tuple[str, ...] = ()
    side_channels: tuple[SideChannel, ...] = ()
    side_channel_risk: SideChannelRisk | None = None
    warnings: tuple[str, ...] = ()
    private: bool = True
    keyed: str | None = None
    shuffled: bool = False
    released: ReleasedRows = ReleasedRows()

    @property
    def released_tables(self) -> Mapping[tuple[str, ...], CellTable] | None:
        """Counts of the released file by their columns, ``None`` before there is one."""
        return self.released.tables

    @property
    def changed(self) -> Mapping[str, int]:
        """Records whose value was changed, by column; empty before there is a released file."""
        return self.released.changed

    @property
    def columns(self) -> Sequence[ReleasedColumn]:
        """Columns of the released file."""
        return self.released.columns

    @property
    def labels(self) -> Any:
        """What a labelled file (SPSS, Stata, SAS) tells besides its rows, or ``None``."""
        return self.released.labels

    @property
    def lost(self) -> tuple[str, ...]:
        """What the released file cannot hold of what the true one told besides its rows, in words."""
        return self.released.lost

    @property
    def attempts(self) -> int:
        """How often the file was drawn until it kept the limit of the plan."""
        return self.released.attempts

    @property
    def files(self) -> tuple[str, ...]:
        """What was written, seen from the folder of the release; empty before."""
        return self.released.files

    def with_released(self, **changes: Any) -> Release:
        """The release with something more about its records."""
        return replace(self, released=replace(self.released, **changes))

    def __repr__(self) -> str:
        done = [f"{', '.join(stage.variables)} randomized ({stage.method})" for stage in self.stages]
        return f"Release of {self.rows:,} records: {'; '.join(done) or 'nothing randomized'}"

    @property
    def variables(self) -> dict[str, Stage]:
        """The stage that randomized each variable; linked columns with the stage that they follow."""
        return {name: stage for stage in self.stages for name in (*stage.variables, *stage.linked)}

    @property
    def randomized(self) -> list[str]:
        """Columns that are randomized, without those that are linked to them."""
        return [*dict.fromkeys(name for stage in self.stages for name in stage.variables)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know, of all stages."""
        told = [note for stage in self.stages for note in stage.notes]
        again = [DRAWN_AGAIN.format(draws=self.attempts)] if self.attempts > 1 else []
        return tuple(dict.fromkeys([*self.warnings, *again, *self._about_draws(), *told]))

    def keeps(self, stage: Stage) -> bool:
        """Whether the draws of a stage, or of its first step, are kept by key."""
        return self.keyed is not None and protection_of(self.plan, stage).draws == "kept"

    def draws_of(self, stage: Stage) -> str:
        """``"fresh"`` draws, ``"kept"`` ones, or ``"kept, then fresh"`` where kept reports are randomized once more."""
        if not self.keeps(stage):
            return "fresh"
        return "kept" if stage.steps is None else "kept, then fresh"

    def _about_draws(self) -> Iterator[str]:
        """What draws that are kept tell whoever compares two releases."""
        kept = [stage for stage in self.stages if self.keeps(stage)]
        if kept:
            yield KEPT
        if any(stage.steps is None for stage in kept):
            yield CHANGE_IS_TOLD
        again = [name for stage in kept if stage.steps is not None for name in stage.variables]
        if again:
            yield WEARS_OUT.format(variables=", ".join(again))
        made = [name for stage in kept if stage.derived for name in stage.variables]
        if made:
            yield FROM_COUNTS.format(variables=", ".join(dict.fromkeys(made)))
        new: set[str] = set()
        for stage in self.stages if kept else ():
            within = [name for name in stage.within if name in new]
            if within and stage in kept:
                yield WITHIN_FRESH.format(variables=" and ".join(stage.variables), within=" and ".join(within))
            if within or self.draws_of(stage) != "kept":
                new |= {*stage.variables, *stage.linked}

    def risk_dict(self) -> dict[str, Any] | None:
        """The risk for JSON, with that of an intruder who knows unchanged columns too."""
        if self.risk is None:
            return None
        also = self.side_channel_risk
        return {**self.risk.to_dict(), "side_channels": None if also is None else also.to_dict()}

    def summary(self) -> dict[str, dict[str, Any]]:
        """What was done to each variable, as plain values for JSON."""
        return {
            name: {**_about(stage, name, self.stages), **self._expected(name), **self._realised(name)}
            for name, stage in self.variables.items()
        }

    def _expected(self, name: str) -> dict[str, Any]:
        """What the tables of the file tell: of all records, also those without a value."""
        if self.utility is None or name not in self.utility.variables:
            return {}
        return {"expected_changed": self.utility.variables[name].expected_changed}

    def _realised(self, name: str) -> dict[str, Any]:
        if name not in self.changed:
            return {}
        return {"changed": self.changed[name], "realised_changed": self.changed[name] / self.rows if self.rows else 0.0}


def _about(stage: Stage, name: str, stages: Sequence[Stage]) -> dict[str, Any]:
    follows = name not in stage.variables
    return {
        "method": stage.method,
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": follows,
        "invariant": is_kept(stages, [name]),
        "invariance": stage.invariance,
        "derived": stage.derived,
        "states": len(stage.states),
        "cells": int(stage.cells.max()) + 1 if len(stage.cells) else 0,
        "expected_changed": stage.expected_changed(None if follows else name),
        "max_posterior": stage.max_posterior(),
        "least_kept": float(np.min(stage.keeps[stage.counts > 0], initial=1.0)),
        "notes": list(stage.notes),
    }
