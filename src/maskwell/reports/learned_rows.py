"""What a picture of estimates shows, line by line: of everyone, or of everyone and each domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.printed import Printed
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports.tables import label
from maskwell.reports.words import SPACE, decimals_for, percent

SHOWN = 24
ALL = "all"


@dataclass(frozen=True, eq=False)
class Line:
    """One estimate with its interval; a heading has a label only.

    Attributes
    ----------
    label, group
        Its name, and that of the domain it belongs to, if any.
    centre, low, high
        The estimate and the ends of its interval.
    half, openly
        Half widths of Wald intervals: as it is, and if the same people had been asked openly.
    truth, reported
        True share and share of the reports, NaN where they are not known.
    """

    label: str
    group: str = ""
    centre: float = np.nan
    low: float = np.nan
    high: float = np.nan
    half: float = np.nan
    openly: float = np.nan
    truth: float = np.nan
    reported: float = np.nan
    heading: bool = False


@dataclass(frozen=True, eq=False)
class Lines:
    """All lines of a picture, and what they have in common.

    Attributes
    ----------
    lines
        From top to bottom.
    share_of
        What the shares are of, as the axis says it.
    level, symmetric
        Of the intervals: their level, and whether they reach equally far to both sides.
    first_columns
        Names of the labels in the table.
    known
        Which of "truth" and "reported" are known.
    left_out
        What is not drawn, in words.
    """

    lines: tuple[Line, ...]
    share_of: str
    level: float
    symmetric: bool
    first_columns: tuple[str, ...]
    known: tuple[str, ...] = ()
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def estimates(self) -> tuple[Line, ...]:
        """The lines that are no headings."""
        return tuple(line for line in self.lines if not line.heading)

    @property
    def decimals(self) -> int:
        """Of all percentages."""
        return decimals_for([(line.high - line.low) / 2 for line in self.estimates])

    def values(self, name: str) -> Real:
        """One attribute of all estimates."""
        return np.array([getattr(line, name) for line in self.estimates])

    def share(self, line: Line) -> str:
        """The estimate, in percent."""
        return percent(line.centre, self.decimals)

    def ends(self, line: Line) -> str:
        """The interval, in percent."""
        return f"{percent(line.low, self.decimals)} to {percent(line.high, self.decimals)}"

    def both(self, line: Line) -> str:
        """The estimate with its interval, in percent."""
        if self.symmetric:
            return f"{self.share(line)} ± {percent(line.half, self.decimals)} %"
        return f"{self.share(line)} % ({self.ends(line)})"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the table for people."""
        ends = {} if self.symmetric else {"from": "low", "to": "high"}
        titles = {"truth": "true share", "reported": "share of reports"}
        extra = {titles[name]: name for name in self.known}
        half = f"half width, {Printed(100 * self.level):g}{SPACE}%"
        numbers = {"estimate": "centre", **ends, half: "half", "of open answers": "openly", **extra}
        rows = [
            [*self._names(line), *(self._cell(getattr(line, name)) for name in numbers.values())]
            for line in self.estimates
        ]
        return [*self.first_columns, *numbers], rows

    def _names(self, line: Line) -> list[str]:
        return [line.group, line.label][-len(self.first_columns) :]

    def _cell(self, value: float) -> str:
        return f"{percent(value, self.decimals)}{SPACE}%"

    def words(self) -> str:
        """All estimates in a sentence, beginning with their level."""
        return f"{Printed(100 * self.level):g} % intervals: " + "; ".join(
            f"{' '.join(self._names(line))} {self.share(line)} {self._reach(line)} percent" for line in self.estimates
        )

    def _reach(self, line: Line) -> str:
        if self.symmetric:
            return f"plus or minus {percent(line.half, self.decimals)}"
        return f"({self.ends(line)})"


def lines_of_everyone(
    estimate: Estimate, *, level: float, interval: str | None, truth: Real | None = None, reported: Real | None = None
) -> Lines:
    """A line for each category."""
    more = len(estimate.categories) - SHOWN
    given = {"truth": truth, "reported": reported}
    lines = _lines(estimate, level, interval)[:SHOWN]
    for name, values in given.items():
        if values is not None:
            lines = [_known(line, name, float(x)) for line, x in zip(lines, values, strict=False)]
    return Lines(
        tuple(lines),
        "all people",
        level,
        estimate.intervals(level, interval).method == "wald",
        ("category",),
        tuple(name for name, values in given.items() if values is not None),
        f" {more:,} more categories are not drawn." if more > 0 else "",
    )


def _known(line: Line, name: str, value: float) -> Line:
    return replace(line, truth=value) if name == "truth" else replace(line, reported=value)


def lines_of_domains(estimate: SurveyEstimate, *, level: float, interval: str | None, by: str) -> Lines:
    """Everyone, then each domain: the first of two categories, or all categories below the name of the domain."""
    two = len(estimate.pi_hat) == 2
    everyone: Sequence[tuple[str, Estimate]] = [(ALL, estimate)]
    parts = [*everyone, *((label(name), one) for name, one in estimate.domains.items())]
    size = 1 if two else len(estimate.pi_hat) + 1
    shown = parts[: max(1, SHOWN // size)]
    lines = [line for name, one in shown for line in _part(name, one, level, interval, two=two)]
    return Lines(
        tuple(lines),
        label(estimate.categories[0]) if two else "each group",
        level,
        estimate.intervals(level, interval).method == "wald",
        (by,) if two else (by, "category"),
        (),
        f" {len(parts) - len(shown):,} more groups are not drawn." if len(parts) > len(shown) else "",
    )


def _part(name: str, estimate: Estimate, level: float, interval: str | None, *, two: bool) -> list[Line]:
    lines = _lines(estimate, level, interval)
    if two:
        return [replace(lines[0], label=name)]
    return [Line(name, heading=True), *(replace(line, group=name) for line in lines)]


def _lines(estimate: Estimate, level: float, interval: str | None) -> list[Line]:
    z, found = estimate.critical_value((1 + level) / 2), estimate.intervals(level, interval)
    half, openly = z * estimate.standard_error, z * np.sqrt(np.maximum(estimate.sampling_variance, 0))
    columns = (estimate.categories, estimate.pi_hat, found.low, found.high, half, openly)
    return [
        Line(_name(one), centre=float(p), low=float(low), high=float(high), half=float(wide), openly=float(inner))
        for one, p, low, high, wide, inner in zip(*columns, strict=True)
    ]


def _name(category: object) -> str:
    """A category; a pair by its parts, without brackets that take room.

    >>> _name(("own answer", "yes")), _name("never")
    ('own answer, yes', 'never')
    """
    return ", ".join(map(str, category)) if isinstance(category, tuple) else str(category)
