"""Improvement when only one category is sensitive, and the others need no protection: docs/theory/improvement.md.

The garbling of the better design P_* is ``C[i, 1] = P[i, 1]``, ``C[i, l] = (P[i, l] - a_l P[i, 1]) / (1 - a_l)``.

Source: [Adeshiyan2011, Theorems 2.3 to 2.5] for two categories, Theorem 3.3 for more; any number of reports: derived.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, Parity, safe_below, to_float, to_text
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.garbling import Garbling
from maskwell.designs.row_reduction import equivalent
from maskwell.errors import ParameterError
from maskwell.planning.replacement import Replacement
from maskwell.privacy.posterior_probabilities import find_sensitive, hazard_of

Rows = list[list[Fraction]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class OneSided(Replacement):
    """What can be gained when only one category is sensitive: docs/theory/improvement.md has an example."""

    sensitive: int  # the code of the sensitive category
    report: int | None  # the most incriminating report; None where no report is so against every other category
    ratio: Parity  # R: how strongly a report of the original can speak for the sensitive category, and of P_* as well
    reason: str | None  # why the theorem does not apply; None where it does

    @property
    def applies(self) -> bool:
        """Whether some report is the most incriminating one against every other category."""
        return self.reason is None

    def warnings(self) -> list[str]:
        """What must be said with the advice to use P_*."""
        if not self.applies:
            return []
        name = label_of(self.design, self.sensitive)
        only = f"only {name} is protected: every other report gives its category away, and parity is infinite"
        if self.design.parity_exact() == math.inf and self.design.is_admissible():
            return ["this is direct questioning: the original already gives members away, so nothing is hidden", only]
        if self.design.k > 2:
            return [only]
        other = label_of(self.design, 1 - self.sensitive)
        return [f"the report {other} becomes a certain acquittal, and {name} the only ambiguous answer", only]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        asked = {
            "method": "one-sided",
            "applies": self.applies,
            "reason": self.reason,
            "sensitive": label_of(self.original, self.sensitive),
            "most_incriminating_report": None if self.report is None else report_label(self.original, self.report),
            "ratio": to_float(self.ratio),
            "ratio_exact": to_text(self.ratio),
            "warnings": self.warnings(),
        }
        return {**asked, **super().to_dict()}

    def __repr__(self) -> str:
        if not self.improved:
            return f"OneSided(nothing to gain: {self.reason or self.design!r})"
        return f"OneSided({self.original!r} -> {self.design!r}, ratio={to_text(self.ratio)})"


def improve_one_sided(design: Design, *, sensitive: Hashable | None = None) -> OneSided:
    """The design that hides one category as well and is more informative, if one exists.

    Parameters
    ----------
    design
        Any design whose matrix can be written out.
    sensitive
        The label of the one sensitive category (default: the first).

    >>> import maskwell as mw
    >>> improvement = improve_one_sided(mw.design("chow", red=5, blue=3, draws=2))
    >>> improvement.design.matrix().tolist()
    [[1.0, 0.3], [0.0, 0.7]]
    """
    check_kind(Design, design=design)
    (chosen,) = (0,) if sensitive is None else find_sensitive(design, [sensitive])
    ratio, rows = hazard_of(design, (chosen,)).ratio, design.exact_matrix()
    if design.k == 2 and ratio == 1:
        raise ParameterError("the-design-carries-no-information-every")
    # those that speak for the sensitive category at least as strongly as any other, against every category
    strongest = (
        r
        for r, row in enumerate(rows)
        if row[chosen] > 0
        and all(p * other[chosen] <= q * row[chosen] for other in rows for p, q in zip(row, other, strict=True))
    )
    report = next(strongest, None)
    reason = _fault(rows, report, chosen, design)
    facts: dict[str, Any] = {"sensitive": chosen, "report": report, "ratio": ratio, "reason": reason}
    if report is None or reason is not None:
        return OneSided(original=design, design=design, improved=False, sparse=None, **facts)
    a = [p / rows[report][chosen] for p in rows[report]]
    better = _star(a, chosen)
    if equivalent(rows, better, rtol=0):
        return OneSided(original=design, design=design, improved=False, sparse=None, **facts)
    made = Dense.of(better, design.inputs).noting_decimals(design)
    asked = {"sensitive": str(label_of(design, chosen))}
    made = made.with_provenance(family="improved", parameters=asked, original=design.fingerprint)
    sparse = Garbling.of_matrix(_garbling(rows, a, chosen))
    return OneSided(original=design, design=made, improved=True, sparse=sparse, **facts)


def _fault(rows: Rows, report: int | None, s: int, design: Design) -> str | None:
    """Why the theorem does not apply; None where it does."""
    others = [j for j in range(design.k) if j != s]
    if report is None:
        possible = [i for i, row in enumerate(rows) if row[s]]
        worst = {j: min(possible, key=lambda i: rows[i][j] / rows[i][s]) for j in others}
        apart = next(j for j in others if worst[j] != worst[others[0]])
        names = [f"against {label_of(design, j)} it is {report_label(design, worst[j])}" for j in (others[0], apart)]
        return f"no report is the most incriminating one against every other category: {', '.join(names)}"
    equal = next((j for j in others if rows[report][j] >= rows[report][s]), None)
    if equal is None:
        return None
    return f"no report is likelier for {label_of(design, s)} than for {label_of(design, equal)}"


def _star(a: list[Fraction], s: int) -> Rows:
    return [[x if i == s else (1 - x) * (i == j) for j, x in enumerate(a)] for i in range(len(a))]


def _garbling(rows: Rows, a: list[Fraction], s: int) -> Rows:
    return [[p if j == s else (p - a[j] * row[s]) / (1 - a[j]) for j, p in enumerate(row)] for row in rows]


def best_one_sided(ratio: Number, categories: Categories, *, sensitive: Hashable | None = None) -> Dense:
    """The most informative design for two categories whose reports speak for the sensitive one at most ``ratio`` fold.

        Pr(yes | member) = 1,   Pr(yes | other) = 1 / r

    Source: [Adeshiyan2011, after Theorem 2.3].

    >>> best_one_sided(9, Categories.of(["yes", "no"])).exact_matrix()[0]
    [Fraction(1, 1), Fraction(1, 9)]
    """
    check_kind(Categories, categories=categories)
    if len(categories) != 2:
        raise ParameterError("categories-count-categories", categories_count=len(categories))
    r = safe_below(ratio, "ratio")
    if r <= 1:
        raise ParameterError("ratio-is-not-above-1", ratio=ratio)
    code = 0 if sensitive is None else categories.find(sensitive, "sensitive")
    a = [Fraction(1) if j == code else 1 / r for j in range(2)]
    return Dense.of(_star(a, code), categories).with_provenance(family="one-sided", parameters={"ratio": str(ratio)})


def label_of(design: Design, code: int) -> Any:
    """The label of a category."""
    return design.inputs.labels[code]


def report_label(design: Design, report: int) -> Any:
    """The label of a report, or its 0/1 text."""
    return design.written_reports().labels[report]
