"""An improvement as a proof: the reports of a better design, randomized again, are those of the design it replaces.

    A = C P

where A is the original, P the better design and C has columns that sum to one. Whoever has a report of P can make one
of A from it, so P tells at least as much. C is kept sparse, as entries (report of A, report of P, probability).

Source: [ChaiNayak2018, Definition 4.1].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

from maskwell.core.exact import common_denominator, from_text, to_text
from maskwell.designs.base import Design
from maskwell.designs.wire import design_from_dict
from maskwell.errors import CertificateError
from maskwell.privacy.provable import provable_rows
from maskwell.privacy.shapes import integer_rows

Entry = tuple[int, int, Fraction]


@dataclass(frozen=True, eq=False)
class Improves:
    """The design that is replaced, and the entries of C that are not zero, by rows and then by columns.

    >>> from maskwell.designs.dense import Dense
    >>> original, better = Dense.of([["1/2", "1/4"], ["1/2", "3/4"]]), Dense.of([["2/3", "1/3"], ["1/3", "2/3"]])
    >>> Improves.of(original, [(0, 0, "3/4"), (1, 0, "1/4"), (1, 1, 1)]).fault(better)
    >>> Improves.of(original, [(0, 0, "2/3"), (1, 0, "1/3"), (1, 1, 1)]).fault(better)
    'the entry for report 0 and truth 0 is 4/9 after garbling, not 1/2'
    """

    original: Design
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, original: Design, entries: Iterable[tuple[int, int, Any]]) -> Improves:
        """From entries in any order; zeros are left out. The original goes in as :func:`provable_rows` writes it."""
        read = ((int(i), int(u), Fraction(c)) for i, u, c in entries)
        return cls(provable_rows(original), tuple(sorted((i, u, c) for i, u, c in read if c)))

    @classmethod
    def from_dict(cls, content: Any) -> Improves:
        """Read back what :meth:`to_dict` wrote, strictly; ValueError or the like for anything else."""
        entries = tuple(_read_entry(entry) for entry in content["garbling"])
        places = [entry[:2] for entry in entries]
        if any(before >= after for before, after in pairwise(places)):
            raise ValueError("the entries of the garbling are not in order, or one is repeated")
        original = design_from_dict(content["original"])
        if provable_rows(original) != original:
            raise ValueError(f"the original is of the kind {original.kind}, which is not written out")
        return cls(original, entries)

    def to_dict(self) -> dict[str, Any]:
        """The original, its parity, and the entries in exact text."""
        return {
            "original": self.original.to_dict(),
            "parity": to_text(self.original.parity_exact()),
            "garbling": [[i, u, to_text(c)] for i, u, c in self.entries],
        }

    def checked_against(self, better: Design) -> Improves:
        """The same, after checking in exact arithmetic that it leads from the better design to the original."""
        fault = self.fault(better)
        if fault is not None:
            raise CertificateError(
                f"the garbling does not prove an improvement: {fault}", hint="use the garbling of maskwell improve"
            )
        return self

    def fault(self, better: Design) -> str | None:
        """What is wrong with the claim that ``original = C better``; None when it holds exactly."""
        if self.original.inputs.labels != better.inputs.labels:
            return f"the {self.original.k} truths of the original are not the {better.k} truths of the better design"
        rows, columns = self.original.m, better.m
        outside = next(((i, u) for i, u, _ in self.entries if not (0 <= i < rows and 0 <= u < columns)), None)
        if outside is not None:
            return f"there is no entry ({outside[0]}, {outside[1]}) in a matrix of {rows} rows and {columns} columns"
        return self._wrong_column(columns) or self._wrong_row(better)

    def _wrong_column(self, m: int) -> str | None:
        totals: dict[int, Fraction] = {}  # by the entries that are there: m is only what a file says
        for i, u, c in self.entries:
            if c <= 0:
                return f"the entry ({i}, {u}) is not positive"
            totals[u] = totals.get(u, Fraction(0)) + c
        wrong = next((u for u in range(m) if totals.get(u) != 1), None)
        if wrong is None:
            return None
        return f"column {wrong} of the garbling sums to {to_text(totals.get(wrong, Fraction(0)))}, not 1"

    def _wrong_row(self, better: Design) -> str | None:
        """In integers: each row of C P over the common denominator of the entries of that row of C, and that of P."""
        (A, whole), (P, total) = integer_rows(self.original), integer_rows(better)
        by_row = {i: list(entries) for i, entries in groupby(self.entries, key=lambda entry: entry[0])}
        for i, wanted in enumerate(A):
            entries = by_row.get(i, [])
            common = common_denominator(c for _, _, c in entries)
            made = [0] * len(wanted)
            for _, u, c in entries:
                factor = c.numerator * (common // c.denominator)
                made = [x + factor * p for x, p in zip(made, P[u], strict=True)]
            for j, (x, a) in enumerate(zip(made, wanted, strict=True)):
                if x * whole != a * common * total:
                    found, right = to_text(Fraction(x, common * total)), to_text(Fraction(a, whole))
                    return f"the entry for report {i} and truth {j} is {found} after garbling, not {right}"
        return None


def _read_entry(entry: Any) -> Entry:
    i, u, text = entry
    if not (isinstance(entry, list) and type(i) is int and type(u) is int):
        raise ValueError(f"{entry!r:.80} is not an entry [row, column, fraction]")
    return i, u, from_text(text)
