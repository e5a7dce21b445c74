"""Measures of protection by which two designs can be made equal.

==========  ==========================================================  =========  ========
name        value of a design                                           no report  no bound
                                                                        reveals
==========  ==========================================================  =========  ========
parity      largest ratio of two entries of a row; both ways            1          infinite
ratio       R, largest ``P[i, s] / P[i, l]`` for one sensitive s        1          infinite
sensitive   R_S, the same for a set of sensitive categories             1          infinite
hazard      largest posterior probability of the sensitive set          the prior  1
==========  ==========================================================  =========  ========

A row keeps to a bound when its *excess* is 0 or less; a row of pure chance lies below it by its *room*.

Source: [Adeshiyan2011, eqs. (2.5), (2.17), (3.13)], Lanke's measure as given in section 2.3; [ChaiNayak2018, Def. 1.3].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import as_list, as_whole, check_kind, shown_short
from maskwell.core.exact import Number, Parity, as_fraction, safe_below, to_float, to_text
from maskwell.designs.design import Design
from maskwell.designs.matrix_reading import SUM_TOLERANCE
from maskwell.errors import ParameterError
from maskwell.privacy.curves import odds_ratio
from maskwell.privacy.posterior_probabilities import check_sensitive, hazard_of

MEASURES = ("parity", "ratio", "sensitive", "hazard")
Row = Sequence[Fraction]


@dataclass(frozen=True)
class Measure:
    """A measure of protection; the smaller, the better protected.

    >>> from maskwell.procedures.statement_cards import warner
    >>> Measure.of("ratio").value(warner("0.8")), Measure.of("hazard", prior=["0.05", "0.95"]).value(warner("0.8"))
    (Fraction(4, 1), Fraction(4, 23))
    """

    name: str = "parity"  # one of :data:`MEASURES`
    sensitive: tuple[int, ...] = ()  # codes of the sensitive categories; empty for parity
    prior: tuple[Fraction, ...] = ()  # shares that somebody believes in before a report; empty unless it matters

    @classmethod
    def of(cls, name: Any, *, sensitive: Sequence[int] | None = None, prior: Iterable[Number] | None = None) -> Measure:
        """A measure by its name; the first category is the sensitive one where none is named."""
        if not isinstance(name, str) or name not in MEASURES:
            raise ParameterError(
                "no-measure-is-called", name=shown_short(name), measures=", ".join(MEASURES), measure=name
            )
        if name == "parity":
            return cls("parity")
        if name == "sensitive" and sensitive is None:
            raise ParameterError("the-measure-sensitive-needs-the-sensitive")
        codes = [] if sensitive is None else as_list(sensitive, "sensitive")
        chosen = tuple(sorted({as_whole(code, "code of a sensitive category") for code in codes or [0]}))
        if name == "ratio" and len(chosen) != 1:
            raise ParameterError("the-measure-ratio-is-for-one", chosen_count=len(chosen))
        return cls(name, chosen, _beliefs(prior) if name == "hazard" else ())

    @property
    def spoken(self) -> str:
        """Its name in a sentence."""
        spoken = {"ratio": "the ratio R", "sensitive": "the ratio R_S", "hazard": "the posterior"}
        return spoken.get(self.name, "parity")

    @property
    def blank(self) -> Fraction:
        """The value of a design whose reports reveal nothing."""
        return sum((self.prior[j] for j in self.sensitive), Fraction(0)) if self.name == "hazard" else Fraction(1)

    @property
    def limit(self) -> Parity:
        """The value of a design that gives the sensitive categories away: no bound."""
        return Fraction(1) if self.name == "hazard" else math.inf

    def check(self, design: Design) -> None:
        """Raise unless the measure fits the categories of the design."""
        check_kind(Design, design=design)
        if self.name == "parity":
            return
        check_sensitive(design, self.sensitive)
        if self.name == "hazard" and len(self.prior) != design.k:
            raise ParameterError("a-prior-of-shares-for-categories", prior_count=len(self.prior), k=design.k)

    def value(self, design: Design) -> Parity:
        """The exact value of a design."""
        self.check(design)
        if self.name == "parity":
            return design.parity_exact()
        if self.name != "hazard":
            return hazard_of(design, self.sensitive).ratio
        joint = map(self._joint, design.exact_matrix())
        return max(own / total if total else Fraction(0) for own, total in joint)

    def _joint(self, row: Row) -> tuple[Fraction, Fraction]:
        """The chance of a report together with the sensitive set, and that of the report; 0 where it cannot occur."""
        shares = [p * q for p, q in zip(row, self.prior, strict=True)]
        return sum((shares[j] for j in self.sensitive), Fraction(0)), sum(shares, Fraction(0))

    def read(self, value: Number) -> Fraction:
        """A value that was asked for, strictly between that of no information and that of no bound."""
        level = safe_below(value, self.name)
        if not self.blank < level < self.limit:
            above = f"above {to_float(self.blank):g}{' and below 1' if self.name == 'hazard' else ''}"
            raise ParameterError("cannot-be-the-protection", name=self.name, above=above, value=value)
        return level

    def one_sided(self, value: Fraction) -> Fraction | None:
        """The ratio R of the first of two categories that a value represents; None for other measures."""
        if self.sensitive != (0,):
            return None
        if self.name == "hazard":
            return Fraction(odds_ratio(value, self.blank)) if len(self.prior) == 2 else None
        return value

    def excess(self, row: Row, value: Fraction) -> Fraction:
        """How far a row goes beyond a value; 0 or less where it keeps to it."""
        if self.name == "parity":
            return max(row) - value * min(row)
        if self.name == "hazard":
            own, total = self._joint(row)
            return own - value * total
        others = [p for j, p in enumerate(row) if j not in self.sensitive]
        return max(row[j] for j in self.sensitive) - value * min(others)

    def room(self, value: Fraction) -> Fraction:
        """How far a row of ones lies below a value."""
        return value - self.blank

    def to_dict(self, design: Design) -> dict[str, Any]:
        """Plain values for JSON."""
        named = {"sensitive": [plain_truth(design, code) for code in self.sensitive]} if self.sensitive else {}
        prior = {"prior": [to_text(p) for p in self.prior]} if self.prior else {}
        return {"name": self.name, **named, **prior}


def plain_truth(design: Design, code: int) -> Any:
    """The label of a true category as JSON can hold it."""
    label = design.inputs.labels[code]
    return label if isinstance(label, str | int | float | bool) else str(label)


def _beliefs(prior: Iterable[Number] | None) -> tuple[Fraction, ...]:
    if prior is None:
        raise ParameterError("the-measure-hazard-needs-a-prior")
    shares = tuple(as_fraction(p, "prior") for p in prior)
    total = sum(shares, Fraction(0))
    if not shares:
        raise ParameterError("the-prior-has-no-shares")
    if min(shares) <= 0 or abs(total - 1) > SUM_TOLERANCE:
        raise ParameterError(
            "the-prior-is-not-a-distribution", shares=", ".join(f"{float(p):g}" for p in shares), prior=prior
        )
    return tuple(p / total for p in shares)


PARITY = Measure()
