"""A fair comparison of two designs, never at unequal privacy: docs/theory/fair-comparison.md.

Source: [Adeshiyan2011, sections 2.3 and 2.7, Theorem 3.3], [ChaiNayak2018, section 4].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from maskwell.core.arguments import Real, as_list, check_kind
from maskwell.core.display import Result, plain_numbers
from maskwell.core.exact import Number, Parity, to_float, to_text
from maskwell.core.verdicts import tied
from maskwell.designs.design import MATRIX_LIMIT, Design
from maskwell.errors import TooLargeError
from maskwell.estimation.maximum_likelihood import fisher_information, mutual_information
from maskwell.planning.order import Order, check_same_categories, order_of
from maskwell.planning.tuning import at_level
from maskwell.privacy.criteria import alike
from maskwell.privacy.measures import PARITY, Measure
from maskwell.privacy.posterior_probabilities import posterior

ENTRIES = 100_000  # matrices with more entries than this are not looked at for many shares
MOST_CATEGORIES = 50
TOLERANCE = 1e-10
_SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)

Better = Literal["first", "second", "equal", "neither"]


@dataclass(frozen=True, eq=False)
class Efficiency:
    """Two designs at many true shares."""

    grid: Real  # the shares, shape (g, k)
    information: Real | None  # for two categories that of both at each of them, shape (2, g); else None
    # the least and the greatest relative efficiency of the first, over all directions, shape (g, 2); NaN where the
    # second tells nothing in some direction
    relative: Real
    better: Better  # which one is at least as good in every direction at all of these shares

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        one, two = (None, None) if self.information is None else self.information.tolist()
        return {
            "grid": self.grid.tolist(),
            "information": None if one is None else {"first": one, "second": two},
            "relative": plain_numbers(self.relative),
            "loewner": self.better,
        }


def efficiency_of(first: Design, second: Design, *, grid: Real | None = None) -> Efficiency | None:
    """Compare the information of two designs at many true shares; None where they are too large for that."""
    check_kind(Design, first=first, second=second)
    if first.k > MOST_CATEGORIES or not all(design.has_entries_up_to(ENTRIES) for design in (first, second)):
        return None
    given = None if grid is None else [first.check_distribution(pi) for pi in as_list(grid, "grid")]
    points = default_grid(first.k) if given is None else np.array(given)
    pairs = [(fisher_information(first, pi), fisher_information(second, pi)) for pi in points]
    binary = np.array([[one[0, 0], two[0, 0]] for one, two in pairs]).T if first.k == 2 else None
    return Efficiency(points, binary, np.array([_relative(*pair) for pair in pairs]), _better(pairs))


def default_grid(k: int) -> Real:
    """Even shares, and each category in turn rare or common; for two categories a finer row of shares."""
    if k == 2:
        return np.array([[share, 1 - share] for share in _SHARES])
    even = np.full((1, k), 1 / k)
    mixed = [mix * np.eye(k) + (1 - mix) / k for mix in (0.5, 0.9)]
    return np.vstack([even, *mixed])


def _relative(one: Real, two: Real) -> tuple[float, float]:
    from scipy.linalg import eigh

    if np.linalg.eigvalsh(two)[0] <= TOLERANCE * np.abs(two).max() or not np.isfinite(one).all():
        return (np.nan, np.nan)
    roots = eigh(one, two, eigvals_only=True)
    return float(roots[0]), float(roots[-1])


def _better(pairs: list[tuple[Real, Real]]) -> Better:
    forth = all(_at_least(one, two) for one, two in pairs)
    back = all(_at_least(two, one) for one, two in pairs)
    return "equal" if forth and back else "first" if forth else "second" if back else "neither"


def _at_least(one: Real, two: Real) -> bool:
    scale = max(float(np.linalg.norm(one)), float(np.linalg.norm(two)))
    return bool(np.linalg.eigvalsh(one - two)[0] >= -TOLERANCE * scale)


NO_BOUND = "neither design has a bound on {}, so no common protection can be named"
SHOWN_POSTERIORS = 1000  # entries of a matrix up to which beliefs after every report are listed
Winner = Literal["first", "second", "equal"]
Which = Literal["first", "second", "both"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Two designs side by side, at proportions ``pi`` (uniform by default), as they are."""

    first: Design
    second: Design
    pi: Real | None
    measure: Measure = PARITY  # how protection is measured: parity by default

    @cached_property
    def order(self) -> Order:
        """Which is more informative, with its proof."""
        return order_of(self.first, self.second)

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """How much more informative one is than the other at many shares, first at ``pi``; None for large designs."""
        grid = default_grid(self.first.k) if self.first.k <= MOST_CATEGORIES else None
        if grid is not None and self.pi is not None and (self.pi > 0).all():
            grid = np.vstack([self.pi, grid])
        return efficiency_of(self.first, self.second, grid=grid)

    @property
    def parities(self) -> tuple[Parity, Parity]:
        """Of both."""
        return self.first.parity_exact(), self.second.parity_exact()

    @cached_property
    def protections(self) -> tuple[Parity, Parity]:
        """Of both, by the measure."""
        return self.measure.value(self.first), self.measure.value(self.second)

    @property
    def equally_private(self) -> bool:
        """Whether the protections agree: exactly, or within 1e-9 where a design is given as decimals, or rounded."""
        return alike(*self.protections, decimals=self.first.rounded or self.second.rounded)

    @property
    def slack_used(self) -> bool:
        """Whether the protections are equal only within slack; see :mod:`maskwell.privacy.criteria`."""
        return self.equally_private and self.protections[0] != self.protections[1]

    @property
    def prior(self) -> Real:
        """What is believed before a report: the prior of the measure, else ``pi``, else equal shares."""
        if self.measure.prior:
            return np.array([float(p) for p in self.measure.prior])
        return self.first.uniform_prior() if self.pi is None else self.pi

    @cached_property
    def posteriors(self) -> tuple[Real | None, Real | None]:
        """What is believed after each report of both, shape (m, k) each; None for large designs."""
        one, two = (
            posterior(design, self.prior) if design.has_entries_up_to(SHOWN_POSTERIORS) else None
            for design in (self.first, self.second)
        )
        return one, two

    @cached_property
    def added_variances(self) -> tuple[float | None, float | None]:
        """Of both, each with its best linear estimator; None where proportions cannot be estimated."""
        one, two = (d.least_added_variance(self.pi) if d.identifiable else None for d in (self.first, self.second))
        return one, two

    @property
    def winner_by_variance(self) -> Winner | None:
        """Whose reports add less variance; None at unequal privacy, where that says nothing, or where one adds none."""
        one, two = self.added_variances
        if not self.equally_private or one is None or two is None:
            return None
        if tied(one, two):
            return "equal"
        return "first" if one < two else "second"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        both = self.first, self.second
        return {
            "order": self.order.verdict,
            "proof": _proof(self.order),
            "parity": _both(*map(to_float, self.parities)),
            "parity_exact": _both(*map(to_text, self.parities)),
            "equally_private": self.equally_private,
            "slack_used": self.slack_used,
            "added_variance": _both(*self.added_variances),
            "less_variance": self.winner_by_variance,
            "information": _both(*(_information(d, self.pi) for d in both)),
            "mutual_information": _both(*(_mutual(d, self.pi) for d in both)),
            "guess_probability": _both(*(d.guess_probability() for d in both)),
            "measure": {
                **self.measure.to_dict(self.first),
                **_both(*map(to_float, self.protections)),
                "exact": _both(*map(to_text, self.protections)),
            },
            "efficiency": None if self.efficiency is None else self.efficiency.to_dict(),
            "posterior": {
                "prior": self.prior.tolist(),
                **_both(*(None if table is None else plain_numbers(table) for table in self.posteriors)),
            },
        }


