"""Both tables of [NayakZhai2019], cell by cell, through designs as anybody would make them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from docs.reproduction.entries import Number
from docs.reproduction.printed import TABLE_1, TABLE_1_K, TABLE_2, TABLE_2_K

import maskwell as mw
from maskwell.planning.set_sizes import Matching

CUT_OFF = {("5", 10), ("30", 20)}
"""Cells of Table 1 whose last digit was cut off instead of rounded: gamma and k."""


@dataclass(frozen=True)
class VarianceCell:
    """A cell of Table 1: parity, categories, the best size, and the added variance printed and computed."""

    gamma: str
    k: int
    size: int
    number: Number


@dataclass(frozen=True)
class MatchCell:
    """A cell of Table 2: l, categories, what is printed, and what is computed; nothing without a design."""

    diversity: int
    k: int
    printed: str
    match: Matching | None

    @property
    def gamma(self) -> Number | None:
        """The parity, printed and computed."""
        if self.match is None or self.printed == "NA":
            return None
        what = f"γ for k = {self.k}, l = {self.diversity}"
        return Number("Table 2", what, self.printed.partition("(")[0], self.match.gamma)

    @property
    def size(self) -> int | None:
        """The printed size."""
        found = re.search(r"\((\d+)\)", self.printed)
        return int(found[1]) if found else None

    @property
    def agrees(self) -> bool:
        """Parity to the printed digits and the size among the best ones, or no design in both."""
        if self.gamma is None or self.match is None:
            return self.printed == "NA" and self.match is None
        return self.gamma.verdict == "agrees" and self.size in self.match.sizes


@cache
def table_1() -> tuple[VarianceCell, ...]:
    """All 99 cells, line by line."""
    lines = ((gamma, zip(TABLE_1_K, line.split(), strict=True)) for gamma, line in TABLE_1.items())
    return tuple(_variance_cell(gamma, k, text) for gamma, line in lines for k, text in line)


def _variance_cell(gamma: str, k: int, text: str) -> VarianceCell:
    size = mw.planning.minimax_size(k, gamma)
    design = mw.designs.Subset.from_gamma(gamma, mw.Categories.numbered(k), size=size)
    erratum = "E18" if (gamma, k) in CUT_OFF else ""
    return VarianceCell(
        gamma, k, size, Number("Table 1", f"V_R for γ = {gamma}, k = {k}", text, design.added_variance(), erratum)
    )


@cache
def table_2() -> tuple[MatchCell, ...]:
    """All 42 cells, line by line."""
    lines = ((diversity, zip(TABLE_2_K, line.split(), strict=True)) for diversity, line in TABLE_2.items())
    return tuple(MatchCell(diversity, k, text, _match(k, diversity)) for diversity, line in lines for k, text in line)


def _match(k: int, diversity: int) -> Matching | None:
    try:
        return mw.planning.matching_gamma(k, diversity)
    except mw.MaskwellError:  # naming k or more of k answers is no design
        return None
