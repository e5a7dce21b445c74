"""Intruder models: who attacks the record of a person, and how their probability is computed; each in `INTRUDERS`.

All know the person's keys, that the person is in the file, the matrices and the true counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from maskwell.core.arguments import Real, check_option
from maskwell.core.phrases import Printed, round_up
from maskwell.core.verdicts import above, below
from maskwell.errors import InfeasibleError
from maskwell.notes import Note

if TYPE_CHECKING:
    from maskwell.microdata.release_values import AnyRelease
    from maskwell.microdata.risk.risk_report import FileRisk

# Chances of a correct match that are told of a file, for its records and the largest of them
MEASURES = ("in_range", "strict", "any_release", "released_counts")


class Intruder:
    """Uses the released value under which the person is easiest to identify, whatever number of records has it."""

    name: ClassVar[str] = "any-look"  # what plans and documents call them
    words: ClassVar[str] = ""  # what is said of them after the keys that they know
    comment: ClassVar[str] = ""  # what a plan that is written for somebody says of them
    # of the chances of a correct match, those whose largest is theirs, as far as they are known
    measures: ClassVar[tuple[str, ...]] = ("any_release",)
    looks_anywhere: ClassVar[bool] = True  # whether they look under other released values than the person's own
    of_the_draw: ClassVar[bool] = False  # whether the limit is for the drawn file, so that not every draw is released
    # whether they also weigh how well the unchanged columns of a record go with the keys
    weighs_columns: ClassVar[bool] = False

    def chances(self, risks: Mapping[str, Real]) -> Real:
        """The chance of a correct match in each cell, of those that were measured."""
        return np.asarray(np.max([risks[name] for name in self.measures if name in risks], axis=0))

    @property
    def of_counts(self) -> Intruder:
        """The intruder whose chance counts give, where more than counts is needed for this one."""
        return ANY_LOOK if self.weighs_columns else self

    def foretold(self, after: FileRisk) -> float:
        """The largest probability that follows from the counts of the true file, before any is drawn."""
        return after.max_risk

    def unsaid(self, after: FileRisk, level: float) -> Iterator[str]:
        """What their figure does not say: rare releases, smarter ones, and who compares all counts."""
        said, counts = after.max_risk, after.max_risk_released_counts
        if above(after.max_risk_any_release, said, scale=1):
            yield Note("best-look-finds-more", most=_in_messages(after.max_risk_any_release))
        if counts is not None and above(counts, said, scale=1):
            yield Note("all-counts-find-more", most=_in_messages(counts))
        if after.small is not None and counts is None:
            yield Note("all-counts-not-covered")

    def outdone(self, *, counts: bool) -> str:
        """What an intruder does who identifies more; ``counts`` says whether comparing all of them was measured."""
        return f"uses the most revealing released value{' or compares all released counts' * counts}"

    def check_assessed(self, release: AnyRelease, limit: Fraction) -> None:
        """Raise where the counts of the true file do not show that they stay below a limit."""

    def check_drawn(self, after: FileRisk, attempt: int, limit: Fraction) -> None:
        """Raise where the file as it was drawn, at this attempt, breaks a limit that is for that very file."""


class AnyLook(Intruder):
    """As the base says, and nothing else."""

    def outdone(self, *, counts: bool) -> str:
        """Only who compares counts finds more."""
        return "also compares all released counts"


class OwnKey(Intruder):
    """Looks only at the records released with the person's own keys, whatever their number."""

    name = "own-key"
    words = " and considers only records released with the person's own key values"
    measures = ("strict",)
    looks_anywhere = False


class OwnKeyUsually(OwnKey):
    """The same, for the numbers of records that 95 % of the releases have."""

    name = "own-key-95"
    words = f"{OwnKey.words}, in 95\u00a0% of releases"
    measures = ("in_range",)

    def unsaid(self, after: FileRisk, level: float) -> Iterator[str]:
        """Also the releases with other numbers."""
        most = after.max_risk_strict
        if above(most, after.max_risk, scale=1):
            yield Note("rare-releases-find-more", rest=Printed(100 * (1 - level)), most=_in_messages(most))
        yield from super().unsaid(after, level)


class ReleasedCounts(Intruder):
    """Also compares all released counts with the true ones, so that the limit is for the very file that is drawn."""

    name = "released-counts"
    words = ", and compares all released counts with the true ones,"
    measures = ("any_release", "released_counts")
    of_the_draw = True

    def foretold(self, after: FileRisk) -> float:
        """What the counts of a drawn file add is left out."""
        return float(after.max_risk_any_release)

    def check_drawn(self, after: FileRisk, attempt: int, limit: Fraction) -> None:
        """The chance is known, and no record is above the limit."""
        if after.max_risk_released_counts is None:
            raise InfeasibleError("this-file-is-too-large")
        if after.records_above:
            drawn = "in the drawn file" if attempt == 1 else f"after {attempt} draws"
            raise InfeasibleError(
                "someone-who-compares-all-counts", drawn=drawn, limit=float(limit), nearest=after.max_risk
            )


class AllColumns(Intruder):
    """Also uses the unchanged columns in a linkage attack, which is simulated (`joined_columns`)."""

    name = "all-columns"
    comment = "the limit also holds against an intruder who uses the other columns (simulated linkage attack)"
    weighs_columns = True

    def check_assessed(self, release: AnyRelease, limit: Fraction) -> None:
        """The simulation was possible, and stays below the limit."""
        joined, smallest = release.joined, None if release.risk is None else release.risk.before.smallest
        known = {*release.plan.keys, *(name for stage in release.stages for name in stage.within)}
        others, few = {*release.file.others} - known, smallest is None or below(float(smallest * limit), 1)
        if joined is None and others and few:
            raise InfeasibleError("what-all-columns-together-tell")
        if joined is not None and above(joined.to_spare, limit):
            raise InfeasibleError("someone-who-weighs-all-columns", limit=float(limit), nearest=joined.to_spare)


ANY_LOOK, OWN_KEY, ALL_COLUMNS = AnyLook(), OwnKey(), AllColumns()

INTRUDERS: dict[str, Intruder] = {
    one.name: one for one in (ANY_LOOK, OWN_KEY, OwnKeyUsually(), ReleasedCounts(), ALL_COLUMNS)
}
"""All of them by name."""


def intruder_named(name: str) -> Intruder:
    """The intruder of a name; an error that lists all names where there is none."""
    check_option("intruder", name, INTRUDERS)
    return INTRUDERS[name]


def _in_messages(chance: float) -> float:
    """A chance as messages say it: three decimals, rounded up; rounding of floats is not counted."""
    return min(1.0, round_up(chance, 3))