@dataclass(frozen=True, eq=False, repr=False)
class FairComparison(Result):
    """Two designs as they are, and at equal protection."""

    given: Comparison  # as they are
    # with the less private one made as private as the other, or both brought to the protection that was asked for; None
    # when that cannot be done, for the reason ``why``
    equalised: Comparison | None
    # changed, how: which one was changed, and how; None and "unchanged" when they were equally private
    changed: Which | None
    how: str
    why: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        content = self.given.to_dict()
        if not self.given.equally_private:
            content["less_variance_because"] = "not ranked: the designs do not protect equally"
        if self.equalised is None:
            return {**content, "equalised": None, "not_equalised_because": self.why}
        again = content if self.changed is None else self.equalised.to_dict()
        return {**content, "equalised": {**again, "changed": self.changed, "how": self.how}}

    def __repr__(self) -> str:
        after = ""
        if self.equalised is not None:
            verdict, winner = self.equalised.order.verdict, self.equalised.winner_by_variance
            after = f", at equal privacy {verdict!r}, less variance {winner!r}"
        return f"FairComparison({self.given.order.verdict!r}{after})"


def compare(
    first: Design,
    second: Design,
    *,
    pi: Real | None = None,
    measure: Measure | str = "parity",
    at: Literal["first", "second"] | Number | None = None,
) -> FairComparison:
    """Compare two designs over the same categories; arguments as in :func:`maskwell.compare`."""
    check_kind(Design, first=first, second=second)
    check_kind(Measure | str, measure=measure)
    check_same_categories(first, second)
    if not (first.has_quick_rank() and second.has_quick_rank()):  # which variances need, and may take minutes
        raise TooLargeError("designs-over-categories-too-many", k=first.k)
    shares = None if pi is None else first.check_distribution(pi)
    pair = Comparison(first, second, shares, Measure.of(measure) if isinstance(measure, str) else measure)
    if at is None and pair.equally_private:
        infinite = pair.protections[0] == pair.measure.limit
        why = NO_BOUND.format(pair.measure.spoken) if infinite else None
        return FairComparison(pair, None if infinite else pair, None, "unchanged", why)
    if isinstance(at, str) and at in ("first", "second"):
        target = pair.protections[at == "second"]
    else:
        target = min(pair.protections) if at is None else pair.measure.read(at)
    if not pair.measure.blank < target < pair.measure.limit:
        why = f"the design that sets the protection has no bound on {pair.measure.spoken}"
        if target <= pair.measure.blank:
            why = "one of the designs reveals nothing"
        elif pair.protections[0] == pair.protections[1]:
            why = NO_BOUND.format(pair.measure.spoken)
        return FairComparison(pair, None, None, "unchanged", why)
    try:
        changes = [at_level(design, pair.measure, Fraction(target)) for design in (pair.first, pair.second)]
    except TooLargeError as error:
        return FairComparison(pair, None, None, "unchanged", error.message)
    hows = {name: one.how for name, one in zip(("first", "second"), changes, strict=True) if one.how != "unchanged"}
    fair = replace(pair, first=changes[0].design, second=changes[1].design)
    changed = cast("Which | None", "both" if len(hows) == 2 else next(iter(hows), None))
    return FairComparison(pair, fair, changed, " and ".join(hows.values()) or "unchanged", None)


def _both(first: Any, second: Any) -> dict[str, Any]:
    return {"first": first, "second": second}


def _proof(order: Order) -> dict[str, Any]:
    """What proves the verdict: a garbling where one can be made from the other, a gain matrix where it cannot."""
    forth, back = order.first_for_second.to_dict(), order.second_for_first.to_dict()
    main = back if order.verdict == "second" else forth
    proof: dict[str, Any] = {
        name: main[name] for name in ("garbling", "garbling_exact", "keep", "gain", "gain_exact") if name in main
    }
    return {**proof, "exact": order.exact, "first_for_second": forth, "second_for_first": back}


def _information(design: Design, pi: Real | None) -> Any:
    """Fisher's, a number for two categories, else a matrix; None where the design is too large to be written out."""
    if not design.has_entries_up_to(MATRIX_LIMIT) or design.k > 100:
        return None
    information = fisher_information(design, pi)
    return float(information[0, 0]) if design.k == 2 else information.tolist()


def _mutual(design: Design, pi: Real | None) -> float | None:
    if not design.has_entries_up_to(MATRIX_LIMIT):
        return None
    information = mutual_information(design, pi)
    return information if math.isfinite(information) else None
