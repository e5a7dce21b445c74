"""Sample: what one group of respondents reported, and the design it used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from maskwell.core.arguments import as_array, check_kind
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.errors import ReportError


@dataclass(frozen=True, eq=False)
class Sample:
    """Counted reports with the design that made them.

    Attributes
    ----------
    counts
        How often each report was seen (for set reports: how many reports hold each category).
    design
        The design that made them.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    >>> Sample.of([120, 180], warner).n
    300
    """

    counts: Counts
    design: Design

    def __post_init__(self) -> None:
        check_kind(Counts, counts=self.counts)
        check_kind(Design, design=self.design)
        if self.counts.fingerprint != self.design.fingerprint:
            raise ReportError(
                "these counts were made with another design", hint="count and estimate with the same design"
            )
        _check_length(self.counts, self.design)

    @classmethod
    def of(cls, values: Any, design: Design) -> Self:
        """From plain counts in the order of the design's reports; sets, counted by category, come as Counts."""
        check_kind(Design, design=design)
        if design.reports_are_sets:
            raise ReportError(
                "counts by category do not tell how many sets were reported",
                hint="tally the sets with the design: it counts both",
            )
        whole = Counts(as_array(values, "counts"), 0, "").values
        return cls(Counts(whole, int(whole.sum()), design.fingerprint), design)

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.counts.n


def _check_length(counts: Counts, design: Design) -> None:
    expected = design.k if design.reports_are_sets else design.m
    if len(counts.values) != expected:
        raise ReportError(
            f"{len(counts.values):,} counts; this design has {expected:,} {_counted(design)}",
            hint="tally the reports with the same design",
        )
    if not design.reports_are_sets and counts.n != int(counts.values.sum()):
        raise ReportError(
            f"the counts sum to {int(counts.values.sum()):,} but n = {counts.n:,}",
            hint="every report is counted once: tally the reports with the design",
        )


def _counted(design: Design) -> str:
    return "categories" if design.reports_are_sets else "possible reports"
