"""A fair comparison of two designs: never at unequal privacy.

What two designs tell is compared by the order of Blackwell, which needs no equal privacy, and by the variance that
they add, which does: a design that protects less always looks better there. So the less private one is first made as
private as the other, and only then are variances ranked.

Source: [Adeshiyan2011, sections 2.3 and 2.7], [ChaiNayak2018, section 4].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from maskwell.core.arrays import Real
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.designs.base import MATRIX_LIMIT, Design
from maskwell.designs.unary import Unary
from maskwell.errors import TooLargeError
from maskwell.estimation.information import fisher_information, mutual_information
from maskwell.planning.equalise import Equalised, at_parity
from maskwell.planning.order import Order, check_same_categories, order_of

EQUAL = 1e-9
Winner = Literal["first", "second", "equal"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two designs side by side, at proportions ``pi`` (uniform by default), as they are."""

    first: Design
    second: Design
    pi: Real | None

    @cached_property
    def order(self) -> Order:
        """Which tells more, with its proof."""
        return order_of(self.first, self.second)

    @property
    def parities(self) -> tuple[Parity, Parity]:
        """Of both."""
        return self.first.parity_exact(), self.second.parity_exact()

    @property
    def equally_private(self) -> bool:
        """Whether the parities agree to 1e-9."""
        one, two = self.parities
        if isinstance(one, float) or isinstance(two, float):
            return one == two
        return abs(one - two) <= Fraction(EQUAL) * max(one, two)

    @cached_property
    def added_variances(self) -> tuple[float | None, float | None]:
        """Of both, each with its best linear estimator; None where proportions cannot be estimated."""
        one, two = (_added_variance(d, self.pi) for d in (self.first, self.second))
        return one, two

    @property
    def winner_by_variance(self) -> Winner | None:
        """Whose reports add less variance; None at unequal privacy, where that says nothing, or where one adds none."""
        one, two = self.added_variances
        if not self.equally_private or one is None or two is None:
            return None
        if abs(one - two) <= EQUAL * max(abs(one), abs(two)):
            return "equal"
        return "first" if one < two else "second"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "order": self.order.verdict,
            "proof": _proof(self.order),
            "parity": _both(*map(to_float, self.parities)),
            "parity_exact": _both(*map(to_text, self.parities)),
            "equally_private": self.equally_private,
            "added_variance": _both(*self.added_variances),
            "less_variance": self.winner_by_variance,
            "information": _both(*(_information(d, self.pi) for d in (self.first, self.second))),
            "mutual_information": _both(*(_mutual(d, self.pi) for d in (self.first, self.second))),
            "guess_probability": _both(*(d.guess_probability() for d in (self.first, self.second))),
        }


@dataclass(frozen=True, eq=False, repr=False)
class FairComparison:
    """Two designs as they are, and at equal protection.

    Attributes
    ----------
    given
        As they are.
    equalised
        With the less private one made as private as the other; None when that cannot be done, for the reason ``why``.
    changed, how
        Which one was changed, and how; None and "unchanged" when they were equally private.
    """

    given: Comparison
    equalised: Comparison | None
    changed: Literal["first", "second"] | None
    how: str
    why: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = self.given.to_dict()
        if not self.given.equally_private:
            found["less_variance_because"] = "not ranked: the designs do not protect equally"
        if self.equalised is None:
            return {**found, "equalised": None, "not_equalised_because": self.why}
        again = found if self.changed is None else self.equalised.to_dict()
        return {**found, "equalised": {**again, "changed": self.changed, "how": self.how}}

    def __repr__(self) -> str:
        fair = self.equalised
        after = (
            ""
            if fair is None
            else f", at equal privacy {fair.order.verdict!r}, less variance {fair.winner_by_variance!r}"
        )
        return f"FairComparison({self.given.order.verdict!r}{after})"


def compare(first: Design, second: Design, *, pi: Real | None = None) -> FairComparison:
    """Compare two designs over the same categories, as they are and at equal protection.

    >>> from maskwell.designs.dense import Dense
    >>> warner = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])
    >>> simmons = Dense.of([["0.82", "0.02"], ["0.18", "0.98"]])
    >>> found = compare(warner, simmons)
    >>> found.given.added_variances[0] > found.given.added_variances[1], found.given.winner_by_variance   # parity 4, 41
    (True, None)
    >>> found.changed, found.equalised.order.verdict   # at equal parity Warner's device tells more
    ('second', 'first')
    """
    check_same_categories(first, second)
    shares = None if pi is None else first.check_distribution(pi)
    given = Comparison(first, second, shares)
    if given.equally_private:
        infinite = isinstance(given.parities[0], float)
        why = "neither design has a bound on parity, so no common protection can be named" if infinite else None
        return FairComparison(given, None if infinite else given, None, "unchanged", why)
    return _equalised(given)


def _equalised(given: Comparison) -> FairComparison:
    one, two = given.parities
    target, weaker = (one, "second") if one < two else (two, "first")
    if isinstance(target, float) or target <= 1:
        return FairComparison(given, None, None, "unchanged", "one of the designs tells nothing at all")
    try:
        changed = at_parity(given.second if weaker == "second" else given.first, target)
    except TooLargeError as error:
        return FairComparison(given, None, None, "unchanged", error.message)
    return _with(given, changed, weaker)


def _with(given: Comparison, changed: Equalised, weaker: str) -> FairComparison:
    if weaker == "second":
        return FairComparison(given, Comparison(given.first, changed.design, given.pi), "second", changed.how, None)
    return FairComparison(given, Comparison(changed.design, given.second, given.pi), "first", changed.how, None)


def _added_variance(design: Design, pi: Real | None) -> float | None:
    if not design.identifiable:
        return None
    return design.added_variance_of("best-linear") if isinstance(design, Unary) else design.added_variance(pi)


def _both(first: Any, second: Any) -> dict[str, Any]:
    return {"first": first, "second": second}


def _proof(order: Order) -> dict[str, Any]:
    """What proves the verdict: a garbling where one can be made from the other, a gain matrix where it cannot."""
    forth, back = order.first_for_second.to_dict(), order.second_for_first.to_dict()
    main = back if order.verdict == "second" else forth
    shown: dict[str, Any] = {
        name: main[name] for name in ("garbling", "garbling_exact", "keep", "gain", "gain_exact") if name in main
    }
    return {**shown, "exact": order.exact, "first_for_second": forth, "second_for_first": back}


def _information(design: Design, pi: Real | None) -> Any:
    """Fisher's, a number for two categories, else a matrix; None where the design is too large to be written out."""
    if not design.has_entries_up_to(MATRIX_LIMIT) or design.k > 100:
        return None
    found = fisher_information(design, pi)
    return float(found[0, 0]) if design.k == 2 else found.tolist()


def _mutual(design: Design, pi: Real | None) -> float | None:
    if not design.has_entries_up_to(MATRIX_LIMIT):
        return None
    found = mutual_information(design, pi)
    return found if math.isfinite(found) else None
