"""Audit of whole reports as they are emitted: whatever a reader of the data can see, order and padding included."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction

from tests.support.words import Drawn


def parity_seen(laws: Sequence[tuple[Drawn, Fraction]]) -> Fraction | float:
    """What the parity of the emitted reports is at least, given their laws under each truth.

    A law is given up to a mass that was left unsettled; it is counted against the claim that something leaks.
    """
    seen: set[Hashable] = {report for law, _ in laws for report in law}
    worst: Fraction | float = Fraction(1)
    for report in seen:
        high = max(law.get(report, Fraction(0)) for law, _ in laws)
        low = min(law.get(report, Fraction(0)) + rest for law, rest in laws)
        worst = max(worst, high / low if low else math.inf)
    return worst


def law_of_sample(emitted: Iterable[Hashable]) -> tuple[Drawn, Fraction]:
    """The law of reports of which each was emitted by an equally likely run of words."""
    counts = Counter(emitted)
    return {report: Fraction(n, counts.total()) for report, n in counts.items()}, Fraction(0)
