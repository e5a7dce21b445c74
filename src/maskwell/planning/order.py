"""Which of two designs tells more: the order of Blackwell, with a proof of the answer.

The first design is *sufficient* for the second when the second could be made from the first by randomizing its reports
once more. Then whatever can be learned from reports of the second can be learned at least as well from the first.

Source: [ChaiNayak2018, Definition 4.1]; how the answers are found and proved is derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from maskwell.core.arguments import check_kind
from maskwell.core.exact import Number, Parity, as_fraction, to_float, told_apart
from maskwell.core.phrases import Printed, listed
from maskwell.designs.base import Design, big
from maskwell.designs.rows import Reduction, reduce_rows
from maskwell.designs.subset import FixedSizeSets, Subset
from maskwell.designs.uniform import Uniform
from maskwell.errors import ParameterError, TooLargeError
from maskwell.planning.evidence import Sufficiency, unsettled
from maskwell.planning.settle import Question

TOLERANCE = Fraction(1, 10**8)
"""How far a garbling may be off where probabilities stand for others, relative to the largest chance of the report."""

LABELS_WIDTH = 34
ENTRY_LIMIT = 10**5
"""Entries of a matrix beyond which designs are compared by their structure and parity only."""

GARBLING_LIMIT = 2 * 10**6
"""The same for the entries that a garbling would have: reports of one design times reports of the other."""

Verdict = Literal["first", "second", "equivalent", "incomparable", "undecided"]


@dataclass(frozen=True, repr=False)
class Order:
    """How two designs compare: the verdict, and the two questions behind it.

    ``first_for_second`` tells whether the first is sufficient for the second, ``second_for_first`` the converse.
    """

    verdict: Verdict
    first_for_second: Sufficiency
    second_for_first: Sufficiency

    @property
    def exact(self) -> bool:
        """Whether both answers are proved in fractions."""
        return self.first_for_second.exact and self.second_for_first.exact

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        both = {name: getattr(self, name).to_dict() for name in ("first_for_second", "second_for_first")}
        return {"order": self.verdict, "exact": self.exact, **both}

    def __repr__(self) -> str:
        return f"Order({self.verdict!r}, exact={self.exact})"


def order_of(first: Design, second: Design, *, tolerance: Number | None = None) -> Order:
    """Which of two designs tells more about the truth.

    The verdict is ``"first"`` when the first is sufficient for the second and not conversely, ``"second"`` the other
    way round, ``"equivalent"`` when both hold, ``"incomparable"`` when neither does (each is better for some purpose),
    and ``"undecided"`` when one of the two questions could not be settled.

    Parameters
    ----------
    first, second
        Designs on the same categories.
    tolerance
        Differences of probabilities up to this part of the largest chance of the report are put down to rounding: a
        garbling that is right up to them is a yes, marked as not exact. 0 asks about the designs exactly as they are.
        By default it is 1e-8 where a design was given as decimals, or rounded for a bound such as e**epsilon, and 0
        for fractions.

    Source: [ChaiNayak2018, Definition 4.1 and Theorem 4.1].

    >>> from maskwell import Categories, Subset, Uniform
    >>> four = Categories.numbered(4)
    >>> order_of(Uniform.from_gamma(4, four), Uniform.from_gamma(2, four)).verdict
    'first'
    >>> order_of(Uniform.from_gamma(3, four), Subset.from_gamma(3, four, size=2)).verdict   # equally private
    'incomparable'
    """
    forth = sufficiency(first, second, tolerance=tolerance)
    back = sufficiency(second, first, tolerance=tolerance)
    return Order(_verdict(forth.holds, back.holds), forth, back)


def _verdict(forth: bool | None, back: bool | None) -> Verdict:  # noqa: FBT001
    if forth is None or back is None:
        return "undecided"
    if forth:
        return "equivalent" if back else "first"
    return "second" if back else "incomparable"


def sufficiency(P: Design, A: Design, *, tolerance: Number | None = None) -> Sufficiency:
    """Whether reports of A could be made from reports of P: ``A = C P`` for a transition matrix C.

    ``tolerance`` is that of :func:`order_of`.

    >>> from maskwell import Dense
    >>> truth, coin = Dense.of([[1, 0], [0, 1]]), Dense.of([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> yes, no = sufficiency(truth, coin), sufficiency(coin, truth)
    >>> yes.garbling[0], no.holds, no.margin   # a bet on the truth wins more with the truth
    ([Fraction(3, 4), Fraction(1, 4)], False, Fraction(1, 3))
    """
    check_same_categories(P, A)
    allowed = _checked((TOLERANCE if P.rounded or A.rounded else 0) if tolerance is None else tolerance)
    known = _by_structure(P, A)
    if known is not None:
        return known
    if not all(design.has_entries_up_to(ENTRY_LIMIT) for design in (P, A)) or P.m * A.m > GARBLING_LIMIT:
        return _by_parity_alone(P, A, allowed)
    try:
        full, wanted = reduce_rows(P.exact_matrix()), reduce_rows(A.exact_matrix())
    except TooLargeError:  # a composition may be small and yet too much work to write out
        return _by_parity_alone(P, A, allowed)
    found = Question(full.rows, wanted.rows, P.parity_exact(), allowed).answer()
    return replace(_restored(found, full, wanted), parities=(P.parity_exact(), A.parity_exact()))


def _restored(found: Sufficiency, P: Reduction, A: Reduction) -> Sufficiency:
    """The proof for the designs as they are, from that for their merged rows: ``A.C garbling P.C_star``."""
    if found.gain is not None:
        return replace(found, gain=[found.gain[home] for home in A.homes])
    if found.garbling is None:
        return found
    columns = [[row[home] for home in P.homes] for row in found.garbling]
    pairs = zip(A.shares, A.homes, strict=True)
    return replace(found, garbling=[[share * c if c else c for c in columns[home]] for share, home in pairs])


def check_same_categories(first: Design, second: Design) -> None:
    """Raise unless both designs ask about the same categories."""
    check_kind(Design, first=first, second=second)
    if first.inputs.labels != second.inputs.labels:
        raise ParameterError(
            f"the categories differ: {_shown(first)}; {_shown(second)}",
            hint="compare designs over the same categories in the same order",
            first=first,
            second=second,
        )


def _shown(design: Design) -> str:
    return listed(map(repr, design.inputs.labels), design.k, LABELS_WIDTH)


def _checked(tolerance: Number) -> Fraction:
    allowed = as_fraction(tolerance, "tolerance")
    if not 0 <= allowed <= Fraction(1, 1000):
        raise ParameterError(
            f"tolerance = {tolerance} is not between 0 and 0.001",
            hint="give 0 for an exact answer, or the size of rounding errors such as 1e-8",
            tolerance=tolerance,
        )
    return allowed


# ---- designs that need not be written out


def _by_structure(P: Design, A: Design) -> Sufficiency | None:
    """Equal designs, and two of a kind of which one is the other diluted with chance."""
    if P.fingerprint == A.fingerprint:
        return _kept("same", Fraction(1), "the designs are the same", P)
    keep = _keep(P, A)
    if keep is None or keep > 1:
        return None
    reason = (
        f"keeping its report with probability {Printed(to_float(keep)):.6g}, else drawing any, gives the other design"
    )
    return _kept("structure", keep, reason, P)


def _keep(P: Design, A: Design) -> Fraction | None:
    """The t with ``A = (t I + (1 - t) J / m) P``, for two uniform designs or two with sets of one size."""
    if isinstance(P, Uniform) and isinstance(A, Uniform):
        return A.truth / P.truth
    if isinstance(P, FixedSizeSets) and isinstance(A, FixedSizeSets) and P.size == A.size:
        return (A.include * A.k - A.size) / (P.include * P.k - P.size)
    return None


def _kept(how: str, keep: Fraction, reason: str, P: Design) -> Sufficiency:
    rows = None
    if P.has_reports_up_to(math.isqrt(ENTRY_LIMIT)):
        rows = [[(1 - keep) / P.m + keep * (i == u) for u in range(P.m)] for i in range(P.m)]
    return Sufficiency(holds=True, how=how, reason=reason, garbling=rows, keep=keep, residual=Fraction(0))


def _by_parity_alone(P: Design, A: Design, allowed: Fraction) -> Sufficiency:
    """What can be told without the matrices: no garbling raises parity. Source: [ChaiNayak2018, Lemma 4.1]."""
    parities = _parities(P, A)
    if parities and _is_beyond(*parities, allowed):
        return Sufficiency(holds=False, how="parity", reason=_less_telling(*parities), parities=parities)
    if parities and parities[0] == parities[1] and _are_sets_of_two_sizes(P, A):
        reason = "both are admissible at the same parity, and different"
        return Sufficiency(holds=False, how="admissible", reason=reason, parities=parities)
    return unsettled(
        f"matrices of {P.reports_in_words()} x {big(P.k)} and {A.reports_in_words()} x {big(A.k)} entries are too "
        f"large to compare; at most {big(ENTRY_LIMIT)} entries each are, and {big(GARBLING_LIMIT)} of a garbling",
        parities,
    )


def _is_beyond(own: Parity, other: Parity, allowed: Fraction) -> bool:
    """Whether a parity is larger by more than rounding: no row within ``allowed`` of one that has it keeps to ours.

    The row from a up to ``other a`` would become one from a or more to ``own`` times that at most.
    """
    if isinstance(own, float):
        return False
    low = 0 if isinstance(other, float) else 1 / other
    return 1 / own - low > allowed * (1 + 1 / own)


def _less_telling(own: Parity, other: Parity) -> str:
    one, two = told_apart(own, other)
    return f"its parity is only {one}, that of the other {two}"


def _are_sets_of_two_sizes(P: Design, A: Design) -> bool:
    """Admissible designs that are not the same: none is sufficient for the other. [ChaiNayak2018, Theorem 4.2]."""
    sizes = [1 if isinstance(d, Uniform) else d.size if isinstance(d, Subset) else None for d in (P, A)]
    return None not in sizes and sizes[0] != sizes[1]


def _parities(P: Design, A: Design) -> tuple[Parity, Parity] | None:
    try:
        return P.parity_exact(), A.parity_exact()
    except TooLargeError:
        return None
