"""What was asked of a release and what came of it, in words: what stays right, which rules hold, which bounds are kept.

States are named by the labels of their values, where the file has such labels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from maskwell.core.exact import rounded, to_decimal
from maskwell.core.phrases import one_line
from maskwell.engines.labelled_columns import Labels
from maskwell.release.analysis.kept_tables import kept_columns
from maskwell.release.folder.receipt_contents import in_words
from maskwell.release.kept_bounds import BoundKept, bounds_kept
from maskwell.release.plans.edit_rules import AnyRule, Moves, Rule
from maskwell.release.plans.protection import Protection
from maskwell.release.release_result import Release
from maskwell.release.risk.risk_report import ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS
from maskwell.release.stages.stage import AT_LEAST, Stage, bound_is_kept, moved_by
from maskwell.reports.plain_words import SPACE, as_decimal, percent_bound

KEPT = {"counts": "counts", "weights": "weighted counts"}
NOT_KEPT = {
    "external": "counts of another file stay right on average, not those of this one",
    "none": "counts do not stay right; users need the matrix",
}
BOUNDS = {
    "posterior": "Chance of any true value, given the released one",
    "posterior_own": "Chance that the released value is the true one",
    "odds": "Odds that the released value is the true one",
    "guess": "Chance that the best guess of the true value is right",
    "factor": "Factor by which a released value changes the chance of a true one",
    "parity": "Ratio of the chances of one released value",
    "least_kept": "Chance to stay, every value",
    "changed_at_most": "Share of the records expected to change",
    "changed_at_least": "Share of the records expected to change",
    "match": "Chance of a correct match, every record",
}
INTRUDER_WORDS = {
    ANY_LOOK: "",
    OWN_KEY: " and looks only at records released with the person's own keys",
    OWN_KEY_95: f" and looks only at records released with the person's own keys, in 95{SPACE}% of releases",
    RELEASED_COUNTS: ", and compares all released counts with the true ones,",
}
"""What is said of the intruder after the keys that he knows."""

RATIOS = ("odds", "factor", "parity")


@dataclass(frozen=True)
class Promise:
    """Something that was asked, and what came of it.

    Attributes
    ----------
    what, where
        The bound in words, and the columns it is about.
    asked, achieved
        Both as people read them.
    kept
        Whether it holds; ``None`` where nothing can be said.
    """

    what: str
    where: str
    asked: str
    achieved: str
    kept: bool | None

    @property
    def verdict(self) -> str:
        """In a word."""
        return "not measured" if self.kept is None else "kept" if self.kept else "not kept"


def stays_right(stages: Sequence[Stage], stage: Stage) -> str:
    """Which counts of one stage stay right on average after all stages."""
    if stage.invariance not in KEPT:
        return NOT_KEPT[stage.invariance]
    kept = kept_columns(stages, stage)
    if kept:
        return f"{KEPT[stage.invariance]} of {in_words(kept)} stay right on average"
    before = [name for other in stages[: stages.index(stage)] for name in moved_by(other)]
    moved = [name for name in stage.within if name in before]
    return (
        f"counts do not stay right: {in_words(moved) or 'a column of these'} was randomized before, apart from"
        f" {in_words(stage.variables)}; users need the matrices"
    )


def promises(release: Release) -> list[Promise]:
    """Everything that the plan asks for in numbers, with what was achieved."""
    match = [_matching(release)] if release.plan.match is not None else []
    return match + [_promise(one) for one in bounds_kept(release)]


def _matching(release: Release) -> Promise:
    asked = release.plan.match
    most = greatest_risk(release)
    where = f"someone who knows {in_words(release.plan.keys)}{INTRUDER_WORDS[release.plan.intruder]}"
    if asked is None or most is None:
        return Promise(BOUNDS["match"], where, _bound_text("match", asked or Fraction(1)), "–", None)
    kept = bound_is_kept("match", float(asked), most)
    return Promise(BOUNDS["match"], where, _bound_text("match", asked), bound_value("match", most), kept)


def greatest_risk(release: Release) -> float | None:
    """The greatest chance of a correct match after the release, against the intruder of the plan; None without keys."""
    after = None if release.risk is None else release.risk.after
    return None if after is None else float(after.max_risk)


def _promise(one: BoundKept) -> Promise:
    where = columns_of(one.stage) if one.label is None else f"{columns_of(one.stage)} = {one.label}"
    return Promise(
        BOUNDS[one.name], where, _bound_text(one.name, one.asked), bound_value(one.name, one.value), one.kept
    )


def _bound_text(name: str, asked: Fraction) -> str:
    how = "at least" if name in AT_LEAST else "at most"
    return f"{how} {to_decimal(asked)}" if name in RATIOS else f"{how} {_percent_bound(asked, up=False)}"


def bound_value(name: str, value: float) -> str:
    """A value for one of the bounds, rounded towards less protection.

    >>> bound_value("parity", 3.0), bound_value("match", 0.4621).replace(SPACE, " ")
    ('3', '46.3 %')
    """
    if name in RATIOS or math.isinf(value):
        return rounded(value if math.isinf(value) else as_decimal(value), 4, up=True)
    return _percent_bound(as_decimal(value), up=name not in AT_LEAST)


def _percent_bound(share: Fraction, *, up: bool) -> str:
    return f"{percent_bound(share, up=up)}{SPACE}%"


def rule_in_words(rule: AnyRule) -> str:
    """A rule as a sentence.

    >>> rule_in_words(Rule({"age": ("child",), "marital": ("married", "widowed")}))
    'No record has age child with marital married or widowed.'
    """
    if isinstance(rule, Rule):
        parts = [f"{column} {' or '.join(labels)}" for column, labels in rule.forbid.items()]
        return f"No record has {' with '.join(parts)}."
    if isinstance(rule, Moves):
        pairs = ", ".join(f"{a} to {b}" for a, b in rule.pairs)
        return f"{rule.variable} {'moves only from' if rule.only else 'never moves from'} {pairs}."
    steps = "one step" if rule.steps == 1 else f"{rule.steps} steps"
    return f"{rule.variable} moves by at most {steps} of its order."


def made_by(protection: Protection) -> str:
    """How a matrix was made: the method in words, with its numbers.

    >>> made_by(Protection.of(["roof"], "method1", theta="1/2"))
    'method1 (theta = 0.5): every category sends out and receives the same expected number of records'
    """
    numbers = [f"{name} = {to_decimal(x)}" for name, x in protection.options.items() if isinstance(x, Fraction)]
    numbers += [f"{name} = {x}" for name, x in protection.bounds.to_dict().items() if isinstance(x, str)]
    brackets = f" ({', '.join(numbers)})" if numbers else ""
    return f"{protection.method}{brackets}: {protection.how.summary}"


# ---- names of states and columns

PARTS = " · "


class Randomized(Protocol):
    """What is randomized, within what."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Columns that are randomized together."""

    @property
    def within(self) -> tuple[str, ...]:
        """Columns within whose cells they are."""


def name_of(state: Sequence[Hashable], columns: Sequence[str] = (), labels: Labels | None = None) -> str:
    """The labels of a state; a missing value is told.

    >>> name_of(("north", None))
    'north · missing'
    >>> from maskwell.engines.labelled_columns import ColumnLabels
    >>> name_of((2, "x"), ["sex", "y"], Labels(".sav", {"sex": ColumnLabels(values={2.0: "female"})}))
    'female · x'
    """
    names = columns or [""] * len(state)
    return PARTS.join(label_of(value, name, labels) for value, name in zip(state, names, strict=True))


def label_of(value: Hashable, column: str, labels: Labels | None) -> str:
    """What a value stands for, or the value itself; on one line."""
    if value is None:
        return "missing"
    known = None if labels is None else labels.columns.get(column)
    return one_line(str(value) if known is None else known.label_of(value))


def columns_of(stage: Randomized) -> str:
    """What is randomized, within what.

    >>> from types import SimpleNamespace
    >>> columns_of(SimpleNamespace(variables=("roof", "sex"), within=("region",)))
    'roof, sex within region'
    """
    within = f" within {', '.join(stage.within)}" if stage.within else ""
    return one_line(", ".join(stage.variables) + within)
